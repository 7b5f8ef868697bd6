// Tests wrong calls of every function of codl.h, and one session in two threads.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "test/runtime/relu_session.h"
#include "test/support/counting_allocator.h"

namespace codl::test {
namespace {

std::string text_of(const char* path) {
  std::FILE* file = std::fopen(path, "rb");
  REQUIRE(file != nullptr);
  std::string text;
  char block[4096];
  while (const size_t count = std::fread(block, 1, sizeof(block), file)) text.append(block, count);
  std::fclose(file);
  return text;
}

std::set<std::string> functions_of_header() {
  // Finds the declared functions: comments are removed, and a function's name is followed by its
  // parameters.
  const std::string text =
      std::regex_replace(text_of(CODL_TEST_HEADER), std::regex("/\\*[^]*?\\*/"), "");
  const std::regex name("\\b(codl_[a-z_]+)\\(");
  std::set<std::string> names;
  for (std::sregex_iterator i(text.begin(), text.end(), name), end; i != end; ++i)
    names.insert((*i)[1]);
  return names;
}

// Makes wrong calls, each with the expected answer, listed by function.
class WrongCalls {
 public:
  explicit WrongCalls(const OpenPlan& plan, const ReluSession& session)
      : plan_(plan.get()), session_(session.get()), bytes_(to_bytes(relu_plan({}))) {
    memory_.resize(bytes_.size() / 8 + 1);
    std::memcpy(memory_.data(), bytes_.data(), bytes_.size());
  }

  // Returns the names of the functions called.
  std::set<std::string> run() {
    names();
    opening();
    program_caches();
    plans();
    creating();
    sessions();
    return called_;
  }

 private:
  void refuses(const char* function, int line,
               const std::function<codl_status_t(codl_diag_t*)>& call) {
    INFO(function << ", line " << line);
    called_.insert(function);
    codl_diag_t diag;
    std::memset(&diag, 'x', sizeof(diag));
    CHECK(call(&diag) == CODL_INVALID_ARGUMENT);
    if (diag.message[0] == 'x') diag.message[0] = 0;  // a function without a diag
    CHECK(std::memchr(diag.message, 0, sizeof(diag.message)) != nullptr);
    CHECK(call(nullptr) == CODL_INVALID_ARGUMENT);
  }
  void answers(const char* function, int line, bool holds) {
    INFO(function << ", line " << line);
    called_.insert(function);
    CHECK(holds);
  }
#define REFUSES(function, ...) \
  refuses(#function, __LINE__, \
          [&]([[maybe_unused]] codl_diag_t* diag) { return function(__VA_ARGS__); })
#define ANSWERS(function, holds) answers(#function, __LINE__, holds)

  void names() {
    ANSWERS(codl_status_text,
            codl_status_text(static_cast<codl_status_t>(-1)) == std::string("unknown status"));
    ANSWERS(codl_status_text,
            codl_status_text(static_cast<codl_status_t>(77)) == std::string("unknown status"));
    ANSWERS(codl_version, codl_version() != nullptr);
    ANSWERS(codl_plan_format_version, codl_plan_format_version() != 0);
  }

  void opening() {
    codl_plan_t* const stale = reinterpret_cast<codl_plan_t*>(0x10);
    codl_plan_t* out = stale;
    const void* bytes = memory_.data();
    const size_t size = bytes_.size();
    REFUSES(codl_plan_open, bytes, size, nullptr, nullptr, diag);
    REFUSES(codl_plan_open, nullptr, size, nullptr, &out, diag);
    CHECK(out == nullptr);
    REFUSES(codl_plan_open_file, "x.codl", nullptr, nullptr, diag);
    out = stale;
    REFUSES(codl_plan_open_file, nullptr, nullptr, &out, diag);
    CHECK(out == nullptr);
    REFUSES(codl_plan_open_descriptor, 0, 0, size, nullptr, nullptr, diag);
    out = stale;
    REFUSES(codl_plan_open_descriptor, -1, 0, size, nullptr, &out, diag);
    CHECK(out == nullptr);
    for (const codl_plan_options_t& options : wrong_plan_options()) {
      out = stale;
      REFUSES(codl_plan_open_descriptor, 0, 0, size, &options, &out, diag);
      CHECK(out == nullptr);
      out = stale;
      REFUSES(codl_plan_open, bytes, size, &options, &out, diag);
      CHECK(out == nullptr);
      out = stale;
      REFUSES(codl_plan_open_file, "no/such/plan.codl", &options, &out, diag);
      CHECK(out == nullptr);
    }
    codl_plan_close(nullptr);
    ANSWERS(codl_plan_close, true);
  }

