// Tests the import of each ONNX operator, over the opsets in which its form differs.
#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

const std::string kWindow1 = "stride_h=1, stride_w=1, dilation_h=1, dilation_w=1";

}  // namespace

TEST_CASE("Conv: attributes, groups and the missing bias") {
  CHECK(nodes_of(R"(g (float[1,4,9,9] x) => (float[1,6,4,3] y) <float[6,2,3,3] w, float[6] b>
    { y = Conv<strides = [2, 3], dilations = [1, 2], pads = [0, 1, 1, 2], group = 2>(x, w, b) })") ==
        "%y y = Conv2d(%x, %w, %b) {stride_h=2, stride_w=3, dilation_h=1, dilation_w=2, "
        "pad_left=1, pad_bottom=1, pad_right=2, groups=2} : f32[1,6,4,3]\n");
  CHECK(nodes_of("g (float[1,4,3,3] x) => (float[1,4,1,1] y) <float[4,1,3,3] w> "
                 "{ y = Conv<group = 4>(x, w) }") ==
        "%y y = DepthwiseConv2d(%x, %w, %y.bias) {" + kWindow1 + "} : f32[1,4,1,1]\n");
  // Two filters per channel make a grouped convolution.
  CHECK(nodes_of("g (float[1,4,3,3] x) => (float[1,8,1,1] y) <float[8,1,3,3] w> "
                 "{ y = Conv<group = 4>(x, w) }") ==
        "%y y = Conv2d(%x, %w, %y.bias) {" + kWindow1 + ", groups=4} : f32[1,8,1,1]\n");
}

TEST_CASE("auto_pad becomes pads") {
  auto pads = [](const std::string& auto_pad, int stride, int rows) {
    const std::string steps = std::to_string(stride);
    const std::string size = std::to_string(rows);
    const ir::Graph graph =
        import_text("g (float[1,1," + size + "," + size +
                    "] x) => (float[n,c,h,w] y) "
                    "<float[1,1,4,3] w> { y = Conv<auto_pad = \"" +
                    auto_pad + "\", strides = [" + steps + ", " + steps + "]>(x, w) }");
    const auto params = graph.node(0).params.as<Conv2dParams>();
    return std::vector<int32_t>{params.pad_top, params.pad_left, params.pad_bottom,
                                params.pad_right, graph.value(graph.outputs()[0]).type.dims[2]};
  };
  // Stride 1 needs 3 and 2 rows of padding, with the odd one after or before.
  CHECK(pads("SAME_UPPER", 1, 8) == std::vector<int32_t>{1, 1, 2, 1, 8});
  CHECK(pads("SAME_LOWER", 1, 8) == std::vector<int32_t>{2, 1, 1, 1, 8});
  // Stride 3 over 8 needs ceil(8/3) = 3 windows, (3-1)*3+4-8 = 2 and (3-1)*3+3-8 = 1 of padding.
  CHECK(pads("SAME_UPPER", 3, 8) == std::vector<int32_t>{1, 0, 1, 1, 3});
  CHECK(pads("VALID", 1, 8) == std::vector<int32_t>{0, 0, 0, 0, 5});
  CHECK(pads("NOTSET", 1, 8) == std::vector<int32_t>{0, 0, 0, 0, 5});
}

TEST_CASE("BatchNormalization: a scale and a shift, whatever the rank") {
  const std::string statistics =
      " <float[2] s = {2, 6}, float[2] t = {1, 2}, float[2] m = {10, 20}, float[2] v = {4, 9}>"
      " { y = BatchNormalization<epsilon = 0.0>(x, s, t, m, v) }";
  // The factors are 2/2 and 6/3, the shifts 1 - 10 and 2 - 40.
  const std::vector<float> input = {1, 2, 3, 4};
  const std::vector<float> expected = {-8, -7, -32, -30};
  CHECK(computed("g (float[1,2,1,2] x) => (float[1,2,1,2] y)" + statistics, input) == expected);
  CHECK(computed("g (float[1,2,2] x) => (float[1,2,2] y)" + statistics, input) == expected);
  CHECK(computed("g (float[2,2] x) => (float[2,2] y)" + statistics, input) ==
        std::vector<float>{-8, -34, -6, -30});
  CHECK(nodes_of("g (float[1,2,1,2] x) => (float[1,2,1,2] y)" + statistics) ==
        "%y y = DepthwiseConv2d(%x, %y.scale, %y.shift) {" + kWindow1 + "} : f32[1,2,1,2]\n");
}

