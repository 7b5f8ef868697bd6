#include "profiler/profile_json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "runtime/tools/json_writer.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

using compiler::kMostJointShares;

constexpr size_t kFolds = 5;
// Of shares, of which a profile has some hundreds and a step ten: half of the last digit is 0.5 %
// of a term at most.
constexpr int kShareDigits = 3;

std::vector<size_t> folds_of(size_t count) {
  std::vector<size_t> folds;
  for (size_t i = 0; i < count; ++i) folds.push_back(i % kFolds);
  return folds;
}

// Shares as a profile has them, and what held-out predictions say of them.
Fit fit_of(const std::vector<Observation>& observations, const Residuals& held_out,
           const FitOptions& options) {
  constexpr double kLeastRatio = 0.05;  // of a prediction over what was measured
  Fit fit;
  fit.shares = fit_shares(observations, options);
  for (double& share : fit.shares.of) share = rounded(share, kShareDigits);
  // No step takes nothing: a nanosecond, the unit that predictions are rounded to.
  fit.shares[compiler::Term::Step] = std::max(fit.shares[compiler::Term::Step], 1e-3);
  for (compiler::JointShare& joint : fit.shares.joint)
    joint.share = rounded(joint.share, kShareDigits);
  fit.held_out = held_out;
  fit.interval_low = 1 / std::max(kLeastRatio, 1 + held_out.p90 / 100);
  fit.interval_high = 1 / std::max(kLeastRatio, 1 + held_out.p10 / 100);
  return fit;
}

Fit fit_kernel(const std::vector<Observation>& observations, const FitOptions& options) {
  const std::vector<double> predictions =
      predict_held_out(observations, folds_of(observations.size()), kFolds, options);
  return fit_of(observations, residuals_of(errors_of(observations, predictions)), options);
}

using ObservationsOfRows = std::map<uint16_t, std::vector<Observation>>;

// Of all of them, each kernel as often.
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

// What the other kernels of a row's family reach on this machine; on others, if there are none.
Shares other_shares(const KernelRow& row, const ObservationsOfRows& by_row,
                    bool is_gpu_a_processor) {
  std::vector<const std::vector<Observation>*> others;
  for (const auto& [id, observations] : by_row) {
    const KernelRow& other = *find_kernel(id);
    if (id != row.id && other.processor == row.processor &&
        kernels::family_of(other) == kernels::family_of(row) &&
        observations.size() >= kSamplesOfFit)
      others.push_back(&observations);
  }
  if (others.empty())
    return compiler::family_calibration(kernels::family_of(row), row.processor, is_gpu_a_processor)
        .shares;
  return fit_shares(weighed_alike(others));
}

ObservationsOfRows observations_to_fit(const std::vector<Sample>& samples, const LaneFacts& lane) {
  ObservationsOfRows by_row;
  for (const Sample& sample : samples)
    if (sample.role == SampleRole::Fit)
      by_row[sample.row->id].push_back({times_of(*sample.row, sample.item, lane), sample.us});
  return by_row;
}

// Of each kernel as many errors, spread as all of its are: kernels count alike.
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

std::map<uint16_t, Shares> other_shares_of_rows(const ObservationsOfRows& by_row,
                                                const LaneFacts& lane) {
  std::map<uint16_t, Shares> shares;
  for (const auto& [id, observations] : by_row)
    shares[id] = other_shares(*find_kernel(id), by_row, lane.machine.is_gpu_a_processor);
  return shares;
}

// Of the kernels, each with observations.
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

std::vector<FamilyFit> fit_families(const ObservationsOfRows& by_row, bool is_gpu_a_processor) {
  std::map<std::pair<Processor, kernels::KernelFamily>,
           std::vector<const std::vector<Observation>*>>
      by_family;
  for (const auto& [id, observations] : by_row) {
    const KernelRow& row = *find_kernel(id);
    by_family[{row.processor, kernels::family_of(row)}].push_back(&observations);
  }
  std::vector<FamilyFit> fits;
  for (const auto& [key, kernels] : by_family) {
    const size_t count = std::transform_reduce(
        kernels.begin(), kernels.end(), size_t{0}, std::plus<>(),
        [](const std::vector<Observation>* observations) { return observations->size(); });
    if (count < kSamplesOfFit) continue;
    const auto& [processor, family] = key;
    Fit fit = fit_family(kernels);
    if (kernels.size() == 1) {
      const compiler::Calibration known =
          compiler::family_calibration(family, processor, is_gpu_a_processor);
      fit.interval_low = std::min(fit.interval_low, known.interval_low);
      fit.interval_high = std::max(fit.interval_high, known.interval_high);
    }
    fits.push_back({processor, family, fit});
  }
  return fits;
}

