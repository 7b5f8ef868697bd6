#include "compiler/simulate/timeline.h"

#include <algorithm>

#include "compiler/simulate/queue_clock.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace codl::compiler {

namespace {

class QueueSimulation {
 public:
  QueueSimulation(llvm::ArrayRef<QueueStep> steps, const QueueConditions& conditions, Clock clock)
      : steps_(steps),
        conditions_(conditions),
        has_calls_(clock == Clock::Wall),
        queues_(steps, conditions) {
    result_.spans.resize(steps.size());
    queues_.begin(0);
  }

  Timeline run() {
    QueueClock clock;
    while (clock.advance(*this, conditions_)) {
    }
    result_.total_us = clock.now_us;
    std::copy(clock.busy_us, clock.busy_us + kQueueCount, result_.busy_us);
    result_.overlap_us = clock.overlap_us;
    return std::move(result_);
  }

  // ---- QueueClock's queues

  bool has_next(size_t queue) const { return queues_.has_next(queue); }
  double ready_us(size_t queue) const { return queues_.ready_us(queue); }

  StepDemand start(size_t queue, double now_us) {
    const size_t index = queues_.next(queue);
    result_.spans[index].start_us = now_us;
    if (has_calls_) return queues_.wall_demand(queue);
    const QueueStep& step = steps_[index];
    if (step.called_queue != kNoQueue) return {};
    return {step.alone_us, step.memory_bytes};
  }

  void finish(size_t queue, double now_us) {
    result_.spans[queues_.next(queue)].end_us = now_us;
    queues_.finish(queue, now_us);
  }

 private:
  llvm::ArrayRef<QueueStep> steps_;
  const QueueConditions& conditions_;
  const bool has_calls_;
  QueueWalk queues_;
  Timeline result_;
};

}  // namespace

double Timeline::energy_j(const PowerFigures& power) const {
  // A map is the CPU's work; what a transfer queue draws is not known.
  return 1e-6 * (power.base_w.value * total_us + power.cpu_w.value * busy_us[0] +
                 power.gpu_w.value * busy_us[1]);
}

Timeline run_queues(llvm::ArrayRef<QueueStep> steps, const DeviceProfile& profile,
                    const SimulatedLoad& load, Clock clock) {
  const QueueConditions conditions(profile, load);
  return QueueSimulation(steps, conditions, clock).run();
}

std::string chrome_trace(llvm::StringRef process, llvm::ArrayRef<QueueStep> steps,
                         const Timeline& timeline) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  const auto name = [&](llvm::StringRef kind, int64_t queue, llvm::StringRef value) {
    json.object([&] {
      json.attribute("name", kind);
      json.attribute("ph", "M");
      json.attribute("pid", 1);
      json.attribute("tid", queue);
      json.attributeObject("args", [&] { json.attribute("name", value); });
    });
  };
  json.object([&] {
    json.attribute("displayTimeUnit", "ns");
    json.attributeArray("traceEvents", [&] {
      name("process_name", 0, llvm::json::fixUTF8(process));
      for (size_t queue = 0; queue < kQueueCount; ++queue)
        if (timeline.busy_us[queue] > 0)
          name("thread_name", static_cast<int64_t>(queue), kQueueNames[queue]);
      for (size_t i = 0; i < steps.size(); ++i) {
        const QueueStep& step = steps[i];
        json.object([&] {
          json.attribute("name", llvm::json::fixUTF8(step.name));
          json.attribute("cat", step.kernel);
          json.attribute("ph", "X");
          json.attribute("ts", timeline.spans[i].start_us);
          json.attribute("dur", timeline.spans[i].end_us - timeline.spans[i].start_us);
          json.attribute("pid", 1);
          json.attribute("tid", static_cast<int64_t>(step.queue));
          json.attributeObject("args", [&] {
            json.attribute("kernel", step.kernel);
            json.attribute("step", static_cast<int64_t>(i));
          });
        });
      }
    });
  });
  return os.str() + "\n";
}

}  // namespace codl::compiler
