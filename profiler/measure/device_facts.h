// Holds the facts about the device that a sample file has besides its samples.
#pragma once

#include <string>

#include "profiler/fit/profile_json.h"
#include "profiler/measure/measured_cpu.h"
#include "profiler/measure/measured_gpu.h"

namespace codl::profiler {

// Reads the numbers after the sample file's first "#probe,": all times in it are at that clock.
// Left as they are if there is none.
void read_probe(const std::string& text, double (&probe_us)[2]);

std::string fact_lines(DeviceFacts facts);

// Returns lines of a sample file with the strings and limits of the OpenCL device, for people: no
// reader of samples knows them.
std::string driver_lines(const MeasuredGpu& gpu);

// Throws ToolError (Input) naming a malformed line.
void read_device_facts(const std::string& text, const std::string& path, DeviceFacts* facts);

// Adds OpenCL's facts of the GPU, and the times of synchronisations and transfers. `cpu_cores` are
// the CPU's workers'.
void add_gpu_facts(MeasuredGpu& processor, MeasuredCpu& cpu, const std::vector<int32_t>& cpu_cores,
                   DeviceFacts* facts);

}  // namespace codl::profiler
