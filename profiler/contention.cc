#include "profiler/contention.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

namespace codl::profiler {
namespace {

constexpr int kRuns = 9;
// Of a lane.
constexpr size_t kMostSteps = 24;
// Not much longer: some together are the load. Not shorter: what wakes and calls cost is not meant.
constexpr double kLeastStepUs = 200;
constexpr double kMostStepUs = 4000;

struct TimedStep {
  std::unique_ptr<PreparedStep> step;
  double us;
};

class LaneSteps {
 public:
  // Of networks where there are any, else of what was drawn.
  LaneSteps(Lane& lane, std::span<const Sample> samples) {
    std::vector<const Sample*> own;
    for (const Sample& sample : samples)
      if (sample.row->processor == lane.processor() && sample.row->dtype != DType::Any &&
          sample.us >= kLeastStepUs && sample.us <= kMostStepUs)
        own.push_back(&sample);
    std::mt19937_64 random(20);
    std::shuffle(own.begin(), own.end(), random);
    std::stable_partition(own.begin(), own.end(),
                          [](const Sample* sample) { return sample->role == SampleRole::Network; });
    size_t bytes = 0;
    for (const Sample* sample : own) {
      if (steps_.size() == kMostSteps || bytes >= kBatchBytes) break;
      std::unique_ptr<PreparedStep> step = lane.prepare(*sample->row, sample->item);
      if (!step) continue;
      steps_.push_back({std::move(step), sample->us});
      bytes += operand_bytes(sample->item);
    }
  }

  std::span<const TimedStep> steps() const { return steps_; }

  // Starts the next step, and says what it takes alone.
  double start_next() {
    const TimedStep& next = steps_[next_++ % steps_.size()];
    next.step->start();
    return next.us;
  }

 private:
  std::vector<TimedStep> steps_;
  size_t next_ = 0;
};

// Medians, summed over a lane's steps.
struct Sums {
  double alone_us = 0;
  double beside_us = 0;

  double slow_down_percent() const { return std::max(0.0, 100 * (beside_us / alone_us - 1)); }
};

double time_cpu(LaneSteps& cpu, LaneSteps& load, Lane& gpu) {
  Sums sums;
  for (const TimedStep& timed : cpu.steps()) {
    std::vector<double> alone_us;
    std::vector<double> beside_us;
    for (int run = 0; run < kRuns; ++run) {
      alone_us.push_back(timed.step->run_us());
      // More than the step with all that comes before it is timed.
      for (double left_us = 4 * timed.us + 3000; left_us > 0;) left_us -= load.start_next();
      beside_us.push_back(timed.step->run_us());
      gpu.finish();
    }
    sums.alone_us += quantile(alone_us, 0.5);
    sums.beside_us += quantile(beside_us, 0.5);
  }
  return sums.slow_down_percent();
}

double time_gpu(LaneSteps& gpu, LaneSteps& load) {
  Sums sums;
  const auto median_us = [](const TimedStep& timed) {
    std::vector<double> times_us;
    for (int run = 0; run < kRuns; ++run) times_us.push_back(timed.step->run_us());
    return quantile(times_us, 0.5);
  };
  for (const TimedStep& timed : gpu.steps()) {
    sums.alone_us += median_us(timed);
    std::atomic<bool> is_over = false;
    std::thread worker([&] {
      while (!is_over) load.start_next();
    });
    sums.beside_us += median_us(timed);
    is_over = true;
    worker.join();
  }
  return sums.slow_down_percent();
}

}  // namespace

std::optional<Contention> measure_contention(Lane& cpu, Lane& gpu,
                                             std::span<const Sample> samples) {
  LaneSteps cpu_steps(cpu, samples);
  LaneSteps gpu_steps(gpu, samples);
  if (cpu_steps.steps().empty() || gpu_steps.steps().empty()) return std::nullopt;
  return Contention{time_cpu(cpu_steps, gpu_steps, gpu), time_gpu(gpu_steps, cpu_steps)};
}

}  // namespace codl::profiler
