#include "runtime/tools/timeline.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "tools/json_writer.h"

namespace codl::tools {
namespace {

struct Span {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// Nothing for a queue that this build does not know.
bool is_known_queue(int32_t queue) {
  return queue >= 0 && queue < static_cast<int32_t>(kQueueCount);
}

// The queue's times, sorted, without overlaps.
std::vector<Span> spans_of(const Timeline& timeline, int32_t queue) {
  std::vector<Span> spans;
  for (const codl_step_time_t& step : timeline)
    if (step.queue == queue) spans.push_back({step.start_ns, std::max(step.start_ns, step.end_ns)});
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
  std::vector<Span> merged;
  for (const Span& span : spans) {
    if (!merged.empty() && span.start_ns <= merged.back().end_ns)
      merged.back().end_ns = std::max(merged.back().end_ns, span.end_ns);
    else
      merged.push_back(span);
  }
  return merged;
}

double micros(int64_t nanos) { return static_cast<double>(nanos) / 1000; }

double total_us(const std::vector<Span>& spans) {
  int64_t nanos = 0;
  for (const Span& span : spans) nanos += span.end_ns - span.start_ns;
  return micros(nanos);
}

double overlap_us(const std::vector<Span>& a, const std::vector<Span>& b) {
  int64_t nanos = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int64_t start = std::max(a[i].start_ns, b[j].start_ns);
    const int64_t end = std::min(a[i].end_ns, b[j].end_ns);
    nanos += std::max<int64_t>(0, end - start);
    if (a[i].end_ns < b[j].end_ns)
      ++i;
    else
      ++j;
  }
  return micros(nanos);
}

// Returns the first start and the last end.
Span extent_of(const Timeline& timeline) {
  if (timeline.empty()) return {};
  Span extent = {timeline[0].start_ns, timeline[0].end_ns};
  for (const codl_step_time_t& step : timeline) {
    extent.start_ns = std::min(extent.start_ns, step.start_ns);
    extent.end_ns = std::max(extent.end_ns, step.end_ns);
  }
  return extent;
}

// Writes a metadata event, which names a process or a thread.
void write_name(JsonWriter& json, const char* kind, int32_t queue, const std::string& name) {
  json.begin_object();
  json.key("name").string(kind);
  json.key("ph").string("M");
  json.key("pid").integer(1);
  json.key("tid").integer(queue);
  json.key("args").begin_object();
  json.key("name").string(name);
  json.end_object();
  json.end_object();
}

void write_step(JsonWriter& json, const codl_step_time_t& step, size_t index, int64_t origin_ns) {
  json.begin_object();
  json.key("name").string(step.name);
  json.key("cat").string(step.kernel);
  json.key("ph").string("X");
  json.key("ts").number(micros(step.start_ns - origin_ns));
  json.key("dur").number(micros(step.end_ns - step.start_ns));
  json.key("pid").integer(1);
  json.key("tid").integer(step.queue);
  json.key("args").begin_object();
  json.key("kernel").string(step.kernel);
  json.key("step").integer(static_cast<int64_t>(index));
  json.end_object();
  json.end_object();
}

}  // namespace

Timeline timeline_of(const Session& session) {
  size_t count = 0;
  const codl_step_time_t* steps = session.timeline(&count);
  return Timeline(steps, steps + count);
}

RunTimes run_times_of(const Timeline& timeline) {
  RunTimes times;
  const Span extent = extent_of(timeline);
  times.wall_us = micros(extent.end_ns - extent.start_ns);
  std::array<std::vector<Span>, kQueueCount> spans;
  for (size_t queue = 0; queue < kQueueCount; ++queue) {
    spans[queue] = spans_of(timeline, static_cast<int32_t>(queue));
    times.queues[queue].busy_us = total_us(spans[queue]);
    times.queues[queue].idle_us = times.wall_us - times.queues[queue].busy_us;
  }
  for (const codl_step_time_t& step : timeline)
    if (is_known_queue(step.queue)) ++times.queues[static_cast<size_t>(step.queue)].step_count;
  times.overlap_us = overlap_us(spans[0], spans[1]);
  return times;
}

std::vector<double> slices_us_of(const Timeline& timeline) {
  std::vector<double> slices_us;
  for (const codl_step_time_t& step : timeline) {
    const std::string_view kernel = step.kernel;
    if (step.queue != 1 || kernel == "map" || kernel == "unmap") continue;
    slices_us.push_back(micros(step.end_ns - step.enqueued_ns));
  }
  return slices_us;
}

std::string text_timeline(const Timeline& timeline, int32_t columns) {
  const Span extent = extent_of(timeline);
  const double column_ns = static_cast<double>(extent.end_ns - extent.start_ns) / columns;
  std::string text;
  for (size_t queue = 0; queue < kQueueCount; ++queue) {
    const std::vector<Span> spans = spans_of(timeline, static_cast<int32_t>(queue));
    if (spans.empty()) continue;
    std::string line;
    for (int32_t i = 0; i < columns; ++i) {
      const auto begin = extent.start_ns + static_cast<int64_t>(i * column_ns);
      const auto end = extent.start_ns + static_cast<int64_t>((i + 1) * column_ns);
      const double busy_us = overlap_us(spans, {{begin, end}});
      line += busy_us >= 0.5 * micros(end - begin) && busy_us > 0 ? '#' : busy_us > 0 ? '.' : ' ';
    }
    text += "  " + std::string(kQueueNames[queue]) +
            std::string(10 - std::string_view(kQueueNames[queue]).size(), ' ') + "|" + line + "|\n";
  }
  return text;
}

std::string chrome_trace(const Timeline& timeline, const std::string& title) {
  const RunTimes times = run_times_of(timeline);
  const Span extent = extent_of(timeline);
  JsonWriter json;
  json.begin_object();
  json.key("displayTimeUnit").string("ns");
  json.key("traceEvents").begin_array();
  write_name(json, "process_name", 0, title);
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (times.queues[queue].step_count > 0)
      write_name(json, "thread_name", static_cast<int32_t>(queue), kQueueNames[queue]);
  for (size_t i = 0; i < timeline.size(); ++i) write_step(json, timeline[i], i, extent.start_ns);
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

}  // namespace codl::tools
