// Makes a Gather of the product of one-hot rows and a constant matrix: an embedding.
//
//   float(index == [0, 1 ... n - 1]) w + bias = table[index]
//
// Needs:   a MatMul without activation with finite constants; rows that nobody else reads, made by
//          comparing i32 or i64 with 0 to n - 1 along the last axis and a Cast, or by a Where of 1
//          and 0; Reshapes that keep the last axis may stand anywhere.
// Gives:   rows of a table that holds w + bias, and below the bias alone, for an index that is not
//          in 0 to n - 1: such an index is clipped to the last row, as is -1, which counts from the
//          end. It reads as many bytes as the result has, in place of comparisons, conversions
//          and multiply-adds for n columns of each row. The result is the same to the last bit.
// Order:   after fold_batch_norm, which puts the bias into the MatMul; before fuse_activation.
#include <cmath>
#include <optional>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

struct OneHot {
  ir::ValueId index = ir::kNoId;
  int64_t depth = 0;
  llvm::SmallVector<ir::NodeId, 6> nodes;  // nodes that only compute the rows, from the end
};

// Returns true if the constant holds 0 to depth - 1 along the last axis.
bool counts_up(const ir::Value& value, int64_t depth) {
  if (!value.is_constant || value.type.dims.empty() || value.type.dims.back() != depth ||
      value.type.element_count() != depth)
    return false;
  for (int64_t i = 0; i < depth; ++i)
    if ((value.type.dtype == DType::I64 ? value.as<int64_t>()[i]
                                        : int64_t{value.as<int32_t>()[i]}) != i)
      return false;
  return true;
}

class OneHotFusion {
 public:
  explicit OneHotFusion(ir::Graph& graph)
      : graph_(graph), readers_(graph), names_(graph), dead_(graph.nodes().size(), false) {}

  void run() {
    const auto count = static_cast<ir::NodeId>(graph_.nodes().size());
    for (ir::NodeId id = 0; id < count; ++id)
      if (const auto rows = one_hot_of(id)) gather(id, *rows);
    dead_.resize(graph_.nodes().size(), false);
    remove_dead(graph_, dead_);
    sort_nodes(graph_);
  }

 private:
  // Returns the source of the rows that MatMul `id` reads, if they are one-hot.
  std::optional<OneHot> one_hot_of(ir::NodeId id) const {
    const ir::Node& product = graph_.node(id);
    if (product.op != OpKind::MatMul ||
        product.params.as<MatMulParams>().activation != kUnaryIdentity)
      return std::nullopt;
    OneHot rows;
    for (size_t i = 1; i < 3; ++i) {
      const ir::Value& constant = graph_.value(product.inputs[i]);
      if (!constant.is_constant ||
          !llvm::all_of(constant.as<float>(), [](float f) { return std::isfinite(f); }))
        return std::nullopt;
    }
    rows.depth = graph_.value(product.inputs[1]).type.dims[0];
    // A larger number is not exact in a float, which is the type of a Clip's limits.
    constexpr int64_t kMaxDepth = 1 << 24;
    if (rows.depth >= kMaxDepth) return std::nullopt;
    ir::NodeId user = id;
    ir::ValueId value = product.inputs[0];
    const auto take = [&](OpKind op) {
      const ir::NodeId producer = readers_.sole_producer(value, user);
      if (producer == ir::kNoId || graph_.node(producer).op != op) return false;
      user = producer;
      rows.nodes.push_back(producer);
      value = graph_.node(producer).inputs[0];
      return true;
    };
    const auto take_reshapes = [&] {
      while (graph_.value(value).type.dims.back() == rows.depth && take(OpKind::Reshape))
        if (graph_.value(value).type.dims.empty()) return false;
      return graph_.value(value).type.dims.back() == rows.depth;
    };
    if (!take_reshapes()) return std::nullopt;
    if (!take(OpKind::Cast) && !(takes_one_or_zero(value) && take(OpKind::Where)))
      return std::nullopt;
    if (graph_.value(value).type.dtype != DType::Bool || !take_reshapes()) return std::nullopt;
    const ir::Dims dims = graph_.value(value).type.dims;
    if (!take(OpKind::Binary)) return std::nullopt;
    const ir::Node& comparison = graph_.node(user);
    if (comparison.params.as<BinaryParams>().kind != kBinaryEqual) return std::nullopt;
    ir::Dims index_dims = dims;
    index_dims.back() = 1;
    for (size_t i = 0; i < 2; ++i) {
      rows.index = comparison.inputs[i];
      const ir::TensorType& type = graph_.value(rows.index).type;
      if ((type.dtype == DType::I32 || type.dtype == DType::I64) && type.dims == index_dims &&
          !graph_.value(rows.index).is_constant &&
          counts_up(graph_.value(comparison.inputs[1 - i]), rows.depth))
        return rows;
    }
    return std::nullopt;
  }

