// Makes one Attention of the formula that exporters and the importer write for it.
//
//   softmax(q k^T * scale + bias) v       scale before or after the product, on q, k or both
//   softmax(where(hidden, lowest, q k^T)) v
//   where(row without keys, 0, softmax(...)) v
//
// Needs:   f32; a softmax over the keys; scores of rank 4 at most; Reshapes that keep the keys may
//          stand between; k as [..., keys, size], which a Transpose may have turned; sizes that are
//          multiples of 4, of 256 at most, as the GPU's kernel takes them; a `lowest` that leaves
//          nothing of a score beside it; nobody else reads the values between q, k, v and the
//          result.
// Gives:   one Attention, with Reshapes to and from rank 4 around it, instead of two products and a
//          softmax through memory. Numerics change by rounding only. There is no choice: the scores
//          are not in memory, it may be cut by rows, which the formula's nodes cannot, and where
//          both were timed or predicted it took less (docs/results/attention.md).
// Order:   after merge_common, which leaves one value of each kind; before passes that move the
//          formula's Transposes and Reshapes.
#include <algorithm>
#include <limits>
#include <optional>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "kernels/attention/attention.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A score below 1e22 beside it changes no bit of it.
constexpr double kLowestScore = -1e30;

struct AttentionMatch {
  ir::ValueId q = ir::kNoId;
  ir::ValueId k = ir::kNoId;  // [..., keys, size], or, if has_order, x of `order`
  ir::ValueId v = ir::kNoId;
  ir::ValueId bias = ir::kNoId;    // an addend of the scores
  ir::ValueId hidden = ir::kNoId;  // or the condition of scores that are `lowest` ...
  bool hides_true = false;         // ... where it is true, or where it is false
  double lowest = 0;
  DimOrder order;      // a Transpose of k that is needed; empty: none
  ir::Dims scores;     // as softmax has them
  ir::Dims products;   // as the first product has them
  int32_t groups = 1;  // heads of k in a batch
  AttentionParams params = {.scale = 1.0f};
  llvm::SmallVector<ir::NodeId, 12> nodes;  // those of the formula
};

int64_t count_of(llvm::ArrayRef<int32_t> dims) {
  int64_t count = 1;
  for (int32_t dim : dims) count *= dim;
  return count;
}

// Returns the dims with 1s in front, as rank 4.
ir::Dims of_rank_4(const ir::Dims& dims) {
  ir::Dims result(4 - dims.size(), 1);
  result.append(dims.begin(), dims.end());
  return result;
}

class AttentionFusion {
 public:
  explicit AttentionFusion(ir::Graph& graph)
      : graph_(graph), readers_(graph), names_(graph), dead_(graph.nodes().size(), false) {}

  void run() {
    const auto count = static_cast<ir::NodeId>(graph_.nodes().size());
    for (ir::NodeId id = 0; id < count; ++id)
      if (const auto match = match_of(id)) fuse(id, *match);
    dead_.resize(graph_.nodes().size(), false);
    remove_dead(graph_, dead_);
    sort_nodes(graph_);
  }

 private:
  const ir::Dims& dims_of(ir::ValueId value) const { return graph_.value(value).type.dims; }

  // Returns the value's producer if it is such a node of f32.
  const ir::Node* producer(ir::ValueId value, OpKind op) const {
    const ir::NodeId id = graph_.value(value).producer;
    if (id == ir::kNoId || graph_.node(id).op != op) return nullptr;
    return graph_.value(value).type.dtype == DType::F32 ? &graph_.node(id) : nullptr;
  }
  const ir::Node* binary(ir::ValueId value, int32_t kind) const {
    const ir::Node* node = producer(value, OpKind::Binary);
    return node != nullptr && is_binary(graph_, *node, kind) ? node : nullptr;
  }
  ir::NodeId id_of(const ir::Node& node) const { return graph_.value(node.output).producer; }

  // Goes from the product with a number to its other factor, which has the same dims.
  bool take_scale(ir::ValueId& value, AttentionMatch& match) const {
    const ir::Node* node = binary(value, kBinaryMul);
    const bool divides = node == nullptr;
    if (divides) node = binary(value, kBinaryDiv);
    if (node == nullptr) return false;
    for (size_t i = divides ? 1 : 0; i < 2; ++i) {
      const auto number = number_of(graph_, node->inputs[i]);
      if (!number || dims_of(node->inputs[1 - i]) != dims_of(value)) continue;
      const double scale = divides ? match.params.scale / *number : match.params.scale * *number;
      if (!(scale > 0 && scale < kInfinity)) continue;
      match.params.scale = static_cast<float>(scale);
      value = node->inputs[1 - i];
      return true;
    }
    return false;
  }
  bool take_reshape(ir::ValueId& value, size_t kept_dims) const {
    const ir::Node* node = producer(value, OpKind::Reshape);
    if (node == nullptr) return false;
    const ir::Dims& from = dims_of(node->inputs[0]);
    const ir::Dims& to = dims_of(value);
    if (from.size() < kept_dims || to.size() < kept_dims ||
        !std::equal(from.end() - static_cast<ptrdiff_t>(kept_dims), from.end(),
                    to.end() - static_cast<ptrdiff_t>(kept_dims)))
      return false;
    value = node->inputs[0];
    return true;
  }

