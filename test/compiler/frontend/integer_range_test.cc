// Tries integers that no network has, as every attribute and every constant operand of every
// operator. A model compiles, or is refused in one line that blames the model or says what codl
// does not support.
#include <functional>
#include <iterator>

#include "compiler/frontend/graph/importer.h"
#include "compiler/pipeline.h"
#include "compiler/support/error.h"
#include "llvm/Support/raw_ostream.h"
#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

struct Case {
  int opset;
  std::string text;
};

const std::string kMap = "g (float[1,4,6,6] x) => (float[] y) ";
const std::string kSquare = "g (float[4,6] x) => (float[] y) ";
const std::string kBool = "g (bool[4] x) => (bool[] y) ";

// Attributes with a default need not be given: the operator's schema has their names.
const Case kCases[] = {
    {13, kMap + "<float[6,2,3,3] w> { y = Conv<group = 2, strides = [1, 2], dilations = [1, 1], "
                "pads = [1, 1, 1, 1], kernel_shape = [3, 3]>(x, w) }"},
    {13, "g (float[1,4,6,6] x, float[6,4,3,3] w) => (float[] y) { y = Conv(x, w) }"},
    {13, kMap +
             "<float[4,2,3,3] w> { y = ConvTranspose<group = 2, strides = [2, 2], pads = [1, 1, 1, "
             "1], output_padding = [1, 1], dilations = [1, 1], kernel_shape = [3, 3]>(x, w) }"},
    {13, kMap +
             "<float[4,2,3,3] w> { y = ConvTranspose<output_shape = [12, 12], strides = [2, 2]>(x, "
             "w) }"},
    {13, kMap + "<float[4,2,3,3] w> { y = ConvTranspose<auto_pad = \"SAME_UPPER\", strides = [2, "
                "2]>(x, w) }"},
    {19,
     "g (float[1,4,6,6] x, float[1,36,6,6] o) => (float[] y) <float[6,2,3,3] w> { y = "
     "DeformConv<group = 2, offset_group = 2, strides = [1, 1], dilations = [1, 1], pads = [1, "
     "1, 1, 1], kernel_shape = [3, 3]>(x, w, o) }"},
    {13,
     "g (uint8[1,4,6,6] x) => (int32[] y) <uint8[2,4,1,1] w = {1, 2, 3, 4, 5, 6, 7, 8}> { y = "
     "ConvInteger<group = 1, strides = [1, 1], pads = [0, 0, 0, 0]>(x, w) }"},
    {13,
     "g (uint8[1,4,6,6] x) => (uint8[] y) <float s = {0.5}, uint8 z = {3}, uint8[2,4,1,1] w = {1, "
     "2, 3, 4, 5, 6, 7, 8}> { y = QLinearConv<group = 1, pads = [0, 0, 0, 0]>(x, s, z, w, s, z, s, "
     "z) }"},
    {18,
     "g (float[1,12,8] x) => (float[] y) <int64[2] i = {5, 5}, int64[2] b = {2, 2}> { y = "
     "Col2Im<dilations = [1, 1], pads = [0, 0, 0, 0], strides = [2, 1]>(x, i, b) }"},
    {22, kMap + "{ y = AveragePool<kernel_shape = [2, 2], strides = [1, 1], pads = [1, 1, 1, 1], "
                "dilations = [1, 1], ceil_mode = 1, count_include_pad = 1>(x) }"},
    {13,
     "g (float[1,4,6,6] x) => (float[] y, int64[] i) { y, i = MaxPool<kernel_shape = [2, 2], "
     "strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], storage_order = 0>(x) }"},
    {18, kMap + "{ y = LpPool<kernel_shape = [2, 2], p = 3, pads = [0, 0, 0, 0]>(x) }"},
    {13, kMap + "{ y = GlobalLpPool<p = 2>(x) }"},
    {13,
     "g (float[1,1,2,2] x, int64[1,1,2,2] i) => (float[] y) <int64[4] s = {1, 1, 4, 4}> { y = "
     "MaxUnpool<kernel_shape = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0]>(x, i, s) }"},
    {10, kMap + "{ y = Pad<pads = [0, 0, 1, 1, 0, 0, 1, -1]>(x) }"},
    {18, kMap +
             "<int64[4] p = {1, -1, 0, 2}, float v = {1}, int64[2] a = {-1, 1}> { y = Pad(x, p, v, "
             "a) }"},
    {18, kMap + "<int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> { y = Pad<mode = \"reflect\">(x, p) }"},
    {18, kMap + "<int64[8] p = {0, 0, -2, 1, 0, 0, 1, 1}> { y = Pad<mode = \"edge\">(x, p) }"},
    {19, kMap + "<int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> { y = Pad<mode = \"wrap\">(x, p) }"},
    {18, kMap + "<int64[2] s = {8, 3}> { y = CenterCropPad<axes = [2, -1]>(x, s) }"},
    {9, kMap + "{ y = Slice<starts = [1, -3], ends = [3, 100], axes = [1, 2]>(x) }"},
    {13, kMap +
             "<int64[2] s = {1, -1}, int64[2] e = {3, -7}, int64[2] a = {1, 2}, int64[2] t = {1, "
             "-2}> { y = Slice(x, s, e, a, t) }"},
    {13,
     "g (float[4,6] x, int64[1] e) => (float[] y) <int64[1] s = {1}, int64[1] a = {1}, int64[1] t "
     "= {2}> { y = Slice(x, s, e, a, t) }"},
    {11,
     "g (float[4,6] x) => (float[] y, float[] z) { y, z = Split<axis = 1, split = [2, 4]>(x) }"},
    {18,
     "g (float[4,6] x) => (float[] y, float[] z) { y, z = Split<axis = 1, num_outputs = 2>(x) }"},
    {13,
     "g (float[4,6] x) => (float[] y, float[] z) <int64[2] s = {2, 4}> { y, z = Split<axis = "
     "1>(x, s) }"},
    {13, kSquare + "{ y = Concat<axis = 1>(x, x) }"},
    {13, kSquare + "{ y = Transpose<perm = [1, 0]>(x) }"},
    {14, kSquare + "<int64[3] s = {2, 0, -1}> { y = Reshape<allowzero = 0>(x, s) }"},
    {13, kSquare + "{ y = Flatten<axis = 1>(x) }"},
    {11, kSquare + "{ t = Unsqueeze<axes = [0, -1]>(x) y = Squeeze<axes = [0]>(t) }"},
    {13, kSquare +
             "<int64[2] a = {0, -1}, int64[1] b = {0}> { t = Unsqueeze(x, a) y = Squeeze(t, b) }"},
    {13, kSquare + "<int64[3] s = {2, 1, 6}> { y = Expand(x, s) }"},
    {13, kSquare + "<int64[2] r = {2, 3}> { y = Tile(x, r) }"},
    {15, "g (float[4,6] x) => (int64[] y) { y = Shape<start = -2, end = 5>(x) }"},
    {13, kSquare + "<int64[2] s = {4, 6}> { k = ConstantOfShape(s) y = Add(x, k) }"},
    {13, kSquare + "{ k = Constant<value_ints = [4, 6]>() y = Reshape(x, k) }"},
    {13, kSquare + "<int64[1] k0 = {1}> { k = Constant<value_int = 24>() l = Reshape(k, k0) y = "
                   "Reshape(x, l) }"},
    {11,
     "g (int64[3] x) => (int64[] y) <int64 s = {1}, int64 l = {7}, int64 d = {2}> { r = Range(s, "
     "l, "
     "d) y = Add(x, r) }"},
    {11,
     "g (int32[3] x) => (int32[] y) <int32 s = {1}, int32 l = {7}, int32 d = {2}> { r = Range(s, "
     "l, "
     "d) y = Add(x, r) }"},
    {13, kSquare + "<int64[2] i = {1, -1}> { y = Gather<axis = 1>(x, i) }"},
    {13, kSquare + "<int64[2,1] i = {1, -1}> { y = GatherElements<axis = 1>(x, i) }"},
    {13, kSquare + "<int64[2,1] i = {1, -1}> { y = GatherND<batch_dims = 0>(x, i) }"},
    {13,
     kSquare + "<int64[1,2] i = {1, -1}, float[1,2] u> { y = ScatterElements<axis = 1>(x, i, u) }"},
    {10, kSquare + "<int64[1,2] i = {1, -1}, float[1,2] u> { y = Scatter<axis = 1>(x, i, u) }"},
    {13, kSquare + "<int64[1,1] i = {-1}, float[1,6] u> { y = ScatterND(x, i, u) }"},
    {24,
     "g (float[1,2,4,3] x) => (float[] y) <float[1,2,1,3] u, int64[1] w = {1}> { y = "
     "TensorScatter<axis = -2>(x, u, w) }"},
    {13, kSquare +
             "<int64[6] l = {1, 2, 3, 4, 1, 2}> { y = ReverseSequence<time_axis = 0, batch_axis = "
             "1>(x, l) }"},
    {13,
     "g (int64[4] x) => (float[] y) <int64 d = {5}, float[2] v> { y = OneHot<axis = -1>(x, d, v) "
     "}"},
    {13, kSquare + "<bool[4] c = {1, 0, 1, 1}> { y = Compress<axis = 0>(x, c) }"},
    {9, "g (float[4,6] x) => (float[] y, int64[] i) { y, i = TopK<k = 2, axis = 1>(x) }"},
    {13,
     "g (float[4,6] x) => (float[] y, int64[] i) <int64[1] k = {2}> { y, i = TopK<axis = 1, "
     "largest "
     "= 0, sorted = 1>(x, k) }"},
    {14, kSquare + "<int64 k = {1}> { y = Trilu<upper = 0>(x, k) }"},
    {13, kSquare + "{ y = EyeLike<k = 1, dtype = 1>(x) }"},
    {13,
     "g (float[1,5,4] b, float[1,1,5] s) => (int64[] y) <int64[1] m = {3}, float[1] t> { y = "
     "NonMaxSuppression<center_point_box = 0>(b, s, m, t) }"},
    {11, kSquare + "{ y = ReduceSum<axes = [0, -1], keepdims = 0>(x) }"},
    {18, kSquare +
             "<int64[1] a = {-1}> { y = ReduceMax<keepdims = 1, noop_with_empty_axes = 0>(x, a) }"},
    {13,
     "g (float[4,6] x) => (int64[] y) { y = ArgMax<axis = 1, keepdims = 0, select_last_index = "
     "1>(x) }"},
    {13, "g (float[4,6] x) => (int64[] y) { y = ArgMin<axis = 1>(x) }"},
    {14, kSquare + "<int64 a = {1}> { y = CumSum<exclusive = 1, reverse = 1>(x, a) }"},
    {26, kSquare + "<int64 a = {1}> { y = CumProd<exclusive = 1, reverse = 1>(x, a) }"},
    {11, kSquare + "{ y = Softmax<axis = 1>(x) }"},
    {13, kSquare + "{ y = LogSoftmax<axis = -1>(x) }"},
    {13, kSquare + "{ y = Hardmax<axis = -1>(x) }"},
    {17, kSquare + "<float[6] s> { y = LayerNormalization<axis = -1, stash_type = 1>(x, s) }"},
    {23, kSquare + "<float[6] s> { y = RMSNormalization<axis = -1, stash_type = 1>(x, s) }"},
    {21, kMap + "<float[4] s> { y = GroupNormalization<num_groups = 2, stash_type = 1>(x, s, s) }"},
    {13, kMap + "{ y = MeanVarianceNormalization<axes = [0, 2, 3]>(x) }"},
    {13, kMap + "{ y = LpNormalization<axis = 1, p = 1>(x) }"},
    {13, kMap + "{ y = LRN<size = 3>(x) }"},
    {15, kMap + "<float[4] s> { y = BatchNormalization<training_mode = 0>(x, s, s, s, s) }"},
    {8, kMap + "<float[4] s> { y = BatchNormalization<spatial = 1>(x, s, s, s, s) }"},
    {13,
     kMap +
         "<int64[4] s = {1, 4, 9, 12}, float[0] n> { y = Resize<exclude_outside = 0>(x, n, n, s) "
         "}"},
    {18, kMap + "<int64[2] s = {9, 12}> { y = Resize<axes = [2, -1], antialias = 1, mode = "
                "\"linear\", keep_aspect_ratio_policy = \"not_larger\">(x, , , s) }"},
    {9, kMap + "<float[4] s = {1, 1, 2, 2}> { y = Upsample(x, s) }"},
    {13, kMap + "{ y = DepthToSpace<blocksize = 2>(x) }"},
    {13, kMap + "{ y = SpaceToDepth<blocksize = 2>(x) }"},
    {16,
     "g (float[1,1,4,4] x, float[1,2,2,2] c) => (float[] y) { y = GridSample<align_corners = 1>(x, "
     "c) }"},
    {20,
     "g (float[1,2,3] x) => (float[] y) <int64[4] s = {1, 1, 4, 5}> { y = AffineGrid<align_corners "
     "= 0>(x, s) }"},
    {16,
     kMap +
         "<float[2,4] r, int64[2] b = {0, 0}> { y = RoiAlign<output_height = 2, output_width = 2, "
         "sampling_ratio = 2>(x, r, b) }"},
    {13, kSquare + "<float[4,6] b> { y = Gemm<transA = 0, transB = 1>(x, b) }"},
    {21,
     "g (uint8[4,6] x) => (float[] y) <float[4,2] s, uint8[4,2] z = {0, 1, 2, 3, 4, 5, 6, 7}> { y "
     "= "
     "DequantizeLinear<axis = 1, block_size = 3>(x, s, z) }"},
    {21,
     "g (float[4,6] x) => (uint8[] y) <float[6] s, uint8[6] z = {0, 1, 2, 3, 4, 5}> { y = "
     "QuantizeLinear<axis = 1, block_size = 0, output_dtype = 2, saturate = 1>(x, s, z) }"},
    {13, kSquare + "{ y = Cast<to = 1>(x) }"},
    {26, "g (int32[4,6] x) => (uint32[] y) { y = BitCast<to = 12>(x) }"},
    {19, kSquare + "{ y = CastLike<saturate = 1>(x, x) }"},
    {13, "g (int64[4] x) => (int64[] y) <int64[1] k = {3}> { y = Mod<fmod = 0>(x, k) }"},
    {13,
     "g (int64[4] x) => (int64[] y) <int64[1] k = {3}> { d = Div(x, k) m = Mul(d, k) s = Sub(m, k) "
     "p "
     "= Pow(s, k) a = Min(p, k) b = Max(a, k) y = Neg(b) }"},
    {13,
     "g (int64[4] x) => (int64[] y) <int64[4] k = {3, 2, 1, 5}, int64[4] l = {1, 2, 3, 4}> { q = "
     "Div(k, l) r = Mod(k, l) p = Mul(q, r) s = Sub(p, k) a = Abs(s) t = Add(a, l) n = Neg(t) u = "
     "Sum(n, k) y = Add(x, u) }"},
    {13,
     "g (uint8[4] x) => (uint8[] y) <uint8[1] k = {3}> { y = BitShift<direction = \"LEFT\">(x, k) "
     "}"},
    {13, "g (float[4] x) => (bool[] y) { y = IsInf<detect_negative = 1, detect_positive = 0>(x) }"},
    {13, kSquare + "<float r = {0.5}, bool t = {0}> { y = Dropout<seed = 1>(x, r, t) }"},
    {27,
     "g (float[1,4,6] q, float[1,4,6] k, float[1,4,6] v) => (float[] y) { y = "
     "LinearAttention<q_num_heads = 2, kv_num_heads = 2, update_rule = \"linear\", chunk_size = "
     "2>(q, k, v) }"},
    {14,
     "g (float[3,2,4] x) => (float[] y) <float[1,5,4] w, float[1,5,5] r> { y = RNN<hidden_size = "
     "5, "
     "layout = 0>(x, w, r) }"},
    {14,
     "g (float[3,2,4] x) => (float[] y) <float[1,15,4] w, float[1,15,5] r> { y = GRU<hidden_size = "
     "5, linear_before_reset = 1>(x, w, r) }"},
    {14,
     "g (float[3,2,4] x) => (float[] y) <float[1,20,4] w, float[1,20,5] r, float[1,40] b, int32[2] "
     "l "
     "= {3, 2}> { y = LSTM<hidden_size = 5, input_forget = 0>(x, w, r, b, l) }"},
    {23,
     "g (float[1,4,6] q, float[1,5,6] k, float[1,5,6] v) => (float[] y) { y = "
     "Attention<q_num_heads "
     "= 2, kv_num_heads = 2, is_causal = 1, qk_matmul_output_mode = 0, softmax_precision = 1>(q, "
     "k, "
     "v) }"},
    {24,
     "g (float[1,2,4,3] q, float[1,2,5,3] k, float[1,2,5,3] v) => (float[] y) <int64[1] n = {4}> { "
     "y "
     "= Attention<is_causal = 1>(q, k, v, , , , n) }"},
    {23,
     "g (float[1,2,4,6] x) => (float[] y) <float[8,3] c, int64[1,4] p = {0, 1, 2, 3}> { y = "
     "RotaryEmbedding<interleaved = 0, num_heads = 0, rotary_embedding_dim = 0>(x, c, c, p) }"},
    {13,
     "g (float[2,3] x) => (float[] y) <int64[2] t = {1, -1}> { y = NegativeLogLikelihoodLoss<"
     "ignore_index = 1>(x, t) }"},
    {13,
     "g (float[2,3] x) => (float[] y) <int64[2] t = {1, 2}> { y = SoftmaxCrossEntropyLoss<"
     "ignore_index = 1>(x, t) }"},
    {17,
     "g (float[4] x) => (float[] y) <int64 n = {4}> { h = HannWindow<periodic = 1, output_datatype "
     "= "
     "1>(n) m = HammingWindow<periodic = 0>(n) b = BlackmanWindow(n) s = Sum(h, m, b) y = Mul(x, "
     "s) "
     "}"},
    {17,
     "g (float[1,8,1] x) => (float[] y) <int64 n = {8}> { y = DFT<axis = 1, inverse = 0, onesided "
     "= "
     "0>(x, n) }"},
    {20,
     "g (float[1,8,1] x) => (float[] y) <int64 n = {8}, int64 a = {1}> { y = DFT<inverse = 0, "
     "onesided = 1>(x, n, a) }"},
    {17,
     "g (float[1,16,1] x) => (float[] y) <int64 s = {4}, int64 n = {8}> { y = STFT<onesided = "
     "1>(x, "
     "s, , n) }"},
    {17,
     "g (float[5,3] x) => (float[] y) <int64 b = {3}, int64 n = {8}, int64 r = {16000}, float l = "
     "{0}, float u = {8000}> { w = MelWeightMatrix<output_datatype = 1>(b, n, r, l, u) y = Add(x, "
     "w) "
     "}"},
    {13,
     "g (float[2] x) => (float[] y) <int64 n = {3}, bool g = {1}> { y = Loop<body = b (int64 i, "
     "bool "
     "c, float[2] v) => (bool d, float[2] w) { d = Identity(c) w = Add(v, x) }>(n, g, x) }"},
    {13,
     "g (float[2] x) => (float[] y) <int64 k = {3}, int64 l = {3}> { c = Equal(k, l) y = If<"
     "then_branch = a () => (float[2] p) { p = Relu(x) }, else_branch = b () => (float[2] p) { p = "
     "Neg(x) }>(c) }"},
    {13,
     "g (float[2] x, float[3,2] s) => (float[] y, float[] z) { y, z = Scan<num_scan_inputs = 1, "
     "scan_input_axes = [0], scan_input_directions = [0], scan_output_axes = [0], "
     "scan_output_directions = [0], body = b (float[2] v, float[2] e) => (float[2] w, float[2] o) "
     "{ w "
     "= Add(v, e) o = Identity(w) }>(x, s) }"},
    {18, kSquare + "<int64 p = {-1}, int64[2] l = {2, 4}> { s = SplitToSequence<axis = 1, keepdims "
                   "= 1>(x, l) e = SequenceErase(s, p) i = SequenceInsert(e, x, p) y = "
                   "ConcatFromSequence<axis = 1, new_axis = 0>(i) }"},
    {18, kSquare + "<int64 p = {0}, int64 l = {2}> { s = SplitToSequence<axis = 1>(x, l) y = "
                   "SequenceAt(s, p) }"},
    {18, kSquare + "{ e = SequenceEmpty<dtype = 1>() i = SequenceInsert(e, x) y = "
                   "ConcatFromSequence<axis = 0, new_axis = 1>(i) }"},
    {13,
     kSquare +
         "<float[6] b> { y = com.microsoft.BiasSoftmax<axis = 1, is_inner_broadcast = 1>(x, b) }"},
    {13, kSquare + "<float[4,6] b> { y = com.microsoft.FusedMatMul<transA = 0, transB = 1, "
                   "transBatchA = 0, transBatchB = 0>(x, b) }"},
    {13, kSquare + "<float[4,6] b, float[4] c> { y = com.microsoft.FusedGemm<transA = 0, transB = "
                   "1, activation = \"Relu\">(x, b, c) }"},
    {13,
     kMap +
         "<float[6,2,3,3] w> { y = com.microsoft.FusedConv<group = 2, strides = [1, 2], dilations "
         "= [1, 1], pads = [1, 1, 1, 1], kernel_shape = [3, 3], activation = \"Relu\">(x, w) }"},
    {13, kSquare +
             "<float[6] s> { y = SimplifiedLayerNormalization<axis = -1, stash_type = 1>(x, s) }"},
    {13,
     "g (uint8[2,3] x) => (uint8[] y) <float s = {0.5}, uint8 z = {3}, uint8[3,4] b = {1, 2, 3, 4, "
     "5, 6, 7, 8, 9, 10, 11, 12}, int32[4] c = {1, 2, 3, 4}> { y = com.microsoft.QGemm<transA = 0, "
     "transB = 0>(x, s, z, b, s, z, c, s, z) }"},
    {13,
     "g (uint8[1,2,4,4] x) => (uint8[] y) <float s = {0.5}, uint8 z = {3}> { a = "
     "com.microsoft.QLinearAveragePool<kernel_shape = [2, 2], strides = [1, 1], pads = [1, 1, 1, "
     "1], "
     "ceil_mode = 0, count_include_pad = 0, channels_last = 0>(x, s, z, s, z) y = "
     "com.microsoft.QLinearGlobalAveragePool<channels_last = 0>(a, s, z, s, z) }"},
    {13,
     "g (uint8[2,3,4] x) => (uint8[] y) <float s = {0.5}, uint8 z = {3}> { a = "
     "com.microsoft.QLinearSoftmax<axis = 1, opset = 12>(x, s, z, s, z) y = "
     "com.microsoft.QLinearConcat<axis = 1>(s, z, a, s, z, x, s, z) }"},
    {13,
     "g (float[1,16] x) => (float[] y) <uint8[2,1,8] b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, "
     "13, "
     "14, 15, 16}, float[2] s, uint8[2] z = {7, 8}> { y = com.microsoft.MatMulNBits<K = 16, N = 2, "
     "bits = 4, block_size = 16, accuracy_level = 4, weight_prepacked = 0>(x, b, s, z) }"},
    {13,
     "g (int64[2] i) => (float[] y) <uint8[2,8] d = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, "
     "14, "
     "15, 16}, float[2,1] s, uint8[2,1] z = {7, 8}> { y = com.microsoft.GatherBlockQuantized"
     "<gather_axis = 0, quantize_axis = 1, block_size = 16, bits = 4>(d, i, s, z) }"},
    {13,
     "g (float[3,1,2] x) => (float[] y) <uint8[1,2,4] w = {1, 2, 3, 4, 5, 6, 7, 8}, uint8[1,1,4] r "
     "= "
     "{1, 2, 3, 4}, float[1] s, uint8[1] z = {3}> { y = "
     "com.microsoft.DynamicQuantizeLSTM<hidden_size "
     "= 1, input_forget = 0>(x, w, r, , , , , , s, z, s, z) }"},
    {13,
     "g (float[2,3] x) => (float[] y) { a = RandomNormalLike<dtype = 1>(x) b = RandomUniformLike<"
     "dtype = 1>(x) c = RandomNormal<shape = [2, 3], dtype = 1>() d = RandomUniform<shape = [2, "
     "3], "
     "dtype = 1>() y = Sum(a, b, c, d) }"},
    {13,
     "g (float[1,2,4] x) => (float[] y, float[] z) <float[4,12] w, int32[2] m = {2, 0}> { a, z = "
     "com.microsoft.Attention<num_heads = 2, unidirectional = 1, do_rotary = 0, "
     "rotary_embedding_dim = 0, past_present_share_buffer = 0, qkv_hidden_sizes = [4, 4, 4]>(x, w, "
     ", m) b = com.microsoft.MultiHeadAttention<num_heads = 2, unidirectional = 1>(a, x, x, , m) y "
     "= com.microsoft.Attention<num_heads = 1>(b, w) }"},
    {13,
     "g (float[1,2,4] x, float[1,1,3,4] k) => (float[] y, float[] c, float[] d) <int32[1] s = {3}, "
     "int32[1] t = {4}, float[4,2] cache> { y, c, d = com.microsoft.GroupQueryAttention<num_heads "
     "= "
     "1, kv_num_heads = 1, do_rotary = 1, rotary_interleaved = 0, local_window_size = 2, "
     "smooth_softmax = 0, causal = 1, sliding_window_cache = 0, qk_output = 0, kv_cache_bit_width "
     "= "
     "8>(x, x, x, k, k, s, t, cache, cache) }"},
    {13,
     "g (float[1,2,4] x) => (float[] y) <int64[1] p = {1}, float[4,2] cache> { y = "
     "com.microsoft.RotaryEmbedding<interleaved = 0, num_heads = 1, rotary_embedding_dim = 4, "
     "is_packed_batching = 0>(x, p, cache, cache) }"},
    {13,
     "g (int32[1,2] x) => (float[] y, int32[] n) <float[4,3] t, float[3] s, int32[1,2] m = {1, 0}> "
     "{ y, n = com.microsoft.EmbedLayerNormalization<mask_index_type = 1>(x, x, t, t, t, s, s, m, "
     "x) }"},
    {13,
     "g (float[1,4,4,2] x) => (float[] y) <float[2,3,3,2] w, float[2,2,3,3] v, float[2] s> { a = "
     "com.microsoft.NhwcConv<group = 1, strides = [1, 1], dilations = [1, 1], pads = [1, 1, 1, 1], "
     "kernel_shape = [3, 3]>(x, w) b = com.microsoft.NhwcFusedConv<group = 1, strides = [1, 1], "
     "dilations = [1, 1], pads = [1, 1, 1, 1], kernel_shape = [3, 3]>(a, v) c = "
     "com.microsoft.GroupNorm<groups = 1, activation = 1, channels_last = 1>(b, s, s) y = "
     "com.microsoft.SkipGroupNorm<groups = 1, activation = 1, channels_last = 1>(c, s, s, c) }"},
};

