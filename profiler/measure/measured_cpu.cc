#include "profiler/measure/measured_cpu.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "kernels/common/contract/contract.h"
#include "kernels/kernel_table.h"
#include "profiler/fit/fit.h"
#include "profiler/measure/contents.h"
#include "runtime/tools/clock_probe.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

constexpr size_t kCacheLine = 64;

// Reads a byte of every line. The result is written, so that the loop is not removed.
void touch(const uint8_t* data, size_t bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes; i += kCacheLine) sum += data[i];
  asm volatile("" : : "r"(sum));
}

// Writes a byte of every line with its old value.
void write_again(uint8_t* data, size_t bytes) {
  for (size_t i = 0; i < bytes; i += kCacheLine) {
    uint8_t byte = data[i];
    asm volatile("" : "+r"(byte));
    data[i] = byte;
  }
}

// Returns the CPU time of the calling thread.
double thread_us() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

}  // namespace

std::vector<ByteRange> ranges_near_part(const StepCase& item, const OperandShape& shape) {
  constexpr int32_t kHaloRows = 2;
  const auto bytes = static_cast<size_t>(shape.bytes);
  const bool is_nhwc = shape.layout == Layout::Nhwc;
  const bool has_planes = shape.layout == Layout::Plain && shape.rank == 4;
  if (item.part_dim != SplitDim::Height || !(is_nhwc || has_planes)) return {{0, bytes}};
  const int64_t rows = shape.dims[2];
  const int64_t stored_begin = is_nhwc ? shape.row_begin : 0;
  const int64_t stored_rows = is_nhwc ? shape.row_end - shape.row_begin : rows;
  const int64_t output_rows = item.operands.back().dims[2];
  const int64_t begin = rows * item.part.begin / output_rows - kHaloRows;
  const int64_t end = rows * item.part.end / output_rows + kHaloRows;
  const size_t planes = is_nhwc ? 1 : static_cast<size_t>(shape.dims[0]) * shape.dims[1];
  const size_t plane_bytes = bytes / planes;
  const auto bytes_before = [&](int64_t kernel) {
    return plane_bytes *
           static_cast<size_t>(std::clamp<int64_t>(kernel - stored_begin, 0, stored_rows)) /
           static_cast<size_t>(stored_rows);
  };
  std::vector<ByteRange> ranges;
  for (size_t plane = 0; plane < planes; ++plane)
    ranges.push_back(
        {plane * plane_bytes + bytes_before(begin), plane * plane_bytes + bytes_before(end)});
  return ranges;
}

void StepMemory::allocate() {
  if (!arena.allocate(rt::default_allocator(), kArenaBytes, kCacheLine))
    throw tools::ToolError(tools::ExitCode::Internal, "no memory for operands");
}

uint8_t* StepMemory::take(size_t bytes, rt::Arena* own) {
  const size_t begin = round_up(used_bytes, kStepAlignment);
  if (begin + bytes <= arena.size_bytes()) {
    used_bytes = begin + bytes;
    return arena.data() + begin;
  }
  if (!own->allocate(rt::default_allocator(), bytes, kCacheLine))
    throw tools::ToolError(tools::ExitCode::Internal, "no memory for a step's operands");
  return own->data();
}

class CpuStep : public PreparedStep {
 public:
  CpuStep(const KernelInfo& kernel, const StepCase& item, MeasuredCpu* processor)
      : item_(item),
        processor_(processor),
        pool_(&processor->pool_),
        kernel_(kernels::cpu_kernel(kernel)) {
    ++processor_->step_count_;
    kernels::check_step(step_of(kernel, item_), &needs_);
    scratch_bytes_ = round_up(static_cast<size_t>(needs_.scratch_bytes), kCacheLine);
    processor_->need_scratch(workers() * scratch_bytes_ + static_cast<size_t>(needs_.shared_bytes));
    const auto bytes_of = [](const OperandShape& shape) {
      return round_up(static_cast<size_t>(shape.bytes), kCacheLine);
    };
    const auto is_weights = [](const OperandShape& shape) {
      return shape.layout == Layout::Packed;
    };
    size_t bytes = 0;
    size_t weight_bytes = 0;
    for (const OperandShape& shape : item_.operands)
      (is_weights(shape) ? weight_bytes : bytes) += bytes_of(shape);
    uint8_t* memory = processor_->activations_.take(bytes, &own_memory_);
    uint8_t* weights = processor_->weights_.take(2 * weight_bytes, &own_weights_);
    const auto view_of = [&](const OperandShape& shape) {
      uint8_t*& next = is_weights(shape) ? weights : memory;
      fill(shape, next, static_cast<size_t>(shape.bytes));
      const kernels::TensorView view = kernels::make_view(shape, next);
      next += bytes_of(shape);
      return view;
    };
    for (const OperandShape& shape : item_.operands) {
      views_.push_back(view_of(shape));
      touched_.emplace_back();
      if (shape.layout != Layout::Packed) touched_.back() = ranges_near_part(item_, shape);
    }
    warm_views_ = views_;
    for (kernels::TensorView& view : warm_views_)
      if (view.shape.layout == Layout::Packed) view = view_of(view.shape);
    args_.params = item_.params.data();
    args_.operand_count = static_cast<uint32_t>(views_.size());
    args_.part_dim = item_.part_dim;
    args_.part = item_.part;
  }
  ~CpuStep() override {
    if (--processor_->step_count_ > 0) return;
    processor_->activations_.used_bytes = 0;
    processor_->weights_.used_bytes = 0;
  }

