#include "compiler/partition/bound/ordered_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <unordered_map>
#include <vector>

#include "compiler/partition/bound/even_weights.h"
#include "compiler/partition/bound/node_facts.h"
#include "compiler/partition/split_geometry.h"

namespace codl::compiler {
namespace {

// Rows of a part are rounded to its extent over this, so that few parts have to be priced. What is
// rounded away makes the bound lower.
constexpr int32_t kRowSteps = 96;
// Cuts of output channels that are tried for a node.
constexpr int32_t kMaxChannelCuts = 24;

// Of a plan's weight at a segment what depends on how its own parts differ, where rows are not
// handed over: a weight that changes costs nothing there. The rest is the same for all its cuts:
// 0.5 makes it 1 where all is on the CPU.
constexpr double kTilt = 0.5;
// How far nodes have a say in the weight of another, and by how much less with each between.
constexpr int64_t kReach = 4;
constexpr double kNearness = 0.25;

struct OperandReader {
  ir::NodeId node;
  uint32_t operand;
};

class OrderedBound {
 public:
  OrderedBound(const CostModel& costs, int32_t max_chain, bool hands_over, int32_t max_row_cuts)
      : costs_(costs),
        graph_(costs.graph()),
        node_count_(static_cast<ir::NodeId>(graph_.nodes().size())),
        max_chain_(static_cast<ir::NodeId>(std::max(max_chain, 1))),
        hands_over_(hands_over),
        max_row_cuts_(max_row_cuts),
        facts_(node_count_),
        readers_(node_count_),
        parts_us_(node_count_) {
    const DeviceProfile& profile = costs.profile();
    double interference[2];
    for (size_t i = 0; i < 2; ++i) {
      interference[i] = profile.interference_percent[i].value / 100;
      slow_down_[i] = 1 + interference[i];
    }
    const double both = 1 + interference[0] + interference[1];
    double lost[2];  // shares of their speed, beside each other
    for (size_t i = 0; i < 2; ++i)
      lost[i] =
          1 - slow_down_[i] / (both * (1 + profile.transfer.contention_percent[i].value / 100));
    if (lost[0] + lost[1] < 1) {
      lost_ = std::min(lost[0], lost[1]);
      together_ = lost_ / (1 - lost[0] - lost[1]);
    }
    if (profile.transfer.host) return;
    sync_us_ = profile.transfer.sync_us.value * both * (1 - lost_);
    has_maps_ = profile.transfer.sharing == Sharing::SubBuffer;
  }

  double run() {
    for (ir::NodeId node = 0; node < node_count_; ++node) note_readers(node);
    for (ir::NodeId node = 0; node < node_count_; ++node) find_facts(node);
    find_nodes_alone();
    find_weights();
    fronts_.resize(node_count_ + 1);
    fronts_[0].cpu[kAllCpu] = 0;
    fronts_[0].finish();
    for (ir::NodeId last = 0; last < node_count_; ++last) {
      add_node(last);
      fronts_[last + 1].finish();
      if (last + 1 >= max_chain_) fronts_[last + 1 - max_chain_] = {};
    }
    const ByWeight& end = fronts_[node_count_].any;
    return *std::min_element(end.begin(), end.end()) / (1 + together_);
  }

 private:
  // ---- the graph

  void note_readers(ir::NodeId node) {
    const ir::NodeView view{graph_, graph_.node(node)};
    for (uint32_t operand = 0; operand < view.input_count(); ++operand) {
      const ir::NodeId maker = view.input_value(operand).producer;
      if (maker == ir::kNoId) continue;
      readers_[maker].push_back({node, operand});
      facts_[node].reads_previous |= maker + 1 == node;
    }
  }

