#include "runtime/src/step_checker.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/common/contract/contract.h"
#include "kernels/kernel_table.h"
#include "runtime/src/cpu_job.h"
#include "runtime/src/diag.h"
#include "runtime/src/widen.h"
#include "schema/plan_layout.h"
#include "schema/quantised.h"
#include "schema/verify_plan.h"

namespace codl::rt {

using kernels::OperandShape;

namespace {

// A slice has so much memory. More would save some copies of rows that two slices read.
constexpr uint64_t kSliceBytes = uint64_t{512} << 10;

// Inputs are changed by so much, relatively, up or down by turns without a period, to see what
// rounding makes of a result: an output that is a small difference of large products moves by far
// more than its own last place.
constexpr float kPerturbation = 0x1p-13f;
// A kernel that adds in another order is off by some 2^-24 of the products that it adds; the
// perturbation shows them times 2^-13. 8 of it, and 2^-10 of the largest output, is far from both
// rounding and from what a work-group that did not run or read elsewhere leaves.
constexpr float kPerturbedShare = 8;
constexpr float kShare = 0x1p-10f;
constexpr float kHalfShare = 0x1p-9f;  // more, of an output that is stored as halves
// More, of sums in halves: 128 additions are off by some 2^-9 of the largest output.
constexpr float kHalfSumShare = 0x1p-7f;
constexpr float kLargestHalf = 65504;
constexpr float kFarFromOverflow = 0x1p110f;  // a limit below this is far from overflow

bool has_rows(const OperandShape& shape) {
  return shape.layout == Layout::Nhwc || shape.layout == Layout::Image2d;
}

// A window of channels is read as a map of its own, halves and quantised bytes as floats.
OperandShape on_cpu(OperandShape shape) {
  shape.pixel_stride = shape.first_channel = 0;
  if (shape.layout == Layout::Image2d) shape.layout = Layout::Nhwc;
  if (const size_t times = widening(shape); times != 1) {
    shape.dtype = DType::F32;
    shape.bytes *= times;
    shape.scale = 0;
    shape.zero_point = 0;
  }
  return shape;
}

void set_bytes(OperandShape& shape) { shape.bytes = kernels::stored_bytes(shape); }

void perturb(float* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    // Takes the top bit of a multiplicative hash (Knuth, volume 3, section 6.4).
    const bool is_up = (static_cast<uint32_t>(i) * 2654435761u >> 31) != 0;
    values[i] *= is_up ? 1 + kPerturbation : 1 - kPerturbation;
  }
}

// Calls visit(element) for all elements of the step's output that it computes.
template <typename Visit>
void for_each_output(const kernels::StepShape& shape, const Visit& visit) {
  const OperandShape& y = shape.output();
  const kernels::TensorView view = kernels::make_view(y, nullptr);
  const Range channels = kernels::channels_of_part(shape.part_dim, shape.part, y);
  if (y.rank == 4) {
    const Range rows = kernels::rows_of_part(shape.part_dim, shape.part, y);
    for (int32_t n = 0; n < y.dims[0]; ++n)
      for (int32_t h = rows.begin - y.row_begin; h < rows.end - y.row_begin; ++h)
        for (int32_t w = 0; w < y.dims[3]; ++w)
          for (int32_t c = channels.begin; c < channels.end; ++c)
            visit(static_cast<size_t>(n * view.strides[0] + c * view.strides[1] +
                                      h * view.strides[2] + w * view.strides[3]));
    return;
  }
  const auto count = static_cast<size_t>(kernels::element_count(y));
  const size_t column_bytes = y.rank >= 2 ? static_cast<size_t>(view.strides[1]) : 1;
  for (size_t i = 0; i < count; ++i) {
    const auto channel =
        static_cast<int32_t>(y.rank >= 2 ? i / column_bytes % static_cast<size_t>(y.dims[1]) : 0);
    if (channel >= channels.begin && channel < channels.end) visit(i);
  }
}

}  // namespace

const plan::StepDef& StepChecker::step_of(const Checked& checked) const {
  return *inputs_.variant->steps()->Get(checked.step);
}

