// Among the kernels that can run a step the one of least predicted time, and no kernel that would
// need more of the input than the schedule gives it.
#include "compiler/partition/kernel_choice.h"

#include "kernels/kernel_table.h"
#include "test/support/catch.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

constexpr const char* kDirect = "conv2d_f32_cpu";
constexpr const char* kWinograd = "conv2d_winograd4_f32_cpu";

uint16_t id_of(llvm::StringRef symbol) {
  for (const KernelInfo& info : kKernelInfos)
    if (symbol == info.symbol) return info.id;
  return 0;
}

// Every step of the two kernels takes as long as these say; no other kernel is there.
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
    const auto choice = choose_kernel({graph, node}, Processor::Cpu, Layout::Nhwc, dim, part,
                                      LatencyPredictor(profile), false);
    return choice ? choice->kernel->symbol : "none";
  }
  return "no convolution";
}

TEST_CASE("the kernel of least predicted time is taken, of equals the first") {
  CHECK(kernel_for(profile_of(2, 1), 3) == kWinograd);
  CHECK(kernel_for(profile_of(1, 2), 3) == kDirect);
  CHECK(kernel_for(profile_of(1, 1), 3) == kDirect);
  CHECK(kernel_for(profile_of(2, 1), 1) == kDirect);  // what the fast kernel cannot compute
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

}  // namespace
}  // namespace codl::compiler
