#include "profiler/measure/device_facts.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>
#include <type_traits>

#include "profiler/measure/transfer.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

// Visits every fact with its name in a sample file.
template <typename Visit>
void each_fact(DeviceFacts& facts, Visit visit) {
  visit("source", facts.source);
  visit("year", facts.year);
  visit("cpu_name", facts.cpu_name);
  visit("threads", facts.machine.machine.cpu_threads);
  visit("machine_source", facts.machine_source);
  visit("has_gpu", facts.has_gpu);
  visit("gpu_name", facts.gpu_name);
  visit("gpu_is_processor", facts.machine.machine.is_gpu_a_processor);
  visit("sharing", facts.sharing);
  visit("image_max_width", facts.image_max_width);
  visit("image_max_height", facts.image_max_height);
  visit("image_row_texels", facts.image_row_texels);
  visit("cpu_warm_weight_mbytes", facts.warm_weight_mbytes[0]);
  visit("gpu_warm_weight_mbytes", facts.warm_weight_mbytes[1]);
  visit("sync_us", facts.sync_us);
  visit("launch_us", facts.launch_us);
  visit("map_us", facts.map_us);
  visit("map_us_per_mb", facts.map_us_per_mb);
  visit("copy_us_per_mb", facts.copy_us_per_mb);
  visit("network_sync_us", facts.network_sync_us);
  visit("cpu_contention_percent", facts.cpu_contention_percent);
  visit("gpu_contention_percent", facts.gpu_contention_percent);
  visit("both_memory_gb_per_s", facts.memory_gb_per_s);
  visit("contention_is_assumed", facts.contention_is_assumed);
  visit("shares_cores", facts.shares_cores);
}

// Begins a transfer point in a sample file.
constexpr char kTransferMark[] = "#transfer,";

// Returns the points that were written last.
std::vector<TransferPoint> read_transfer(const std::string& text) {
  std::vector<TransferPoint> points;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kTransferMark)) continue;
    TransferPoint point;
    char comma = 0;
    std::istringstream fields(line.substr(std::strlen(kTransferMark)));
    if (!std::getline(fields, point.name, ',') || !(fields >> point.bytes >> comma >> point.us))
      tools::fail_input("sample file", "a name, bytes and microseconds", line);
    const auto known = std::find_if(points.begin(), points.end(), [&](const TransferPoint& other) {
      return other.name == point.name && other.bytes == point.bytes;
    });
    if (known == points.end())
      points.push_back(point);
    else
      *known = point;
  }
  return points;
}

}  // namespace

void read_probe(const std::string& text, double (&probe_us)[2]) {
  double cpu = 0;
  double gpu = 0;
  const size_t at = text.find("#probe,");
  if (at == std::string::npos || std::sscanf(text.c_str() + at, "#probe,%lf,%lf", &cpu, &gpu) != 2)
    return;
  probe_us[0] = cpu;
  probe_us[1] = gpu;
}

std::string fact_lines(DeviceFacts facts) {
  std::ostringstream text;
  each_fact(facts, [&](const char* name, const auto& value) {
    text << "#fact," << name << ',' << value << '\n';
  });
  text << machine_lines(facts.machine);
  for (const TransferPoint& point : facts.transfer)
    text << kTransferMark << point.name << ',' << point.bytes << ',' << point.us << '\n';
  return text.str();
}