class ProfileWriter {
 public:
  explicit ProfileWriter(const DeviceFacts& facts)
      : facts_(facts), machine_(facts.machine.machine) {}

  std::string write(const Fits& fits) {
    json_.begin_object();
    json_.key("format_version").integer(3);
    json_.key("name").string(facts_.name);
    json_.key("description").string(facts_.description);
#ifdef __ANDROID__
    json_.key("kind").string("phone");
#else
    json_.key("kind").string("machine");
#endif
    if (facts_.year != 0) json_.key("year").integer(facts_.year);
    json_.key("kernel_library").string("codl");
    json_.key("cpu").begin_object();
    json_.key("name").string(facts_.cpu_name);
    json_.key("threads").integer(machine_.cpu_threads);
    write_machine(compiler::kCpuMachineFields, machine_.cpu, facts_.machine.cpu_origins);
    quantity("disturbance_percent", facts_.disturbance_percent[0]);
    if (facts_.warm_weight_mbytes[0] > 0)
      quantity("warm_weight_mbytes", facts_.warm_weight_mbytes[0]);
    if (facts_.cpu_probe_us > 0) quantity("probe_us", facts_.cpu_probe_us);
    json_.end_object();
    if (facts_.has_gpu) write_gpu();
    json_.key("families").begin_object();
    for (const Processor processor : {Processor::Cpu, Processor::Gpu}) {
      json_.key(processor == Processor::Cpu ? "cpu" : "gpu").begin_object();
      for (const FamilyFit& fit : fits.families)
        if (fit.processor == processor)
          write_fit(kernels::kFamilyNames[static_cast<size_t>(fit.family)], fit.fit, 0);
      json_.end_object();
    }
    json_.end_object();
    json_.key("kernels").begin_object();
    for (const KernelFit& fit : fits.kernels)
      write_fit(fit.row->symbol, fit.fit, fit.row->revision);
    json_.end_object();
    json_.key("sources").begin_object();
    json_.key("device").string(facts_.source);
    json_.key("machine").string(facts_.machine_source);
    if (facts_.has_gpu && facts_.contention_is_assumed)
      json_.key("alone").string("no steps were timed on both processors at once");
    if (facts_.has_gpu && !facts_.contention_is_assumed)
      json_.key("networks")
          .string(
              "fitted to the whole times of small networks, each processor alone and both at once");
    json_.end_object();
    json_.end_object();
    return json_.text();
  }

 private:
  // codlc refuses a file with any other number (JsonValue::as_number()). `owner` is for the error.
  static double checked(const std::string& owner, const std::string& key, double value,
                        int digits) {
    if (!(value >= 0 && value <= 1e12))
      tools::fail_input("profile: " + owner + ": " + key,
                        "samples that give a number from 0 to 10^12", std::to_string(value));
    return rounded(value, digits);
  }

  void number(const std::string& owner, const std::string& key, double value, int digits = 4) {
    json_.key(key).number(checked(owner, key, value, digits));
  }

  void quantity(const char* key, double value, const char* origin = "measured",
                const char* source = "device") {
    json_.key(key).begin_object();
    number(key, "value", value);
    json_.key("origin").string(origin);
    json_.key("source").string(source);
    json_.end_object();
  }

  // What was measured, and what was not, have sources of their own.
  void write_origin(Origin origin) {
    json_.key("origin").string(kOriginNames[static_cast<size_t>(origin)]);
    json_.key("source").string(origin == Origin::Measured ? "device" : "machine");
  }

  // Under the origin that most fields have.
  template <typename Fields, typename Part, typename Origins>
  void write_machine(const Fields& fields, const Part& part, const Origins& origins) {
    size_t counts[std::size(kOriginNames)] = {};
    for (const auto& origin : origins) ++counts[static_cast<size_t>(*origin)];
    const auto usual =
        static_cast<Origin>(std::max_element(std::begin(counts), std::end(counts)) - counts);
    json_.key("machine").begin_object();
    write_origin(usual);
    for (size_t i = 0; i < std::size(fields); ++i) {
      const double value = part.*fields[i].value;
      if (origins[i] == usual) {
        json_.key(fields[i].name).number(value);
        continue;
      }
      json_.key(fields[i].name).begin_object();
      json_.key("value").number(value);
      write_origin(*origins[i]);
      json_.end_object();
    }
    json_.end_object();
  }

