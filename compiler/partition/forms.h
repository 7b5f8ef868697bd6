// Says in which forms each processor may have the values of a node. Whoever chooses a form, or
// holds something for each, goes by these lists.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>

#include "compiler/device/device_profile.h"
#include "compiler/ir/graph.h"
#include "llvm/ADT/ArrayRef.h"

namespace codl::compiler {

constexpr size_t index_of(Processor processor) { return static_cast<size_t>(processor); }
inline constexpr Processor kProcessors[] = {Processor::Cpu, Processor::Gpu};
constexpr Processor other_of(Processor processor) {
  return processor == Processor::Cpu ? Processor::Gpu : Processor::Cpu;
}

inline constexpr Form kBuffers = {Layout::Nhwc, DType::F32};
inline constexpr Form kImages = {Layout::Image2d, DType::F32};

// List the forms of maps (values of type Nhwc), the preferred one first. Every device has the last.
inline constexpr Form kCpuForms[] = {kBuffers};
inline constexpr Form kGpuForms[] = {kImages, kBuffers};
inline constexpr size_t kFormCounts[] = {std::size(kCpuForms), std::size(kGpuForms)};
inline constexpr size_t kMaxForms = std::max(kFormCounts[0], kFormCounts[1]);
// A value is in at most so many forms beside those of its processors' own tensors.
inline constexpr size_t kOtherForms = kFormCounts[0] - 1 + kFormCounts[1] - 1;

// Holds the form of maps on each processor, by processor.
using FormPair = std::array<Form, 2>;
inline constexpr FormPair kBothBuffers = {kBuffers, kBuffers};

// Returns the forms that maps may have on a processor: of all devices, and of this one.
inline llvm::ArrayRef<Form> map_forms(Processor processor) {
  if (processor == Processor::Cpu) return kCpuForms;
  return kGpuForms;
}
llvm::ArrayRef<Form> map_forms(Processor processor, const DeviceProfile& profile);
// Returns those that make a difference to the node: one if it has no maps.
llvm::ArrayRef<Form> map_forms(const ir::NodeView& node, Processor processor,
                               const DeviceProfile& profile);
// Returns the pairs that a node may have which both processors compute.
llvm::ArrayRef<FormPair> map_form_pairs(const DeviceProfile& profile);

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

// Returns the form of a value on a processor that has its maps in `maps`.
inline Form form_with(const ir::TensorType& type, Form maps) {
  return is_map(type) ? maps : Form{type.layout, type.dtype};
}

}  // namespace codl::compiler
