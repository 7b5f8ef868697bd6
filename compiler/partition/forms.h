// Says in which forms each processor may have the values of a node. Whoever chooses a form, or
// holds something for each, goes by these lists.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>

#include "compiler/device/device_profile.h"
#include "compiler/ir/graph.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace codl::compiler {

constexpr size_t index_of(Processor processor) { return static_cast<size_t>(processor); }
inline constexpr Processor kProcessors[] = {Processor::Cpu, Processor::Gpu};
constexpr Processor other_of(Processor processor) {
  return processor == Processor::Cpu ? Processor::Gpu : Processor::Cpu;
}

inline constexpr Form kBuffers = {Layout::Nhwc, DType::F32};
inline constexpr Form kImages = {Layout::Image2d, DType::F32};
inline constexpr Form kHalfBuffers = {Layout::Nhwc, DType::F16};
inline constexpr Form kHalfImages = {Layout::Image2d, DType::F16};
inline constexpr Form kByteBuffers = {Layout::Nhwc, DType::I8};
inline constexpr Form kByteImages = {Layout::Image2d, DType::I8};

// List the forms of maps (values of type Nhwc), the preferred one first. Every device has the last.
// A form's dtype is that of all real numbers, also of those that are no maps. Bytes hold values
// that lie on a grid (ir::Value::grid); the node's others are floats then.
inline constexpr Form kCpuForms[] = {kByteBuffers, kHalfBuffers, kBuffers};
inline constexpr Form kGpuForms[] = {kByteImages,  kByteBuffers, kHalfImages,
                                     kHalfBuffers, kImages,      kBuffers};
inline constexpr size_t kFormCounts[] = {std::size(kCpuForms), std::size(kGpuForms)};
inline constexpr size_t kMaxForms = std::max(kFormCounts[0], kFormCounts[1]);
// A value is in at most so many forms beside those of its processors' own tensors.
inline constexpr size_t kOtherForms = kFormCounts[0] - 1 + kFormCounts[1] - 1;

using FormList = llvm::SmallVector<Form, kMaxForms>;

// Holds the form of maps on each processor, by processor.
using FormPair = std::array<Form, 2>;
inline constexpr FormPair kBothBuffers = {kBuffers, kBuffers};

// Returns all forms that maps may have on a processor.
inline llvm::ArrayRef<Form> map_forms(Processor processor) {
  if (processor == Processor::Cpu) return kCpuForms;
  return kGpuForms;
}
// Returns those of a device, with real numbers in `precision`: Auto stands for floats and halves.
// With `has_grids`, bytes are among them.
FormList map_forms(Processor processor, const DeviceProfile& profile, ir::Precision precision,
                   bool has_grids);
// Returns those that make a difference to the node and that its values may have; one, if there is
// no choice. Kernels may lack for some.
FormList map_forms(const ir::NodeView& node, Processor processor, const DeviceProfile& profile);
// Returns the pairs that a node may have which both processors compute.
std::vector<FormPair> map_form_pairs(const DeviceProfile& profile, ir::Precision precision,
                                     bool has_grids);

// Returns whether bytes may hold some real numbers of the node; constants and values of the
// application do not count.
bool has_grids(const ir::NodeView& node);
// Returns whether they may hold any of the graph's.
bool has_grids(const ir::Graph& graph);

// Returns the precision of the node's real numbers: the one of its values that leaves least choice.
// Constants and values of the application do not count. A node without real numbers has Fp32.
ir::Precision precision_of(const ir::NodeView& node);
// Returns the precision that leaves all choices that any value of the graph has.
ir::Precision precision_of(const ir::Graph& graph);

// Returns the place of a form in map_forms(processor), for arrays that are indexed by form.
inline size_t index_of(Processor processor, Form form) {
  const llvm::ArrayRef<Form> forms = map_forms(processor);
  return static_cast<size_t>(std::find(forms.begin(), forms.end(), form) - forms.begin());
}

// Packs a form for keys.
constexpr uint32_t bits_of(Form form) {
  return static_cast<uint32_t>(form.layout) << 8 | static_cast<uint32_t>(form.dtype);
}

constexpr bool is_image(Form form) { return form.layout == Layout::Image2d; }
inline bool is_map(const ir::TensorType& type) { return type.layout == Layout::Nhwc; }
// Returns true for a value that the network has as floats.
inline bool is_real(const ir::TensorType& type) { return type.dtype == DType::F32; }

// Returns the dtype of a value's real numbers in a form: what lies on no grid is floats beside
// bytes.
inline DType reals_in(const ir::Value& value, Form maps) {
  return maps.dtype == DType::I8 && !value.grid ? DType::F32 : maps.dtype;
}

// Returns the form of a value on a processor that has its maps in `maps`.
inline Form form_with(const ir::Value& value, Form maps) {
  if (!is_real(value.type)) return {value.type.layout, value.type.dtype};
  return {is_map(value.type) ? maps.layout : value.type.layout, reals_in(value, maps)};
}

// Returns that form as one of map_forms(): a value that is no map counts as a buffer.
inline Form listed_form(const ir::Value& value, Form maps) {
  if (!is_real(value.type)) return kBuffers;
  return {is_map(value.type) ? maps.layout : Layout::Nhwc, reals_in(value, maps)};
}

// Returns true for a value in memory of the application, which has it in the network's own type.
inline bool is_applications(const ir::Graph& graph, ir::ValueId value) {
  return graph.value(value).is_input || graph.is_output(value);
}

}  // namespace codl::compiler
