// Holds rules that change the size of maps: Resize, Upsample, DepthToSpace, SpaceToDepth.
#include <algorithm>
#include <cmath>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"
#include "kernels/common/reference/elements.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// ---- Resize ----

// Holds what is known of a Resize, per axis of x.
struct ResizeAxes {
  llvm::SmallVector<int32_t, 4> axes;  // axes of the operands, in their order
  Dims64 dims;                         // dims of the output
  std::vector<float> scales;           // unless computed; 0: the quotient of the dims
};

struct NamedMember {
  llvm::StringLiteral name;
  int32_t member;
};

llvm::Expected<int32_t> member_of(const OnnxNode& node, llvm::StringRef attribute,
                                  llvm::StringRef fallback, llvm::ArrayRef<NamedMember> members) {
  CODL_ASSIGN_OR_RETURN(name, node.string_or(attribute, fallback));
  for (const NamedMember& known : members)
    if (known.name == name) return known.member;
  return unsupported_error(node.name, "expected a {0} that ONNX names, found '{1}'", attribute,
                           name);
}

llvm::Expected<int32_t> interpolation(const OnnxNode& node) {
  // Some exporters write "bilinear" for linear in Upsample.
  return member_of(node, "mode", "nearest",
                   {{"nearest", kResizeNearest},
                    {"linear", kResizeLinear},
                    {"bilinear", kResizeLinear},
                    {"cubic", kResizeCubic}});
}

llvm::Error read_attributes(const OnnxNode& node, ResizeParams& params) {
  CODL_ASSIGN_OR_RETURN(kind, interpolation(node));
  CODL_ASSIGN_OR_RETURN(coordinates, member_of(node, "coordinate_transformation_mode", "half_pixel",
                                               {{"half_pixel", kResizeHalfPixel},
                                                {"half_pixel_symmetric", kResizeHalfPixelSymmetric},
                                                {"pytorch_half_pixel", kResizePytorchHalfPixel},
                                                {"align_corners", kResizeAlignCorners},
                                                {"asymmetric", kResizeAsymmetric},
                                                {"tf_half_pixel_for_nn", kResizeTfHalfPixelForNn},
                                                {"tf_crop_and_resize", kResizeTfCropAndResize}}));
  CODL_ASSIGN_OR_RETURN(nearest, member_of(node, "nearest_mode", "round_prefer_floor",
                                           {{"round_prefer_floor", kResizeRoundPreferFloor},
                                            {"round_prefer_ceil", kResizeRoundPreferCeil},
                                            {"floor", kResizeFloor},
                                            {"ceil", kResizeCeil}}));
  CODL_ASSIGN_OR_RETURN(antialias, node.int_or("antialias", 0));
  CODL_ASSIGN_OR_RETURN(exclude_outside, node.int_or("exclude_outside", 0));
  CODL_ASSIGN_OR_RETURN(coefficient, node.float_or("cubic_coeff_a", -0.75f));
  CODL_ASSIGN_OR_RETURN(extrapolation, node.float_or("extrapolation_value", 0));
  params.kind = kind;
  params.coordinates = coordinates;
  params.nearest = nearest;
  params.is_antialias = antialias != 0 && kind != kResizeNearest;
  params.excludes_outside = exclude_outside != 0;
  params.cubic_coefficient = coefficient;
  params.extrapolation_value = extrapolation;
  return llvm::Error::success();
}

