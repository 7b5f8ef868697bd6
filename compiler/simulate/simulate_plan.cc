#include "compiler/simulate/simulate_plan.h"

#include <algorithm>

#include "compiler/predict/latency_predictor.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "schema/verify_plan.h"

namespace codl::compiler {

namespace {

constexpr size_t kLanes = 3;
constexpr const char* kLaneNames[kLanes] = {"cpu", "gpu", "transfer"};

double moved_mbytes(const plan::VariantDef& variant, const plan::StepDef& step) {
  const plan::TensorDef& tensor = *variant.tensors()->Get(step.operands()->Get(0));
  double share = 1;
  if (step.part_end() > step.part_begin() && step.part_dim() != 0) {
    const int32_t extent = step.part_dim() == static_cast<uint8_t>(SplitDim::Height)
                               ? tensor.row_end() - tensor.row_begin()
                               : tensor.dims()->Get(1);
    share = static_cast<double>(step.part_end() - step.part_begin()) / std::max(extent, 1);
  }
  return static_cast<double>(tensor.bytes()) * 1e-6 * std::min(share, 1.0);
}

// Of a step that nothing disturbs.
llvm::Expected<double> alone_us(const plan::VariantDef& variant, const plan::StepDef& step,
                                const DeviceProfile& profile) {
  const ExchangeCosts& exchange = profile.exchange;
  switch (step.kind()) {
    case plan::StepKind::Map:
      return exchange.map_us.value + exchange.map_us_per_mb.value * moved_mbytes(variant, step);
    case plan::StepKind::Unmap:
      return 0.0;  // map_us counts both
    case plan::StepKind::Upload:
    case plan::StepKind::Download:
      return exchange.copy_us_per_mb.value * moved_mbytes(variant, step);
    case plan::StepKind::Kernel:
      break;
  }
  const LatencyPredictor predictor(profile);
  const KernelRow& row = *find_kernel(step.kernel());
  if (!predictor.can_predict(row))
    return input_error(step.name()->str(),
                       "expected a kernel that profile {0} has a model of, "
                       "found {1}",
                       profile.name, row.symbol);
  kernels::OperandShape shapes[kernels::kMaxOperands];
  return predictor.predict_us(step_shape_of(variant, step, shapes), false);
}

class PlanSimulation {
 public:
  PlanSimulation(const plan::VariantDef& variant, const DeviceProfile& profile,
                 const SimulatedLoad& load, bool counts_hand_offs, std::vector<double> alone_us)
      : variant_(variant),
        profile_(profile),
        hand_off_us_(counts_hand_offs ? profile.exchange.sync_us.value : 0),
        left_us_(std::move(alone_us)) {
    slow_down_[0] = 1 / (1 - std::clamp(load.cpu_percent, 0.0, 90.0) / 100);
    slow_down_[1] = 1 / (1 - std::clamp(load.gpu_frame_percent, 0.0, 90.0) / 100);
    slow_down_[2] = 1;
    result_.steps.resize(left_us_.size());
    is_done_.resize(left_us_.size());
    for (size_t lane = 0; lane < kLanes; ++lane) next_[lane] = following(lane, 0);
  }

  // From event to event: a lane's step starts or ends.
  SimulatedPlan run() {
    const size_t end = left_us_.size();
    while (std::any_of(next_, next_ + kLanes, [&](size_t step) { return step < end; })) {
      bool runs[kLanes];
      double soonest_us = 1e300;  // the next event
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const double ready_us = next_[lane] < end ? ready_time_us(next_[lane]) : 1e300;
        runs[lane] = ready_us <= now_us_;
        if (!runs[lane]) soonest_us = std::min(soonest_us, ready_us);
      }
      for (size_t lane = 0; lane < kLanes; ++lane)
        if (runs[lane])
          soonest_us = std::min(soonest_us, now_us_ + left_us_[next_[lane]] * factor(lane, runs));
      advance(soonest_us, runs);
    }
    result_.total_us = now_us_;
    return std::move(result_);
  }

 private:
  size_t following(size_t lane, size_t begin) const {
    const auto& steps = *variant_.steps();
    while (begin < left_us_.size() && static_cast<size_t>(steps[begin]->lane()) != lane) ++begin;
    return begin;
  }

