// Uses calibration data on channels: moments, importances, and weights fitted again.
#include <algorithm>
#include <cmath>

#include "compiler/interp/fast_node.h"
#include "compiler/passes/rewrite.h"
#include "compiler/shrink/channel_sums.h"
#include "compiler/shrink/operands.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

constexpr int64_t kPixelsPerSample = 256;
constexpr int32_t kMaxChannels = 2048;
constexpr int64_t kMaxBytes = int64_t{1} << 29;

// Returns one row for each of some pixels, or for each vector: the channels, and 1.
std::vector<float> rows_of(const ir::TensorType& type, const float* x) {
  const int64_t channels = type.dims[1];
  const int64_t pixels = type.rank() == 4 ? int64_t{type.dims[2]} * type.dims[3] : 1;
  const int64_t all = type.dims[0] * pixels;
  const int64_t count = std::min(all, kPixelsPerSample);
  std::vector<float> rows;
  rows.reserve(static_cast<size_t>(count * (channels + 1)));
  for (int64_t r = 0; r < count; ++r) {
    const int64_t row = r * all / count;
    const float* first = x + row / pixels * channels * pixels + row % pixels;
    for (int64_t c = 0; c < channels; ++c) rows.push_back(first[c * pixels]);
    rows.push_back(1);
  }
  return rows;
}

// Returns the sum of the squares of the weights that make the channel.
double weight_norm(const ir::Graph& graph, const std::vector<DimOfValue>& makers,
                   const Channel& channel) {
  double sum = 0;
  for (const Place& place : channel.places) {
    const bool is_maker = llvm::any_of(makers, [&](const DimOfValue& maker) {
      return maker.value == place.dim.value && maker.dim == place.dim.dim;
    });
    if (!is_maker) continue;
    const ir::Value& value = graph.value(place.dim.value);
    int64_t inner = 1;
    for (int32_t d = place.dim.dim + 1; d < value.type.rank(); ++d) inner *= value.type.dims[d];
    const int64_t extent = value.type.dims[place.dim.dim];
    const auto weights = value.as<float>();
    for (int64_t i = place.index * inner; i < static_cast<int64_t>(weights.size());
         i += extent * inner)
      for (int64_t k = i; k < i + inner; ++k) sum += double{weights[k]} * double{weights[k]};
  }
  return sum;
}

// Adds to what the node's weights of the kept channels make of its operand what those of the
// removed ones made of it, as far as it follows from the kept ones.
void repair(ir::Graph& graph, NewNames& names, ir::NodeId id, const llvm::BitVector& kept,
            const Moments& moments) {
  const ir::NodeView view{graph, graph.node(id)};
  const WeightIndex index(view);
  // With several taps, a window at a zero-padded border would get the offset of pixels outside.
  const bool has_offset = index.taps == 1 && graph.value(graph.node(id).inputs[kBias]).is_constant;
  const Matrix products = regularized(moments);
  std::vector<int64_t> kept_ids, removed_ids;
  for (int64_t c = 0; c < index.channels; ++c)
    (kept[static_cast<unsigned>(c)] ? kept_ids : removed_ids).push_back(c);
  if (has_offset) kept_ids.push_back(index.channels);
  const Matrix fit = solved(picked(products, kept_ids, kept_ids),
                            picked(products, kept_ids, removed_ids));  // [kept, removed]

  const auto weights = graph.value(graph.node(id).inputs[kW]).as<float>();
  LargeVector<float> repaired(weights.begin(), weights.end());
  std::vector<float> bias = graph.value(graph.node(id).inputs[kBias]).as<float>().vec();
  Matrix removed(static_cast<int64_t>(removed_ids.size()), index.outputs * index.taps);
  for (int64_t r = 0; r < removed.rows(); ++r)
    for (int64_t o = 0; o < index.outputs; ++o)
      for (int64_t t = 0; t < index.taps; ++t)
        removed(r, o * index.taps + t) = weights[index.at(o, removed_ids[r], t)];
  const Matrix added = product(fit, removed);  // [kept, outputs * taps]
  for (int64_t k = 0; k < added.rows(); ++k)
    for (int64_t o = 0; o < index.outputs; ++o)
      for (int64_t t = 0; t < index.taps; ++t) {
        const double value = added(k, o * index.taps + t);
        if (kept_ids[k] == index.channels)
          bias[o] = static_cast<float>(bias[o] + value);
        else
          repaired[index.at(o, kept_ids[k], t)] += static_cast<float>(value);
      }
  const ir::Value of_weights = graph.value(graph.node(id).inputs[kW]);
  const ir::Value of_bias = graph.value(graph.node(id).inputs[kBias]);
  graph.node(id).inputs[kW] =
      graph.add_constant(names.take(of_weights.name + ".repaired"), of_weights.type,
                         bytes_of(llvm::ArrayRef<float>(repaired.data(), repaired.size())));
  if (has_offset)
    graph.node(id).inputs[kBias] =
        graph.add_constant(names.take(of_bias.name + ".repaired"), of_bias.type,
                           bytes_of(llvm::ArrayRef<float>(bias)));
}

}  // namespace