  void program_caches() {
    codl_program_cache_t cache = {};
    REFUSES(codl_dir_cache_create, nullptr, &cache, diag);
    REFUSES(codl_dir_cache_create, ".", nullptr, diag);
    codl_dir_cache_destroy(nullptr);
    codl_dir_cache_destroy(&cache);
    ANSWERS(codl_dir_cache_destroy, true);
  }

  std::vector<codl_plan_options_t> wrong_plan_options() {
    std::vector<codl_plan_options_t> all;
    codl_plan_options_t options = {};
    for (size_t size : {size_t{0}, size_t{1}, sizeof(size_t) + 1, sizeof(options) - 1,
                        sizeof(options) + sizeof(size_t), SIZE_MAX}) {
      options.struct_size = size;
      all.push_back(options);
    }
    options.struct_size = sizeof(options);
    for (int32_t verify : {-1, 2, 77}) {
      options.verify = verify;
      all.push_back(options);
    }
    options.verify = CODL_VERIFY_ALL;
    for (const codl_allocator_t& allocator : wrong_allocators_) {
      options.allocator = &allocator;
      all.push_back(options);
    }
    return all;
  }

  void plans() {
    codl_tensor_info_t tensor;
    codl_variant_info_t variant;
    ANSWERS(codl_plan_device, codl_plan_device(nullptr) == std::string());
    ANSWERS(codl_plan_input_count, codl_plan_input_count(nullptr) == 0);
    ANSWERS(codl_plan_output_count, codl_plan_output_count(nullptr) == 0);
    ANSWERS(codl_plan_variant_count, codl_plan_variant_count(nullptr) == 0);
    ANSWERS(codl_plan_state_count, codl_plan_state_count(nullptr) == 0);
    REFUSES(codl_plan_state, nullptr, 0, &tensor);
    REFUSES(codl_plan_state, plan_, 0, nullptr);
    REFUSES(codl_plan_state, plan_, 0, &tensor);
    ANSWERS(codl_plan_entry_count, codl_plan_entry_count(nullptr) == 0);
    ANSWERS(codl_plan_entry_name, codl_plan_entry_name(nullptr, 0) == std::string());
    ANSWERS(codl_plan_entry_name, codl_plan_entry_name(plan_, SIZE_MAX) == std::string());
    ANSWERS(codl_plan_entry_variant_count, codl_plan_entry_variant_count(nullptr, 0) == 0);
    ANSWERS(codl_plan_entry_variant_count, codl_plan_entry_variant_count(plan_, SIZE_MAX) == 0);
    for (size_t entry : {size_t{1}, SIZE_MAX}) {
      std::memset(&tensor, 1, sizeof(tensor));
      REFUSES(codl_plan_entry_input, plan_, entry, 0, &tensor);
      CHECK(tensor.name == nullptr);
      std::memset(&tensor, 1, sizeof(tensor));
      REFUSES(codl_plan_entry_output, plan_, entry, 0, &tensor);
      CHECK(tensor.name == nullptr);
      std::memset(&variant, 1, sizeof(variant));
      REFUSES(codl_plan_entry_variant, plan_, entry, 0, &variant);
      CHECK(variant.name == nullptr);
    }
    REFUSES(codl_plan_entry_input, nullptr, 0, 0, &tensor);
    REFUSES(codl_plan_entry_output, nullptr, 0, 0, &tensor);
    REFUSES(codl_plan_entry_variant, nullptr, 0, 0, &variant);
    for (size_t index : {size_t{0}, size_t{2}, SIZE_MAX}) {
      std::memset(&tensor, 1, sizeof(tensor));
      REFUSES(codl_plan_input, nullptr, index, &tensor);
      CHECK(tensor.name == nullptr);
      std::memset(&tensor, 1, sizeof(tensor));
      REFUSES(codl_plan_output, nullptr, index, &tensor);
      CHECK(tensor.name == nullptr);
      std::memset(&variant, 1, sizeof(variant));
      REFUSES(codl_plan_variant, nullptr, index, &variant);
      CHECK(variant.name == nullptr);
      REFUSES(codl_plan_input, plan_, index, nullptr);
      REFUSES(codl_plan_output, plan_, index, nullptr);
      REFUSES(codl_plan_variant, plan_, index, nullptr);
      if (index == 0) continue;
      REFUSES(codl_plan_input, plan_, index, &tensor);
      REFUSES(codl_plan_output, plan_, index, &tensor);
      REFUSES(codl_plan_variant, plan_, index, &variant);
    }
  }