  // Matches a Where of 1 and 0, whose condition has its dims.
  bool takes_one_or_zero(ir::ValueId value) const {
    const ir::NodeId producer = graph_.value(value).producer;
    if (producer == ir::kNoId || graph_.node(producer).op != OpKind::Where) return false;
    const llvm::ArrayRef<ir::ValueId> inputs = graph_.node(producer).inputs;
    return number_of(graph_, inputs[1]) == 1 && number_of(graph_, inputs[2]) == 0 &&
           graph_.value(inputs[0]).type.dims == graph_.value(value).type.dims;
  }

  void gather(ir::NodeId id, const OneHot& rows) {
    ir::Node product = graph_.node(id);
    const int32_t count = graph_.value(product.output).type.dims[0];
    ir::TensorType type = graph_.value(rows.index).type;
    ir::ValueId index = rows.index;
    if (type.dtype != DType::I64) {
      type.dtype = DType::I64;
      index =
          append(id, OpKind::Cast,
                 ir::OpParams::of(OpKind::Cast, CastParams{.to = static_cast<int32_t>(DType::I64)}),
                 index, type);
    }
    const UnaryParams clip = {
        .kind = kUnaryClip, .alpha = -1, .beta = static_cast<float>(rows.depth)};
    index = append(id, OpKind::Unary, ir::OpParams::of(OpKind::Unary, clip), index, type);
    if (type.rank() != 1) {
      type.dims = {count};
      index = append(id, OpKind::Reshape, {}, index, type);
    }
    const ir::ValueId table = table_of(product.inputs[1], product.inputs[2], rows.depth);
    product.op = OpKind::Gather;
    product.params = ir::OpParams::of(OpKind::Gather, GatherParams{.axis = 0});
    product.inputs = {table, index};
    readers_.replace(id, std::move(product));
    for (ir::NodeId before : rows.nodes) {
      dead_[before] = true;
      readers_.remove(before);
    }
  }

  ir::ValueId append(ir::NodeId before, OpKind op, ir::OpParams params, ir::ValueId x,
                     const ir::TensorType& type) {
    ir::Node node;
    node.op = op;
    node.params = std::move(params);
    node.inputs = {x};
    node.name = names_.take(graph_.value(graph_.node(before).output).name + ".index");
    std::string name = node.name;
    return graph_.add_node(std::move(node), std::move(name), type);
  }

  ir::ValueId table_of(ir::ValueId w, ir::ValueId bias, int64_t depth) {
    const llvm::ArrayRef<float> weights = graph_.value(w).as<float>();
    const llvm::ArrayRef<float> shift = graph_.value(bias).as<float>();
    const auto columns = static_cast<int64_t>(shift.size());
    std::vector<float> table((depth + 1) * columns);
    for (int64_t row = 0; row <= depth; ++row)
      for (int64_t k = 0; k < columns; ++k)
        table[row * columns + k] = (row < depth ? weights[row * columns + k] : 0.0f) + shift[k];
    return graph_.add_constant(
        names_.take(graph_.value(w).name + ".table"),
        {DType::F32, {static_cast<int32_t>(depth + 1), static_cast<int32_t>(columns)}},
        bytes_of(llvm::makeArrayRef(table)));
  }

  ir::Graph& graph_;
  Readers readers_;
  NewNames names_;
  std::vector<bool> dead_;
};

}  // namespace

llvm::Error fuse_one_hot(ir::Graph& graph) {
  OneHotFusion(graph).run();
  return llvm::Error::success();
}

}  // namespace codl::compiler
