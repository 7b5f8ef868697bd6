// Tests the import of operators about shapes and data movement: constant, computed and missing
// operands, values without elements, extents known at run time only.

#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

using compiler::Bytes;

const std::vector<float> kSix = {0, 1, 2, 3, 4, 5};

}  // namespace

TEST_CASE("shape arithmetic on constants is gone after the import") {
  // The dims [2, -1] of [2, 3, 4] come from Shape, Gather, Unsqueeze, Concat.
  const std::string nodes = nodes_of(R"(g (float[2,3,4] x) => (float[2,12] y)
    <int64 first = {0}, int64[1] axis = {0}, int64[1] rest = {-1}>
    { s = Shape(x)
      d = Gather(s, first)
      v = Unsqueeze(d, axis)
      dims = Concat<axis = 0>(v, rest)
      y = Reshape(x, dims) })");
  CHECK(nodes.find("y = Reshape(%x) : f32[2,12]") != std::string::npos);
}

TEST_CASE("Slice: clamped ends, negative steps, attributes") {
  auto sliced = [&](const std::string& start, const std::string& end, const std::string& step) {
    return run<float>("g (float[6] x) => (float[n] y) <int64[1] s = {" + start +
                          "}, int64[1] e = {" + end + "}, int64[1] a = {-1}, int64[1] t = {" +
                          step + "}> { y = Slice(x, s, e, a, t) }",
                      {bytes_of(kSix)});
  };
  CHECK(sliced("1", "100", "2") == std::vector<float>{1, 3, 5});
  CHECK(sliced("-1", "-100", "-1") == std::vector<float>{5, 4, 3, 2, 1, 0});
  CHECK(sliced("9223372036854775807", "-9223372036854775807", "-4") == std::vector<float>{5, 1});
  CHECK(sliced("0", "6", "9223372036854775807") == std::vector<float>{0});
  CHECK(run<float>("g (float[6] x) => (float[2] y) { y = Slice<starts = [-3], ends = [-1]>(x) }",
                   {bytes_of(kSix)}, 0, 9) == std::vector<float>{3, 4});
  CHECK(import_error("g (float[6] x) => (float[6] y) <int64[1] s = {0}, int64[1] t = {0}> "
                     "{ y = Slice(x, s, s, s, t) }")
            .find("expected steps other than 0, found 0") != std::string::npos);
}

TEST_CASE("Slice with a computed range: declared dims, or an extent") {
  const std::string declared =
      "g (float[6] x, int64[1] s, int64[1] e, int64[1] a, int64[1] t) => (float[2] y) "
      "{ y = Slice(x, s, e, a, t) }";
  auto one = [](int64_t element) { return bytes_of(std::vector<int64_t>{element}); };
  CHECK(run<float>(declared, {bytes_of(kSix), one(-2), one(0), one(-1), one(-2)}) ==
        std::vector<float>{4, 2});
  // The output is planned with all elements; the second output is the number of valid ones.
  const std::string computed =
      "g (float[6] x, int64[1] e) => (float[n] y) <int64[1] s = {1}> { y = Slice(x, s, e) }";
  const std::vector<Bytes> inputs = {bytes_of(kSix), one(-2)};
  CHECK(run<int64_t>(computed, inputs, 1) == std::vector<int64_t>{3});
  const auto elements = run<float>(computed, inputs);
  CHECK(std::vector<float>(elements.begin(), elements.begin() + 3) == std::vector<float>{1, 2, 3});
}

