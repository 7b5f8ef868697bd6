#include <algorithm>
#include <numeric>

#include "compiler/ops/op_spec.h"
#include "compiler/passes/rewrite.h"
#include "compiler/shrink/pruning.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

// Every place of every dim of every value has a number; union-find over them.
class Places final : public ChannelLinks {
 public:
  explicit Places(const ir::Graph& graph) : graph_(graph), first_(graph.values().size()) {
    size_t count = 0;
    for (ir::ValueId id = 0; id < graph.values().size(); ++id)
      for (int32_t extent : graph.value(id).type.dims) {
        first_[id].push_back(count);
        count += static_cast<size_t>(extent);
      }
    root_.resize(count);
    std::iota(root_.begin(), root_.end(), 0);
    holder_.resize(count, ir::kNoId);
    link_all();
  }

  const std::vector<DimOfValue>& makers() const { return makers_; }
  size_t root_of(const Place& place) {
    return find(first_[place.dim.value][place.dim.dim] + place.index);
  }
  bool is_held(size_t root) const { return holder_[root] != ir::kNoId; }
  std::string reason_of(size_t root) const {
    const uint32_t holder = holder_[root];
    if (holder == kNetwork) return "an input or output of the network";
    const ir::Node& node = graph_.node(holder);
    return std::string(op_info(node.op).name) + " " + node.name;
  }

 private:
  static constexpr uint32_t kNetwork = ir::kNoId - 1;

  void link_all() {
    for (ir::ValueId id = 0; id < graph_.values().size(); ++id)
      if (graph_.value(id).is_input || graph_.is_output(id)) hold(id, kNetwork);
    for (at_ = 0; at_ < graph_.nodes().size(); ++at_) {
      const ir::NodeView view{graph_, graph_.node(at_)};
      named_.clear();
      const OpSpec& spec = op_spec(view.node.op);
      if (spec.channels != nullptr) spec.channels(view, *this);
      for (uint32_t slot = 0; slot <= view.input_count(); ++slot) {
        const ir::ValueId value =
            slot < view.input_count() ? view.node.inputs[slot] : view.node.output;
        const auto rank = graph_.value(value).type.rank();
        for (int32_t d = 0; d < rank; ++d)
          if (!llvm::is_contained(named_, std::pair(slot, d))) hold(value, d, at_);
      }
    }
    // Moves the first holder of any of the places to their root.
    for (size_t i = 0; i < holder_.size(); ++i)
      if (holder_[i] != ir::kNoId && holder_[find(i)] == ir::kNoId) holder_[find(i)] = holder_[i];
  }

  void tie(Dim a, int32_t index_a, Dim b, int32_t index_b) override {
    name(a);
    name(b);
    const size_t x = find(number(a, index_a));
    const size_t y = find(number(b, index_b));
    root_[std::max(x, y)] = std::min(x, y);
  }
  void makes(Dim weights) override {
    const ir::ValueId value = value_of(weights);
    if (graph_.value(value).is_constant) makers_.push_back({value, weights.dim});
  }

  ir::ValueId value_of(Dim dim) const {
    const ir::Node& node = graph_.node(at_);
    return dim.slot == kResult ? node.output : node.inputs[dim.slot];
  }
  size_t number(Dim dim, int32_t index) const { return first_[value_of(dim)][dim.dim] + index; }
  void name(Dim dim) {
    const auto inputs = static_cast<uint32_t>(graph_.node(at_).inputs.size());
    const std::pair<uint32_t, int32_t> key(std::min(dim.slot, inputs), dim.dim);
    if (named_.empty() || named_.back() != key) named_.push_back(key);
  }
  void hold(ir::ValueId value, uint32_t holder) {
    for (int32_t d = 0; d < graph_.value(value).type.rank(); ++d) hold(value, d, holder);
  }
  void hold(ir::ValueId value, int32_t dim, uint32_t holder) {
    for (int32_t i = 0; i < graph_.value(value).type.dims[dim]; ++i) {
      uint32_t& of_place = holder_[first_[value][dim] + i];
      if (of_place == ir::kNoId) of_place = holder;
    }
  }
  size_t find(size_t place) {
    while (root_[place] != place) place = root_[place] = root_[root_[place]];
    return place;
  }

