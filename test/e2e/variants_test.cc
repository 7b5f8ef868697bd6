// Tests codlc --variants: the limits that each schedule keeps, and what they share.
#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "compiler/device/busy_profile.h"
#include "compiler/pipeline.h"
#include "schema/plan_fields.h"
#include "schema/plan_layout.h"
#include "test/support/catch.h"
#include "test/support/onnx_text.h"

namespace codl::compiler {
namespace {

using Kind = VariantRequest::Kind;

const std::vector<VariantRequest> kAll = {{Kind::Coexec, "coexec"},
                                          {Kind::Cpu, "cpu"},
                                          {Kind::Gpu, "gpu"},
                                          {Kind::Limited, "gpu30", 0.3},
                                          {Kind::Busy, "busy"}};

// It is large enough to use both processors of a phone.
const std::string& model() {
  static const std::string model = test::onnx_model(
      "maps (float[1,32,112,112] x) => (float[1,64,112,112] y)"
      "<float[64,32,3,3] a, float[64,64,3,3] b, float[64,64,3,3] c,"
      " float[64,64,3,3] d>{"
      "p = Conv<pads=[1,1,1,1]>(x, a) q = Relu(p)"
      "r = Conv<pads=[1,1,1,1]>(q, b) s = Relu(r)"
      "t = Conv<pads=[1,1,1,1]>(s, c) u = Relu(t)"
      "y = Conv<pads=[1,1,1,1]>(u, d)}");
  return model;
}

llvm::Expected<CompileResult> compile_all(const std::vector<VariantRequest>& variants,
                                          const char* device = "sd855") {
  auto profile = load_device_profile(device);
  if (!profile) FAIL(llvm::toString(profile.takeError()));
  // The profile is sure of every kernel: no uncertainty keeps a plan off both processors.
  for (Calibration& kernel : profile->kernels) {
    kernel.interval_low = 0.999;
    kernel.interval_high = 1.001;
  }
  CompileOptions options;
  options.partition.search_budget = 300;
  options.variants = variants;
  return compile(model(), "maps", *profile, options);
}

CompileResult made(llvm::Expected<CompileResult> result) {
  if (!result) FAIL(llvm::toString(result.takeError()));
  return std::move(*result);
}

const plan::PlanDef& plan_of(const CompileResult& result) {
  PlanHead head;
  std::memcpy(&head, result.plan.data(), sizeof(head));
  return *plan::GetPlanDef(result.plan.data() + head.table_offset);
}

double busy_us(const plan::VariantDef& variant, Queue queue) {
  double sum = 0;
  for (const plan::StepDef* step : *variant.steps())
    if (queue_of(*step) == queue) sum += static_cast<double>(step->predicted_us());
  return sum;
}

TEST_CASE("a plan has the variants that were asked for, each within what it is for") {
  const CompileResult result = made(compile_all(kAll));
  const plan::EntryDef& entry = first_entry_of(plan_of(result));
  REQUIRE(entry.variants()->size() == kAll.size());
  std::vector<const plan::VariantDef*> variants;
  for (uint32_t i = 0; i < kAll.size(); ++i) {
    variants.push_back(entry.variants()->Get(i));
    CHECK(variants[i]->name()->str() == kAll[i].name);
    CHECK(result.reports[0].variants[i].name == kAll[i].name);
    CHECK(variants[i]->predicted_us() > 0);
  }
  const auto gpu_share = [](const plan::VariantDef& variant) {
    return busy_us(variant, Queue::Gpu) / static_cast<double>(variant.predicted_us());
  };
  CHECK(busy_us(*variants[1], Queue::Gpu) == 0);
  CHECK(gpu_share(*variants[2]) > 0.5);
  CHECK(gpu_share(*variants[3]) <= 0.3);
  CHECK(gpu_share(*variants[3]) > 0);
  // With nothing else on the device, the best plan there is no slower than those made for other
  // cases.
  for (const plan::VariantDef* variant : variants)
    CHECK(variants[0]->predicted_us() <= variant->predicted_us() * 1.001f);
  // If half the CPU is busy, it gets less to do.
  CHECK(busy_us(*variants[4], Queue::Cpu) < busy_us(*variants[0], Queue::Cpu));
}

TEST_CASE("equal weights of several variants are in a plan once") {
  const CompileResult alone = made(compile_all({kAll[0], kAll[1]}));
  const CompileResult all = made(compile_all(kAll));
  PlanHead head;
  std::memcpy(&head, all.plan.data(), sizeof(head));
  std::set<std::string> contents;
  const plan::PlanDef& plan = plan_of(all);
  for (const plan::BlobDef* blob : *plan.blobs())
    contents.emplace(
        reinterpret_cast<const char*>(all.plan.data()) + head.data_offset + blob->offset_bytes(),
        blob->bytes());
  CHECK(contents.size() == plan.blobs()->size());
  CHECK(all.reports[0].weight_bytes < 3 * alone.reports[0].weight_bytes);
}

TEST_CASE("the order is the plan's, equal names are one variant, and a GPU is needed for some") {
  const CompileResult swapped = made(compile_all({kAll[1], kAll[2]}));
  CHECK(first_entry_of(plan_of(swapped)).variants()->Get(0)->name()->str() == "cpu");
  CHECK(first_entry_of(plan_of(swapped)).variants()->Get(1)->name()->str() == "gpu");
  auto profile = load_device_profile("sd855");
  REQUIRE(bool(profile));
  CompileOptions options;
  options.partition.strategy = "cpu";
  const CompileResult one = made(compile(model(), "maps", *profile, options));
  CHECK(first_entry_of(plan_of(one)).variants()->size() == 1);  // coexec and cpu are both "cpu"
  profile->has_gpu = false;
  options.variants = {kAll[0], kAll[4]};
  auto refused = compile(model(), "maps", *profile, options);
  REQUIRE(!refused);
  CHECK(llvm::toString(refused.takeError()) ==
        "--variants: expected a device with a GPU for busy, found sd855 without");
}

TEST_CASE("a GPU limit that no plan meets is a limit error") {
  auto profile = load_device_profile("sd855");
  REQUIRE(bool(profile));
  CompileOptions options;
  options.partition.search_budget = 100;
  options.partition.limits.max_syncs = 0;
  options.variants = {{Kind::Cpu, "cpu"}, {Kind::Limited, "gpu1", 0.01}};
  // A variant on the CPU alone meets both limits.
  const CompileResult result = made(compile(model(), "maps", *profile, options));
  CHECK(busy_us(*first_entry_of(plan_of(result)).variants()->Get(1), Queue::Gpu) == 0);
}

TEST_CASE("on a busy profile the CPU's steps take twice as long, the GPU's as long as before") {
  auto loaded = load_device_profile("sd855");
  REQUIRE(bool(loaded));
  const DeviceProfile& idle = *loaded;
  const DeviceProfile busy = busy_profile(idle);
  for (const KernelInfo& kernel : kKernelInfos) {
    TermTimes times = {};
    for (int t = 0; t < kTermCount; ++t) times.us[t] = 7;
    const double before = weigh(times, idle.calibration_of(kernel).shares);
    const double after = weigh(times, busy.calibration_of(kernel).shares);
    const double factor = kernel.processor == Processor::Cpu ? kBusySlowdown : 1;
    CHECK(after == Approx(factor * before).epsilon(1e-3).margin(2e-3));
  }
  CHECK(busy.transfer.synchronisation_us(0, false) >=
        idle.transfer.synchronisation_us(0, false) + kBusySyncUs);
}

}  // namespace
}  // namespace codl::compiler
