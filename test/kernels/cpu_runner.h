// Runs a case on a CPU kernel or the reference kernel, between guards.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/common/contract/tasks.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/common/work/step_case.h"
#include "kernels/conv2d/winograd.h"
#include "kernels/kernel_table.h"
#include "kernels/ref.h"
#include "test/kernels/kernel_case.h"
#include "test/kernels/tolerance.h"
#include "test/support/tensors.h"

namespace codl::test {

// Holds values that inputs have here and there; none if empty.
struct Special {
  const char* name;
  std::vector<float> values;

  explicit operator bool() const { return !values.empty(); }
};
inline const Special kNotSpecial = {"", {}};
inline const Special kSpecialNan = {"NaN", {std::numeric_limits<float>::quiet_NaN()}};
inline const Special kSpecialInfinities = {
    "infinities",
    {std::numeric_limits<float>::infinity(), -0.0f, -std::numeric_limits<float>::infinity()}};

// Returns n: one element in n is special, at least one. Few are, where many inputs meet in an
// output.
constexpr int32_t special_share(OpKind op) {
  switch (op) {
    case OpKind::Conv2d:
    case OpKind::DepthwiseConv2d:
    case OpKind::MatMul:
    case OpKind::BatchMatMul:
    case OpKind::Normalize:
    case OpKind::Softmax:
    case OpKind::Attention:
      return 400;
    default:
      return 16;
  }
}

// True if an output reads no tap of the map along the axis.
inline bool has_windows_of_padding(const kernels::WindowAxis& axis, int32_t input, int32_t output) {
  for (int32_t o = 0; o < output; ++o) {
    bool has_tap = false;
    for (int32_t tap = 0; tap < axis.taps; ++tap) {
      const int32_t i = o * axis.stride - axis.pad_begin + tap * axis.dilation;
      has_tap = has_tap || (i >= 0 && i < input);
    }
    if (!has_tap) return true;
  }
  return false;
}

inline bool has_windows_of_padding(const KernelCase& item) {
  const auto has_some = [&](const auto& params) {
    const int32_t* const x = item.operands[0].dims;
    const int32_t* const w = item.operands[1].dims;
    const int32_t* const y = item.operands.back().dims;
    return has_windows_of_padding(kernels::vertical_axis(params, w), x[2], y[2]) ||
           has_windows_of_padding(kernels::horizontal_axis(params, w), x[3], y[3]);
  };
  if (item.op == OpKind::Conv2d) return has_some(params_of<Conv2dParams>(item));
  return item.op == OpKind::DepthwiseConv2d && has_some(params_of<DepthwiseConv2dParams>(item));
}

// Makes the inputs of a case: random tensors, all rows of them, weights unpacked and packed.
class CaseInputs {
 public:
  CaseInputs(const KernelCase& item, uint32_t seed) : item_(&item) {
    std::mt19937 random(seed);
    for (size_t i = 0; i + 1 < item.operands.size(); ++i) {
      OperandShape shape = item.operands[i];
      if (shape.layout == Layout::Packed) {
        shape.layout = Layout::Plain;
        if (shape.dtype == DType::U8) shape.dtype = DType::F32;
      }
      if (shape.layout == Layout::Nhwc) {
        shape.row_begin = 0;
        shape.row_end = shape.dims[2];
      }
      whole_shapes_.push_back(shape);
      whole_.emplace_back(static_cast<size_t>(kernels::stored_elements(shape)) *
                          dtype_bytes(shape.dtype));
      if (shape.dtype == DType::F32)
        fill_random(shape, &random, whole_[i].data());
      else
        fill_random_elements(shape, &random, reinterpret_cast<uint8_t*>(whole_[i].data()));
    }
    if (item.blocks) round_to_blocks();
    if (item.bias_factor == 1.0f) return;
    for (size_t k = 0; k < whole_[2].bytes() / sizeof(float); ++k)
      whole_[2].data()[k] *= item.bias_factor;
  }