// These have no attribute or operand of integers.
const std::string kWithoutIntegers =
    " Abs Acos Acosh Add And Asin Asinh Atan Atanh Ceil Celu Clip Cos Cosh Det Div "
    "DynamicQuantizeLinear Einsum Elu Equal Erf Exp Floor Gelu GlobalAveragePool GlobalMaxPool "
    "Greater "
    "GreaterOrEqual HardSigmoid HardSwish Identity InstanceNormalization IsNaN LeakyRelu Less "
    "LessOrEqual Log MatMul MatMulInteger Max Mean Min Mish Mul Neg NonZero Not Or PRelu Pow "
    "QLinearMatMul Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Size Softplus Softsign "
    "Sqrt "
    "Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor BitwiseAnd BitwiseNot BitwiseOr BitwiseXor "
    "OptionalGetElement OptionalHasElement SwiGLU CausalConvWithState BiasGelu FastGelu QuickGelu "
    "SkipLayerNormalization SkipSimplifiedLayerNormalization TransposeMatMul Optional "
    "SequenceConstruct SequenceLength SequenceMap DynamicQuantizeMatMul MatMulIntegerToFloat "
    "QLinearAdd QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearWhere BiasAdd "
    "BiasSplitGelu ";

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kValues[] = {
    kMin,
    kMax,
    -1,
    0,
    INT32_MAX,
    int64_t{1} << 40,
#ifndef CODL_SLOW_RUN
    kMin + 1,
    7,
    int64_t{1} << 24,
    (int64_t{1} << 24) + 1,
    INT32_MIN,
    int64_t{1} << 31,
    -(int64_t{1} << 32),
#endif
};
// The values take turns in every place.
#ifdef CODL_SLOW_RUN
constexpr int kStride = 5;  // no divisor of their number
#else
constexpr int kStride = 1;
#endif

