#include "profiler/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <thread>

#include "kernels/kernel_table.h"

namespace codl::profiler {
namespace {

// Steps that are in memory at once and timed in turns, so that what disturbs the machine for a
// moment disturbs one run of each and not all runs of one.
constexpr size_t kBatch = 6;
constexpr int kRunsPerRound = 7;
// Another round is added while the middle half of the runs is wider than this, at most so often.
constexpr double kWantedSpreadPercent = 5;
constexpr int kMostRounds = 3;
// Longer steps run three times.
constexpr double kLongStepUs = 30'000;

// Samples of a row: rows with multiply-adds have more to tell and take most of a network's time.
// A run's worth of rows at these numbers is some minutes on one core of 2020.
constexpr size_t kHeavySamples = 200;
constexpr size_t kLightSamples = 60;
constexpr size_t kReferenceSamples = 12;
// Steps that are measured twice, of which the noise floor is taken.
constexpr size_t kRepeats = 40;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Of the sorted values; `share` from 0 to 1.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

double spread_percent(const std::vector<double>& values) {
  return 50 * (quantile(values, 0.75) - quantile(values, 0.25)) / quantile(values, 0.5);
}

bool has_multiply_adds(const KernelRow& row) {
  switch (row.op) {
    case OpKind::Conv2d:
    case OpKind::DepthwiseConv2d:
    case OpKind::MatMul:
    case OpKind::BatchMatMul:
      return true;
    default:
      return false;
  }
}

size_t wanted_samples(const KernelRow& row) {
  if (row.dtype == DType::Any) return kReferenceSamples;
  return has_multiply_adds(row) ? kHeavySamples : kLightSamples;
}

}  // namespace

Session::Session(std::vector<Lane*> lanes, int32_t thread_count, std::vector<Sample> samples,
                 const double (&probe_us)[2], std::function<void(const std::string& line)> append)
    : lanes_(std::move(lanes)),
      thread_count_(thread_count),
      samples_(std::move(samples)),
      append_(std::move(append)) {
  for (Lane* lane : lanes_) {
    const auto index = static_cast<size_t>(lane->processor());
    probe_us_[index] = probe_us[index];
    if (probe_us_[index] > 0) continue;
    std::vector<double> probes;
    for (int i = 0; i < 101; ++i) probes.push_back(lane->probe_us());
    probe_us_[index] = quantile(probes, 0.5);
  }
  char line[80];
  std::snprintf(line, sizeof(line), "#probe,%.6g,%.6g", probe_us_[0], probe_us_[1]);
  if (probe_us[0] <= 0) append_(line);
  random_.seed(20 + samples_.size());
  make_rows();
}

void Session::make_rows() {
  for (const KernelRow& row : kKernelRows) {
    const bool has_lane = std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane* lane) {
      return lane->processor() == row.processor;
    });
    if (has_lane) rows_.push_back({&row, wanted_samples(row), {}, false});
  }
  for (RowState& state : rows_)
    for (const Sample& sample : samples_)
      if (sample.row == state.row && !sample.is_repeat)
        state.observations.push_back(
            {features_of(*sample.row, sample.item, thread_count_), sample.us});
}

// Steps of at most some milliseconds, by what the lane's first convolution takes.
void Session::set_limits(Lane* lane) {
  constexpr double kMostStepUs = 6000;
  WorkLimits& limits = limits_[static_cast<size_t>(lane->processor())];
  WorkLimits small;
  small.most_macs = 3e7;
  small.most_elements = 5e5;
  double rate = 0;  // multiply-adds in a microsecond
  for (const KernelRow& row : kKernelRows) {
    if (row.op != OpKind::Conv2d || row.processor != lane->processor()) continue;
    for (int i = 0; i < 8; ++i) {
      const std::optional<StepCase> item = draw_step(row, small, random_);
      if (!item) continue;
      const std::unique_ptr<PreparedStep> step = lane->prepare(row, *item);
      if (!step) continue;
      step->run_us();
      const double us = step->run_us();
      for (const auto& [name, value] : features_of(row, *item, thread_count_))
        if (name.starts_with("mmacs")) rate = std::max(rate, 1e6 * value / us);
    }
  }
  if (rate > 0) limits.most_macs = std::clamp(rate * kMostStepUs, 2e7, 4e9);
  limits.most_elements = std::clamp(limits.most_macs / 75, 5e5, 1.6e7);
}

