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

// Returns the parts of an operand that a processor has in its caches when the step computes some
// rows: the rows that correspond to the part, and the halo of most windows. The other processor has
// the rest. Each range is one of the stored bytes, which may be a part of the rows already; planes
// that lie apart have one range each.
std::vector<ByteRange> ranges_near_part(const StepCase& item, const OperandShape& shape);

// Counts operands of all steps that exist.
struct StepMemory {
  rt::Arena arena;
  size_t used_bytes = 0;

  void allocate();
  // Takes bytes from `own` if the arena is full.
  uint8_t* take(size_t bytes, rt::Arena* own);
};

class MeasuredCpu : public MeasuredProcessor {
 public:
  // `cores` may be empty: then threads are not pinned.
  MeasuredCpu(int32_t thread_count, const std::vector<int32_t>& cores);

  Processor processor() const override { return Processor::Cpu; }
  std::unique_ptr<PreparedStep> prepare(const KernelInfo& kernel, const StepCase& item) override;
  double probe_us() override;
  double crowding() override;
  void finish() override {}

  int32_t thread_count() const { return pool_.worker_count(); }

  // Returns how many times as long all workers take for the same arithmetic as one of them alone: 1
  // if each has a core, up to 2 if two share one, which virtual machines do not tell.
  double time_of_all_beside_one();

  // Returns the share of the workers' time, while all of them compute, in which other programs had
  // their cores.
  double share_of_others();

  // Returns how many million bytes the last cache still has when they are read again, up to 256, if
  // nothing else runs.
  double warm_weight_mbytes();

  // Calls the work once for each worker, all at once, and returns the time by the caller's clock.
  double all_us(const std::function<void(int32_t worker)>& work);

  // Copies with all workers, each its share, to measure what the other processor costs this one
  // (profiler/measure/transfer.h).
  void copy(uint8_t* to, const uint8_t* from, size_t bytes);
  // Fills the workers' caches with unrelated data, and then with their shares of [data, data +
  // bytes).
  void leave_in_caches(const uint8_t* data, size_t bytes);

 private:
  double mean_us_of(void (*work)());  // over all workers, by their own clocks
  template <typename Share>           // share(begin, end) of each worker
  void for_shares(size_t bytes, Share share);

  void need_scratch(size_t bytes);

  friend class CpuStep;
  rt::CpuPool pool_;
  rt::AffinityScope scope_;
  std::vector<uint8_t> other_memory_;
  StepMemory activations_;
  StepMemory weights_;
  rt::Arena scratch_;              // whichever step runs uses it, as in a session
  int32_t step_count_ = 0;         // that exist
  std::vector<double> probes_us_;  // indexed by worker
};

}  // namespace codl::profiler
