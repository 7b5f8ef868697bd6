#include "tools/files.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "test/support/catch.h"
#include "tools/tool_error.h"

namespace codl::tools {
namespace {

namespace fs = std::filesystem;

// A folder of the test's own, removed with all that is in it.
struct Folder {
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const char* name) const { return path / name; }
  auto count() const { return std::distance(fs::directory_iterator(path), {}); }

  const fs::path path = fs::temp_directory_path() / ("codl_files_test" + std::to_string(getpid()));
};

TEST_CASE("a file is written whole, over what was there") {
  const Folder folder;
  write_file(folder.file("a"), std::string(100000, 'x'));
  write_file(folder.file("a"), "short");
  CHECK(read_file(folder.file("a")) == "short");
  CHECK(folder.count() == 1);
}

TEST_CASE("a link stays a link, a device a device") {
  const Folder folder;
  fs::create_symlink("a", folder.file("link"));
  write_file(folder.file("a"), "before");
  write_file(folder.file("link"), "after");
  CHECK(read_file(folder.file("a")) == "after");
  CHECK(fs::is_symlink(folder.file("link")));

  fs::create_symlink("/dev/null", folder.file("null"));
  write_file(folder.file("null"), "text");
  CHECK(fs::is_symlink(folder.file("null")));
  CHECK(fs::is_character_file(folder.file("null")));
  CHECK(folder.count() == 3);
}

TEST_CASE("what cannot be written is an input error and leaves nothing") {
  const Folder folder;
  CHECK_THROWS_AS(write_file(folder.path, "text"), ToolError);
  CHECK_THROWS_AS(write_file(folder.file("none/a"), "text"), ToolError);
  CHECK(folder.count() == 0);
}

}  // namespace
}  // namespace codl::tools