  // Puts special values into the f32 inputs, but not into their pad lanes, which are zero. In
  // weights, all of one output channel are NaN: the result of a single one that meets padding is
  // open (docs/reference/operators.md), and so are infinite ones.
  void add_special(const Special& special, uint32_t seed) {
    std::mt19937 random(seed);
    for (size_t i = 0; i < whole_.size(); ++i) {
      const OperandShape& shape = whole_shapes_[i];
      if (shape.dtype != DType::F32) continue;
      float* const data = whole_[i].data();
      const auto count = static_cast<int64_t>(whole_[i].bytes() / sizeof(float));
      if (item_->operands[i].layout == Layout::Packed && shape.rank > 1) {
        if (!std::isnan(special.values[0]) || has_windows_of_padding(*item_) || item_->blocks)
          continue;
        // Weights are [oc, ...] of a convolution, [k, n] of a matrix product, [d, n, ...] of
        // Recurrent.
        const bool is_product = item_->op == OpKind::MatMul;
        const int64_t rows = item_->op == OpKind::Recurrent ? shape.dims[1] : 1;
        const int64_t channels = shape.dims[is_product ? 1 : 0] * rows;
        const int64_t channel = static_cast<int64_t>(random() % static_cast<uint64_t>(channels));
        const int64_t taps = count / channels;
        for (int64_t k = 0; k < taps; ++k)
          data[is_product ? k * channels + channel : channel * taps + k] = special.values[0];
        continue;
      }
      for (int64_t left = 1 + count / special_share(item_->op); left > 0; --left) {
        float& element = data[random() % static_cast<uint64_t>(count)];
        if (element != 0.0f)
          element = special.values[static_cast<size_t>(left) % special.values.size()];
      }
    }
  }

  // Rounds every number to one that the form of the input in `stored` has.
  void round_to(const KernelCase& stored) {
    for (size_t i = 0; i < whole_.size(); ++i)
      if (is_stored_as_half(i, stored.operands[i]))
        round_to_halves(&whole_[i]);
      else if (kernels::is_quantised(stored.operands[i]))
        round_to_grid(stored.operands[i], &whole_[i]);
  }

  // Returns the memory of input `i` in the form and with the window of `shape`: the rows of the
  // whole tensor, or the weights in the kernel's packing. It is aligned as little as a CPU kernel
  // may count on; 64 bytes for OpenCL.
  GuardedMemory memory(const KernelInfo& info, size_t i, const OperandShape& shape) const {
    GuardedMemory memory(static_cast<size_t>(shape.bytes),
                         info.processor == Processor::Gpu ? 0 : dtype_bytes(shape.dtype) * (i + 1));
    if (shape.layout == Layout::Packed) {
      // Packed weights are 64-byte aligned in a plan.
      GuardedMemory packed(static_cast<size_t>(shape.bytes));
      kernels::pack(packing_of(*item_, i, info, shape.dtype), shape.dims, shape.rank,
                    groups_of(*item_), whole_[i].data(), packed.data());
      return packed;
    }
    const bool is_quantised = kernels::is_quantised(shape);
    if (!is_stored_as_half(i, shape) && !is_quantised) {
      copy_rows(i, shape, memory.data());
      return memory;
    }
    const auto count = static_cast<size_t>(kernels::stored_elements(shape));
    std::vector<float> floats(count);
    copy_rows(i, shape, floats.data());
    if (is_quantised)
      to_bytes(shape, floats.data(), count, reinterpret_cast<int8_t*>(memory.data()));
    else
      to_halves(floats.data(), count, reinterpret_cast<uint16_t*>(memory.data()));
    return memory;
  }

  // The same for the reference kernel, with unpacked weights. `shape` is set to describe the
  // memory.
  GuardedMemory ref_memory(size_t i, OperandShape* shape) const {
    if (shape->layout == Layout::Packed) *shape = whole_shapes_[i];
    GuardedMemory memory(static_cast<size_t>(kernels::stored_elements(*shape)) *
                         dtype_bytes(shape->dtype));
    copy_rows(i, *shape, memory.data());
    return memory;
  }

 private:
  bool is_stored_as_half(size_t i, const OperandShape& shape) const {
    return shape.dtype == DType::F16 && whole_shapes_[i].dtype == DType::F32;
  }

  // Rounds the weights to integers times the scale of their block, with every zero point.
  void round_to_blocks() {
    const OperandShape& w = whole_shapes_[1];
    const int32_t most = (1 << item_->blocks.bits) - 1;
    for (int32_t k = 0; k < w.dims[0]; ++k)
      for (int32_t column = 0; column < w.dims[1]; ++column) {
        const int32_t block = k / item_->blocks.size;
        const int32_t zero = (37 * column + 11 * block) % (most + 1);
        const float scale =
            (1.5f + static_cast<float>((5 * column + block) % 7)) / static_cast<float>(4 * most);
        float& weight = whole_[1].data()[k * w.dims[1] + column];
        const auto q = static_cast<int32_t>(std::nearbyint(weight / scale));
        weight = static_cast<float>(std::clamp(q, -zero, most - zero)) * scale;
      }
  }

