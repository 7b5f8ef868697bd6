#include "runtime/tools/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "runtime/tools/tool_error.h"

namespace codl::tools {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

[[noreturn]] void fail_file(const std::string& path, const char* expected) {
  fail_input(path, expected, std::strerror(errno));
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
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  File file(std::fopen(temporary.c_str(), "wb"));
  if (!file) fail_file(path, "a file that can be written");
  const bool is_written =
      std::fwrite(contents.data(), 1, contents.size(), file.get()) == contents.size();
  // The last bytes are written, or found not to fit, by fclose.
  const bool is_closed = std::fclose(file.release()) == 0;
  if (is_written && is_closed && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  std::remove(temporary.c_str());
  errno = error;
  fail_file(path, "a file that can be written");
}

}  // namespace codl::tools
