// Where each value lives: one tensor per lane that touches it, or one for both.
#pragma once

#include <array>
#include <vector>

#include "compiler/partition/split_geometry.h"
#include "compiler/schedule/schedule.h"

namespace codl::compiler {

inline constexpr TensorId kNoTensor = UINT32_MAX;

struct ValuePlacement {
  // By processor. `missing`: what the lane reads and does not compute: below and above what it
  // does.
  std::array<TensorId, 2> tensor = {kNoTensor, kNoTensor};
  std::array<TensorId, 2> staging = {
      kNoTensor, kNoTensor};  // Separate + images: device buffer on the way to that lane
  std::array<std::array<Region, 2>, 2> missing = {};

  TensorId tensor_on(Processor processor) const { return tensor[static_cast<size_t>(processor)]; }
  TensorId staging_on(Processor processor) const { return staging[static_cast<size_t>(processor)]; }
  std::array<Region, 2>& missing_on(Processor processor) {
    return missing[static_cast<size_t>(processor)];
  }
};

struct Placements {
  std::vector<ValuePlacement> values;     // by value; constants have none
  std::vector<ir::NodeId> last_cpu_node;  // by tensor: the last node whose CPU part touches it
};

// Adds the tensors of all values that are not constants to the schedule.
//
//   who touches the value               its tensors
//   one lane                            one: Host, Device or Image; Input and Output are the
//                                       application's
//   both, nothing missing: in a chain   a private one each
//   both, and one memory serves         one: Shared
//   both, else                          Shared (Separate: Host) for the CPU, Device or Image for
//                                       the GPU; what is missing is copied
//
// One memory serves FineSvm with disjoint parts, or SubBuffer with one writer; no image.
Placements place_values(const ir::Graph& graph, const PartitionPlan& plan,
                        const DeviceProfile& profile, Schedule& schedule);

}  // namespace codl::compiler