  void copy_rows(size_t i, const OperandShape& shape, float* to) const {
    const OperandShape& whole = whole_shapes_[i];
    if (shape.layout != Layout::Nhwc) {
      std::memcpy(to, whole_[i].data(), whole_[i].bytes());
      return;
    }
    const int64_t pixel = kernels::padded_channels(shape);
    const int64_t row = int64_t{shape.dims[3]} * pixel;
    const int64_t rows = kernels::rows_held(shape);
    if (shape.pixel_stride != 0) {
      // The kernel must not read between the pixels of a window.
      std::fill_n(to, kernels::stored_elements(shape), std::numeric_limits<float>::quiet_NaN());
      for (int64_t n = 0; n < shape.dims[0]; ++n)
        for (int64_t k = 0; k < rows * shape.dims[3]; ++k, to += shape.pixel_stride)
          std::memcpy(to,
                      whole_[i].data() + (n * whole.dims[2] + shape.row_begin) * row + k * pixel,
                      static_cast<size_t>(pixel) * sizeof(float));
      return;
    }
    for (int64_t n = 0; n < shape.dims[0]; ++n)
      std::memcpy(to + n * rows * row,
                  whole_[i].data() + (n * whole.dims[2] + shape.row_begin) * row,
                  static_cast<size_t>(rows * row) * sizeof(float));
  }

