// Convolutions of a network on one core: our CPU kernels beside the OpenCL kernels for buffers on
// PoCL. Built by name only; not run by ctest.
//
//   codlc MODEL.onnx --strategy=cpu -o MODEL.codl
//   cl_layers MODEL.codl [ROUNDS [TEXT]]
//
// Only steps with TEXT in their name or line, if given; steps of equal shapes are timed once. The
// program and PoCL's one worker keep to the last core that they may use; while one computes, the
// other sleeps. The direct kernel, the plan's kernel where it is another (Winograd), the OpenCL
// kernel and for 3x3 filters that by Winograd's method, with the tiles that the compiler chooses
// for AVX-512 registers, take turns within a round over all layers: memory at the same alignment,
// means over at least 10 ms; OpenCL by the device's clock, so without the launch. Shown are medians
// over the rounds and the least and greatest ratio of a round; GFLOP/s of the operator's
// multiply-adds without padding.
#include <sched.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string_view>

#include "kernels/conv2d/winograd.h"
#include "kernels/work_table.h"
#include "test/bench/plan_layers.h"
#include "test/kernels/cpu_runner.h"
#include "test/support/cl_device.h"

namespace codl::test {
namespace {

using kernels::StepShape;

// As in profiles/host.json.
constexpr kernels::GpuFacts kOneCore = {.units = 1, .is_processor = true, .registers = 512};

constexpr double kTurnSeconds = 10e-3;

void keep_to_one_core() {
  cpu_set_t cores;
  sched_getaffinity(0, sizeof cores, &cores);
  int last = 0;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &cores)) last = i;
  CPU_ZERO(&cores);
  CPU_SET(last, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
  // PoCL's worker inherits the core, unless it is told to take one by its number.
  setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
  unsetenv("POCL_AFFINITY");
}

const KernelInfo& row_of(std::string_view symbol) {
  for (const KernelInfo& info : kKernelInfos)
    if (symbol == info.symbol) return info;
  std::abort();
}

KernelCase case_of(const StepShape& step) {
  KernelCase item;
  item.op = step.kernel->op;
  item.params = words_of(step.params_as<Conv2dParams>());
  item.operands.assign(step.operands, step.operands + step.operand_count);
  return item;
}

// A kernel on the operands of a case.
class Contestant {
 public:
  Contestant(const KernelInfo& info, const KernelCase& item, const CaseInputs& inputs)
      : row_(info), item_(case_for(info, item)), step_(step_of(row_, item_)) {
    for (size_t i = 0; i + 1 < item_.operands.size(); ++i) {
      // Aligned as the runtime's arenas are, for either processor.
      const bool is_packed = item_.operands[i].layout == Layout::Packed;
      memory_.push_back(
          inputs.memory(is_packed ? row_ : row_of("conv2d_f32_cl_buffer"), i, item_.operands[i]));
    }
    memory_.emplace_back(static_cast<size_t>(item_.operands.back().bytes));
  }
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;

  const char* expected() { return kernels::check_step(step_, &needs_); }
  const GuardedMemory& output() const { return memory_.back(); }

  std::function<void()> cpu_runner() {
    for (size_t i = 0; i < memory_.size(); ++i)
      views_.push_back(kernels::make_view(item_.operands[i], memory_[i].data()));
    scratch_.emplace_back(static_cast<size_t>(needs_.scratch_bytes));
    kernels::KernelArgs args = args_of(item_, views_);
    args.scratch = scratch_.back().data();
    args.task_end = needs_.task_count;
    return [args, kernel = kernels::cpu_kernel(row_)] { kernel(args); };
  }

  // A launch with the tile that the compiler chooses. Borrows this.
  std::string make_cl(ClDevice* device, std::unique_ptr<ClStep>* out_step) {
    const StepShape untiled = step_;
    step_.tile_count = kernels::choose_tile(untiled, kOneCore, tile_);
    step_.tile = tile_;
    kernels::ClLaunch launch;
    kernels::launch_of(step_, &launch);
    for (size_t i = 0; i < memory_.size(); ++i)
      cl_operands_.push_back({.data = memory_[i].data(),
                              .bytes = memory_[i].bytes(),
                              .is_output = i + 1 == memory_.size()});
    return device->make_step(row_, launch, cl_operands_, true, out_step);
  }

