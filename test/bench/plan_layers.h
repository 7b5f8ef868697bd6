// The convolutions and fully connected layers of a plan, for programs that time them next to
// something else.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/kernel_table.h"
#include "schema/plan_fields.h"
#include "schema/plan_layout.h"
#include "schema/verify_plan.h"
#include "test/support/tensors.h"

namespace codl::test {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Seconds of one call, over as many calls as take at least `least_seconds`.
class Stopwatch {
 public:
  explicit Stopwatch(std::function<void()> call, double least_seconds = 2e-3)
      : call_(std::move(call)) {
    if (call_ == nullptr) return;
    call_();
    const auto begin = std::chrono::steady_clock::now();
    call_();
    calls_ = static_cast<int>(least_seconds / seconds_since(begin)) + 1;
  }
  void take_turn() {
    if (call_ == nullptr) return;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls_; ++i) call_();
    seconds_.push_back(seconds_since(begin) / calls_);
  }
  double last() const { return seconds_.back(); }
  double median() {
    if (seconds_.empty()) return 0;
    std::sort(seconds_.begin(), seconds_.end());
    return seconds_[seconds_.size() / 2];
  }

 private:
  std::function<void()> call_;
  int calls_ = 0;
  std::vector<double> seconds_;
};

inline double giga_flops_of(const kernels::StepShape& step) {
  const kernels::OperandShape& w = step.operands[1];
  double macs = static_cast<double>(kernels::element_count(step.output()));
  if (step.kernel->op == OpKind::MatMul)
    macs *= w.dims[0];
  else
    macs *= double{1} * w.dims[1] * w.dims[2] * w.dims[3];
  return 2e-9 * macs;
}

inline std::string text_of(const kernels::StepShape& step) {
  const auto text = [](int32_t number) { return std::to_string(number); };
  const int32_t* x = step.operands[0].dims;
  const int32_t* w = step.operands[1].dims;
  if (step.kernel->op == OpKind::MatMul)
    return "matmul " + text(x[0]) + "x" + text(w[0]) + "x" + text(w[1]);
  const auto& params = step.params_as<Conv2dParams>();
  std::string line = text(w[2]) + "x" + text(w[3]);
  if (params.stride_h != 1 || params.stride_w != 1) line += "/" + text(params.stride_h);
  if (params.dilation_h != 1 || params.dilation_w != 1)
    line += " dilated " + text(params.dilation_h);
  if (params.groups != 1) line += " groups " + text(params.groups);
  line += " " + text(x[1]) + "-" + text(w[0]) + " at " + text(x[2]) + "x" + text(x[3]);
  if (params.has_residual != 0) line += " + residual";
  if (params.activation != kUnaryIdentity) line += " act " + text(params.activation);
  return line;
}

// The last variant's CPU steps of Conv2d and MatMul, steps of equal shapes once.
class PlanLayers {
 public:
  // Only steps whose name or text_of() has `wanted` in it. Prints what is wrong with the file.
  bool open(const char* path, const std::string& wanted) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const size_t bytes = file ? static_cast<size_t>(file.tellg()) : 0;
    memory_.emplace_back(bytes);
    file.seekg(0);
    file.read(reinterpret_cast<char*>(memory_.back().data()), static_cast<std::streamsize>(bytes));
    const plan::PlanDef* plan = nullptr;
    const PlanFault fault = verify_plan(memory_.back().data(), bytes, VerifyLevel::Structure,
                                        kernels::check_step, &plan);
    if (!fault.ok()) {
      std::fprintf(stderr, "%s: expected %s\n", path, fault.expected);
      return false;
    }
    variant_ = plan->variants()->Get(plan->variants()->size() - 1);
    for (const plan::StepDef* step : *variant_->steps()) {
      if (kind_of(*step) != StepKind::Kernel || queue_of(*step) != Queue::Cpu) continue;
      const kernels::StepShape shape = shape_of(*step);
      if (shape.kernel->op != OpKind::Conv2d && shape.kernel->op != OpKind::MatMul) continue;
      if ((step->name()->str() + "\n" + text_of(shape)).find(wanted) == std::string::npos) continue;
      if (++steps_of_[text_of(shape)] == 1) steps_.push_back(step);
    }
    return true;
  }

  const std::vector<const plan::StepDef*>& steps() const { return steps_; }
  // Valid until the next call.
  kernels::StepShape shape_of(const plan::StepDef& step) {
    return step_shape_of(*variant_, step, shapes_);
  }
  int count_of(const kernels::StepShape& shape) const { return steps_of_.at(text_of(shape)); }

 private:
  std::vector<GuardedMemory> memory_;  // of the file
  const plan::VariantDef* variant_ = nullptr;
  std::vector<const plan::StepDef*> steps_;
  std::unordered_map<std::string, int> steps_of_;
  kernels::OperandShape shapes_[kernels::kMaxOperands];
};

}  // namespace codl::test
