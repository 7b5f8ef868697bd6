// Compares codlc's forecast of a session's memory with a session's: bytes that OpenCL and the
// allocator were asked for, by kind, for networks x devices x variants. OpenCL is simulated, so
// that every kind of device is at hand.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "compiler/emit/plan_memory.h"
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

// Forecast over measured memory: the bound for every kind.
constexpr double kMaxDifference = 0.02;

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
      // Feature maps of 224 x 224, whose arenas exceed huge pages, in widths that are no multiples
      // of the padding of image rows.
      {"large_maps", test::onnx_model("large_maps (float[1,3,224,224] x) => (float[1,24,222,222] y)"
                                      "<float[16,3,3,3] a, float[16,16,3,3] b, float[24,16,1,1] c>{"
                                      "p = Conv<pads=[1,1,1,1]>(x, a) q = Relu(p)"
                                      "r = Conv<pads=[0,0,0,0]>(q, b) s = Sigmoid(r)"
                                      "y = Conv(s, c)}")},
      // Many weights, some of which are used twice.
      {"weights", test::onnx_model("weights (float[1,256,7,7] x) => (float[1,256,7,7] y)"
                                   "<float[256,256,3,3] a, float[256,256,1,1] b>{"
                                   "p = Conv<pads=[1,1,1,1]>(x, a) q = Relu(p)"
                                   "r = Conv(q, b) s = Conv<pads=[1,1,1,1]>(r, a)"
                                   "y = Add(s, x)}")},
      // The data decides an extent of its output; kernels use scratch memory.
      {"extents", test::onnx_model("extents (float[64,512] x) => (int64[2,n] y, float[64,512] z)"
                                   "<float[512,512] w>{"
                                   "p = MatMul(x, w) z = Softmax<axis=1>(p) y = NonZero(z)}")},
      // A norm of so many pixels that workers put parts of its moments into the shared scratch
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
  device.has_host_memory = !profile.copies_weights;
  device.has_fine_svm = profile.transfer.sharing == Sharing::FineSvm;
  device.image_row_texels = static_cast<size_t>(profile.image_row_texels);
  return device;
}

// A plan file that is removed with the object.
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

// Counts the pages of the blobs with the variant's tensors.
int64_t weight_pages(const plan::PlanDef& plan, const plan::VariantDef& variant) {
  std::set<uint64_t> pages;
  for (const plan::TensorDef* tensor : *variant.tensors()) {
    if (storage_of(*tensor) != Storage::Weights) continue;
    const plan::BlobDef& blob = *plan.blobs()->Get(tensor->index());
    for (uint64_t page = blob.offset_bytes() / kPageBytes;
         page * kPageBytes < blob.offset_bytes() + blob.bytes(); ++page)
      pages.insert(page);
  }
  return static_cast<int64_t>(pages.size() * kPageBytes);
}

void check_kind(const char* kind, uint64_t said, int64_t held) {
  CAPTURE(kind, said, held);
  CHECK(std::abs(static_cast<double>(said) - static_cast<double>(held)) <=
        kMaxDifference * static_cast<double>(held));
}

// Returns codl.h's figures for a session with the given allocator.
// `variant` null: with all variants, to adapt.
codl_session_info_t info_of(const codl_plan_t* plan, const char* variant, const FakeCl& cl,
                            const codl_allocator_t* allocator,
                            const std::function<void()>& while_open) {
  codl_session_options_t options{};
  options.struct_size = sizeof(options);
  options.variant = variant;
  options.variant_policy = variant == nullptr ? CODL_VARIANT_ADAPTIVE : CODL_VARIANT_FIXED;
  options.thread_count = static_cast<int32_t>(plan->def->cpu_threads());
  options.require_variant = 1;
  options.allocator = allocator;
  codl_session_t* session = nullptr;
  codl_diag_t diag{};
  const codl_status_t status = rt::create_session(plan, &options, &cl.api(), &session, &diag);
  INFO(diag.message);
  REQUIRE(status == CODL_OK);
  codl_session_info_t info{};
  info.struct_size = sizeof(info);
  REQUIRE(codl_session_get_info(session, &info) == CODL_OK);
  while_open();
  codl_session_destroy(session);
  return info;
}

