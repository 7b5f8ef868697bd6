// Reads the flags of codlc that say for which input shapes a plan is.
#pragma once

#include <vector>

#include "compiler/pipeline.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Reads "NAME:1x3x224x224" of --input-shape; no dims ("NAME:") stand for a scalar. NAME may hold
// colons. A dim may be "160|320|640": of as many entries.
llvm::Error parse_input_shape(llvm::StringRef text, std::vector<EntryRequest>& entries);

// Reads "width:320" of --dim or, of several entries, "width:160|320|640". NAME may hold colons.
llvm::Error parse_dim(llvm::StringRef text, std::vector<EntryRequest>& entries);

// Returns an Input error for entries of the same name, as nothing tells them apart, or of a longer
// one than a plan may have.
llvm::Error expect_other_shapes(llvm::ArrayRef<EntryRequest> entries);

}  // namespace codl::compiler