  void creating() {
    codl_session_t* out = reinterpret_cast<codl_session_t*>(0x10);
    REFUSES(codl_session_create, plan_, nullptr, nullptr, diag);
    REFUSES(codl_session_create, nullptr, nullptr, &out, diag);
    CHECK(out == nullptr);
    for (const codl_session_options_t& options : wrong_session_options()) {
      out = reinterpret_cast<codl_session_t*>(0x10);
      REFUSES(codl_session_create, plan_, &options, &out, diag);
      CHECK(out == nullptr);
    }
    codl_session_destroy(nullptr);
    ANSWERS(codl_session_destroy, true);
  }

  std::vector<codl_session_options_t> wrong_session_options() {
    std::vector<codl_session_options_t> all;
    const codl_session_options_t defaults = ReluSession::defaults();
    const auto add = [&](auto change) {
      all.push_back(defaults);
      all.back().variant = "cpu";
      change(all.back());
    };
    for (size_t size : {size_t{0}, size_t{1}, sizeof(size_t) + 4 + 1, sizeof(defaults) - 1,
                        sizeof(defaults) + sizeof(size_t), SIZE_MAX})
      add([size](auto& o) { o.struct_size = size; });
    add([](auto& o) { o.variant = "nobody"; });
    add([](auto& o) { o.variant = ""; });
    static const char* const unknown[] = {"cpu", "nobody"};
    static const char* const none[] = {nullptr};
    add([](auto& o) { o.variants = unknown, o.variant_count = 2; });
    add([](auto& o) { o.variants = none, o.variant_count = 1; });
    add([](auto& o) { o.variant_count = 1; });
    for (int32_t count : {-1, 65, INT32_MAX, INT32_MIN})
      add([count](auto& o) { o.thread_count = count; });
    for (int32_t flag : {-1, 2, 77}) {
      add([flag](auto& o) { o.require_variant = flag; });
      add([flag](auto& o) { o.record_timeline = flag; });
      add([flag](auto& o) { o.fallback = flag; });
    }
    add([](auto& o) { o.cpu_core_count = 1; });
    add([](auto& o) { o.gpu_core_count = 1; });
    for (const int32_t& core : wrong_cores_) {
      add([&core](auto& o) { o.cpu_cores = &core, o.cpu_core_count = 1; });
      add([&core](auto& o) { o.gpu_cores = &core, o.gpu_core_count = 1; });
    }
    for (const codl_allocator_t& allocator : wrong_allocators_)
      add([&allocator](auto& o) { o.allocator = &allocator; });
    for (const codl_program_cache_t& cache : wrong_caches_)
      add([&cache](auto& o) { o.program_cache = &cache; });
    add([this](auto& o) { o.log = &deaf_log_; });
    for (int32_t runs : {-1, INT32_MIN}) add([runs](auto& o) { o.check_every = runs; });
    return all;
  }