  // A node that all before it lead to, and that leads to all behind it.
  void find_nodes_alone() {
    std::vector<ir::NodeId> makers_end(node_count_, 0);  // behind the last node it reads of
    ir::NodeId until = 0;                                // by then each node so far has been read
    for (ir::NodeId node = 0; node < node_count_; ++node) {
      facts_[node].is_alone = until <= node;
      ir::NodeId first_reader = ir::kNoId;
      for (const OperandReader& reader : readers_[node]) {
        first_reader = std::min(first_reader, reader.node);
        makers_end[reader.node] = std::max(makers_end[reader.node], node + 1);
      }
      until = std::max(until, first_reader);
    }
    ir::NodeId least_end = ir::kNoId;
    for (ir::NodeId node = node_count_; node-- > 0;) {
      facts_[node].is_alone &= least_end > node;
      least_end = std::min(least_end, makers_end[node]);
    }
  }

  // Any weights make a bound. It is a good one where they are those at which a node takes as long
  // on either processor, as no cut is cheaper than another then; but they must not change with
  // every small node, as they cannot change back everywhere.
  void find_weights() {
    if (hands_over_)
      find_even_weights();
    else
      find_near_weights();
    for (ir::NodeId first = 0; first < node_count_; ++first) {
      if (facts_[first].is_alone) continue;
      ir::NodeId end = first + 1;
      while (end < node_count_ && !facts_[end].is_alone) ++end;
      facts_[first].begins_region = true;
      const double weight = best_weight(first, end);
      for (ir::NodeId node = first; node < end; ++node) facts_[node].region_weight = weight;
      first = end - 1;
    }
  }

  // As if each node were among its like: of those near it the nearest count most.
  void find_near_weights() {
    for (int64_t node = 0; node < node_count_; ++node) {
      Times near;
      for (int64_t other = std::max<int64_t>(node - kReach, 0);
           other <= std::min<int64_t>(node + kReach, node_count_ - 1); ++other) {
        const NodeFacts& facts = facts_[static_cast<size_t>(other)];
        if (facts.row_cuts.empty() && facts.channel_cuts.empty()) continue;
        const double nearness = std::pow(kNearness, static_cast<double>(std::abs(node - other)));
        near.cpu_us += nearness * facts.whole.cpu_us;
        near.gpu_us += nearness * facts.whole.gpu_us;
      }
      facts_[static_cast<size_t>(node)].weight = 1 - near.cpu_share();
    }
  }

  // Weights cost what they leave out where they change.
  void find_even_weights() {
    constexpr double kNeverUs = 1e15;  // in place of an infinity, of which no share can be taken
    std::vector<WeightedNode> nodes(node_count_);
    for (ir::NodeId id = 0; id < node_count_; ++id) {
      const NodeFacts& facts = facts_[id];
      WeightedNode& node = nodes[id];
      const double cpu_us = std::min(facts.whole.cpu_us, kNeverUs);
      const double gpu_us = std::min(facts.whole.gpu_us, kNeverUs);
      for (size_t i = 0; i <= kWeightSteps; ++i)
        node.least_us[i] = facts.row_cuts.empty()
                               ? std::min(weight_at(i) * cpu_us, (1 - weight_at(i)) * gpu_us)
                               : std::min(facts.least_rows_us[i], kNeverUs);
      double least_us = kNeverUs;
      for (const Times& times : facts.row_times) {
        if (times.longer() >= least_us) continue;
        least_us = times.longer();
        node.cpu_part_us = times.cpu_us;
        node.gpu_part_us = times.gpu_us;
      }
    }
    const std::vector<double> weights = even_weights(nodes);
    for (ir::NodeId id = 0; id < node_count_; ++id) facts_[id].weight = weights[id];
  }

  // At which nodes [first, end) take longest, each where it takes least.
  double best_weight(ir::NodeId first, ir::NodeId end) const {
    size_t best = kWeightSteps / 2;
    double most_us = 0;
    for (size_t i = 1; i < kWeightSteps; ++i) {
      double us = 0;
      for (ir::NodeId node = first; node < end; ++node) {
        const Times& whole = facts_[node].whole;
        us += std::min({weight_at(i) * whole.cpu_us, (1 - weight_at(i)) * whole.gpu_us,
                        facts_[node].least_rows_us[i]});
      }
      if (us <= most_us) continue;
      most_us = us;
      best = i;
    }
    return weight_at(best);
  }

