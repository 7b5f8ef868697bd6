// Trace Event Format:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#include <algorithm>
#include <tuple>
#include <vector>

#include "compiler/report/plan_report.h"
#include "compiler/support/error.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace codl::compiler {
namespace {

using llvm::json::Array;
using llvm::json::Object;

constexpr const char* kQueues[] = {"cpu", "gpu", "transfer"};
// The GPU's share of the time is given for so many equal parts of a run.
constexpr int kParts = 100;

// A bar of a queue's track.
struct Bar {
  const Object* step;  // of the report
  int64_t queue;
  double start_us;
  double end_us;
};

double number(const Object& object, llvm::StringRef key) {
  return object.getNumber(key).getValueOr(0);
}

class Trace {
 public:
  std::string write(const Object& report) {
    for (const llvm::json::Value& value : *report.getArray("variants")) {
      const Object& variant = *value.getAsObject();
      const std::string name = variant.getString("name")->str();
      const std::vector<Bar> planned = bars_of(variant);
      add_run("predicted, " + name, planned, planned, variant);
      if (const Object* measured = variant.getObject("measured"))
        add_run("measured, " + name, planned, measured_bars(planned, *measured), *measured);
    }
    std::string text;
    llvm::raw_string_ostream os(text);
    os << llvm::json::Value(Object{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events_)}})
       << "\n";
    return os.str();
  }

 private:
  static std::vector<Bar> bars_of(const Object& variant) {
    std::vector<Bar> bars;
    for (const llvm::json::Value& value : *variant.getArray("steps")) {
      const Object& step = *value.getAsObject();
      const auto* queue = llvm::find(kQueues, *step.getString("queue"));
      bars.push_back(
          {&step, queue - std::begin(kQueues), number(step, "start_us"), number(step, "end_us")});
    }
    return bars;
  }

  // The plan's steps at the times at which they ran; on a track the later one first where two
  // overlap, as events of a driver may.
  static std::vector<Bar> measured_bars(llvm::ArrayRef<Bar> planned, const Object& measured) {
    std::vector<Bar> bars;
    const Array& times = *measured.getArray("steps");
    for (const Bar& bar : planned) {
      if (!bar.step->getInteger("step") || bars.size() == times.size()) continue;
      const Object& time = *times[bars.size()].getAsObject();
      bars.push_back({bar.step, bar.queue, number(time, "start_us"), number(time, "end_us")});
    }
    end_before_the_next(bars);
    return bars;
  }

  // A track holds bars one behind the other: where a driver's times overlap, the earlier bar ends
  // with the begin of the later one.
  static void end_before_the_next(std::vector<Bar>& bars) {
    std::vector<Bar*> by_start;
    for (Bar& bar : bars) by_start.push_back(&bar);
    llvm::stable_sort(by_start, [](const Bar* a, const Bar* b) {
      return std::tie(a->queue, a->start_us) < std::tie(b->queue, b->start_us);
    });
    for (size_t i = 1; i < by_start.size(); ++i)
      if (by_start[i - 1]->queue == by_start[i]->queue)
        by_start[i - 1]->end_us = std::min(by_start[i - 1]->end_us, by_start[i]->start_us);
  }

  // A process of the trace. `planned`: by what the report's waits count, of which `bars` may have
  // a part. `run`: where memory over time is.
  void add_run(const std::string& name, llvm::ArrayRef<Bar> planned, llvm::ArrayRef<Bar> bars,
               const Object& run) {
    ++process_;
    metadata("process_name", 0, name);
    for (int64_t queue = 0; queue < 3; ++queue)
      if (llvm::any_of(bars, [&](const Bar& bar) { return bar.queue == queue; }))
        metadata("thread_name", queue, kQueues[queue]);
    llvm::DenseMap<const Object*, const Bar*> bar_of;
    for (const Bar& bar : bars) bar_of[bar.step] = &bar;
    for (const Bar& bar : bars) add_bar(bar);
    for (const Bar& bar : bars)
      for (const llvm::json::Value& wait : *bar.step->getArray("waits"))
        if (const Bar* from =
                bar_of.lookup(planned[static_cast<size_t>(*wait.getAsInteger())].step);
            from != nullptr && from->start_us <= bar.start_us)  // two clocks may be a little apart
          add_arrow(*from, bar);
    for (const llvm::json::Value& live : *run.getArray("memory_over_time")) {
      const Object& bytes = *live.getAsObject();
      counter("memory bytes", number(bytes, "us"),
              Object{{"arenas", number(bytes, "arena_bytes")},
                     {"images", number(bytes, "image_bytes")}});
    }
    add_gpu_share(bars);
  }

  void metadata(const char* kind, int64_t thread, const std::string& name) {
    events_.push_back(Object{{"ph", "M"},
                             {"name", kind},
                             {"pid", process_},
                             {"tid", thread},
                             {"args", Object{{"name", name}}}});
  }

  void add_bar(const Bar& bar) {
    Object arguments;
    for (const char* key :
         {"kernel", "kind", "part", "predicted_us", "level", "origin", "bytes", "step"})
      if (const llvm::json::Value* value = bar.step->get(key)) arguments[key] = *value;
    const llvm::Optional<llvm::StringRef> kernel = bar.step->getString("kernel");
    events_.push_back(Object{{"ph", "X"},
                             {"name", *bar.step->getString("node")},
                             {"cat", kernel ? *kernel : *bar.step->getString("kind")},
                             {"pid", process_},
                             {"tid", bar.queue},
                             {"ts", bar.start_us},
                             {"dur", bar.end_us - bar.start_us},
                             {"args", std::move(arguments)}});
  }

  // From the end of a step to the step of another queue that waits for it. Perfetto binds an end of
  // an arrow to a bar that is there at its time, so both lie inside.
  void add_arrow(const Bar& from, const Bar& to) {
    ++arrow_;
    const auto end = [&](const char* phase, const Bar& bar, double us) {
      events_.push_back(Object{{"ph", phase},
                               {"bp", "e"},
                               {"name", "wait"},
                               {"cat", "wait"},
                               {"id", arrow_},
                               {"pid", process_},
                               {"tid", bar.queue},
                               {"ts", us}});
    };
    end("s", from, from.start_us);
    end("f", to, to.start_us);
  }

  void add_gpu_share(llvm::ArrayRef<Bar> bars) {
    double end_us = 0;
    for (const Bar& bar : bars) end_us = std::max(end_us, bar.end_us);
    for (int part = 0; part < kParts && end_us > 0; ++part) {
      const double from = end_us * part / kParts, to = end_us * (part + 1) / kParts;
      double busy_us = 0;
      for (const Bar& bar : bars)
        if (bar.queue == 1)
          busy_us += std::max(std::min(bar.end_us, to) - std::max(bar.start_us, from), 0.0);
      counter("GPU busy %", from, Object{{"gpu", std::min(100 * busy_us / (to - from), 100.0)}});
    }
  }

  void counter(const char* name, double us, Object values) {
    events_.push_back(Object{
        {"ph", "C"}, {"name", name}, {"pid", process_}, {"ts", us}, {"args", std::move(values)}});
  }

  Array events_;
  int64_t process_ = 0;
  int64_t arrow_ = 0;
};

}  // namespace

std::string trace_events(llvm::StringRef json) {
  llvm::Expected<llvm::json::Value> report = llvm::json::parse(json);
  if (!report) llvm::report_fatal_error(report.takeError());  // it is report_json()'s own
  return Trace().write(*report->getAsObject());
}

}  // namespace codl::compiler
