#include "runtime/src/run_record.h"

#include <cstdarg>
#include <cstdio>

namespace codl::rt {

void RunRecord::say(const char* format, ...) const {
  if (log_.write == nullptr) return;
  codl_diag_t line;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line.message, sizeof(line.message), format, arguments);
  va_end(arguments);
  log_.write(log_.context, line.message);
}

void RunRecord::note_failure(const codl_diag_t& reason, bool has_fallback, const char* end) {
  const uint64_t count = failed_runs_.load(std::memory_order_relaxed);
  if (count == 0) {
    first_failure_ = reason;
    say("a run failed on the device: %s%s", reason.message,
        has_fallback ? "; it is finished on the CPU" : "");
  }
  failed_runs_.store(count + 1, std::memory_order_release);
  ++failures_in_a_row_;
  if (!has_fallback || (end == nullptr && failures_in_a_row_ < kMaxFailuresInARow)) return;
  say("the device is not used any more: %s",
      end != nullptr ? end : "it failed in runs one after the other");
  has_given_up_.store(true, std::memory_order_release);
}

}  // namespace codl::rt