  // ---- costs

  double part_us(ir::NodeId node, Processor processor, SplitDim dim, Range part) {
    const uint64_t range = static_cast<uint64_t>(static_cast<uint32_t>(part.begin)) << 32 |
                           static_cast<uint32_t>(part.end);
    const uint64_t key = range * 4 + static_cast<uint64_t>(processor) * 2 +
                         static_cast<uint64_t>(dim == SplitDim::Height);
    const auto [known, is_new] = parts_us_[node].try_emplace(key, kUnreachedUs);
    if (!is_new) return known->second;
    if (const auto us = costs_.part_us(node, processor, dim, part))
      known->second = *us * slow_down_[static_cast<size_t>(processor)];
    return known->second;
  }

  int32_t row_count(ir::NodeId node) const {
    return graph_.value(graph_.node(node).output).type.dims[2];
  }

  // Of rows, less what rounding takes of them.
  double rows_us(ir::NodeId node, Processor processor, Range rows) {
    const int32_t extent = row_count(node);
    const int32_t step = std::max(1, extent / kRowSteps);
    if (rows.begin > 0) rows.begin = static_cast<int32_t>(ceil_div(rows.begin, step)) * step;
    if (rows.end < extent) rows.end = rows.end / step * step;
    return rows.begin < rows.end ? part_us(node, processor, SplitDim::Height, rows) : 0;
  }
  Rows rows_of(ir::NodeId node, const RowCuts& cuts) const {
    return {{0, cuts.first}, {cuts.last, row_count(node)}};
  }
  Times rows_times(ir::NodeId node, const Rows& rows) {
    return {rows_us(node, Processor::Cpu, rows.cpu), rows_us(node, Processor::Gpu, rows.gpu)};
  }

  void find_facts(ir::NodeId node) {
    NodeFacts& facts = facts_[node];
    facts.least_rows_us.fill(kUnreachedUs);
    if (const auto cpu = costs_.whole(node, Processor::Cpu))
      facts.whole.cpu_us = cpu->compute_us * slow_down_[0];
    for (Layout maps : costs_.gpu_maps())
      if (const auto gpu = costs_.whole(node, Processor::Gpu, maps))
        facts.whole.gpu_us = std::min(facts.whole.gpu_us, gpu->compute_us * slow_down_[1]);
    if (!(std::max(facts.whole.cpu_us, facts.whole.gpu_us) < kUnreachedUs)) return;
    const ir::NodeView view{graph_, graph_.node(node)};
    if (const auto rule = split_rule(view, SplitDim::Height)) find_row_cuts(node, *rule);
    if (const auto rule = split_rule(view, SplitDim::OutputChannel)) find_channel_cuts(node, *rule);
  }

  void find_row_cuts(ir::NodeId node, const SplitRule& rule) {
    NodeFacts& facts = facts_[node];
    const auto granules = static_cast<int32_t>(ceil_div(rule.extent, rule.granularity));
    const auto stride = std::max(1, static_cast<int32_t>(ceil_div(granules - 1, max_row_cuts_)));
    for (int32_t first = 1; first < granules; first += stride) {
      const int32_t last = std::min(first + stride, granules) - 1;
      const RowCuts cuts = {first * rule.granularity, last * rule.granularity};
      facts.row_cuts.push_back(cuts);
      facts.row_times.push_back(rows_times(node, rows_of(node, cuts)));
      lower_to(facts.least_rows_us, facts.row_times.back());
    }
  }

  void lower_to(ByWeight& us, const Times& times) const {
    if (!(std::max(times.cpu_us, times.gpu_us) < kUnreachedUs)) return;
    for (size_t i = 0; i <= kWeightSteps; ++i)
      us[i] = std::min(us[i], weight_at(i) * times.cpu_us + (1 - weight_at(i)) * times.gpu_us +
                                  together_us(times));
  }

