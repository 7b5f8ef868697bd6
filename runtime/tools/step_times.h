// Times of a plan's steps over several recorded runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tools/timeline.h"
#include "tools/json_writer.h"

namespace codl::tools {

struct StepTimes {
  codl_step_time_t step;
  double median_us;  // median of the recorded runs
  double start_us;   // in the recorded run with the median time, from its first step on
  double end_us;
};

// Returns the timeline with the median time.
Timeline median_run(std::vector<Timeline> timelines);

std::vector<StepTimes> step_times_of(const std::vector<Timeline>& timelines);

// Returns a table; `run_count` is the number of recorded runs.
std::string steps_text(const std::vector<StepTimes>& steps, int32_t run_count);

// Adds the key "steps" to the open object: [{"node", "kernel", "queue", "predicted_us",
// "median_us", "start_us", "end_us"}].
void write_steps(JsonWriter& json, const std::vector<StepTimes>& steps);

}  // namespace codl::tools