TEST_CASE("a session holds what codlc says, by kind") {
  const size_t network = GENERATE(range(size_t{0}, size_t{7}));
  const std::string device = GENERATE(
      as<std::string>{}, "host-pair", CODL_TEST_PROFILES "/sd855_images.json", "kirin990",
      CODL_TEST_PROFILES "/host_sub_buffer.json", CODL_TEST_PROFILES "/host_separate.json");
  struct Mode {
    const char* strategy;
    SplitDim dim;
    Precision precision;
  };
  const Mode mode = GENERATE(Mode{"auto", SplitDim::None, Precision::Fp32},
                             Mode{"gpu", SplitDim::None, Precision::Fp16},
                             Mode{"auto", SplitDim::Height, Precision::Fp32});
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
  for (uint32_t i = 0; i < plan->def->variants()->size(); ++i) {
    const plan::VariantDef& variant = *plan->def->variants()->Get(i);
    const SessionMemory& said = result->report.variants[i].memory;
    CAPTURE(variant.name()->c_str());
    FakeCl cl(device_of(profile));
    CountingAllocator counting;
    int64_t host_bytes = 0;  // the whole session's
    FakeBytes gpu;
    const codl_session_info_t asked =
        info_of(plan, variant.name()->c_str(), cl, counting.get(), [&] {
          host_bytes = counting.live_bytes;
          gpu = cl.held();
        });
    // Compares with the bytes that OpenCL was asked for.
    check_kind("shared", said.shared_bytes, gpu.svm + gpu.host_visible);
    check_kind("device", said.device_bytes, gpu.other_buffers);
    check_kind("image", said.image_bytes, gpu.images);
    check_kind("weight copies", said.weight_copy_bytes, gpu.copied);
    check_kind("weights", said.weight_bytes, weight_pages(*plan->def, variant));
    // Compares with the bytes that the allocator was asked for, without the plan's structure, which
    // the session borrows.
    const auto structure_bytes = static_cast<int64_t>(plan->file.private_bytes());
    check_kind("host, scratch and tables",
               asked.host_bytes + asked.scratch_bytes + asked.table_bytes,
               host_bytes + structure_bytes);
    // The session's own figures, with the default allocator that codlc assumes.
    const codl_session_info_t told = info_of(plan, variant.name()->c_str(), cl, nullptr, [] {});
#define CODL_MEMORY(name, text) \
  check_kind("told: " text, said.name##_bytes, static_cast<int64_t>(told.name##_bytes));
#include "schema/memory.def"
#undef CODL_MEMORY
  }
  // The session has all variants.
  const SessionMemory& said = result->report.memory_of_all;
  FakeCl cl(device_of(profile));
  CountingAllocator counting;
  int64_t host_bytes = 0;
  const codl_session_info_t asked = info_of(plan, nullptr, cl, counting.get(), [&] {
    host_bytes = counting.live_bytes;
    check_kind("shared", said.shared_bytes, cl.held().svm + cl.held().host_visible);
    check_kind("device", said.device_bytes, cl.held().other_buffers);
    check_kind("image", said.image_bytes, cl.held().images);
    check_kind("weight copies", said.weight_copy_bytes, cl.held().copied);
  });
  check_kind("host, scratch and tables", asked.host_bytes + asked.scratch_bytes + asked.table_bytes,
             host_bytes + static_cast<int64_t>(plan->file.private_bytes()));
  const codl_session_info_t told = info_of(plan, nullptr, cl, nullptr, [] {});
#define CODL_MEMORY(name, text) \
  check_kind("told: " text, said.name##_bytes, static_cast<int64_t>(told.name##_bytes));
#include "schema/memory.def"
#undef CODL_MEMORY
  codl_plan_close(plan);
}

TEST_CASE("the memory of images is most of what a network of large maps takes of a phone's GPU") {
  const DeviceProfile profile = load_profile(CODL_TEST_PROFILES "/sd855_images.json");
  CompileOptions options;
  options.partition.strategy = "gpu";
  auto result = compile(networks()[2].model, "large_maps", profile, options);
  if (!result) FAIL(llvm::toString(result.takeError()));
  const SessionMemory& memory = result->report.variants.front().memory;
  // Sixteen channels of 224 x 224 floats: four texels of 16 bytes per pixel.
  CHECK(memory.image_bytes >= 224 * 224 * 16 * 4);
  CHECK(total_bytes(memory) > memory.image_bytes);
  CHECK(print(memory).find("images ") != std::string::npos);
}

}  // namespace
}  // namespace codl::compiler