const plan::TensorDef& StepChecker::tensor_of(const plan::StepDef& step, uint32_t operand) const {
  return *inputs_.variant->tensors()->Get(step.operands()->Get(operand));
}

bool StepChecker::is_constant(const plan::StepDef& step, uint32_t operand) const {
  return storage_of(tensor_of(step, operand)) == Storage::Weights;
}

// Returns the bytes of a constant of halves as floats; 0 for every other operand.
size_t StepChecker::widened_bytes(const plan::StepDef& step, uint32_t operand) const {
  const plan::TensorDef& tensor = tensor_of(step, operand);
  const bool is_half = static_cast<DType>(tensor.dtype()) == DType::F16;
  return is_constant(step, operand) && is_half
             ? static_cast<size_t>(round_up(2 * tensor.bytes(), kHostAlignment))
             : 0;
}

// Returns a constant as the CPU reads it: in the plan, or widened.
uint8_t* StepChecker::constant_data(const plan::StepDef& step, uint32_t operand) const {
  if (widened_bytes(step, operand) == 0)
    return const_cast<uint8_t*>(inputs_.plan->blob_data(tensor_of(step, operand).index()));
  uint8_t* data = widened_.data();
  for (uint32_t i = 0; i < operand; ++i) data += widened_bytes(step, i);
  return data;
}

void StepChecker::widen_constants(const plan::StepDef& step) const {
  for (uint32_t i = 0; i < step.operands()->size(); ++i) {
    if (widened_bytes(step, i) == 0) continue;
    const plan::TensorDef& tensor = tensor_of(step, i);
    const OperandShape held = operand_shape_of(tensor);
    widen(inputs_.plan->blob_data(tensor.index()), static_cast<size_t>(held.bytes / 2), held,
          constant_data(step, i));
  }
}

Range StepChecker::all_rows(const plan::StepDef& step) const {
  OperandShape shapes[kernels::kMaxOperands];
  const kernels::StepShape shape = step_shape_of(*inputs_.variant, step, shapes);
  return kernels::rows_of_part(shape.part_dim, shape.part, shape.output());
}

codl_status_t StepChecker::create(const codl_allocator_t& allocator,
                                  const StepCheckerInputs& inputs, codl_diag_t* diag) {
  inputs_ = inputs;
  const auto& steps = *inputs.variant->steps();
  uint64_t bytes = 0;
  uint64_t most_widened = 0;
  const auto visit = [&](const auto& take) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < steps.size(); ++i) {
      if (queue_of(*steps.Get(i)) != Queue::Gpu || kind_of(*steps.Get(i)) != StepKind::Kernel)
        continue;
      OperandShape shapes[kernels::kMaxOperands];
      const kernels::StepShape shape = step_shape_of(*inputs.variant, *steps.Get(i), shapes);
      if (shape.is_in_place) continue;  // it computes nothing
      Checked checked;
      checked.step = i;
      uint64_t most = 0;
      uint64_t least = 0;
      if (!find_cpu_kernel(checked, &most, &least)) continue;
      // Twice: another kernel may need one more of its inputs.
      bytes = std::max(bytes, std::max(std::min(most, kSliceBytes), std::min(most, 2 * least)));
      // The self-test writes rows of the map that a window is of.
      for (uint32_t k = 0; k < shape.operand_count; ++k)
        if (shapes[k].layout == Layout::Image2d)
          bytes = std::max(bytes, static_cast<uint64_t>(kernels::image_width(shapes[k])) * 16);
      uint64_t widened = 0;
      for (uint32_t k = 0; k < shape.operand_count; ++k) widened += widened_bytes(*steps.Get(i), k);
      most_widened = std::max(most_widened, widened);
      take(count++, checked);
    }
    return count;
  };
  const uint32_t count = visit([](uint32_t, const Checked&) {});
  if (!checked_.allocate(allocator, count) || !memory_.allocate(allocator, bytes, kHostAlignment) ||
      !widened_.allocate(allocator, most_widened, kHostAlignment)) {
    set_diag(diag, "no memory for checks of %u steps, %llu bytes", count,
             static_cast<unsigned long long>(bytes + most_widened));
    return CODL_OUT_OF_MEMORY;
  }
  visit([this](uint32_t i, const Checked& checked) { checked_[i] = checked; });
  return CODL_OK;
}