// Returns a vector over all axes of x: element i of `given` where axis i of `axes` is, else
// `fallback`.
ir::ValueId over_all_axes(Compose& c, ir::ValueId given, llvm::ArrayRef<int32_t> axes, size_t rank,
                          float fallback) {
  std::vector<int64_t> places(rank, static_cast<int64_t>(axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) places[axes[i]] = static_cast<int64_t>(i);
  const ir::ValueId all = c.concat({given, c.floats({fallback}, {1})}, 0);
  return c.gather(all, c.ints(places, {static_cast<int64_t>(rank)}), 0);
}

// The starts come first, then the ends.
ir::ValueId roi_over_all_axes(Compose& c, ir::ValueId roi, llvm::ArrayRef<int32_t> axes,
                              size_t rank) {
  const int64_t count = static_cast<int64_t>(axes.size());
  return c.concat({over_all_axes(c, c.slice(roi, 0, 0, count), axes, rank, 0),
                   over_all_axes(c, c.slice(roi, 0, count, count), axes, rank, 1)},
                  0);
}

// Holds operands over all axes of x; kNoId if there is none.
struct ResizeOperands {
  ir::ValueId scales = ir::kNoId;
  ir::ValueId roi = ir::kNoId;
};

ir::ValueId resize_node(Compose& c, ResizeParams params, llvm::ArrayRef<float> scales,
                        const ResizeOperands& operands, ir::ValueId x,
                        llvm::ArrayRef<int64_t> dims) {
  float by_axis[kMaxRank] = {};
  if (!params.has_scales) std::copy(scales.begin(), scales.end(), by_axis);
  params.scale_0 = by_axis[0];
  params.scale_1 = by_axis[1];
  params.scale_2 = by_axis[2];
  params.scale_3 = by_axis[3];
  params.scale_4 = by_axis[4];
  params.scale_5 = by_axis[5];
  params.scale_6 = by_axis[6];
  params.scale_7 = by_axis[7];
  llvm::SmallVector<ir::ValueId, 3> inputs = {x};
  if (operands.scales != ir::kNoId) inputs.push_back(operands.scales);
  if (operands.roi != ir::kNoId) inputs.push_back(operands.roi);
  return c.shaped_node(OpKind::Resize, params, inputs, dims);
}

// Rounds `x` in f32 to the dtype. For integers it is the nearest, halves away from 0, inside the
// dtype's range.
ir::ValueId rounded_to(Compose& c, ir::ValueId x, DType dtype) {
  if (kernels::is_float(dtype)) return c.cast(x, dtype);
  const ir::ValueId half = c.mul(c.unary(kUnarySign, x), c.scalar(DType::F32, 0.5));
  return c.cast(c.add(x, half), dtype);
}

// Resizes `x` of any dtype along one axis only, in f32.
ir::ValueId resize_along(Compose& c, const ResizeParams& params, const ResizeAxes& resized,
                         const ResizeOperands& operands, ir::ValueId x, size_t axis) {
  const size_t rank = resized.dims.size();
  const auto only = [&](ir::ValueId all, int64_t begin, float fallback) {
    const ir::ValueId one = c.slice(all, 0, begin + static_cast<int64_t>(axis), 1);
    return over_all_axes(c, one, {static_cast<int32_t>(axis)}, rank, fallback);
  };
  ResizeOperands one;
  if (operands.scales != ir::kNoId) one.scales = only(operands.scales, 0, 1);
  if (operands.roi != ir::kNoId)
    one.roi =
        c.concat({only(operands.roi, 0, 0), only(operands.roi, static_cast<int64_t>(rank), 1)}, 0);
  std::vector<float> scales(rank, 1.0f);
  scales[axis] = resized.scales[axis];
  Dims64 dims(c.dims(x).begin(), c.dims(x).end());
  dims[axis] = resized.dims[axis];
  return resize_node(c, params, scales, one, c.cast(x, DType::F32), dims);
}

// `scales` is one per axis of `resized.axes`, computed; or kNoId.
llvm::Error resize(const OnnxNode& node, Importer& importer, Compose& c, ResizeParams params,
                   ResizeAxes resized, ir::ValueId scales, ir::ValueId roi) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  if (llvm::Error error = check_dims(node, resized.dims)) return error;
  if (element_count(resized.dims) == 0) return bind_empty(node, importer, dtype, resized.dims);
  if (element_count(dims) == 0)
    return input_error(node.name, "expected elements to resize, found none");
  const bool has_roi = params.coordinates == kResizeTfCropAndResize;
  const bool has_scales = scales != ir::kNoId;
  if (!has_roi && !has_scales) {
    // With scale 1.1, 9 elements become 9. ONNX would move them; PyTorch
    // (aten/src/ATen/native/UpSample.h, compute_source_index_and_lambda) and ONNX Runtime
    // (upsample.cc, no_scale) leave them. With antialias both look at each axis.
    if (resized.dims == dims) return importer.bind_operand(node, 0);
    for (size_t i = 0; i < dims.size(); ++i)
      if (params.is_antialias && resized.dims[i] == dims[i]) resized.scales[i] = 1;
  }

  params.has_scales = has_scales;
  params.has_roi = has_roi;
  ResizeOperands operands;
  if (has_scales) operands.scales = over_all_axes(c, scales, resized.axes, dims.size(), 1);
  if (has_roi) operands.roi = roi_over_all_axes(c, roi, resized.axes, dims.size());
  ir::ValueId y = c.operand(0);
  if (params.is_antialias && !kernels::is_float(dtype)) {
    // Image libraries and ONNX Runtime (upsample_antialias.h) do it like this: along one axis after
    // the other, the last one first, with integers between.
    for (size_t axis = dims.size(); axis-- > 0;)
      if (has_scales || has_roi || resized.scales[axis] != 1)
        y = rounded_to(c, resize_along(c, params, resized, operands, y, axis), dtype);
    return c.bind(y);
  }
  if (params.kind != kResizeNearest) y = c.cast(y, DType::F32);
  y = resize_node(c, params, resized.scales, operands, y, resized.dims);
  // For integers, ONNX Runtime truncates Linear and has no Cubic.
  return c.bind(params.kind == kResizeCubic ? rounded_to(c, y, dtype) : c.cast(y, dtype));
}

