// A profiling run: it decides which steps are timed, how often, and when they are enough.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/fit/sample.h"
#include "profiler/measure/measured_processor.h"
#include "profiler/measure/shapes.h"

namespace codl::profiler {

// Describes a kernel that is sampled, and the state of its sampling.
struct RowState {
  const KernelInfo* kernel = nullptr;
  size_t wanted = 0;  // samples
  size_t needed = 0;  // samples needed for a model
  WorkLimits limits;
  std::vector<Observation> observations;
  size_t refused = 0;         // steps that the processor could not hold
  bool is_exhausted = false;  // no further step could be drawn or prepared
};

struct SessionOptions {
  ProcessorFacts facts;
  size_t samples_per_kernel = 0;         // 0: the usual number
  std::string kernels;                   // only kernels that have this in their symbol
  bool has_images = true;                // if false, kernels that access images are left out
  std::vector<Sample> network_steps;     // steps of plans that are not yet measured;
                                         // SampleRole::Network
  std::map<std::string, size_t> needed;  // read_needed() of the sample file that is continued
  uint64_t seed = 0;                     // other numbers draw other steps
};

// True if the kernel is among those asked for.
bool is_wanted(const KernelInfo& kernel, std::string_view kernels, bool has_images);

class Session {
 public:
  // `processors`: a CPU, and perhaps a GPU. `probe_us`, per processor: the probe's time when
  // `samples` were taken; 0: not yet known. `append` gets every new line of the sample file.
  Session(std::vector<MeasuredProcessor*> processors, SessionOptions options,
          std::vector<Sample> samples, const double (&probe_us)[2],
          std::function<void(const std::string& line)> append);

  // Visits new steps until every kernel has the samples it wants. Then visits them again, with
  // repeats of some, until every sample has kVisits or the time is over. If first visits take too
  // long, the rest are drawn after the present samples had some visits. Returns false if
  // `is_interrupted` returned true.
  bool run(double budget_s, const std::function<bool()>& is_interrupted);

  const std::vector<Sample>& samples() const { return samples_; }

 private:
  struct Clock;  // time spent in a run, and whether it was interrupted
  void make_rows();
  void append_needed(const RowState& state, size_t needed);
  void exhaust(RowState* state);
  void set_limits(MeasuredProcessor* processor);
  // Lowers the limits if a step of `us` took too long. For a step drawn with larger limits, `us` is
  // its time over the factor.
  void tighten_limits(RowState* state, double us);
  RowState* neediest(Processor processor, const std::vector<RowState*>& taken);
  // Draws a step within `factor` times the kernel's limits.
  bool draw(RowState* state, double factor, Sample* out);
  bool draw_samples(Clock& clock);
  bool measure_networks(Clock& clock);
  // Visits all samples until each has so many visits.
  bool visit_again(Clock& clock, size_t wanted_visits);
  bool needs_samples();
  void choose_repeats();
  // Times the first samples in turns, as many as fit into memory at once, and adds a visit to each
  // that the processor can hold. Returns how many these were: fewer if the run's time is over, but
  // at least one.
  size_t measure(MeasuredProcessor* processor, std::span<Sample* const> samples);

  std::vector<MeasuredProcessor*> processors_;
  SessionOptions options_;
  std::vector<Sample> samples_;
  double probe_us_[2] = {};
  std::vector<double> crowdings_[2];  // indexed by processor, of all runs; the median is usual
  std::function<void(const std::string&)> append_;
  std::vector<RowState> rows_;
  int64_t end_ns_ = 0;  // end of a run's time
  std::mt19937_64 random_{20};
};

}  // namespace codl::profiler
