// Tests that the fastest kernel by prediction is chosen among those that can run a step, and no
// kernel that would need more of the input than the schedule gives it.
#include "compiler/partition/kernel_choice.h"

#include "compiler/device/device_profile.h"
#include "compiler/pipeline.h"
#include "kernels/kernel_table.h"
#include "llvm/Support/raw_ostream.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"
#include "test/support/onnx_text.h"

namespace codl::compiler {
namespace {

constexpr const char* kDirect = "conv2d_f32_cpu";
constexpr const char* kWinograd = "conv2d_winograd4_f32_cpu";

uint16_t id_of(llvm::StringRef symbol) {
  for (const KernelInfo& info : kKernelInfos)
    if (symbol == info.symbol) return info.id;
  return 0;
}

// Every step of the two kernels takes as long as given; there is no other kernel.
DeviceProfile profile_of(double direct_us, double winograd_us) {
  DeviceProfile profile;
  for (const KernelInfo& info : kKernelInfos) {
    const bool is_direct = info.id == id_of(kDirect);
    if (!is_direct && info.id != id_of(kWinograd)) profile.unused_kernels.push_back(info.id);
    profile.kernels[info.id - 1].shares[Term::Step] = is_direct ? direct_us : winograd_us;
  }
  return profile;
}

std::string kernel_for(const DeviceProfile& profile, int32_t kernel, SplitDim dim = SplitDim::None,
                       Range part = {}) {
  test::GraphBuilder builder(16, 18, 16);
  const ir::Graph graph = builder.finish(builder.conv("a", builder.input(), 32, kernel));
  for (const ir::Node& node : graph.nodes()) {
    if (node.op != OpKind::Conv2d) continue;
    const auto choice = choose_kernel({graph, node}, Processor::Cpu, kBuffers, dim, part,
                                      LatencyPredictor(profile), false);
    return choice ? choice->kernel->symbol : "none";
  }
  return "no convolution";
}

TEST_CASE("the kernel of least predicted time is taken, of equals the first") {
  CHECK(kernel_for(profile_of(2, 1), 3) == kWinograd);
  CHECK(kernel_for(profile_of(1, 2), 3) == kDirect);
  CHECK(kernel_for(profile_of(1, 1), 3) == kDirect);
  CHECK(kernel_for(profile_of(2, 1), 1) == kDirect);  // the fast kernel cannot compute this window
}

TEST_CASE("a kernel that the user does not want is not taken") {
  DeviceProfile profile = profile_of(2, 1);
  profile.unused_kernels.push_back(id_of(kWinograd));
  CHECK(kernel_for(profile, 3) == kDirect);
}

TEST_CASE("a part of rows off the grid of tiles is not for the kernel that computes whole tiles") {
  const DeviceProfile profile = profile_of(2, 1);
  CHECK(kernel_for(profile, 3, SplitDim::Height, {0, 8}) == kWinograd);
  CHECK(kernel_for(profile, 3, SplitDim::Height, {8, 18}) == kWinograd);
  CHECK(kernel_for(profile, 3, SplitDim::Height, {0, 9}) == kDirect);
  CHECK(kernel_for(profile, 3, SplitDim::Height, {9, 18}) == kDirect);
  CHECK(kernel_for(profile, 3, SplitDim::OutputChannel, {16, 32}) == kWinograd);
}

// Returns the kernels of the GPU's steps, in order, if maps are images and the GPU runs all nodes.
std::vector<std::string> gpu_kernels(const std::string& onnx) {
  CompileOptions options;
  options.partition.strategy = "gpu";
  options.prints.dump = "schedule";
  std::string text;
  llvm::raw_string_ostream os(text);
  options.prints.to = &os;
  test::value_of(compile(onnx, "norms", test::value_of(load_device_profile("sd855")), options));
  llvm::SmallVector<llvm::StringRef, 32> lines;
  llvm::StringRef(os.str()).split("variant cpu").first.split(lines, '\n');
  std::vector<std::string> kernels;
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef, 8> words;
    line.split(words, ' ');
    if (words.size() > 3 && words[1] == "gpu" && words[2].contains("_cl_"))
      kernels.push_back(words[2].str());
  }
  return kernels;
}

TEST_CASE("norms of instances stay in images, others are converted to buffers and back") {
  constexpr const char* kBegin = R"(norms (float[1,16,96,100] x) => (float[1,16,96,100] y)
      <float[32,16,3,3] w1, float[32] scale, float[32] shift, float[16,32,3,3] w2> {
        a = Conv<pads = [1, 1, 1, 1]>(x, w1))";
  constexpr const char* kEnd = R"(
        y = Conv<pads = [1, 1, 1, 1]>(b, w2) })";
  const auto kernels = [&](const char* norm) {
    std::vector<std::string> all = gpu_kernels(test::onnx_model(std::string(kBegin) + norm + kEnd));
    // Drops the conversions of x, which the CPU or the GPU makes Nhwc, and of y.
    while (!all.empty() && all.front() != "conv2d_f32_cl_image") all.erase(all.begin());
    while (!all.empty() && all.back() != "conv2d_f32_cl_image") all.pop_back();
    return all;
  };
  CHECK(kernels("b = InstanceNormalization(a, scale, shift)") ==
        std::vector<std::string>{"conv2d_f32_cl_image", "normalize_f32_cl_image",
                                 "conv2d_f32_cl_image"});
  // A group's mean is over several channels.
  CHECK(kernels("b = MeanVarianceNormalization<axes = [1, 2, 3]>(a)") ==
        std::vector<std::string>{"conv2d_f32_cl_image", "convert_f32_cl_from_image",
                                 "normalize_f32_cl_buffer", "convert_f32_cl_to_image",
                                 "conv2d_f32_cl_image"});
}

}  // namespace
}  // namespace codl::compiler
