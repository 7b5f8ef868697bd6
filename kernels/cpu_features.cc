#include "kernels/cpu_features.h"

#include "kernels/binary/binary.h"
#include "kernels/common/loop_axes.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/cpu_feature_counts.h"

namespace codl::kernels {

CurveNames curve_names(int32_t kind) {
  switch (kind) {
    case kUnaryIdentity:
    case kUnaryRelu:
    case kUnaryClip:
      return {nullptr, nullptr};
    case kUnaryHardSigmoid:
    case kUnaryHardSwish:
      return {"hard_melements", nullptr};
    case kUnarySigmoid:
    case kUnarySwish:
      return {"sigmoid_melements", "sigmoid_steps"};
    case kUnaryGeluTanh:
    case kUnaryTanh:
      return {"tanh_melements", "tanh_steps"};
    case kUnaryGelu:
    case kUnaryErf:
      return {"erf_melements", "erf_steps"};
    case kUnaryExp:
      return {"exp_melements", "exp_steps"};
    case kUnarySqrt:
    case kUnaryReciprocal:
    case kUnarySoftsign:
      return {"root_melements", "root_steps"};
    case kUnaryLeakyRelu:
    case kUnaryThresholdedRelu:
    case kUnaryShrink:
    case kUnaryAbs:
    case kUnaryNeg:
    case kUnaryCeil:
    case kUnaryFloor:
    case kUnaryRound:
    case kUnarySign:
      return {"simple_melements", "simple_steps"};
    default:
      return {"other_melements", "other_steps"};
  }
}

int32_t activation_of(const StepShape& step) {
  for (const OpParamField& field : kOpParamFields)
    if (field.op == step.row->op && field.name == "activation")
      return *reinterpret_cast<const int32_t*>(static_cast<const uint8_t*>(step.params) +
                                               field.offset_bytes);
  return kUnaryIdentity;
}

namespace {

void unary(CpuFeatures& out) {
  const StepShape& step = out.step();
  const int32_t kind = step.params_as<UnaryParams>().kind;
  const CurveNames names = curve_names(kind);
  if (names.elements != nullptr) out.millions(names.elements, count_of(step));
  if (names.step != nullptr) out.once(names.step, 1);
  // What these do beside the curve that they share with others.
  if (kind == kUnarySwish) out.millions("swish_melements", count_of(step));
  if (kind == kUnaryHardSwish) out.millions("hard_swish_melements", count_of(step));
  if (kind == kUnaryGelu) out.millions("gelu_melements", count_of(step));
  // The others compute while memory moves.
  if (names.step == nullptr) out.traffic();
  out.near();
  const OperandShape& y = step.output();
  if (!has_pixels(y)) return;
  const MapPart part = map_part(step);
  // Lanes behind the channels are cleared in another pass.
  if (y.dims[1] % kChannelPad != 0) out.thousands("padded_kpixels", part.pixels);
  if (part.is_whole) return;
  out.thousands(names.elements == nullptr ? "kruns" : "curve_kruns", part.pixels);
  const double vectors = std::ceil(part.channels / out.vector_lanes());
  if (out.is_unaligned(y)) out.thousands("unaligned_kvectors", part.pixels * vectors);
  // Which end with a part of a vector, masked.
  if (vectors * out.vector_lanes() != part.channels) out.thousands("rest_kruns", part.pixels);
  out.pieces(2 * part.pixels);
  out.swept(part.pixels);
}

void binary(CpuFeatures& out) {
  const StepShape& step = out.step();
  const OperandShape& y = step.output();
  const int32_t kind = step.params_as<BinaryParams>().kind;
  const double elements = count_of(step);
  out.millions("written_mbytes", elements * sizeof(float));
  // Three streams instead of two.
  const int64_t counts[] = {element_count(step.operands[0]), element_count(step.operands[1])};
  if (counts[0] == counts[1]) out.millions("melements_of_two", elements);
  // The fewer streams, the less of a division is done while they move.
  if (kind == kBinaryDiv) out.millions("division_melements", elements);
  if (kind == kBinaryDiv && std::min(counts[0], counts[1]) == 1)
    out.millions("division_melements_of_one", elements);
  out.traffic();
  out.begins();
  out.apart_channels();
  if (!has_pixels(y)) {
    LoopAxes axes;
    for (int32_t axis = 0; axis < y.rank; ++axis)
      axes.append(y.dims[axis], broadcast_stride(step.operands[0], y, axis),
                  broadcast_stride(step.operands[1], y, axis));
    if (axes.count > 1) {
      const int64_t run = axes.extents[axes.count - 1];
      const double runs = elements / static_cast<double>(run);
      out.thousands("kruns", runs);
      // Which end with a part of a vector, masked.
      if (run % out.vector_lanes() != 0) out.thousands("rest_kruns", runs);
    }
    return;
  }
  const MapPart part = map_part(step);
  const auto repeats = [&](const OperandShape& x) {
    return element_count(x) > 1 && element_count(x) == y.dims[1];
  };
  // Vectors of channels that serve several pixels, across cache lines where pixels do not begin
  // with one; else pixels follow each other, or are a run each.
  if (repeats(step.operands[0]) || repeats(step.operands[1])) {
    if (kind == kBinaryDiv) out.millions("division_melements_of_channels", elements);
    const int32_t lanes = out.vector_lanes();
    const double vectors = part.pixels * std::ceil(part.channels / lanes);
    out.thousands("channel_kvectors", vectors);
    out.thousands("unaligned_channel_kvectors", vectors * out.crossing_share(y));
    // Each goes through the pixels by itself, the others several at once.
    const Strips strips = strips_of(part.channels, lanes == 8 ? 8 : 4, lanes);
    out.thousands("single_channel_kvectors", part.pixels * strips.singles);
    if (strips.narrow > 0) out.thousands("rest_channel_kvectors", part.pixels);
  } else if (!part.is_whole) {
    out.thousands("pixel_kruns", part.pixels);
  }
  if (!part.is_whole) {
    const double maps = counts[0] == counts[1] ? 3 : 2;
    out.pieces(maps * part.pixels);
    out.swept(maps / 2 * part.pixels);
  }
  // Lanes behind the channels are cleared in another pass.
  if (y.dims[1] % kChannelPad != 0) out.thousands("padded_kpixels", part.pixels);
}

// Elements of a curve that are computed for each that there is: whole vectors of each pixel where
// results are ended pixel by pixel, of a convolution in groups those of each group.
double curve_share(const StepShape& step, int32_t vector_lanes) {
  const OpKind op = step.row->op;
  if (op != OpKind::DepthwiseConv2d && op != OpKind::Conv2d && op != OpKind::MatMul) return 1;
  const OperandShape& y = step.output();
  double channels = channels_of_part(step.part_dim, step.part, y).count();
  if (op == OpKind::Conv2d)
    channels =
        std::min(channels, static_cast<double>(y.dims[1]) / step.params_as<Conv2dParams>().groups);
  const double vectors = channels / vector_lanes;
  return std::ceil(vectors) / vectors;
}

// The rows of plain C++: element by element, with the indices of each.
void plain_loops(CpuFeatures& out) {
  const OperandShape& y = out.step().output();
  const double elements = count_of(out.step());
  out.traffic();
  out.millions("melements", elements);
  out.thousands("kruns", y.rank == 0 ? 1 : elements / y.dims[y.rank - 1]);
}
}  // namespace

void add_cpu_features(const StepShape& step, int32_t thread_count, int32_t vector_lanes,
                      Features* features) {
  CpuFeatures out(step, thread_count, vector_lanes, features);
  if (step.row->dtype == DType::Any) return plain_loops(out);
  if (step.row->op != OpKind::Unary)
    if (const char* name = curve_names(activation_of(step)).elements)
      out.millions(name, count_of(step) * curve_share(step, vector_lanes));
  switch (step.row->op) {
    case OpKind::Unary:
      return unary(out);
    case OpKind::Binary:
      return binary(out);
    case OpKind::Concat:
      return count_concat(out);
    case OpKind::Transpose:
      return count_transpose(out);
    case OpKind::Convert:
      return count_convert(out);
    case OpKind::DepthToSpace:
      return count_depth_to_space(out);
    case OpKind::Pad:
      return count_pad(out);
    case OpKind::Pool2d:
      return count_pool2d(out);
    case OpKind::Softmax:
      return count_softmax(out);
    case OpKind::Normalize:
      return count_normalize(out);
    case OpKind::Resize:
      return count_resize(out);
    case OpKind::Conv2d:
      return count_conv2d(out);
    case OpKind::DepthwiseConv2d:
      return count_depthwise_conv2d(out);
    case OpKind::MatMul:
      return count_matmul(out);
    case OpKind::BatchMatMul:
      return count_batch_matmul(out);
    default:
      return out.traffic(1, false, 0.1);
  }
}

}  // namespace codl::kernels
