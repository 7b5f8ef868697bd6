// Where each value lives: one tensor per lane that touches it, or one for both.
#pragma once

#include <array>
#include <vector>

#include "compiler/partition/partition_plan.h"
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
  // Maps: the layout of the GPU's tensor. Parts on the GPU that read the other layout read the
  // CPU's tensor, where that is a buffer for both, or `other_layout`: the GPU converts `converted`
  // of its own tensor to it, first what it computes (`made`), then what was missing.
  Layout gpu_maps = Layout::Nhwc;
  bool buffer_is_shared = false;
  TensorId other_layout = kNoTensor;
  Region made;
  Region converted;

  // Whose tensor the part has the value in.
  Processor home_of(const Part& part) const {
    return buffer_is_shared && part.maps == Layout::Nhwc ? Processor::Cpu : part.processor;
  }
  bool reads_converted(const Part& part) const {
    return other_layout != kNoTensor && part.processor == Processor::Gpu && part.maps != gpu_maps;
  }
  TensorId tensor_for(const Part& part) const {
    return reads_converted(part) ? other_layout : tensor_on(home_of(part));
  }
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
//   the GPU in two layouts              one more for the layout that it is not made in: the Shared
//                                       one where it is a buffer and the lanes exchange the value,
//                                       else a Device or Image one
//
// One memory serves FineSvm with disjoint parts, or SubBuffer with one writer; no image.
Placements place_values(const ir::Graph& graph, const PartitionPlan& plan,
                        const DeviceProfile& profile, Schedule& schedule);

}  // namespace codl::compiler