// Calls `try_model` with each integer of the model in turn replaced by each value, and with all
// integers of an attribute or a constant.
class Replacer {
 public:
  Replacer(onnx::ModelProto model, std::function<void(const std::string&, const std::string&)> run)
      : model_(std::move(model)), try_model_(std::move(run)) {}

  void run() { graph(*model_.mutable_graph()); }

 private:
  void graph(onnx::GraphProto& graph) {
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
      // ONNX's text stores them here.
      integers(*tensor.mutable_int64_data(), tensor.name());
      integers(*tensor.mutable_int32_data(), tensor.name());
    }
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) this->graph(*attribute.mutable_g());
        if (attribute.type() == onnx::AttributeProto::INT) single(attribute, node);
        if (attribute.type() == onnx::AttributeProto::INTS)
          integers(*attribute.mutable_ints(), node.op_type() + " " + attribute.name());
      }
      absent_attributes(node);
    }
  }

  void single(onnx::AttributeProto& attribute, const onnx::NodeProto& node) {
    const int64_t original = attribute.i();
    for (int64_t value : kValues) {
      attribute.set_i(value);
      serialize(node.op_type() + " " + attribute.name(), value);
    }
    attribute.set_i(original);
  }

  template <typename Integers>
  void integers(Integers& elements, const std::string& what) {
    using T = std::decay_t<decltype(elements[0])>;
    const Integers original = elements;
    for (int64_t value : kValues) {
      if (value != static_cast<T>(value)) continue;
      for (int i = 0; i < elements.size(); ++i) {
        elements[i] = static_cast<T>(value);
        serialize(what, value);
        elements[i] = original[i];
      }
      for (auto& element : elements) element = static_cast<T>(value);
      serialize(what, value);
      elements = original;
    }
  }

  // Adds attributes that the schema of Debian's libonnx has and the node lacks.
  void absent_attributes(onnx::NodeProto& node) {
    const int opset = static_cast<int>(model_.opset_import(0).version());
    const onnx::OpSchema* schema =
        onnx::OpSchemaRegistry::Schema(node.op_type(), opset, node.domain());
    if (schema == nullptr) return;
    for (const auto& [name, attribute] : schema->attributes()) {
      const bool is_int = attribute.type == onnx::AttributeProto::INT;
      const std::string& wanted = name;  // a lambda cannot capture `name`
      const bool is_given = llvm::any_of(node.attribute(), [&](const onnx::AttributeProto& known) {
        return known.name() == wanted;
      });
      if (is_given || (!is_int && attribute.type != onnx::AttributeProto::INTS)) continue;
      for (int count : is_int ? std::vector<int>{1} : std::vector<int>{1, 2, 4}) {
        onnx::AttributeProto& added = *node.add_attribute();
        added.set_name(name);
        added.set_type(attribute.type);
        if (is_int) single(added, node);
        for (int i = 0; !is_int && i < count; ++i) added.add_ints(0);
        if (!is_int) integers(*added.mutable_ints(), node.op_type() + " " + name);
        node.mutable_attribute()->RemoveLast();
      }
    }
  }

  void serialize(const std::string& what, int64_t value) {
    if (count_++ % kStride != 0) return;
    try_model_(model_.SerializeAsString(), what + " " + std::to_string(value));
  }

  onnx::ModelProto model_;
  std::function<void(const std::string&, const std::string&)> try_model_;
  int count_ = 0;
};