// Applies known scales: x.dims * scale, truncated.
llvm::Error apply_scales(const OnnxNode& node, Importer& importer, llvm::ArrayRef<float> scales,
                         ResizeAxes& resized) {
  const auto declared = importer.declared_dims(node, 0);
  for (size_t i = 0; i < resized.axes.size(); ++i) {
    const int32_t axis = resized.axes[i];
    // The length is computed in f32, as in ONNX Runtime.
    const float length = static_cast<float>(resized.dims[axis]) * scales[i];
    if (!(scales[i] > 0) || !(length >= 0 && length <= kMaxDim))
      return input_error(node.name, "expected scales over 0 for dims of at most {0}, found {1}",
                         kMaxDim, scales[i]);
    int64_t dim = static_cast<int64_t>(length);
    // f32 and f64 truncate a product next to an integer differently: the exporter's result decides.
    if (declared && declared->size() == resized.dims.size() &&
        std::abs((*declared)[axis] - dim) == 1 &&
        std::abs(std::round(length) - length) <= 1e-5f * length)
      dim = (*declared)[axis];
    resized.dims[axis] = dim;
    resized.scales[axis] = scales[i];
  }
  return llvm::Error::success();
}

// Applies known sizes. With a policy all axes get the scale of one of them: exact along that axis,
// and rounded to f32 along those that come out fractional.
void apply_sizes(llvm::StringRef policy, llvm::ArrayRef<int64_t> sizes, ResizeAxes& resized) {
  double common = 0;
  size_t chosen = 0;
  for (size_t i = 0; i < resized.axes.size(); ++i) {
    const double scale =
        static_cast<double>(sizes[i]) / static_cast<double>(resized.dims[resized.axes[i]]);
    if (i > 0 && (policy == "not_larger" ? scale >= common : scale <= common)) continue;
    common = scale;
    chosen = i;
  }
  const int64_t chosen_in = resized.axes.empty() ? 1 : resized.dims[resized.axes[chosen]];
  for (size_t i = 0; i < resized.axes.size(); ++i) {
    const int32_t axis = resized.axes[i];
    const int64_t in = resized.dims[axis];
    if (policy == "stretch") {
      resized.dims[axis] = sizes[i];
      resized.scales[axis] = 0;
    } else {
      const int64_t out = static_cast<int64_t>(std::floor(common * static_cast<double>(in) + 0.5));
      resized.dims[axis] = out;
      resized.scales[axis] = out * chosen_in == sizes[chosen] * in ? 0 : static_cast<float>(common);
    }
  }
}

