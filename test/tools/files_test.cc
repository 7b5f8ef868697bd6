#include "tools/files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "test/support/catch.h"
#include "tools/tool_error.h"

namespace codl::tools {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kAny = UINT64_MAX;

// Makes a folder of the test's own, removed with its contents. Names are not reused, because a file
// once read stays an input.
struct Folder {
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const char* name) const { return path / name; }
  auto count() const { return std::distance(fs::directory_iterator(path), {}); }

  static std::string next_name() {
    static int number = 0;
    return "codl_files_test" + std::to_string(getpid()) + "_" + std::to_string(number++);
  }
  const fs::path path = fs::temp_directory_path() / next_name();
};

// Runs the test's body in a process of its own, which forgets its claims and inputs, and its
// changes of limits and descriptors. True if it threw a ToolError, and nothing else went wrong.
template <typename Body>
bool is_refused(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      body();
    } catch (const ToolError& error) {
      // Checks for "where: expected X, found Y".
      _exit(std::strstr(error.what(), ": expected ") != nullptr ? 1 : 2);
    } catch (...) {
      _exit(2);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) <= 1);
  return WEXITSTATUS(status) == 1;
}

// Reads by other means, because the tools do not write what they read.
std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("a file is written whole, over what was there") {
  const Folder folder;
  write_file(folder.file("a"), std::string(100000, 'x'));
  write_file(folder.file("a"), "short");
  CHECK(folder.count() == 1);
  CHECK(read_file(folder.file("a"), 5) == "short");
}

TEST_CASE("who may read a file is said by the umask") {
  const Folder folder;
  const mode_t before = umask(027);
  write_file(folder.file("a"), "text");
  umask(before);
  struct stat file = {};
  REQUIRE(stat(folder.file("a").c_str(), &file) == 0);
  CHECK((file.st_mode & 0777) == 0640);
}

TEST_CASE("a link is replaced, what it leads to stays") {
  const Folder folder;
  write_file(folder.file("a"), "before");
  fs::create_symlink("a", folder.file("link"));
  write_file(folder.file("link"), "after");
  CHECK(!fs::is_symlink(folder.file("link")));
  CHECK(text_of(folder.file("a")) == "before");
  CHECK(text_of(folder.file("link")) == "after");

  fs::create_symlink("nowhere", folder.file("dangling"));
  write_file(folder.file("dangling"), "text");
  CHECK(!fs::exists(folder.file("nowhere")));
  CHECK(text_of(folder.file("dangling")) == "text");

  fs::create_hard_link(folder.file("a"), folder.file("hard"));
  write_file(folder.file("hard"), "other");
  CHECK(text_of(folder.file("a")) == "before");
}

TEST_CASE("an output is a file, the null device or stdout") {
  const Folder folder;
  mkfifo(folder.file("pipe").c_str(), 0600);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, folder.file("socket").c_str(), sizeof(address.sun_path) - 1);
  REQUIRE(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  fs::create_directory(folder.file("folder"));
  fs::create_symlink("/dev/full", folder.file("full"));
  fs::create_symlink("folder", folder.file("to_folder"));
  const auto count = folder.count();
  for (const std::string& path :
       {folder.file("pipe"), folder.file("socket"), folder.file("folder"), folder.file("full"),
        folder.file("to_folder"), folder.file("folder/"), folder.file("folder/."),
        folder.file("none/a"), folder.file("pipe/a"), folder.file(std::string(300, 'x').c_str()),
        std::string("/dev/full"), std::string("/dev/zero"), std::string("/dev/stdout"),
        std::string("/"), std::string()}) {
    CAPTURE(path);
    CHECK(is_refused([&] { write_file(path, "text"); }));
    CHECK(is_refused([&] { claim_output(path); }));
    if (path != folder.file("none/a")) {
      CHECK(is_refused([&] { LogFile().create(path, "text", false); }));
    }
  }
  CHECK(folder.count() == count);
  close(listener);

  write_file("/dev/null", "text");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(is_refused([] { LogFile().create("/dev/null", "", false); }));
  CHECK(is_refused([] { LogFile().create("-", "", false); }));
}