// Finds the CPU's kernel for the step's operator and packing, the reference kernel only if there is
// no other; and the memory that the whole step takes, and that one row takes.
bool StepChecker::find_cpu_kernel(Checked& checked, uint64_t* out_most, uint64_t* out_least) {
  const plan::StepDef& step = step_of(checked);
  const KernelInfo& gpu_kernel = *find_kernel(step.kernel());
  const Range rows = all_rows(step);
  for (const bool is_reference : {false, true})
    for (const KernelInfo& kernel : kKernelInfos) {
      if (kernel.processor != Processor::Cpu || kernel.op != gpu_kernel.op ||
          kernel.packing != gpu_kernel.packing || kernel.is_reference() != is_reference ||
          kernels::cpu_kernel(kernel) == nullptr)
        continue;
      checked.kernel = &kernel;
      if (!cut(checked, rows)) continue;
      *out_most = *out_least = slice_.total_bytes;
      const int32_t middle = rows.begin + rows.count() / 2;
      if (rows.count() > 1 && cut(checked, {middle, middle + 1})) *out_least = slice_.total_bytes;
      return true;
    }
  return false;
}

// Makes slice_ cover some rows of a step. Returns false if its kernel does not compute them alone.
bool StepChecker::cut(const Checked& checked, Range rows) {
  const plan::StepDef& step = step_of(checked);
  slice_.shape = step_shape_of(*inputs_.variant, step, slice_.operands);
  slice_.shape.kernel = checked.kernel;
  slice_.shape.tile = nullptr;
  slice_.shape.tile_count = 0;
  slice_.rows = rows;
  const uint32_t last = slice_.shape.operand_count - 1;
  OperandShape& output = slice_.operands[last];
  const bool is_whole = rows == all_rows(step);
  if (!is_whole && !has_rows(output)) return false;
  for (uint32_t i = 0; i <= last; ++i) slice_.operands[i] = on_cpu(slice_.operands[i]);
  if (has_rows(output)) {
    output.row_begin = rows.begin;
    output.row_end = rows.end;
    if (slice_.shape.part_dim == SplitDim::Height) slice_.shape.part = rows;
  }
  for (uint32_t i = 0; i <= last; ++i)
    if (!is_constant(step, i)) set_bytes(slice_.operands[i]);
  if (kernels::check_step(slice_.shape, &slice_.needs) != nullptr) return false;
  for (uint32_t i = 0; i < last; ++i)
    if (!is_constant(step, i) && has_rows(slice_.operands[i]) && !narrow(i)) return false;
  // Check again, now with the narrowed operands.
  if (kernels::check_step(slice_.shape, &slice_.needs) != nullptr) return false;
  place(step);
  return true;
}

// Leaves an input the rows that its kernel asks for: the contract says which are enough. False
// never happens; an operand is back at its rows then.
bool StepChecker::narrow(uint32_t operand) {
  OperandShape& shape = slice_.operands[operand];
  const auto is_enough = [&](int32_t begin, int32_t end) {
    shape.row_begin = begin;
    shape.row_end = end;
    set_bytes(shape);
    kernels::StepNeeds needs;
    return kernels::check_step(slice_.shape, &needs) == nullptr;
  };
  const int32_t end = shape.row_end;
  int32_t first = shape.row_begin;  // is enough
  for (int32_t step = end - first; step > 0; step /= 2)
    while (first + step < end && is_enough(first + step, end)) first += step;
  int32_t last = end;  // is enough
  for (int32_t step = end - first; step > 0; step /= 2)
    while (last - step > first && is_enough(first, last - step)) last -= step;
  return is_enough(first, last);
}

