#include <algorithm>

#include "compiler/ops/op_spec.h"
#include "compiler/shrink/pruning.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Holds the places that stay, by dim of a value.
using Kept = llvm::SmallVector<llvm::BitVector, 4>;

ir::Dims kept_dims(const Kept& kept) {
  ir::Dims dims;
  for (const llvm::BitVector& dim : kept) dims.push_back(static_cast<int32_t>(dim.count()));
  return dims;
}

// Returns the elements all of whose places stay.
LargeBytes kept_elements(const ir::Value& value, const Kept& kept) {
  const size_t size = dtype_bytes(value.type.dtype);
  const auto rank = static_cast<size_t>(value.type.rank());
  LargeBytes bytes;
  std::vector<int32_t> index(rank, 0);
  for (size_t at = 0; at < value.bytes.size(); at += size) {
    bool stays = true;
    for (size_t d = 0; d < rank && stays; ++d) stays = kept[d][index[d]];
    if (stays) bytes.insert(bytes.end(), value.bytes.begin() + at, value.bytes.begin() + at + size);
    for (size_t d = rank; d-- > 0 && ++index[d] == value.type.dims[d];) index[d] = 0;
  }
  return bytes;
}

}  // namespace

llvm::Expected<ir::Graph> without_channels(const ir::Graph& graph,
                                           llvm::ArrayRef<const Channel*> channels) {
  std::vector<Kept> kept(graph.values().size());
  for (ir::ValueId id = 0; id < graph.values().size(); ++id)
    for (int32_t extent : graph.value(id).type.dims)
      kept[id].push_back(llvm::BitVector(static_cast<unsigned>(extent), true));
  for (const Channel* channel : channels)
    for (const Place& place : channel->places)
      kept[place.dim.value][place.dim.dim].reset(static_cast<unsigned>(place.index));

  ir::Graph result = graph;
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    const ir::Node& node = graph.node(id);
    const OpSpec& spec = op_spec(node.op);
    if (spec.params_of_kept == nullptr) continue;
    result.node(id).params = spec.params_of_kept(
        ir::NodeView{graph, node}, [&](ChannelLinks::Dim dim) -> const llvm::BitVector& {
          const ir::ValueId value =
              dim.slot == ChannelLinks::kResult ? node.output : node.inputs[dim.slot];
          return kept[value][dim.dim];
        });
  }
  for (ir::ValueId id = 0; id < graph.values().size(); ++id) {
    ir::Dims dims = kept_dims(kept[id]);
    if (dims == graph.value(id).type.dims) continue;
    if (llvm::is_contained(dims, 0))
      return internal_error(graph.value(id).name, "expected a channel to be left, found none");
    if (graph.value(id).is_constant)
      result.value(id).bytes = kept_elements(graph.value(id), kept[id]);
    result.value(id).type.dims = std::move(dims);
  }
  if (llvm::Error error = ir::verify(result, "pruning")) return error;
  return result;
}

}  // namespace codl::compiler
