#include "compiler/partition/forms.h"

namespace codl::compiler {
namespace {

// The GPU computes halves beside either on the CPU, whose Winograd kernels have floats only.
constexpr FormPair kFormPairs[] = {{kHalfBuffers, kHalfImages}, {kHalfBuffers, kHalfBuffers},
                                   {kBuffers, kHalfImages},     {kBuffers, kHalfBuffers},
                                   {kBuffers, kImages},         {kBuffers, kBuffers}};

bool may_have(Form form, const DeviceProfile& profile, ir::Precision precision) {
  if (is_image(form) && profile.gpu_layout != Layout::Image2d) return false;
  return precision == ir::Precision::Auto ||
         (form.dtype == DType::F16) == (precision == ir::Precision::Fp16);
}

}  // namespace

FormList map_forms(Processor processor, const DeviceProfile& profile, ir::Precision precision) {
  FormList forms;
  for (Form form : map_forms(processor))
    if (may_have(form, profile, precision)) forms.push_back(form);
  return forms;
}

FormList map_forms(const ir::NodeView& node, Processor processor, const DeviceProfile& profile) {
  bool has_map = is_map(node.output());
  for (uint32_t i = 0; i < node.input_count(); ++i) has_map = has_map || is_map(node.input(i));
  // Halves wherever kernels take them: floats where none does.
  const ir::Precision precision = precision_of(node);
  FormList forms = map_forms(processor, profile,
                             precision == ir::Precision::Fp16 ? ir::Precision::Auto : precision);
  if (!has_map) llvm::erase_if(forms, is_image);
  return forms;
}

std::vector<FormPair> map_form_pairs(const DeviceProfile& profile, ir::Precision precision) {
  std::vector<FormPair> pairs;
  for (const FormPair& pair : kFormPairs)
    if (may_have(pair[0], profile, precision) && may_have(pair[1], profile, precision))
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

ir::Precision precision_of(const ir::Graph& graph) {
  ir::Precision most = ir::Precision::Fp32;
  for (const ir::Value& value : graph.values()) most = std::max(most, value.precision);
  return most;
}

}  // namespace codl::compiler
