#include "profiler/cpu_lane.h"

#include <random>

#include "kernels/common/tensor_view.h"
#include "kernels/kernel_table.h"
#include "profiler/contents.h"
#include "runtime/tools/tool_error.h"

namespace codl::profiler {
namespace {

// What other steps of a network have put into the core's caches meanwhile: more than a second-level
// cache holds.
constexpr size_t kOtherBytes = size_t{4} << 20;
constexpr size_t kCacheLine = 64;

// Reads a byte of every line. Written, so that the loop stays.
void touch(const uint8_t* data, size_t bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes; i += kCacheLine) sum += data[i];
  asm volatile("" : : "r"(sum));
}

class CpuStep : public PreparedStep {
 public:
  CpuStep(const KernelRow& row, const StepCase& item, rt::CpuPool* pool,
          const std::vector<uint8_t>* other_memory)
      : item_(item), pool_(pool), other_memory_(other_memory), kernel_(kernels::cpu_kernel(row)) {
    kernels::check_step(step_of(row, item_), &needs_);
    for (const OperandShape& shape : item_.operands) {
      memory_.push_back(allocate(shape.bytes));
      fill(shape, memory_.back()->data(), static_cast<size_t>(shape.bytes));
      views_.push_back(kernels::make_view(shape, memory_.back()->data()));
    }
    for (int32_t i = 0; i < pool_->worker_count(); ++i)
      scratch_.push_back(allocate(needs_.scratch_bytes + 1));
    args_.params = item_.params.data();
    args_.operands = views_.data();
    args_.operand_count = static_cast<uint32_t>(views_.size());
    args_.part_dim = item_.part_dim;
    args_.part = item_.part;
  }

  double run_us() override {
    // By all workers: each fills its own caches, and is awake when the step comes.
    const auto job = [](void* context, int32_t worker, int32_t, int32_t) {
      static_cast<CpuStep*>(context)->touch_share(worker);
    };
    pool_->run(pool_->worker_count(), job, this);
    const int64_t start_ns = rt::now_ns();
    run();
    return static_cast<double>(rt::now_ns() - start_ns) / 1000;
  }

  void keep_busy(double us, double) override {
    const int64_t end_ns = rt::now_ns() + static_cast<int64_t>(us * 1000);
    while (rt::now_ns() < end_ns) run();
  }

 private:
  static std::unique_ptr<rt::Arena> allocate(uint64_t bytes) {
    auto arena = std::make_unique<rt::Arena>();
    if (!arena->allocate(rt::default_allocator(), bytes, kCacheLine))
      throw tools::ToolError(tools::ExitCode::Internal, "no memory for a step's operands");
    return arena;
  }

  // Of every input of activations the worker's share, after memory that is nobody's.
  void touch_share(int32_t worker) const {
    touch(other_memory_->data(), other_memory_->size());
    for (size_t i = 0; i + 1 < views_.size(); ++i) {
      if (item_.operands[i].layout == Layout::Packed) continue;
      const auto share =
          static_cast<size_t>(item_.operands[i].bytes) / static_cast<size_t>(pool_->worker_count());
      touch(memory_[i]->data() + static_cast<size_t>(worker) * share, share);
    }
  }

  void run() {
    const auto job = [](void* context, int32_t worker, int32_t begin, int32_t end) {
      auto* step = static_cast<CpuStep*>(context);
      kernels::KernelArgs args = step->args_;
      args.scratch = step->scratch_[static_cast<size_t>(worker)]->data();
      args.task_begin = begin;
      args.task_end = end;
      step->kernel_(args);
    };
    pool_->run(needs_.task_count, job, this);
  }

  const StepCase item_;
  rt::CpuPool* pool_;
  const std::vector<uint8_t>* other_memory_;
  kernels::CpuKernel kernel_;
  kernels::StepNeeds needs_;
  kernels::KernelArgs args_;
  std::vector<std::unique_ptr<rt::Arena>> memory_;
  std::vector<std::unique_ptr<rt::Arena>> scratch_;
  std::vector<kernels::TensorView> views_;
};

}  // namespace

CpuLane::CpuLane(int32_t thread_count, const std::vector<int32_t>& cores)
    : other_memory_(kOtherBytes, 1) {
  codl_diag_t diag = {};
  if (pool_.start(rt::default_allocator(), thread_count, cores.data(), cores.size(), &diag) !=
      CODL_OK)
    throw tools::ToolError(tools::ExitCode::Internal, diag.message);
  pool_.enter(&scope_);
}

std::unique_ptr<PreparedStep> CpuLane::prepare(const KernelRow& row, const StepCase& item) {
  return std::make_unique<CpuStep>(row, item, &pool_, &other_memory_);
}

double CpuLane::probe_us() {
  // A chain: each waits for the one before, so that only the clock counts. Integers: what the
  // vector units' clock does beside it is within the noise, and a compiler cannot shorten it.
  constexpr int kLength = 20'000;
  const int64_t start_ns = rt::now_ns();
  uint32_t value = 1;
  for (int i = 0; i < kLength; ++i) {
    value = value * 1664525u + 1013904223u;
    asm volatile("" : "+r"(value));
  }
  return static_cast<double>(rt::now_ns() - start_ns) / 1000;
}

}  // namespace codl::profiler
