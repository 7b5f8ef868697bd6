#include "compiler/emit/pack_weights.h"

#include <cassert>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "compiler/support/error.h"
#include "compiler/support/hash.h"
#include "kernels/pack.h"
#include "schema/half.h"
#include "schema/plan_layout.h"
#include "schema/types.h"

namespace codl::compiler {

namespace {

uint64_t bytes_of(const ir::Value& value, const Blob& blob) {
  if (blob.packing.kind == PackingKind::None)
    return static_cast<uint64_t>(value.type.element_count()) * dtype_bytes(blob.packing.dtype);
  return kernels::packed_bytes(blob.packing, value.type.dims.data(), value.type.rank(),
                               blob.groups);
}

// Writes a constant in ONNX's order, as elements of its type or, of floats, as halves.
void write_plain(const ir::Value& value, DType dtype, uint8_t* dst) {
  if (dtype == value.type.dtype) {
    std::memcpy(dst, value.bytes.data(), value.bytes.size());
    return;
  }
  assert(dtype == DType::F16 && value.type.dtype == DType::F32);
  auto* halves = reinterpret_cast<Half*>(dst);
  for (float element : value.as<float>()) *halves++ = Half(element);
}

// Finds equal blobs: those of values with the same bytes and dims, in one packing.
class EqualBlobs {
 public:
  explicit EqualBlobs(llvm::ArrayRef<EntryToEmit> entries) : entries_(entries) {}

  // Returns the number of the first blob equal to `asked`, whose own number is `number`.
  uint32_t first_of(const EntryBlob& asked, uint32_t number) {
    const ir::Value& value = value_of(asked);
    llvm::SmallVector<Known, 1>& known = by_hash_[hash_of_bytes(value.bytes)];
    for (const Known& one : known) {
      const ir::Value& other = value_of(one.blob);
      if (one.blob.blob.packing == asked.blob.packing &&
          one.blob.blob.groups == asked.blob.groups && other.type == value.type &&
          is_equal(other.bytes, value.bytes))
        return one.number;
    }
    known.push_back({asked, number});
    return number;
  }

 private:
  struct Known {
    EntryBlob blob;
    uint32_t number = 0;
  };

  const ir::Value& value_of(const EntryBlob& blob) const {
    return entries_[blob.entry].graph->value(blob.blob.value);
  }

  static bool is_equal(const SharedBytes& x, const SharedBytes& y) {
    return (x.data() == y.data() && x.size() == y.size()) || x == y;
  }

  // Hashes the bytes once for all values that share them.
  uint64_t hash_of_bytes(const SharedBytes& bytes) {
    const auto [known, is_new] = hashes_.try_emplace({bytes.data(), bytes.size()}, 0);
    if (is_new)
      known->second = hash_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return known->second;
  }

  llvm::ArrayRef<EntryToEmit> entries_;
  llvm::DenseMap<std::pair<const uint8_t*, size_t>, uint64_t> hashes_;
  std::unordered_map<uint64_t, llvm::SmallVector<Known, 1>> by_hash_;
};

}  // namespace

std::optional<uint32_t> PackedWeights::find(size_t entry, const Blob& blob) const {
  const auto known = of_constant[entry].find(blob.value);
  if (known == of_constant[entry].end()) return std::nullopt;
  for (uint32_t index : known->second)
    if (blobs[index].blob.packing == blob.packing && blobs[index].blob.groups == blob.groups)
      return index;
  return std::nullopt;
}

llvm::Expected<PackedWeights> pack_weights(llvm::ArrayRef<EntryToEmit> entries) {
  PackedWeights weights;
  weights.of_constant.resize(entries.size());
  EqualBlobs equal_blobs(entries);
  for (size_t entry = 0; entry < entries.size(); ++entry) {
    for (const Schedule& variant : entries[entry].schedules) {
      for (const Blob& blob : variant.blobs) {
        if (weights.find(entry, blob)) continue;
        const ir::Value& value = entries[entry].graph->value(blob.value);
        if (!value.is_constant)
          return internal_error("pack_weights", "expected a constant, found {0}", value.name);
        const uint64_t bytes = bytes_of(value, blob);
        if (bytes != blob.bytes)
          return internal_error("pack_weights", "expected {0} of {1} bytes, found {2}", value.name,
                                bytes, blob.bytes);
        const auto number = static_cast<uint32_t>(weights.blobs.size());
        const uint32_t holder = equal_blobs.first_of({entry, blob}, number);
        weights.of_constant[entry][blob.value].push_back(holder);
        if (holder != number) continue;
        weights.blobs.push_back({entry, blob});
        weights.offsets.push_back(weights.data_bytes);
        weights.data_bytes += round_up(bytes, kBlobAlignment);
      }
    }
  }
  return weights;
}

void append_weights(llvm::ArrayRef<EntryToEmit> entries, const PackedWeights& weights,
                    LargeBytes& file) {
  std::vector<std::vector<uint32_t>> blobs_left;  // indexed by entry, then value
  for (const EntryToEmit& entry : entries) blobs_left.emplace_back(entry.graph->values().size(), 0);
  for (const EntryBlob& blob : weights.blobs) ++blobs_left[blob.entry][blob.blob.value];
  for (size_t entry = 0; entry < entries.size(); ++entry)
    for (ir::ValueId id = 0; id < blobs_left[entry].size(); ++id)
      if (blobs_left[entry][id] == 0) entries[entry].graph->value(id).bytes = {};
  const size_t data_offset = file.size();
  for (size_t i = 0; i < weights.blobs.size(); ++i) {
    const auto& [entry, blob] = weights.blobs[i];
    ir::Value& value = entries[entry].graph->value(blob.value);
    file.resize(data_offset + weights.offsets[i] + round_up(blob.bytes, kBlobAlignment));
    uint8_t* dst = file.data() + data_offset + weights.offsets[i];
    if (blob.packing.kind == PackingKind::None)
      write_plain(value, blob.packing.dtype, dst);
    else
      kernels::pack(blob.packing, value.type.dims.data(), value.type.rank(), blob.groups,
                    value.as<float>().data(), dst);
    if (--blobs_left[entry][blob.value] == 0) value.bytes = {};
  }
}

}  // namespace codl::compiler
