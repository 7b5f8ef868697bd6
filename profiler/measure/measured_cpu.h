#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "profiler/measure/measured_processor.h"
#include "runtime/src/cpu_pool.h"

namespace codl::profiler {

struct ByteRange {
  size_t begin;
  size_t end;
};

// What a processor has in its caches of an operand when the step is a part of some rows: those that
// correspond to the part's, and the halo of most windows; the other processor has the rest. One
// range of what is stored, which may be a part of the rows already; of each plane where they are
// apart.
std::vector<ByteRange> ranges_near_part(const StepCase& item, const OperandShape& shape);

// Operands of all steps that exist.
struct StepMemory {
  rt::Arena arena;
  size_t used_bytes = 0;

  void allocate();
  // Or of `own` if the arena is full.
  uint8_t* take(size_t bytes, rt::Arena* own);
};

class MeasuredCpu : public MeasuredProcessor {
 public:
  // `cores` may be empty: not pinned.
  MeasuredCpu(int32_t thread_count, const std::vector<int32_t>& cores);

  Processor processor() const override { return Processor::Cpu; }
  std::unique_ptr<PreparedStep> prepare(const KernelInfo& kernel, const StepCase& item) override;
  double probe_us() override;
  double crowding() override;
  void finish() override {}

  int32_t thread_count() const { return pool_.worker_count(); }

  // How many times as long all workers take for the same arithmetic as one of them alone: 1 where
  // each has a core, up to 2 where they are threads of one, which virtual machines do not tell.
  double time_of_all_beside_one();

  // Of the workers' time while all of them compute: the share that other programs had their cores.
  double share_of_others();

  // So many million bytes the last cache still has when they are read again, up to 256; alone.
  double warm_weight_mbytes();

  // What the work takes, called once for each worker, all at once: by the caller's clock.
  double all_us(const std::function<void(int32_t worker)>& work);

  // For what the other processor costs this one (profiler/measure/transfer.h). All workers copy
  // their shares.
  void copy(uint8_t* to, const uint8_t* from, size_t bytes);
  // Puts into the workers' caches what is nobody's, and then their shares of [data, data + bytes).
  void leave_in_caches(const uint8_t* data, size_t bytes);

 private:
  double mean_us_of(void (*work)());  // by all workers, of their own times
  template <typename Share>           // share(begin, end) of each worker
  void for_shares(size_t bytes, Share share);

  void need_scratch(size_t bytes);

  friend class CpuStep;
  rt::CpuPool pool_;
  rt::AffinityScope scope_;
  std::vector<uint8_t> other_memory_;
  StepMemory activations_;
  StepMemory weights_;
  rt::Arena scratch_;              // of whichever step runs, as in a session
  int32_t step_count_ = 0;         // that exist
  std::vector<double> probes_us_;  // by worker
};

}  // namespace codl::profiler
