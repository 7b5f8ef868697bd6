#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "codl/codl.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

namespace fs = std::filesystem;

// A cache in a folder of its own, removed at the end.
struct Cache {
  Cache() {
    fs::remove_all(folder);
    status = codl_dir_cache_create(folder.c_str(), &cache, &diag);
  }
  ~Cache() {
    codl_dir_cache_destroy(&cache);
    fs::remove_all(folder);
  }
  std::string load(const char* key) const {
    std::string data(cache.load(cache.context, key, nullptr, 0), 'x');
    const size_t size = cache.load(cache.context, key, data.data(), data.size());
    return size == data.size() ? data : "";
  }
  void store(const char* key, const std::string& data) const {
    cache.store(cache.context, key, data.data(), data.size());
  }
  size_t file_count() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
  }

  const fs::path folder = "dir_cache_test";
  codl_program_cache_t cache = {};
  codl_status_t status = CODL_OK;
  codl_diag_t diag = {};
};

TEST_CASE("a folder keeps programs, the newest of a key, beyond the cache that wrote them") {
  Cache cache;
  REQUIRE(cache.status == CODL_OK);
  CHECK(cache.load("codl-a").empty());
  cache.store("codl-a", "first");
  cache.store("codl-a", "second, longer");
  cache.store("codl-b", std::string(100000, 'b'));
  CHECK(cache.load("codl-a") == "second, longer");
  CHECK(cache.load("codl-b") == std::string(100000, 'b'));
  CHECK(cache.file_count() == 2);
  codl_program_cache_t again = {};
  REQUIRE(codl_dir_cache_create(cache.folder.c_str(), &again, nullptr) == CODL_OK);
  CHECK(again.load(again.context, "codl-a", nullptr, 0) == 14);
  codl_dir_cache_destroy(&again);
  codl_dir_cache_destroy(&again);
  codl_dir_cache_destroy(nullptr);
}

TEST_CASE("what others could have written is not read") {
  Cache cache;
  REQUIRE(cache.status == CODL_OK);
  struct stat info = {};
  REQUIRE(stat(cache.folder.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  cache.store("codl-a", "program");
  const fs::path file = cache.folder / "codl-a";
  fs::create_symlink("codl-a", cache.folder / "codl-link");
  fs::create_directory(cache.folder / "codl-folder");
  std::ofstream(cache.folder / "codl-empty");
  CHECK(cache.load("codl-link").empty());
  CHECK(cache.load("codl-folder").empty());
  CHECK(cache.load("codl-empty").empty());
  CHECK(cache.load("codl-a") == "program");
  fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
  CHECK(cache.load("codl-a").empty());

  codl_program_cache_t other = {};
  codl_diag_t diag = {};
  fs::permissions(cache.folder, fs::perms::others_write, fs::perm_options::add);
  CHECK(codl_dir_cache_create(cache.folder.c_str(), &other, &diag) == CODL_IO_ERROR);
  CHECK(diag.message ==
        cache.folder.string() + ": expected a folder that this user owns and no other can write");
  CHECK(other.load == nullptr);
}

TEST_CASE("a program that cannot be stored leaves nothing behind") {
  Cache cache;
  REQUIRE(cache.status == CODL_OK);
  fs::create_directory(cache.folder / "codl-a");
  cache.store("codl-a", "program");
  CHECK(cache.load("codl-a").empty());
  CHECK(cache.file_count() == 1);
  fs::remove_all(cache.folder);
  cache.store("codl-b", "program");
  CHECK(cache.load("codl-b").empty());
}

TEST_CASE("a folder that is none is said to be") {
  codl_program_cache_t cache = {};
  codl_diag_t diag = {};
  CHECK(codl_dir_cache_create("no/such/parent", &cache, &diag) == CODL_IO_ERROR);
  CHECK(diag.message == std::string("no/such/parent: No such file or directory"));
  std::ofstream("dir_cache_test.file") << "file";
  CHECK(codl_dir_cache_create("dir_cache_test.file", &cache, &diag) == CODL_IO_ERROR);
  fs::remove("dir_cache_test.file");
  CHECK(codl_dir_cache_create(nullptr, &cache, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(codl_dir_cache_create("dir_cache_test", nullptr, &diag) == CODL_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace codl::test
