// The constants that a plan's variants use, packed as their kernels read them; equal bytes in the
// same packing once, whichever values have them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/schedule/schedule.h"
#include "compiler/support/large_bytes.h"
#include "llvm/ADT/DenseMap.h"

namespace codl::compiler {

// The plan's data section, not yet written: build_plan packs straight into the file's bytes, so
// that no second copy of the weights is held.
struct PackedWeights {
  std::vector<Blob> blobs;        // distinct ones of all variants, in first-use order
  std::vector<uint64_t> offsets;  // of each blob in the data section; multiples of kBlobAlignment
  uint64_t data_bytes = 0;
  llvm::DenseMap<ir::ValueId, llvm::SmallVector<uint32_t, 1>> of_constant;  // its blobs

  // The number of the blob that holds what `blob` asks for, if there is one.
  std::optional<uint32_t> find(const Blob& blob) const;
};

// Lays the blobs out. Internal error: a blob whose size is not that of its packing.
llvm::Expected<PackedWeights> pack_weights(const ir::Graph& graph,
                                           llvm::ArrayRef<Schedule> variants);

// Packs every blob behind the `file` bytes that are there; they must be a multiple of
// kBlobAlignment, and room for data_bytes more must be reserved. A constant's bytes are let go when
// its last blob is written, and the file grows blob by blob: of a network's weights little more
// than one copy is held.
void append_weights(ir::Graph& graph, const PackedWeights& weights, LargeBytes& file);

}  // namespace codl::compiler
