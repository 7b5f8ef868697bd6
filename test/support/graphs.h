// Makes small graphs, a device and partition plans for tests of the compiler's back half.
#pragma once

#include <string>
#include <vector>

#include "compiler/device/device_profile.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/partition_plan.h"

namespace codl::test {

// Builds an Nhwc graph node by node; weights are zero.
class GraphBuilder {
 public:
  // Adds an Nhwc value [1, channels, rows, columns], which a Convert node makes from graph input
  // "x".
  explicit GraphBuilder(int32_t channels, int32_t rows, int32_t columns);

  // Adds a 3x3 (pad 1) or 1x1 convolution, named `name`.
  ir::ValueId conv(const std::string& name, ir::ValueId x, int32_t out_channels, int32_t kernel = 3,
                   int32_t stride = 1, ir::ValueId residual = ir::kNoId);
  ir::ValueId add(const std::string& name, ir::ValueId a, ir::ValueId b);
  // Joins along the channels.
  ir::ValueId concat(const std::string& name, const std::vector<ir::ValueId>& values);
  // Converts the value to the graph's output, and ends the graph.
  ir::Graph finish(ir::ValueId value);

  ir::ValueId input() const { return input_; }

 private:
  ir::Graph graph_;
  ir::ValueId input_;
};

// A GPU and a CPU that take a microsecond for a million multiply-adds and one for each step. It has
// only one kernel of convolutions per processor: Winograd's would compute less than the GPU's and
// not every part, and other tiles' times would depend on the map's size. A synchronisation costs 5
// us, moving data nothing. If the GPU has images, kernels on buffers take ten times as long as
// those on images.
compiler::DeviceProfile test_profile(Sharing sharing, Layout gpu_layout = Layout::Nhwc);

// Returns three convolutions on 16 x 16 maps: 3x3, 3x3 with a residual, 1x1.
inline ir::Graph three_convs() {
  GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::ValueId b = builder.conv("b", a, 32, 3, 1, a);
  return builder.finish(builder.conv("c", b, 32, 1));
}

}  // namespace codl::test
