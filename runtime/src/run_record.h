// A record of the events in a session's runs, for its host: logged once, and to be asked for at any
// time, also beside a run.
#pragma once

#include <atomic>
#include <cstdint>

#include "codl/codl.h"

namespace codl::rt {

class RunRecord {
 public:
  // If the device failed in so many runs in a row, it is not tried again: each costs what was
  // computed before the failure, and some drivers let a caller wait for seconds.
  static constexpr uint32_t kMaxFailuresInARow = 3;

  void set_log(const codl_log_t& log) { log_ = log; }
  const codl_log_t& log() const { return log_; }
  // Writes one line to the log, if there is one.
  void say(const char* format, ...) const __attribute__((format(printf, 2, 3)));

  // The thread that runs calls these.
  void note_success() { failures_in_a_row_ = 0; }
  // `end`: why the device is not to be tried again; null: it may be.
  void note_failure(const codl_diag_t& reason, bool has_fallback, const char* end);

  // Any thread may call this.
  uint64_t failed_runs() const { return failed_runs_.load(std::memory_order_acquire); }
  // It is written once, before failed_runs() is 1; it is "" until then.
  const char* first_failure() const { return failed_runs() != 0 ? first_failure_.message : ""; }
  // The session goes on with the CPU variant.
  bool has_given_up() const { return has_given_up_.load(std::memory_order_acquire); }

 private:
  codl_log_t log_ = {};
  codl_diag_t first_failure_ = {};
  uint32_t failures_in_a_row_ = 0;
  std::atomic<uint64_t> failed_runs_{0};
  std::atomic<bool> has_given_up_{false};
};

}  // namespace codl::rt
