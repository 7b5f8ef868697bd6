#include "profiler/fit/profile_json.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>

#include "compiler/device/device_profile.h"
#include "compiler/device/latency_predictor.h"
#include "profiler/measure/shapes.h"
#include "test/profiler/kernel_of.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "tools/json_writer.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

// A machine whose fields all have different numbers.
MachineFacts some_machine() {
  MachineFacts facts;
  double value = 1;
  for (const auto& field : compiler::kCpuMachineFields)
    facts.set(field.value, field.value == & CpuMachine::vector_lanes ? 8 : value += 1.25,
              field.value == &CpuMachine::l2_kb ? Origin::Published : Origin::Measured);
  for (const auto& field : compiler::kGpuMachineFields)
    facts.set(field.value, value += 1.25, Origin::Assumed);
  facts.set(&GpuMachine::units, 24, Origin::Measured);
  return facts;
}

DeviceFacts box() {
  DeviceFacts facts;
  facts.name = "box";
  facts.machine = some_machine();
  facts.machine_source = "a data sheet";
  facts.has_gpu = true;
  facts.sharing = "separate";
  facts.image_max_width = facts.image_max_height = 4096;
  facts.image_row_texels = 64;
  return facts;
}

// Makes steps of the kernel that take 2 us and so many times the time to read and write memory.
std::vector<Sample> samples_of(const KernelInfo& info, double share = 0.5) {
  const ProcessorFacts processor = box().processor_facts();
  std::mt19937_64 random(5);
  std::vector<Sample> samples;
  for (int i = 0; i < 20; ++i) {
    Sample sample;
    sample.kernel = &info;
    sample.item = *draw_step(info, {}, random);
    const TermTimes times = times_of(info, sample.item, processor);
    sample.us = 2 + share * (times[compiler::Term::Read] + times[compiler::Term::Written]);
    samples.push_back(sample);
  }
  return samples;
}

std::vector<Sample> samples_of(std::initializer_list<const char*> symbols) {
  std::vector<Sample> samples;
  for (const char* symbol : symbols)
    for (const Sample& sample : samples_of(kernel_of(symbol))) samples.push_back(sample);
  return samples;
}

std::string pretty_profile(const DeviceFacts& facts, const Fits& fits) {
  return tools::pretty_json(profile_json(facts, fits), 2);
}

const FamilyFit* family_of(const Fits& fits, Processor processor, kernels::KernelFamily family) {
  for (const FamilyFit& fit : fits.families)
    if (fit.processor == processor && fit.family == family) return &fit;
  return nullptr;
}

