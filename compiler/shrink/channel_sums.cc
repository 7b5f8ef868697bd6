#include "compiler/shrink/channel_sums.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "compiler/shrink/operands.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

// The ridge is relative to the mean of the squares.
constexpr double kRidgeOfSums = 1e-4;
// In larger groups several channels go at a time, because each step passes over all sums of
// products.
constexpr size_t kMaxSteps = 256;

// Adds the sums of products over the outputs and taps of the node's weights, by pair of channels.
void add_weight_products(const ir::NodeView& node, Matrix& sums) {
  const WeightIndex index(node);
  const auto weights = node.input_value(kW).as<float>();
  std::vector<float> by_channel;  // one column each
  by_channel.reserve(weights.size());
  for (int64_t o = 0; o < index.outputs; ++o)
    for (int64_t t = 0; t < index.taps; ++t)
      for (int64_t c = 0; c < index.channels; ++c) by_channel.push_back(weights[index.at(o, c, t)]);
  add_column_products(by_channel, index.channels, sums.elements());
}

// Holds the channels of a group in one value that is read: those that remain, and the weights that
// read them. The removed channels belong to the group, so nothing outside it has to be kept.
class ReadChannels {
 public:
  // `inverse` is that of the value's sums of products; `weights` are the sums of all weights that
  // read it.
  ReadChannels(const Matrix& inverse, const Matrix& weights, const std::vector<int64_t>& channels,
               int64_t rows)
      : inverse_(picked(inverse, channels, channels)),
        weights_(picked(weights, channels, channels)),
        rows_(static_cast<double>(rows)) {}

  // Mean square of the error of the sums without these, after the others took over.
  double error_without(const std::vector<int64_t>& channels) const {
    if (channels.size() == 1)
      return weights_(channels[0], channels[0]) / inverse_(channels[0], channels[0]) / rows_;
    const Matrix quotient =
        solved(picked(inverse_, channels, channels), picked(weights_, channels, channels));
    double trace = 0;
    for (int64_t i = 0; i < quotient.rows(); ++i) trace += quotient(i, i);
    return trace / rows_;
  }

  // The rest takes over: the inverse is that of the sums of products without the channels then.
  void remove(const std::vector<int64_t>& channels) {
    const Matrix rows = picked_rows(inverse_, channels);
    const Matrix taken = solved(picked(inverse_, channels, channels), rows);
    const auto count = static_cast<int64_t>(channels.size());
    add_transposed_product(-1, rows, taken, count, inverse_);
    const Matrix weight_rows = picked_rows(weights_, channels);
    const Matrix squared = product(picked(weights_, channels, channels), taken);
    add_transposed_product(-1, taken, weight_rows, count, weights_);
    add_transposed_product(-1, weight_rows, taken, count, weights_);
    add_transposed_product(1, taken, squared, count, weights_);
  }

 private:
  Matrix inverse_, weights_;
  double rows_;  // that the sums are over
};

// Holds the channels of a group in a value that sums read.
struct Reading {
  ir::ValueId value;
  std::vector<int64_t> channels;  // channels of the value
  // Holds, by channel of the group, its places in `channels`.
  std::vector<std::vector<int64_t>> places;

  // Returns the bytes of its ReadChannels.
  int64_t bytes() const {
    const auto count = static_cast<int64_t>(channels.size());
    return 2 * count * count * static_cast<int64_t>(sizeof(double));
  }
};

Reading reading_of(const ChannelGroup& group, ir::ValueId value) {
  Reading reading{value, {}, {}};
  for (const Channel& channel : group.channels) {
    std::vector<int64_t>& of_channel = reading.places.emplace_back();
    for (const Place& place : channel.places) {
      if (place.dim.dim != 1 || place.dim.value != value) continue;
      of_channel.push_back(static_cast<int64_t>(reading.channels.size()));
      reading.channels.push_back(place.index);
    }
  }
  return reading;
}

// Holds a group, and what is left of its channels where they are read.
struct GroupSums {
  std::vector<Reading> readings;
  std::vector<ReadChannels> values;  // indexed by reading, once it is made

  int64_t bytes() const {
    int64_t bytes = 0;
    for (const Reading& reading : readings) bytes += reading.bytes();
    return bytes;
  }
};

using SumsByValue = std::map<ir::ValueId, std::vector<ir::NodeId>>;

// Returns for each group as many readings as `max_bytes` hold.
std::vector<GroupSums> readings_of(const ChannelGroups& groups, const SumsByValue& readers,
                                   int64_t max_bytes) {
  std::vector<GroupSums> result;
  for (const ChannelGroup& group : groups.groups) {
    GroupSums& sums = result.emplace_back();
    for (const auto& [value, nodes] : readers) {
      Reading reading = reading_of(group, value);
      if (!reading.channels.empty() && reading.bytes() <= max_bytes - sums.bytes())
        sums.readings.push_back(std::move(reading));
    }
  }
  return result;
}