  // When the step may start; "never" while it waits for a step that is not done.
  double ready_time_us(size_t index) const {
    const plan::StepDef& step = *variant_.steps()->Get(static_cast<uint32_t>(index));
    double ready_us = 0;
    for (uint32_t wait : *step.waits()) {
      if (!is_done_[wait]) return 1e300;
      ready_us = std::max(ready_us, result_.steps[wait].end_us + hand_off_us_);
    }
    return ready_us;
  }

  double factor(size_t lane, const bool (&runs)[kLanes]) const {
    double factor = slow_down_[lane];
    if (lane < 2 && runs[0] && runs[1])
      factor *= 1 + profile_.exchange.contention_percent[lane].value / 100;
    return factor;
  }

  void advance(double until_us, const bool (&runs)[kLanes]) {
    const double elapsed_us = until_us - now_us_;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (!runs[lane]) continue;
      const size_t index = next_[lane];
      SimulatedPlanStep& step = result_.steps[index];
      if (!is_started_[lane]) step.start_us = now_us_;
      is_started_[lane] = true;
      result_.busy_us[lane] += elapsed_us;
      left_us_[index] -= elapsed_us / factor(lane, runs);
      // 1e-9: what rounding leaves of a step that ends now.
      if (left_us_[index] > 1e-9) continue;
      step.end_us = until_us;
      is_done_[index] = true;
      is_started_[lane] = false;
      next_[lane] = following(lane, index + 1);
    }
    if (runs[0] && runs[1]) result_.overlap_us += elapsed_us;
    now_us_ = until_us;
  }

  const plan::VariantDef& variant_;
  const DeviceProfile& profile_;
  double hand_off_us_;
  double slow_down_[kLanes];
  std::vector<double> left_us_;  // by step, at full speed
  std::vector<bool> is_done_;
  size_t next_[kLanes];  // the lane's first step that is not done
  bool is_started_[kLanes] = {};
  double now_us_ = 0;
  SimulatedPlan result_;
};

}  // namespace

llvm::Expected<SimulatedPlan> simulate_plan(const plan::VariantDef& variant,
                                            const DeviceProfile& profile, const SimulatedLoad& load,
                                            bool counts_hand_offs) {
  std::vector<double> times;
  for (const plan::StepDef* step : *variant.steps()) {
    CODL_ASSIGN_OR_RETURN(us, alone_us(variant, *step, profile));
    times.push_back(us);
  }
  return PlanSimulation(variant, profile, load, counts_hand_offs, std::move(times)).run();
}

std::string chrome_trace(const plan::VariantDef& variant, const SimulatedPlan& simulated) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  const auto name = [&](llvm::StringRef kind, int64_t lane, llvm::StringRef value) {
    json.object([&] {
      json.attribute("name", kind);
      json.attribute("ph", "M");
      json.attribute("pid", 1);
      json.attribute("tid", lane);
      json.attributeObject("args", [&] { json.attribute("name", value); });
    });
  };
  json.object([&] {
    json.attribute("displayTimeUnit", "ns");
    json.attributeArray("traceEvents", [&] {
      name("process_name", 0, llvm::json::fixUTF8(variant.name()->str()));
      for (size_t lane = 0; lane < kLanes; ++lane)
        if (simulated.busy_us[lane] > 0)
          name("thread_name", static_cast<int64_t>(lane), kLaneNames[lane]);
      for (uint32_t i = 0; i < variant.steps()->size(); ++i) {
        const plan::StepDef& step = *variant.steps()->Get(i);
        const char* kernel =
            step.kind() == plan::StepKind::Kernel ? find_kernel(step.kernel())->symbol : "exchange";
        json.object([&] {
          json.attribute("name", llvm::json::fixUTF8(step.name()->str()));
          json.attribute("cat", kernel);
          json.attribute("ph", "X");
          json.attribute("ts", simulated.steps[i].start_us);
          json.attribute("dur", simulated.steps[i].end_us - simulated.steps[i].start_us);
          json.attribute("pid", 1);
          json.attribute("tid", static_cast<int64_t>(step.lane()));
          json.attributeObject("args", [&] {
            json.attribute("kernel", kernel);
            json.attribute("step", int64_t{i});
          });
        });
      }
    });
  });
  return os.str() + "\n";
}

}  // namespace codl::compiler
