#include "tools/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tools/tool_error.h"

namespace codl::tools {
namespace {

constexpr char kStdout[] = "-";
constexpr char kOutputForm[] = "a regular file, /dev/null or - (stdout) to write to";
// If so many names of 64 random bits exist, somebody made them on purpose.
constexpr int kMaxTemporaryNames = 16;

struct Descriptor {
  explicit Descriptor(int opened) : value(opened) {}
  Descriptor(Descriptor&& other) noexcept : value(std::exchange(other.value, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
  int value;
};

// Holds the paths that this process knows so far.
struct KnownFiles {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  bool has_stdout = false;
};

KnownFiles& known_files() {
  static KnownFiles known;
  return known;
}

bool is_same(const struct stat& x, const struct stat& y) {
  return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// Returns the first of the paths that leads to the file.
const std::string* find_same(const std::vector<std::string>& paths, const struct stat& file) {
  struct stat other = {};
  for (const std::string& path : paths)
    if (stat(path.c_str(), &other) == 0 && is_same(file, other)) return &path;
  return nullptr;
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "no regular file";
}

std::string bytes_text(uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

[[noreturn]] void fail_output(const std::string& path, const std::string& found) {
  fail_input(path, kOutputForm, found);
}

// Reports a call that failed while a file was written; `error`: its errno.
[[noreturn]] void fail_writing(const std::string& path, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  fail_input(path, is_full ? "space to write to" : "a file that can be written",
             std::strerror(error));
}

// Returns 0, or the errno.
int write_all(int descriptor, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t count = write(descriptor, contents.data(), contents.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    contents.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

// Returns 0, or the errno. Not every file system can sync.
int sync(int descriptor) {
  while (fsync(descriptor) != 0) {
    if (errno == EINTR) continue;
    return errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
  }
  return 0;
}

// Returns folder and name; the folder is "." if the path has none.
std::pair<std::string, std::string> split_path(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

bool is_null_device(const struct stat& file) {
  struct stat null = {};
  return S_ISCHR(file.st_mode) && stat("/dev/null", &null) == 0 && S_ISCHR(null.st_mode) &&
         file.st_rdev == null.st_rdev;
}

// /dev/stdout and the like are links, and replacing them breaks the system.
bool is_standard_stream(const struct stat& file) {
  struct stat stream = {};
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fstat(descriptor, &stream) == 0 && is_same(file, stream)) return true;
  return false;
}

enum class Target { File, Null, Stdout };

// Finds out what an output path is. Input error if it cannot be an output.
Target target_of(const std::string& path) {
  if (path == kStdout) return Target::Stdout;
  const auto [folder, name] = split_path(path);
  if (name.empty() || name == "." || name == "..")
    fail_output(path, path.empty() ? "no name" : "a folder");
  struct stat entry = {};
  struct stat file = {};
  if (lstat(path.c_str(), &entry) != 0) {
    if (errno != ENOENT) fail_writing(path, errno);
  } else if (S_ISLNK(entry.st_mode)) {
    // A link to a file, or to nothing, is replaced.
    const bool leads_somewhere = stat(path.c_str(), &file) == 0;
    if (leads_somewhere && is_standard_stream(file))
      fail_output(path, "a link to a standard stream");
    if (leads_somewhere && !S_ISREG(file.st_mode))
      fail_output(path, std::string("a link to ") + kind_of(file.st_mode));
  } else if (is_null_device(entry)) {
    return Target::Null;
  } else if (!S_ISREG(entry.st_mode)) {
    fail_output(path, kind_of(entry.st_mode));
  } else if (access(path.c_str(), W_OK) != 0) {
    fail_writing(path, errno);  // the folder allows it, but the owner protected the file
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) fail_writing(path, errno);
  return Target::File;
}

// Throws an input error if the file that an output would replace, or write to, is an input.
void check_is_no_input(const std::string& path, Target target) {
  struct stat file = {};
  if (target == Target::Null) return;
  if (target == Target::Stdout ? fstat(STDOUT_FILENO, &file) != 0 : stat(path.c_str(), &file) != 0)
    return;
  if (const std::string* input = find_same(known_files().inputs, file))
    fail_input(target == Target::Stdout ? "stdout" : path, "an output that is none of the inputs",
               "the file of input " + *input);
}

Target check_output(const std::string& path) {
  const Target target = target_of(path);
  check_is_no_input(path, target);
  return target;
}

// Returns the claimed output that is, or will be, the same file: this includes files that do not
// exist yet.
const std::string* find_output(const std::string& path) {
  const std::vector<std::string>& outputs = known_files().outputs;
  struct stat file = {};
  if (stat(path.c_str(), &file) == 0)
    if (const std::string* output = find_same(outputs, file)) return output;
  const auto [folder, name] = split_path(path);
  if (stat(folder.c_str(), &file) != 0) return nullptr;
  for (const std::string& output : outputs) {
    const auto [other_folder, other_name] = split_path(output);
    if (name == other_name && find_same({other_folder}, file) != nullptr) return &output;
  }
  return nullptr;
}

void check_is_no_output(const std::string& path) {
  if (const std::string* output = find_output(path))
    fail_input(path, "outputs that are different files", "the file of output " + *output);
}

// A file that does not have its name yet.
class Temporary {
 public:
  explicit Temporary(const std::string& path)
      : path_(path),
        folder_(open_folder(path)),
        name_(split_path(path).second),
        descriptor_(create()) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!is_renamed_) unlinkat(folder_.value, temporary_name_.c_str(), 0);
  }

  void write(std::string_view contents) { check(write_all(descriptor_.value, contents)); }

  // Gives the file its name after all of it is on the disk, and keeps it open.
  Descriptor commit() {
    check(sync(descriptor_.value));
    check(renameat(folder_.value, temporary_name_.c_str(), folder_.value, name_.c_str()) == 0
              ? 0
              : errno);
    is_renamed_ = true;
    // A folder may be writable but not readable; then the system syncs it in its own time.
    const Descriptor readable(openat(folder_.value, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (readable.value >= 0) check(sync(readable.value));
    return std::move(descriptor_);
  }

 private:
  static Descriptor open_folder(const std::string& path) {
    Descriptor folder(open(split_path(path).first.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (folder.value < 0) fail_writing(path, errno);
    return folder;
  }

  int create() {
    std::random_device random;
    for (int i = 0; i < kMaxTemporaryNames; ++i) {
      char name[32];
      std::snprintf(name, sizeof(name), ".codl-%08x%08x.tmp", random(), random());
      temporary_name_ = name;
      const int descriptor =
          openat(folder_.value, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (descriptor >= 0) return descriptor;
      if (errno != EEXIST) break;
    }
    fail_writing(path_, errno);
  }

  void check(int error) const {
    if (error != 0) fail_writing(path_, error);
  }

  const std::string& path_;
  Descriptor folder_;
  std::string name_;
  std::string temporary_name_;
  Descriptor descriptor_;
  bool is_renamed_ = false;
};

// True if the path is a regular file, not a link to one, and has these bytes.
bool has_contents(const std::string& path, std::string_view contents) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat entry = {};
  if (file.value < 0 || fstat(file.value, &entry) != 0 || !S_ISREG(entry.st_mode) ||
      static_cast<uint64_t>(entry.st_size) != contents.size())
    return false;
  char block[65536];
  while (!contents.empty()) {
    const ssize_t count = read(file.value, block, std::min(sizeof(block), contents.size()));
    if (count <= 0 || std::memcmp(block, contents.data(), static_cast<size_t>(count)) != 0)
      return false;
    contents.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

void write_stdout(std::string_view contents) {
  int error = std::fflush(stdout) == 0 ? 0 : errno;
  if (error == 0) error = write_all(STDOUT_FILENO, contents);
  if (error != 0) fail_writing("stdout", error);
}

// Returns the fault of an input, whoever opens it.
FileFault check_input(const std::string& path, const struct stat& file, uint64_t max_bytes) {
  constexpr char kRegular[] = "a regular file";
  if (!S_ISREG(file.st_mode)) return {kRegular, kind_of(file.st_mode)};
  if (static_cast<uint64_t>(file.st_size) > max_bytes)
    return {"a file of at most " + bytes_text(max_bytes),
            bytes_text(static_cast<uint64_t>(file.st_size))};
  KnownFiles& known = known_files();
  if (const std::string* output = find_same(known.outputs, file))
    return {"an input that is none of the outputs", "the file of output " + *output};
  known.inputs.push_back(path);
  return {};
}

}  // namespace

// ---- inputs ----

FileFault InputFile::open(const std::string& path, uint64_t max_bytes) {
  // O_NONBLOCK avoids waiting for the other end of a pipe; for a regular file it means nothing.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat file = {};
  if (descriptor_ < 0 || fstat(descriptor_, &file) != 0)
    return {"a file that can be read", std::strerror(errno)};
  bytes_ = static_cast<uint64_t>(file.st_size);
  return check_input(path, file, max_bytes);
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

FileFault InputFile::read(uint64_t offset, uint64_t count, std::string* contents) const {
  if (count > contents->max_size()) throw std::bad_alloc();
  contents->resize(count);
  for (size_t done = 0; done < count;) {
    const ssize_t got = pread(descriptor_, contents->data() + done, count - done,
                              static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {"a file that can be read", std::strerror(errno)};
    if (got == 0)
      return {bytes_text(offset + count) + ", as when it was opened", bytes_text(offset + done)};
    done += static_cast<size_t>(got);
  }
  return {};
}

std::string read_file(const std::string& path, uint64_t max_bytes) {
  InputFile file;
  std::string contents;
  FileFault fault = file.open(path, max_bytes);
  if (fault.ok()) fault = file.read(0, file.bytes(), &contents);
  if (!fault.ok()) fail_input(path, fault.expected, fault.found);
  return contents;
}

const std::vector<std::string>& inputs_read() { return known_files().inputs; }

void note_input(const std::string& path) {
  InputFile file;
  const FileFault fault = file.open(path, UINT64_MAX);
  if (!fault.ok()) fail_input(path, fault.expected, fault.found);
}

// ---- outputs ----

void claim_output(const std::string& path) {
  const Target target = check_output(path);
  KnownFiles& known = known_files();
  if (target == Target::Null) return;
  if (target == Target::Stdout) {
    if (known.has_stdout) fail_input(kStdout, "one output on stdout", "two");
    known.has_stdout = true;
    return;
  }
  check_is_no_output(path);
  known.outputs.push_back(path);
}

void refuse_to_replace(const std::string& path, const std::string& expected) {
  struct stat entry = {};
  if (target_of(path) == Target::File && lstat(path.c_str(), &entry) == 0)
    fail_input(path, expected, "a file");
}

std::FILE* text_stream() { return known_files().has_stdout ? stderr : stdout; }

void write_file(const std::string& path, std::string_view contents) {
  const Target target = check_output(path);
  if (target == Target::Stdout) return write_stdout(contents);
  if (target == Target::Null || has_contents(path, contents)) return;
  Temporary file(path);
  file.write(contents);
  file.commit();
}

int open_scratch_file(uint64_t bytes) {
  const char* const chosen = std::getenv("TMPDIR");
  const std::string folder = chosen != nullptr && *chosen != '\0' ? chosen : "/var/tmp";
  std::string name = folder + "/codl-XXXXXX";
  Descriptor file(mkostemp(name.data(), O_CLOEXEC));
  int error = file.value < 0 ? errno : 0;
  if (error == 0) {
    unlink(name.c_str());
    error = posix_fallocate(file.value, 0, static_cast<off_t>(bytes));
  }
  if (error != 0)
    fail_input(folder, "room for " + bytes_text(bytes) + " (or another folder as TMPDIR)",
               std::strerror(error));
  return std::exchange(file.value, -1);
}

void LogFile::check(const std::string& path, bool continues) {
  const Target target = target_of(path);
  if (target != Target::File)
    fail_input(path, "a regular file to append to", target == Target::Null ? "a device" : "stdout");
  if (!continues) check_is_no_input(path, target);
  check_is_no_output(path);
}

void LogFile::create(const std::string& path, std::string_view contents, bool continues) {
  check(path, continues);
  path_ = path;
  Temporary file(path_);
  file.write(contents);
  Descriptor committed = file.commit();
  descriptor_ = std::exchange(committed.value, -1);
}

void LogFile::append(std::string_view text) {
  if (const int error = write_all(descriptor_, text); error != 0) fail_writing(path_, error);
}

LogFile::~LogFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace codl::tools