// Makes what the groups' readings need.
void make_values(const ir::Graph& graph, const SumsByValue& readers,
                 const ActivationMoments& moments, llvm::MutableArrayRef<GroupSums> groups) {
  for (const auto& [value, nodes] : readers) {
    const auto reads_it = [value = value](const GroupSums& sums) {
      return sums.values.size() < sums.readings.size() &&
             sums.readings[sums.values.size()].value == value;
    };
    if (llvm::none_of(groups, reads_it)) continue;
    const Moments& of_value = *moments.find(value);
    const Matrix inverse = inverted(regularized(of_value));
    Matrix weights(inverse.rows() - 1, inverse.rows() - 1);
    for (ir::NodeId id : nodes) add_weight_products({graph, graph.node(id)}, weights);
    for (GroupSums& sums : groups)
      if (reads_it(sums))
        sums.values.emplace_back(inverse, weights, sums.readings[sums.values.size()].channels,
                                 of_value.rows);
  }
}

std::vector<double> ranks_of(GroupSums sums) {
  if (sums.values.empty()) return {};
  const size_t count = sums.readings.front().places.size();
  const size_t at_once = (count + kMaxSteps - 1) / kMaxSteps;
  std::vector<size_t> left(count);
  std::iota(left.begin(), left.end(), size_t{0});
  std::vector<double> ranks(count, 0), errors(count, 0);
  while (!left.empty()) {
    for (size_t c : left) {
      errors[c] = 0;
      for (size_t v = 0; v < sums.values.size(); ++v) {
        const std::vector<int64_t>& places = sums.readings[v].places[c];
        if (!places.empty()) errors[c] += sums.values[v].error_without(places);
      }
    }
    std::stable_sort(left.begin(), left.end(),
                     [&](size_t a, size_t b) { return errors[a] < errors[b]; });
    const size_t going = std::min(at_once, left.size());
    for (size_t v = 0; v < sums.values.size(); ++v) {
      std::vector<int64_t> gone;
      for (size_t i = 0; i < going; ++i) llvm::append_range(gone, sums.readings[v].places[left[i]]);
      if (!gone.empty()) sums.values[v].remove(gone);
    }
    for (size_t i = 0; i < going; ++i)
      ranks[left[i]] = static_cast<double>(count - left.size() + i);
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(going));
    std::sort(left.begin(), left.end());
  }
  return ranks;
}

}  // namespace

bool sums_channels(const ir::NodeView& node) {
  if (node.node.op == OpKind::MatMul) return node.input_value(kW).is_constant;
  return node.node.op == OpKind::Conv2d && node.params<Conv2dParams>().groups == 1 &&
         node.input_value(kW).is_constant;
}

WeightIndex::WeightIndex(const ir::NodeView& node) {
  const ir::Dims& dims = node.input(kW).dims;
  if (node.node.op == OpKind::MatMul) {
    channels = dims[0];
    outputs = dims[1];
    channel_step = outputs;
    output_step = 1;
  } else {
    outputs = dims[0];
    channels = dims[1];
    taps = int64_t{dims[2]} * dims[3];
    channel_step = taps;
    output_step = channels * taps;
  }
}

Matrix regularized(const Moments& moments) {
  const auto size = static_cast<int64_t>(std::sqrt(moments.products.size()) + 0.5);
  Matrix products(size, size);
  llvm::copy(moments.products, products.data());
  add_ridge(kRidgeOfSums, products);
  return products;
}

std::vector<std::vector<double>> elimination_ranks(const ir::Graph& graph,
                                                   const ChannelGroups& groups,
                                                   const ActivationMoments& moments,
                                                   int64_t max_bytes) {
  SumsByValue readers;
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    const ir::Node& node = graph.node(id);
    if (!sums_channels({graph, node})) continue;
    const Moments* of_value = moments.find(node.inputs[kX]);
    if (of_value != nullptr && of_value->rows != 0) readers[node.inputs[kX]].push_back(id);
  }
  std::vector<GroupSums> sums = readings_of(groups, readers, max_bytes);
  std::vector<std::vector<double>> result;
  // Groups share the inverse of a value: as many at a time as there is memory for.
  for (size_t begin = 0, end = 0; begin < sums.size(); begin = end) {
    for (int64_t bytes = 0; end < sums.size(); ++end) {
      bytes += sums[end].bytes();
      if (bytes > max_bytes && end > begin) break;
    }
    const auto together = llvm::MutableArrayRef(sums).slice(begin, end - begin);
    make_values(graph, readers, moments, together);
    for (GroupSums& of_group : together) result.push_back(ranks_of(std::move(of_group)));
  }
  return result;
}

}  // namespace codl::compiler
