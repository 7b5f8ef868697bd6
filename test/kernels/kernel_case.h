// Describes a case of an operator for the conformance tests. It is data only, so that every kernel
// of kernels.def, on whatever processor, can run it. The cases of an operator are in
// <folder>_cases.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/work/step_case.h"
#include "kernels/pack.h"
#include "schema/step_shape.h"

namespace codl::test {

using kernels::OperandShape;

struct KernelCase {
  std::string name;
  OpKind op;
  std::vector<int32_t> params;  // the bytes of the op's Params struct
  // The output comes last. Weights have layout Packed, the dims of the unpacked tensor and, from
  // case_for(), the size in the kernel's packing; a runner makes the unpacked tensor for the
  // reference kernel.
  std::vector<OperandShape> operands;
  SplitDim part_dim = SplitDim::None;
  Range part = {};
  // Multiplies input 2, the bias of sums of products. Products keep their digits beside a large
  // bias, as a folded normalisation has it.
  float bias_factor = 1.0f;
  // The weights lie on grids of such blocks. Kernels that take them get integers.
  WeightBlocks blocks = {};
};

inline constexpr float kLargeBias = 1000.0f;

using kernels::words_of;

inline OperandShape plain_operand(std::initializer_list<int32_t> dims) {
  OperandShape shape;
  for (int32_t dim : dims) shape.dims[shape.rank++] = dim;
  shape.bytes = kernels::stored_bytes(shape);
  return shape;
}

inline OperandShape typed_operand(DType dtype, std::initializer_list<int32_t> dims) {
  OperandShape shape = plain_operand(dims);
  shape.dtype = dtype;
  shape.bytes = kernels::stored_bytes(shape);
  return shape;
}

// Returns an Nhwc operand that holds `rows`, or all of them if that is empty.
inline OperandShape nhwc_operand(std::initializer_list<int32_t> dims, Range rows = {}) {
  OperandShape shape = plain_operand(dims);
  shape.layout = Layout::Nhwc;
  shape.row_begin = rows.empty() ? 0 : rows.begin;
  shape.row_end = rows.empty() ? shape.dims[2] : rows.end;
  shape.bytes = kernels::stored_bytes(shape);
  return shape;
}

// Its size is 0, because the kernel decides it.
inline OperandShape packed_operand(std::initializer_list<int32_t> dims) {
  OperandShape shape = plain_operand(dims);
  shape.layout = Layout::Packed;
  shape.bytes = 0;
  return shape;
}

template <typename Params>
Params params_of(const KernelCase& item) {
  Params params;
  std::memcpy(static_cast<void*>(&params), item.params.data(), sizeof params);
  return params;
}

// Returns the groups of a case's weights, as pack() takes them.
inline int32_t groups_of(const KernelCase& item) {
  return item.op == OpKind::Conv2d ? params_of<Conv2dParams>(item).groups : 1;
}

// Chooses which operands, of those that may be, are halves, or bytes, in memory: none, those with
// an even or odd number, or all.
enum class Halves { None, Even, Odd, All };

// Says in which forms a case's operands are.
struct Forms {
  Signature signature = Signature::F32;
  Halves halves = Halves::None;
  DType others = DType::F32;  // beside operands that are bytes: floats or halves
};

// Returns what names the form in a message, behind a comma.
inline const char* form_name(Forms forms) {
  if (forms.signature == Signature::Q8Store) return ", bytes";
  return forms.halves == Halves::All ? ", halves" : "";
}

// Returns whether the result's elements are those of the operands, so that all have one grid.
inline bool keeps_elements(const KernelCase& item) {
  switch (item.op) {
    case OpKind::Unary:
    case OpKind::Binary:
    case OpKind::Conv2d:
    case OpKind::DepthwiseConv2d:
    case OpKind::MatMul:
    case OpKind::BatchMatMul:
      return false;
    case OpKind::Pool2d:
      return params_of<Pool2dParams>(item).kind == kPool2dMax;
    case OpKind::Resize:
      return params_of<ResizeParams>(item).kind == kResizeNearest;
    default:
      return true;
  }
}

// Returns the products that an element of the result is a sum of, where two operands are factors;
// else 1.
inline double products_of(const KernelCase& item) {
  if (item.op == OpKind::BatchMatMul) {
    const OperandShape& a = item.operands[0];
    return a.dims[a.rank - (params_of<BatchMatMulParams>(item).is_a_transposed != 0 ? 2 : 1)];
  }
  if (item.operands.size() < 3 || item.operands[1].layout != Layout::Packed) return 1;
  const OperandShape& w = item.operands[1];
  return w.rank == 4 ? double{1} * w.dims[1] * w.dims[2] * w.dims[3] : w.dims[0];
}

// Returns an operand of floats as bytes on a grid, which inputs in [-1, 1] do not leave. Of results
// beyond [-3, 3], of sums beyond as many standard deviations, the ends of the grid are what is
// left.
inline OperandShape as_bytes(const KernelCase& item, size_t i, OperandShape shape) {
  shape.dtype = DType::I8;
  shape.bytes /= sizeof(float);
  shape.scale = 0.01f;
  shape.zero_point = 5;
  if (keeps_elements(item)) return shape;
  if (i + 1 == item.operands.size()) {
    shape.scale = static_cast<float>(0.0271 * std::sqrt(products_of(item)));
    shape.zero_point = -11;
  } else if (i == 1) {
    shape.scale = 0.0113f;
    shape.zero_point = -4;
  } else if (i == 0 && item.operands[1].layout == Layout::Packed && shape.dims[1] % 2 == 0) {
    shape.zero_point = -128;  // as after a Relu
  }
  return shape;
}

// Returns whether the kernel takes cases as they are, of floats. Those of 8-bit operands run in
// bytes_test.cc.
inline bool takes_floats(const KernelInfo& info) { return !info.has(Signature::Q8); }

// Returns how a packed operand of the case is stored.
inline Packing packing_of(const KernelCase& item, size_t i, const KernelInfo& kernel, DType dtype) {
  return {kernel.packing_of(static_cast<uint32_t>(i)), dtype,
          dtype == DType::U8 ? item.blocks : WeightBlocks{}};
}

// Returns the case with its constants in the kernel's packing, and with bytes where the kernel
// takes no floats.
inline KernelCase case_for(const KernelInfo& kernel, KernelCase item) {
  const int32_t groups = groups_of(item);
  for (size_t i = 0; i < item.operands.size(); ++i) {
    OperandShape& shape = item.operands[i];
    const bool is_bias = kernel.packing_of(static_cast<uint32_t>(i)) == PackingKind::Bias;
    if (!takes_floats(kernel) && shape.dtype == DType::F32 && !is_bias) {
      if (shape.layout == Layout::Packed)
        shape.dtype = DType::I8;
      else
        shape = as_bytes(item, i, shape);
    }
    if (item.blocks && i == 1 && kernel.has(Signature::Blocks)) shape.dtype = DType::U8;
    if (shape.layout == Layout::Packed)
      shape.bytes = kernels::packed_bytes(packing_of(item, i, kernel, shape.dtype), shape.dims,
                                          shape.rank, groups);
  }
  return item;
}

// Returns the signature by which a GPU kernel that takes halves has them: both have the same
// operands in halves, and those decide how it computes.
inline Signature halves_signature(const KernelInfo& kernel) {
  return kernel.has(Signature::F16) ? Signature::F16 : Signature::F16Store;
}

// Returns the case with its f32 operands in the forms of a signature that the kernel has. All
// weights are halves; a bias never is.
inline KernelCase in_forms(const KernelInfo& kernel, Forms forms, KernelCase item) {
  for (size_t i = 0; i < item.operands.size(); ++i) {
    OperandShape& shape = item.operands[i];
    if (shape.dtype != DType::F32 || forms.signature == Signature::F32 ||
        kernel.stays_float(static_cast<uint32_t>(i), static_cast<uint32_t>(item.operands.size())))
      continue;
    const bool is_chosen =
        shape.layout == Layout::Packed || forms.halves == Halves::All ||
        (forms.halves != Halves::None && (i % 2 == 0) == (forms.halves == Halves::Even));
    const bool is_weight = shape.layout == Layout::Packed;
    if (forms.signature == Signature::Q8Store && is_chosen && !is_weight) {
      shape = as_bytes(item, i, shape);
      continue;
    }
    if ((!is_chosen || forms.signature == Signature::Q8Store) && forms.others != DType::F16)
      continue;
    shape.dtype = DType::F16;
    shape.bytes /= 2;
  }
  return item;
}

// Returns the case with images where the kernel has them; its operands are Nhwc. A Convert to an
// image reads one in cases of an even number of channels, else a buffer.
inline KernelCase with_images(const KernelInfo& kernel, KernelCase item) {
  const bool reads = kernel.layout == Layout::Image2d &&
                     (kernel.op != OpKind::Convert || item.operands[0].dims[1] % 2 == 0);
  for (size_t i = 0; i < item.operands.size(); ++i) {
    const bool is_output = i + 1 == item.operands.size();
    OperandShape& shape = item.operands[i];
    const bool is_image = is_output ? kernel.layout == Layout::Image2d
                                    : reads || kernel.algorithm == Algorithm::FromImage;
    if (!is_image || shape.layout != Layout::Nhwc) continue;
    shape.layout = Layout::Image2d;
    shape.bytes = 0;
  }
  return item;
}

}  // namespace codl::test
