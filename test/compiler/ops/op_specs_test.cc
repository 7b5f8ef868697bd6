#include <array>
#include <set>
#include <sstream>

#include "compiler/frontend/graph/importer.h"
#include "compiler/interp/interpreter.h"
#include "compiler/ops/multiply_adds.h"
#include "compiler/support/error.h"
#include "test/compiler/ops/op_cases.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

using compiler::Bytes;

int dim_of(SplitDim dim) { return dim == SplitDim::Height ? 2 : 1; }

// Calls body(element index, position along `dim`) for every element of the type.
template <typename Body>
void for_each_element(const ir::TensorType& type, int dim, Body body) {
  int64_t inner = 1;
  for (int32_t i = dim + 1; i < type.rank(); ++i) inner *= type.dims[i];
  for (int64_t i = 0; i < type.element_count(); ++i)
    body(i, static_cast<int32_t>(i / inner % type.dims[dim]));
}

// Finds the rows (channels) that a node reads by trying: reads[o][i] is true if output row
// (channel) `o` changes when row (channel) `i` of the operand does.
std::vector<std::vector<bool>> reads_of(const ir::Graph& graph, uint32_t operand, SplitDim dim) {
  const ir::NodeView node{graph, graph.node(0)};
  std::vector<Bytes> inputs;
  for (uint32_t i = 0; i < node.input_count(); ++i)
    inputs.push_back(node.input_value(i).is_constant
                         ? llvm::ArrayRef<uint8_t>(node.input_value(i).bytes).vec()
                         : random_floats(node.input(i).element_count(), 100 + i));
  auto evaluate = [&] {
    llvm::SmallVector<llvm::ArrayRef<uint8_t>, 4> views(inputs.begin(), inputs.end());
    return value_of(compiler::evaluate_node(node, views));
  };
  const auto before = evaluate();
  const int axis = dim_of(dim);
  std::vector<std::vector<bool>> reads(node.output().dims[axis],
                                       std::vector<bool>(node.input(operand).dims[axis], false));
  for (int32_t changed = 0; changed < node.input(operand).dims[axis]; ++changed) {
    const Bytes original = inputs[operand];
    auto* elements = reinterpret_cast<float*>(inputs[operand].data());
    // Values are larger than all others, so that a maximum changes, and different per element, so
    // that sums and differences of two do.
    for_each_element(node.input(operand), axis, [&](int64_t i, int32_t position) {
      if (position == changed) elements[i] += 4.0f + 0.01f * static_cast<float>(i % 97);
    });
    const auto after = evaluate();
    inputs[operand] = original;
    for_each_element(node.output(), axis, [&](int64_t i, int32_t position) {
      if (std::memcmp(&before[i * sizeof(float)], &after[i * sizeof(float)], sizeof(float)) != 0)
        reads[position][changed] = true;
    });
  }
  return reads;
}

// Returns the smallest range with everything that output positions `part` read.
Range hull_of(const std::vector<std::vector<bool>>& reads, Range part) {
  Range hull = {INT32_MAX, 0};
  for (int32_t o = part.begin; o < part.end; ++o)
    for (size_t i = 0; i < reads[o].size(); ++i)
      if (reads[o][i]) {
        hull.begin = std::min(hull.begin, static_cast<int32_t>(i));
        hull.end = std::max(hull.end, static_cast<int32_t>(i) + 1);
      }
  return hull;
}

std::string text_of(const std::vector<Range>& ranges) {
  std::ostringstream os;
  for (Range range : ranges) os << '[' << range.begin << ',' << range.end << ") ";
  return os.str();
}

}  // namespace

TEST_CASE("input_range is exactly what the reference kernel reads") {
  for (const OpCase& op_case : op_cases()) {
    const ir::Graph graph = graph_of(op_case);
    const ir::NodeView node{graph, graph.node(0)};
    const compiler::OpSpec& spec = compiler::op_spec(op_case.op);
    for (const compiler::SplitRule& rule : spec.splits(node)) {
      for (uint32_t operand = 0; operand < node.input_count(); ++operand) {
        if (node.input_value(operand).is_constant) {
          CHECK(spec.input_range(node, operand, rule.dim, {0, 1}) ==
                compiler::whole_extent(node.input(operand), rule.dim));
          continue;
        }
        INFO(op_case.name << ", operand " << operand << ", dim " << static_cast<int>(rule.dim));
        const auto reads = reads_of(graph, operand, rule.dim);
        for (int32_t begin = 0; begin < rule.extent; ++begin)
          for (int32_t end = begin + 1; end <= rule.extent; ++end) {
            const Range part = {begin, end};
            const Range found = spec.input_range(node, operand, rule.dim, part);
            const Range hull = hull_of(reads, part);
            INFO("part, read, found " << text_of({part, hull, found}));
            if (hull.empty()) {
              // Windows in the padding alone read nothing, but still name an element.
              CHECK(found.count() == 1);
            } else {
              CHECK(found.contains(hull));
              // Only if the edge cuts a dilated window are its taps further in.
              CHECK(hull.begin - found.begin < op_case.dilation);
              CHECK(found.end - hull.end < op_case.dilation);
            }
            CHECK(compiler::whole_extent(node.input(operand), rule.dim).contains(found));
          }
      }
    }
  }
}

