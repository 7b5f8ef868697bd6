#include "compiler/emit/plan_fault.h"

namespace codl::compiler {

llvm::Error plan_fault_error(ExitCode kind, llvm::StringRef path, const PlanFault& fault) {
  std::string where = path.str() + ": " + fault.where;
  // Without an index `where` is the variant or the entry itself.
  const size_t bare = where.size();
  const auto add = [&](const char* owner, int64_t number) {
    if (number >= 0) where += (where.size() == bare ? "" : owner) + (" " + std::to_string(number));
  };
  add("", fault.index);
  add(" of variant", fault.variant);
  add(" of entry", fault.entry);
  return make_error(kind, where,
                    llvm::formatv("expected {0}, found {1}", fault.expected, fault.found).str());
}

}  // namespace codl::compiler