  const KernelCase* item_;
  std::vector<OperandShape> whole_shapes_;
  std::vector<GuardedMemory> whole_;
};

using kernels::step_of;

inline kernels::KernelArgs args_of(const KernelCase& item,
                                   const std::vector<kernels::TensorView>& views) {
  kernels::KernelArgs args;
  args.params = item.params.data();
  args.operands = views.data();
  args.operand_count = static_cast<uint32_t>(views.size());
  args.part_dim = item.part_dim;
  args.part = item.part;
  return args;
}

// Returns the scratch promised to the reference kernel, which is the operator's kernel of any
// dtype.
inline uint64_t ref_scratch_bytes(const KernelCase& item) {
  kernels::StepNeeds needs;
  for (const KernelInfo& info : kKernelInfos)
    if (info.op == item.op && info.is_reference() &&
        kernels::check_step(step_of(info, item), &needs) == nullptr)
      return needs.scratch_bytes;
  return 0;
}

// Runs the reference kernel into `output`, the memory of the case's output.
inline void run_ref(const KernelCase& item, const CaseInputs& inputs, float* output) {
  std::vector<GuardedMemory> memory;
  std::vector<kernels::TensorView> views;
  for (size_t i = 0; i + 1 < item.operands.size(); ++i) {
    OperandShape shape = item.operands[i];
    memory.push_back(inputs.ref_memory(i, &shape));
    views.push_back(kernels::make_view(shape, memory[i].data()));
  }
  views.push_back(kernels::make_view(item.operands.back(), output));
  kernels::KernelArgs args = args_of(item, views);
  args.task_end = 1;
  GuardedMemory scratch(static_cast<size_t>(ref_scratch_bytes(item)));
  args.scratch = scratch.data();
  kernels::ref_kernel(item.op)(args);
}

// Returns the forms of operands in which a CPU kernel takes a case.
inline std::vector<Forms> forms_of(const KernelInfo& info) {
  std::vector<Forms> forms = {{info.is_reference() ? Signature::AnyType : Signature::F32}};
  for (const Signature signature : {Signature::F16Store, Signature::F16, Signature::Q8Store}) {
    if (!info.has(signature)) continue;
    const bool changes_form =
        info.op == OpKind::Convert || (info.op == OpKind::Unary && signature == Signature::Q8Store);
    forms.push_back({signature, Halves::All});
    if (changes_form || info.op == OpKind::Binary) forms.push_back({signature, Halves::Even});
    if (changes_form) forms.push_back({signature, Halves::Odd});
    if (changes_form && signature == Signature::Q8Store)
      for (const Halves bytes : {Halves::Even, Halves::Odd})
        forms.push_back({signature, bytes, DType::F16});
  }
  return forms;
}

// Runs a CPU kernel on a case_for() it into `output`, with its tasks cut into `pieces`, the last
// piece first, each with a scratch of its own. Returns faults other than wrong numbers, or "".
inline std::string run_cpu(const KernelInfo& info, kernels::CpuKernel kernel,
                           const KernelCase& item, const CaseInputs& inputs,
                           const kernels::WorkerSpeeds& pieces, float* output) {
  kernels::StepNeeds needs;
  if (const char* expected = kernels::check_step(step_of(info, item), &needs))
    return std::string("the contract expected ") + expected;
  std::vector<GuardedMemory> memory;
  std::vector<kernels::TensorView> views;
  for (size_t i = 0; i + 1 < item.operands.size(); ++i) {
    memory.push_back(inputs.memory(info, i, item.operands[i]));
    views.push_back(kernels::make_view(item.operands[i], memory[i].data()));
  }
  views.push_back(kernels::make_view(item.operands.back(), output));
  kernels::KernelArgs args = args_of(item, views);
  GuardedMemory shared(static_cast<size_t>(needs.shared_bytes));
  args.shared = shared.data();
  for (args.phase = 0; args.phase < needs.phase_count; ++args.phase)
    for (int32_t piece = pieces.count - 1; piece >= 0; --piece) {
      GuardedMemory scratch(static_cast<size_t>(needs.scratch_bytes));
      args.scratch = scratch.data();
      const kernels::WorkerSpeeds before = {piece, pieces.speeds};
      const auto task_at = [&](int64_t speeds) {
        return static_cast<int32_t>(kernels::tasks_before(needs.task_count, speeds, pieces.sum()));
      };
      args.task_begin = task_at(before.sum());
      args.task_end = task_at(before.sum() + pieces.of(piece));
      kernel(args);
      if (!scratch.has_whole_guards()) return "a write outside the scratch";
    }
  if (!shared.has_whole_guards()) return "a write outside the shared scratch";
  for (const GuardedMemory& operand : memory)
    if (!operand.has_whole_guards()) return "a write outside an input";
  return "";
}

// `item` has the operands' types in memory. Weights that Winograd's method has transformed are
// rounded to halves again: outputs of a standard deviation of 23 are off by 3e-4 of it in tiles of
// 2 x 2 and 9.5e-4 in tiles of 4 x 4, the worst of some hundred by 8e-4 and 4.4e-3.
//
// A large bias may cost two units in its last place: one rounding by the reference and one by the
// kernel. Sums of 512 products that begin with it are off by ten.
inline Tolerance tolerance_of(const KernelInfo& info, const KernelCase& item, Signature signature) {
  Tolerance tolerance = tolerance_of(info, signature, products_of(item));
  const int32_t tile = kernels::winograd_outputs(info.packing);
  if (tile != 0 && item.operands[1].dtype == DType::F16)
    tolerance.absolute = tile == 2 ? 4e-2f : 2e-1f;
  if (item.bias_factor == 1.0f) return tolerance;
  return {tolerance.absolute + item.bias_factor * 0x1p-23f, 0.0f};
}

// Returns where the two, in f32, differ by more than the tolerance, or "". Bytes that neither wrote
// are equal.
inline std::string difference(const GuardedMemory& expected, const GuardedMemory& found,
                              Tolerance tolerance) {
  for (size_t i = 0; i < expected.bytes() / sizeof(float); ++i) {
    const float a = expected.data()[i];
    const float b = found.data()[i];
    if (std::memcmp(&a, &b, sizeof(float)) == 0 || is_close(a, b, tolerance)) continue;
    return "element " + std::to_string(i) + " of memory: expected " + std::to_string(a) +
           ", found " + std::to_string(b);
  }
  return "";
}

// Counts elements that are bytes.
struct ByteCounts {
  int64_t all = 0;
  int64_t unequal = 0;
};

// Returns where the bytes are not those of the numbers that are expected, or "". A quantum between
// them counts as unequal where `may_differ`, as for a number between two bytes. What neither wrote
// is equal.
inline std::string byte_difference(const GuardedMemory& expected, const GuardedMemory& found,
                                   const OperandShape& y, bool may_differ, ByteCounts* counts) {
  const auto* bytes = reinterpret_cast<const int8_t*>(found.data());
  for (size_t i = 0; i < found.bytes(); ++i) {
    const float number = expected.data()[i];
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    int8_t byte = static_cast<int8_t>(kGuardByte);
    if (bits != kGuardByte * 0x01010101u) to_bytes(y, &number, 1, &byte);
    const int32_t difference = std::abs(byte - bytes[i]);
    ++counts->all;
    if (difference > 0) ++counts->unequal;
    if (difference > (may_differ ? 1 : 0))
      return "element " + std::to_string(i) + " of memory: expected " + std::to_string(byte) +
             " for " + std::to_string(number) + ", found " + std::to_string(bytes[i]);
  }
  return "";
}

// True if an output of the same map, less than `tile` rows and columns away, is not finite.
inline bool is_in_special_tile(const GuardedMemory& expected, const OperandShape& y,
                               int64_t element, int32_t tile) {
  const int64_t pixel = kernels::padded_channels(y);
  const int64_t width = y.dims[3];
  const int64_t rows = kernels::rows_held(y);
  const int64_t lane = element % pixel;
  const int64_t w = element / pixel % width;
  const int64_t h = element / pixel / width % rows;
  const int64_t n = element / pixel / width / rows;
  for (int64_t i = std::max<int64_t>(0, h - tile + 1); i < std::min(rows, h + tile); ++i)
    for (int64_t k = std::max<int64_t>(0, w - tile + 1); k < std::min(width, w + tile); ++k)
      if (!std::isfinite(expected.data()[((n * rows + i) * width + k) * pixel + lane])) return true;
  return false;
}

// Returns why `info` need not match the reference on a case with such inputs, or null.
inline const char* why_open(const KernelInfo& info, const KernelCase& item,
                            const Special& special) {
  if (std::isnan(special.values[0])) return nullptr;
  if (info.op == OpKind::Resize)
    return "0 times infinity in a sum of weights, none in a + (b - a) * weight";
  if (kernels::winograd_outputs(info.packing) != 0) return "a NaN before the activation";
  const int32_t kind =
      item.op == OpKind::Unary ? params_of<UnaryParams>(item).kind : kUnaryIdentity;
  if (info.processor == Processor::Gpu &&
      (kind == kUnarySin || kind == kUnaryCos || kind == kUnaryTan))
    return "PoCL 3.1 is wrong in the other lanes of a vector with a number of 1e30";
  return nullptr;
}

// Compares results of inputs with special values; returns the difference or "". NaN, each infinity
// and numbers must be where `expected` has them. Winograd's method (`tile` > 0) spreads a NaN over
// the other outputs of its tile.
inline std::string special_difference(const GuardedMemory& expected, const GuardedMemory& found,
                                      const OperandShape& y, int32_t tile, Tolerance tolerance) {
  for (size_t i = 0; i < expected.bytes() / sizeof(float); ++i) {
    const float a = expected.data()[i];
    const float b = found.data()[i];
    if (std::memcmp(&a, &b, sizeof(float)) == 0 || is_close(a, b, tolerance)) continue;
    if (tile > 0 && std::isnan(b) && is_in_special_tile(expected, y, static_cast<int64_t>(i), tile))
      continue;
    return "element " + std::to_string(i) + " of memory: expected " + std::to_string(a) +
           ", found " + std::to_string(b);
  }
  return "";
}

// Compares the result of a timed step; returns the difference or "". Its sums have thousands of
// products, more than the tolerances of the cases allow for. So it compares the L2 norm of the
// differences with that of the results: 2e-6 where Winograd's method sums 512 channels. A wrong
// lane or tap makes 1e-3 and more.
inline std::string large_difference(const GuardedMemory& expected, const GuardedMemory& found) {
  double squares = 0;
  double errors = 0;
  for (size_t i = 0; i < expected.bytes() / sizeof(float); ++i) {
    const double difference = double{expected.data()[i]} - found.data()[i];
    squares += double{expected.data()[i]} * expected.data()[i];
    errors += difference * difference;
  }
  const double relative = std::sqrt(errors / squares);
  return relative < 1e-5 ? "" : "a relative L2 error of " + std::to_string(relative);
}

inline bool same_bytes(const GuardedMemory& a, const GuardedMemory& b) {
  return std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// Returns the function of `info` for `target`; null if it has none of its own or this processor
// cannot run it.
inline kernels::CpuKernel kernel_for_target(const KernelInfo& info, kernels::CpuTarget target) {
  const kernels::CpuKernelTargets* targets = kernels::cpu_kernel_targets(info);
  if (targets == nullptr || !kernels::cpu_has(target)) return nullptr;
  return targets->of(target);
}

}  // namespace codl::test