TEST_CASE("codlc reads what codl-profile writes, and predicts what was measured") {
  DeviceFacts facts = box();
  facts.warm_weight_mbytes[0] = 64;
  facts.cpu_probe_us = 12.5;
  facts.machine.machine.cpu_threads = 3;
  set_transfer({{"enqueue", 0, 3},
                {"turn_call", 0, 5},
                {"turn", 0, 25},
                {"flag_turn", 0, 9},
                {"recorded", 0, 4},
                {"unrecorded", 0, 6}},
               &facts);
  const std::vector<Sample> samples =
      samples_of({"reshape_f32_cpu", "reshape_any_cpu", "reshape_f32_cl_buffer"});
  const Fits fits = fit_samples(samples, facts.processor_facts());
  const std::string json = pretty_profile(facts, fits);
  const compiler::DeviceProfile profile =
      test::value_of(compiler::parse_device_profile(json, "box.json"));
  CHECK(profile.machine.cpu_threads == 3);
  for (const auto& field : compiler::kCpuMachineFields)
    CHECK(profile.machine.cpu.*field.value == facts.machine.machine.cpu.*field.value);
  for (const auto& field : compiler::kGpuMachineFields)
    CHECK(profile.machine.gpu.*field.value == facts.machine.machine.gpu.*field.value);
  CHECK_FALSE(profile.machine.is_gpu_a_processor);
  const std::string text = describe(profile);
  CHECK(text.find("published") != std::string::npos);
  CHECK(text.find("12.500 us") != std::string::npos);
  CHECK(profile.image_row_texels == 64);
  CHECK(profile.launch_us.value == 0);
  CHECK(profile.warm_weight_mbytes[0].value == Approx(64));
  CHECK(profile.warm_weight_mbytes[1].value == 0);
  CHECK(profile.transfer.sync_us.value == Approx(12.5));
  REQUIRE(profile.transfer.host.has_value());
  CHECK(profile.transfer.host->enqueue_us.value == Approx(3));
  REQUIRE(profile.transfer.host->recorded_us);
  CHECK(profile.transfer.host->recorded_us->value == Approx(2));
  CHECK(profile.transfer.records());
  CHECK(profile.transfer.host->submit_us.value == Approx(5));
  CHECK(profile.transfer.host->wake_us.value == Approx(10));
  CHECK_FALSE(profile.transfer.host->download_call_waits);
  // The device has a memory of its own.
  CHECK_FALSE(profile.transfer.flags.has_value());
  facts.sharing = "fine_svm";
  const compiler::DeviceProfile shared =
      test::value_of(compiler::parse_device_profile(pretty_profile(facts, fits), "box.json"));
  REQUIRE(shared.transfer.flags.has_value());
  CHECK(shared.transfer.flags->to_gpu_us.value == Approx(4.5));
  CHECK(shared.transfer.flags->to_cpu_us.origin == compiler::Origin::Measured);
  CHECK(profile.transfer.contention_percent[0].origin == compiler::Origin::Measured);
  REQUIRE(fits.kernels.size() == 3);
  for (const KernelFit& kernel : fits.kernels) {
    const compiler::Calibration& read = profile.calibration_of(*kernel.kernel);
    CHECK(read.level == compiler::Level::Samples);
    CHECK(read.origin == compiler::Origin::Fitted);
    CHECK(read.revision == kernel.kernel->revision);
    CHECK(read.interval_low == Approx(1).epsilon(0.02));
    CHECK(read.interval_high == Approx(1).epsilon(0.02));
    for (int term = 0; term < compiler::kTermCount; ++term)
      CHECK(read.shares.of[term] == kernel.fit.shares.of[term]);
  }
  const compiler::LatencyPredictor predictor(profile);
  for (const Sample& sample : samples)
    CHECK(predictor.predict_us(step_of(*sample.kernel, sample.item), false) ==
          Approx(sample.us).epsilon(0.02));
  // Cut anywhere, the text is no profile, and the error says so.
  for (size_t length = 0; length + 2 < json.size(); length += 7)
    CHECK_FALSE(
        test::error_of(compiler::parse_device_profile(json.substr(0, length), "box.json")).empty());
}

TEST_CASE("a kernel without samples is as its family, and reference kernels are one") {
  const DeviceFacts facts = box();
  const Fits fits =
      fit_samples(samples_of({"reshape_f32_cpu", "reshape_any_cpu", "transpose_any_cpu"}),
                  facts.processor_facts());
  const compiler::DeviceProfile profile =
      test::value_of(compiler::parse_device_profile(pretty_profile(facts, fits), "box.json"));
  const FamilyFit* moves = family_of(fits, Processor::Cpu, kernels::KernelFamily::Move);
  const FamilyFit* loops = family_of(fits, Processor::Cpu, kernels::KernelFamily::Loops);
  REQUIRE(moves != nullptr);
  REQUIRE(loops != nullptr);
  CHECK(fits.families.size() == 2);
  const auto shares_are = [&](const char* symbol, const FamilyFit* family) {
    const compiler::Calibration& read = profile.calibration_of(kernel_of(symbol));
    for (int term = 0; term < compiler::kTermCount; ++term)
      if (read.shares.of[term] != family->fit.shares.of[term]) return false;
    return read.revision == 0 && read.level == compiler::Level::Samples;
  };
  CHECK(shares_are("transpose_f32_cpu", moves));
  CHECK(shares_are("top_k_any_cpu", loops));
  CHECK(profile.calibration_of(kernel_of("conv2d_f32_cpu")).level == compiler::Level::Facts);
}

