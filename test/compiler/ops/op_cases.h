// Lists cases of one node each, which the tests of OpSpecs run over. An operator without cases here
// has the small ones of its kernels. Add a case for each way in which its rows or channels depend
// on each other that those do not show.
#pragma once

#include <array>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "compiler/ops/op_spec.h"
#include "test/kernels/all_cases.h"
#include "test/support/expected.h"

namespace codl::test {

struct OpCase {
  std::string name;
  OpKind op;
  ir::OpParams params;
  std::vector<ir::Dims> inputs;            // activations first ...
  std::vector<ir::Dims> constants;         // ... then weights, in operand order
  std::vector<ir::Dims> late_inputs = {};  // activations after the weights: a residual
  ir::Dims reshape_to = {};                // for an operator whose dims are the output's
  int32_t dilation = 1;                    // along the height, as in the params
  std::vector<DType> dtypes = {};          // one per operand; empty: all f32
  bool runs_whole = false;                 // it has no split rule
  bool is_in_nhwc = false;                 // x and y, as assign_layouts would make them
  bool is_of_kernels = false;              // made from a case of kernels
};

// Returns the same values in [-1, 1] on every run.
inline std::vector<uint8_t> random_floats(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(static_cast<size_t>(count) * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    const float element = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
    std::memcpy(bytes.data() + i * static_cast<int64_t>(sizeof element), &element, sizeof element);
  }
  return bytes;
}

// Returns the same for other dtypes: numbers in [-10, 10].
inline std::vector<uint8_t> random_elements(const ir::TensorType& type, uint32_t seed) {
  if (type.dtype == DType::F32) return random_floats(type.element_count(), seed);
  std::mt19937 random(seed);
  const size_t size = dtype_bytes(type.dtype);
  std::vector<uint8_t> bytes(static_cast<size_t>(type.element_count()) * size);
  for (size_t offset = 0; offset < bytes.size(); offset += size) {
    int64_t element = static_cast<int64_t>(random() % 21) - 10;
    if (type.dtype == DType::Bool) element &= 1;
    std::memcpy(bytes.data() + offset, &element, size);
  }
  return bytes;
}

// Returns the case as a graph: node 0, with its inferred type.
inline ir::Graph graph_of(const OpCase& op_case) {
  ir::Graph graph;
  graph.name = op_case.name;
  ir::Node node;
  node.op = op_case.op;
  node.params = op_case.params;
  node.name = op_case.name;
  auto next_type = [&](const ir::Dims& dims) -> ir::TensorType {
    const size_t i = node.inputs.size();
    return {i < op_case.dtypes.size() ? op_case.dtypes[i] : DType::F32, dims};
  };
  auto add_inputs = [&](const std::vector<ir::Dims>& list) {
    for (const ir::Dims& dims : list)
      node.inputs.push_back(
          graph.add_input("x" + std::to_string(node.inputs.size()), next_type(dims)));
  };
  add_inputs(op_case.inputs);
  for (const ir::Dims& dims : op_case.constants) {
    const uint32_t seed = static_cast<uint32_t>(node.inputs.size());
    const ir::TensorType type = next_type(dims);
    node.inputs.push_back(
        graph.add_constant("c" + std::to_string(seed), type, random_elements(type, seed)));
  }
  add_inputs(op_case.late_inputs);
  const bool has_own_dims = op_case.op == OpKind::Reshape || !op_case.reshape_to.empty();
  const ir::TensorType type =
      has_own_dims ? ir::TensorType{graph.value(node.inputs[0]).type.dtype, op_case.reshape_to}
                   : value_of(compiler::op_spec(op_case.op).infer(ir::NodeView{graph, node}));
  const ir::ValueId x = node.inputs[0];
  const ir::ValueId y = graph.add_node(std::move(node), "y", type);
  if (op_case.is_in_nhwc) graph.value(x).type.layout = graph.value(y).type.layout = Layout::Nhwc;
  graph.set_outputs({y});
  return graph;
}

struct NoParams {};

// Makes a case of an operator that is not cut. `reshape_to`: for one whose dims are the output's.
template <typename Params>
OpCase whole(const char* name, OpKind op, const Params& params, std::vector<ir::Dims> inputs,
             std::vector<DType> dtypes, ir::Dims reshape_to = {}) {
  OpCase op_case;
  op_case.name = name;
  op_case.op = op;
  if constexpr (!std::is_same_v<Params, NoParams>) op_case.params = ir::OpParams::of(op, params);
  op_case.inputs = std::move(inputs);
  op_case.dtypes = std::move(dtypes);
  op_case.reshape_to = std::move(reshape_to);
  op_case.runs_whole = true;
  return op_case;
}

inline OpCase in_nhwc(OpCase op_case) {
  op_case.runs_whole = false;
  op_case.is_in_nhwc = true;
  return op_case;
}

// Makes a case that pads rows.
inline OpCase pad_case(const char* name, int32_t kind, int32_t begin, int32_t end,
                       const ir::Dims& x) {
  return in_nhwc(whole(name, OpKind::Pad,
                       PadParams{.kind = kind, .begin_2 = begin, .begin_3 = 1, .end_2 = end}, {x},
                       {}));
}

// Returns a whole step of f32 as a node, and nothing for any other step.
inline std::optional<OpCase> op_case_of(const KernelCase& item) {
  OpCase op_case;
  op_case.name = item.name;
  op_case.op = item.op;
  std::array<int32_t, 64> params = {};
  std::copy(item.params.begin(), item.params.end(), params.begin());
  op_case.params = ir::OpParams::of(item.op, params);
  op_case.is_in_nhwc = item.operands[0].layout == Layout::Nhwc;
  op_case.is_of_kernels = true;
  if (item.part_dim != SplitDim::None || !is_small(item)) return std::nullopt;
  for (const OperandShape& operand : llvm::ArrayRef<OperandShape>(item.operands).drop_back()) {
    if (operand.dtype != DType::F32) return std::nullopt;
    const bool is_constant = operand.layout == Layout::Packed;
    auto& dims = is_constant                 ? op_case.constants
                 : op_case.constants.empty() ? op_case.inputs
                                             : op_case.late_inputs;
    dims.emplace_back(operand.dims, operand.dims + operand.rank);
  }
  return op_case;
}

inline std::vector<OpCase> op_cases() {
  auto conv = [](int32_t stride, int32_t dilation, int32_t top, int32_t bottom, int32_t groups) {
    return ir::OpParams::of(OpKind::Conv2d, Conv2dParams{.stride_h = stride,
                                                         .stride_w = 1,
                                                         .dilation_h = dilation,
                                                         .dilation_w = 1,
                                                         .pad_top = top,
                                                         .pad_left = 1,
                                                         .pad_bottom = bottom,
                                                         .pad_right = 1,
                                                         .groups = groups});
  };
  auto with_residual = [](ir::OpParams params) {
    auto fields = params.as<Conv2dParams>();
    fields.has_residual = 1;
    return ir::OpParams::of(OpKind::Conv2d, fields);
  };
  auto depthwise = [](int32_t stride, int32_t dilation, int32_t top, int32_t bottom) {
    return ir::OpParams::of(OpKind::DepthwiseConv2d, DepthwiseConv2dParams{.stride_h = stride,
                                                                           .stride_w = 1,
                                                                           .dilation_h = dilation,
                                                                           .dilation_w = 1,
                                                                           .pad_top = top,
                                                                           .pad_left = 1,
                                                                           .pad_bottom = bottom,
                                                                           .pad_right = 1});
  };
  auto pool = [](int32_t kind, int32_t kernel, int32_t stride, int32_t top, int32_t bottom,
                 int32_t ceil_mode) {
    return ir::OpParams::of(OpKind::Pool2d, Pool2dParams{.kind = kind,
                                                         .kernel_h = kernel,
                                                         .kernel_w = 2,
                                                         .stride_h = stride,
                                                         .stride_w = 1,
                                                         .dilation_h = 1,
                                                         .dilation_w = 1,
                                                         .pad_top = top,
                                                         .pad_bottom = bottom,
                                                         .ceil_mode = ceil_mode});
  };
  auto unary = [](int32_t kind) {
    return ir::OpParams::of(OpKind::Unary, UnaryParams{.kind = kind, .alpha = 0.1f, .beta = 6});
  };
  auto binary = [](int32_t kind) {
    return ir::OpParams::of(OpKind::Binary, BinaryParams{.kind = kind});
  };
  auto resize = [](int32_t kind, int32_t coordinates, float scale_h) {
    return ir::OpParams::of(OpKind::Resize, ResizeParams{.kind = kind,
                                                         .coordinates = coordinates,
                                                         .nearest = kResizeFloor,
                                                         .scale_0 = 1,
                                                         .scale_1 = 1,
                                                         .scale_2 = scale_h,
                                                         .scale_3 = 1});
  };
  auto depth_to_space = [](int32_t is_channel_major, int32_t crop_top) {
    return ir::OpParams::of(OpKind::DepthToSpace,
                            DepthToSpaceParams{.block_h = 2,
                                               .block_w = 2,
                                               .is_channel_major = is_channel_major,
                                               .crop_top = crop_top});
  };
  std::vector<OpCase> cases = {
      {"conv 1x1", OpKind::Conv2d, conv(1, 1, 0, 0, 1), {{1, 3, 6, 4}}, {{20, 3, 1, 3}, {20}}},
      {"conv 3x3", OpKind::Conv2d, conv(1, 1, 1, 1, 1), {{2, 3, 7, 4}}, {{20, 3, 3, 3}, {20}}},
      {"conv stride 2, uneven pads",
       OpKind::Conv2d,
       conv(2, 1, 0, 1, 1),
       {{1, 3, 8, 4}},
       {{17, 3, 3, 3}, {17}}},
      {"conv stride larger than filter",
       OpKind::Conv2d,
       conv(3, 1, 0, 0, 1),
       {{1, 2, 11, 4}},
       {{17, 2, 2, 3}, {17}}},
      {"conv dilated",
       OpKind::Conv2d,
       conv(1, 2, 2, 1, 1),
       {{1, 2, 9, 4}},
       {{17, 2, 3, 3}, {17}},
       {},
       {},
       2},
      {"conv of padding",
       OpKind::Conv2d,
       conv(1, 1, 2, 1, 1),
       {{1, 2, 3, 4}},
       {{17, 2, 1, 3}, {17}}},
      {"conv grouped", OpKind::Conv2d, conv(1, 1, 1, 1, 2), {{1, 4, 5, 4}}, {{34, 2, 3, 3}, {34}}},
      {"conv residual",
       OpKind::Conv2d,
       with_residual(conv(2, 1, 1, 1, 1)),
       {{1, 3, 8, 4}},
       {{18, 3, 3, 3}, {18}},
       {{1, 18, 4, 4}}},
      {"depthwise",
       OpKind::DepthwiseConv2d,
       depthwise(1, 1, 1, 1),
       {{1, 18, 6, 4}},
       {{18, 1, 3, 3}, {18}}},
      {"depthwise stride 2, 5x3",
       OpKind::DepthwiseConv2d,
       depthwise(2, 1, 2, 1),
       {{1, 18, 9, 4}},
       {{18, 1, 5, 3}, {18}}},
      {"depthwise dilated",
       OpKind::DepthwiseConv2d,
       depthwise(1, 3, 3, 3),
       {{1, 17, 8, 4}},
       {{17, 1, 3, 3}, {17}},
       {},
       {},
       3},
      {"matmul",
       OpKind::MatMul,
       ir::OpParams::of(OpKind::MatMul, MatMulParams{}),
       {{2, 5}},
       {{5, 35}, {35}}},
      {"max pool", OpKind::Pool2d, pool(kPool2dMax, 3, 2, 1, 1, 0), {{1, 18, 9, 4}}, {}},
      {"max pool, ceil", OpKind::Pool2d, pool(kPool2dMax, 3, 2, 0, 0, 1), {{1, 18, 8, 4}}, {}},
      {"max pool, channels added",
       OpKind::Pool2d,
       pool(kPool2dMax, 2, 2, 0, 0, 0),
       {{1, 16, 8, 4}},
       {},
       {},
       {1, 48, 4, 3}},
      {"average pool, uneven pads",
       OpKind::Pool2d,
       pool(kPool2dAverage, 4, 3, 0, 2, 0),
       {{1, 18, 9, 4}},
       {}},
      {"average pool, ceil",
       OpKind::Pool2d,
       pool(kPool2dAverage, 2, 2, 1, 0, 1),
       {{1, 18, 8, 4}},
       {}},
      {"global average pool",
       OpKind::Pool2d,
       pool(kPool2dAverage, 5, 1, 0, 0, 0),
       {{1, 18, 5, 4}},
       {}},
      {"leaky relu", OpKind::Unary, unary(kUnaryLeakyRelu), {{2, 18, 5, 3}}, {}},
      {"clip of a matrix", OpKind::Unary, unary(kUnaryClip), {{3, 18}}, {}},
      {"add", OpKind::Binary, binary(kBinaryAdd), {{1, 18, 5, 3}, {1, 18, 5, 3}}, {}},
      {"sub per channel", OpKind::Binary, binary(kBinarySub), {{1, 18, 5, 3}, {1, 18, 1, 1}}, {}},
      {"sub per pixel", OpKind::Binary, binary(kBinarySub), {{1, 1, 5, 3}, {1, 18, 5, 3}}, {}},
      {"sub of both", OpKind::Binary, binary(kBinarySub), {{1, 18, 1, 3}, {1, 1, 5, 3}}, {}},
      {"add constant", OpKind::Binary, binary(kBinaryAdd), {{1, 18, 5, 3}}, {{1, 18, 5, 3}}},
      {"concat of channels",
       OpKind::Concat,
       ir::OpParams::of(OpKind::Concat, ConcatParams{.axis = 1}),
       {{1, 3, 5, 3}, {1, 20, 5, 3}},
       {}},
      {"concat of rows",
       OpKind::Concat,
       ir::OpParams::of(OpKind::Concat, ConcatParams{.axis = 2}),
       {{1, 3, 5, 3}, {1, 3, 2, 3}},
       {}},
      {"softmax",
       OpKind::Softmax,
       ir::OpParams::of(OpKind::Softmax, SoftmaxParams{.axis = 1}),
       {{2, 18, 5, 3}},
       {}},
      {"transpose",
       OpKind::Transpose,
       ir::OpParams::of(OpKind::Transpose, TransposeParams{.perm_1 = 2, .perm_2 = 3, .perm_3 = 1}),
       {{2, 18, 5, 3}},
       {}},
      {"reshape", OpKind::Reshape, {}, {{2, 18, 5, 3}}, {}, {}, {36, 15}},
      {"convert", OpKind::Convert, {}, {{1, 18, 5, 3}}, {}},
      {"convert of a matrix", OpKind::Convert, {}, {{5, 18}}, {}},
      whole("concat of i64", OpKind::Concat, ConcatParams{.axis = 1}, {{1, 3, 5, 3}, {1, 20, 5, 3}},
            {DType::I64, DType::I64}),
      whole("convert of bool", OpKind::Convert, NoParams{}, {{1, 18, 5, 3}}, {DType::Bool}),
      whole("transpose of i8", OpKind::Transpose, TransposeParams{.perm_0 = 1}, {{5, 18}},
            {DType::I8}),
      whole("reshape of f64", OpKind::Reshape, NoParams{}, {{2, 18}}, {DType::F64}, {4, 9}),
      whole("slice", OpKind::Slice,
            SliceParams{
                .start_0 = 1, .start_1 = 17, .step_0 = 1, .step_1 = -3, .count_0 = 1, .count_1 = 6},
            {{2, 18}}, {}),
      whole("pad", OpKind::Pad,
            PadParams{.kind = kPadConstant, .has_value = 1, .begin_1 = 2, .end_0 = 3},
            {{2, 18}, {1}}, {DType::I64, DType::I64}),
      whole("gather", OpKind::Gather, GatherParams{.axis = 1}, {{2, 18, 3}, {4, 5}},
            {DType::Bool, DType::I64}),
      whole("gather elements", OpKind::GatherElements, GatherElementsParams{.axis = 1},
            {{2, 18, 3}, {2, 30, 1}}, {DType::F32, DType::I64}),
      whole("gather nd", OpKind::GatherNd, GatherNdParams{.batch_dims = 1}, {{2, 18, 3}, {2, 5, 1}},
            {DType::I8, DType::I64}),
      whole("scatter elements", OpKind::ScatterElements,
            ScatterElementsParams{.axis = 1, .reduction = kScatterElementsAdd},
            {{2, 18, 3}, {2, 30, 1}, {2, 30, 1}}, {DType::F32, DType::I64, DType::F32}),
      whole("scatter nd", OpKind::ScatterNd, ScatterNdParams{}, {{2, 18, 3}, {5, 2}, {5, 3}},
            {DType::U16, DType::I64, DType::U16}),
      whole("expand", OpKind::Expand, NoParams{}, {{18, 1}}, {DType::Bool}, {2, 18, 3}),
      whole("random normal", OpKind::Random, RandomParams{.kind = kRandomNormal, .scale = 2},
            {{18, 1}}, {DType::F32}, {2, 18, 3}),
      whole("random uniform", OpKind::Random,
            RandomParams{.kind = kRandomUniform, .location = -1, .scale = 3}, {{5}}, {DType::F32},
            {2, 18, 3}),
      whole("compress", OpKind::Compress, CompressParams{.axis = 1}, {{2, 18, 3}, {5}},
            {DType::F32, DType::Bool}),
      whole("non zero", OpKind::NonZero, NoParams{}, {{2, 18, 3}}, {DType::Bool}),
      whole("non max suppression", OpKind::NonMaxSuppression, NonMaxSuppressionParams{},
            {{2, 9, 4}, {2, 3, 9}, {1}, {1}, {1}},
            {DType::F32, DType::F32, DType::I64, DType::F32, DType::F32}),
      whole("log softmax", OpKind::Softmax, SoftmaxParams{.axis = 3, .is_log = 1}, {{2, 18, 5, 3}},
            {}),
      whole("reduce", OpKind::Reduce, ReduceParams{.kind = kReduceMean, .axes_mask = 6},
            {{2, 18, 5, 3}}, {DType::I16}),
      whole("any", OpKind::Reduce, ReduceParams{.kind = kReduceMax, .axes_mask = 1}, {{18, 3}},
            {DType::Bool}),
      whole("arg max", OpKind::Reduce, ReduceParams{.kind = kReduceArgMax, .axes_mask = 2},
            {{2, 18, 5}}, {}),
      whole("top k", OpKind::TopK, TopKParams{.axis = 1, .k = 4}, {{2, 18, 3}}, {DType::U8}),
      whole("layer norm", OpKind::Normalize,
            NormalizeParams{.axes_mask = 4, .has_scale = 1, .has_bias = 1, .epsilon = 1e-5f},
            {{2, 18, 7}, {7}, {18, 1}}, {}),
      whole("plain instance norm", OpKind::Normalize,
            NormalizeParams{.axes_mask = 12, .epsilon = 1e-5f}, {{2, 18, 5, 3}}, {}),
      in_nhwc(whole("instance norm", OpKind::Normalize,
                    NormalizeParams{.axes_mask = 12, .epsilon = 1e-5f}, {{2, 18, 5, 3}}, {})),
      {"instance norm with constants",
       OpKind::Normalize,
       ir::OpParams::of(
           OpKind::Normalize,
           NormalizeParams{.axes_mask = 12, .has_scale = 1, .has_bias = 1, .epsilon = 1e-5f}),
       {{1, 18, 5, 3}},
       {{18, 1, 1}, {1}},
       {},
       {},
       1,
       {},
       false,
       true},
      in_nhwc(whole("norm of channels", OpKind::Normalize,
                    NormalizeParams{.axes_mask = 2, .epsilon = 1e-5f, .activation = kUnaryCos},
                    {{2, 18, 5, 3}}, {})),
      pad_case("pad of zeros", kPadConstant, 2, 3, {1, 18, 4, 3}),
      pad_case("pad of edges", kPadEdge, 3, 2, {1, 18, 4, 3}),
      pad_case("pad by reflection", kPadReflect, 2, 3, {1, 18, 5, 3}),
      pad_case("pad by reflections", kPadReflect, 8, 9, {1, 18, 4, 3}),
      pad_case("pad by reflections of two", kPadReflect, 4, 3, {1, 18, 2, 3}),
      pad_case("pad by reflection of one", kPadReflect, 2, 1, {1, 18, 1, 3}),
      pad_case("pad by wrapping", kPadWrap, 1, 2, {1, 18, 4, 3}),
      pad_case("pad by wrapping again", kPadWrap, 7, 9, {1, 18, 3, 3}),
      in_nhwc(whole("pad of channels", OpKind::Pad,
                    PadParams{.kind = kPadConstant, .begin_1 = 3, .begin_2 = 1}, {{1, 18, 4, 3}},
                    {})),
      whole("plain pad", OpKind::Pad, PadParams{.kind = kPadConstant, .begin_2 = 1},
            {{1, 18, 4, 3}}, {}),
      whole("batch matmul", OpKind::BatchMatMul, BatchMatMulParams{.is_b_transposed = 1},
            {{2, 1, 18, 5}, {3, 7, 5}}, {}),
      {"pow per pixel", OpKind::Binary, binary(kBinaryPow), {{1, 18, 5, 3}, {1, 1, 5, 3}}, {}},
      whole("is nan", OpKind::Unary, UnaryParams{.kind = kUnaryIsNan}, {{2, 18, 5, 3}}, {}),
      whole("not", OpKind::Unary, UnaryParams{.kind = kUnaryNot}, {{2, 18, 5, 3}}, {DType::Bool}),
      whole("sign of i8", OpKind::Unary, UnaryParams{.kind = kUnarySign}, {{2, 3, 1, 5, 7}},
            {DType::I8}),
      whole("less", OpKind::Binary, BinaryParams{.kind = kBinaryLess}, {{2, 18, 5, 3}, {18, 1, 1}},
            {}),
      whole("shift of u16", OpKind::Binary, BinaryParams{.kind = kBinaryShiftLeft},
            {{2, 18, 1, 5, 3}, {18, 4, 1, 1}}, {DType::U16, DType::U16}),
      whole("where", OpKind::Where, NoParams{}, {{18, 1, 1}, {2, 18, 5, 3}, {}},
            {DType::Bool, DType::F32, DType::F32}),
      whole("where of i64", OpKind::Where, NoParams{}, {{3, 1}, {5}, {2, 1, 1}},
            {DType::Bool, DType::I64, DType::I64}),
      whole("cast", OpKind::Cast, CastParams{.to = static_cast<int32_t>(DType::U8)},
            {{2, 18, 5, 3}}, {}),
      whole("cast of f16", OpKind::Cast, CastParams{.to = static_cast<int32_t>(DType::F32)},
            {{2, 3, 1, 5, 7}}, {DType::F16}),
      whole("running sum", OpKind::Cumulate, CumulateParams{.axis = 1}, {{2, 18, 5, 3}}, {}),
      whole("running product of i16", OpKind::Cumulate,
            CumulateParams{.axis = 2, .is_product = 1, .is_reverse = 1}, {{2, 3, 5}}, {DType::I16}),
      {"resize nearest",
       OpKind::Resize,
       resize(kResizeNearest, kResizeAsymmetric, 5.0f / 7.0f),
       {{1, 18, 7, 3}},
       {},
       {},
       {1, 18, 5, 3}},
      {"resize linear",
       OpKind::Resize,
       resize(kResizeLinear, kResizeHalfPixel, 11.0f / 4.0f),
       {{1, 18, 4, 3}},
       {},
       {},
       {1, 18, 11, 3}},
      {"resize linear, corners",
       OpKind::Resize,
       resize(kResizeLinear, kResizeAlignCorners, 0.6f),
       {{1, 18, 7, 3}},
       {},
       {},
       {1, 18, 4, 3}},
      {"depth to space",
       OpKind::DepthToSpace,
       depth_to_space(1, 1),
       {{1, 72, 3, 4}},
       {},
       {},
       {1, 18, 5, 7}},
      {"depth to space, depth first",
       OpKind::DepthToSpace,
       depth_to_space(0, 0),
       {{1, 72, 3, 4}},
       {},
       {},
       {1, 18, 6, 8}},
      whole("resize cubic", OpKind::Resize,
            ResizeParams{.kind = kResizeCubic,
                         .coordinates = kResizeHalfPixel,
                         .nearest = kResizeFloor,
                         .cubic_coefficient = -0.75f,
                         .scale_0 = 1,
                         .scale_1 = 1,
                         .scale_2 = 2,
                         .scale_3 = 1},
            {{1, 18, 5, 3}}, {}, {1, 18, 10, 3}),
      whole("resize of u8", OpKind::Resize,
            ResizeParams{.kind = kResizeNearest,
                         .coordinates = kResizeHalfPixel,
                         .nearest = kResizeFloor,
                         .scale_0 = 1,
                         .scale_1 = 2},
            {{2, 18}}, {DType::U8}, {2, 36}),
      whole("depth to space of u8", OpKind::DepthToSpace,
            DepthToSpaceParams{.block_h = 2, .block_w = 2, .is_channel_major = 1}, {{1, 72, 3, 4}},
            {DType::U8}, {1, 18, 6, 8}),
      whole("conv nd", OpKind::ConvNd,
            ConvNdParams{.has_bias = 1,
                         .groups = 1,
                         .stride_0 = 2,
                         .stride_1 = 1,
                         .stride_2 = 1,
                         .dilation_0 = 1,
                         .dilation_1 = 1,
                         .dilation_2 = 1,
                         .pad_begin_0 = 1},
            {{1, 3, 7, 4}, {18, 3, 3, 2}, {18}}, {}),
      whole("pool nd", OpKind::PoolNd,
            PoolNdParams{.kind = kPoolNdMaxIndex,
                         .kernel_0 = 2,
                         .kernel_1 = 2,
                         .stride_0 = 1,
                         .stride_1 = 1,
                         .dilation_0 = 1,
                         .dilation_1 = 1},
            {{1, 18, 5, 3}}, {DType::U8}),
      whole("grid sample", OpKind::GridSample,
            GridSampleParams{.kind = kGridSampleLinear, .padding = kGridSampleZeros},
            {{1, 18, 5, 3}, {1, 4, 6, 2}}, {}),
      whole("roi align", OpKind::RoiAlign,
            RoiAlignParams{.output_h = 3, .output_w = 2, .spatial_scale = 1},
            {{2, 18, 5, 3}, {4, 4}, {4}}, {DType::F32, DType::F32, DType::I64}),
      whole("gru", OpKind::Recurrent,
            RecurrentParams{.kind = kRecurrentGru,
                            .direction = 2,
                            .has_lengths = 1,
                            .activation_0 = kUnarySigmoid,
                            .activation_1 = kUnaryTanh,
                            .activation_2 = kUnarySigmoid,
                            .activation_3 = kUnaryTanh},
            {{5, 2, 3}, {2, 12, 3}, {2, 12, 4}, {2}},
            {DType::F32, DType::F32, DType::F32, DType::I64}),
      whole("batch matmul of integers", OpKind::BatchMatMul, BatchMatMulParams{},
            {{18, 5}, {2, 5, 7}}, {DType::I32, DType::I32}),
  };
  std::set<OpKind> ops;
  for (const OpCase& op_case : cases) ops.insert(op_case.op);
  for (const OpInfo& info : kOpInfos)
    if (ops.count(info.kind) == 0)
      for (const KernelCase& item : cases_of(info.kind))
        if (std::optional<OpCase> op_case = op_case_of(item)) cases.push_back(std::move(*op_case));
  return cases;
}

}  // namespace codl::test