  double run_us() override {
    by_each_worker<&CpuStep::leave_first>();
    // A network runs few kernels, again and again, so their code is as near as the output. From
    // memory, loading the code would take as long as a step of some microseconds. This run brings
    // in the code but uses other weights. For a long step the code does not matter.
    if (last_us_ > 0 && last_us_ < kShortStepUs) run(warm_views_);
    by_each_worker<&CpuStep::leave_last>();
    const int64_t start_ns = rt::now_ns();
    run(views_);
    last_us_ = micros_since(start_ns);
    return last_us_;
  }

  void start() override { run(views_); }

 private:
  size_t workers() const { return static_cast<size_t>(pool_->worker_count()); }
  // Lets each worker fill its own caches, which also keeps it awake until the step.
  template <void (CpuStep::*kFill)(int32_t) const>
  void by_each_worker() {
    const auto job = [](void* context, const rt::CpuPool::Piece& piece) {
      (static_cast<const CpuStep*>(context)->*kFill)(piece.worker);
    };
    pool_->run(pool_->worker_count(), job, this);
  }
  // Each worker has its own scratch; the shared scratch comes after the last one's.
  uint8_t* scratch_of(int32_t worker) const {
    return processor_->scratch_.data() + static_cast<size_t>(worker) * scratch_bytes_;
  }

  // Leaves the caches as the steps before this one would. The output takes the place of a dead
  // value, which was used some steps ago. The scratch, which steps share, was used by the last step
  // that has any; that step has read its weights since. The inputs are near, the first of them just
  // written. On a Xeon, the sum of networks' steps is then within 2 % of the sampled times; with
  // everything read just before, it was 9 % less.
  //
  // Everything was also used before that, because a last-level cache that keeps what other caches
  // drop may not keep data that was read once, and in a network activations use the same memory
  // again and again (on an Intel server, steps of some megabytes took 1.3 to 1.7 times as long
  // after a single pass).
  //
  // Such a cache keeps warm weights, because they were used twice: on a Xeon a product with 5 MB of
  // them takes 310 us after no pass or one, and 180 after two, as in mobilenet_v2.
  void leave_first(int32_t worker) const {
    for (int pass = 0; item_.has_warm_weights && pass < 2; ++pass) {
      for (const kernels::TensorView& view : views_)
        if (view.shape.layout == Layout::Packed)
          touch(static_cast<const uint8_t*>(view.data), static_cast<size_t>(view.shape.bytes));
      touch_others(0, kOtherBytes);
    }
    for (size_t i = 0; i < views_.size(); ++i) touch_share(worker, i);
    touch_others(0, kOtherBytes);
  }

  void leave_last(int32_t worker) const {
    const size_t output = views_.size() - 1;
    touch_share(worker, output);
    touch_others(0, 2 * kUsualStepBytes);
    touch(scratch_of(worker), scratch_bytes_);
    touch_others(2 * kUsualStepBytes, 3 * kUsualStepBytes);
    for (size_t i = output; i-- > 1;) touch_share(worker, i);
    for_share(worker, 0, write_again);
  }

  void touch_others(size_t begin, size_t end) const {
    touch(processor_->other_memory_.data() + begin, end - begin);
  }

  void touch_share(int32_t worker, size_t operand) const { for_share(worker, operand, touch); }

  // Calls `use` on this worker's pages of an operand of activations. Pages take turns because it is
  // chance which worker had a line last: operators cut their work in different ways, and workers
  // take tasks of each other.
  template <typename Use>
  void for_share(int32_t worker, size_t operand, Use use) const {
    constexpr size_t kPage = 4096;
    auto* data = static_cast<uint8_t*>(views_[operand].data);
    const size_t head =
        reinterpret_cast<uintptr_t>(data) % kPage;  // the offset is in the page, not in the operand
    for (const ByteRange& range : touched_[operand])
      for (size_t at = range.begin, page = (head + at) / kPage; at < range.end;
           at = ++page * kPage - head)
        if (page % workers() == static_cast<size_t>(worker))
          use(data + at, std::min((page + 1) * kPage - head, range.end) - at);
  }

