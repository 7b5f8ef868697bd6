#include "compiler/emit/plan_fault.h"

namespace codl::compiler {

llvm::Error plan_fault_error(ExitCode kind, llvm::StringRef path, const PlanFault& fault) {
  std::string where = path.str() + ": " + fault.where;
  if (fault.index >= 0) where += " " + std::to_string(fault.index);
  if (fault.variant >= 0) where += " of variant " + std::to_string(fault.variant);
  return make_error(kind, where,
                    llvm::formatv("expected {0}, found {1}", fault.expected, fault.found).str());
}

}  // namespace codl::compiler