TEST_CASE("few steps of a family say how much slower it is than on other machines") {
  const compiler::Calibration known =
      compiler::family_calibration(kernels::KernelFamily::Move, Processor::Cpu, false);
  std::vector<Sample> samples = samples_of({"reshape_f32_cpu"});
  samples.resize(5);
  for (Sample& sample : samples)
    sample.us =
        3 * weigh(times_of(*sample.kernel, sample.item, box().processor_facts()), known.shares);
  samples[4].us *= 10;  // disturbed
  const Fits fits = fit_samples(samples, box().processor_facts());
  REQUIRE(fits.kernels.size() == 1);
  const FamilyFit* moves = family_of(fits, Processor::Cpu, kernels::KernelFamily::Move);
  REQUIRE(moves != nullptr);
  CHECK(std::equal(std::begin(moves->fit.shares.of), std::end(moves->fit.shares.of),
                   fits.kernels[0].fit.shares.of));
  for (int term = 0; term < compiler::kTermCount; ++term)
    CHECK(moves->fit.shares.of[term] == Approx(3 * known.shares.of[term]).epsilon(0.01));
  CHECK(moves->fit.interval_low == known.interval_low);
  CHECK(moves->fit.held_out.count == 5);
  samples.resize(2);
  CHECK(fit_samples(samples, box().processor_facts()).families.empty());
  CHECK(fit_samples(samples, box().processor_facts()).kernels.empty());
}

TEST_CASE("few steps of a kernel say how much slower it is than the others of its family") {
  const ProcessorFacts processor = box().processor_facts();
  std::vector<Sample> samples = samples_of({"reshape_f32_cpu", "concat_f32_cpu"});
  std::vector<Sample> few = samples_of({"transpose_f32_cpu"});
  few.resize(4);
  for (Sample& sample : few) sample.us *= 100;
  samples.insert(samples.end(), few.begin(), few.end());
  const Fits fits = fit_samples(samples, processor);
  const auto found = std::find_if(fits.kernels.begin(), fits.kernels.end(), [](const auto& kernel) {
    return kernel.kernel == &kernel_of("transpose_f32_cpu");
  });
  REQUIRE(found != fits.kernels.end());
  CHECK(found->fit.held_out.median_absolute < 50);
}

TEST_CASE("a family's interval is what its kernels say of each other") {
  const ProcessorFacts processor = box().processor_facts();
  const auto steps_of = [](const char* symbol, double us) {
    std::vector<Sample> steps = samples_of(kernel_of(symbol));
    for (Sample& step : steps) step.us = us;
    return steps;
  };
  std::vector<Sample> samples = steps_of("reshape_f32_cpu", 2);
  const Fits alone = fit_samples(samples, processor);
  const FamilyFit* moves = family_of(alone, Processor::Cpu, kernels::KernelFamily::Move);
  REQUIRE(moves != nullptr);
  const compiler::Calibration known =
      compiler::family_calibration(kernels::KernelFamily::Move, Processor::Cpu, false);
  CHECK(moves->fit.interval_low <= known.interval_low);
  CHECK(moves->fit.interval_high >= known.interval_high);
  // These are twice as slow and many more, but kernels count the same.
  for (int i = 0; i < 3; ++i)
    for (const Sample& sample : steps_of("transpose_f32_cpu", 4)) samples.push_back(sample);
  const Fits both = fit_samples(samples, processor);
  moves = family_of(both, Processor::Cpu, kernels::KernelFamily::Move);
  REQUIRE(moves != nullptr);
  CHECK(moves->fit.held_out.count == samples.size());
  CHECK(moves->fit.interval_low == Approx(0.5).epsilon(0.05));
  CHECK(moves->fit.interval_high == Approx(2).epsilon(0.05));
}

TEST_CASE("OpenCL on a processor is said to be one, with its launch") {
  DeviceFacts facts = box();
  facts.machine.machine.is_gpu_a_processor = true;
  facts.launch_us = 2.5;
  const compiler::DeviceProfile profile =
      test::value_of(compiler::parse_device_profile(pretty_profile(facts, {}), "box.json"));
  CHECK(profile.machine.is_gpu_a_processor);
  CHECK(profile.gpu_facts.is_processor);
  CHECK(profile.launch_us.value == Approx(2.5));
}