TEST_CASE("Split: lengths, equal pieces, a smaller last piece, a piece of nothing") {
  const std::vector<Bytes> six = {bytes_of(kSix)};
  CHECK(run<float>("g (float[6] x) => (float[3] a, float[3] b) { a, b = Split<num_outputs = 2, "
                   "axis = 0>(x) }",
                   six, 1) == std::vector<float>{3, 4, 5});
  CHECK(
      run<float>("g (float[5] x) => (float[3] a, float[2] b) { a, b = Split<num_outputs = 2>(x) }",
                 {bytes_of(std::vector<float>{0, 1, 2, 3, 4})}, 1) == std::vector<float>{3, 4});
  CHECK(run<float>("g (float[6] x) => (float[6] y) <int64[3] l = {1, 0, 5}> "
                   "{ a, b, c = Split(x, l) y = Concat<axis = 0>(c, b, a) }",
                   six) == std::vector<float>{1, 2, 3, 4, 5, 0});
  CHECK(run<float>("g (float[6] x, int64[2] l) => (float[4] a, float[2] b) { a, b = Split(x, l) }",
                   {bytes_of(kSix), bytes_of(std::vector<int64_t>{4, 2})},
                   1) == std::vector<float>{4, 5});
  CHECK(import_error("g (float[6] x) => (float[3] a) <int64[2] l = {3, 4}> { a, b = Split(x, l) }")
            .find("expected lengths that sum to 6, found 7") != std::string::npos);
}

TEST_CASE("Pad: values, modes, negative and computed pads") {
  const std::vector<Bytes> three = {bytes_of(std::vector<int32_t>{1, 2, 3})};
  auto padded = [&](const std::string& pads, const std::string& mode) {
    return run<int32_t>("g (int32[3] x) => (int32[n] y) <int64[2] p = {" + pads +
                            "}, int32 v = {9}> { y = Pad<mode = \"" + mode + "\">(x, p, v) }",
                        three, 0, 19);
  };
  CHECK(padded("1, 2", "constant") == std::vector<int32_t>{9, 1, 2, 3, 9, 9});
  CHECK(padded("-1, 1", "constant") == std::vector<int32_t>{2, 3, 9});
  CHECK(padded("2, 1", "reflect") == std::vector<int32_t>{3, 2, 1, 2, 3, 2});
  CHECK(padded("1, 1", "edge") == std::vector<int32_t>{1, 1, 2, 3, 3});
  CHECK(padded("1, 1", "wrap") == std::vector<int32_t>{3, 1, 2, 3, 1});
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    const std::string attribute = "<mode = \"" + std::string(mode) + "\">";
    CHECK(run<int32_t>("g (int32[3] x, int64[2] p) => (int32[6] y) <int32 v = {9}> { y = Pad" +
                           attribute + "(x, p, v) }",
                       {three[0], bytes_of(std::vector<int64_t>{2, 1})}, 0,
                       19) == padded("2, 1", mode));
  }
  CHECK(import_error("g (float[3] x, int64 p) => (float[6] y) { y = Pad(x, p) }") ==
        "y: expected two pads for each axis, found others");
}

TEST_CASE("indices that are known and outside are an error that names the node") {
  const auto error = [](const std::string& rule, const std::string& indices) {
    return import_error(
        "g (float[2,3] x, float[2] u) => (float[] y) <int64" + indices + "> { y = " + rule + " }",
        23);
  };
  CHECK(error("Gather<axis = 1>(x, i)", "[2] i = {-3, 3}") ==
        "y: expected indices in [-3, 3) in 'i', found 3");
  CHECK(error("Gather(x, i)", " i = {-3}") == "y: expected indices in [-2, 2) in 'i', found -3");
  CHECK(error("GatherElements(x, i)", "[1,1] i = {2}") ==
        "y: expected indices in [-2, 2) in 'i', found 2");
  CHECK(error("GatherND(x, i)", "[2,2] i = {1, 2, 1, 3}") ==
        "y: expected indices in [-3, 3) in 'i', found 3");
  CHECK(error("GatherND<batch_dims = 1>(x, i)", "[2,1] i = {0, 5}") ==
        "y: expected indices in [-3, 3) in 'i', found 5");
  CHECK(error("ScatterElements<axis = 1>(x, i, v)", "[1,1] i = {-4}, float[1,1] v = {7}") ==
        "y: expected indices in [-3, 3) in 'i', found -4");
  CHECK(error("ScatterND(x, i, u)", "[2,2] i = {0, 0, 2, 0}") ==
        "y: expected indices in [-2, 2) in 'i', found 2");
  // The operand is computed, but from constants only.
  CHECK(import_error("g (float[2,3] x) => (float[] y) <int64[1] i = {1}, int64[1] j = {2}> "
                     "{ k = Mul(i, j) y = Gather(x, k) }") ==
        "y: expected indices in [-2, 2) in 'k', found 2");
  CHECK(import_error("g (float[1,2,2] x, float[2,1] c) => (float[] y) <int64[1,2] p = {0, 2}> "
                     "{ y = RotaryEmbedding<num_heads = 1>(x, c, c, p) }",
                     23) == "y: expected indices in [-2, 2) in 'p', found 2");
}

