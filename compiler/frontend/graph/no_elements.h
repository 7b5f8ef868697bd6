// Nodes over values without elements, for rules that have no answer of their own for them.
#pragma once

#include "compiler/frontend/graph/importer.h"

namespace codl::compiler {

// Imports the node, one of whose operands has no elements; its rule ended with `rule_error`, which
// is returned where it stays the last word.
//
// With 1, 2 and 3 in place of each dim of 0 the rule tells what the outputs' dims are. Where they
// grow in equal steps from 0 on, there are no elements in the outputs either. Where they stay, and
// the operator adds up products, one more product of zeros changes nothing.
llvm::Error import_without_elements(const ImportEntry& entry, const OnnxNode& node,
                                    Importer& importer, llvm::Error rule_error);

}  // namespace codl::compiler