TEST_CASE("OpenCL on the CPU's own cores is said to share them") {
  DeviceFacts facts = box();
  facts.machine.machine.is_gpu_a_processor = true;
  facts.shares_cores = true;
  const compiler::DeviceProfile profile =
      test::value_of(compiler::parse_device_profile(pretty_profile(facts, {}), "box.json"));
  CHECK(profile.shares_cores);
  CHECK(profile.transfer.contention_percent[0].value == 100);
}

TEST_CASE("what networks say of contention and synchronisations is in the profile") {
  DeviceFacts facts = box();
  facts.transfer = {{"turn_call", 0, 6}, {"turn", 0, 14}};
  facts.cpu_contention_percent = 12;
  facts.gpu_contention_percent = 34;
  facts.network_sync_us = 30;
  facts.memory_gb_per_s = 27.5;
  const compiler::DeviceProfile profile =
      test::value_of(compiler::parse_device_profile(pretty_profile(facts, {}), "box.json"));
  CHECK(profile.transfer.contention_percent[0].value == 12);
  CHECK(profile.transfer.contention_percent[1].value == 34);
  CHECK(profile.transfer.contention_percent[1].origin == compiler::Origin::Fitted);
  CHECK(profile.transfer.memory_gb_per_s.value == 27.5);
  CHECK(profile.transfer.memory_gb_per_s.origin == compiler::Origin::Fitted);
  CHECK(profile.transfer.sync_us.value == 15);
  REQUIRE(profile.transfer.host);
  CHECK(profile.transfer.host->submit_us.value == 6);
  CHECK(profile.transfer.host->start_us.value == 12);
  CHECK(profile.transfer.host->wake_us.value == 12);
}

TEST_CASE("contention that was not measured says so") {
  DeviceFacts facts = box();
  facts.contention_is_assumed = true;
  const compiler::DeviceProfile profile =
      test::value_of(compiler::parse_device_profile(pretty_profile(facts, {}), "box"));
  CHECK(profile.transfer.contention_percent[0].origin == compiler::Origin::Assumed);
  CHECK(profile.transfer.contention_percent[1].origin == compiler::Origin::Assumed);
}

TEST_CASE("joint shares are read as they were written") {
  KernelFit kernel = {&kernel_of("reshape_f32_cpu"), {}};
  kernel.fit.held_out.count = 100;
  compiler::Shares& shares = kernel.fit.shares;
  shares[compiler::Term::Read] = 0.5;
  shares.joint_count = 2;
  shares.joint[0] = {compiler::Term::Compute, compiler::Term::L2, 0.75, 1.25};
  shares.joint[1] = {compiler::Term::Written, compiler::Term::Step, 169, 2.01};
  const compiler::DeviceProfile profile =
      test::value_of(compiler::parse_device_profile(pretty_profile(box(), {{kernel}, {}}), "box"));
  const auto read = profile.calibration_of(*kernel.kernel).shares.joints();
  REQUIRE(read.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(read[i].term == shares.joint[i].term);
    CHECK(read[i].other == shares.joint[i].other);
    CHECK(read[i].factor == shares.joint[i].factor);
    CHECK(read[i].share == shares.joint[i].share);
  }
}