  // Of the cuts between two that are priced the smaller part on either side.
  void find_channel_cuts(ir::NodeId node, const SplitRule& rule) {
    NodeFacts& facts = facts_[node];
    const auto granules = static_cast<int32_t>(ceil_div(rule.extent, rule.granularity));
    const auto stride = std::max(1, static_cast<int32_t>(ceil_div(granules - 1, kMaxChannelCuts)));
    for (int32_t first = 1; first < granules; first += stride) {
      const int32_t last = std::min(first + stride, granules) - 1;
      const Times times = {
          part_us(node, Processor::Cpu, SplitDim::OutputChannel,
                  {last * rule.granularity, rule.extent}),
          part_us(node, Processor::Gpu, SplitDim::OutputChannel, {0, first * rule.granularity})};
      if (std::max(times.cpu_us, times.gpu_us) < kUnreachedUs) facts.channel_cuts.push_back(times);
    }
    if (!facts.reads_previous) return;
    // Any cut says whether a part reads more channels than it makes.
    const ir::NodeView view{graph_, graph_.node(node)};
    for (const OperandReader& reader : readers_[node - 1]) {
      if (reader.node != node) continue;
      const Region read =
          read_region(view, reader.operand, SplitDim::OutputChannel, {0, rule.granularity});
      facts.reads_all_channels |=
          read.channels == whole_region(view.input(reader.operand)).channels;
    }
  }

  // What parts beside each other make longer: ordered_bound.h.
  double together_us(const Times& times) const { return together_ * (times.cpu_us + times.gpu_us); }

  // A map of `rows` of what a node makes; nothing: of all of it.
  double map_us(ir::NodeId maker, std::optional<Range> rows) const {
    if (!has_maps_) return 0;
    const ir::TensorType& type = graph_.value(graph_.node(maker).output).type;
    const auto bytes = static_cast<double>(value_shape(type, type.layout, {}).bytes);
    const double share = rows ? rows->count() / static_cast<double>(type.dims[2]) : 1;
    return costs_.profile().transfer.map_time_us(bytes * share) * slow_down_[1] * (1 - lost_);
  }

  // ---- segments

  // Of nodes [first, last] that take so long.
  Addition addition_of(ir::NodeId first, ir::NodeId last, const Times& times) const {
    Addition addition;
    addition.cpu_us = times.cpu_us;
    addition.gpu_us = times.gpu_us;
    addition.always_us = together_us(times);
    const NodeFacts& facts = facts_[first];
    const bool is_split = times.cpu_us > 0 && times.gpu_us > 0;
    double weight = facts.is_alone || is_split ? facts.weight : facts.region_weight;
    if (last + 1 < node_count_ && facts_[last + 1].begins_region)
      weight = facts_[last + 1].region_weight;
    else if (last + 1 < node_count_ && !facts_[last + 1].reads_previous)
      weight = facts.is_alone ? facts.weight : facts.region_weight;
    else if (is_split && !hands_over_)
      weight += kTilt * (2 * times.cpu_share() - 1);
    addition.target = index_of_weight(weight);
    return addition;
  }

  // Whether what is whole in front of the node is done before all behind it begin.
  bool is_behind_alone(ir::NodeId node) const { return node > 0 && facts_[node - 1].is_alone; }

  void add_node(ir::NodeId node) {
    const NodeFacts& facts = facts_[node];
    Front& end = fronts_[node + 1];
    if (facts.whole.cpu_us < kUnreachedUs) add_whole(node, Processor::Cpu, end.cpu);
    if (facts.whole.gpu_us < kUnreachedUs) add_whole(node, Processor::Gpu, end.gpu);
    for (const Times& times : facts.channel_cuts)
      add_channels(node, addition_of(node, node, times), end.channels);
    end.rows.resize(facts.row_cuts.size(), unreached());
    for (size_t i = 0; i < facts.row_cuts.size(); ++i)
      add_chains(node, facts.row_cuts[i], end.rows[i]);
  }