TEST_CASE("statistics may come through Identity and Constant") {
  CHECK(computed(R"(g (float[1,1,1,1] x) => (float[1,1,1,1] y) <float[1] one = {1}>
    { s = Identity(one)
      t = Constant<value_floats = [3.0]>()
      m = Constant<value = float[1] {5}>()
      v = Identity(s)
      y = BatchNormalization<epsilon = 0.0>(x, s, t, m, v) })",
                 {7}) == std::vector<float>{5});
}

TEST_CASE("pooling") {
  CHECK(nodes_of("g (float[1,2,7,7] x) => (float[1,2,4,3] y) { y = MaxPool<kernel_shape = [2, 3], "
                 "strides = [2, 2], ceil_mode = 1>(x) }") ==
        "%y y = Pool2d(%x) {kind=Max, kernel_h=2, kernel_w=3, stride_h=2, stride_w=2, "
        "dilation_h=1, dilation_w=1, ceil_mode=1} : f32[1,2,4,3]\n");
  CHECK(nodes_of("g (float[1,2,4,4] x) => (float[1,2,5,5] y) { y = AveragePool<kernel_shape = "
                 "[2, 2], pads = [1, 1, 1, 1], count_include_pad = 1>(x) }") ==
        "%y y = Pool2d(%x) {kind=Average, kernel_h=2, kernel_w=2, " + kWindow1 +
            ", pad_top=1, pad_left=1, pad_bottom=1, pad_right=1, count_include_pad=1} : "
            "f32[1,2,5,5]\n");
  CHECK(nodes_of("g (float[1,2,4,5] x) => (float[1,2,1,1] y) { y = GlobalMaxPool(x) }") ==
        "%y y = Pool2d(%x) {kind=Max, kernel_h=4, kernel_w=5, " + kWindow1 + "} : f32[1,2,1,1]\n");
  CHECK(computed("g (float[1,1,2,2] x) => (float[1,1,1,1] y) { y = GlobalAveragePool(x) }",
                 {1, 2, 3, 6}) == std::vector<float>{3});
}

TEST_CASE("in ceil_mode no window begins behind the input") {
  // Windows of one row at stride 2 over 4 rows: rounding up would ask for a third one at row 4,
  // where nothing is.
  const ir::Graph graph = import_text(
      "g (float[1,1,4,5] x) => (float[1,1,2,3] y) { y = MaxPool<kernel_shape = [1, 2], strides = "
      "[2, 2], ceil_mode = 1>(x) }");
  CHECK(graph.value(graph.outputs()[0]).type.dims == ir::Dims{1, 1, 2, 3});
}

TEST_CASE("ReduceMean over the map: axes as attribute and as input") {
  const std::string pool = "Pool2d(%x) {kind=Average, kernel_h=4, kernel_w=5, " + kWindow1 + "}";
  CHECK(nodes_of("g (float[1,2,4,5] x) => (float[1,2,1,1] y) { y = ReduceMean<axes = [2, 3]>(x) }",
                 13) == "%y y = " + pool + " : f32[1,2,1,1]\n");
  CHECK(nodes_of("g (float[1,2,4,5] x) => (float[1,2] y) "
                 "{ y = ReduceMean<axes = [-1, -2], keepdims = 0>(x) }",
                 13) == "%y.pool2d y.pool2d = " + pool +
                            " : f32[1,2,1,1]\n"
                            "%y y = Reshape(%y.pool2d) : f32[1,2]\n");
  CHECK(nodes_of("g (float[1,2,4,5] x) => (float[1,2,1,1] y) <int64[2] a = {2, 3}> "
                 "{ y = ReduceMean(x, a) }",
                 18) == "%y y = " + pool + " : f32[1,2,1,1]\n");
  // The mean is over rows alone.
  CHECK(computed("g (float[1,1,2,2] x) => (float[1,1,1,2] y) { y = ReduceMean<axes = [2]>(x) }",
                 {1, 2, 3, 6}) == std::vector<float>{2, 4});
}

