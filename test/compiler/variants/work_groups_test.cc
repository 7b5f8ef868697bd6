// Checks the work-groups of GPU steps for every profile that comes with codl.
#include <string>
#include <vector>

#include "compiler/device/device_profile.h"
#include "compiler/device/latency_predictor.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/passes/pass_order.h"
#include "compiler/variants/candidate.h"
#include "kernels/common/work/gemm_tile_choice.h"
#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "test/compiler/support/golden.h"
#include "test/support/catch.h"
#include "test/support/expected.h"

namespace codl::compiler {
namespace {

using test::value_of;

// Returns layers with the largest tiles: wide maps for Winograd's method, 1x1 filters of much depth
// and few pixels, a product of many rows.
std::string large_layers() {
  return test::onnx_model(R"(large (float[1,64,56,56] x) => (float[64,1000] y)
<float[64,64,3,3] w1, float[256,64,1,1] w2, float[256,256,3,3] w3, float[1024,256,1,1] w4, float[64,784] w5,
 float[1000,64] w6>
{
  a = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w1)
  b = Conv<kernel_shape=[1,1], strides=[4,4]>(a, w2)
  c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(b, w3)
  d = MaxPool<kernel_shape=[2,2], strides=[2,2]>(c)
  e = Conv<kernel_shape=[1,1]>(d, w4)
  shape = Constant<value_ints=[64,784]>()
  f = Reshape(e, shape)
  g = Gemm<transB=1>(f, w5)
  y = Gemm<transB=1>(g, w6)
})");
}

ir::Graph graph_of(const std::string& onnx) {
  ir::Graph graph = value_of(import_onnx(onnx, "test"));
  REQUIRE(test::error_of(run_passes(graph, frontend_passes(), {})) == "");
  return graph;
}

// Checks the plan's GPU steps and returns their number.
int check_groups(const ir::Graph& graph, const DeviceProfile& profile,
                 const std::string& strategy) {
  PartitionOptions options;
  options.strategy = strategy;
  options.search_budget = 20;
  const LatencyPredictor predictor(profile, 1);
  const Candidate made = value_of(make_candidate(graph, predictor, options));
  int count = 0;
  for (const Step& step : made.schedule.steps) {
    if (step.queue != Queue::Gpu || step.kind != StepKind::Kernel) continue;
    kernels::OperandShape shapes[kernels::kMaxOperands];
    kernels::ClLaunch launch;
    const kernels::StepShape shape = made.schedule.shape_of(step, shapes);
    kernels::launch_of(shape, &launch);
    INFO(profile.name << ", " << strategy << ": " << step.name << ", " << step.kernel->symbol);
    CHECK(launch.local[0] * launch.local[1] * launch.local[2] <=
          static_cast<uint64_t>(profile.gpu_facts.max_group_items));
    CHECK(launch.local_bytes <= profile.gpu_facts.max_group_local_bytes);
    // These have tiles for every GPU; of other operators a kernel may spill where all do.
    const bool is_product =
        step.kernel->op == OpKind::MatMul || step.kernel->op == OpKind::BatchMatMul;
    if (profile.kind == DeviceKind::Phone &&
        (is_product || kernels::tile_kind_of(*step.kernel) == kernels::TileKind::Gemm))
      CHECK(kernels::fits_registers(shape, profile.gpu_facts));
    ++count;
  }
  return count;
}

TEST_CASE("no work-group takes more than its profile has, for every device and strategy",
          "[search]") {
  std::vector<ir::Graph> graphs = {graph_of(large_layers())};
  for (const char* network : {"residual", "mobile", "unet", "detector", "attention", "style"})
    graphs.push_back(graph_of(golden_model(network)));
  for (const std::string& device : list_devices()) {
    const DeviceProfile profile = value_of(load_device_profile(device));
    for (const ir::Graph& graph : graphs) {
      CHECK(check_groups(graph, profile, "gpu") > 0);
      CHECK(check_groups(graph, profile, "optimal") >= 0);
    }
  }
}

TEST_CASE("a device with small work-groups has smaller tiles, or other kernels") {
  DeviceProfile profile = value_of(load_device_profile("sd855"));
  const ir::Graph large = graph_of(large_layers());
  for (const double local_kb : {64.0, 48.0, 32.0, 24.0, 16.0, 8.0, 1.0})
    for (const int32_t items : {1024, 256, 128, 64}) {
      profile.machine.gpu.local_kb = local_kb;
      set_gpu_facts(profile.machine, &profile.gpu_facts);
      profile.gpu_facts.max_group_items = items;
      CHECK(check_groups(large, profile, "gpu") > 0);
    }
}

TEST_CASE("no tile of a phone has more sums and factors than a work-item has registers") {
  for (const std::string& device : list_devices()) {
    const DeviceProfile profile = value_of(load_device_profile(device));
    if (profile.kind != DeviceKind::Phone) continue;
    const kernels::GpuFacts& gpu = profile.gpu_facts;
    INFO(device);
    CHECK(gpu.thread_registers >= 64);
    for (const KernelInfo& kernel : kKernelInfos) {
      if (kernels::tile_kind_of(kernel) != kernels::TileKind::Gemm) continue;
      const kernels::TimedTiles* own = gpu.tiles.table_of(kernel);
      const kernels::TimedTiles tiles = own != nullptr ? *own : kernels::timed_gemm_tiles(gpu);
      CHECK(tiles.count > 0);
      for (uint32_t i = 0; i < tiles.count; ++i)
        CHECK(gpu.has_registers(
            static_cast<double>(kernels::gemm_item_registers(tiles.tiles[i].tile))));
    }
  }
}

TEST_CASE("where every kernel spills, one is taken all the same") {
  DeviceProfile profile = value_of(load_device_profile("rk3588"));
  for (const int32_t registers : {1, 16, 32, 47}) {
    profile.gpu_facts.thread_registers = registers;
    CHECK(kernels::timed_gemm_tiles(profile.gpu_facts).count == 0);
    kernels::OperandShape shapes[kernels::kMaxOperands];
    PartitionOptions options;
    options.strategy = "gpu";
    const LatencyPredictor predictor(profile, 1);
    const Candidate made = value_of(make_candidate(graph_of(large_layers()), predictor, options));
    int spilling = 0;
    for (const Step& step : made.schedule.steps)
      if (step.queue == Queue::Gpu && step.kind == StepKind::Kernel)
        spilling += kernels::fits_registers(made.schedule.shape_of(step, shapes), profile.gpu_facts)
                        ? 0
                        : 1;
    CHECK(spilling > 0);
  }
}

TEST_CASE("what a profile does not say of work-groups is what every device has") {
  DeviceProfile profile = value_of(load_device_profile("template"));
  CHECK(profile.gpu_facts.max_group_items == 256);
  CHECK(profile.gpu_facts.max_group_local_bytes == 32 * 1024);
  profile.machine.gpu.local_kb = 0;
  profile.gpu_facts = {};
  set_gpu_facts(profile.machine, &profile.gpu_facts);
  CHECK(profile.gpu_facts.max_group_local_bytes == 32 * 1024);
  profile = value_of(load_device_profile("kirin990"));
  CHECK(profile.gpu_facts.max_group_items == 384);
  profile = value_of(load_device_profile("host-2core-pocl"));
  CHECK(profile.machine.gpu.local_kb == 0);
  CHECK(profile.gpu_facts.max_group_local_bytes == 48 * 1024);  // a processor: any tile
}

}  // namespace
}  // namespace codl::compiler