TEST_CASE("a number that codlc would refuse is an error, not a profile") {
  for (const double share : {1.1e12, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    KernelFit kernel = {&kernel_of("reshape_f32_cpu"), {}};
    kernel.fit.shares[compiler::Term::Read] = share;
    CHECK_THROWS_AS(profile_json(box(), {{kernel}, {}}), tools::ToolError);
  }
}

TEST_CASE(
    "a profile of all kernels of a layout has a line for each, of at most 500 bytes in the mean") {
  Fits fits;
  Fit full;
  full.held_out = {320, 12.3, 45.6, -7, 8};
  full.interval_low = 0.812;
  full.interval_high = 1.34;
  // Measured profiles have seven terms in the mean, and two joint ones.
  for (int term = 0; term < 7; ++term) full.shares.of[2 * term] = 0.0123;
  Fit straight = full;
  full.shares.joint_count = 2;
  full.shares.joint[0] = {compiler::Term::Compute, compiler::Term::L2, 1.23, 0.456};
  full.shares.joint[1] = {compiler::Term::Written, compiler::Term::Step, 169, 0.456};
  // Plain loops have few samples. Kernels that write images are not timed for a layout of buffers.
  for (const KernelInfo& info : kKernelInfos)
    if (std::string_view(info.symbol).find("_image") == std::string_view::npos)
      fits.kernels.push_back({&info, info.is_reference() ? straight : full});
  for (const Processor processor : {Processor::Cpu, Processor::Gpu})
    for (int family = 0; family < kernels::kFamilyCount; ++family)
      fits.families.push_back({processor, static_cast<kernels::KernelFamily>(family), straight});
  const std::string json = pretty_profile(box(), fits);
  CHECK(json.size() < 500 * fits.kernels.size());
  size_t lines = 0;
  for (size_t at = json.find("\"kernels\": {\n"); (at = json.find("\n    \"", at)) < json.size();
       ++at)
    ++lines;
  CHECK(lines >= fits.kernels.size());
}

TEST_CASE("kernels that the time was too short for are named") {
  const KernelInfo& unary = kernel_of("unary_f32_cpu");
  const KernelInfo& plain = kernel_of("unary_any_cpu");
  const auto count_of = [](std::vector<Sample> samples, size_t count) {
    samples.resize(count);
    return samples;
  };
  using Names = std::vector<std::string>;
  // The run said what it needs, even for kernels that it did not reach.
  const std::map<std::string, size_t> needed = {
      {"unary_f32_cpu", 8}, {"unary_any_cpu", 2}, {"conv2d_f32_cpu", 8}, {"unary_f32_cl_image", 0}};
  std::vector<Sample> samples = count_of(samples_of(unary), 7);
  CHECK(kernels_without_fit(samples, needed, "") ==
        Names{"conv2d_f32_cpu", "unary_f32_cpu", "unary_any_cpu"});
  CHECK(kernels_without_fit(samples, needed, "unary") == Names{"unary_f32_cpu", "unary_any_cpu"});
  for (Sample& sample : count_of(samples_of(plain), 2)) samples.push_back(sample);
  CHECK(kernels_without_fit(samples, needed, "unary") == Names{"unary_f32_cpu"});
  samples.push_back(samples[0]);
  samples.back().role = SampleRole::Repeat;  // nothing is fitted to it
  CHECK(kernels_without_fit(samples, needed, "unary") == Names{"unary_f32_cpu"});
  samples.back().role = SampleRole::Fit;
  CHECK(kernels_without_fit(samples, needed, "unary").empty());
  // The file does not say it.
  CHECK(kernels_without_fit(count_of(samples_of(unary), 7), {}, "") == Names{"unary_f32_cpu"});
  CHECK(kernels_without_fit(count_of(samples_of(unary), 8), {}, "").empty());
  CHECK(kernels_without_fit(count_of(samples_of(plain), 1), {}, "").empty());
}

TEST_CASE("what disturbs is the mean of visits' median runs over the undisturbed visit") {
  Sample sample;
  sample.kernel = &kKernelInfos[22];
  for (const double us : {100, 100, 120, 140}) sample.add_visit(us);
  sample.spread_percent = 20;
  sample.add_visit(160);  // its median run: 200
  CHECK(sample.us == 100);
  Sample single;
  single.kernel = &kKernelInfos[22];
  single.add_visit(1e6);
  CHECK(interference_percent({sample, single}, Processor::Cpu) == Approx(32));
  CHECK(interference_percent({sample, single}, Processor::Gpu) == 0);
}

TEST_CASE("a second measurement that agrees, and one that does not") {
  std::vector<Sample> samples = samples_of(kKernelInfos[22]);  // reshape_f32_cpu
  CHECK(noise_floor_percent(samples, Processor::Cpu) == -1);
  for (int i = 0; i < 2; ++i) {
    Sample repeat = samples[static_cast<size_t>(i)];
    repeat.role = SampleRole::Repeat;
    repeat.us *= i == 0 ? 1.05 : 1.5;
    samples.push_back(repeat);
  }
  CHECK(noise_floor_percent(samples, Processor::Cpu) == 50);
}

}  // namespace
}  // namespace codl::profiler