RowState* Session::neediest(Processor processor, const std::vector<RowState*>& taken) {
  RowState* best = nullptr;
  double best_share = 1;
  for (RowState& state : rows_) {
    if (state.row->processor != processor || state.is_exhausted) continue;
    const auto pending = static_cast<double>(std::count(taken.begin(), taken.end(), &state));
    const double share = (static_cast<double>(state.observations.size()) + pending) /
                         static_cast<double>(state.wanted);
    if (share >= best_share) continue;
    best = &state;
    best_share = share;
  }
  return best;
}

bool Session::draw(RowState* state, Candidate* out) {
  constexpr int kChoices = 24;
  WorkLimits limits = limits_[static_cast<size_t>(state->row->processor)];
  if (state->row->dtype == DType::Any) {
    // Plain loops, some tens of times slower.
    limits.most_macs /= 50;
    limits.most_elements /= 30;
  }
  // Most steps are what networks have; every fourth is the one that tells the fit most.
  const bool is_plain = state->observations.size() < 8 || random_() % 4 != 0;
  const LinearModel model = fit_model(is_plain ? std::vector<Observation>() : state->observations);
  double best = -1;
  for (int i = 0; i < (is_plain ? 1 : kChoices); ++i) {
    std::optional<StepCase> item = draw_step(*state->row, limits, random_);
    if (!item) break;
    double value = 0;
    if (!is_plain) {
      const NamedFeatures features = features_of(*state->row, *item, thread_count_);
      value = leverage(state->observations, features, std::max(model.predict_us(features), 1.0));
    }
    if (value <= best) continue;
    best = value;
    *out = {state->row, std::move(*item), false};
  }
  return best >= 0;
}

void Session::measure(Lane* lane, const std::vector<Candidate>& candidates) {
  std::vector<std::unique_ptr<PreparedStep>> steps;
  std::vector<double> first_us;
  for (const Candidate& candidate : candidates) {
    steps.push_back(lane->prepare(*candidate.row, candidate.item));
    first_us.push_back(steps.back() ? steps.back()->run_us() : 0);
  }
  const double usual_us = probe_us_[static_cast<size_t>(lane->processor())];
  std::vector<std::vector<double>> times(candidates.size());
  for (int round = 0; round < kMostRounds; ++round) {
    for (int run = 0; run < kRunsPerRound; ++run)
      for (size_t i = 0; i < steps.size(); ++i) {
        if (!steps[i]) continue;
        const bool is_long = first_us[i] > kLongStepUs;
        if (is_long && times[i].size() >= 3) continue;
        if (round > 0 && spread_percent(times[i]) <= kWantedSpreadPercent) continue;
        const double probe_before_us = lane->probe_us();
        const double us = steps[i]->run_us();
        // The faster of the probes on both sides: an interrupt lengthens one of them.
        const double probe_us = std::min(probe_before_us, lane->probe_us());
        times[i].push_back(us * usual_us / probe_us);
      }
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!steps[i]) continue;
    Sample sample;
    sample.row = candidates[i].row;
    sample.item = candidates[i].item;
    sample.us = std::max(quantile(times[i], 0.5), 0.01);
    sample.spread_percent = spread_percent(times[i]);
    sample.run_count = static_cast<int32_t>(times[i].size());
    sample.is_repeat = candidates[i].is_repeat;
    append_(to_line(sample));
    for (RowState& state : rows_)
      if (state.row == sample.row && !sample.is_repeat)
        state.observations.push_back(
            {features_of(*sample.row, sample.item, thread_count_), sample.us});
    samples_.push_back(std::move(sample));
  }
}

void Session::report(double seconds_left) {
  size_t wanted = 0;
  size_t done = 0;
  for (const RowState& state : rows_) {
    const size_t count = std::min(state.observations.size(), state.wanted);
    wanted += state.is_exhausted ? count : state.wanted;
    done += count;
  }
  std::fprintf(stderr, "\r%zu of %zu samples, at most %.0f s left  ", done, wanted,
               std::max(seconds_left, 0.0));
}

