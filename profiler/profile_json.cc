#include "profiler/profile_json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

#include "runtime/tools/json_writer.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

constexpr size_t kFolds = 5;
// Of coefficients, of which a profile has some two thousand and a step ten: half of the last digit
// is 0.5 % of a term at most.
constexpr int kModelDigits = 3;

std::vector<size_t> folds_of(size_t count) {
  std::vector<size_t> folds;
  for (size_t i = 0; i < count; ++i) folds.push_back(i % kFolds);
  return folds;
}

// Times of a GPU's steps are those of launches one after the other in a queue.
bool may_have_floor(Processor processor, const kernels::LaneFacts& lane) {
  return processor == Processor::Gpu && !lane.gpu.is_processor();
}

FittedModel fit(const std::string& symbol, int32_t revision,
                const std::vector<Observation>& observations, bool may_have_floor) {
  FittedModel fitted;
  fitted.symbol = symbol;
  fitted.revision = revision;
  fitted.model = fit_bent_model(observations, may_have_floor);
  fitted.model.floor_us = rounded(fitted.model.floor_us, kModelDigits);
  for (auto& [name, coefficient] : fitted.model.terms)
    coefficient = rounded(coefficient, kModelDigits);
  fitted.held_out =
      cross_validate(observations, folds_of(observations.size()), kFolds, may_have_floor);
  return fitted;
}

// Rows whose time is not arithmetic under a name of its own: what any_gpu stands for.
bool is_plain(const NamedFeatures& features) {
  for (const auto& [name, value] : features)
    if (name.starts_with("mmacs_") || name == "weight_mbytes") return false;
  return true;
}

// The features that rows of any operator may have.
NamedFeatures common_features(const NamedFeatures& features) {
  NamedFeatures common;
  for (const auto& [name, value] : features)
    if (name == "mmacs" || name == "mbytes" || name == "steps") common.emplace_back(name, value);
  return common;
}

class ProfileWriter {
 public:
  explicit ProfileWriter(const DeviceFacts& facts) : facts_(facts) {}

  std::string write(const std::vector<FittedModel>& models) {
    json_.begin_object();
    json_.key("format_version").integer(2);
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
    json_.key("threads").integer(facts_.lane.thread_count);
    json_.key("vector_lanes").integer(facts_.lane.vector_lanes);
    quantity("disturbance_percent", facts_.disturbance_percent[0]);
    if (facts_.warm_weight_mbytes[0] > 0)
      quantity("warm_weight_mbytes", facts_.warm_weight_mbytes[0]);
    if (facts_.cpu_probe_us > 0) quantity("probe_us", facts_.cpu_probe_us);
    json_.end_object();
    if (facts_.has_gpu) write_gpu();
    json_.key("models").begin_object();
    for (const FittedModel& model : models) write_model(model);
    const bool has_any_cpu =
        std::any_of(models.begin(), models.end(),
                    [](const FittedModel& model) { return model.symbol == "any_cpu"; });
    if (!has_any_cpu) write_assumed_any_cpu();
    json_.end_object();
    json_.key("sources").begin_object();
    json_.key("device").string(facts_.source);
    if (!has_any_cpu)
      json_.key("plain").string(
          "no plain kernel was timed; of a slow core: a multiply-add 2 ns, 0.7 GB/s");
    if (facts_.has_gpu && facts_.contention_is_assumed)
      json_.key("alone").string("no steps were timed on both processors at once");
    json_.end_object();
    json_.end_object();
    return json_.text();
  }

 private:
  // codlc refuses a file with any other number (JsonValue::as_number()). `owner` is for the error.
  void number(const std::string& owner, const std::string& key, double value, int digits = 4) {
    if (!(value >= 0 && value <= 1e12))
      tools::fail_input("profile: " + owner + ": " + key,
                        "samples that give a number from 0 to 10^12", std::to_string(value));
    json_.key(key).number(rounded(value, digits));
  }

  void quantity(const char* key, double value, const char* origin = "measured",
                const char* source = "device") {
    json_.key(key).begin_object();
    number(key, "value", value);
    json_.key("origin").string(origin);
    json_.key("source").string(source);
    json_.end_object();
  }