  void add_whole(ir::NodeId node, Processor processor, ByWeight& into) const {
    const bool is_cpu = processor == Processor::Cpu;
    const NodeFacts& facts = facts_[node];
    const Times times = {is_cpu ? facts.whole.cpu_us : 0, is_cpu ? 0 : facts.whole.gpu_us};
    Addition addition = addition_of(node, node, times);
    // All before it are done when it begins, and all behind it begin when it is done.
    if (facts.is_alone) addition.target = is_cpu ? kAllCpu : kAllGpu;
    const bool is_free = facts.is_alone;
    const Front& front = fronts_[node];
    if (!facts.reads_previous) return add(front, front.any, {.is_free = is_free}, addition, into);
    const double all_us = map_us(node - 1, {});
    const bool is_free_of_whole = is_free || is_behind_alone(node);
    const ByWeight& same = is_cpu ? front.cpu : front.gpu;
    const ByWeight& other = is_cpu ? front.gpu : front.cpu;
    add(front, same, {.is_free = is_free_of_whole}, addition, into);
    add(front, other, {!is_cpu, is_cpu, all_us, is_free_of_whole}, addition, into);
    const Crossing of_split{!is_cpu, is_cpu, is_cpu ? all_us : 0, is_free};
    add(front, front.channels, of_split, addition, into);
    add(front, front.any_rows, of_split, addition, into);
  }

  void add_channels(ir::NodeId node, const Addition& addition, ByWeight& into) const {
    const NodeFacts& facts = facts_[node];
    const Front& front = fronts_[node];
    if (!facts.reads_previous) return add(front, front.any, {}, addition, into);
    const double all_us = map_us(node - 1, {});
    const bool is_free = is_behind_alone(node);
    add(front, front.cpu, {true, false, all_us, is_free}, addition, into);
    add(front, front.gpu, {false, true, all_us, is_free}, addition, into);
    add(front, front.any_rows, {true, true, all_us}, addition, into);
    const Crossing all_channels{true, true, 2 * all_us};
    add(front, front.channels, facts.reads_all_channels ? all_channels : Crossing{}, addition,
        into);
  }

  // Every chain that ends in `last` with one of those cuts, the node alone among them.
  void add_chains(ir::NodeId last, const RowCuts& cuts, ByWeight& into) {
    rows_.assign(1, rows_of(last, cuts));
    Times times = rows_times(last, rows_[0]);
    ByWeight others_us = {};  // of nodes of which no rows are known to be needed
    for (ir::NodeId first = last;; --first) {
      if (!(std::max(times.cpu_us, times.gpu_us) < kUnreachedUs)) return;
      Addition addition = addition_of(first, last, times);
      addition.others_us = &others_us;
      add_chain(first, rows_[last - first], addition, into);
      if (first == 0 || last - first + 1 >= max_chain_ || facts_[first - 1].row_cuts.empty())
        return;
      const Rows rows = rows_read(first - 1, last);
      rows_.push_back(rows);
      if (rows.has_both()) {
        const Times own = rows_times(first - 1, rows);
        times.cpu_us += own.cpu_us;
        times.gpu_us += own.gpu_us;
      } else {
        for (size_t i = 0; i <= kWeightSteps; ++i)
          others_us[i] += facts_[first - 1].least_rows_us[i];
      }
    }
  }

  // What nodes of a chain up to `last` read of what `maker` makes.
  Rows rows_read(ir::NodeId maker, ir::NodeId last) const {
    Rows rows;
    for (const OperandReader& reader : readers_[maker])
      if (reader.node <= last) add_read(reader, rows_[last - reader.node], rows);
    return rows;
  }

  void add_read(const OperandReader& reader, const Rows& own, Rows& rows) const {
    if (!own.has_both()) return;
    const ir::NodeView view{graph_, graph_.node(reader.node)};
    const auto read = [&](Range range) {
      return read_region(view, reader.operand, SplitDim::Height, range).rows;
    };
    rows.gpu = hull(rows.gpu, read(own.gpu));
    rows.cpu = hull(rows.cpu, read(own.cpu));
  }

