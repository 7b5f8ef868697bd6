#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "codl/codl.h"
#include "test/runtime/gpu_halves.h"
#include "test/runtime/relu_session.h"
#include "test/support/fake_cl.h"

namespace codl::test {
namespace {

namespace fs = std::filesystem;

// Keeps a cache in a folder of its own, removed at the end.
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

TEST_CASE("what stands in the place of a program or of its new file gives way, if it is empty") {
  Cache cache;
  REQUIRE(cache.status == CODL_OK);
  // It is as if a process of this number had ended while it wrote; there are as many files as any
  // order of tests may ask for.
  for (int i = 0; i < 2000; ++i)
    std::ofstream(cache.folder /
                  ("codl-a." + std::to_string(getpid()) + "-" + std::to_string(i) + ".new"));
  fs::create_directory(cache.folder / "codl-a");
  const size_t before = cache.file_count();
  cache.store("codl-a", "program");
  CHECK(cache.load("codl-a") == "program");
  CHECK(cache.file_count() == before - 1);
}

TEST_CASE("a program that cannot be stored leaves nothing behind") {
  Cache cache;
  REQUIRE(cache.status == CODL_OK);
  fs::create_directories(cache.folder / "codl-a" / "of somebody");
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

// ---- sessions -----------------------------------------------------------------------------------

std::string read_all(const fs::path& file) {
  std::ostringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  return bytes.str();
}
void write_all(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// Sessions of a plan with three programs; the first session puts them into a cache.
struct CachedSessions {
  explicit CachedSessions(const rt::ClApi* machine)
      : real(machine), plan(relu_plan({.half = GpuHalf::SubBufferImages})) {
    REQUIRE(cache.status == CODL_OK);
    REQUIRE(texts_built() == 3);
    for (const fs::directory_entry& entry : fs::directory_iterator(cache.folder))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    REQUIRE(files.size() == 3);
    REQUIRE(texts_built() == 0);
  }

  // Returns how many programs a session builds from their texts. It works whatever the cache has.
  int texts_built() {
    codl_session_options_t options = ReluSession::defaults();
    options.require_variant = 1;
    options.program_cache = &cache.cache;
    FakeCl simulated;
    std::unique_ptr<FakeCl> passing;
    if (real != nullptr) passing = std::make_unique<FakeCl>(*real);
    FakeCl& cl = real != nullptr ? *passing : simulated;
    ReluSession session(plan, options, &cl.api());
    INFO(session.diag.message);
    REQUIRE(session.status == CODL_OK);
    REQUIRE(session.run() == CODL_OK);
    if (real != nullptr) CHECK(session.is_right());
    return cl.count("clCreateProgramWithSource");
  }

  // `count` damaged programs are built again, and none the next time.
  void check_repaired(int count) {
    CHECK(texts_built() == count);
    CHECK(texts_built() == 0);
    CHECK(cache.file_count() == files.size());
  }

  const rt::ClApi* real;
  const OpenPlan plan;
  Cache cache;
  std::vector<fs::path> files;
};

TEST_CASE("a program that was cut, lengthened or changed in any bit is built again and replaced") {
  CachedSessions sessions(nullptr);
  const fs::path& file = sessions.files[1];
  const std::string good = read_all(file);
  for (size_t size = 0; size < good.size(); size += size % 8 == 0 ? 1 : 7) {
    INFO("cut to " << size);
    write_all(file, good.substr(0, size));
    sessions.check_repaired(1);
    CHECK(read_all(file) == good);
  }
  for (size_t bit = 0; bit < 8 * good.size(); bit += 23) {
    INFO("bit " << bit);
    std::string changed = good;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    write_all(file, changed);
    CHECK(sessions.texts_built() == 1);
    REQUIRE(read_all(file) == good);
  }
  write_all(file, good + '0');
  sessions.check_repaired(1);
}

TEST_CASE("whatever stands in the place of a program, the session is made and the cache repaired") {
  CachedSessions sessions(nullptr);
  const std::vector<fs::path>& files = sessions.files;
  const std::string good = read_all(files[0]);
  write_all(files[0], read_all(files[1]));
  write_all(files[1], good);  // swapped
  sessions.check_repaired(2);
  write_all(files[0], "fake");  // like programs before they had heads
  sessions.check_repaired(1);
  const auto replace = [&](auto make) {
    fs::remove(files[0]);
    make(files[0]);
    sessions.check_repaired(1);
  };
  replace([](const fs::path& file) { fs::create_directory(file); });
  replace([&](const fs::path& file) { fs::create_symlink(files[1].filename(), file); });
  replace([](const fs::path& file) { REQUIRE(mkfifo(file.c_str(), 0600) == 0); });
  fs::permissions(files[2], fs::perms::others_write, fs::perm_options::add);
  sessions.check_repaired(1);
}

TEST_CASE("where no program can be stored, sessions are made all the same") {
  CachedSessions sessions(nullptr);
  fs::remove(sessions.files[0]);
  SECTION("another's folder is in its place") {
    fs::create_directories(sessions.files[0] / "of somebody");
    CHECK(sessions.texts_built() == 1);
    CHECK(sessions.texts_built() == 1);
    CHECK(sessions.cache.file_count() == 3);
  }
  SECTION("nothing may be written there") {
    // The superuser may read it.
    const int expected = geteuid() == 0 ? 0 : 1;
    fs::permissions(sessions.cache.folder, fs::perms::owner_read | fs::perms::owner_exec);
    CHECK(sessions.texts_built() == 1);
    CHECK(sessions.texts_built() == expected);
    fs::permissions(sessions.cache.folder, fs::perms::owner_all);
  }
  SECTION("the folder is gone") {
    fs::remove_all(sessions.cache.folder);
    CHECK(sessions.texts_built() == 3);
    CHECK(sessions.texts_built() == 3);
  }
  SECTION("the disk is full") {
    rlimit before = {};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit full = {40, before.rlim_max};  // less than a program
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &full) == 0);
    const int first = sessions.texts_built();
    const int second = sessions.texts_built();
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    signal(SIGXFSZ, handler);
    CHECK(first == 1);
    CHECK(second == 1);
    CHECK(sessions.cache.file_count() == 2);
    sessions.check_repaired(1);
  }
}

TEST_CASE("a real driver is not given a damaged program") {
  if (machine_opencl() == nullptr) return;
  CachedSessions sessions(machine_opencl());
  const std::string good = read_all(sessions.files[0]);
  for (const size_t part : {1, 2, 7}) {
    write_all(sessions.files[0], good.substr(0, good.size() * part / 8));
    sessions.check_repaired(1);
  }
  write_all(sessions.files[0], read_all(sessions.files[1]));
  write_all(sessions.files[1], good);
  sessions.check_repaired(2);
}

}  // namespace
}  // namespace codl::test