  void run(const std::vector<kernels::TensorView>& operands) {
    args_.operands = operands.data();
    const auto job = [](void* context, const rt::CpuPool::Piece& piece) {
      auto* step = static_cast<CpuStep*>(context);
      kernels::KernelArgs args = step->args_;
      args.scratch = step->scratch_of(piece.worker);
      args.task_begin = piece.task_begin;
      args.task_end = piece.task_end;
      args.continues = !piece.is_first;
      step->kernel_(args);
    };
    args_.shared = scratch_of(pool_->worker_count());
    for (args_.phase = 0; args_.phase < needs_.phase_count; ++args_.phase)
      pool_->run(needs_.task_count, job, this);
  }

  const StepCase item_;
  MeasuredCpu* processor_;
  rt::CpuPool* pool_;
  kernels::CpuKernel kernel_;
  kernels::StepNeeds needs_;
  kernels::KernelArgs args_;
  rt::Arena own_memory_;  // empty if the processor's has room
  rt::Arena own_weights_;
  size_t scratch_bytes_ = 0;  // scratch of a worker
  double last_us_ = 0;
  std::vector<kernels::TensorView> views_;
  // The run before the timed one uses these, which have weights of their own.
  std::vector<kernels::TensorView> warm_views_;
  std::vector<std::vector<ByteRange>> touched_;  // indexed by operand
};

MeasuredCpu::MeasuredCpu(int32_t thread_count, const std::vector<int32_t>& cores)
    : other_memory_(kOtherBytes, 1), probes_us_(static_cast<size_t>(thread_count)) {
  codl_diag_t diag = {};
  if (pool_.start(rt::default_allocator(), {thread_count}, cores.data(), cores.size(), &diag) !=
      CODL_OK)
    throw tools::ToolError(tools::ExitCode::Internal, diag.message);
  if (pool_.worker_count() < thread_count)  // otherwise the times would describe another machine
    throw tools::ToolError(tools::ExitCode::Internal,
                           "CPU threads: expected " + std::to_string(thread_count) + ", found " +
                               std::to_string(pool_.worker_count()) +
                               ": the system grants no more");
  pool_.enter(&scope_);
  activations_.allocate();
  weights_.allocate();
  // Weights in a plan file that a runtime maps have small pages, too: with some megabytes of
  // weights, that is 4 to 8 % of a step.
  madvise(weights_.arena.data(), weights_.arena.size_bytes(), MADV_NOHUGEPAGE);
}

std::unique_ptr<PreparedStep> MeasuredCpu::prepare(const KernelInfo& kernel, const StepCase& item) {
  return std::make_unique<CpuStep>(kernel, item, this);
}

void MeasuredCpu::need_scratch(size_t bytes) {
  if (bytes <= scratch_.size_bytes()) return;
  scratch_.release();
  if (!scratch_.allocate(rt::default_allocator(), bytes, kCacheLine))
    throw tools::ToolError(tools::ExitCode::Internal, "no memory for a step's scratch");
}

double MeasuredCpu::warm_weight_mbytes() {
  // Starts with sizes that a second-level cache does not hold.
  constexpr size_t kMinBytes = size_t{4} << 20;
  constexpr size_t kMaxBytes = size_t{256} << 20;
  constexpr int kPasses = 3;           // the first two bring the data where it stays
  constexpr int kSweeps = 5;           // sweeps over all sizes: interference outlasts a size
  constexpr double kIsFarther = 1.25;  // time of a line from memory relative to one from a cache
  const std::vector<uint8_t> memory(kMaxBytes, 1);
  std::vector<double> line_us;  // least time of each size, because interference only adds
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    size_t index = 0;
    for (size_t bytes = kMinBytes; bytes <= kMaxBytes; bytes *= 2, ++index) {
      double last_us = 0;
      for (int pass = 0; pass < kPasses; ++pass) {
        const int64_t start_ns = rt::now_ns();
        touch(memory.data(), bytes);
        last_us = micros_since(start_ns) / static_cast<double>(bytes);
      }
      if (sweep == 0)
        line_us.push_back(last_us);
      else
        line_us[index] = std::min(line_us[index], last_us);
    }
  }
  double kept_bytes = static_cast<double>(kMaxBytes);
  if (line_us.back() < kIsFarther * line_us.front()) return kept_bytes * 1e-6;
  const double limit_us = std::sqrt(line_us.front() * line_us.back());
  while (line_us.back() > limit_us) {
    line_us.pop_back();
    kept_bytes /= 2;
  }
  return kept_bytes * 1e-6;
}