void StepChecker::place(const plan::StepDef& step) {
  uint64_t bytes = 0;
  const auto take = [&bytes](uint64_t size) {
    const uint64_t begin = bytes;
    bytes = round_up(bytes + size, uint64_t{kHostAlignment});
    return static_cast<size_t>(begin);
  };
  const uint32_t last = slice_.shape.operand_count - 1;
  for (uint32_t i = 0; i < last; ++i)
    if (!is_constant(step, i)) slice_.places[i] = take(slice_.operands[i].bytes);
  slice_.expected = take(slice_.operands[last].bytes);
  slice_.perturbed = take(slice_.operands[last].bytes);
  slice_.found = take(slice_.operands[last].bytes);
  const bool fits =
      scratch_sizes(slice_.needs.scratch_bytes, slice_.needs.shared_bytes,
                    static_cast<uint64_t>(inputs_.pool->worker_count()), &slice_.scratch);
  slice_.scratch_place = take(slice_.scratch.total_bytes);
  slice_.total_bytes = fits ? bytes : UINT64_MAX;
}

uint32_t StepChecker::begin_run() {
  if (checked_.count() == 0 || ++runs_ < inputs_.every) return kNoStep;
  runs_ = 0;
  current_ = current_ + 1 == checked_.count() ? 0 : current_ + 1;
  return checked_[current_].step;
}

// Aims slice_ at as many rows from `begin` on as there is memory for, and returns them. Empty:
// there is not one that the CPU's kernel computes alone.
Range StepChecker::cut_from(const Checked& checked, int32_t begin) {
  for (int32_t count = all_rows(step_of(checked)).end - begin; count > 0; count /= 2) {
    const Range rows = {begin, begin + count};
    if (cut(checked, rows) && slice_.total_bytes <= memory_.size_bytes()) return rows;
  }
  return {begin, begin};
}

codl_status_t StepChecker::check(codl_diag_t* diag) {
  const Checked& checked = checked_[current_];
  const Range all = all_rows(step_of(checked));
  widen_constants(step_of(checked));
  for (int32_t begin = all.begin; begin < all.end;) {
    const Range rows = cut_from(checked, begin);
    begin = rows.empty() ? begin + 1 : rows.end;
    if (rows.empty()) continue;
    codl_status_t status = copy_slice(diag);
    if (status == CODL_OK) status = compare(diag);
    if (status != CODL_OK) return status;
  }
  return CODL_OK;
}

// Copies rows of a tensor as they are stored, of a window of channels without what is between; when
// it returns they may be on their way.
codl_status_t StepChecker::read(uint32_t tensor, Range rows, size_t place, codl_diag_t* diag) {
  const OperandShape held = operand_shape_of(*inputs_.variant->tensors()->Get(tensor));
  const ClApi& api = inputs_.gpu->api();
  const cl_command_queue queue = inputs_.gpu->queue(kComputeQueue);
  const auto element = static_cast<size_t>(kernels::element_bytes(held));
  const bool is_cut = has_rows(held);
  const auto batches = static_cast<size_t>(is_cut ? held.dims[0] : 1);
  const auto count = static_cast<size_t>(is_cut ? rows.count() : 1);
  const auto held_count = static_cast<size_t>(is_cut ? kernels::rows_held(held) : 1);
  const auto first = static_cast<size_t>(is_cut ? rows.begin - held.row_begin : 0);
  OperandShape map = held;
  map.pixel_stride = map.first_channel = 0;
  const size_t row_bytes =
      static_cast<size_t>(kernels::stored_elements(map)) * element / (batches * held_count);
  // A row is one piece; in a window each of its pixels is.
  const auto pieces = static_cast<size_t>(held.pixel_stride != 0 ? held.dims[3] : 1);
  const auto pitch = static_cast<size_t>(kernels::pixel_elements(held)) * element;
  const auto skipped = static_cast<size_t>(held.first_channel) * element;
  // Widened elements go to the end of the place: floats are made from its beginning on.
  uint8_t* to = memory_.data() + place + (widening(held) - 1) * batches * count * row_bytes;
  const auto* pointer = static_cast<const uint8_t*>(inputs_.memory.pointer_of(tensor));
  const cl_mem memory = inputs_.memory.buffer_of(tensor);
  for (size_t n = 0; n < batches; ++n, to += count * row_bytes) {
    const size_t row = n * held_count + first;
    cl_int error = CL_SUCCESS;
    if (pointer != nullptr) {
      std::memcpy(to, pointer + row * row_bytes, count * row_bytes);
    } else if (held.layout == Layout::Image2d) {
      for (size_t i = 0; i < pieces && error == CL_SUCCESS; ++i) {
        const size_t origin[3] = {(i * pitch + skipped) / (4 * element), row, 0};
        const size_t region[3] = {row_bytes / pieces / (4 * element), count, 1};
        error = api.clEnqueueReadImage(queue, memory, CL_FALSE, origin, region, row_bytes, 0,
                                       to + i * (row_bytes / pieces), 0, nullptr, nullptr);
      }
      if (error != CL_SUCCESS) return cl_fault(diag, "clEnqueueReadImage", error);
    } else if (pieces != 1) {
      const size_t origin[3] = {skipped, row * pieces, 0};
      const size_t to_origin[3] = {};
      const size_t region[3] = {row_bytes / pieces, count * pieces, 1};
      error = api.clEnqueueReadBufferRect(queue, memory, CL_FALSE, origin, to_origin, region, pitch,
                                          0, region[0], 0, to, 0, nullptr, nullptr);
      if (error != CL_SUCCESS) return cl_fault(diag, "clEnqueueReadBufferRect", error);
    } else {
      error = api.clEnqueueReadBuffer(queue, memory, CL_FALSE, row * row_bytes, count * row_bytes,
                                      to, 0, nullptr, nullptr);
      if (error != CL_SUCCESS) return cl_fault(diag, "clEnqueueReadBuffer", error);
    }
  }
  return CODL_OK;
}

