#include "compiler/device/quirks.h"

#include "compiler/device/profile_parts.h"
#include "compiler/support/error.h"
#include "compiler/support/input_file.h"
#include "compiler/support/json_reader.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/tables.h"

namespace codl::compiler {
namespace {

// A report of some thousand steps.
constexpr uint64_t kMaxBytes = uint64_t{16} << 20;

}  // namespace

llvm::Error avoid_quirks(llvm::StringRef path, DeviceProfile& profile) {
  CODL_ASSIGN_OR_RETURN(text, read_input(path, kMaxBytes));
  CODL_ASSIGN_OR_RETURN(document, JsonDocument::parse(text, path));
  const JsonValue root = document->root();
  root.keys();  // what else the report says is for people
  for (const JsonValue& quirk : root.member("quirks").elements()) {
    quirk.keys();
    const JsonValue kernel = quirk.member("kernel");
    const KernelInfo* info = find_symbol(kernel.as_string());
    if (info != nullptr && info->processor == Processor::Gpu)
      profile.unused_kernels.push_back(info->id);
    else
      kernel.expected("a GPU kernel of schema/kernels.def");
  }
  const auto moves_values = [](uint16_t id) { return find_kernel(id)->op == OpKind::Convert; };
  if (llvm::any_of(profile.unused_kernels, moves_values))
    for (const KernelInfo& info : kKernelInfos)
      if (info.processor == Processor::Gpu) profile.unused_kernels.push_back(info.id);
  return document->finish();
}

}  // namespace codl::compiler
