// Imports nodes over values without elements, for rules that cannot do so themselves.
#pragma once

#include "compiler/frontend/graph/importer.h"

namespace codl::compiler {

// Imports a node one of whose operands has no elements. Its rule ended with `rule_error`, which is
// returned if nothing helps.
//
// The rule is run with 1, 2 and 3 in place of each dim of 0, to find out the outputs' dims. If they
// grow from 0 in equal steps, the outputs have no elements either. If they stay, and the operator
// adds up products, it is computed with one more product of zeros, which changes nothing.
llvm::Error import_without_elements(const ImportEntry& entry, const OnnxNode& node,
                                    Importer& importer, llvm::Error rule_error);

}  // namespace codl::compiler