TEST_CASE("what has no elements is left out") {
  CHECK(run<float>("g (float[2] x) => (float[4] y) <float[0] e> { y = Concat<axis = 0>(x, e, x) }",
                   {bytes_of(std::vector<float>{1, 2})}) == std::vector<float>{1, 2, 1, 2});
  CHECK(nodes_of("g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[0] none, int64[4] z = "
                 "{1, 1, 4, 4}> { y = Resize(x, none, none, z) }")
            .find("Resize(%x) {kind=Nearest, ") != std::string::npos);
  CHECK(import_error("g (float[3,4] x) => (bool[3,4] y) <float[2,0] e> { y = Less(x, e) }") ==
        "y: expected operands that broadcast, found others");
}

TEST_CASE("no elements come of none, and a product over nothing is 0") {
  const ir::Graph maps = import_text(
      "g (float[0,3,5,5] x) => (float[0,4,3,3] y) <float[4,3,3,3] w> { y = Conv(x, w) }");
  CHECK(maps.value(maps.outputs()[0]).type.dims == ir::Dims{1, 4, 3, 3});
  REQUIRE(maps.extents().size() == 1);
  CHECK(maps.extents()[0].dim == 0);
  const std::vector<Bytes> x = {bytes_of(kSix)};
  const std::string text = "g (float[2,3] x) => (float[2,3] y) <float[2,0] a, float[0,3] b> ";
  CHECK(run<float>(text + "{ p = MatMul(a, b) y = Add(x, p) }", x) == kSix);
  CHECK(run<float>(text + "{ y = Gemm(a, b, x) }", x) == kSix);
  CHECK(import_error("g (float[2,3] x) => (float[] y) <float[2,0] a, float[1,3] b> "
                     "{ y = MatMul(a, b) }")
            .find("expected elements in 'a', found dims [2,0]") != std::string::npos);
}

TEST_CASE("NonZero: the most places there can be, and how many there are") {
  const std::string text =
      "g (float[2,2] x) => (int64[n,2] y) { i = NonZero(x) y = Transpose<perm = [1, 0]>(i) }";
  const std::vector<Bytes> inputs = {bytes_of(std::vector<float>{0, 5, 0, 7})};
  const ir::Graph graph = import_text(text);
  CHECK(graph.value(graph.outputs()[0]).type.dims == ir::Dims{4, 2});
  CHECK(run<int64_t>(text, inputs, 1) == std::vector<int64_t>{2});
  const auto places = run<int64_t>(text, inputs);
  CHECK(std::vector<int64_t>(places.begin(), places.begin() + 4) ==
        std::vector<int64_t>{0, 1, 1, 1});
  // The places in a constant are known.
  CHECK(run<float>("g (float[3] x) => (float[2] y) <float[3] m = {1, 0, 1}, int64[1] s = {-1}> "
                   "{ i = NonZero(m) j = Reshape(i, s) y = Gather(x, j) }",
                   {bytes_of(std::vector<float>{4, 5, 6})}) == std::vector<float>{4, 6});
  CHECK(import_error("g (float[4] x) => (float[1] y) { i = NonZero(x) f = Cast<to = 1>(i) "
                     "y = Softmax(f) }")
            .find("at run time") != std::string::npos);
}

TEST_CASE("an output without elements does not ask for gigabytes") {
  CHECK(import_error("g (float[1] x) => (float[1000000, 0, 1000] y) <int64[3] dims = "
                     "{1000000, 0, 1000}> { y = ConstantOfShape(dims) }")
            .find("expected at most 16777216 elements") != std::string::npos);
}

TEST_CASE("an extent that is known is none, and the output has its name") {
  const std::string text =
      "g (float[1] x) => (float[n] y) <bool[3] keep = {0, 1, 1}, float[3] a = {1, 2, 3}> "
      "{ y = Compress(a, keep) }";
  const ir::Graph graph = import_text(text);
  CHECK(graph.value(graph.outputs()[0]).name == "y");
  CHECK(computed(text, {0}) == std::vector<float>{2, 3});
}