  void write_gpu() {
    json_.key("gpu").begin_object();
    json_.key("name").string(facts_.gpu_name);
    json_.key("device_type").string(machine_.is_gpu_a_processor ? "cpu" : "gpu");
    if (facts_.shares_cores) json_.key("cores").string("shared");
    write_machine(compiler::kGpuMachineFields, machine_.gpu, facts_.machine.gpu_origins);
    json_.key("layout").string(facts_.uses_images ? "image" : "buffer");
    json_.key("sharing").string(facts_.sharing);
    json_.key("gate").string("host_enqueue");
    if (facts_.launch_us > 0) quantity("launch_us", facts_.launch_us);
    quantity("disturbance_percent", facts_.disturbance_percent[1]);
    if (facts_.warm_weight_mbytes[1] > 0)
      quantity("warm_weight_mbytes", facts_.warm_weight_mbytes[1]);
    quantity("image_max_width", facts_.image_max_width);
    quantity("image_max_height", facts_.image_max_height);
    if (facts_.image_row_texels > 0) quantity("image_row_texels", facts_.image_row_texels);
    if (!facts_.weights.empty()) json_.key("weights").string(facts_.weights);
    write_tiles();
    json_.end_object();
    json_.key("exchange").begin_object();
    quantity("sync_us", facts_.network_sync_us > 0 ? facts_.network_sync_us / 2 : facts_.sync_us);
    quantity("map_us", facts_.map_us);
    quantity("map_us_per_mb", facts_.map_us_per_mb);
    quantity("copy_us_per_mb", facts_.copy_us_per_mb);
    if (!facts_.exchange.empty()) write_host_times(facts_.exchange_times());
    const char* origin = facts_.contention_is_assumed ? "assumed" : "fitted";
    const char* source = facts_.contention_is_assumed ? "alone" : "networks";
    quantity("cpu_contention_percent", facts_.cpu_contention_percent, origin, source);
    quantity("gpu_contention_percent", facts_.gpu_contention_percent, origin, source);
    json_.end_object();
  }

  void write_tiles() {
    std::vector<const FoundTile*> found;
    for (const FoundTile& tile : facts_.tiles)
      if (!tile.is_default()) found.push_back(&tile);
    if (found.empty()) return;
    json_.key("tiles").begin_object();
    for (const FoundTile* tile : found) {
      json_.key(tile->row->symbol).begin_object();
      if (tile->local.empty()) {
        json_.key("gemm").begin_array();
        for (uint32_t i = 0; i < tile->table.count; ++i)
          write_timed_tile(tile->row->symbol, tile->table.tiles[i]);
        json_.end_array();
      } else {
        json_.key("local").begin_array();
        for (int32_t size : tile->local) json_.integer(size);
        json_.end_array();
      }
      number(tile->row->symbol, "gain_percent", tile->gain_percent);
      json_.key("origin").string(tile->local.empty() ? "fitted" : "measured");
      json_.key("source").string("device");
      json_.end_object();
    }
    json_.end_object();
  }

  void write_timed_tile(const char* owner, const kernels::TimedTile& timed) {
    const kernels::GemmTile& tile = timed.tile;
    json_.begin_object();
    json_.key("tile").begin_array();
    for (int32_t value : {tile.m, tile.n, tile.k, tile.item_m, tile.item_n, tile.slices})
      json_.integer(value);
    json_.end_array();
    number(owner, "macs_per_ns", timed.macs_per_ns);
    number(owner, "step_ns", timed.step_ns);
    json_.key("residents").integer(timed.residents);
    json_.end_object();
  }

