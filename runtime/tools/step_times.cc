#include "runtime/tools/step_times.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/tools/statistics.h"
#include "tools/messages.h"
#include "tools/printable.h"

namespace codl::tools {
namespace {

const char* queue_name(int32_t queue) {
  return queue >= 0 && queue < static_cast<int32_t>(kQueueCount)
             ? kQueueNames[static_cast<size_t>(queue)]
             : "unknown";
}

}  // namespace

Timeline median_run(std::vector<Timeline> timelines) {
  const auto median = timelines.begin() + static_cast<int64_t>(timelines.size() / 2);
  std::nth_element(timelines.begin(), median, timelines.end(),
                   [](const Timeline& a, const Timeline& b) {
                     return run_times_of(a).wall_us < run_times_of(b).wall_us;
                   });
  return *median;
}

std::vector<StepTimes> step_times_of(const std::vector<Timeline>& timelines) {
  std::vector<StepTimes> steps;
  const Timeline median = median_run(timelines);
  int64_t begin_ns = std::numeric_limits<int64_t>::max();
  for (const codl_step_time_t& step : median) begin_ns = std::min(begin_ns, step.start_ns);
  for (size_t i = 0; i < median.size(); ++i) {
    std::vector<double> times_us;
    for (const Timeline& timeline : timelines)
      times_us.push_back(static_cast<double>(timeline[i].end_ns - timeline[i].start_ns) / 1000);
    steps.push_back({median[i], latencies_of(std::move(times_us)).median_us,
                     static_cast<double>(median[i].start_ns - begin_ns) / 1000,
                     static_cast<double>(median[i].end_ns - begin_ns) / 1000});
  }
  return steps;
}

std::string steps_text(const std::vector<StepTimes>& steps, int32_t run_count) {
  std::string text = formatted("steps, medians of %d recorded runs\n  %-8s %12s %12s  %s\n",
                               run_count, "queue", "predicted ms", "measured ms", "node, kernel");
  for (const StepTimes& times : steps)
    text += formatted("  %-8s %12.4f %12.4f  %s, %s\n", queue_name(times.step.queue),
                      ms_of(static_cast<double>(times.step.predicted_us)), ms_of(times.median_us),
                      printable(times.step.name).c_str(), times.step.kernel);
  return text;
}

void write_steps(JsonWriter& json, const std::vector<StepTimes>& steps) {
  json.key("steps").begin_array();
  for (const StepTimes& times : steps) {
    json.begin_object();
    json.key("node").string(times.step.name);
    json.key("kernel").string(times.step.kernel);
    json.key("queue").string(queue_name(times.step.queue));
    json.key("predicted_us").number(static_cast<double>(times.step.predicted_us));
    json.key("median_us").number(times.median_us);
    json.key("start_us").number(times.start_us);
    json.key("end_us").number(times.end_us);
    json.end_object();
  }
  json.end_array();
}

}  // namespace codl::tools