// Returns the scale that a policy chooses, for computed sizes with declared dims.
ir::ValueId common_scale(Compose& c, llvm::StringRef policy, ir::ValueId sizes,
                         const ResizeAxes& resized, llvm::ArrayRef<int64_t> dims) {
  std::vector<float> in;
  for (int32_t axis : resized.axes) in.push_back(static_cast<float>(dims[axis]));
  const int64_t count = static_cast<int64_t>(in.size());
  const ir::ValueId scales = c.div(c.cast(sizes, DType::F32), c.floats(in, {count}));
  const int32_t kind = policy == "not_larger" ? kReduceMin : kReduceMax;
  return c.expand(c.reduce(kind, scales, {0}), {count});
}

// Since opset 11 the inputs are x, roi, scales, sizes.
constexpr size_t kRoi = 1;
constexpr size_t kScales = 2;
constexpr size_t kSizes = 3;

llvm::Expected<std::string> aspect_policy(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(policy, node.string_or("keep_aspect_ratio_policy", "stretch"));
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    return input_error(node.name,
                       "expected keep_aspect_ratio_policy stretch, not_larger or not_smaller, "
                       "found '{0}'",
                       policy);
  return policy;
}

llvm::Expected<ResizeAxes> resize_axes(const OnnxNode& node, llvm::ArrayRef<int64_t> dims) {
  std::vector<int64_t> all;
  for (size_t i = 0; i < dims.size(); ++i) all.push_back(static_cast<int64_t>(i));
  CODL_ASSIGN_OR_RETURN(axes, node.ints_or("axes", all));
  ResizeAxes resized;
  for (int64_t axis : axes) {
    CODL_ASSIGN_OR_RETURN(positive, normalized_axis(node, axis, dims.size()));
    if (llvm::is_contained(resized.axes, positive))
      return input_error(node.name, "expected each axis once, found {0} again", positive);
    resized.axes.push_back(positive);
  }
  resized.dims.assign(dims.begin(), dims.end());
  resized.scales.assign(dims.size(), 1.0f);
  return resized;
}

// Returns an Input error unless operand `i` has `count` elements.
llvm::Error expect_elements(const OnnxNode& node, Importer& importer, size_t i, size_t count) {
  auto dims = importer.dims_of(node, i);
  if (!dims) return dims.takeError();
  if (element_count(*dims) == static_cast<int64_t>(count)) return llvm::Error::success();
  return input_error(node.name, "expected {0} elements in '{1}', found {2}", count, node.inputs[i],
                     element_count(*dims));
}

// Computes the output's dims from constant scales or sizes; false if they are computed at run time.
llvm::Expected<bool> apply_known(const OnnxNode& node, Importer& importer, bool has_sizes,
                                 llvm::StringRef policy, ResizeAxes& resized) {
  if (!importer.is_constant(node, has_sizes ? kSizes : kScales)) return false;
  if (has_sizes) {
    CODL_ASSIGN_OR_RETURN(sizes, importer.int_constant(node, kSizes));
    if (llvm::any_of(sizes, [](int64_t size) { return size < 0 || size > kMaxDim; }))
      return input_error(node.name, "expected sizes in [0, {0}], found others", kMaxDim);
    apply_sizes(policy, sizes, resized);
    return true;
  }
  CODL_ASSIGN_OR_RETURN(scales, importer.float_constant(node, kScales));
  if (llvm::Error error = apply_scales(node, importer, scales, resized)) return error;
  return true;
}