TEST_CASE("extents are joined") {
  const std::string text =
      "g (float[2] x, float[2] z) => (int64[1,n] y) "
      "{ i = NonZero(x) j = NonZero(z) y = Concat<axis = 1>(i, j) }";
  const std::vector<Bytes> inputs = {bytes_of(std::vector<float>{0, 5}),
                                     bytes_of(std::vector<float>{3, 0})};
  CHECK(run<int64_t>(text, inputs, 1) == std::vector<int64_t>{2});
  CHECK(run<int64_t>(text, inputs) == std::vector<int64_t>{1, 0, 0, 0});
}

TEST_CASE("TopK: both outputs, a computed k") {
  const std::vector<Bytes> x = {bytes_of(std::vector<float>{3, 1, 4, 1})};
  const std::string known =
      "g (float[4] x) => (float[2] v, int64[2] i) <int64[1] k = {2}> { v, i = TopK(x, k) }";
  CHECK(run<float>(known, x) == std::vector<float>{4, 3});
  CHECK(run<int64_t>(known, x, 1) == std::vector<int64_t>{2, 0});
  const std::string computed =
      "g (float[4] x, int64[1] k) => (float[n] v) { v, i = TopK<largest = 0>(x, k) }";
  const std::vector<Bytes> inputs = {x[0], bytes_of(std::vector<int64_t>{3})};
  CHECK(run<int64_t>(computed, inputs, 1) == std::vector<int64_t>{3});
  CHECK(run<float>(computed, inputs) == std::vector<float>{1, 1, 3, 4});
}

TEST_CASE("OneHot, Trilu, EyeLike, Range") {
  CHECK(run<int32_t>("g (int64[3] i) => (int32[3,2] y) <int64 d = {2}, int32[2] v = {5, 7}> "
                     "{ y = OneHot(i, d, v) }",
                     {bytes_of(std::vector<int64_t>{1, -2, 4})}) ==
        std::vector<int32_t>{5, 7, 7, 5, 5, 5});
  CHECK(run<float>("g (float[2,3] x, int64 k) => (float[2,3] y) { y = Trilu<upper = 0>(x, k) }",
                   {bytes_of(kSix), bytes_of(std::vector<int64_t>{1})}) ==
        std::vector<float>{0, 1, 0, 3, 4, 5});
  CHECK(run<int64_t>("g (float[2,3] x) => (int64[2,3] y) { y = EyeLike<dtype = 7, k = 1>(x) }",
                     {bytes_of(kSix)}) == std::vector<int64_t>{0, 1, 0, 0, 0, 1});
  CHECK(run<int32_t>("g (int32 d) => (int32[3] y) <int32 s = {4}, int32 l = {0}> "
                     "{ y = Range(s, l, d) }",
                     {bytes_of(std::vector<int32_t>{-2})}) == std::vector<int32_t>{4, 2, 0});
  CHECK(import_error("g (int32 d) => (int32[n] y) <int32 s = {4}, int32 l = {0}> "
                     "{ y = Range(s, l, d) }")
            .find("expected the range of Range to be constant, found 'd'") != std::string::npos);
}

TEST_CASE("Resize: scales are the operand's, sizes give a quotient, which is 0") {
  auto scale = [](const std::string& call) {
    const ir::Graph graph = import_text(
        "g (float[1,1,3,3] x) => (float[1,1,n,n] y) <float[2] s = {1.5, 1.5}, int64[2] z = {4, 6}> "
        "{ y = " +
            call + " }",
        19);
    const auto params = graph.node(0).params.as<ResizeParams>();
    const ir::Dims& dims = graph.value(graph.outputs()[0]).type.dims;
    return std::vector<float>{params.scale_2, params.scale_3, static_cast<float>(dims[2]),
                              static_cast<float>(dims[3])};
  };
  CHECK(scale("Resize<axes = [2, 3]>(x, , s)") == std::vector<float>{1.5f, 1.5f, 4, 4});
  CHECK(scale("Resize<axes = [2, 3]>(x, , , z)") == std::vector<float>{0, 0, 4, 6});
  CHECK(scale("Resize<axes = [2, 3], keep_aspect_ratio_policy = \"not_larger\">(x, , , z)") ==
        std::vector<float>{0, 0, 4, 4});
  CHECK(scale("Resize<axes = [2, 3], keep_aspect_ratio_policy = \"not_smaller\", "
              "coordinate_transformation_mode = \"align_corners\">(x, , , z)") ==
        std::vector<float>{0, 0, 6, 6});
}

