// Turns samples into a profile's calibration of kernels and families (profiler/profile_json.h).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "profiler/fit/profile_json.h"

namespace codl::profiler {
namespace {

using compiler::kMaxJointShares;

constexpr size_t kFolds = 5;
// A step takes at least a nanosecond, the unit that predictions are rounded to.
constexpr double kMinStepShare = 1e-3;

std::vector<size_t> folds_of(size_t count) {
  std::vector<size_t> folds;
  for (size_t i = 0; i < count; ++i) folds.push_back(i % kFolds);
  return folds;
}

// Returns shares as a profile has them, and their held-out errors.
Fit fit_of(const std::vector<Observation>& observations, const Residuals& held_out,
           const FitOptions& options) {
  constexpr double kMinRatio = 0.05;  // least ratio of a prediction to the measurement
  Fit fit;
  fit.shares = fit_shares(observations, options);
  for (double& share : fit.shares.of) share = rounded(share, kShareDigits);
  fit.shares[compiler::Term::Step] = std::max(fit.shares[compiler::Term::Step], kMinStepShare);
  for (compiler::JointShare& joint : fit.shares.joint)
    joint.share = rounded(joint.share, kShareDigits);
  fit.held_out = held_out;
  fit.interval_low = 1 / std::max(kMinRatio, 1 + held_out.p90 / 100);
  fit.interval_high = 1 / std::max(kMinRatio, 1 + held_out.p10 / 100);
  return fit;
}

Fit fit_kernel(const std::vector<Observation>& observations, const FitOptions& options) {
  const std::vector<double> predictions =
      predict_held_out(observations, folds_of(observations.size()), kFolds, options);
  return fit_of(observations, residuals_of(errors_of(observations, predictions)), options);
}

using ObservationsOfKernels = std::map<uint16_t, std::vector<Observation>>;

// Returns the observations of all kernels, weighted so that each kernel counts the same.
std::vector<Observation> weighed_alike(
    const std::vector<const std::vector<Observation>*>& kernels) {
  std::vector<Observation> all;
  for (const std::vector<Observation>* kernel : kernels)
    for (Observation observation : *kernel) {
      observation.weight = 1 / static_cast<double>(kernel->size());
      all.push_back(observation);
    }
  return all;
}

// Returns the shares of the other kernels of the family on this machine; if there are none, those
// on other machines.
Shares other_shares(const KernelInfo& info, const ObservationsOfKernels& by_kernel,
                    bool is_gpu_a_processor) {
  std::vector<const std::vector<Observation>*> others;
  for (const auto& [id, observations] : by_kernel) {
    const KernelInfo& other = *find_kernel(id);
    if (id != info.id && other.processor == info.processor &&
        kernels::family_of(other) == kernels::family_of(info) &&
        observations.size() >= kSamplesOfFit)
      others.push_back(&observations);
  }
  if (others.empty())
    return compiler::family_calibration(kernels::family_of(info), info.processor,
                                        is_gpu_a_processor)
        .shares;
  return fit_shares(weighed_alike(others));
}

ObservationsOfKernels observations_to_fit(const std::vector<Sample>& samples,
                                          const ProcessorFacts& processor) {
  ObservationsOfKernels by_kernel;
  for (const Sample& sample : samples)
    if (sample.role == SampleRole::Fit)
      by_kernel[sample.kernel->id].push_back(
          {times_of(*sample.kernel, sample.item, processor), sample.us});
  return by_kernel;
}

// Returns equally many errors of each kernel, spread as all of its errors are, so that kernels
// count the same.
std::vector<double> errors_of_kernels(const std::vector<double>& errors,
                                      const std::vector<size_t>& kernels, size_t kernel_count) {
  constexpr int kErrorsOfKernel = 40;
  std::vector<double> all;
  for (size_t kernel = 0; kernel < kernel_count; ++kernel) {
    std::vector<double> own;
    for (size_t i = 0; i < errors.size(); ++i)
      if (kernels[i] == kernel) own.push_back(errors[i]);
    for (int i = 0; i < kErrorsOfKernel; ++i)
      all.push_back(quantile(own, (i + 0.5) / kErrorsOfKernel));
  }
  return all;
}

std::map<uint16_t, Shares> other_shares_of_kernels(const ObservationsOfKernels& by_kernel,
                                                   const ProcessorFacts& processor) {
  std::map<uint16_t, Shares> shares;
  for (const auto& [id, observations] : by_kernel)
    shares[id] = other_shares(*find_kernel(id), by_kernel, processor.machine.is_gpu_a_processor);
  return shares;
}

// Fits the family's kernels, each of which has observations.
Fit fit_family(const std::vector<const std::vector<Observation>*>& kernels) {
  const std::vector<Observation> all = weighed_alike(kernels);
  std::vector<size_t> kernel_of;
  for (size_t kernel = 0; kernel < kernels.size(); ++kernel)
    kernel_of.insert(kernel_of.end(), kernels[kernel]->size(), kernel);
  if (kernels.size() == 1) return fit_kernel(all, {});
  const std::vector<double> errors =
      errors_of(all, predict_held_out(all, kernel_of, kernels.size()));
  Residuals held_out = residuals_of(errors_of_kernels(errors, kernel_of, kernels.size()));
  held_out.count = all.size();
  return fit_of(all, held_out, {});
}

// Returns `known` shares, times the factor by which these steps take longer: few steps tell how
// fast a machine or a kernel is, but not why.
Fit fit_few(const std::vector<Observation>& observations, const Shares& known,
            const compiler::Calibration& family) {
  std::vector<double> ratios;
  for (const Observation& observation : observations)
    ratios.push_back(observation.us / std::max(weigh(observation.times, known), 1e-3));
  const double factor = quantile(ratios, 0.5);
  Fit fit;
  fit.shares = known;
  for (double& share : fit.shares.of) share = rounded(share * factor, kShareDigits);
  for (compiler::JointShare& joint : fit.shares.joint)
    joint.share = rounded(joint.share * factor, kShareDigits);
  std::vector<double> predictions;
  for (const Observation& observation : observations)
    predictions.push_back(weigh(observation.times, fit.shares));
  fit.held_out = residuals_of(errors_of(observations, predictions));
  fit.interval_low = family.interval_low;
  fit.interval_high = family.interval_high;
  return fit;
}

std::vector<FamilyFit> fit_families(const ObservationsOfKernels& by_kernel,
                                    bool is_gpu_a_processor) {
  std::map<std::pair<Processor, kernels::KernelFamily>,
           std::vector<const std::vector<Observation>*>>
      by_family;
  for (const auto& [id, observations] : by_kernel) {
    const KernelInfo& info = *find_kernel(id);
    by_family[{info.processor, kernels::family_of(info)}].push_back(&observations);
  }
  std::vector<FamilyFit> fits;
  for (const auto& [key, kernels] : by_family) {
    const size_t count = std::transform_reduce(
        kernels.begin(), kernels.end(), size_t{0}, std::plus<>(),
        [](const std::vector<Observation>* observations) { return observations->size(); });
    if (count < kSamplesOfFactor) continue;
    const auto& [processor, family] = key;
    const compiler::Calibration known =
        compiler::family_calibration(family, processor, is_gpu_a_processor);
    Fit fit = count < kSamplesOfFamily ? fit_few(weighed_alike(kernels), known.shares, known)
                                       : fit_family(kernels);
    if (kernels.size() == 1) {
      fit.interval_low = std::min(fit.interval_low, known.interval_low);
      fit.interval_high = std::max(fit.interval_high, known.interval_high);
    }
    fits.push_back({processor, family, fit});
  }
  return fits;
}

}  // namespace

Fits fit_samples(const std::vector<Sample>& samples, const ProcessorFacts& processor) {
  const ObservationsOfKernels by_kernel = observations_to_fit(samples, processor);
  std::map<uint16_t, Shares> families = other_shares_of_kernels(by_kernel, processor);
  Fits fits;
  for (const auto& [id, observations] : by_kernel) {
    const KernelInfo* info = find_kernel(id);
    if (observations.size() >= kSamplesOfFit)
      fits.kernels.push_back({info, fit_kernel(observations, {&families[id], kMaxJointShares})});
    else if (observations.size() >= kSamplesOfFactor && !info->is_reference())
      fits.kernels.push_back(
          {info, fit_few(observations, families[id],
                         compiler::family_calibration(kernels::family_of(*info), info->processor,
                                                      processor.machine.is_gpu_a_processor))});
  }
  fits.families = fit_families(by_kernel, processor.machine.is_gpu_a_processor);
  return fits;
}

std::vector<std::string> kernels_without_fit(const std::vector<Sample>& samples,
                                             const std::map<std::string, size_t>& needed,
                                             std::string_view kernels) {
  std::map<uint16_t, size_t> counts;
  for (const Sample& sample : samples)
    if (sample.role == SampleRole::Fit) ++counts[sample.kernel->id];
  std::vector<std::string> missing;
  for (const KernelInfo& info : kKernelInfos) {
    if (std::string_view(info.symbol).find(kernels) == std::string_view::npos) continue;
    const auto said = needed.find(info.symbol);
    const auto counted = counts.find(info.id);
    const size_t count = counted == counts.end() ? 0 : counted->second;
    size_t least = 0;
    if (said != needed.end())
      least = said->second;
    else if (count > 0 && needed.empty() && !info.is_reference())
      least = kSamplesOfFit;
    if (count < least) missing.emplace_back(info.symbol);
  }
  return missing;
}

std::string evaluation_text(const std::vector<Sample>& samples, const ProcessorFacts& processor) {
  const ObservationsOfKernels by_kernel = observations_to_fit(samples, processor);
  std::map<uint16_t, Shares> families = other_shares_of_kernels(by_kernel, processor);
  std::string text;
  const auto add_line = [&](const KernelInfo& info, int fold, const Observation& observation,
                            double predicted_us) {
    char part[128];
    std::snprintf(part, sizeof(part), "%s,%s,%d,%.6g,%.6g,", info.symbol,
                  kernels::kFamilyNames[static_cast<size_t>(kernels::family_of(info))], fold,
                  observation.us, predicted_us);
    text += part;
    for (int term = 0; term < compiler::kTermCount; ++term) {
      if (observation.times.us[term] == 0) continue;
      std::snprintf(part, sizeof(part), "%s=%.6g ", compiler::kTermNames[term],
                    observation.times.us[term]);
      text += part;
    }
    text.back() = '\n';
  };
  for (const auto& [id, observations] : by_kernel) {
    const std::vector<size_t> folds = folds_of(observations.size());
    const std::vector<double> predictions =
        predict_held_out(observations, folds, kFolds, {&families[id], kMaxJointShares});
    for (size_t i = 0; i < observations.size(); ++i)
      add_line(*find_kernel(id), static_cast<int>(folds[i]), observations[i], predictions[i]);
  }
  // Steps of networks, which no fit has seen, have fold -1.
  std::map<uint16_t, Shares> shares_of_kernels;
  for (const Sample& sample : samples) {
    const auto found = by_kernel.find(sample.kernel->id);
    if (sample.role != SampleRole::Network || found == by_kernel.end()) continue;
    auto [shares, is_new] = shares_of_kernels.try_emplace(sample.kernel->id);
    if (is_new)
      shares->second = fit_shares(found->second, {&families[found->first], kMaxJointShares});
    const Observation observation = {times_of(*sample.kernel, sample.item, processor), sample.us};
    add_line(*sample.kernel, -1, observation, weigh(observation.times, shares->second));
  }
  return text;
}

double noise_floor_percent(const std::vector<Sample>& samples, Processor processor) {
  size_t count = 0;
  size_t within = 0;
  for (const Sample& repeat : samples) {
    if (repeat.role != SampleRole::Repeat || repeat.kernel->processor != processor) continue;
    Sample first = repeat;
    first.role = SampleRole::Fit;
    for (const Sample& sample : samples) {
      if (sample.kernel != repeat.kernel || step_text(sample) != step_text(first)) continue;
      ++count;
      if (std::abs(repeat.us / sample.us - 1) <= 0.1) ++within;
      break;
    }
  }
  return count == 0 ? -1 : 100.0 * static_cast<double>(within) / static_cast<double>(count);
}

double interference_percent(const std::vector<Sample>& samples, Processor processor) {
  double usual_us = 0;
  double quiet_us = 0;
  for (const Sample& sample : samples) {
    if (sample.kernel->processor != processor || sample.visits_us.size() < 2) continue;
    usual_us += std::reduce(sample.medians_us.begin(), sample.medians_us.end()) /
                static_cast<double>(sample.medians_us.size());
    quiet_us += sample.us;
  }
  return quiet_us > 0 ? std::max(100 * (usual_us / quiet_us - 1), 0.0) : 0;
}

}  // namespace codl::profiler