TEST_CASE("a part in the padding reads the row next to it") {
  for (const OpCase& op_case : op_cases()) {
    if (op_case.name != "conv of padding") continue;
    // With a filter of 1 row, 3 rows, and pads 2 and 1, output rows 0, 1 and 5 see only padding.
    const ir::Graph graph = graph_of(op_case);
    const ir::NodeView node{graph, graph.node(0)};
    const auto range = [&](Range part) {
      return compiler::op_spec(op_case.op).input_range(node, 0, SplitDim::Height, part);
    };
    CHECK(node.output().dims[2] == 6);
    CHECK(range({0, 2}) == Range{0, 1});
    CHECK(range({5, 6}) == Range{2, 3});
    CHECK(range({0, 6}) == Range{0, 3});
  }
}

TEST_CASE("nodes are cut where every part is a whole operator") {
  const std::set<std::string> not_by_height = {"matmul",           "global average pool",
                                               "softmax",          "transpose",
                                               "reshape",          "concat of rows",
                                               "clip of a matrix", "convert of a matrix",
                                               "instance norm",    "instance norm with constants",
                                               "norm of channels"};
  const std::set<std::string> by_channel = {"conv 1x1",
                                            "conv 3x3",
                                            "conv stride 2, uneven pads",
                                            "conv stride larger than filter",
                                            "conv dilated",
                                            "conv of padding",
                                            "conv residual",
                                            "depthwise",
                                            "depthwise stride 2, 5x3",
                                            "depthwise dilated",
                                            "matmul",
                                            "max pool",
                                            "max pool, ceil",
                                            "average pool, uneven pads",
                                            "average pool, ceil",
                                            "global average pool",
                                            "leaky relu",
                                            "add",
                                            "sub per channel",
                                            "sub per pixel",
                                            "sub of both",
                                            "add constant",
                                            "pow per pixel",
                                            "resize nearest",
                                            "resize linear",
                                            "resize linear, corners",
                                            "depth to space",
                                            "instance norm",
                                            "instance norm with constants",
                                            "pad of zeros",
                                            "pad of edges",
                                            "pad by reflection",
                                            "pad by reflections",
                                            "pad by reflections of two",
                                            "pad by reflection of one",
                                            "pad by wrapping",
                                            "pad by wrapping again"};
  for (const OpCase& op_case : op_cases()) {
    INFO(op_case.name);
    const ir::Graph graph = graph_of(op_case);
    const ir::NodeView node{graph, graph.node(0)};
    bool height = false;
    bool channel = false;
    for (const compiler::SplitRule& rule : compiler::op_spec(op_case.op).splits(node)) {
      const bool is_height = rule.dim == SplitDim::Height;
      (is_height ? height : channel) = true;
      CHECK(rule.extent == node.output().dims[dim_of(rule.dim)]);
      CHECK(rule.granularity == (is_height ? 1 : kChannelPanel));
    }
    if (op_case.is_of_kernels) {
      const auto has_kernel = [&](SplitDim dim) {
        return llvm::any_of(kKernelInfos, [&](const KernelInfo& kernel) {
          return kernel.op == op_case.op && kernel.can_split(dim);
        });
      };
      CHECK(height == has_kernel(SplitDim::Height));
      CHECK(channel == has_kernel(SplitDim::OutputChannel));
      continue;
    }
    CHECK(height == (!op_case.runs_whole && !not_by_height.count(op_case.name)));
    CHECK(channel == (by_channel.count(op_case.name) != 0));
  }
}

