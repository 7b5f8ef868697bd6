// Makes a session of a relu plan with its buffers, for tests.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/src/session.h"
#include "test/runtime/relu_plan.h"
#include "test/support/catch.h"

namespace codl::test {

// Opens a plan in memory that is aligned as a file's mapping is.
class OpenPlan {
 public:
  explicit OpenPlan(const TestPlan& plan, const codl_allocator_t* allocator = nullptr) {
    const std::vector<uint8_t> bytes = to_bytes(plan);
    REQUIRE(posix_memalign(&memory_, kBlobAlignment, bytes.size()) == 0);
    std::memcpy(memory_, bytes.data(), bytes.size());
    codl_plan_options_t options = {};
    options.struct_size = sizeof(options);
    options.allocator = allocator;
    codl_diag_t diag;
    const codl_status_t status = codl_plan_open(memory_, bytes.size(), &options, &plan_, &diag);
    INFO(diag.message);
    REQUIRE(status == CODL_OK);
  }
  OpenPlan(const OpenPlan&) = delete;
  OpenPlan& operator=(const OpenPlan&) = delete;
  ~OpenPlan() {
    codl_plan_close(plan_);
    std::free(memory_);
  }
  const codl_plan_t* get() const { return plan_; }

 private:
  void* memory_ = nullptr;
  codl_plan_t* plan_ = nullptr;
};

// Catch2's assertions work in one thread only, so making and running a session asserts nothing.
// The lines that a session logs.
struct Lines {
  std::vector<std::string> lines;
  codl_log_t log = {this, [](void* context, const char* line) {
                      static_cast<Lines*>(context)->lines.push_back(line);
                    }};
};

class ReluSession {
 public:
  ReluSession(const OpenPlan& plan, const codl_session_options_t& options,
              const rt::ClApi* api = nullptr) {
    status = rt::create_session(plan.get(), &options, api, &session_, &diag);
    x.resize(plan.get()->entry().inputs()->Get(0)->bytes() / 4);
    y.resize(x.size());
  }
  ReluSession(const ReluSession&) = delete;
  ReluSession& operator=(const ReluSession&) = delete;
  ~ReluSession() { codl_session_destroy(session_); }

  static codl_session_options_t defaults() {
    codl_session_options_t options = {};
    options.struct_size = sizeof(options);
    return options;
  }

  codl_session_t* get() const { return session_; }

  codl_session_info_t info() const {
    codl_session_info_t info = {};
    info.struct_size = sizeof(info);
    REQUIRE(codl_session_get_info(session_, &info) == CODL_OK);
    return info;
  }

  // Runs on numbers that differ from round to round.
  codl_status_t run(int round = 0) {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>((i * 31 + static_cast<size_t>(round) * 7) % 101) - 50.0f;
    std::fill(y.begin(), y.end(), -1.0f);
    const codl_buffer_t input = {x.data(), x.size() * 4};
    const codl_buffer_t output = {y.data(), y.size() * 4};
    return codl_session_run(session_, &input, 1, &output, 1, &diag);
  }

  bool is_right() const {
    for (size_t i = 0; i < x.size(); ++i)
      if (y[i] != (x[i] > 0 ? x[i] : 0.0f)) return false;
    return true;
  }

  codl_status_t status;  // result of the creation
  codl_diag_t diag = {};
  std::vector<float> x;
  std::vector<float> y;

 private:
  codl_session_t* session_ = nullptr;
};

}  // namespace codl::test
