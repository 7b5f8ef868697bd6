// The plans in CoDL's released code, put on our graph, kernels and schedule: the dimension, the
// share and the chains that its authors fixed by hand for five networks on four phones, and what
// the paper's latencies are of.
//
// An operator of a list is the node of the same kind, filter, stride, rows and channels, by
// preference one that reads what the operator before made; the lists leave operators out and have
// channels that no network has, so what is left over is matched by kind and rows, in order. Nodes
// that the lists lack join the chain around them; else a convolution is planned as by codl alone,
// the rest is on the GPU. A device is taken for the phone of its name, else for one with the same
// memory for maps. A network without a list is planned by codl.
#include <algorithm>

#include "compiler/partition/strategies/codl.h"
#include "compiler/support/error.h"
#include "llvm/ADT/StringExtras.h"

namespace codl::compiler {
namespace {

struct ReleasedPlan {
  const char* phone;
  const char* dims;     // by operator: H, C
  const char* tenths;   // by operator: the GPU's share, hexadecimal
  const char* lengths;  // of chains
};
struct ReleasedNetwork {
  const char* name;
  const char* ops;
  ReleasedPlan plans[4];
};
constexpr ReleasedNetwork kNetworks[] = {
#include "compiler/partition/strategies/codl_released_plans.inc"
};

// Of a list's operators so many must be found as they are, at their rows, for the network to be
// that one: RetinaFace's heads have other channels there than in any network that we know.
constexpr double kMinFound = 0.5;

enum class OpClass { Other, Conv, Pool, Fc };
struct Signature {
  OpClass kind = OpClass::Other;
  int32_t kernel = 0, stride = 0, rows = 0, in_channels = 0, out_channels = 0;
  friend bool operator==(const Signature&, const Signature&) = default;
};

Signature signature_of(const ir::NodeView& view) {
  const ir::TensorType& output = view.output();
  const auto dim = [](const ir::TensorType& type, size_t i) {
    return type.dims.size() > i ? static_cast<int32_t>(type.dims[i]) : 0;
  };
  if (view.node.op == OpKind::MatMul)
    return {OpClass::Fc, 0, 0, 0, dim(view.input(0), 1), dim(output, 1)};
  if (view.node.op == OpKind::Conv2d)
    return {OpClass::Conv,  dim(view.input(1), 2), view.node.params.as<Conv2dParams>().stride_h,
            dim(output, 2), dim(view.input(0), 1), dim(output, 1)};
  // Of pools no list has but the kernel of 2, whatever the network has.
  if (view.node.op == OpKind::Pool2d)
    return {OpClass::Pool,
            2,
            view.node.params.as<Pool2dParams>().stride_h,
            dim(output, 2),
            dim(view.input(0), 1),
            dim(output, 1)};
  return {};
}

std::vector<Signature> parse_ops(llvm::StringRef text) {
  std::vector<Signature> ops;
  llvm::SmallVector<llvm::StringRef, 96> lines;
  text.split(lines, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef, 6> fields;
    line.split(fields, ' ');
    Signature op;
    op.kind = fields[0] == "conv"   ? OpClass::Conv
              : fields[0] == "pool" ? OpClass::Pool
                                    : OpClass::Fc;
    int32_t* numbers[] = {&op.kernel, &op.stride, &op.rows, &op.in_channels, &op.out_channels};
    for (size_t i = 0; i < 5; ++i) fields[i + 1].getAsInteger(10, *numbers[i]);
    ops.push_back(op);
  }
  return ops;
}

// By operator of the list the node, or kNoId.
class Matching {
 public:
  Matching(const ir::Graph& graph, llvm::ArrayRef<Signature> ops) : graph_(graph), ops_(ops) {
    for (ir::NodeId node = 0; node < graph.nodes().size(); ++node)
      signatures_.push_back(signature_of({graph, graph.node(node)}));
    is_used_.resize(signatures_.size());
    nodes_.resize(ops.size(), ir::kNoId);
    for (size_t i = 0; i < ops.size(); ++i) match(i);
    exact_ = found();
    match_rest();
  }

  size_t exact() const { return exact_; }
  llvm::ArrayRef<ir::NodeId> nodes() const { return nodes_; }

 private:
  size_t found() const {
    return nodes_.size() - static_cast<size_t>(llvm::count(nodes_, ir::kNoId));
  }

  bool reads(ir::NodeId node, ir::NodeId maker) const {
    return llvm::any_of(graph_.node(node).inputs,
                        [&](ir::ValueId input) { return graph_.value(input).producer == maker; });
  }

  void match(size_t op) {
    ir::NodeId best = ir::kNoId;
    for (ir::NodeId node = 0; node < signatures_.size(); ++node) {
      if (is_used_[node] || !(signatures_[node] == ops_[op])) continue;
      if (best == ir::kNoId) best = node;
      if (op == 0 || nodes_[op - 1] == ir::kNoId || !reads(node, nodes_[op - 1])) continue;
      best = node;
      break;
    }
    use(op, best);
  }

  void use(size_t op, ir::NodeId node) {
    nodes_[op] = node;
    if (node != ir::kNoId) is_used_[node] = true;
  }