void StepChecker::widen_read(uint32_t tensor, const OperandShape& shape, size_t place) {
  const OperandShape held = operand_shape_of(*inputs_.variant->tensors()->Get(tensor));
  if (widening(held) == 1) return;
  const auto count = static_cast<size_t>(kernels::stored_elements(shape));
  const auto element = static_cast<size_t>(kernels::element_bytes(held));
  uint8_t* const to = memory_.data() + place;
  widen(to + count * (sizeof(float) - element), count, held, to);
}

// Copies the slice's inputs and the GPU's results, as floats.
codl_status_t StepChecker::copy_slice(codl_diag_t* diag) {
  const plan::StepDef& step = step_of(checked_[current_]);
  const uint32_t last = slice_.shape.operand_count - 1;
  const auto place_of = [&](uint32_t i) { return i == last ? slice_.found : slice_.places[i]; };
  for (uint32_t i = 0; i <= last; ++i) {
    if (is_constant(step, i)) continue;
    const OperandShape& shape = slice_.operands[i];
    const codl_status_t status =
        read(step.operands()->Get(i), {shape.row_begin, shape.row_end}, place_of(i), diag);
    if (status != CODL_OK) return status;
  }
  const codl_status_t status = inputs_.gpu->finish(kComputeQueue, diag);
  if (status != CODL_OK) return status;
  for (uint32_t i = 0; i <= last; ++i)
    if (!is_constant(step, i)) widen_read(step.operands()->Get(i), slice_.operands[i], place_of(i));
  return CODL_OK;
}

void StepChecker::compute(size_t output) {
  const plan::StepDef& step = step_of(checked_[current_]);
  const uint32_t last = slice_.shape.operand_count - 1;
  kernels::TensorView views[kernels::kMaxOperands];
  for (uint32_t i = 0; i <= last; ++i) {
    void* data = is_constant(step, i) ? constant_data(step, i)
                                      : memory_.data() + (i == last ? output : slice_.places[i]);
    views[i] = kernels::make_view(slice_.operands[i], data);
  }
  kernels::KernelArgs args;
  args.params = slice_.shape.params;
  args.operands = views;
  args.operand_count = slice_.shape.operand_count;
  args.part_dim = slice_.shape.part_dim;
  args.part = slice_.shape.part;
  run_cpu_kernel(
      *inputs_.pool, kernels::cpu_kernel(*slice_.shape.kernel), args, slice_.needs.task_count,
      slice_.needs.phase_count,
      {memory_.data() + slice_.scratch_place, static_cast<size_t>(slice_.scratch.stride_bytes)});
}

