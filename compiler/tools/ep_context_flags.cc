#include "compiler/tools/ep_context_flags.h"

#include "compiler/support/error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace codl::compiler {

llvm::Expected<std::optional<std::string>> ep_context_plan_of(const CodlcFlags& flags,
                                                              bool builds_plan) {
  constexpr char kFlag[] = "--ep-context";
  if (flags.ep_context.empty()) {
    if (flags.embeds_plan)
      return input_error("--ep-context-embed", "expected --ep-context beside it, found none");
    return std::nullopt;
  }
  if (!builds_plan) return input_error(kFlag, "expected a plan to be written (-o), found none");
  const std::vector<std::string> devices = devices_of(flags);
  if (devices.size() > 1)
    return input_error(kFlag, "expected it with one device, found {0}", devices.size());
  if (!flags.states.empty())
    return input_error(kFlag, "expected it without --state, which it cannot express, found both");
  if (flags.embeds_plan) return "";
  const std::string plan = output_path(flags, devices[0]);
  llvm::SmallString<256> path(plan), model(flags.ep_context);
  for (llvm::SmallString<256>* each : {&path, &model}) {
    if (const std::error_code error = llvm::sys::fs::make_absolute(*each))
      return input_error(kFlag, "expected the current folder, found {0}", error.message());
    llvm::sys::path::remove_dots(*each, true);
  }
  llvm::StringRef relative = path;
  const std::string folder = (llvm::sys::path::parent_path(model) + "/").str();
  if (plan == "-" ||
      !relative.consume_front(llvm::StringRef(folder).ltrim('/').empty() ? "/" : folder))
    return input_error(kFlag,
                       "expected the plan in the folder of the model or below it (or "
                       "--ep-context-embed), found {0}",
                       plan);
  return relative.str();
}

}  // namespace codl::compiler