// Returns codlc's exit code and text.
std::pair<int, std::string> compiled(const std::string& bytes) {
  static const compiler::DeviceProfile host = value_of(compiler::load_device_profile("host"));
  compiler::CompileOptions options;
  options.partition.search_budget = 0;  // thousands of models: no plan needs to be good
  auto result = compiler::compile(bytes, "m.onnx", host, options);
  if (result) return {0, ""};
  std::string text;
  llvm::raw_string_ostream os(text);
  const int exit_code = compiler::report_error(result.takeError(), os);
  return {exit_code, os.str()};
}

}  // namespace

TEST_CASE("every operator has a case of extreme integers, or none to have") {
  std::string all = kWithoutIntegers;
  for (const Case& one : kCases) all += one.text;
  for (const compiler::ImportEntry& entry : compiler::import_table()) {
    CAPTURE(entry.op_type.str());
    const bool is_reduction = entry.op_type.startswith("Reduce");  // one rule
    const auto is_named = [&](const char* before, const char* behind) {
      return all.find(before + entry.op_type.str() + behind) != std::string::npos;
    };
    CHECK((is_reduction || is_named(" ", "<") || is_named(" ", "(") || is_named(" ", " ") ||
           is_named(".", "<")));
  }
}

TEST_CASE("extreme integers compile or are refused in one line") {
  int tried = 0;
  for (const Case& one : kCases) {
    CAPTURE(one.text);
    onnx::ModelProto proto;
    REQUIRE(proto.ParseFromString(onnx_model(one.text, one.opset)));
    onnx::OperatorSetIdProto& contrib = *proto.add_opset_import();
    contrib.set_domain("com.microsoft");
    contrib.set_version(1);
    const auto [code, why] = compiled(proto.SerializeAsString());
    INFO(why);
    CHECK(code == 0);
    Replacer(proto, [&](const std::string& bytes, const std::string& what) {
      ++tried;
      const auto [exit_code, text] = compiled(bytes);
      if (exit_code <= 2 && llvm::StringRef(text).count('\n') <= 1) return;
      CAPTURE(what);
      INFO(text);
      CHECK(exit_code <= 2);
      CHECK(llvm::StringRef(text).count('\n') <= 1);
    }).run();
  }
  CHECK(tried > 770 * static_cast<int>(std::size(kValues)) / kStride);
}

