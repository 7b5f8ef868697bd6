// Packs the constants that a plan's variants use as their kernels read them. Equal bytes in the
// same packing are stored once, whichever values of whichever entries have them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/schedule/schedule.h"
#include "compiler/support/large_bytes.h"
#include "llvm/ADT/DenseMap.h"

namespace codl::compiler {

// The network at one set of input shapes, with the schedules of its variants. Borrowed.
struct EntryToEmit {
  std::string name;  // PlanEntry's
  ir::Graph* graph = nullptr;
  llvm::ArrayRef<Schedule> schedules;
};

// Says of which entry's graph a blob's value is.
struct EntryBlob {
  size_t entry = 0;
  Blob blob;
};

// Holds the plan's data section before it is written. build_plan packs straight into the file's
// bytes, so that the weights are not held twice.
struct PackedWeights {
  std::vector<EntryBlob> blobs;   // distinct blobs of all variants, in first-use order
  std::vector<uint64_t> offsets;  // blobs in the data section; multiples of kBlobAlignment
  uint64_t data_bytes = 0;
  // Lists, by entry, the blobs made of a constant.
  std::vector<llvm::DenseMap<ir::ValueId, llvm::SmallVector<uint32_t, 1>>> of_constant;

  // Returns the number of the blob that holds what `blob` of the entry asks for, if there is one.
  std::optional<uint32_t> find(size_t entry, const Blob& blob) const;
};

// Lays the blobs out. Returns an Internal error if a blob's size is not that of its packing.
llvm::Expected<PackedWeights> pack_weights(llvm::ArrayRef<EntryToEmit> entries);

// Packs every blob after the present bytes of `file`, whose number must be a multiple of
// kBlobAlignment. Room for data_bytes more must be reserved. A constant's bytes are freed after its
// last blob is written, those of which there is none at once, and the file grows blob by blob, so
// little more than one copy of the weights is held.
void append_weights(llvm::ArrayRef<EntryToEmit> entries, const PackedWeights& weights,
                    LargeBytes& file);

}  // namespace codl::compiler