TEST_CASE("unary functions and their numbers") {
  auto node = [](const std::string& call, int opset = 13) {
    return nodes_of(
        "g (float[2] x) => (float[2] y) <float low = {-1}, float[1] high = {6}> { y = " + call +
            " }",
        opset);
  };
  CHECK(node("Relu(x)") == "%y y = Unary(%x) {kind=Relu} : f32[2]\n");
  CHECK(node("Sigmoid(x)") == "%y y = Unary(%x) {kind=Sigmoid} : f32[2]\n");
  CHECK(node("Tanh(x)") == "%y y = Unary(%x) {kind=Tanh} : f32[2]\n");
  CHECK(node("LeakyRelu(x)") ==
        "%y y = Unary(%x) {kind=LeakyRelu, alpha=0.00999999978} : f32[2]\n");
  CHECK(node("LeakyRelu<alpha = 0.5>(x)") ==
        "%y y = Unary(%x) {kind=LeakyRelu, alpha=0.5} : f32[2]\n");
  CHECK(node("Clip<min = -1.0, max = 6.0>(x)", 7) ==
        "%y y = Unary(%x) {kind=Clip, alpha=-1, beta=6} : f32[2]\n");
  CHECK(node("Clip(x, low, high)", 11) ==
        "%y y = Unary(%x) {kind=Clip, alpha=-1, beta=6} : f32[2]\n");
  CHECK(node("Clip(x, low)", 11) == "%y y = Unary(%x) {kind=Clip, alpha=-1, beta=inf} : f32[2]\n");
}

TEST_CASE("binary functions get operands of one rank") {
  // A constant gets its dims directly, a computed value by a Reshape.
  CHECK(nodes_of(R"(g (float[1,3,4,5] x, float[3,1,1] z) => (float[1,3,4,5] y) <float[3,1,1] k>
    { a = Sub(k, x)
      y = Div(a, z) })") ==
        "%a a = Binary(%a.operand_0, %x) {kind=Sub} : f32[1,3,4,5]\n"
        "%y.operand_1 y.operand_1 = Reshape(%z) : f32[1,3,1,1]\n"
        "%y y = Binary(%a, %y.operand_1) {kind=Div} : f32[1,3,4,5]\n");
  CHECK(computed("g (float[2] x) => (float[2,2] y) <float[2,1] k = {10, 20}> { y = Mul(x, k) }",
                 {1, 2}) == std::vector<float>{10, 20, 20, 40});
  CHECK(computed("g (float[2] x) => (float[2] y) <float k = {10}> { y = Add(x, k) }", {1, 2}) ==
        std::vector<float>{11, 12});
}

TEST_CASE("Softmax: over all dims from the axis before opset 13, along it since") {
  const std::string graph = "g (float[1,2,2] x) => (float[1,2,2] y) { y = Softmax<axis = 1>(x) }";
  CHECK(nodes_of(graph, 11) ==
        "%y.reshape y.reshape = Reshape(%x) : f32[1,4]\n"
        "%y.softmax y.softmax = Softmax(%y.reshape) {axis=1} : f32[1,4]\n"
        "%y y = Reshape(%y.softmax) : f32[1,2,2]\n");
  CHECK(nodes_of(graph, 13) == "%y y = Softmax(%x) {axis=1} : f32[1,2,2]\n");
  // If nothing follows the axis, the two are the same.
  const std::string last = "g (float[3,4] x) => (float[3,4] y) { y = Softmax(x) }";
  CHECK(nodes_of(last, 11) == "%y y = Softmax(%x) {axis=1} : f32[3,4]\n");
  CHECK(nodes_of(last, 13) == nodes_of(last, 11));
  CHECK(computed(graph, {0, 0, 0, 0}, 11) == std::vector<float>{0.25, 0.25, 0.25, 0.25});
  CHECK(computed(graph, {0, 0, 0, 0}, 13) == std::vector<float>{0.5, 0.5, 0.5, 0.5});
}