std::string driver_lines(const MeasuredGpu& gpu) {
  std::string text;
  const auto add = [&](const char* name, std::string value) {
    for (char& c : value)
      if (c == '\n' || c == '\r') c = ' ';
    text += std::string("#fact,") + name + ',' + value + '\n';
  };
#define CODL_TEXT(what) add(#what, gpu.info(what))
  CODL_TEXT(CL_DEVICE_NAME);
  CODL_TEXT(CL_DEVICE_VENDOR);
  CODL_TEXT(CL_DEVICE_VERSION);
  CODL_TEXT(CL_DRIVER_VERSION);
  CODL_TEXT(CL_DEVICE_OPENCL_C_VERSION);
  CODL_TEXT(CL_DEVICE_EXTENSIONS);
#undef CODL_TEXT
#define CODL_NUMBER(what) add(#what, std::to_string(gpu.number(what)))
  CODL_NUMBER(CL_DEVICE_MAX_COMPUTE_UNITS);
  CODL_NUMBER(CL_DEVICE_MAX_CLOCK_FREQUENCY);
  CODL_NUMBER(CL_DEVICE_MAX_WORK_GROUP_SIZE);
  CODL_NUMBER(CL_DEVICE_MAX_PARAMETER_SIZE);
  CODL_NUMBER(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  CODL_NUMBER(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE);
  CODL_NUMBER(CL_DEVICE_GLOBAL_MEM_SIZE);
  CODL_NUMBER(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  CODL_NUMBER(CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE);
  CODL_NUMBER(CL_DEVICE_LOCAL_MEM_SIZE);
  CODL_NUMBER(CL_DEVICE_LOCAL_MEM_TYPE);
  CODL_NUMBER(CL_DEVICE_MEM_BASE_ADDR_ALIGN);
  CODL_NUMBER(CL_DEVICE_HOST_UNIFIED_MEMORY);
  CODL_NUMBER(CL_DEVICE_SVM_CAPABILITIES);
  CODL_NUMBER(CL_DEVICE_IMAGE_SUPPORT);
  CODL_NUMBER(CL_DEVICE_IMAGE2D_MAX_WIDTH);
  CODL_NUMBER(CL_DEVICE_IMAGE2D_MAX_HEIGHT);
  CODL_NUMBER(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE);
  CODL_NUMBER(CL_DEVICE_IMAGE_PITCH_ALIGNMENT);
  CODL_NUMBER(CL_DEVICE_QUEUE_PROPERTIES);
  CODL_NUMBER(CL_DEVICE_PROFILING_TIMER_RESOLUTION);
  CODL_NUMBER(CL_DEVICE_SINGLE_FP_CONFIG);
  CODL_NUMBER(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  CODL_NUMBER(CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF);
#undef CODL_NUMBER
  add("CL_DEVICE_HALF_FP_CONFIG", std::to_string(gpu.number(0x1033)));  // CL/cl_ext.h has the name
  return text;
}

void read_device_facts(const std::string& text, const std::string& path, DeviceFacts* facts) {
  const std::map<std::string, std::string> known = read_facts(text);
  // Old sample files have no machine facts; they show it by a processor's registers.
  const auto registers = known.find("registers");
  facts->machine.machine.is_gpu_a_processor = registers != known.end() && registers->second != "0";
  each_fact(*facts, [&](const char* name, auto& value) {
    const auto found = known.find(name);
    if (found == known.end()) return;
    if constexpr (std::is_same_v<decltype(value), std::string&>)
      value = found->second;
    else
      std::istringstream(found->second) >> value;
  });
  if (std::vector<TransferPoint> points = read_transfer(text); !points.empty())
    set_transfer(std::move(points), facts);
  read_machine_lines(text, path, &facts->machine);
  // These tiles were used for the file's samples.
  facts->tiles = read_found_tiles(text, path);
}

void add_gpu_facts(MeasuredGpu& processor, MeasuredCpu& cpu, const std::vector<int32_t>& cpu_cores,
                   DeviceFacts* facts) {
  const rt::GpuDevice& device = processor.device();
  facts->has_gpu = true;
  facts->gpu_name = std::string(device.device_name) + ", " +
                    std::to_string(processor.number(CL_DEVICE_MAX_COMPUTE_UNITS)) + " units";
  facts->sharing = device.has_fine_svm      ? "fine_svm"
                   : device.has_host_memory ? "sub_buffer"
                                            : "separate";
  // A device without images gets 16384, the least of a full profile.
  facts->image_max_width = device.has_images ? static_cast<double>(device.max_image_width) : 16384;
  facts->image_max_height =
      device.has_images ? static_cast<double>(device.max_image_height) : 16384;
  if (device.has_images)
    facts->image_row_texels = static_cast<double>(processor.image_row_texels());
  set_transfer(time_transfers(processor, cpu, cpu_cores), facts);
  const TransferTimes times = transfer_times_of(facts->transfer);
  // If OpenCL runs on a CPU, steps are measured by times of commands, which contain no launch.
  facts->launch_us = processor.is_cpu_device() ? times.launch_us : 0;
  facts->machine.set(&GpuMachine::launch_us, times.launch_us, Origin::Measured);
  std::fprintf(stderr,
               "launching a GPU kernel takes %.1f us; the call takes %.1f us, or %.1f us if the "
               "queue is idle\n"
               "an idle GPU starts %.1f us after the call; the CPU sees its end after %.1f us, "
               "another queue after %.1f us\n"
               "an upload takes %.1f us + %.1f us/MB, a download %.1f us + %.1f us/MB\n"
               "a CPU step after a GPU step takes %.1f us + %.1f us/MB longer, a GPU step after a "
               "CPU step %.1f us/MB\n",
               times.launch_us, times.enqueue_us, times.submit_us, times.start_us, times.wake_us,
               times.queue_us, times.upload.call.fixed_us + times.upload.rest.fixed_us,
               times.upload.call.us_per_mb + times.upload.rest.us_per_mb,
               times.download.call.fixed_us + times.download.rest.fixed_us,
               times.download.call.us_per_mb + times.download.rest.us_per_mb,
               times.cpu_resume.fixed_us, times.cpu_resume.us_per_mb, times.gpu_cold_us_per_mb);
  if (processor.is_cpu_device()) facts->warm_weight_mbytes[1] = facts->warm_weight_mbytes[0];
  facts->source += "; OpenCL " + processor.info(CL_DEVICE_VERSION) + ", driver " +
                   processor.info(CL_DRIVER_VERSION);
}

}  // namespace codl::profiler