// How far a right result may be from the CPU's; `other`: the place of what the CPU computes of
// other inputs, or of the same.
float StepChecker::limit(size_t other) const {
  const float* expected = floats(slice_.expected);
  const float* perturbed = floats(other);
  float largest = 0;
  float largest_change = 0;
  for_each_output(slice_.shape, [&](size_t i) {
    const float change = std::fabs(expected[i] - perturbed[i]);
    if (!std::isfinite(expected[i]) || !std::isfinite(change)) return;
    largest = std::max(largest, std::fabs(expected[i]));
    largest_change = std::max(largest_change, change);
  });
  float share = kShare;
  if (is_half_output()) share += kHalfShare;
  if (adds_halves()) share += kHalfSumShare;
  return share * largest + kPerturbedShare * largest_change;
}

bool StepChecker::adds_halves() const {
  OperandShape shapes[kernels::kMaxOperands];
  const kernels::StepShape shape =
      step_shape_of(*inputs_.variant, step_of(checked_[current_]), shapes);
  return kernels::half_arithmetic_of(shape) != kernels::HalfArithmetic::None;
}

bool StepChecker::is_half_output() const {
  const plan::StepDef& step = step_of(checked_[current_]);
  return static_cast<DType>(tensor_of(step, slice_.shape.operand_count - 1).dtype()) == DType::F16;
}

// Returns the first element that is further from the CPU's than `most`; SIZE_MAX means that there
// is none. The queues may compute different things where numbers are not finite, or too large for
// halves. The GPU's bytes are those of the CPU's numbers, or next to them.
size_t StepChecker::first_beyond(float most, size_t other) const {
  const OperandShape held =
      operand_shape_of(tensor_of(step_of(checked_[current_]), slice_.shape.operand_count - 1));
  const float* expected = floats(slice_.expected);
  const float* perturbed = floats(other);
  const float* found = floats(slice_.found);
  const bool is_half = is_half_output();
  size_t first = SIZE_MAX;
  for_each_output(slice_.shape, [&](size_t i) {
    const float size = std::fabs(expected[i]);
    if (!std::isfinite(size) || !std::isfinite(perturbed[i]) ||
        (is_half && size > kLargestHalf / 2))
      return;
    float wanted = expected[i];
    if (kernels::is_quantised(held))
      wanted = number_of_byte(byte_of_number(wanted, held.scale, held.zero_point), held.scale,
                              held.zero_point);
    if (!(std::fabs(found[i] - wanted) <= most + held.scale)) first = std::min(first, i);
  });
  return first;
}

codl_status_t StepChecker::compare(codl_diag_t* diag) {
  const plan::StepDef& step = step_of(checked_[current_]);
  const uint32_t last = slice_.shape.operand_count - 1;
  compute(slice_.expected);
  // The perturbation only adds to the limit, and most slices do not need it, which saves half of
  // the work. For outputs near the end of floats it could remove the largest.
  float most = limit(slice_.expected);
  if (most < kFarFromOverflow && first_beyond(most, slice_.expected) == SIZE_MAX) return CODL_OK;
  for (uint32_t i = 0; i < last; ++i)
    if (!is_constant(step, i))
      perturb(floats(slice_.places[i]),
              static_cast<size_t>(kernels::stored_elements(slice_.operands[i])));
  compute(slice_.perturbed);
  most = limit(slice_.perturbed);
  const size_t wrong = first_beyond(most, slice_.perturbed);
  if (wrong == SIZE_MAX) return CODL_OK;
  set_diag(diag, "%s (%s), rows %d to %d: expected %.9g within %.3g, found %.9g",
           step.name()->c_str(), find_kernel(step.kernel())->symbol, slice_.rows.begin,
           slice_.rows.end, static_cast<double>(floats(slice_.expected)[wrong]),
           static_cast<double>(most), static_cast<double>(floats(slice_.found)[wrong]));
  return CODL_WRONG_RESULT;
}

}  // namespace codl::rt
