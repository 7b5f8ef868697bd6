// Packs the constants that a plan's variants use; equal (value, packing) once.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/schedule/schedule.h"

namespace codl::compiler {

struct PackedWeights {
  std::vector<Blob> blobs;        // union over the variants, in first-use order
  std::vector<uint8_t> data;      // the plan's data section, blobs at multiples of kBlobAlignment
  std::vector<uint64_t> offsets;  // by blob
};

llvm::Expected<PackedWeights> pack_weights(const ir::Graph& graph,
                                           llvm::ArrayRef<Schedule> variants);

}  // namespace codl::compiler
