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
  explicit EqualBlobs(const ir::Graph& graph) : graph_(graph) {}

  // Returns the number of the first blob equal to `blob`, whose own number is `number`.
  uint32_t first_of(const Blob& blob, uint32_t number) {
    const ir::Value& value = graph_.value(blob.value);
    llvm::SmallVector<Entry, 1>& entries = by_hash_[hash_of_bytes(value.bytes)];
    for (const Entry& entry : entries) {
      const ir::Value& other = graph_.value(entry.blob.value);
      if (entry.blob.packing == blob.packing && entry.blob.groups == blob.groups &&
          other.type == value.type && is_equal(other.bytes, value.bytes))
        return entry.number;
    }
    entries.push_back({blob, number});
    return number;
  }

 private:
  struct Entry {
    Blob blob;
    uint32_t number = 0;
  };

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

  const ir::Graph& graph_;
  llvm::DenseMap<std::pair<const uint8_t*, size_t>, uint64_t> hashes_;
  std::unordered_map<uint64_t, llvm::SmallVector<Entry, 1>> by_hash_;
};

}  // namespace

std::optional<uint32_t> PackedWeights::find(const Blob& blob) const {
  const auto known = of_constant.find(blob.value);
  if (known == of_constant.end()) return std::nullopt;
  for (uint32_t index : known->second)
    if (blobs[index].packing == blob.packing && blobs[index].groups == blob.groups) return index;
  return std::nullopt;
}

llvm::Expected<PackedWeights> pack_weights(const ir::Graph& graph,
                                           llvm::ArrayRef<Schedule> variants) {
  PackedWeights weights;
  EqualBlobs equal_blobs(graph);
  for (const Schedule& variant : variants) {
    for (const Blob& blob : variant.blobs) {
      if (weights.find(blob)) continue;
      const ir::Value& value = graph.value(blob.value);
      if (!value.is_constant)
        return internal_error("pack_weights", "expected a constant, found {0}", value.name);
      const uint64_t bytes = bytes_of(value, blob);
      if (bytes != blob.bytes)
        return internal_error("pack_weights", "expected {0} of {1} bytes, found {2}", value.name,
                              bytes, blob.bytes);
      const auto number = static_cast<uint32_t>(weights.blobs.size());
      const uint32_t holder = equal_blobs.first_of(blob, number);
      weights.of_constant[blob.value].push_back(holder);
      if (holder != number) continue;
      weights.blobs.push_back(blob);
      weights.offsets.push_back(weights.data_bytes);
      weights.data_bytes += round_up(bytes, kBlobAlignment);
    }
  }
  return weights;
}

void append_weights(ir::Graph& graph, const PackedWeights& weights, LargeBytes& file) {
  std::vector<uint32_t> blobs_left(graph.values().size(), 0);
  for (const Blob& blob : weights.blobs) ++blobs_left[blob.value];
  const size_t data_offset = file.size();
  for (size_t i = 0; i < weights.blobs.size(); ++i) {
    const Blob& blob = weights.blobs[i];
    ir::Value& value = graph.value(blob.value);
    file.resize(data_offset + weights.offsets[i] + round_up(blob.bytes, kBlobAlignment));
    uint8_t* dst = file.data() + data_offset + weights.offsets[i];
    if (blob.packing.kind == PackingKind::None)
      write_plain(value, blob.packing.dtype, dst);
    else
      kernels::pack(blob.packing, value.type.dims.data(), value.type.rank(), blob.groups,
                    value.as<float>().data(), dst);
    if (--blobs_left[blob.value] == 0) value.bytes = {};
  }
}

}  // namespace codl::compiler
