// The constants that a plan's variants use, packed as their kernels read them; equal (value,
// packing) once.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/schedule/schedule.h"

namespace codl::compiler {

// The plan's data section, not yet written: build_plan packs straight into the file's bytes, so
// that no second copy of the weights is held.
struct PackedWeights {
  std::vector<Blob> blobs;        // union over the variants, in first-use order
  std::vector<uint64_t> offsets;  // by blob, in the data section; multiples of kBlobAlignment
  uint64_t data_bytes = 0;
};

// Lays the blobs out. Internal error: a blob whose size is not that of its packing.
llvm::Expected<PackedWeights> pack_weights(const ir::Graph& graph,
                                           llvm::ArrayRef<Schedule> variants);

// Packs every blob into `data`: data_bytes bytes, all zero, aligned for float.
void write_weights(const ir::Graph& graph, const PackedWeights& weights, uint8_t* data);

}  // namespace codl::compiler