  const ir::Graph& graph_;
  // Holds, by value and dim, the number of its first place.
  std::vector<llvm::SmallVector<size_t, 4>> first_;
  std::vector<size_t> root_;
  std::vector<uint32_t> holder_;  // indexed by place: the node that keeps it
  std::vector<DimOfValue> makers_;
  ir::NodeId at_ = 0;
  std::vector<std::pair<uint32_t, int32_t>> named_;  // dims that the rule of the node at_ ties
};

// Returns for each value a node that has it among its operands.
std::string name_of_reader(const ir::Graph& graph, ir::ValueId value) {
  for (const ir::Node& node : graph.nodes())
    if (llvm::is_contained(node.inputs, value)) return node.name;
  return graph.value(value).name;
}

std::map<size_t, Channel> channels_by_root(const ir::Graph& graph, Places& places) {
  std::map<size_t, Channel> channels;
  for (const DimOfValue& maker : places.makers())
    for (int32_t i = 0; i < graph.value(maker.value).type.dims[maker.dim]; ++i) {
      const size_t root = places.root_of({maker, i});
      if (!places.is_held(root)) channels.try_emplace(root);
    }
  for (ir::ValueId id = 0; id < graph.values().size(); ++id)
    for (int32_t d = 0; d < graph.value(id).type.rank(); ++d)
      for (int32_t i = 0; i < graph.value(id).type.dims[d]; ++i) {
        const Place place{{id, d}, i};
        const auto found = channels.find(places.root_of(place));
        if (found != channels.end()) found->second.places.push_back(place);
      }
  return channels;
}

std::vector<DimOfValue> dims_of(const Channel& channel) {
  std::vector<DimOfValue> dims;
  for (const Place& place : channel.places)
    if (dims.empty() || dims.back() < place.dim) dims.push_back(place.dim);
  return dims;
}

std::vector<HeldChannels> held_channels(const ir::Graph& graph, Places& places) {
  std::vector<HeldChannels> held;
  for (const DimOfValue& maker : places.makers()) {
    HeldChannels of_maker;
    for (int32_t i = 0; i < graph.value(maker.value).type.dims[maker.dim]; ++i) {
      const size_t root = places.root_of({maker, i});
      if (!places.is_held(root)) continue;
      ++of_maker.count;
      of_maker.reason = places.reason_of(root);
    }
    if (of_maker.count == 0) continue;
    of_maker.name = name_of_reader(graph, maker.value);
    held.push_back(std::move(of_maker));
  }
  return held;
}

}  // namespace

ir::Graph with_own_vectors(ir::Graph graph) {
  NewNames names(graph);
  std::vector<bool> is_read(graph.values().size(), false);
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id)
    for (ir::ValueId& input : graph.node(id).inputs) {
      const ir::Value& value = graph.value(input);
      const auto is_extent = [](int32_t dim) { return dim > 1; };
      if (!value.is_constant || llvm::count_if(value.type.dims, is_extent) > 1) continue;
      if (!is_read[input])
        is_read[input] = true;
      else
        input = graph.add_constant(names.take(value.name), value.type, value.bytes);
    }
  return graph;
}

ChannelGroups find_channel_groups(const ir::Graph& graph) {
  Places places(graph);
  ChannelGroups result;
  result.held = held_channels(graph, places);
  // Roots are the least places: groups and channels come in the graph's order.
  std::map<std::vector<DimOfValue>, size_t> group_of;
  for (auto& [root, channel] : channels_by_root(graph, places)) {
    const std::vector<DimOfValue> dims = dims_of(channel);
    const auto [entry, is_new] = group_of.try_emplace(dims, result.groups.size());
    if (is_new) {
      ChannelGroup group;
      for (const DimOfValue& dim : dims)
        if (llvm::any_of(places.makers(),
                         [&](const DimOfValue& maker) { return !(maker < dim) && !(dim < maker); }))
          group.makers.push_back(dim);
      group.name = name_of_reader(graph, group.makers.front().value);
      result.groups.push_back(std::move(group));
    }
    result.groups[entry->second].channels.push_back(std::move(channel));
  }
  return result;
}

}  // namespace codl::compiler
