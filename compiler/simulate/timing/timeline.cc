#include "compiler/simulate/timing/timeline.h"

#include <algorithm>

#include "compiler/simulate/timing/queue_clock.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/json_writer.h"

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
  tools::JsonWriter json;
  const auto name = [&](llvm::StringRef kind, int64_t queue, llvm::StringRef value) {
    json.object([&] {
      json.key("name").string(kind);
      json.key("ph").string("M");
      json.key("pid").integer(1);
      json.key("tid").integer(queue);
      json.key("args").object([&] { json.key("name").string(value); });
    });
  };
  json.object([&] {
    json.key("displayTimeUnit").string("ns");
    json.key("traceEvents").array([&] {
      name("process_name", 0, process);
      for (size_t queue = 0; queue < kQueueCount; ++queue)
        if (timeline.busy_us[queue] > 0)
          name("thread_name", static_cast<int64_t>(queue), kQueueNames[queue]);
      for (size_t i = 0; i < steps.size(); ++i) {
        const QueueStep& step = steps[i];
        json.object([&] {
          json.key("name").string(step.name);
          json.key("cat").string(step.kernel);
          json.key("ph").string("X");
          json.key("ts").number(timeline.spans[i].start_us);
          json.key("dur").number(timeline.spans[i].end_us - timeline.spans[i].start_us);
          json.key("pid").integer(1);
          json.key("tid").integer(static_cast<int64_t>(step.queue));
          json.key("args").object([&] {
            json.key("kernel").string(step.kernel);
            json.key("step").integer(static_cast<int64_t>(i));
          });
        });
      }
    });
  });
  return json.text() + "\n";
}

}  // namespace codl::compiler