TEST_CASE("Resize: the common scale of axes that come out fractional") {
  const ir::Graph graph = import_text(
      "g (float[1,1,5,3] x) => (float[1,1,n,n] y) <int64[2] z = {8, 4}> "
      "{ y = Resize<axes = [2, 3], keep_aspect_ratio_policy = \"not_larger\">(x, , , z) }",
      18);
  const auto params = graph.node(0).params.as<ResizeParams>();
  CHECK(graph.value(graph.outputs()[0]).type.dims == ir::Dims{1, 1, 7, 4});
  CHECK(params.scale_2 == 4.0f / 3);
  CHECK(params.scale_3 == 0);
}

TEST_CASE("Resize by which no dim changes is none") {
  const ir::Graph graph = import_text(
      "g (float[1,1,5,9] x) => (float[1,1,n,n] y) <float[4] s = {1.0, 1.0, 1.1, 1.1}> "
      "{ r = Resize<mode = \"linear\">(x, , s) y = Relu(r) }",
      13);
  CHECK(graph.nodes().size() == 1);
}

TEST_CASE("Resize of opset 10 takes the ceiling where it makes smaller") {
  CHECK(run<float>("g (float[4] x) => (float[n] y) <float[1] s = {0.6}> { y = Resize(x, s) }",
                   {bytes_of(std::vector<float>{1, 2, 3, 4})}, 0, 10) == std::vector<float>{1, 3});
  CHECK(run<float>("g (float[3] x) => (float[n] y) <float[1] s = {1.5}> { y = Resize(x, s) }",
                   {bytes_of(std::vector<float>{1, 2, 3})}, 0,
                   10) == std::vector<float>{1, 1, 2, 3});
}

TEST_CASE("Resize of integers with antialias is rounded axis by axis") {
  // Halves along the width: 0.5 and 1.5 become 1 and 2, whose mean is 1.5.
  CHECK(run<uint8_t>("g (uint8[2,2] x) => (uint8[n,n] y) <int64[2] z = {1, 1}> "
                     "{ y = Resize<antialias = 1, mode = \"linear\">(x, , , z) }",
                     {Bytes{0, 1, 1, 2}}) == std::vector<uint8_t>{2});
  // Without it they are truncated, as in ONNX Runtime.
  CHECK(run<uint8_t>("g (uint8[2] x) => (uint8[n] y) <int64[1] z = {1}> "
                     "{ y = Resize<mode = \"linear\">(x, , , z) }",
                     {Bytes{0, 1}}) == std::vector<uint8_t>{0});
}

TEST_CASE("DepthToSpace of integers is a transposition") {
  CHECK(run<uint8_t>("g (uint8[1,4,1,2] x) => (uint8[1,1,2,4] y) "
                     "{ y = DepthToSpace<blocksize = 2>(x) }",
                     {Bytes{0, 1, 2, 3, 4, 5, 6, 7}}) ==
        std::vector<uint8_t>{0, 2, 1, 3, 4, 6, 5, 7});
}

TEST_CASE("a missing operand is refused, whatever the rule asks of it") {
  for (const char* call : {"Tile(x)", "Pad(x)", "Expand(x)", "Reshape(x)", "Gather(x)", "Slice(x)",
                           "TopK(x)", "OneHot(x)", "Range(x)", "CenterCropPad(x)", "Resize(x)"}) {
    INFO(call);
    CHECK(import_error("g (float[1,1,3,3] x) => (float[n] y) { y = " + std::string(call) + " }", 18)
              .find("expected") != std::string::npos);
  }
}

}  // namespace codl::test
