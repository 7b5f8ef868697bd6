// A profiling run: which steps are timed, how often, and when it is enough.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "profiler/lane.h"
#include "profiler/sample.h"
#include "profiler/shapes.h"

namespace codl::profiler {

// The kernel rows of a lane that are sampled, and what is known of them.
struct RowState {
  const KernelRow* row = nullptr;
  size_t wanted = 0;  // samples
  std::vector<Observation> observations;
  bool is_exhausted = false;  // no further step could be drawn or prepared
};

// How much slower a lane's steps are while the other lane is busy, in percent.
struct Contention {
  double cpu_percent = 0;
  double gpu_percent = 0;
};

class Session {
 public:
  // `lanes`: a CPU lane of `thread_count` workers, and perhaps a GPU's. `probe_us`, by processor:
  // what the probe took when the samples in `samples` were taken; 0: not yet known. `append` gets
  // every new line of the sample file.
  Session(std::vector<Lane*> lanes, int32_t thread_count, std::vector<Sample> samples,
          const double (&probe_us)[2], std::function<void(const std::string& line)> append);

  // Samples until every row has what it wants or the time is spent; then repeats some. False:
  // `is_interrupted` answered true.
  bool run(double budget_s, const std::function<bool()>& is_interrupted);

  Contention measure_contention();

  const std::vector<Sample>& samples() const { return samples_; }

 private:
  struct Candidate {
    const KernelRow* row = nullptr;
    StepCase item;
    bool is_repeat = false;
  };
  void make_rows();
  void set_limits(Lane* lane);
  RowState* neediest(Processor processor, const std::vector<RowState*>& taken);
  bool draw(RowState* state, Candidate* out);
  // Times the candidates in turns.
  void measure(Lane* lane, const std::vector<Candidate>& candidates);
  void report(double seconds_left);

  std::vector<Lane*> lanes_;
  int32_t thread_count_;  // of the CPU lane
  std::vector<Sample> samples_;
  double probe_us_[2] = {};
  std::function<void(const std::string&)> append_;
  std::vector<RowState> rows_;
  WorkLimits limits_[2];
  std::mt19937_64 random_{20};
};

}  // namespace codl::profiler