TEST_CASE("settings are checked where they are read; bounds and data may be anything") {
  const auto outcome = [](const std::string& text, int opset = 13) {
    return compiled(onnx_model(text, opset));
  };
  const std::string min = std::to_string(kMin);
  const std::string max = std::to_string(kMax);
  const auto pad = outcome("g (float[2] x) => (float[2] y) <int64[2] p = {" + min + ", " + min +
                           "}> { y = Pad(x, p) }");
  CHECK(pad.first == 2);
  CHECK(pad.second.find("y: expected") == std::string::npos);  // among the reasons, in one line
  CHECK(pad.second.find("expected elements of 'p' in [-2147483647, 2147483647], found " + min) !=
        std::string::npos);
  const auto axis =
      outcome("g (float[2] x) => (float[2] y) { y = Softmax<axis = " + max + ">(x) }");
  CHECK(axis.second.find("expected attribute 'axis' in [-2147483647, 2147483647], found " + max) !=
        std::string::npos);
  // Slices are as in numpy, and trip counts are such that nobody knows them.
  CHECK(computed("g (float[4] x) => (float[4] y) <int64[1] s = {" + max + "}, int64[1] e = {" +
                     min + "}, int64[1] a = {0}, int64[1] t = {-1}> { y = Slice(x, s, e, a, t) }",
                 {1, 2, 3, 4}) == std::vector<float>{4, 3, 2, 1});
  CHECK(computed("g (float[4] x) => (float[1] y) <int64[1] s = {" + min + "}, int64[1] e = {" +
                     max + "}, int64[1] a = {0}, int64[1] t = {" + max +
                     "}> { y = Slice(x, s, e, a, t) }",
                 {1, 2, 3, 4}) == std::vector<float>{1});
  CHECK(
      computed("g (float[2] x) => (float[2] y) <int64 n = {" + max +
                   "}, bool g = {1}, int64 two = {2}> { y = Loop<body = b (int64 i, bool c, "
                   "float[2] v) => (bool d, float[2] w) { d = Less(i, two) w = Add(v, x) }>(n, g, "
                   "x) }",
               {1, 10}) == std::vector<float>{4, 40});
  CHECK(outcome("g (int64[1] x) => (int64[1] y) { k = Constant<value_ints = [" + min +
                "]>() y = Max(x, k) }")
            .first == 0);
}

}  // namespace codl::test