 private:
  const KernelInfo& row_;
  KernelCase item_;
  StepShape step_;
  kernels::StepNeeds needs_;
  std::vector<GuardedMemory> memory_;
  std::vector<GuardedMemory> scratch_;
  std::vector<kernels::TensorView> views_;
  std::vector<ClOperand> cl_operands_;
  int32_t tile_[kernels::kMaxTileInts] = {};
};

double median_of(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

// An OpenCL kernel and what it took in each round.
class ClTimes {
 public:
  ClTimes(const char* symbol, const KernelCase& item, const CaseInputs& inputs)
      : row_(row_of(symbol)), one_(row_, item, inputs) {}

  // Null if it can run the layer.
  const char* expected() { return one_.expected(); }
  // What is wrong with it, or "".
  std::string prepare(ClDevice* device, const GuardedMemory& result) {
    std::vector<double> micros;
    std::string error = one_.make_cl(device, &step_);
    if (error.empty()) error = step_->run(3, &micros);
    if (error.empty()) error = step_->read();
    if (error.empty()) error = large_difference(result, one_.output());
    if (error.empty()) calls_ = static_cast<int>(1e6 * kTurnSeconds / micros.back()) + 1;
    return error;
  }
  std::string take_turn() {
    std::vector<double> micros;
    std::string error = step_->run(calls_, &micros);
    seconds_.push_back(1e-6 * std::accumulate(micros.begin(), micros.end(), 0.0) / calls_);
    return error;
  }
  double last() const { return seconds_.back(); }
  double median() const { return median_of(seconds_); }

 private:
  const KernelInfo& row_;
  Contestant one_;
  std::unique_ptr<ClStep> step_;
  int calls_ = 0;
  std::vector<double> seconds_;
};

// A layer and what its contestants took in each round.
class Layer {
 public:
  Layer(const StepShape& step, int step_count)
      : text_(text_of(step)),
        step_count_(step_count),
        flops_(giga_flops_of(step)),
        is_direct_(&row_of("conv2d_f32_cpu") == step.kernel),
        item_(case_of(step)),
        inputs_(item_, 1),
        direct_(row_of("conv2d_f32_cpu"), item_, inputs_),
        planned_(*step.kernel, item_, inputs_),
        cl_("conv2d_f32_cl_buffer", item_, inputs_) {
    // The others' weights would not be of its filter's size.
    if (kernels::check_winograd(step.params_as<Conv2dParams>(), step.operands[1]) == nullptr)
      cl_winograd_ = std::make_unique<ClTimes>("conv2d_winograd4_f32_cl_buffer", item_, inputs_);
  }

  // What is wrong with it, or "".
  std::string prepare(ClDevice* device) {
    for (const char* expected : {direct_.expected(), planned_.expected(), cl_.expected(),
                                 cl_winograd_ ? cl_winograd_->expected() : nullptr})
      if (expected != nullptr) return std::string("expected ") + expected;
    direct_time_ = std::make_unique<Stopwatch>(direct_.cpu_runner(), kTurnSeconds);
    if (!is_direct_)
      planned_time_ = std::make_unique<Stopwatch>(planned_.cpu_runner(), kTurnSeconds);
    std::string error = cl_.prepare(device, direct_.output());
    if (error.empty() && cl_winograd_) error = cl_winograd_->prepare(device, direct_.output());
    return error;
  }

  std::string take_turns() {
    direct_time_->take_turn();
    if (planned_time_) planned_time_->take_turn();
    std::string error = cl_.take_turn();
    if (error.empty() && cl_winograd_) error = cl_winograd_->take_turn();
    ratios_.push_back(cl_.last() / direct_time_->last());
    return error;
  }

  double ratio() const { return median_of(ratios_); }
  double direct_ms() const { return 1e3 * direct_time_->median() * step_count_; }
  double cl_ms() const { return 1e3 * cl_.median() * step_count_; }
  const std::string& text() const { return text_; }

  void print() const {
    const double direct = direct_time_->median();
    const double cl = cl_.median();
    std::printf("%-40s %5d %9.1f %7.1f ", text_.c_str(), step_count_, direct * 1e6,
                flops_ / direct);
    print_rate(planned_time_ ? planned_time_->median() : 0);
    std::printf("%9.1f %7.1f %6.2f (%.2f-%.2f) ", cl * 1e6, flops_ / cl, ratio(),
                *std::min_element(ratios_.begin(), ratios_.end()),
                *std::max_element(ratios_.begin(), ratios_.end()));
    print_rate(cl_winograd_ ? cl_winograd_->median() : 0);
    std::printf("\n");
  }

 private:
  // Nothing if it took no time.
  void print_rate(double seconds) const {
    if (seconds > 0)
      std::printf("%8.1f ", flops_ / seconds);
    else
      std::printf("%8s ", "");
  }

  std::string text_;
  int step_count_;
  double flops_;
  bool is_direct_;
  KernelCase item_;
  CaseInputs inputs_;
  Contestant direct_;
  Contestant planned_;
  ClTimes cl_;
  std::unique_ptr<ClTimes> cl_winograd_;  // null: not a filter for it
  std::unique_ptr<Stopwatch> direct_time_;
  std::unique_ptr<Stopwatch> planned_time_;  // null: the plan's kernel is the direct one
  std::vector<double> ratios_;
};

int fail(const Layer& layer, const std::string& error) {
  std::fprintf(stderr, "%s: %s\n", layer.text().c_str(), error.c_str());
  return 1;
}

}  // namespace

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: cl_layers MODEL.codl [ROUNDS [TEXT]]\n");
    return 2;
  }
  keep_to_one_core();
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  PlanLayers layers;
  if (!layers.open(argv[1], argc > 3 ? argv[3] : "")) return 1;
  std::string reason;
  ClDevice* device = ClDevice::get(&reason);
  if (!device) {
    std::fprintf(stderr, "%s\n", reason.c_str());
    return 1;
  }
  std::printf("device: %s\n", device->name().c_str());
  std::vector<std::unique_ptr<Layer>> timed;
  for (const plan::StepDef* def : layers.steps()) {
    const StepShape step = layers.shape_of(*def);
    if (step.kernel->op != OpKind::Conv2d) continue;
    timed.push_back(std::make_unique<Layer>(step, layers.count_of(step)));
    if (const std::string error = timed.back()->prepare(device); !error.empty())
      return fail(*timed.back(), error);
  }
  for (int round = 0; round < rounds; ++round)
    for (const std::unique_ptr<Layer>& layer : timed)
      if (const std::string error = layer->take_turns(); !error.empty()) return fail(*layer, error);

  std::printf("%-40s %5s %9s %7s %8s %9s %7s %18s %8s\n", "layer", "steps", "direct us", "GFLOP/s",
              "Winograd", "OpenCL us", "GFLOP/s", "ratio", "Winograd");
  double log_sum = 0;
  double greatest = 0;
  double direct_ms = 0;
  double cl_ms = 0;
  for (const std::unique_ptr<Layer>& layer : timed) {
    layer->print();
    log_sum += std::log(layer->ratio());
    greatest = std::max(greatest, layer->ratio());
    direct_ms += layer->direct_ms();
    cl_ms += layer->cl_ms();
  }
  std::printf(
      "OpenCL's time / the direct info's: geometric mean %.3f, greatest %.3f over %zu layers; sums "
      "%.2f and %.2f ms\n",
      std::exp(log_sum / static_cast<double>(timed.size())), greatest, timed.size(), cl_ms,
      direct_ms);
  return 0;
}

}  // namespace codl::test

int main(int argc, char** argv) { return codl::test::run(argc, argv); }
