#include "profiler/fit/profile_json.h"

#include <algorithm>
#include <utility>

#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "tools/json_writer.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

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
    quantity("interference_percent", facts_.interference_percent[0]);
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
      write_fit(fit.kernel->symbol, fit.fit, fit.kernel->revision);
    json_.end_object();
    json_.key("sources").begin_object();
    json_.key("device").string(facts_.source);
    json_.key("machine").string(facts_.machine_source);
    if (facts_.has_gpu && facts_.contention_is_assumed)
      json_.key("alone").string("no steps were timed on both processors at once");
    if (facts_.has_gpu && has_networks())
      json_.key("networks")
          .string(
              "fitted to the whole times of small networks, each processor alone and both at once");
    json_.end_object();
    json_.end_object();
    return json_.text();
  }

 private:
  bool has_networks() const { return facts_.network_sync_us > 0; }

  // Checks the number as codlc does when it reads the file (JsonValue::as_number()). `owner` is for
  // the error.
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

  // Measured numbers and others have sources of their own.
  void write_origin(Origin origin) {
    json_.key("origin").string(kOriginNames[static_cast<size_t>(origin)]);
    json_.key("source").string(origin == Origin::Measured ? "device" : "machine");
  }

  // Writes the object with the origin that most fields have.
  template <typename Fields, typename Part, typename Origins>
  void write_machine(const Fields& fields, const Part& part, const Origins& origins) {
    size_t counts[std::size(kOriginNames)] = {};
    for (const auto& origin : origins)
      if (origin) ++counts[static_cast<size_t>(*origin)];
    const auto usual =
        static_cast<Origin>(std::max_element(std::begin(counts), std::end(counts)) - counts);
    json_.key("machine").begin_object();
    write_origin(usual);
    for (size_t i = 0; i < std::size(fields); ++i) {
      if (!origins[i]) continue;
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
    quantity("interference_percent", facts_.interference_percent[1]);
    if (facts_.warm_weight_mbytes[1] > 0)
      quantity("warm_weight_mbytes", facts_.warm_weight_mbytes[1]);
    quantity("image_max_width", facts_.image_max_width);
    quantity("image_max_height", facts_.image_max_height);
    if (facts_.image_row_texels > 0) quantity("image_row_texels", facts_.image_row_texels);
    write_tiles();
    json_.end_object();
    json_.key("transfer").begin_object();
    quantity("sync_us", has_networks() ? facts_.network_sync_us / 2 : facts_.sync_us);
    quantity("map_us", facts_.map_us);
    quantity("map_us_per_mb", facts_.map_us_per_mb);
    quantity("copy_us_per_mb", facts_.copy_us_per_mb);
    if (!facts_.transfer.empty()) write_host_times(facts_.transfer_times());
    // Old sample files have no networks, but the times of steps beside a load.
    const char* measured_by = has_networks() ? "networks" : "device";
    const char* origin = facts_.contention_is_assumed ? "assumed"
                         : has_networks()             ? "fitted"
                                                      : "measured";
    const char* source = facts_.contention_is_assumed ? "alone" : measured_by;
    quantity("cpu_contention_percent", facts_.cpu_contention_percent, origin, source);
    quantity("gpu_contention_percent", facts_.gpu_contention_percent, origin, source);
    if (facts_.memory_gb_per_s > 0)
      quantity("memory_gb_per_s", facts_.memory_gb_per_s, origin, source);
    json_.end_object();
  }

  void write_tiles() {
    std::vector<const FoundTile*> found;
    for (const FoundTile& tile : facts_.tiles)
      if (!tile.is_default()) found.push_back(&tile);
    if (found.empty()) return;
    json_.key("tiles").begin_object();
    for (const FoundTile* tile : found) {
      json_.key(tile->kernel->symbol).begin_object();
      if (tile->local.empty()) {
        json_.key("gemm").begin_array();
        for (uint32_t i = 0; i < tile->table.count; ++i)
          write_timed_tile(tile->kernel->symbol, tile->table.tiles[i]);
        json_.end_array();
      } else {
        json_.key("local").begin_array();
        for (int32_t size : tile->local) json_.integer(size);
        json_.end_array();
      }
      number(tile->kernel->symbol, "gain_percent", tile->gain_percent);
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

  void write_host_times(const TransferTimes& times) {
    quantity("enqueue_us", times.enqueue_us);
    quantity("submit_us", times.submit_us);
    if (times.recorded_us > 0) quantity("recorded_us", times.recorded_us);
    const char* origin = has_networks() ? "fitted" : "measured";
    const char* source = has_networks() ? "networks" : "device";
    quantity("start_us", times.start_us, origin, source);
    quantity("wake_us", times.wake_us, origin, source);
    quantity("cpu_resume_us", times.cpu_resume.fixed_us);
    quantity("cpu_cold_us_per_mb", times.cpu_resume.us_per_mb);
    quantity("gpu_cold_us_per_mb", times.gpu_cold_us_per_mb);
    if (times.flag_us > 0 && facts_.sharing != "separate") {
      quantity("flag_to_cpu_us", times.flag_us);
      quantity("flag_to_gpu_us", times.flag_us);
    }
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

  // `revision` is that of a kernel; it is 0 for several kernels.
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

void set_transfer(std::vector<TransferPoint> points, DeviceFacts* facts) {
  facts->transfer = std::move(points);
  const TransferTimes times = transfer_times_of(facts->transfer);
  facts->sync_us = times.sync_us();
  facts->map_us = times.map.fixed_us;
  facts->map_us_per_mb = times.map.us_per_mb;
  const auto per_mb = [](const CopyTimes& copy) {
    return copy.call.us_per_mb + copy.rest.us_per_mb;
  };
  facts->copy_us_per_mb = (per_mb(times.upload) + per_mb(times.download)) / 2;
}

TransferTimes DeviceFacts::transfer_times() const {
  TransferTimes times = transfer_times_of(transfer);
  // The host's call is measured; nothing tells where the rest is spent.
  if (network_sync_us > 0)
    times.start_us = times.wake_us = std::max(network_sync_us - times.submit_us, 0.0) / 2;
  return times;
}

std::string profile_json(const DeviceFacts& facts, const Fits& fits) {
  return ProfileWriter(facts).write(fits);
}

}  // namespace codl::profiler