TEST_CASE("Gemm: alpha and beta go into the constants") {
  // x [1,2] is {1, 10}; B is {1, 2, 3, 4, 5, 6} as [2,3] or transposed.
  const std::vector<float> x = {1, 10};
  auto gemm = [&](const std::string& attributes, const std::string& b, const std::string& c) {
    return computed("g (float[1,2] x) => (float[1,3] y) <float" + b +
                        " b = {1, 2, 3, 4, 5, 6}, float" + c + "> { y = Gemm" + attributes +
                        "(x, b, c) }",
                    x);
  };
  CHECK(gemm("", "[2,3]", "[3] c = {7, 8, 9}") == std::vector<float>{48, 60, 72});
  CHECK(gemm("<transB = 1>", "[3,2]", "[1,3] c = {7, 8, 9}") == std::vector<float>{28, 51, 74});
  CHECK(gemm("<alpha = 2.0, beta = 3.0>", "[2,3]", "[1] c = {7}") ==
        std::vector<float>{103, 125, 147});
  CHECK(gemm("<beta = 0.0>", "[2,3]", "[3] c = {7, 8, 9}") == std::vector<float>{41, 52, 63});
  CHECK(nodes_of("g (float[1,2] x) => (float[1,3] y) <float[3,2] b> "
                 "{ y = Gemm<transB = 1>(x, b) }") ==
        "%y y = MatMul(%x, %y.weights, %y.bias) : f32[1,3]\n");
  // C differs by row, so it becomes an Add.
  CHECK(nodes_of("g (float[2,2] x) => (float[2,3] y) <float[2,3] b, float[2,1] c> "
                 "{ y = Gemm(x, b, c) }") ==
        "%y.matmul y.matmul = MatMul(%x, %b, %y.bias) : f32[2,3]\n"
        "%y y = Binary(%y.matmul, %c) {kind=Add} : f32[2,3]\n");
}

TEST_CASE("MatMul: the dims in front of the last are rows") {
  CHECK(nodes_of("g (float[2,3,4] x) => (float[2,3,5] y) <float[4,5] b> { y = MatMul(x, b) }") ==
        "%y.reshape y.reshape = Reshape(%x) : f32[6,4]\n"
        "%y.matmul y.matmul = MatMul(%y.reshape, %b, %y.bias) : f32[6,5]\n"
        "%y y = Reshape(%y.matmul) : f32[2,3,5]\n");
  CHECK(nodes_of("g (float[4] x) => (float[5] y) <float[4,5] b> { y = MatMul(x, b) }") ==
        "%y.reshape y.reshape = Reshape(%x) : f32[1,4]\n"
        "%y.matmul y.matmul = MatMul(%y.reshape, %b, %y.bias) : f32[1,5]\n"
        "%y y = Reshape(%y.matmul) : f32[5]\n");
}

TEST_CASE("weights may be computed from constants") {
  CHECK(computed(R"(g (float[1,2] x) => (float[1,2] y) <float[2,2] b = {1, 2, 3, 4}, float k = {10}>
    { t = Transpose(b)
      s = Mul(t, k)
      y = MatMul(x, s) })",
                 {1, 1}) == std::vector<float>{30, 70});
}

TEST_CASE("shapes: Flatten, Reshape, Squeeze, Unsqueeze") {
  auto dims = [](const std::string& call, int opset = 13) {
    const ir::Graph graph = import_text(
        "g (float[2,1,3,4] x) => (float[] y) <int64[2] zero_rest = {0, -1}, "
        "int64[2] one = {-3, 1}, int64[1] front = {0}, int64[2] both = {0, -1}> { y = " +
            call + " }",
        opset);
    return graph.value(graph.outputs()[0]).type.dims;
  };
  CHECK(dims("Flatten(x)") == ir::Dims{2, 12});
  CHECK(dims("Flatten<axis = 0>(x)") == ir::Dims{1, 24});
  CHECK(dims("Flatten<axis = 4>(x)") == ir::Dims{24, 1});
  CHECK(dims("Flatten<axis = -1>(x)") == ir::Dims{6, 4});
  CHECK(dims("Reshape(x, zero_rest)") == ir::Dims{2, 12});
  CHECK(dims("Squeeze(x)") == ir::Dims{2, 3, 4});
  CHECK(dims("Squeeze<axes = [1]>(x)", 11) == ir::Dims{2, 3, 4});
  CHECK(dims("Squeeze(x, one)") == ir::Dims{2, 3, 4});
  CHECK(dims("Unsqueeze<axes = [0, 5]>(x)", 11) == ir::Dims{1, 2, 1, 3, 4, 1});
  CHECK(dims("Unsqueeze(x, both)") == ir::Dims{1, 2, 1, 3, 4, 1});
}