  void write_gpu() {
    json_.key("gpu").begin_object();
    json_.key("name").string(facts_.gpu_name);
    json_.key("layout").string(facts_.uses_images ? "image" : "buffer");
    json_.key("sharing").string(facts_.sharing);
    json_.key("gate").string("host_enqueue");
    if (facts_.lane.gpu.units > 0) quantity("units", facts_.lane.gpu.units);
    if (facts_.lane.gpu.registers > 0) quantity("registers", facts_.lane.gpu.registers);
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
    quantity("sync_us", facts_.sync_us);
    quantity("map_us", facts_.map_us);
    quantity("map_us_per_mb", facts_.map_us_per_mb);
    quantity("copy_us_per_mb", facts_.copy_us_per_mb);
    if (!facts_.exchange.empty()) write_host_times(exchange_times_of(facts_.exchange));
    const char* origin = facts_.contention_is_assumed ? "assumed" : "measured";
    const char* source = facts_.contention_is_assumed ? "alone" : "device";
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
    quantity("start_us", times.start_us);
    quantity("wake_us", times.wake_us);
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

  // Without it no kernel that was not timed is used, and few networks can be compiled.
  void write_assumed_any_cpu() {
    json_.key("any_cpu").begin_object();
    quantity("mmacs", 2000, "assumed", "plain");
    quantity("mbytes", 1500, "assumed", "plain");
    quantity("steps", 1, "assumed", "plain");
    json_.end_object();
  }

  void write_model(const FittedModel& fitted) {
    json_.key(fitted.symbol).begin_object();
    json_.key("kind").string("analytic");
    json_.key("origin").string("fitted");
    json_.key("source").string("device");
    json_.key("terms").begin_object();
    // Times are from a kernel's start to its end; in a full queue the launch comes on top.
    const bool is_gpu =
        fitted.symbol.find("_cl_") != std::string::npos || fitted.symbol == "any_gpu";
    double steps = is_gpu ? facts_.launch_us : 0;
    for (const auto& [name, coefficient] : fitted.model.terms) {
      if (name == "steps")
        steps += coefficient;
      else
        number(fitted.symbol, name, coefficient, kModelDigits);
    }
    number(fitted.symbol, "steps", steps);
    json_.end_object();
    if (fitted.model.floor_us > 0) number(fitted.symbol, "floor_us", fitted.model.floor_us);
    json_.key("fit").begin_object();
    if (fitted.revision != 0) json_.key("revision").integer(fitted.revision);
    json_.key("samples").integer(static_cast<int64_t>(fitted.held_out.count));
    number(fitted.symbol, "median_error_percent", fitted.held_out.median_absolute, kModelDigits);
    number(fitted.symbol, "within_10_percent", fitted.held_out.within_10, kModelDigits);
    // measured / predicted: what a prediction is to be multiplied with.
    number(fitted.symbol, "interval_low", 1 / std::max(0.05, 1 + fitted.held_out.p90 / 100),
           kModelDigits);
    number(fitted.symbol, "interval_high", 1 / std::max(0.05, 1 + fitted.held_out.p10 / 100),
           kModelDigits);
    json_.end_object();
    json_.end_object();
  }

  const DeviceFacts& facts_;
  tools::JsonWriter json_;
};

}  // namespace

std::vector<FittedModel> fit_models(const std::vector<Sample>& samples,
                                    const kernels::LaneFacts& lane) {
  std::map<uint16_t, std::vector<Observation>> by_row;
  std::vector<Observation> any[2];
  for (const Sample& sample : samples) {
    if (sample.role != SampleRole::Fit) continue;
    const NamedFeatures features = features_of(*sample.row, sample.item, lane);
    by_row[sample.row->id].push_back({features, sample.us});
    // On the CPU these are the reference rows; a GPU has none.
    if (sample.row->dtype == DType::Any ||
        (sample.row->processor == Processor::Gpu && is_plain(features)))
      any[static_cast<size_t>(sample.row->processor)].push_back(
          {common_features(features), sample.us});
  }
  std::vector<FittedModel> models;
  for (const auto& [id, observations] : by_row) {
    const KernelRow& row = *find_kernel(id);
    if (observations.size() >= kSamplesOfModel)
      models.push_back(
          fit(row.symbol, row.revision, observations, may_have_floor(row.processor, lane)));
  }
  const char* const names[] = {"any_cpu", "any_gpu"};
  for (size_t i = 0; i < 2; ++i)
    if (!any[i].empty())
      models.push_back(fit(names[i], 0, any[i], may_have_floor(static_cast<Processor>(i), lane)));
  return models;
}

std::vector<std::string> kernels_without_model(const std::vector<Sample>& samples,
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
      least = kSamplesOfModel;
    if (count < least) missing.emplace_back(row.symbol);
  }
  return missing;
}

std::string evaluation_text(const std::vector<Sample>& samples, const kernels::LaneFacts& lane) {
  std::map<uint16_t, std::vector<Observation>> by_row;
  for (const Sample& sample : samples)
    if (sample.role == SampleRole::Fit)
      by_row[sample.row->id].push_back({features_of(*sample.row, sample.item, lane), sample.us});
  std::string text;
  const auto add_line = [&](const KernelRow& row, int fold, double us, double predicted_us,
                            const NamedFeatures& features) {
    char part[128];
    std::snprintf(part, sizeof(part), "%s,%d,%.6g,%.6g,", row.symbol, fold, us, predicted_us);
    text += part;
    for (const auto& [name, value] : features) {
      std::snprintf(part, sizeof(part), "%s=%.6g ", name.c_str(), value);
      text += part;
    }
    text.back() = '\n';
  };
  for (const auto& [id, observations] : by_row) {
    const std::vector<size_t> folds = folds_of(observations.size());
    const std::vector<double> predictions = predict_held_out(
        observations, folds, kFolds, may_have_floor(find_kernel(id)->processor, lane));
    for (size_t i = 0; i < observations.size(); ++i)
      add_line(*find_kernel(id), static_cast<int>(folds[i]), observations[i].us, predictions[i],
               observations[i].features);
  }
  // The fold of steps of networks, which no fit has seen: -1.
  std::map<uint16_t, StepModel> models;
  for (const Sample& sample : samples) {
    const auto found = by_row.find(sample.row->id);
    if (sample.role != SampleRole::Network || found == by_row.end()) continue;
    auto [model, is_new] = models.try_emplace(sample.row->id);
    if (is_new)
      model->second = fit_bent_model(found->second, may_have_floor(sample.row->processor, lane));
    const NamedFeatures features = features_of(*sample.row, sample.item, lane);
    add_line(*sample.row, -1, sample.us, model->second.predict_us(features), features);
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

std::string profile_json(const DeviceFacts& facts, const std::vector<FittedModel>& models) {
  return ProfileWriter(facts).write(models);
}

}  // namespace codl::profiler