llvm::Error import_resize_11(const OnnxNode& node, Importer& importer) {
  ResizeParams params;
  if (llvm::Error error = read_attributes(node, params)) return error;
  CODL_ASSIGN_OR_RETURN(policy, aspect_policy(node));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(resized, resize_axes(node, dims));
  if (element_count(dims) == 0)
    return unsupported_error(node.name, "expected elements to resize, found none");
  const bool has_sizes = is_given(node, importer, kSizes);
  const bool has_roi = params.coordinates == kResizeTfCropAndResize;
  const size_t given = has_sizes ? kSizes : kScales;
  const size_t count = resized.axes.size();
  if (!is_given(node, importer, given))
    return input_error(node.name, "expected scales or sizes, found neither");
  if (llvm::Error error = expect_elements(node, importer, given, count)) return error;
  if (has_roi)
    if (llvm::Error error = expect_elements(node, importer, kRoi, 2 * count)) return error;

  Compose c(node, importer);
  const ir::ValueId roi = has_roi ? c.operand_as(kRoi, DType::F32) : ir::kNoId;
  CODL_ASSIGN_OR_RETURN(is_known, apply_known(node, importer, has_sizes, policy, resized));
  if (is_known) return resize(node, importer, c, params, resized, ir::kNoId, roi);

  const auto declared = importer.declared_dims(node, 0);
  if (!declared || declared->size() != dims.size())
    return needs_constant(node, importer, given, has_sizes ? "sizes" : "scales");
  for (int32_t axis : resized.axes) {
    resized.dims[axis] = (*declared)[axis];
    resized.scales[axis] = 0;
  }
  ir::ValueId scales = ir::kNoId;
  if (!has_sizes)
    scales = c.operand_as(kScales, DType::F32);
  else if (policy != "stretch")
    scales = common_scale(c, policy, c.operand(kSizes), resized, dims);
  return resize(node, importer, c, params, resized, scales, roi);
}

// Imports Upsample, and Resize before opset 11: coordinates are divided by the scale, and rounded
// as `nearest` says. The scales are constant, or operand 1.
llvm::Error upsample(const OnnxNode& node, Importer& importer, int32_t nearest,
                     std::optional<std::vector<float>> scales) {
  CODL_ASSIGN_OR_RETURN(kind, interpolation(node));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  const ResizeParams params = {.kind = kind,
                               .coordinates = kResizeAsymmetric,
                               .nearest = nearest,
                               .cubic_coefficient = -0.75f};
  ResizeAxes resized;
  for (size_t i = 0; i < dims.size(); ++i) resized.axes.push_back(static_cast<int32_t>(i));
  resized.dims = dims;
  resized.scales.assign(dims.size(), 1.0f);
  Compose c(node, importer);
  if (scales) {
    if (scales->size() != dims.size())
      return input_error(node.name, "expected {0} scales, found {1}", dims.size(), scales->size());
    if (llvm::Error error = apply_scales(node, importer, *scales, resized)) return error;
    return resize(node, importer, c, params, resized, ir::kNoId, ir::kNoId);
  }
  const auto declared = importer.declared_dims(node, 0);
  if (!declared || declared->size() != dims.size())
    return needs_constant(node, importer, 1, "scales");
  resized.dims = *declared;
  return resize(node, importer, c, params, resized, c.operand(1), ir::kNoId);
}

llvm::Error import_upsample_7(const OnnxNode& node, Importer& importer) {
  const OnnxAttribute* scales = node.find("scales");
  if (scales == nullptr || scales->type != OnnxAttribute::Type::Floats)
    return input_error(node.name, "expected floats as attribute 'scales', found none");
  return upsample(node, importer, kResizeFloor, scales->floats);
}

llvm::Error upsample_by_operand(const OnnxNode& node, Importer& importer, int32_t nearest) {
  if (!importer.is_constant(node, 1)) return upsample(node, importer, nearest, std::nullopt);
  CODL_ASSIGN_OR_RETURN(scales, importer.float_constant(node, 1));
  return upsample(node, importer, nearest, std::vector<float>(scales.begin(), scales.end()));
}

llvm::Error import_upsample_9(const OnnxNode& node, Importer& importer) {
  return upsample_by_operand(node, importer, kResizeFloor);
}

