// Compares what a session holds, by kind, with its plan's arenas, images and weights and with what
// OpenCL and the allocator were asked for: networks x devices x variants. OpenCL is simulated, so
// that every kind of device is at hand.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "compiler/pipeline.h"
#include "llvm/Support/MemoryBuffer.h"
#include "runtime/src/session.h"
#include "test/support/catch.h"
#include "test/support/counting_allocator.h"
#include "test/support/fake_cl.h"
#include "test/support/onnx_text.h"

namespace codl::compiler {
namespace {

using test::CountingAllocator;
using test::FakeBytes;
using test::FakeCl;
using test::FakeDevice;

struct Network {
  const char* name;
  std::string model;
};

std::string read_file(const char* path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  REQUIRE(bool(file));
  return (*file)->getBuffer().str();
}

const std::vector<Network>& networks() {
  static const std::vector<Network> all = {
      {"tiny_resnet", read_file(CODL_TEST_MODEL)},
      {"selfie_segmentation", read_file(CODL_TEST_MODELS "/selfie_segmentation.onnx")},
      // Has feature maps of 224 x 224, whose arenas exceed huge pages, in widths that are no
      // multiples of the padding of image rows.
      {"large_maps", test::onnx_model("large_maps (float[1,3,224,224] x) => (float[1,24,222,222] y)"
                                      "<float[16,3,3,3] a, float[16,16,3,3] b, float[24,16,1,1] c>{"
                                      "p = Conv<pads=[1,1,1,1]>(x, a) q = Relu(p)"
                                      "r = Conv<pads=[0,0,0,0]>(q, b) s = Sigmoid(r)"
                                      "y = Conv(s, c)}")},
      // Has many weights, some of which are used twice.
      {"weights", test::onnx_model("weights (float[1,256,7,7] x) => (float[1,256,7,7] y)"
                                   "<float[256,256,3,3] a, float[256,256,1,1] b>{"
                                   "p = Conv<pads=[1,1,1,1]>(x, a) q = Relu(p)"
                                   "r = Conv(q, b) s = Conv<pads=[1,1,1,1]>(r, a)"
                                   "y = Add(s, x)}")},
      // The data decides an extent of its output; kernels use scratch memory.
      {"extents", test::onnx_model("extents (float[64,512] x) => (int64[2,n] y, float[64,512] z)"
                                   "<float[512,512] w>{"
                                   "p = MatMul(x, w) z = Softmax<axis=1>(p) y = NonZero(z)}")},
      // Has a norm of so many pixels that workers put parts of its moments into the shared scratch
      // memory.
      {"moments", test::onnx_model("moments (float[1,64,160,160] x) => (float[1,64,160,160] y)"
                                   "<float[64,64,1,1] w, float[64] s, float[64] b>{"
                                   "p = Conv(x, w) y = InstanceNormalization(p, s, b)}")},
      // Rows have 34 texels, which are padded to 64 on some phones.
      {"narrow_maps", test::onnx_model("narrow_maps (float[1,8,60,17] x) => (float[1,8,60,17] y)"
                                       "<float[8,8,3,3] a, float[8,8,3,3] b>{"
                                       "p = Conv<pads=[1,1,1,1]>(x, a) q = Relu(p)"
                                       "y = Conv<pads=[1,1,1,1]>(q, b)}")},
  };
  return all;
}

DeviceProfile load_profile(const std::string& name) {
  auto profile = load_device_profile(name);
  if (!profile) FAIL(llvm::toString(profile.takeError()));
  return std::move(*profile);
}

// Returns a device with the profile's properties.
FakeDevice device_of(const DeviceProfile& profile) {
  FakeDevice device;
  device.has_host_memory = profile.transfer.sharing != Sharing::Separate;
  device.has_fine_svm = profile.transfer.sharing == Sharing::FineSvm;
  device.image_row_texels = static_cast<size_t>(profile.image_row_texels);
  return device;
}

// Writes a plan file that is removed with the object.
class PlanFile {
 public:
  explicit PlanFile(const compiler::LargeBytes& bytes) {
    const int file = mkstemp(path_);
    REQUIRE(file >= 0);
    REQUIRE(write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    close(file);
  }
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;
  ~PlanFile() { unlink(path_); }
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/codl_memory_XXXXXX";
};

// Counts bytes by kind.
struct Held {
  uint64_t host = 0, svm = 0, buffers = 0, device = 0, images = 0, weights = 0;
};

// Returns the bytes of one variant by the plan.
Held planned(const plan::PlanDef& plan, const plan::VariantDef& variant, uint64_t row_texels) {
  Held held;
  held.host = variant.host_bytes();
  (sharing_of(variant) == Sharing::FineSvm ? held.svm : held.buffers) = variant.shared_bytes();
  held.device = variant.device_bytes();
  for (const plan::ImageDef* image : *variant.images())
    held.images += image_bytes(image->width(), image->height(), static_cast<DType>(image->dtype()),
                               row_texels);
  std::set<uint32_t> blobs;
  for (const plan::TensorDef* tensor : *variant.tensors())
    if (storage_of(*tensor) == Storage::Weights) blobs.insert(tensor->index());
  for (const uint32_t blob : blobs)
    held.weights += round_up(plan.blobs()->Get(blob)->bytes(), kBlobAlignment);
  return held;
}

// A session with `variant` (null: with all) holds `expected`, and says so.
codl_session_info_t check_session(const codl_plan_t* plan, const char* variant,
                                  const FakeDevice& device, const Held& expected) {
  FakeCl cl(device);
  CountingAllocator counting;
  codl_session_options_t options{};
  options.struct_size = sizeof(options);
  options.variant = variant;
  if (variant == nullptr) options.variant_count = CODL_ALL_VARIANTS;
  options.thread_count = static_cast<int32_t>(plan->def->cpu_threads());
  options.require_variant = 1;
  options.allocator = counting.get();
  codl_session_t* session = nullptr;
  codl_diag_t diag{};
  const codl_status_t status = rt::create_session(plan, &options, &cl.api(), &session, &diag);
  INFO(diag.message);
  REQUIRE(status == CODL_OK);
  codl_session_info_t info{};
  info.struct_size = sizeof(info);
  REQUIRE(codl_session_get_info(session, &info) == CODL_OK);
  const FakeBytes gpu = cl.held();
  CHECK(gpu.svm == static_cast<int64_t>(expected.svm));
  CHECK(gpu.host_visible == static_cast<int64_t>(expected.buffers));
  CHECK(gpu.other_buffers == static_cast<int64_t>(expected.device));
  CHECK(info.host_bytes == expected.host);
  CHECK(info.shared_bytes == expected.svm + expected.buffers);
  CHECK(info.device_bytes == expected.device);
  CHECK(static_cast<int64_t>(info.image_bytes) == gpu.images);
  CHECK(static_cast<int64_t>(info.weight_copy_bytes) == gpu.copied);
  if (variant != nullptr) CHECK(info.weight_bytes == expected.weights);
  if (variant != nullptr) CHECK(info.image_bytes == expected.images);
  // The plan's structure is the plan's; the session borrows it.
  CHECK(static_cast<int64_t>(info.host_bytes + info.scratch_bytes + info.table_bytes) ==
        counting.live_bytes + static_cast<int64_t>(plan->file.private_bytes()));
  codl_session_destroy(session);
  return info;
}

TEST_CASE("a session holds the arenas, images and weights of its plan, and tells of the rest") {
  const size_t network = GENERATE(range(size_t{0}, size_t{7}));
  const std::string device = GENERATE(
      as<std::string>{}, "host-pair", CODL_TEST_PROFILES "/sd855_images.json", "kirin990",
      CODL_TEST_PROFILES "/host_sub_buffer.json", CODL_TEST_PROFILES "/host_separate.json");
  struct Mode {
    const char* strategy;
    SplitDim dim;
    Precision precision;
  };
  const Mode mode = GENERATE(Mode{"optimal", SplitDim::None, Precision::Fp32},
                             Mode{"gpu", SplitDim::None, Precision::Fp16},
                             Mode{"optimal", SplitDim::Height, Precision::Fp32});
  const Network& tested = networks()[network];
  const DeviceProfile profile = load_profile(device);
  CompileOptions options;
  options.partition.strategy = mode.strategy;
  options.partition.search_budget = 100;  // with sanitizers each plan that is judged takes its time
  options.partition.split_dim = mode.dim;
  if (mode.dim != SplitDim::None) options.partition.ratio = 0.5;
  options.precision = mode.precision;
  CAPTURE(tested.name, device, mode.strategy, static_cast<int>(mode.dim));
  auto result = compile(tested.model, tested.name, profile, options);
  if (!result) FAIL(llvm::toString(result.takeError()));

  const PlanFile file(result->plan);
  codl_plan_t* plan = nullptr;
  codl_diag_t diag{};
  REQUIRE(codl_plan_open_file(file.path(), nullptr, &plan, &diag) == CODL_OK);
  const FakeDevice fake = device_of(profile);
  Held all;
  for (uint32_t i = 0; i < plan->entry().variants()->size(); ++i) {
    const plan::VariantDef& variant = *plan->entry().variants()->Get(i);
    CAPTURE(variant.name()->c_str());
    const Held held = planned(*plan->def, variant, fake.image_row_texels);
    const PlanFigures& figures = result->reports[0].variants[i].figures;
    CHECK(figures.arena_bytes == held.host + held.svm + held.buffers + held.device + held.images);
    check_session(plan, variant.name()->c_str(), fake, held);
    all.host = std::max(all.host, held.host);
    all.svm = std::max(all.svm, held.svm);
    all.buffers = std::max(all.buffers, held.buffers);
    all.device = std::max(all.device, held.device);
    all.images = std::max(all.images, held.images);
  }
  CHECK(check_session(plan, nullptr, fake, all).image_bytes >= all.images);
  codl_plan_close(plan);
}

}  // namespace
}  // namespace codl::compiler
