#include "compiler/partition/forms.h"

namespace codl::compiler {
namespace {

// The GPU computes halves beside either on the CPU, whose Winograd kernels have floats only. It
// reads images of bytes at no cost, and converts those of buffers.
constexpr FormPair kFormPairs[] = {
    {kByteBuffers, kByteImages}, {kByteBuffers, kHalfImages},  {kByteBuffers, kHalfBuffers},
    {kByteBuffers, kImages},     {kByteBuffers, kBuffers},     {kByteBuffers, kByteBuffers},
    {kHalfBuffers, kHalfImages}, {kHalfBuffers, kHalfBuffers}, {kBuffers, kHalfImages},
    {kBuffers, kHalfBuffers},    {kBuffers, kImages},          {kBuffers, kBuffers}};

bool may_have(Form form, const DeviceProfile& profile, ir::Precision precision, bool has_grids) {
  if (is_image(form) && profile.gpu_layout != Layout::Image2d) return false;
  if (form.dtype == DType::I8) return has_grids;
  return precision == ir::Precision::Auto ||
         (form.dtype == DType::F16) == (precision == ir::Precision::Fp16);
}

}  // namespace

FormList map_forms(Processor processor, const DeviceProfile& profile, ir::Precision precision,
                   bool has_grids) {
  FormList forms;
  for (Form form : map_forms(processor))
    if (may_have(form, profile, precision, has_grids)) forms.push_back(form);
  return forms;
}

FormList map_forms(const ir::NodeView& node, Processor processor, const DeviceProfile& profile) {
  bool has_map = is_map(node.output());
  for (uint32_t i = 0; i < node.input_count(); ++i) has_map = has_map || is_map(node.input(i));
  // Halves wherever kernels take them: floats where none does.
  const ir::Precision precision = precision_of(node);
  FormList forms = map_forms(processor, profile,
                             precision == ir::Precision::Fp16 ? ir::Precision::Auto : precision,
                             has_grids(node));
  if (!has_map) llvm::erase_if(forms, is_image);
  return forms;
}

std::vector<FormPair> map_form_pairs(const DeviceProfile& profile, ir::Precision precision,
                                     bool has_grids) {
  std::vector<FormPair> pairs;
  for (const FormPair& pair : kFormPairs)
    if (may_have(pair[0], profile, precision, has_grids) &&
        may_have(pair[1], profile, precision, has_grids))
      pairs.push_back(pair);
  return pairs;
}

ir::Precision precision_of(const ir::NodeView& node) {
  bool is_found = false;
  ir::Precision least = ir::Precision::Auto;
  const auto add = [&](ir::ValueId id) {
    const ir::Value& value = node.graph.value(id);
    if (value.is_constant || !is_real(value.type) || is_applications(node.graph, id)) return;
    is_found = true;
    least = std::min(least, value.precision);
  };
  for (ir::ValueId input : node.node.inputs) add(input);
  add(node.node.output);
  return is_found ? least : ir::Precision::Fp32;
}

bool has_grids(const ir::NodeView& node) {
  const auto may_be_bytes = [&](ir::ValueId id) {
    const ir::Value& value = node.graph.value(id);
    return !value.is_constant && value.grid && !is_applications(node.graph, id);
  };
  return llvm::any_of(node.node.inputs, may_be_bytes) || may_be_bytes(node.node.output);
}

bool has_grids(const ir::Graph& graph) {
  return llvm::any_of(graph.values(),
                      [](const ir::Value& value) { return static_cast<bool>(value.grid); });
}

ir::Precision precision_of(const ir::Graph& graph) {
  ir::Precision most = ir::Precision::Fp32;
  for (const ir::Value& value : graph.values()) most = std::max(most, value.precision);
  return most;
}

}  // namespace codl::compiler