template <typename Share>
void MeasuredCpu::for_shares(size_t bytes, Share share) {
  struct Job {
    Share share;
    size_t bytes;
    size_t worker_count;
  } job = {share, bytes, static_cast<size_t>(pool_.worker_count())};
  const auto run = [](void* context, const rt::CpuPool::Piece& piece) {
    const Job& own = *static_cast<const Job*>(context);
    const auto index = static_cast<size_t>(piece.worker);
    own.share(own.bytes * index / own.worker_count, own.bytes * (index + 1) / own.worker_count);
  };
  pool_.run(pool_.worker_count(), run, &job);
}

void MeasuredCpu::copy(uint8_t* to, const uint8_t* from, size_t bytes) {
  for_shares(bytes,
             [=](size_t begin, size_t end) { std::memcpy(to + begin, from + begin, end - begin); });
}

void MeasuredCpu::leave_in_caches(const uint8_t* data, size_t bytes) {
  for_shares(bytes, [=, this](size_t begin, size_t end) {
    touch(other_memory_.data(), other_memory_.size());
    touch(data + begin, end - begin);
  });
}

double MeasuredCpu::all_us(const std::function<void(int32_t worker)>& work) {
  const auto run = [](void* context, const rt::CpuPool::Piece& piece) {
    for (int32_t task = piece.task_begin; task < piece.task_end; ++task)
      (*static_cast<const std::function<void(int32_t)>*>(context))(task);
  };
  const int64_t start_ns = rt::now_ns();
  pool_.run(pool_.worker_count(), run, const_cast<std::function<void(int32_t)>*>(&work));
  return micros_since(start_ns);
}

// Uses the workers' own times: passing the call to them takes as long as a quarter of a probe where
// the cores are far apart.
double MeasuredCpu::mean_us_of(void (*work)()) {
  struct Job {
    void (*work)();
    double* times_us;
  } job = {work, probes_us_.data()};
  const auto run = [](void* context, const rt::CpuPool::Piece& piece) {
    const Job& own = *static_cast<const Job*>(context);
    const int64_t start_ns = rt::now_ns();
    own.work();
    own.times_us[piece.worker] = micros_since(start_ns);
  };
  pool_.run(pool_.worker_count(), run, &job);
  return std::reduce(probes_us_.begin(), probes_us_.end()) / pool_.worker_count();
}

double MeasuredCpu::probe_us() { return mean_us_of(tools::multiply_and_add<1>); }

// Many chains of multiplications wait for the multiplier, of which the core's other thread takes a
// share. The share is larger than that of vector instructions or caches, so this shows when others
// run, but not how much they take (on an Intel server: 25 % of the multiplier, 2 to 20 of the
// latter).
double MeasuredCpu::crowding() {
  return mean_us_of(tools::multiply_and_add<6>) / mean_us_of(tools::multiply_and_add<1>);
}

double MeasuredCpu::time_of_all_beside_one() {
  constexpr int kTries = 5;
  // It must be long beside the time until a sleeping worker begins.
  const auto work = [](void*, const rt::CpuPool::Piece& piece) {
    constexpr int kRepeats = 500;
    for (int32_t task = piece.task_begin; task < piece.task_end; ++task)
      for (int i = 0; i < kRepeats; ++i) tools::multiply_and_add<6>();
  };
  const auto least_us_of = [&](int32_t task_count) {
    double least_us = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kTries; ++i) {
      const int64_t start_ns = rt::now_ns();
      pool_.run(task_count, work, nullptr);
      least_us = std::min(least_us, micros_since(start_ns));
    }
    return least_us;
  };
  return least_us_of(pool_.worker_count()) / least_us_of(1);
}

double MeasuredCpu::share_of_others() {
  // This is several time slices of a scheduler.
  constexpr double kMinUs = 200e3;
  std::vector<double> own_us(probes_us_.size());
  std::vector<double> wall_us(probes_us_.size());
  all_us([&](int32_t worker) {
    const auto index = static_cast<size_t>(worker);
    const int64_t start_ns = rt::now_ns();
    const double start_own_us = thread_us();
    while (micros_since(start_ns) < kMinUs) tools::multiply_and_add<6>();
    own_us[index] = thread_us() - start_own_us;
    wall_us[index] = micros_since(start_ns);
  });
  return std::max(0.0, 1 - std::reduce(own_us.begin(), own_us.end()) /
                               std::reduce(wall_us.begin(), wall_us.end()));
}

}  // namespace codl::profiler