  void write_host_times(const ExchangeTimes& times) {
    quantity("enqueue_us", times.enqueue_us);
    quantity("submit_us", times.submit_us);
    const char* origin = facts_.network_sync_us > 0 ? "fitted" : "measured";
    const char* source = facts_.network_sync_us > 0 ? "networks" : "device";
    quantity("start_us", times.start_us, origin, source);
    quantity("wake_us", times.wake_us, origin, source);
    quantity("cpu_resume_us", times.cpu_resume.fixed_us);
    quantity("cpu_cold_us_per_mb", times.cpu_resume.us_per_mb);
    quantity("gpu_cold_us_per_mb", times.gpu_cold_us_per_mb);
    if (facts_.sharing != "separate") return;
    quantity("queue_us", times.queue_us);
    write_copy("upload", times.upload);
    write_copy("download", times.download);
    json_.key("download_call").string(times.download_call_waits ? "waits" : "returns");
  }

  void write_copy(const std::string& name, const CopyTimes& copy) {
    quantity((name + "_call_us").c_str(), copy.call.fixed_us);
    quantity((name + "_call_us_per_mb").c_str(), copy.call.us_per_mb);
    quantity((name + "_us").c_str(), copy.rest.fixed_us);
    quantity((name + "_us_per_mb").c_str(), copy.rest.us_per_mb);
  }

  // `revision` of a row; 0: of several.
  void write_fit(const char* name, const Fit& fit, int32_t revision) {
    json_.key(name).begin_object();
    json_.key("level").string("samples");
    json_.key("origin").string("fitted");
    json_.key("source").string("device");
    json_.key("shares").begin_object();
    for (int term = 0; term < compiler::kTermCount; ++term)
      if (fit.shares.of[term] != 0)
        number(name, compiler::kTermNames[term], fit.shares.of[term], kShareDigits);
    json_.end_object();
    write_joint_shares(name, fit.shares.joints());
    json_.key("interval").begin_array();
    json_.number(rounded(fit.interval_low, kShareDigits));
    json_.number(rounded(fit.interval_high, kShareDigits));
    json_.end_array();
    json_.key("fit").begin_object();
    if (revision != 0) json_.key("revision").integer(revision);
    json_.key("samples").integer(static_cast<int64_t>(fit.held_out.count));
    number(name, "median_error_percent", fit.held_out.median_absolute, kShareDigits);
    number(name, "within_10_percent", fit.held_out.within_10, kShareDigits);
    json_.end_object();
    json_.end_object();
  }

  void write_joint_shares(const char* owner, compiler::JointShareRange joints) {
    if (joints.empty()) return;
    json_.key("joint").begin_array();
    for (const compiler::JointShare& joint : joints) {
      json_.begin_array();
      for (const compiler::Term term : {joint.term, joint.other})
        json_.string(compiler::kTermNames[static_cast<size_t>(term)]);
      json_.number(checked(owner, "joint", joint.factor, kShareDigits));
      json_.number(checked(owner, "joint", joint.share, kShareDigits));
      json_.end_array();
    }
    json_.end_array();
  }

  const DeviceFacts& facts_;
  const compiler::Machine& machine_;
  tools::JsonWriter json_;
};

}  // namespace

Fits fit_samples(const std::vector<Sample>& samples, const LaneFacts& lane) {
  const ObservationsOfRows by_row = observations_to_fit(samples, lane);
  std::map<uint16_t, Shares> families = other_shares_of_rows(by_row, lane);
  Fits fits;
  for (const auto& [id, observations] : by_row)
    if (observations.size() >= kSamplesOfFit)
      fits.kernels.push_back(
          {find_kernel(id), fit_kernel(observations, {&families[id], kMostJointShares})});
  fits.families = fit_families(by_row, lane.machine.is_gpu_a_processor);
  return fits;
}

std::vector<std::string> kernels_without_fit(const std::vector<Sample>& samples,
                                             const std::map<std::string, size_t>& needed,
                                             std::string_view kernels) {
  std::map<uint16_t, size_t> counts;
  for (const Sample& sample : samples)
    if (sample.role == SampleRole::Fit) ++counts[sample.row->id];
  std::vector<std::string> missing;
  for (const KernelRow& row : kKernelRows) {
    if (std::string_view(row.symbol).find(kernels) == std::string_view::npos) continue;
    const auto said = needed.find(row.symbol);
    const auto counted = counts.find(row.id);
    const size_t count = counted == counts.end() ? 0 : counted->second;
    size_t least = 0;
    if (said != needed.end())
      least = said->second;
    else if (count > 0 && needed.empty() && !row.is_reference())
      least = kSamplesOfFit;
    if (count < least) missing.emplace_back(row.symbol);
  }
  return missing;
}