TEST_CASE("multiply-adds of a node: sums of products, padding included") {
  for (const OpCase& op_case : op_cases()) {
    const ir::Graph graph = graph_of(op_case);
    const double macs = compiler::multiply_adds(ir::NodeView{graph, graph.node(0)});
    // There are 34 channels of 5x4 outputs, 2 input channels each, 3x3 taps.
    if (op_case.name == "conv grouped") CHECK(macs == 34.0 * 5 * 4 * 2 * 9);
    if (op_case.name == "depthwise") CHECK(macs == 18.0 * 6 * 4 * 9);
    if (op_case.name == "matmul") CHECK(macs == 2.0 * 35 * 5);
    if (op_case.name == "add") CHECK(macs == 0);
  }
}

TEST_CASE("multiply-adds of a step: of its rows or channels") {
  kernels::OperandShape shapes[3];
  const auto set = [&](int i, std::array<int32_t, 4> dims) {
    shapes[i].rank = 4;
    std::copy(dims.begin(), dims.end(), shapes[i].dims);
  };
  set(0, {1, 16, 10, 8});
  set(1, {32, 16, 3, 3});
  set(2, {1, 32, 10, 8});
  shapes[2].layout = Layout::Nhwc;
  shapes[2].row_end = 10;
  kernels::StepShape step;
  step.kernel = find_kernel(1);
  REQUIRE(step.kernel->op == OpKind::Conv2d);
  step.operands = shapes;
  step.operand_count = 3;
  CHECK(compiler::multiply_adds(step) == 32.0 * 10 * 8 * 16 * 9);
  step.part_dim = SplitDim::Height;
  step.part = {2, 5};
  CHECK(compiler::multiply_adds(step) == Approx(32.0 * 3 * 8 * 16 * 9));
  step.part_dim = SplitDim::OutputChannel;
  step.part = {16, 32};
  CHECK(compiler::multiply_adds(step) == Approx(16.0 * 10 * 8 * 16 * 9));
}

TEST_CASE("every operator has a case, and its row of ops.def") {
  std::set<OpKind> tested;
  for (const OpCase& op_case : op_cases()) tested.insert(op_case.op);
  for (const compiler::OpSpec* spec : compiler::all_op_specs()) {
    INFO(op_info(spec->kind).name);
    CHECK(tested.count(spec->kind) == 1);
    CHECK(&compiler::op_spec(spec->kind) == spec);
  }
}

TEST_CASE("specs name the ONNX operators that the importer has rules for") {
  std::set<std::string> named;
  for (const compiler::OpSpec* spec : compiler::all_op_specs()) {
    std::istringstream words{std::string(spec->onnx_types)};
    for (std::string word; words >> word;) named.insert(word);
  }
  // These rules leave no node.
  for (const char* folded : {"BlackmanWindow",
                             "Constant",
                             "ConstantOfShape",
                             "EyeLike",
                             "HammingWindow",
                             "HannWindow",
                             "If",
                             "Loop",
                             "MelWeightMatrix",
                             "Optional",
                             "OptionalGetElement",
                             "OptionalHasElement",
                             "Range",
                             "SequenceAt",
                             "SequenceConstruct",
                             "SequenceEmpty",
                             "SequenceErase",
                             "SequenceInsert",
                             "SequenceLength",
                             "SequenceMap",
                             "Shape",
                             "Size"})
    named.insert(folded);
  std::set<std::string> imported;
  for (const compiler::ImportEntry& row : compiler::import_table()) imported.insert(row.name());
  CHECK(named == imported);
}