  void add_chain(ir::NodeId first, const Rows& own, const Addition& addition,
                 ByWeight& into) const {
    const Front& front = fronts_[first];
    const bool is_free = is_behind_alone(first);
    Rows reads;
    if (facts_[first].reads_previous)
      for (const OperandReader& reader : readers_[first - 1])
        if (reader.node == first) add_read(reader, own, reads);
    if (!reads.has_both()) {
      for (const ByWeight* from : {&front.cpu, &front.gpu})
        add(front, *from, {.is_free = is_free}, addition, into);
      for (const ByWeight* from : {&front.channels, &front.any_rows})
        add(front, *from, {}, addition, into);
      return;
    }
    const double all_us = map_us(first - 1, {});
    const double cpu_us = map_us(first - 1, reads.cpu);
    add(front, front.cpu, {true, false, all_us, is_free}, addition, into);
    add(front, front.gpu, {false, true, cpu_us, is_free}, addition, into);
    add(front, front.channels, {true, true, 2 * all_us}, addition, into);
    // Of a cut: the GPU misses rows where it reads beyond it, the CPU where it reads before it. Of
    // cuts that are taken for one where they do for each of them.
    const NodeFacts& maker = facts_[first - 1];
    const std::vector<RowCuts>& cuts = maker.row_cuts;
    const auto crossing = [&](bool to_gpu, bool to_cpu, const Times& parts) {
      if (hands_over_) return Crossing{to_gpu, to_cpu, 0, false, true, parts.gpu_us, parts.cpu_us};
      return Crossing{to_gpu, to_cpu, (to_gpu && to_cpu ? 2 : 1) * cpu_us};
    };
    const auto count_where = [&](const auto& is_so) {
      return static_cast<size_t>(std::partition_point(cuts.begin(), cuts.end(), is_so) -
                                 cuts.begin());
    };
    const size_t enough_for_gpu =
        count_where([&](const RowCuts& of) { return of.last < reads.gpu.end; });
    const size_t too_much_for_cpu =
        count_where([&](const RowCuts& of) { return of.first <= reads.cpu.begin; });
    for (size_t i = enough_for_gpu; i < too_much_for_cpu; ++i)
      add(front, front.rows[i], {}, addition, into);
    const size_t to_cpu_alone = std::max(enough_for_gpu, too_much_for_cpu);
    if (to_cpu_alone < cuts.size())
      add(front, front.rows_from[to_cpu_alone], crossing(false, true, maker.row_times.back()),
          addition, into);
    const size_t to_gpu_alone = std::min(enough_for_gpu, too_much_for_cpu);
    if (to_gpu_alone > 0)
      add(front, front.rows_up_to[to_gpu_alone - 1], crossing(true, false, maker.row_times.front()),
          addition, into);
    for (size_t i = too_much_for_cpu; i < enough_for_gpu; ++i)
      add(front, front.rows[i], crossing(true, true, maker.row_times[i]), addition, into);
  }

  void add(const Front& front, const ByWeight& from, const Crossing& crossing,
           const Addition& addition, ByWeight& into) const {
    add_segment(front, from, crossing, addition, sync_us_, into);
  }

  const CostModel& costs_;
  const ir::Graph& graph_;
  const ir::NodeId node_count_;
  const ir::NodeId max_chain_;
  const bool hands_over_;
  const int32_t max_row_cuts_;
  double slow_down_[2];  // by processor: by what always takes some of it
  // Of its speed, what the processor that loses less of it loses beside the other, and by how much
  // of their work that makes a plan longer: k and k / (1 - k0 - k1) of ordered_bound.h.
  double lost_ = 0;
  double together_ = 0;
  double sync_us_ = 0;
  bool has_maps_ = false;
  std::vector<NodeFacts> facts_;
  std::vector<std::vector<OperandReader>> readers_;             // by maker, in graph order
  std::vector<std::unordered_map<uint64_t, double>> parts_us_;  // by node
  std::vector<Front> fronts_;                                   // by nodes done
  std::vector<Rows> rows_;                                      // of a chain, its last node first
};

}  // namespace

double ordered_bound_us(const CostModel& costs, int32_t max_chain, bool hands_over,
                        int32_t max_row_cuts) {
  return OrderedBound(costs, max_chain, hands_over, max_row_cuts).run();
}

}  // namespace codl::compiler
