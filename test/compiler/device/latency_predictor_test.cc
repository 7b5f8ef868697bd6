#include "compiler/device/latency_predictor.h"

#include <functional>
#include <string>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "test/compiler/support/sample_steps.h"
#include "test/kernels/all_cases.h"
#include "test/kernels/cpu_runner.h"
#include "test/support/catch.h"
#include "test/support/expected.h"

namespace codl::compiler {
namespace {

constexpr uint16_t kConvCpu = 1;

// A step of conv2d_f32_cpu takes a multiple of one term.
DeviceProfile profile_of(Term term, double share) {
  DeviceProfile profile;
  profile.kernels[kConvCpu - 1].shares[term] = share;
  profile.transfer.contention_percent[0].value = 50;
  return profile;
}

TEST_CASE("a latency is the sum of the terms' shares") {
  const SampleStep conv(kConvCpu, {.kernel = 1});
  const auto us = [&](double compute, double step) {
    DeviceProfile profile = profile_of(Term::Compute, compute);
    profile.kernels[kConvCpu - 1].shares[Term::Step] = step;
    return LatencyPredictor(profile).predict_us(conv.shape(), false);
  };
  const double compute_us = us(1, 0);
  CHECK(compute_us > 0);
  // Times are rounded to a nanosecond.
  CHECK(us(2, 0) == Approx(2 * compute_us).margin(1e-3));
  CHECK(us(2, 3) == Approx(us(2, 0) + us(0, 3)).margin(1e-3));
  CHECK(us(0, 0) == 0);
}

TEST_CASE("a busy neighbour slows a step down by the profile's percentage") {
  const SampleStep conv(kConvCpu, {.kernel = 1});
  const DeviceProfile profile = profile_of(Term::Step, 4);
  const LatencyPredictor predictor(profile);
  CHECK(predictor.predict_us(conv.shape(), true) ==
        Approx(1.5 * predictor.predict_us(conv.shape(), false)));
}

TEST_CASE("weights are read from memory where the network has more than a cache keeps") {
  const SampleStep conv(kConvCpu, {.kernel = 1});
  DeviceProfile profile = profile_of(Term::Cold, 1);
  profile.warm_weight_mbytes[0].value = 20;
  const double cold_us = LatencyPredictor(profile, 21).predict_us(conv.shape(), false);
  CHECK(cold_us > 0);
  CHECK(LatencyPredictor(profile, 20).predict_us(conv.shape(), false) == 0);
  // Another processor's cache says nothing about this one's.
  std::swap(profile.warm_weight_mbytes[0], profile.warm_weight_mbytes[1]);
  CHECK(LatencyPredictor(profile, 20).predict_us(conv.shape(), false) == cold_us);
}

TEST_CASE("a device can run the kernels of its processors that its user wants") {
  DeviceProfile profile;
  const KernelInfo& cpu = *find_kernel(kConvCpu);
  const KernelInfo& gpu = *find_kernel(2);
  REQUIRE(gpu.processor == Processor::Gpu);
  const LatencyPredictor predictor(profile);
  CHECK(predictor.can_predict(cpu));
  CHECK_FALSE(predictor.can_predict(gpu));
  profile.has_gpu = true;
  CHECK(predictor.can_predict(gpu));
  profile.unused_kernels = {kConvCpu};
  CHECK_FALSE(predictor.can_predict(cpu));
  CHECK(predictor.can_predict(gpu));
}

// ---- every profile and kernel -------------------------------------------------------------------

void each_step(const KernelInfo& kernel,
               const std::function<void(const kernels::StepShape& step)>& visit) {
  for (const test::KernelCase& plain_case : test::some_cases_of(kernel.op)) {
    const test::KernelCase item = test::with_images(kernel, test::case_for(kernel, plain_case));
    const kernels::StepShape step = test::step_of(kernel, item);
    kernels::StepNeeds needs;
    if (kernels::check_step(step, &needs) != nullptr) continue;
    INFO(kernel.symbol << " \"" << item.name << '"');
    visit(step);
  }
}

TEST_CASE("every kernel that a device can run takes time, on every device") {
  for (const std::string& name : list_devices()) {
    const DeviceProfile profile = test::value_of(load_device_profile(name));
    const LatencyPredictor predictor(profile);
    for (const KernelInfo& kernel : kKernelInfos) {
      if (!predictor.can_predict(kernel)) continue;
      int steps = 0;
      each_step(kernel, [&](const kernels::StepShape& step) {
        ++steps;
        const double us = predictor.predict_us(step, false);
        // A copy of one element may be less than half a nanosecond.
        const bool is_tiny = kernels::stored_elements(step.output()) <= 1;
        if (!(us < 1e6 && (us > 0 || is_tiny))) FAIL_CHECK(name << " takes " << us << " us");
      });
      INFO(name << " " << kernel.symbol);
      CHECK(steps > 0);
    }
  }
}

TEST_CASE("kernels made for the vectors of CPU cores are for OpenCL on CPU cores only") {
  int gpus = 0, processors = 0;
  for (const std::string& name : list_devices()) {
    const DeviceProfile profile = test::value_of(load_device_profile(name));
    if (!profile.has_gpu) continue;
    const bool is_processor = profile.machine.is_gpu_a_processor;
    for (const KernelInfo& kernel : kKernelInfos) {
      if (!kernels::is_for_processors(kernel)) continue;
      CAPTURE(name, kernel.symbol);
      CHECK(LatencyPredictor(profile).can_predict(kernel) == is_processor);
      ++(is_processor ? processors : gpus);
    }
  }
  CHECK(gpus > 0);
  CHECK(processors > 0);
}

// Returns how a step is cut: tasks and the busiest worker's part, or work-items and their tile.
std::vector<double> pieces_of(kernels::StepShape step, const DeviceProfile& profile) {
  kernels::StepNeeds needs;
  REQUIRE(kernels::check_step(step, &needs) == nullptr);
  if (step.kernel->processor == Processor::Cpu) {
    kernels::StepWork work;
    kernels::count_work(step, work_machine(profile.machine, Processor::Cpu), &work);
    return {work.tasks, work.busiest_share};
  }
  int32_t tile[kernels::kMaxTileInts] = {};
  step.tile_count = kernels::choose_tile(step, profile.gpu_facts, tile);
  step.tile = tile;
  kernels::ClLaunch launch;
  kernels::launch_of(step, &launch);
  std::vector<double> pieces(tile, tile + step.tile_count);
  for (int i = 0; i < 3; ++i) pieces.push_back(static_cast<double>(launch.global[i]));
  return pieces;
}

// A step's time jumps where it is cut differently, even down: two tasks on two workers take half
// the time of one.
TEST_CASE("more rows never take less time, cut into as many pieces") {
  for (const std::string& name : list_devices()) {
    const DeviceProfile profile = test::value_of(load_device_profile(name));
    const LatencyPredictor predictor(profile);
    for (const KernelInfo& kernel : kKernelInfos) {
      if (!kernel.can_split(SplitDim::Height) || !predictor.can_predict(kernel)) continue;
      double previous_us = 0;
      std::vector<double> previous_pieces;
      for (int32_t rows = 1; rows <= 16; ++rows) {
        const SampleStep sample(kernel.id,
                                {.rows = 16, .part_dim = SplitDim::Height, .part = {0, rows}});
        kernels::StepNeeds needs;
        if (kernels::check_step(sample.shape(), &needs) != nullptr) continue;
        const double us = predictor.predict_us(sample.shape(), false);
        std::vector<double> pieces = pieces_of(sample.shape(), profile);
        INFO(name << " " << kernel.symbol << " rows " << rows);
        if (pieces == previous_pieces) CHECK(us >= previous_us);
        previous_us = us;
        previous_pieces = std::move(pieces);
      }
    }
  }
}

}  // namespace
}  // namespace codl::compiler