std::string evaluation_text(const std::vector<Sample>& samples, const LaneFacts& lane) {
  const ObservationsOfRows by_row = observations_to_fit(samples, lane);
  std::map<uint16_t, Shares> families = other_shares_of_rows(by_row, lane);
  std::string text;
  const auto add_line = [&](const KernelRow& row, int fold, const Observation& observation,
                            double predicted_us) {
    char part[128];
    std::snprintf(part, sizeof(part), "%s,%d,%.6g,%.6g,", row.symbol, fold, observation.us,
                  predicted_us);
    text += part;
    for (int term = 0; term < compiler::kTermCount; ++term) {
      if (observation.times.us[term] == 0) continue;
      std::snprintf(part, sizeof(part), "%s=%.6g ", compiler::kTermNames[term],
                    observation.times.us[term]);
      text += part;
    }
    text.back() = '\n';
  };
  for (const auto& [id, observations] : by_row) {
    const std::vector<size_t> folds = folds_of(observations.size());
    const std::vector<double> predictions =
        predict_held_out(observations, folds, kFolds, {&families[id], kMostJointShares});
    for (size_t i = 0; i < observations.size(); ++i)
      add_line(*find_kernel(id), static_cast<int>(folds[i]), observations[i], predictions[i]);
  }
  // The fold of steps of networks, which no fit has seen: -1.
  std::map<uint16_t, Shares> shares_of_rows;
  for (const Sample& sample : samples) {
    const auto found = by_row.find(sample.row->id);
    if (sample.role != SampleRole::Network || found == by_row.end()) continue;
    auto [shares, is_new] = shares_of_rows.try_emplace(sample.row->id);
    if (is_new)
      shares->second = fit_shares(found->second, {&families[found->first], kMostJointShares});
    const Observation observation = {times_of(*sample.row, sample.item, lane), sample.us};
    add_line(*sample.row, -1, observation, weigh(observation.times, shares->second));
  }
  return text;
}

double noise_floor_percent(const std::vector<Sample>& samples, Processor processor) {
  size_t count = 0;
  size_t within = 0;
  for (const Sample& repeat : samples) {
    if (repeat.role != SampleRole::Repeat || repeat.row->processor != processor) continue;
    Sample first = repeat;
    first.role = SampleRole::Fit;
    for (const Sample& sample : samples) {
      if (sample.row != repeat.row || step_text(sample) != step_text(first)) continue;
      ++count;
      if (std::abs(repeat.us / sample.us - 1) <= 0.1) ++within;
      break;
    }
  }
  return count == 0 ? -1 : 100.0 * static_cast<double>(within) / static_cast<double>(count);
}

double disturbance_percent(const std::vector<Sample>& samples, Processor processor) {
  double usual_us = 0;
  double undisturbed_us = 0;
  for (const Sample& sample : samples) {
    if (sample.row->processor != processor || sample.visits_us.size() < 2) continue;
    usual_us += std::reduce(sample.medians_us.begin(), sample.medians_us.end()) /
                static_cast<double>(sample.medians_us.size());
    undisturbed_us += sample.us;
  }
  return undisturbed_us > 0 ? std::max(100 * (usual_us / undisturbed_us - 1), 0.0) : 0;
}

void set_exchange(std::vector<ExchangePoint> points, DeviceFacts* facts) {
  facts->exchange = std::move(points);
  const ExchangeTimes times = exchange_times_of(facts->exchange);
  facts->sync_us = times.sync_us();
  facts->map_us = times.map.fixed_us;
  facts->map_us_per_mb = times.map.us_per_mb;
  const auto per_mb = [](const CopyTimes& copy) {
    return copy.call.us_per_mb + copy.rest.us_per_mb;
  };
  facts->copy_us_per_mb = (per_mb(times.upload) + per_mb(times.download)) / 2;
}

ExchangeTimes DeviceFacts::exchange_times() const {
  ExchangeTimes times = exchange_times_of(exchange);
  // The host's call is measured; of the rest nothing tells where it is spent.
  if (network_sync_us > 0)
    times.start_us = times.wake_us = std::max(network_sync_us - times.submit_us, 0.0) / 2;
  return times;
}

std::string profile_json(const DeviceFacts& facts, const Fits& fits) {
  return ProfileWriter(facts).write(fits);
}

}  // namespace codl::profiler
