#include "compiler/partition/forms.h"

namespace codl::compiler {
namespace {

constexpr FormPair kFormPairs[] = {{kBuffers, kImages}, {kBuffers, kBuffers}};

// Leaves out forms with images, which come first, where the GPU does not work on them.
template <typename T>
llvm::ArrayRef<T> of_device(llvm::ArrayRef<T> all, const DeviceProfile& profile) {
  return all.drop_front(profile.gpu_layout == Layout::Image2d ? 0 : 1);
}

}  // namespace

llvm::ArrayRef<Form> map_forms(Processor processor, const DeviceProfile& profile) {
  const llvm::ArrayRef<Form> forms = map_forms(processor);
  return processor == Processor::Cpu ? forms : of_device(forms, profile);
}

llvm::ArrayRef<Form> map_forms(const ir::NodeView& node, Processor processor,
                               const DeviceProfile& profile) {
  bool has_map = is_map(node.output());
  for (uint32_t i = 0; i < node.input_count(); ++i) has_map = has_map || is_map(node.input(i));
  const llvm::ArrayRef<Form> forms = map_forms(processor, profile);
  return has_map ? forms : forms.take_back();
}

llvm::ArrayRef<FormPair> map_form_pairs(const DeviceProfile& profile) {
  return of_device(llvm::makeArrayRef(kFormPairs), profile);
}

}  // namespace codl::compiler