  void sessions() {
    codl_session_info_t info = {};
    info.struct_size = sizeof(info);
    REFUSES(codl_session_get_info, nullptr, &info);
    REFUSES(codl_session_get_info, session_, nullptr);
    for (size_t size : {size_t{0}, size_t{1}, sizeof(info) - 1, sizeof(info) + sizeof(size_t)}) {
      info.struct_size = size;
      REFUSES(codl_session_get_info, session_, &info);
    }
    REFUSES(codl_session_cancel, nullptr);
    auto* session = const_cast<codl_session_t*>(session_);
    REFUSES(codl_session_set_variant, nullptr, "cpu", diag);
    for (const char* name : {static_cast<const char*>(nullptr), "", "cp", "cpu2"})
      REFUSES(codl_session_set_variant, session, name, diag);
    codl_shape_t shape = {1, {1}};
    REFUSES(codl_session_set_shapes, nullptr, &shape, 1, diag);
    REFUSES(codl_session_set_shapes, session, nullptr, 1, diag);
    for (size_t count : {size_t{0}, size_t{2}, SIZE_MAX})
      REFUSES(codl_session_set_shapes, session, &shape, count, diag);
    for (int32_t rank : {-1, 0, 1, CODL_MAX_RANK + 1, INT32_MAX, INT32_MIN}) {
      shape.rank = rank;
      REFUSES(codl_session_set_shapes, session, &shape, 1, diag);
    }
    codl_variant_state_t state;
    REFUSES(codl_session_variant, nullptr, 0, &state);
    REFUSES(codl_session_variant, session_, 0, nullptr);
    for (size_t index : {size_t{1}, SIZE_MAX})
      REFUSES(codl_session_variant, session_, index, &state);
    REFUSES(codl_session_self_test, nullptr, nullptr, nullptr, diag);
    REFUSES(codl_session_self_test, const_cast<codl_session_t*>(session_), nullptr, nullptr, diag);
    REFUSES(codl_session_read_state, nullptr, 0, nullptr, 0, diag);
    REFUSES(codl_session_read_state, session, 0, nullptr, 0, diag);
    REFUSES(codl_session_write_state, nullptr, 0, nullptr, 0, diag);
    REFUSES(codl_session_write_state, session, 0, nullptr, 0, diag);
    REFUSES(codl_session_reset_states, nullptr, diag);
    int64_t dims[CODL_MAX_RANK];
    int32_t rank = 99;
    REFUSES(codl_session_get_output_dims, nullptr, 0, dims, CODL_MAX_RANK, &rank);
    CHECK(rank == 0);
    REFUSES(codl_session_get_output_dims, session_, 0, nullptr, CODL_MAX_RANK, &rank);
    REFUSES(codl_session_get_output_dims, session_, 0, dims, CODL_MAX_RANK, nullptr);
    REFUSES(codl_session_get_output_dims, session_, 0, dims, 3, &rank);
    REFUSES(codl_session_get_output_dims, session_, 1, dims, CODL_MAX_RANK, &rank);
    REFUSES(codl_session_get_output_dims, session_, SIZE_MAX, dims, CODL_MAX_RANK, &rank);
    size_t count = 99;
    ANSWERS(codl_session_timeline, codl_session_timeline(nullptr, &count) == nullptr && count == 0);
    ANSWERS(codl_session_timeline, codl_session_timeline(session_, nullptr) == nullptr);
    ANSWERS(codl_session_timeline, codl_session_timeline(nullptr, nullptr) == nullptr);
    running();
  }

  void running() {
    const size_t bytes = plan_->entry().inputs()->Get(0)->bytes();
    std::vector<float> memory(2 * bytes / 4);
    uint8_t* const first = reinterpret_cast<uint8_t*>(memory.data());
    const codl_buffer_t x = {first, bytes};
    const codl_buffer_t y = {first + bytes, bytes};
    REFUSES(codl_session_run, nullptr, &x, 1, &y, 1, diag);
    REFUSES(codl_session_run, session_, nullptr, 1, &y, 1, diag);
    REFUSES(codl_session_run, session_, &x, 1, nullptr, 1, diag);
    REFUSES(codl_session_run, session_, nullptr, 0, &y, 1, diag);
    REFUSES(codl_session_run, session_, &x, 1, nullptr, 0, diag);
    REFUSES(codl_session_run, session_, &x, 2, &y, 1, diag);
    REFUSES(codl_session_run, session_, &x, 1, &y, SIZE_MAX, diag);
    const codl_buffer_t wrong[] = {{nullptr, bytes},  {first, bytes - 4}, {first, 0},
                                   {first, SIZE_MAX}, {first + 1, bytes}, {first + 2, bytes}};
    for (const codl_buffer_t& buffer : wrong) {
      REFUSES(codl_session_run, session_, &buffer, 1, &y, 1, diag);
      REFUSES(codl_session_run, session_, &x, 1, &buffer, 1, diag);
    }
    for (size_t offset : {size_t{0}, size_t{4}, bytes - 4}) {
      const codl_buffer_t overlapping = {first + offset, bytes};
      REFUSES(codl_session_run, session_, &x, 1, &overlapping, 1, diag);
      REFUSES(codl_session_run, session_, &overlapping, 1, &x, 1, diag);
    }
    codl_diag_t diag;
    CHECK(codl_session_run(session_, &x, 1, &y, 1, &diag) == CODL_OK);
  }

  static void* no_memory(void*, size_t, size_t) { return nullptr; }
  static void release_nothing(void*, void*, size_t, size_t) {}
  static size_t load_nothing(void*, const char*, void*, size_t) { return 0; }
  static void store_nothing(void*, const char*, const void*, size_t) {}