bool Session::run(double budget_s, const std::function<bool()>& is_interrupted) {
  const Clock::time_point start = Clock::now();
  for (Lane* lane : lanes_) set_limits(lane);
  // A tenth of the time is for the repeats.
  for (bool has_work = true; has_work && seconds_since(start) < 0.9 * budget_s;) {
    has_work = false;
    for (Lane* lane : lanes_) {
      std::vector<RowState*> states;
      std::vector<Candidate> candidates;
      while (candidates.size() < kBatch) {
        RowState* state = neediest(lane->processor(), states);
        if (state == nullptr) break;
        Candidate candidate;
        if (!draw(state, &candidate)) {
          state->is_exhausted = true;
          continue;
        }
        states.push_back(state);
        candidates.push_back(std::move(candidate));
      }
      if (candidates.empty()) continue;
      has_work = true;
      const size_t before = samples_.size();
      measure(lane, candidates);
      // Rows of images on a device without them.
      if (samples_.size() == before)
        for (RowState* state : states) state->is_exhausted = true;
      if (is_interrupted()) return false;
    }
    report(budget_s - seconds_since(start));
  }
  for (Lane* lane : lanes_) {
    std::vector<const Sample*> own;
    for (const Sample& sample : samples_)
      if (sample.row->processor == lane->processor() && !sample.is_repeat) own.push_back(&sample);
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < std::min(kRepeats, own.size()); ++i) {
      const Sample& sample = *own[i * own.size() / std::min(kRepeats, own.size())];
      candidates.push_back({sample.row, sample.item, true});
    }
    for (size_t i = 0; i < candidates.size() && seconds_since(start) < budget_s; i += kBatch) {
      measure(lane, {candidates.begin() + static_cast<ptrdiff_t>(i),
                     candidates.begin() +
                         static_cast<ptrdiff_t>(std::min(i + kBatch, candidates.size()))});
      if (is_interrupted()) return false;
    }
  }
  report(budget_s - seconds_since(start));
  std::fprintf(stderr, "\n");
  return true;
}

Contention Session::measure_contention() {
  Contention contention;
  if (lanes_.size() != 2) return contention;
  constexpr int kRuns = 9;
  // Steps of a millisecond or so: long enough to lie inside the other lane's load.
  struct Pair {
    std::unique_ptr<PreparedStep> step;
    double alone_us = 0;
  };
  std::vector<Pair> pairs[2];
  for (Lane* lane : lanes_) {
    std::vector<Pair>& own = pairs[static_cast<size_t>(lane->processor())];
    for (const Sample& sample : samples_) {
      if (sample.row->processor != lane->processor() || sample.row->dtype == DType::Any) continue;
      if (own.size() >= 6 || sample.us < 500 || sample.us > 4000) continue;
      std::unique_ptr<PreparedStep> step = lane->prepare(*sample.row, sample.item);
      if (!step) continue;
      own.push_back({std::move(step), 0});
    }
  }
  if (pairs[0].empty() || pairs[1].empty()) return contention;
  const auto median_of = [&](PreparedStep& step, const std::function<void()>& before) {
    std::vector<double> times;
    for (int i = 0; i < kRuns; ++i) {
      before();
      times.push_back(step.run_us());
    }
    return quantile(times, 0.5);
  };
  for (auto& own : pairs)
    for (Pair& pair : own) pair.alone_us = median_of(*pair.step, [] {});
  Lane* gpu = lanes_[0]->processor() == Processor::Gpu ? lanes_[0] : lanes_[1];
  std::vector<double> slowdowns[2];
  for (size_t i = 0; i < std::min(pairs[0].size(), pairs[1].size()); ++i) {
    Pair& cpu_pair = pairs[0][i];
    Pair& gpu_pair = pairs[1][i];
    const double cpu_us = median_of(*cpu_pair.step, [&] {
      gpu->finish();
      gpu_pair.step->keep_busy(2 * cpu_pair.alone_us, gpu_pair.alone_us);
    });
    gpu->finish();
    slowdowns[0].push_back(cpu_us / cpu_pair.alone_us);
    double gpu_us = 0;
    std::thread load(
        [&] { cpu_pair.step->keep_busy(2 * kRuns * gpu_pair.alone_us, cpu_pair.alone_us); });
    gpu_us = median_of(*gpu_pair.step, [] {});
    load.join();
    slowdowns[1].push_back(gpu_us / gpu_pair.alone_us);
  }
  contention.cpu_percent = std::max(0.0, 100 * (quantile(slowdowns[0], 0.5) - 1));
  contention.gpu_percent = std::max(0.0, 100 * (quantile(slowdowns[1], 0.5) - 1));
  return contention;
}

}  // namespace codl::profiler