  // Matches the formula that ends with node `root`.
  std::optional<AttentionMatch> match_of(ir::NodeId root) const {
    const ir::Node& last = graph_.node(root);
    if (last.op != OpKind::BatchMatMul || graph_.value(last.output).type.dtype != DType::F32)
      return std::nullopt;
    const auto params = last.params.as<BatchMatMulParams>();
    if (params.is_a_transposed != 0 || params.is_b_transposed != 0) return std::nullopt;
    AttentionMatch match;
    match.nodes.push_back(root);
    match.v = last.inputs[1];
    ir::ValueId value = last.inputs[0];
    take_middle(value, match);
    ir::ValueId hides_all = ir::kNoId;
    if (const ir::Node* where = producer(value, OpKind::Where)) {
      if (number_of(graph_, where->inputs[1]) != 0) return std::nullopt;
      hides_all = where->inputs[0];
      match.nodes.push_back(id_of(*where));
      value = where->inputs[2];
    }
    if (!take_softmax(value, match)) return std::nullopt;
    if (!biased_product(value, match) || !fits(root, match)) return std::nullopt;
    if (hides_all != ir::kNoId && !take_hidden_rows(hides_all, match)) return std::nullopt;
    if (!readers_.only_among(match.nodes, root)) return std::nullopt;
    return match;
  }

  // Goes by Reshapes that keep the keys.
  void take_middle(ir::ValueId& value, AttentionMatch& match) const {
    for (ir::ValueId next = value; take_reshape(next, 1); value = next)
      match.nodes.push_back(graph_.value(value).producer);
  }

  bool take_softmax(ir::ValueId& value, AttentionMatch& match) const {
    const ir::Node* softmax = producer(value, OpKind::Softmax);
    if (softmax == nullptr) return false;
    const auto params = softmax->params.as<SoftmaxParams>();
    match.scores = dims_of(value);
    if (params.is_log != 0 || params.axis + 1 != static_cast<int32_t>(match.scores.size()) ||
        match.scores.size() > 4)
      return false;
    match.nodes.push_back(id_of(*softmax));
    value = softmax->inputs[0];
    return true;
  }

  // Matches the product, to which something is added or parts of which are hidden.
  bool biased_product(ir::ValueId value, AttentionMatch& match) const {
    const AttentionMatch before = match;
    if (product(value, match)) return true;
    if (const ir::Node* sum = binary(value, kBinaryAdd))
      for (size_t i = 0; i < 2; ++i) {
        match = before;
        match.nodes.push_back(id_of(*sum));
        match.bias = sum->inputs[1 - i];
        if (dims_of(sum->inputs[i]) == match.scores && product(sum->inputs[i], match)) return true;
      }
    if (const ir::Node* where = producer(value, OpKind::Where))
      for (size_t i = 1; i < 3; ++i) {
        match = before;
        match.nodes.push_back(id_of(*where));
        const auto lowest = number_of(graph_, where->inputs[3 - i]);
        if (!lowest || !(*lowest <= kLowestScore)) continue;
        match.hidden = where->inputs[0];
        match.hides_true = i == 2;
        match.lowest = *lowest;
        if (dims_of(where->inputs[i]) == match.scores && product(where->inputs[i], match))
          return true;
      }
    return false;
  }

