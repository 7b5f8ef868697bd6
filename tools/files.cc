#include "tools/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tools/tool_error.h"

namespace codl::tools {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

[[noreturn]] void fail_file(const std::string& path, const char* expected) {
  fail_input(path, expected, std::strerror(errno));
}

// The last bytes are written, or found not to fit, by fclose.
bool write_all(const std::string& path, std::string_view contents) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) return false;
  const bool is_written =
      std::fwrite(contents.data(), 1, contents.size(), file.get()) == contents.size();
  return std::fclose(file.release()) == 0 && is_written;
}

// What a link leads to.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> found(realpath(path.c_str(), nullptr),
                                                          std::free);
  return found ? found.get() : path;
}

}  // namespace

std::string read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail_file(path, "a file that can be read");
  std::string contents;
  char block[65536];
  while (const size_t count = std::fread(block, 1, sizeof(block), file.get()))
    contents.append(block, count);
  if (std::ferror(file.get()) != 0) fail_file(path, "a file that can be read");
  return contents;
}

void write_file(const std::string& path, std::string_view contents) {
  struct stat status = {};
  const bool is_device = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  const std::string target = real_path(path);
  const std::string temporary = target + ".tmp" + std::to_string(getpid());
  if (is_device
          ? write_all(path, contents)
          : write_all(temporary, contents) && std::rename(temporary.c_str(), target.c_str()) == 0)
    return;
  const int error = errno;
  if (!is_device) std::remove(temporary.c_str());
  errno = error;
  fail_file(path, "a file that can be written");
}

}  // namespace codl::tools