// This version does not say how to round. Its node tests, like ONNX Runtime, take the ceiling along
// an axis that becomes smaller.
llvm::Error import_resize_10(const OnnxNode& node, Importer& importer) {
  return upsample_by_operand(node, importer, kResizeFloorOrCeil);
}

// ---- blocks ----

struct Blocks {
  int64_t size = 1;
  bool is_channel_major = false;  // CRD: the channel is the outermost part of the depth
  Dims64 dims;                    // dims of the input, [n, c, h, w]
};

llvm::Expected<Blocks> read_blocks(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(size, node.int_or("blocksize", 0));
  CODL_ASSIGN_OR_RETURN(mode, node.string_or("mode", "DCR"));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (mode != "DCR" && mode != "CRD")
    return input_error(node.name, "expected mode DCR or CRD, found '{0}'", mode);
  if (size < 1 || size > kMaxDim)
    return input_error(node.name, "expected a blocksize of 1 or more, found {0}", size);
  if (dims.size() != 4) return input_error(node.name, "expected rank 4, found {0}", dims.size());
  return Blocks{size, mode == "CRD", dims};
}

llvm::Error import_depth_to_space(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(blocks, read_blocks(node, importer));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  const int64_t b = blocks.size;
  const int64_t n = blocks.dims[0];
  const int64_t h = blocks.dims[2];
  const int64_t w = blocks.dims[3];
  if (blocks.dims[1] % (b * b) != 0)
    return input_error(node.name, "expected channels that {0} divides, found {1}", b * b,
                       blocks.dims[1]);
  const int64_t channels = blocks.dims[1] / (b * b);
  const Dims64 result = {n, channels, h * b, w * b};
  if (element_count(result) == 0) return bind_empty(node, importer, dtype, result);
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  if (dtype == DType::F32) {
    const DepthToSpaceParams params = {.block_h = static_cast<int32_t>(b),
                                       .block_w = static_cast<int32_t>(b),
                                       .is_channel_major = blocks.is_channel_major};
    return c.bind(c.shaped_node(OpKind::DepthToSpace, params, {x}, result));
  }
  const ir::ValueId moved =
      blocks.is_channel_major
          ? c.transpose(c.reshape(x, {n, channels, b, b, h, w}), {0, 1, 4, 2, 5, 3})
          : c.transpose(c.reshape(x, {n, b, b, channels, h, w}), {0, 3, 4, 1, 5, 2});
  return c.bind(c.reshape(moved, result));
}

llvm::Error import_space_to_depth(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(blocks, read_blocks(node, importer));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  const int64_t b = blocks.size;
  const int64_t n = blocks.dims[0];
  const int64_t channels = blocks.dims[1];
  const int64_t h = blocks.dims[2] / b;
  const int64_t w = blocks.dims[3] / b;
  if (h * b != blocks.dims[2] || w * b != blocks.dims[3])
    return input_error(node.name, "expected a map that {0} divides, found {1} x {2}", b,
                       blocks.dims[2], blocks.dims[3]);
  const Dims64 result = {n, channels * b * b, h, w};
  if (element_count(result) == 0) return bind_empty(node, importer, dtype, result);
  Compose c(node, importer);
  const ir::ValueId cut = c.reshape(c.operand(0), {n, channels, h, b, w, b});
  const ir::ValueId moved = blocks.is_channel_major ? c.transpose(cut, {0, 1, 3, 5, 2, 4})
                                                    : c.transpose(cut, {0, 3, 5, 1, 2, 4});
  return c.bind(c.reshape(moved, result));
}

}  // namespace

llvm::ArrayRef<ImportEntry> resize_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"DepthToSpace", 1, kNewestOpset, import_depth_to_space},
      {"Resize", 10, 10, import_resize_10},
      {"Resize", 11, kNewestOpset, import_resize_11},
      {"SpaceToDepth", 1, kNewestOpset, import_space_to_depth},
      {"Upsample", 7, 8, import_upsample_7},
      {"Upsample", 9, kNewestOpset, import_upsample_9},
  };
  return kEntries;
}

}  // namespace codl::compiler