  // Matches q k^T, times numbers.
  bool product(ir::ValueId value, AttentionMatch& match) const {
    for (bool goes_on = true; goes_on;) {
      ir::ValueId next = value;
      goes_on = take_reshape(next, 1) || take_scale(next, match);
      if (goes_on) match.nodes.push_back(graph_.value(value).producer);
      value = next;
    }
    const ir::Node* node = producer(value, OpKind::BatchMatMul);
    if (node == nullptr) return false;
    const auto params = node->params.as<BatchMatMulParams>();
    if (params.is_a_transposed != 0) return false;
    match.nodes.push_back(id_of(*node));
    match.products = dims_of(value);
    match.q = node->inputs[0];
    while (take_scale(match.q, match)) {
    }
    match.k = node->inputs[1];
    return params.is_b_transposed != 0 ? take_keys(match) : take_turned_keys(match);
  }
  bool take_keys(AttentionMatch& match) const {
    while (take_scale(match.k, match)) {
    }
    return true;
  }
  // Goes from k as [..., size, keys] to where it was turned.
  bool take_turned_keys(AttentionMatch& match) const {
    while (take_scale(match.k, match) || take_reshape(match.k, 2)) {
    }
    const ir::Node* turned = producer(match.k, OpKind::Transpose);
    if (turned == nullptr) return false;
    match.order = order_of(graph_, *turned);
    std::swap(match.order[match.order.size() - 1], match.order[match.order.size() - 2]);
    match.k = turned->inputs[0];
    if (llvm::is_sorted(match.order)) match.order.clear();
    return true;
  }

  ir::Dims dims_of_keys(const AttentionMatch& match) const {
    ir::Dims dims = dims_of(match.k);
    for (size_t i = 0; i < match.order.size(); ++i) dims[i] = dims_of(match.k)[match.order[i]];
    return dims;
  }

  // Checks all dims, and counts the heads of k.
  bool fits(ir::NodeId root, AttentionMatch& match) const {
    const ir::Dims& y = dims_of(graph_.node(root).output);
    const ir::Dims& weights = dims_of(graph_.node(root).inputs[0]);
    const ir::Dims& q = dims_of(match.q);
    const ir::Dims& v = dims_of(match.v);
    const ir::Dims& products = match.products;
    const ir::Dims k = dims_of_keys(match);
    const ir::Dims scores = of_rank_4(match.scores);
    if (q.size() < 2 || k.size() < 2 || v.size() < 2) return false;
    const auto heads = [](llvm::ArrayRef<int32_t> dims) { return count_of(dims.drop_back(2)); };
    const int64_t all = heads(products);
    if (heads(q) != all || heads(k) != all || heads(v) != all || heads(weights) != all ||
        heads(y) != all || weights[weights.size() - 2] != products[products.size() - 2])
      return false;
    const int32_t size = q.back();
    constexpr int32_t kMaxSize = kernels::kAttentionMaxSize;
    if (size % 4 != 0 || v.back() % 4 != 0 || size > kMaxSize || v.back() > kMaxSize) return false;
    if (k.back() != size || k[k.size() - 2] != scores[3] || v[v.size() - 2] != scores[3])
      return false;
    if (all % scores[0] != 0 || scores[1] % (all / scores[0]) != 0) return false;
    match.groups = static_cast<int32_t>(all / scores[0]);
    if (products[products.size() - 2] != scores[1] / match.groups * scores[2]) return false;
    const ir::ValueId added = match.bias != ir::kNoId ? match.bias : match.hidden;
    return added == ir::kNoId || dims_of(added).size() <= match.scores.size();
  }

  // Goes by Reshapes that put 1s in front of the dims.
  ir::ValueId without_ones(ir::ValueId value) const {
    const auto is_one = [](int32_t dim) { return dim == 1; };
    for (ir::ValueId next = value; take_reshape(next, 1); value = next)
      if (ir::Dims(llvm::find_if_not(dims_of(next), is_one), dims_of(next).end()) !=
          ir::Dims(llvm::find_if_not(dims_of(value), is_one), dims_of(value).end()))
        break;
    return value;
  }

  // Returns true if the condition holds where a row of the bias is -infinity, or nowhere.
  bool take_hidden_rows(ir::ValueId condition, AttentionMatch& match) const {
    const ir::Value& value = graph_.value(condition);
    if (value.is_constant)
      return llvm::all_of(value.as<uint8_t>(), [](uint8_t hides) { return hides == 0; });
    if (value.producer == ir::kNoId || match.bias == ir::kNoId) return false;
    const ir::Node& equal = graph_.node(value.producer);
    if (equal.op != OpKind::Binary || equal.params.as<BinaryParams>().kind != kBinaryEqual)
      return false;
    for (size_t i = 0; i < 2; ++i) {
      const ir::Node* highest = producer(equal.inputs[i], OpKind::Reduce);
      if (highest == nullptr || number_of(graph_, equal.inputs[1 - i]) != -kInfinity) continue;
      const auto params = highest->params.as<ReduceParams>();
      const ir::Dims& dims = dims_of(highest->inputs[0]);
      if (params.kind != kReduceMax ||
          params.axes_mask != 1 << (static_cast<int32_t>(dims.size()) - 1) ||
          without_ones(highest->inputs[0]) != without_ones(match.bias) ||
          dims.back() != match.scores.back())
        continue;
      match.params.zero_if_hidden = 1;
      return true;
    }
    return false;
  }