TEST_CASE("a shape computed by the model is a constant") {
  // Older exporters write Flatten so. Only nodes without a reader remain of the shape.
  const ir::Graph graph = import_text(R"(g (float[2,3,4] x) => (float[2,12] y)
    { s = Shape(x)
      zero = Constant<value_int = 0>()
      n = Gather(s, zero)
      first = Constant<value_ints = [0]>()
      nu = Unsqueeze(n, first)
      rest = Constant<value = int64[1] {-1}>()
      dims = Concat<axis = 0>(nu, rest)
      same = Cast<to = 7>(dims)
      y = Reshape(x, same) })");
  const ir::Value& y = graph.value(graph.outputs()[0]);
  CHECK(y.type.dims == ir::Dims{2, 12});
  CHECK(graph.node(y.producer).inputs == llvm::SmallVector<ir::ValueId, 4>{graph.inputs()[0]});
}

TEST_CASE("Transpose reverses by default") {
  CHECK(nodes_of("g (float[2,3,4] x) => (float[4,3,2] y) { y = Transpose(x) }") ==
        "%y y = Transpose(%x) {perm_0=2, perm_1=1} : f32[4,3,2]\n");
}

TEST_CASE("Gather of one constant index is a slice") {
  CHECK(
      nodes_of(
          "g (float[2,3,4] x) => (float[2,4] y) <int64 i = {-1}> { y = Gather<axis = 1>(x, i) }") ==
      "%y.slice y.slice = Slice(%x) {start_1=2, step_0=1, step_1=1, step_2=1, "
      "count_0=2, count_1=1, count_2=4} : f32[2,1,4]\n"
      "%y y = Reshape(%y.slice) : f32[2,4]\n");
}

TEST_CASE("Concat: a negative axis, one input, and more inputs than a step has") {
  CHECK(nodes_of("g (float[2,3] x) => (float[2,6] y) { y = Concat<axis = -1>(x, x) }") ==
        "%y y = Concat(%x, %x) {axis=1} : f32[2,6]\n");
  std::string many = "x";
  for (int i = 1; i < 17; ++i) many += ", x";
  CHECK(nodes_of("g (float[1,1] x) => (float[1,17] y) { y = Concat<axis = 1>(" + many + ") }") ==
        "%y.concat y.concat = Concat(%x, %x, %x) {axis=1} : f32[1,3]\n"
        "%y y = Concat(%y.concat, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x) "
        "{axis=1} : f32[1,17]\n");
  CHECK(nodes_of("g (float[2,3] x) => (float[2,3] y) { a = Concat<axis = 0>(x) y = Relu(a) }") ==
        "%y y = Unary(%x) {kind=Relu} : f32[2,3]\n");
}

TEST_CASE("Identity and Dropout leave no node, unless an output needs one") {
  CHECK(nodes_of(R"(g (float[2] x) => (float[2] y) <float ratio = {0.5}, bool no = {0}>
    { a = Identity(x)
      b = Dropout(a, ratio, no)
      y = Relu(b) })") == "%y y = Unary(%x) {kind=Relu} : f32[2]\n");
  CHECK(nodes_of("g (float[2] x) => (float[2] y) { y = Identity(x) }") ==
        "%y y = Unary(%x) : f32[2]\n");
}

TEST_CASE("before opset 7: broadcasting without an axis, operators that say they do not train") {
  CHECK(computed("g (float[2,2] x) => (float[2,2] y) <float[2] b = {10, 20}> "
                 "{ y = Add<broadcast = 1>(x, b) }",
                 {1, 2, 3, 4}, 6) == std::vector<float>{11, 22, 13, 24});
  CHECK(import_error("g (float[2,2] x) => (float[2,2] y) <float[2] b = {10, 20}> "
                     "{ y = Add<broadcast = 1, axis = 0>(x, b) }",
                     6)
            .find("expected attributes of the operator, found 'axis'") != std::string::npos);
  CHECK(nodes_of("g (float[2] x) => (float[2] y) { a = Dropout<is_test = 1>(x) y = Relu(a) }", 6) ==
        "%y y = Unary(%x) {kind=Relu} : f32[2]\n");
  CHECK(import_error("g (float[2] x) => (float[2] y) { y = Dropout(x) }", 6)
            .find("expected is_test 1, found 0") != std::string::npos);
}

}  // namespace codl::test
