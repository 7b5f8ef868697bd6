// Runs a case on a CPU kernel or the reference kernel, between guards.
#pragma once

#include <cmath>
#include <string>

#include "kernels/common/cpu_dispatch.h"
#include "kernels/conv2d/winograd.h"
#include "kernels/kernel_table.h"
#include "kernels/ref.h"
#include "profiler/step_case.h"
#include "test/kernels/kernel_case.h"
#include "test/support/tensors.h"
#include "test/support/tolerance.h"

namespace codl::test {

// The inputs of a case: random tensors, all rows of them, weights unpacked and packed.
class CaseInputs {
 public:
  CaseInputs(const KernelCase& item, uint32_t seed) : item_(&item) {
    std::mt19937 random(seed);
    for (size_t i = 0; i + 1 < item.operands.size(); ++i) {
      OperandShape shape = item.operands[i];
      if (shape.layout == Layout::Packed) shape.layout = Layout::Plain;
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
  }

  // Puts `special` into each f32 input at about one place in 40, one at least; not into pad lanes,
  // which are zero. Not into packed weights: of padding times such a weight some kernels make 0 and
  // some NaN, and no trained network has any.
  void add_special(float special, uint32_t seed) {
    std::mt19937 random(seed);
    for (size_t i = 0; i < whole_.size(); ++i) {
      if (whole_shapes_[i].dtype != DType::F32 || item_->operands[i].layout == Layout::Packed)
        continue;
      const size_t count = whole_[i].bytes() / sizeof(float);
      for (size_t left = 1 + count / 40; left > 0; --left) {
        float& element = whole_[i].data()[random() % count];
        if (element != 0.0f) element = special;
      }
    }
  }

  // Makes every number of input `i`, of f32, one that halves have.
  void round_to_halves(size_t i) {
    const size_t count = whole_[i].bytes() / sizeof(float);
    std::vector<uint16_t> halves(count);
    to_halves(whole_[i].data(), count, halves.data());
    from_halves(halves.data(), count, whole_[i].data());
  }

  // Memory of input `i` with the window of `shape`: the rows of the whole tensor, or the weights in
  // the packing of `row`. Aligned as little as a row of the CPU may count on, 64 bytes for OpenCL.
  GuardedMemory memory(const KernelRow& row, size_t i, const OperandShape& shape) const {
    GuardedMemory memory(static_cast<size_t>(shape.bytes),
                         row.processor == Processor::Gpu ? 0 : dtype_bytes(shape.dtype) * (i + 1));
    if (shape.layout == Layout::Packed) {
      // Packed weights are 64-byte aligned in a plan.
      GuardedMemory packed(static_cast<size_t>(shape.bytes));
      kernels::pack(row.packing_of(static_cast<uint32_t>(i)), shape.dims, shape.rank,
                    groups_of(*item_), whole_[i].data(), packed.data());
      return packed;
    }
    copy_rows(i, shape, memory.data());
    return memory;
  }

  // The same for the reference kernel: weights unpacked. `shape` becomes what the memory is.
  GuardedMemory ref_memory(size_t i, OperandShape* shape) const {
    if (shape->layout == Layout::Packed) *shape = whole_shapes_[i];
    GuardedMemory memory(static_cast<size_t>(kernels::stored_elements(*shape)) *
                         dtype_bytes(shape->dtype));
    copy_rows(i, *shape, memory.data());
    return memory;
  }

 private:
  void copy_rows(size_t i, const OperandShape& shape, float* to) const {
    const OperandShape& whole = whole_shapes_[i];
    if (shape.layout != Layout::Nhwc) {
      std::memcpy(to, whole_[i].data(), whole_[i].bytes());
      return;
    }
    const int64_t row = int64_t{shape.dims[3]} * kernels::padded_channels(shape);
    const int64_t rows = kernels::rows_held(shape);
    for (int64_t n = 0; n < shape.dims[0]; ++n)
      std::memcpy(to + n * rows * row,
                  whole_[i].data() + (n * whole.dims[2] + shape.row_begin) * row,
                  static_cast<size_t>(rows * row) * sizeof(float));
  }

  const KernelCase* item_;
  std::vector<OperandShape> whole_shapes_;
  std::vector<GuardedMemory> whole_;
};

using profiler::step_of;

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

// What the reference kernel is promised of its scratch: it is the operator's row of any dtype.
inline uint64_t ref_scratch_bytes(const KernelCase& item) {
  kernels::StepNeeds needs;
  for (const KernelRow& row : kKernelRows)
    if (row.op == item.op && row.dtype == DType::Any &&
        kernels::check_step(step_of(row, item), &needs) == nullptr)
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

// Runs a CPU kernel on a case_for() its row into `output` with its tasks cut into `pieces`, the
// last piece first, each with a scratch of its own. Returns what is wrong besides the numbers, or
// "".
inline std::string run_cpu(const KernelRow& row, kernels::CpuKernel kernel, const KernelCase& item,
                           const CaseInputs& inputs, int32_t pieces, float* output) {
  kernels::StepNeeds needs;
  if (const char* expected = kernels::check_step(step_of(row, item), &needs))
    return std::string("the contract expected ") + expected;
  std::vector<GuardedMemory> memory;
  std::vector<kernels::TensorView> views;
  for (size_t i = 0; i + 1 < item.operands.size(); ++i) {
    memory.push_back(inputs.memory(row, i, item.operands[i]));
    views.push_back(kernels::make_view(item.operands[i], memory[i].data()));
  }
  views.push_back(kernels::make_view(item.operands.back(), output));
  kernels::KernelArgs args = args_of(item, views);
  GuardedMemory shared(static_cast<size_t>(needs.shared_bytes));
  args.shared = shared.data();
  for (args.phase = 0; args.phase < needs.phase_count; ++args.phase)
    for (int32_t piece = pieces - 1; piece >= 0; --piece) {
      GuardedMemory scratch(static_cast<size_t>(needs.scratch_bytes));
      args.scratch = scratch.data();
      args.task_begin = static_cast<int32_t>(int64_t{needs.task_count} * piece / pieces);
      args.task_end = static_cast<int32_t>(int64_t{needs.task_count} * (piece + 1) / pieces);
      kernel(args);
      if (!scratch.has_whole_guards()) return "a write outside the scratch";
    }
  if (!shared.has_whole_guards()) return "a write outside the shared scratch";
  for (const GuardedMemory& operand : memory)
    if (!operand.has_whole_guards()) return "a write outside an input";
  return "";
}

// Where the two, f32, differ by more than the tolerance, or "". Bytes that neither wrote are equal.
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

// What is wrong with the results of inputs with NaN or infinities in them, or "". An infinity may
// become another or a NaN by the order of a sum, and PoCL 3.1's sin, cos and tan lose digits beside
// one, so that what is compared then is where results are finite. Winograd's method spreads both
// over the outputs of a tile.
inline std::string special_difference(const KernelRow& row, float special,
                                      const GuardedMemory& expected, const GuardedMemory& found) {
  const bool is_winograd = kernels::winograd_outputs(row.packing) != 0;
  if (std::isnan(special) && !is_winograd) return difference(expected, found, tolerance_of(row));
  for (size_t i = 0; i < expected.bytes() / sizeof(float); ++i) {
    const bool is_finite = std::isfinite(found.data()[i]);
    const bool should_be = std::isfinite(expected.data()[i]);
    if (is_finite == should_be || (is_winograd && should_be)) continue;
    return "element " + std::to_string(i) + " of memory: expected " +
           std::to_string(expected.data()[i]) + ", found " + std::to_string(found.data()[i]);
  }
  return "";
}
// Where infinities lead elsewhere by another way to compute the same, both right: a mean square
// that is infinite, a weight of 0.
inline bool has_open_infinities(OpKind op) {
  return op == OpKind::Normalize || op == OpKind::Resize;
}

// What is wrong with the result of a step that is timed, or "". Its sums may be of thousands of
// products, more than the tolerances of the cases are made for: the L2 norm of the differences
// against that of the results, 2e-6 where Winograd's method sums 512 channels. A wrong lane or tap
// makes 1e-3 and more.
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

// The function of `row` for `target`, or null if there is none of its own or this processor cannot
// run it.
inline kernels::CpuKernel kernel_for_target(const KernelRow& row, kernels::CpuTarget target) {
  const kernels::CpuKernelTargets* targets = kernels::cpu_kernel_targets(row);
  if (targets == nullptr || !kernels::cpu_has(target)) return nullptr;
  if (target == kernels::CpuTarget::Avx3) return targets->avx3;
  if (target == kernels::CpuTarget::Avx2) return targets->avx2;
  return targets->baseline;
}

}  // namespace codl::test