  // ---- the fused node ----

  void fuse(ir::NodeId root, const AttentionMatch& match) {
    const ir::Dims scores = of_rank_4(match.scores);
    const int32_t size = dims_of(match.q).back();
    const int32_t columns = dims_of(match.v).back();
    const ir::ValueId result = graph_.node(root).output;
    ir::ValueId k = match.k;
    if (!match.order.empty()) {
      k = append(root, OpKind::Transpose, transpose_params(match.order), {match.k},
                 {DType::F32, dims_of_keys(match)});
    }
    ir::Node node;
    node.op = OpKind::Attention;
    node.name = graph_.node(root).name;
    node.inputs = {reshaped(root, match.q, {scores[0], scores[1], scores[2], size}),
                   reshaped(root, k, {scores[0], match.groups, scores[3], size}),
                   reshaped(root, match.v, {scores[0], match.groups, scores[3], columns})};
    AttentionParams params = match.params;
    if (const ir::ValueId bias = bias_of(root, match); bias != ir::kNoId) {
      node.inputs.push_back(bias);
      params.has_bias = 1;
    }
    node.params = ir::OpParams::of(OpKind::Attention, params);
    const ir::Dims dims = {scores[0], scores[1], scores[2], columns};
    if (dims == dims_of(result)) {
      node.output = result;
      readers_.replace(root, std::move(node));
    } else {
      const ir::ValueId y =
          append(root, OpKind::Attention, node.params, node.inputs, {DType::F32, dims});
      ir::Node view = graph_.node(root);
      view.op = OpKind::Reshape;
      view.params = {};
      view.inputs = {y};
      readers_.replace(root, std::move(view));
    }
    for (ir::NodeId before : match.nodes) {
      if (before == root) continue;
      dead_[before] = true;
      readers_.remove(before);
    }
  }

  ir::ValueId append(ir::NodeId before, OpKind op, ir::OpParams params,
                     llvm::ArrayRef<ir::ValueId> inputs, const ir::TensorType& type) {
    ir::Node node;
    node.op = op;
    node.params = std::move(params);
    node.inputs.assign(inputs.begin(), inputs.end());
    node.name = names_.take(graph_.value(graph_.node(before).output).name + ".attention");
    std::string name = node.name;
    return graph_.add_node(std::move(node), std::move(name), type);
  }

  ir::ValueId reshaped(ir::NodeId before, ir::ValueId value, const ir::Dims& dims) {
    if (dims_of(value) == dims) return value;
    const ir::TensorType type = {graph_.value(value).type.dtype, dims};
    if (graph_.value(value).is_constant)
      return graph_.add_constant(names_.take(graph_.value(value).name + ".attention"), type,
                                 graph_.value(value).bytes);
    return append(before, OpKind::Reshape, {}, {value}, type);
  }

  // Returns what is added to the scores, of rank 4, so that parts read rows of it; kNoId: nothing.
  ir::ValueId bias_of(ir::NodeId before, const AttentionMatch& match) {
    if (match.bias != ir::kNoId)
      return reshaped(before, match.bias, of_rank_4(dims_of(match.bias)));
    if (match.hidden == ir::kNoId) return ir::kNoId;
    const ir::Dims dims = of_rank_4(dims_of(match.hidden));
    const float numbers[] = {0.0f, static_cast<float>(match.lowest)};
    const ir::Value& condition = graph_.value(match.hidden);
    const std::string name = graph_.value(match.hidden).name;
    if (condition.is_constant) {
      std::vector<float> bias;
      for (uint8_t holds : condition.as<uint8_t>())
        bias.push_back(numbers[(holds != 0) == match.hides_true ? 1 : 0]);
      return graph_.add_constant(names_.take(name + ".attention"), {DType::F32, dims},
                                 bytes_of(llvm::makeArrayRef(bias)));
    }
    ir::ValueId constants[2];
    for (size_t i = 0; i < 2; ++i)
      constants[i] = graph_.add_constant(names_.take(name + ".number"), {DType::F32, {1}},
                                         bytes_of(llvm::makeArrayRef(&numbers[i], 1)));
    const ir::ValueId shown = reshaped(before, match.hidden, dims);
    return append(before, OpKind::Where, {},
                  {shown, constants[match.hides_true ? 1 : 0], constants[match.hides_true ? 0 : 1]},
                  {DType::F32, dims});
  }

  ir::Graph& graph_;
  Readers readers_;
  NewNames names_;
  std::vector<bool> dead_;
};

}  // namespace

llvm::Error fuse_attention(ir::Graph& graph) {
  AttentionFusion(graph).run();
  return llvm::Error::success();
}

}  // namespace codl::compiler