TEST_CASE("an output on stdout is the only text there") {
  const Folder folder;
  CHECK(!is_refused([&] {
    const int file = open(folder.file("out").c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(file, STDOUT_FILENO);
    if (text_stream() != stdout) _exit(2);
    claim_output("-");
    if (text_stream() != stderr) _exit(2);
    write_file("-", std::string("a\0b", 3));
  }));
  CHECK(text_of(folder.file("out")) == std::string("a\0b", 3));
  CHECK(is_refused([] { claim_output("-"), claim_output("-"); }));
  CHECK(is_refused([] {
    dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
    write_file("-", "text");
  }));
}

TEST_CASE("no output is an input") {
  const Folder folder;
  const std::string input = folder.file("input");
  write_file(input, "text");
  fs::create_symlink("input", folder.file("link"));
  fs::create_hard_link(input, folder.file("hard"));
  fs::create_directory_symlink(".", folder.file("here"));
  const auto count = folder.count();
  for (const char* name : {"input", "link", "hard", "here/input", "./input"}) {
    CAPTURE(name);
    const std::string output = folder.file(name);
    CHECK(is_refused([&] { read_file(input, kAny), write_file(output, "other"); }));
    CHECK(is_refused([&] { read_file(output, kAny), write_file(input, "other"); }));
    CHECK(is_refused([&] { note_input(input), claim_output(output); }));
    CHECK(is_refused([&] { claim_output(output), note_input(input); }));
    CHECK(is_refused([&] { note_input(input), LogFile().create(output, "other", false); }));
    CHECK(text_of(input) == "text");
  }
  CHECK(is_refused([&] {
    read_file(input, kAny);
    dup2(open(input.c_str(), O_WRONLY | O_APPEND), STDOUT_FILENO);
    write_file("-", "other");
  }));
  CHECK(!is_refused([&] { read_file(input, kAny), write_file(folder.file("output"), "other"); }));
  CHECK(text_of(input) == "text");
  CHECK(folder.count() == count + 1);
}

TEST_CASE("no two outputs are one file") {
  const Folder folder;
  write_file(folder.file("there"), "text");
  fs::create_hard_link(folder.file("there"), folder.file("hard"));
  fs::create_directory_symlink(".", folder.file("here"));
  const auto claims = [&](const char* first, const char* second) {
    return [=, &folder] { claim_output(folder.file(first)), claim_output(folder.file(second)); };
  };
  CHECK(is_refused(claims("new", "new")));
  CHECK(is_refused(claims("new", "here/new")));
  CHECK(is_refused(claims("there", "hard")));
  CHECK(!is_refused(claims("new", "there")));
  CHECK(!is_refused([] { claim_output("/dev/null"), claim_output("/dev/null"); }));
}

TEST_CASE("without space there is a message, what was there stays and nothing else") {
  const Folder folder;
  write_file(folder.file("a"), "before");
  CHECK(is_refused([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    write_file(folder.file("a"), std::string(1001, 'x'));
  }));
  CHECK(text_of(folder.file("a")) == "before");
  CHECK(folder.count() == 1);
}

TEST_CASE("a log keeps what was appended when there is no more space") {
  const Folder folder;
  CHECK(is_refused([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {10, 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    LogFile log;
    log.create(folder.file("log"), "head\n", false);
    log.append("line\n");
    log.append("line\n");
  }));
  CHECK(text_of(folder.file("log")) == "head\nline\n");
  // When continued, the file is an input and an output.
  CHECK(!is_refused([&] {
    const std::string text = read_file(folder.file("log"), kAny);
    LogFile log;
    log.create(folder.file("log"), text.substr(0, 5), true);
    log.append("other\n");
  }));
  CHECK(text_of(folder.file("log")) == "head\nother\n");
  CHECK(folder.count() == 1);
}

TEST_CASE("an input is a regular file of a size that its format allows") {
  const Folder folder;
  mkfifo(folder.file("pipe").c_str(), 0600);
  write_file(folder.file("a"), "text");
  for (const std::string& path :
       {folder.file("pipe"), folder.path.string(), folder.file("none"), std::string("/dev/zero"),
        std::string("/dev/null"), std::string()}) {
    CAPTURE(path);
    CHECK(is_refused([&] { read_file(path, kAny); }));
    CHECK(is_refused([&] { note_input(path); }));
  }
  CHECK(is_refused([&] { read_file(folder.file("a"), 3); }));
  CHECK(!is_refused([&] { read_file(folder.file("a"), 4); }));
}

TEST_CASE("an input that shrinks while it is read is an error") {
  const Folder folder;
  write_file(folder.file("a"), "text");
  InputFile file;
  REQUIRE(file.open(folder.file("a"), kAny).ok());
  fs::resize_file(folder.file("a"), 2);
  std::string contents;
  const FileFault fault = file.read(0, 4, &contents);
  CHECK(fault.found == "2 bytes");
}

}  // namespace
}  // namespace codl::tools
