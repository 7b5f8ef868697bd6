// Predicts what a plan of CoDL's released code takes on our graph, kernels and schedule: it has the
// dimensions, shares and chains that its authors fixed by hand for a network and a phone.
//
//   released_plan MODEL.onnx PHONE OPS DIMS TENTHS LENGTHS
//
// OPS are the operators of the released list: "conv KERNEL STRIDE OUT_ROWS IN_CHANNELS
// OUT_CHANNELS" (or pool; fc 0 0 0 INPUTS OUTPUTS), with a ";" behind each. DIMS has H or C for
// each, TENTHS the GPU's share as a hexadecimal digit, LENGTHS those of the chains. Prints
// predicted microseconds.
//
// An operator of a list is the node of the same kind, filter, stride, rows and channels, by
// preference one that reads what the operator before made; the lists leave operators out and have
// channels that no network has, so what is left over is matched by kind and rows, in order. Nodes
// that the lists lack join the chain around them; else a convolution is planned as by codl alone,
// the rest is on the GPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "compiler/frontend/onnx_import.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/passes/pass_order.h"
#include "compiler/variants/candidate.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

namespace codl::compiler {
namespace {

struct ReleasedPlan {
  llvm::StringRef ops;
  llvm::StringRef dims;     // one letter per operator: H, C
  llvm::StringRef tenths;   // one digit per operator: the GPU's share, hexadecimal
  llvm::StringRef lengths;  // lengths of chains
};

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "released_plan: error: %s\n", text.c_str());
  std::exit(1);
}

template <class T>
T value_or_fail(llvm::Expected<T> value) {
  if (!value) fail(llvm::toString(value.takeError()));
  return std::move(*value);
}

// Least share of a list's operators that must match the network exactly, at their rows:
// RetinaFace's heads have other channels in the list than in any network that we know.
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
  // The lists have only pools with a kernel of 2, whatever the network has.
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

// Maps each operator of the list to its node, or kNoId.
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

// Holds the list's statement about a node.
struct Stated {
  SplitDim dim = SplitDim::None;
  int32_t tenth = 0;   // the GPU's
  int32_t chain = -1;  // chain in the list
};

std::vector<Stated> stated_of(const ReleasedPlan& plan, llvm::ArrayRef<ir::NodeId> nodes,
                              size_t node_count) {
  std::vector<Stated> stated(node_count);
  llvm::SmallVector<llvm::StringRef, 96> lengths;
  plan.lengths.split(lengths, ' ');
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
      : costs_(costs), forms_(costs.form_pairs().front()), stated_(std::move(stated)) {}

  llvm::Expected<PartitionPlan> run() {
    const auto node_count = static_cast<ir::NodeId>(stated_.size());
    CODL_ASSIGN_OR_RETURN(on_gpu, prefer_processor(costs_, Processor::Gpu, forms_));
    PartitionOptions without_chains;
    without_chains.max_chain = 1;
    CODL_ASSIGN_OR_RETURN(alone, strategy_codl(costs_, without_chains));
    PartitionPlan plan;
    for (ir::NodeId first = 0; first < node_count;) {
      ir::NodeId last = first;
      std::optional<Segment> segment;
      if (is_split(first))
        segment = costs_.split(first, first, stated_[first].dim, share_of(first), forms_);
      while (const auto longer = longer_chain(first, last)) {
        segment = costs_.split(first, *longer, SplitDim::Height, share_of(first), forms_);
        last = *longer;
      }
      if (segment)
        append_segment(plan, std::move(*segment));
      else
        plan.node_partitions.push_back(
            (is_unlisted_conv(first) ? alone : on_gpu).node_partitions[first]);
      first = last + 1;
    }
    return plan;
  }

 private:
  double share_of(ir::NodeId node) const { return stated_[node].tenth / 10.0; }
  bool is_split(ir::NodeId node) const {
    return stated_[node].chain >= 0 && stated_[node].tenth > 0 && stated_[node].tenth < 10;
  }

  bool is_unlisted_conv(ir::NodeId node) const {
    return stated_[node].chain < 0 && costs_.graph().node(node).op == OpKind::Conv2d;
  }

  // The next node behind `last` of the chain of `first` up to which all can be one chain.
  std::optional<ir::NodeId> longer_chain(ir::NodeId first, ir::NodeId last) const {
    if (!is_split(first) || stated_[first].dim != SplitDim::Height) return std::nullopt;
    for (ir::NodeId node = last + 1; node < stated_.size(); ++node) {
      if (stated_[node].chain < 0) continue;
      if (stated_[node].chain != stated_[first].chain) return std::nullopt;
      if (!costs_.split(first, node, SplitDim::Height, share_of(first), forms_))
        return std::nullopt;
      return node;
    }
    return std::nullopt;
  }

  const CostModel& costs_;
  const FormPair forms_;
  const std::vector<Stated> stated_;
};

ir::Graph read_graph(const std::string& path) {
  auto bytes = llvm::MemoryBuffer::getFile(path);
  if (!bytes) fail(path + ": " + bytes.getError().message());
  ir::Graph graph = value_or_fail(import_onnx((*bytes)->getBuffer(), path));
  if (llvm::Error error = run_passes(graph, frontend_passes(), {}))
    fail(llvm::toString(std::move(error)));
  return graph;
}

double predicted_us(const std::string& model, const std::string& phone, const ReleasedPlan& plan) {
  const ir::Graph graph = read_graph(model);
  const DeviceProfile profile = value_or_fail(load_device_profile(phone));
  const LatencyPredictor predictor(profile);
  const CostModel costs(graph, predictor);
  const std::vector<Signature> ops = parse_ops(plan.ops);
  if (plan.dims.size() != ops.size() || plan.tenths.size() != ops.size())
    fail("expected a dim and a share for each operator");
  const Matching matching(graph, ops);
  if (static_cast<double>(matching.exact()) < kMinFound * static_cast<double>(ops.size()))
    fail(model + ": expected the network of the list, found few of its operators");
  Optimum placed;
  placed.plan = value_or_fail(
      StatedPlaces(costs, stated_of(plan, matching.nodes(), graph.nodes().size())).run());
  if (llvm::Error error = check_partition(graph, placed.plan))
    fail(llvm::toString(std::move(error)));
  return value_or_fail(finish_candidate(graph, predictor, {}, std::move(placed), "released"))
      .schedule.predicted_us;
}

}  // namespace
}  // namespace codl::compiler

int main(int argc, char** argv) {
  using namespace codl::compiler;
  if (argc != 7) fail("expected MODEL.onnx PHONE OPS DIMS TENTHS LENGTHS");
  std::printf("%.3f\n", predicted_us(argv[1], argv[2], {argv[3], argv[4], argv[5], argv[6]}));
}
