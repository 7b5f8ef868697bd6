#include "profiler/measure/context.h"

#include <algorithm>
#include <memory>

#include "kernels/kernel_table.h"
#include "profiler/measure/context_networks.h"
#include "test/support/catch.h"

namespace codl::profiler {
namespace {

// Has two processors and a clock that they advance. A multiply-add of the CPU takes as long as two
// of the GPU, and each is slower by a factor of its own while the other works.
struct FakeMachine {
  double cpu_factor = 1;
  double gpu_factor = 1;
  double sync_us = 0;
  double memory_gb_per_s = 1e9;
  double now_us = 0;
  double gpu_left_us = 0;
  double gpu_gb_per_s = 0;  // for the rest

  void run_cpu(double us, double gb_per_s) {
    const double memory = std::max((gb_per_s + gpu_gb_per_s) / memory_gb_per_s, 1.0);
    const double both_us = memory * std::min(us * cpu_factor, gpu_left_us * gpu_factor);
    gpu_left_us -= both_us / (memory * gpu_factor);
    now_us += both_us + us - both_us / (memory * cpu_factor);
  }
  void finish_gpu() {
    now_us += gpu_left_us + sync_us;
    gpu_left_us = 0;
  }
};

class FakeProcessor : public MeasuredProcessor {
 public:
  FakeProcessor(Processor processor, FakeMachine* machine)
      : processor_(processor), machine_(machine) {}
  Processor processor() const override { return processor_; }
  double probe_us() override { return 1; }
  void finish() override { machine_->finish_gpu(); }
  std::unique_ptr<PreparedStep> prepare(const KernelInfo& kernel, const StepCase& item) override {
    kernels::StepNeeds needs;
    CHECK(kernel.processor == processor_);
    CHECK(kernels::check_step(step_of(kernel, item), &needs) == nullptr);
    ++prepared;
    if (prepared > most_steps) return nullptr;
    const double us = 10.0 * item.part.count();
    const OperandShape& weights = item.operands[1];
    const bool is_stream = weights.bytes > (1U << 25);
    const double bytes = !is_stream ? 0
                                    : static_cast<double>(weights.bytes) * item.part.count() /
                                          item.operands.back().dims[1];
    return std::make_unique<Step>(machine_, processor_, processor_ == Processor::Cpu ? 2 * us : us,
                                  bytes);
  }

  int prepared = 0;
  int most_steps = 1 << 20;

 private:
  class Step : public PreparedStep {
   public:
    Step(FakeMachine* machine, Processor processor, double us, double bytes)
        : machine_(machine), processor_(processor), us_(us), gb_per_s_(bytes / us * 1e-3) {}
    double run_us() override { return us_; }
    void start() override {
      if (processor_ == Processor::Cpu) {
        machine_->run_cpu(us_, gb_per_s_);
      } else {
        machine_->gpu_left_us += us_;
        machine_->gpu_gb_per_s = gb_per_s_;
      }
    }

   private:
    FakeMachine* machine_;
    Processor processor_;
    double us_;
    double gb_per_s_;
  };

  Processor processor_;
  FakeMachine* machine_;
};

std::vector<ContextRun> runs_of(FakeMachine* machine, double idle_sync_us) {
  FakeProcessor cpu(Processor::Cpu, machine);
  FakeProcessor gpu(Processor::Gpu, machine);
  return run_context_networks(
      cpu, gpu, {idle_sync_us, [machine] { return machine->now_us; }, [] { return false; }});
}

TEST_CASE("networks on both processors tell contention in both directions, and a synchronisation") {
  FakeMachine machine = {.cpu_factor = 1.3, .gpu_factor = 1.72, .sync_us = 40};
  const std::vector<ContextRun> runs = runs_of(&machine, 40);
  REQUIRE(runs.size() == 3 * std::size(kContextNetworks));
  const std::optional<Context> context = fit_context(runs, 40);
  REQUIRE(context);
  CHECK(context->cpu_contention_percent == Approx(30).margin(1));
  CHECK(context->gpu_contention_percent == Approx(72).margin(1));
  CHECK(context->sync_us == Approx(40).epsilon(0.05));
  CHECK(context->median_error_percent < 1);
}

TEST_CASE("networks whose weights no cache holds tell what the memory gives both") {
  // The CPU asks for 0.82 GB/s, the GPU for 1.64.
  for (const double gb_per_s : {1.8, 2.2, 100.0}) {
    FakeMachine machine = {.cpu_factor = 1.1, .sync_us = 25, .memory_gb_per_s = gb_per_s};
    const std::optional<Context> context = fit_context(runs_of(&machine, 25), 25);
    REQUIRE(context);
    CHECK(context->memory_gb_per_s == Approx(std::min(gb_per_s, 2.458)).epsilon(0.02));
    CHECK(context->cpu_contention_percent == Approx(10).margin(1));
    CHECK(context->median_error_percent < 1);
  }
}

TEST_CASE("processors that leave each other alone have no contention") {
  FakeMachine machine = {.sync_us = 25};
  // The wait in a network takes longer than giving work to an idle GPU.
  const std::optional<Context> context = fit_context(runs_of(&machine, 25), 25);
  REQUIRE(context);
  CHECK(context->cpu_contention_percent == Approx(0).margin(0.5));
  CHECK(context->gpu_contention_percent == Approx(0).margin(0.5));
  CHECK(context->sync_us == Approx(25));
}

TEST_CASE("a synchronisation takes no less than an idle one") {
  ContextRun run = {"short", 0.5, {100}, {100}, 100, 101};
  CHECK(fit_context({run}, 30)->sync_us == 30);
  CHECK_FALSE(fit_context({}, 30));
}

TEST_CASE("what both have to do is slowed down, and the rest is not") {
  const ContextRun run = {"", 0.5, {100, 300}, {200, 50}, 0, 0};
  const Context context = {
      .cpu_contention_percent = 50, .gpu_contention_percent = 100, .sync_us = 10};
  // The first layer takes 150 us side by side, during which the GPU does 75 of its 200. Second: 100
  // us, during which the CPU does 66.7 of its 300.
  const ContextTimes times = predict_run(run, context);
  CHECK(times.cpu_us == Approx(150 + 100 + 300 - 100 / 1.5));
  CHECK(times.whole_us == Approx(150 + 125 + 10 + 100 + 300 - 100 / 1.5 + 10));
}

TEST_CASE("networks that a processor cannot hold are left out, and none is begun when time is up") {
  FakeMachine machine;
  FakeProcessor cpu(Processor::Cpu, &machine);
  FakeProcessor gpu(Processor::Gpu, &machine);
  int begun = 0;
  const auto options = [&](int most) {
    return ContextOptions{0, [&] { return machine.now_us; },
                          [&begun, most] { return begun++ >= most; }};
  };
  CHECK(run_context_networks(cpu, gpu, options(2)).size() == 2);
  begun = 0;
  gpu.most_steps = 0;
  CHECK(run_context_networks(cpu, gpu, options(100)).empty());
}

TEST_CASE("both parts of a layer are all of it, in every network") {
  for (const ContextNetwork& network : kContextNetworks)
    for (const double share : {0.25, 0.5, 0.75})
      for (const ContextLayer& layer : layers_of(network, share)) {
        CHECK(layer.cpu.part.begin == 0);
        CHECK(layer.cpu.part.end == layer.gpu.part.begin);
        const OperandShape& output = layer.gpu.operands.back();
        CHECK(layer.gpu.part.end == output.dims[layer.gpu.part_dim == SplitDim::Height ? 2 : 1]);
      }
}

}  // namespace
}  // namespace codl::profiler