llvm::Expected<ActivationMoments> ActivationMoments::collect(const ir::Graph& graph,
                                                             CalibrationData& calibration,
                                                             llvm::ArrayRef<size_t> samples) {
  ActivationMoments result;
  int64_t bytes_left = kMaxBytes;
  for (const ir::Node& node : graph.nodes()) {
    const ir::NodeView view{graph, node};
    if (!sums_channels(view) || view.input_value(kX).is_constant) continue;
    const int64_t size = int64_t{view.input(kX).dims[1]} + 1;
    const auto bytes = static_cast<int64_t>(size * size * sizeof(double));
    if (size > kMaxChannels + 1 || bytes > bytes_left || result.find(node.inputs[kX])) continue;
    bytes_left -= bytes;
    result.moments_[node.inputs[kX]].products.resize(static_cast<size_t>(size * size), 0);
  }
  const FastGraph fast(graph);
  for (size_t sample : samples) {
    CODL_ASSIGN_OR_RETURN(inputs, calibration.inputs(sample));
    std::vector<bool> is_added(graph.values().size(), false);
    auto outputs = interpret(
        graph, inputs,
        [&](const ir::NodeView& node, llvm::ArrayRef<llvm::ArrayRef<uint8_t>> operands) {
          const ir::ValueId x = node.node.inputs.empty() ? ir::kNoId : node.node.inputs[kX];
          const auto found = result.moments_.find(x);
          if (found != result.moments_.end() && sums_channels(node) && !is_added[x]) {
            is_added[x] = true;
            const std::vector<float> rows =
                rows_of(node.input(kX), reinterpret_cast<const float*>(operands[kX].data()));
            const int64_t columns = int64_t{node.input(kX).dims[1]} + 1;
            add_column_products(rows, columns, found->second.products);
            found->second.rows += static_cast<int64_t>(rows.size()) / columns;
          }
          return fast.evaluate(node, operands);
        });
    if (!outputs) return outputs.takeError();
  }
  return result;
}

std::vector<std::vector<double>> importances(const ir::Graph& graph, const ChannelGroups& groups,
                                             const ActivationMoments* moments) {
  std::vector<std::vector<double>> result(groups.groups.size());
  if (moments != nullptr) result = elimination_ranks(graph, groups, *moments);
  for (size_t g = 0; g < result.size(); ++g) {
    if (!result[g].empty()) continue;
    for (const Channel& channel : groups.groups[g].channels)
      result[g].push_back(weight_norm(graph, groups.groups[g].makers, channel));
  }
  return result;
}

int32_t kept_channels(int32_t count, double ratio) {
  const int32_t panel = count >= 64 ? 16 : 4;
  const auto wanted = static_cast<int32_t>(std::ceil(count * (1 - ratio) - 1e-9));
  return std::clamp((wanted + panel - 1) / panel * panel, 1, count);
}

llvm::Expected<ir::Graph> pruned_and_repaired(const ir::Graph& graph,
                                              llvm::ArrayRef<const Channel*> channels,
                                              const ActivationMoments* moments) {
  if (moments == nullptr) return without_channels(graph, channels);
  std::map<ir::ValueId, llvm::BitVector> kept;  // dim 1 of values that lose some of it
  for (const Channel* channel : channels)
    for (const Place& place : channel->places) {
      const ir::Value& value = graph.value(place.dim.value);
      if (value.is_constant || place.dim.dim != 1) continue;
      const auto [entry, is_new] = kept.try_emplace(
          place.dim.value, llvm::BitVector(static_cast<unsigned>(value.type.dims[1]), true));
      entry->second.reset(static_cast<unsigned>(place.index));
    }
  ir::Graph repaired = graph;
  NewNames names(repaired);
  std::vector<std::pair<ir::ValueId, ir::ValueId>> copies;  // a constant, and its copy
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    const ir::NodeView view{graph, graph.node(id)};
    if (!sums_channels(view) || !view.input_value(kBias).is_constant) continue;
    const auto found = kept.find(view.node.inputs[kX]);
    const Moments* of_value = moments->find(view.node.inputs[kX]);
    if (found == kept.end() || of_value == nullptr || of_value->rows == 0) continue;
    repair(repaired, names, id, found->second, *of_value);
    for (uint32_t slot : {kW, kBias})
      if (repaired.node(id).inputs[slot] != view.node.inputs[slot])
        copies.emplace_back(repaired.node(id).inputs[slot], view.node.inputs[slot]);
  }
  // The channels' places in a constant are in what it was fitted to, too.
  std::vector<Channel> with_copies;
  for (const Channel* channel : channels) {
    Channel& changed = with_copies.emplace_back(*channel);
    for (const Place& place : channel->places)
      for (const auto& [copy, original] : copies)
        if (place.dim.value == original)
          changed.places.push_back({{copy, place.dim.dim}, place.index});
  }
  std::vector<const Channel*> pointers;
  for (const Channel& channel : with_copies) pointers.push_back(&channel);
  CODL_ASSIGN_OR_RETURN(pruned, without_channels(repaired, pointers));
  pruned.remove_unused_values();
  return pruned;
}

}  // namespace codl::compiler