  void match_rest() {
    ir::NodeId after = 0;
    for (size_t op = 0; op < ops_.size(); ++op) {
      if (nodes_[op] != ir::kNoId) {
        after = nodes_[op];
        continue;
      }
      for (ir::NodeId node = after; node < signatures_.size(); ++node) {
        if (is_used_[node] || signatures_[node].kind != ops_[op].kind ||
            signatures_[node].rows != ops_[op].rows)
          continue;
        use(op, node);
        after = node;
        break;
      }
    }
  }

  const ir::Graph& graph_;
  llvm::ArrayRef<Signature> ops_;
  std::vector<Signature> signatures_;
  std::vector<bool> is_used_;
  std::vector<ir::NodeId> nodes_;
  size_t exact_ = 0;
};

const ReleasedPlan& plan_of(const ReleasedNetwork& network, const DeviceProfile& profile) {
  for (const ReleasedPlan& plan : network.plans)
    if (profile.name == plan.phone) return plan;
  const llvm::StringRef kin = profile.gpu_layout == Layout::Image2d ? "sd855" : "kirin990";
  return *llvm::find_if(network.plans, [&](const ReleasedPlan& plan) { return plan.phone == kin; });
}

// What the list says of a node.
struct Stated {
  SplitDim dim = SplitDim::None;
  int32_t tenth = 0;   // the GPU's
  int32_t chain = -1;  // of the list
};

std::vector<Stated> stated_of(const ReleasedPlan& plan, llvm::ArrayRef<ir::NodeId> nodes,
                              size_t node_count) {
  std::vector<Stated> stated(node_count);
  llvm::SmallVector<llvm::StringRef, 96> lengths;
  llvm::StringRef(plan.lengths).split(lengths, ' ');
  size_t op = 0;
  for (size_t chain = 0; chain < lengths.size(); ++chain) {
    size_t length = 0;
    lengths[chain].getAsInteger(10, length);
    for (const size_t end = op + length; op < end; ++op) {
      if (nodes[op] == ir::kNoId) continue;
      stated[nodes[op]] = {plan.dims[op] == 'H' ? SplitDim::Height : SplitDim::OutputChannel,
                           static_cast<int32_t>(llvm::hexDigitValue(plan.tenths[op])),
                           static_cast<int32_t>(chain)};
    }
  }
  return stated;
}

class StatedPlaces {
 public:
  StatedPlaces(const CostModel& costs, std::vector<Stated> stated)
      : costs_(costs), maps_(costs.gpu_maps().front()), stated_(std::move(stated)) {}

  llvm::Expected<PartitionPlan> run() {
    const auto node_count = static_cast<ir::NodeId>(stated_.size());
    CODL_ASSIGN_OR_RETURN(on_gpu, prefer_processor(costs_, Processor::Gpu, maps_));
    PartitionPlan plan;
    for (ir::NodeId first = 0; first < node_count;) {
      ir::NodeId last = first;
      std::optional<Segment> segment = placed(first, last);
      while (const auto longer = longer_chain(first, last)) {
        segment = costs_.split(first, *longer, SplitDim::Height, share_of(first), maps_);
        last = *longer;
      }
      if (segment)
        append_segment(plan, std::move(*segment));
      else
        plan.node_partitions.push_back(on_gpu.node_partitions[first]);
      first = last + 1;
    }
    return plan;
  }

 private:
  double share_of(ir::NodeId node) const { return stated_[node].tenth / 10.0; }
  bool is_split(ir::NodeId node) const {
    return stated_[node].chain >= 0 && stated_[node].tenth > 0 && stated_[node].tenth < 10;
  }

  // The node as it is stated; nothing: on the GPU.
  std::optional<Segment> placed(ir::NodeId first, ir::NodeId last) const {
    const Stated& stated = stated_[first];
    if (is_split(first)) return costs_.split(first, last, stated.dim, share_of(first), maps_);
    if (stated.chain < 0 && costs_.graph().node(first).op == OpKind::Conv2d)
      return codl_alone(costs_, first, maps_);
    return std::nullopt;
  }

  // The next node behind `last` of the chain of `first` up to which all can be one chain.
  std::optional<ir::NodeId> longer_chain(ir::NodeId first, ir::NodeId last) const {
    if (!is_split(first) || stated_[first].dim != SplitDim::Height) return std::nullopt;
    for (ir::NodeId node = last + 1; node < stated_.size(); ++node) {
      if (stated_[node].chain < 0) continue;
      if (stated_[node].chain != stated_[first].chain) return std::nullopt;
      if (!costs_.split(first, node, SplitDim::Height, share_of(first), maps_)) return std::nullopt;
      return node;
    }
    return std::nullopt;
  }

  const CostModel& costs_;
  const Layout maps_;
  const std::vector<Stated> stated_;
};

}  // namespace

llvm::Expected<PartitionPlan> strategy_codl_released(const CostModel& costs,
                                                     const PartitionOptions& options) {
  const size_t node_count = costs.graph().nodes().size();
  for (const ReleasedNetwork& network : kNetworks) {
    const std::vector<Signature> ops = parse_ops(network.ops);
    const Matching matching(costs.graph(), ops);
    if (static_cast<double>(matching.exact()) < kMinFound * static_cast<double>(ops.size()))
      continue;
    const ReleasedPlan& plan = plan_of(network, costs.profile());
    return StatedPlaces(costs, stated_of(plan, matching.nodes(), node_count)).run();
  }
  return codl_on(costs, options, costs.gpu_maps().front());
}

}  // namespace codl::compiler
