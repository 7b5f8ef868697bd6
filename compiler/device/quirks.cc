#include "compiler/device/quirks.h"

#include "compiler/device/profile_parts.h"
#include "compiler/support/error.h"
#include "compiler/support/json_reader.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/tables.h"

namespace codl::compiler {

llvm::Error avoid_quirks(llvm::StringRef json, llvm::StringRef path, DeviceProfile& profile) {
  CODL_ASSIGN_OR_RETURN(document, JsonDocument::parse(json, path));
  const JsonValue root = document->root();
  root.keys();  // the report's other members are for people
  for (const JsonValue& quirk : root.member("quirks").elements()) {
    quirk.keys();
    const JsonValue kernel = quirk.member("kernel");
    const KernelInfo* info = find_symbol(kernel.as_string());
    if (info == nullptr || info->processor != Processor::Gpu)
      kernel.expected("a GPU kernel of schema/kernels.def");
    // Adds each kernel once, because every step searches the list.
    else if (!llvm::is_contained(profile.unused_kernels, info->id))
      profile.unused_kernels.push_back(info->id);
  }
  const auto moves_values = [](uint16_t id) { return find_kernel(id)->op == OpKind::Convert; };
  if (llvm::any_of(profile.unused_kernels, moves_values))
    for (const KernelInfo& info : kKernelInfos)
      if (info.processor == Processor::Gpu) profile.unused_kernels.push_back(info.id);
  return document->finish();
}

}  // namespace codl::compiler