  const codl_plan_t* plan_;
  codl_session_t* session_;
  const std::vector<uint8_t> bytes_;
  std::vector<uint64_t> memory_;
  const std::vector<codl_allocator_t> wrong_allocators_ = {{nullptr, nullptr, nullptr},
                                                           {nullptr, no_memory, nullptr},
                                                           {nullptr, nullptr, release_nothing}};
  const codl_log_t deaf_log_ = {};
  const std::vector<codl_program_cache_t> wrong_caches_ = {{nullptr, nullptr, nullptr},
                                                           {nullptr, load_nothing, nullptr},
                                                           {nullptr, nullptr, store_nothing}};
  const std::vector<int32_t> wrong_cores_ = {-1, INT32_MIN, INT32_MAX};
  std::set<std::string> called_;
};

TEST_CASE("wrong calls of every function of codl.h are refused") {
  const OpenPlan plan(relu_plan({}));
  codl_session_options_t options = ReluSession::defaults();
  options.variant = "cpu";
  const ReluSession session(plan, options);
  REQUIRE(session.status == CODL_OK);
  CHECK(WrongCalls(plan, session).run() == functions_of_header());
}

TEST_CASE("a plan with several outputs refuses outputs that share memory") {
  TestPlan twice = relu_cpu_plan({1, 4, 2, 2}, 1);
  twice.outputs.push_back(twice.outputs[0]);
  twice.outputs[1].name = "again";
  const OpenPlan plan(twice);
  ReluSession session(plan, ReluSession::defaults());
  REQUIRE(session.status == CODL_OK);
  const size_t bytes = session.x.size() * 4;
  std::vector<float> other(session.y.size());
  const codl_buffer_t x = {session.x.data(), bytes};
  codl_buffer_t outputs[] = {{session.y.data(), bytes}, {session.y.data(), bytes}};
  codl_diag_t diag;
  CHECK(codl_session_run(session.get(), &x, 1, outputs, 2, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(diag.message == std::string("output again: expected memory of its own, found some of y"));
  outputs[1].data = other.data();
  CHECK(codl_session_run(session.get(), &x, 1, outputs, 2, &diag) == CODL_OK);
}

TEST_CASE("a session that runs refuses other calls and is not disturbed") {
  const OpenPlan plan(relu_cpu_plan({1, 5, 16, 6}, 1));
  codl_session_options_t options = ReluSession::defaults();
  options.record_timeline = 1;
  ReluSession session(plan, options);
  REQUIRE(session.run() == CODL_OK);
  int64_t dims[CODL_MAX_RANK];
  int32_t rank = 0;
  size_t count = 0;
  session.get()->is_running = true;
  CHECK(session.run() == CODL_INVALID_ARGUMENT);
  CHECK_THAT(session.diag.message, Catch::Contains("another thread"));
  CHECK(codl_session_get_output_dims(session.get(), 0, dims, CODL_MAX_RANK, &rank) ==
        CODL_INVALID_ARGUMENT);
  CHECK(codl_session_timeline(session.get(), &count) == nullptr);
  CHECK(session.info().thread_count == 1);
  session.get()->is_running = false;
  CHECK(session.run(1) == CODL_OK);
  CHECK(session.is_right());
  CHECK(codl_session_timeline(session.get(), &count) != nullptr);
  // A run that is refused because of its buffers leaves the session free.
  CHECK(codl_session_run(session.get(), nullptr, 0, nullptr, 0, nullptr) == CODL_INVALID_ARGUMENT);
  CHECK(session.run(2) == CODL_OK);
}

TEST_CASE("of two threads in one session one runs and is right, the other is refused") {
  const OpenPlan plan(relu_cpu_plan({1, 16, 64, 64}, 2));  // long runs, which overlap
  ReluSession session(plan, ReluSession::defaults());
  REQUIRE(session.status == CODL_OK);
  std::atomic<int> wrong_count{0};
  std::atomic<int> right_count{0};
  const auto runs = [&](float sign) {
    std::vector<float> x(session.x.size(), sign * 3);
    std::vector<float> y(x.size());
    const codl_buffer_t input = {x.data(), x.size() * 4};
    const codl_buffer_t output = {y.data(), y.size() * 4};
    codl_diag_t diag;
    for (int round = 0; round < 500; ++round) {
      std::fill(y.begin(), y.end(), -1.0f);
      const codl_status_t status = codl_session_run(session.get(), &input, 1, &output, 1, &diag);
      const float expected = status != CODL_OK ? -1.0f : sign > 0 ? 3.0f : 0.0f;
      for (float value : y) wrong_count += value != expected;
      wrong_count += status != CODL_OK && status != CODL_INVALID_ARGUMENT;
      right_count += status == CODL_OK;
      codl_session_info_t info = {};
      info.struct_size = sizeof(info);
      wrong_count += codl_session_get_info(session.get(), &info) != CODL_OK;
    }
  };
  std::thread other(runs, 1.0f);
  runs(-1.0f);
  other.join();
  CHECK(wrong_count == 0);
  CHECK(right_count > 0);
}

}  // namespace
}  // namespace codl::test
