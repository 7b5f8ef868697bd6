// Packs the constants that a plan's variants use as their kernels read them. Equal bytes in the
// same packing are stored once, whichever values have them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/schedule/schedule.h"
#include "compiler/support/large_bytes.h"
#include "llvm/ADT/DenseMap.h"

namespace codl::compiler {

// Holds the plan's data section before it is written. build_plan packs straight into the file's
// bytes, so that the weights are not held twice.
struct PackedWeights {
  std::vector<Blob> blobs;        // distinct blobs of all variants, in first-use order
  std::vector<uint64_t> offsets;  // blobs in the data section; multiples of kBlobAlignment
  uint64_t data_bytes = 0;
  // Lists the blobs made of a constant.
  llvm::DenseMap<ir::ValueId, llvm::SmallVector<uint32_t, 1>> of_constant;

  // Returns the number of the blob that holds what `blob` asks for, if there is one.
  std::optional<uint32_t> find(const Blob& blob) const;
};

// Lays the blobs out. Returns an Internal error if a blob's size is not that of its packing.
llvm::Expected<PackedWeights> pack_weights(const ir::Graph& graph,
                                           llvm::ArrayRef<Schedule> variants);

// Packs every blob after the present bytes of `file`, whose number must be a multiple of
// kBlobAlignment. Room for data_bytes more must be reserved. A constant's bytes are freed after its
// last blob is written, and the file grows blob by blob, so little more than one copy of the
// weights is held.
void append_weights(ir::Graph& graph, const PackedWeights& weights, LargeBytes& file);

}  // namespace codl::compiler
