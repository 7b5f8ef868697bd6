#include "compiler/emit/pack_weights.h"

#include <cstring>

#include "compiler/support/error.h"
#include "kernels/pack.h"
#include "schema/plan_layout.h"
#include "schema/types.h"

namespace codl::compiler {

namespace {

uint64_t bytes_of(const ir::Value& value, const Blob& blob) {
  if (blob.packing == Packing::None) return value.bytes.size();
  return kernels::packed_bytes(blob.packing, value.type.dims.data(), value.type.rank(),
                               blob.groups);
}

}  // namespace

std::optional<uint32_t> PackedWeights::find(const Blob& blob) const {
  const auto known = of_constant.find(blob.value);
  if (known == of_constant.end()) return std::nullopt;
  for (uint32_t index : known->second)
    if (blobs[index] == blob) return index;
  return std::nullopt;
}

llvm::Expected<PackedWeights> pack_weights(const ir::Graph& graph,
                                           llvm::ArrayRef<Schedule> variants) {
  PackedWeights weights;
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
      weights.of_constant[blob.value].push_back(static_cast<uint32_t>(weights.blobs.size()));
      weights.blobs.push_back(blob);
      weights.offsets.push_back(weights.data_bytes);
      weights.data_bytes += round_up(bytes, kBlobAlignment);
    }
  }
  return weights;
}

void write_weights(const ir::Graph& graph, const PackedWeights& weights, uint8_t* data) {
  for (size_t i = 0; i < weights.blobs.size(); ++i) {
    const Blob& blob = weights.blobs[i];
    const ir::Value& value = graph.value(blob.value);
    uint8_t* dst = data + weights.offsets[i];
    if (blob.packing == Packing::None)
      std::memcpy(dst, value.bytes.data(), value.bytes.size());
    else
      kernels::pack(blob.packing, value.type.dims.data(), value.type.rank(), blob.groups,
                    value.as<float>().data(), reinterpret_cast<float*>(dst));
  }
}

}  // namespace codl::compiler