TEST_CASE("infer rejects operands that do not fit") {
  struct Bad {
    OpCase op_case;
    const char* expected;
  };
  const auto conv = ir::OpParams::of(
      OpKind::Conv2d,
      Conv2dParams{.stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1, .groups = 1});
  const auto bad_stride = ir::OpParams::of(
      OpKind::Conv2d, Conv2dParams{.stride_w = 1, .dilation_h = 1, .dilation_w = 1, .groups = 1});
  const auto pool = ir::OpParams::of(OpKind::Pool2d, Pool2dParams{.kind = kPool2dMax,
                                                                  .kernel_h = 2,
                                                                  .kernel_w = 2,
                                                                  .stride_h = 1,
                                                                  .stride_w = 1,
                                                                  .dilation_h = 1,
                                                                  .dilation_w = 1,
                                                                  .pad_top = 2});
  const auto add = ir::OpParams::of(OpKind::Binary, BinaryParams{.kind = kBinaryAdd});
  const std::vector<Bad> bad = {
      {{"channels", OpKind::Conv2d, conv, {{1, 3, 5, 5}}, {{8, 4, 3, 3}, {8}}},
       "channels: expected 4 input channels (1 groups of 4), found 3"},
      {{"bias", OpKind::Conv2d, conv, {{1, 3, 5, 5}}, {{8, 3, 3, 3}, {7}}},
       "bias: expected a bias of 8 elements, found 7"},
      {{"size", OpKind::Conv2d, conv, {{1, 3, 2, 5}}, {{8, 3, 3, 3}, {8}}},
       "size: expected a filter that fits the padded input, found f32[8,3,3,3] over f32[1,3,2,5]"},
      {{"stride", OpKind::Conv2d, bad_stride, {{1, 3, 5, 5}}, {{8, 3, 3, 3}, {8}}},
       "stride: expected stride in [1, 16777216], found 0"},
      {{"rank", OpKind::Conv2d, conv, {{3, 5, 5}}, {{8, 3, 3, 3}, {8}}},
       "rank: expected operand 0 of rank 4, found f32[3,5,5]"},
      {{"count", OpKind::Conv2d, conv, {{1, 3, 5, 5}}, {{8, 3, 3, 3}}},
       "count: expected 3 operands, found 2"},
      {{"nothing", OpKind::Pool2d, pool, {{1, 3, 5, 5}}, {}},
       "nothing: expected windows with an element, found window 0 in the padding"},
      {{"broadcast", OpKind::Binary, add, {{2, 3}, {2, 4}}, {}},
       "broadcast: expected operands that broadcast, found f32[2,3] and f32[2,4]"},
      {{"huge", OpKind::Binary, add, {{1 << 20, 1}, {1, 1 << 20}}, {}},
       "huge: expected at most 1073741824 elements, found more"},
      {whole("mixed types", OpKind::Binary, BinaryParams{.kind = kBinaryAdd}, {{2}, {2}},
             {DType::I64, DType::I32}),
       "mixed types: expected operands of one type, found i64[2] and i32[2]"},
      {whole("bits", OpKind::Binary, BinaryParams{.kind = kBinaryBitwiseAnd}, {{2}, {2}}, {}),
       "bits: expected operands that BitwiseAnd is computed of, found f32[2]"},
      {whole("halves", OpKind::Unary, UnaryParams{.kind = kUnaryExp}, {{2}}, {DType::F16}),
       "halves: expected an operand that Exp is computed of, found f16[2]"},
      {whole("condition", OpKind::Where, NoParams{}, {{2}, {2}, {2}}, {}),
       "condition: expected operand 0 of type bool, found f32[2]"},
      {whole("three dims", OpKind::Where, NoParams{}, {{2}, {3}, {1}},
             {DType::Bool, DType::F32, DType::F32}),
       "three dims: expected operands that broadcast, found bool[2] and f32[3] and f32[1]"},
      {whole("dtype", OpKind::Cast, CastParams{.to = 99}, {{2}}, {}),
       "dtype: expected the number of a dtype, found 99"},
      {whole("flags added", OpKind::Cumulate, CumulateParams{}, {{2}}, {DType::Bool}),
       "flags added: expected an operand of f32, f64 or integers, found bool[2]"},
      {whole("no such axis", OpKind::Cumulate, CumulateParams{.axis = 1}, {{2}}, {}),
       "no such axis: expected an axis in [0, 1), found 1"},
      {{"axis",
        OpKind::Softmax,
        ir::OpParams::of(OpKind::Softmax, SoftmaxParams{.axis = 2}),
        {{2, 3}},
        {}},
       "axis: expected an axis in [0, 2), found 2"},
      {{"perm",
        OpKind::Transpose,
        ir::OpParams::of(OpKind::Transpose, TransposeParams{}),
        {{2, 3}},
        {}},
       "perm: expected a permutation of [0, 2), found 0 at 1"},
      {{"joined",
        OpKind::Concat,
        ir::OpParams::of(OpKind::Concat, ConcatParams{.axis = 1}),
        {{2, 3}, {3, 3}},
        {}},
       "joined: expected dims equal but for axis 1, found f32[2,3] and f32[3,3]"},
      {whole("mixed", OpKind::Concat, ConcatParams{}, {{2}, {2}}, {DType::F32, DType::I64}),
       "mixed: expected operands of one type and rank, found f32[2] and i64[2]"},
      {whole("outside", OpKind::Slice, SliceParams{.start_0 = 1, .step_0 = 2, .count_0 = 2}, {{3}},
             {}),
       "outside: expected elements in [0, 3) along axis 0, found 1 to 3"},
      {whole("none", OpKind::Slice, SliceParams{.step_0 = 1}, {{3}}, {}),
       "none: expected at least 1 element along axis 0, found 0"},
      {whole("cropped", OpKind::Pad, PadParams{.kind = kPadEdge, .end_0 = -1}, {{3}}, {}),
       "cropped: expected pads >= 0 along axis 0, found 0 and -1"},
      {whole("filled", OpKind::Pad, PadParams{.kind = kPadConstant, .has_value = 1}, {{3}, {1}},
             {DType::I64, DType::F32}),
       "filled: expected operand 1 of type i64, found f32[1]"},
      {whole("indices", OpKind::Gather, GatherParams{}, {{3}, {1}}, {}),
       "indices: expected operand 1 of type i64, found f32[1]"},
      {whole("wider", OpKind::GatherElements, GatherElementsParams{}, {{3, 2}, {3, 3}},
             {DType::F32, DType::I64}),
       "wider: expected indices inside f32[3,2] but for axis 0, found i64[3,3]"},
      {whole("tuple", OpKind::GatherNd, GatherNdParams{.batch_dims = 1}, {{3, 2}, {3, 2}},
             {DType::F32, DType::I64}),
       "tuple: expected at most 1 indices per tuple, found 2"},
      {whole("flags", OpKind::ScatterElements, ScatterElementsParams{.reduction = 1},
             {{3}, {3}, {3}}, {DType::Bool, DType::I64, DType::Bool}),
       "flags: expected a reduction of bool, found 1"},
      {whole("updates", OpKind::ScatterNd, ScatterNdParams{}, {{3, 2}, {4, 1}, {4}},
             {DType::F32, DType::I64, DType::F32}),
       "updates: expected updates of f32[4,2], found f32[4]"},
      {whole("matrix", OpKind::Compress, CompressParams{}, {{3}, {3, 1}},
             {DType::F32, DType::Bool}),
       "matrix: expected a condition of rank 1, found bool[3,1]"},
      {whole("scores", OpKind::NonMaxSuppression, NonMaxSuppressionParams{},
             {{2, 9, 4}, {2, 9, 3}, {1}, {1}, {1}},
             {DType::F32, DType::F32, DType::I64, DType::F32, DType::F32}),
       "scores: expected boxes [b, n, 4] and scores [b, c, n], found f32[2,9,4] and f32[2,9,3]"},
      {whole("two axes", OpKind::Reduce, ReduceParams{.kind = kReduceArgMax, .axes_mask = 3},
             {{2, 3}}, {}),
       "two axes: expected one axis, found mask 3"},
      {whole("sum of flags", OpKind::Reduce, ReduceParams{.kind = kReduceSum, .axes_mask = 1},
             {{3}}, {DType::Bool}),
       "sum of flags: expected an operand of f32, f64 or integers, found bool[3]"},
      {whole("third axis", OpKind::Reduce, ReduceParams{.kind = kReduceSum, .axes_mask = 4},
             {{2, 3}}, {}),
       "third axis: expected axes in [0, 2), found mask 4"},
      {whole("four of three", OpKind::TopK, TopKParams{.k = 4}, {{3}}, {}),
       "four of three: expected k in [1, 3], found 4"},
      {whole("scale", OpKind::Normalize, NormalizeParams{.axes_mask = 2, .has_scale = 1},
             {{2, 3}, {2}}, {}),
       "scale: expected operand 1 to broadcast to f32[2,3], found f32[2]"},
      {whole("inner", OpKind::BatchMatMul, BatchMatMulParams{.is_b_transposed = 1},
             {{2, 3}, {3, 2}}, {}),
       "inner: expected operands of one inner dim, found f32[2,3] and f32[3,2]"},
      {whole("batch", OpKind::BatchMatMul, BatchMatMulParams{}, {{2, 2, 3}, {3, 3, 2}}, {}),
       "batch: expected operands that broadcast, found f32[2,2,3] and f32[3,3,2]"},
  };
  for (const Bad& each : bad) {
    INFO(each.op_case.name);
    ir::Graph graph;
    ir::Node node;
    node.op = each.op_case.op;
    node.params = each.op_case.params;
    node.name = each.op_case.name;
    const std::vector<DType>& dtypes = each.op_case.dtypes;
    for (const auto* list : {&each.op_case.inputs, &each.op_case.constants})
      for (const ir::Dims& dims : *list) {
        const size_t i = node.inputs.size();
        node.inputs.push_back(
            graph.add_input(std::to_string(i), {i < dtypes.size() ? dtypes[i] : DType::F32, dims}));
      }
    CHECK(error_of(compiler::op_spec(node.op).infer(ir::NodeView{graph, node})) == each.expected);
  }
}

}  // namespace codl::test
