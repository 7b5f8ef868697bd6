#pragma once

#include <memory>
#include <string>
#include <vector>

#include "profiler/lane.h"
#include "runtime/src/cpu_pool.h"

namespace codl::profiler {

class CpuLane : public Lane {
 public:
  // `cores` may be empty: not pinned.
  CpuLane(int32_t thread_count, const std::vector<int32_t>& cores);

  Processor processor() const override { return Processor::Cpu; }
  std::unique_ptr<PreparedStep> prepare(const KernelRow& row, const StepCase& item) override;
  double probe_us() override;
  void finish() override {}

  int32_t thread_count() const { return pool_.worker_count(); }

 private:
  friend class CpuStep;
  rt::CpuPool pool_;
  rt::AffinityScope scope_;
  std::vector<uint8_t> other_memory_;
  rt::Arena arena_;  // of all steps that exist
  size_t arena_used_bytes_ = 0;
  int32_t step_count_ = 0;  // that exist
};

}  // namespace codl::profiler
