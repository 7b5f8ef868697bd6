// Tests a session's GPU steps: StepChecker runs on inputs that are made for it.
#include <algorithm>
#include <cstring>

#include "runtime/src/diag.h"
#include "runtime/src/step_checker.h"
#include "schema/half.h"
#include "schema/mix_bits.h"
#include "schema/quantised.h"
#include "schema/step_shape.h"
#include "schema/verify_plan.h"

namespace codl::rt {
namespace {

// The inputs are numbers in [-1, 1], numbers of another size, and numbers with special ones among
// them.
enum : uint32_t { kUnit = 0, kLarge = 1, kSpecial = 2, kPatternCount = 3 };

// 17 bits: all values are halves, too.
constexpr float kSpecials[] = {
    0.0f, -0.0f, 0x1p-14f, __builtin_inff(), -__builtin_inff(), __builtin_nanf("")};
// One of so many elements is special: few enough that most results of a window stay finite.
constexpr uint64_t kSpecialEvery = 997;

float value_of(uint32_t pattern, uint64_t element) {
  const uint64_t bits = mix_bits((element + 1) * kSplitMixStep);
  if (pattern == kSpecial && bits % kSpecialEvery == 0)
    return kSpecials[element % std::size(kSpecials)];
  // Multiples of 1/64 in [-1, 1] are exact as halves.
  const float unit = static_cast<float>(static_cast<int32_t>(bits >> 57) - 64) / 64;
  return pattern == kLarge ? 32 * unit : unit;
}

}  // namespace

codl_status_t StepChecker::write(uint32_t tensor, uint32_t pattern, codl_diag_t* diag) {
  const kernels::OperandShape held = operand_shape_of(*inputs_.variant->tensors()->Get(tensor));
  const ClApi& api = inputs_.gpu->api();
  const cl_command_queue queue = inputs_.gpu->queue(kComputeQueue);
  const bool is_cut = held.layout == Layout::Nhwc || held.layout == Layout::Image2d;
  const size_t element_bytes = dtype_bytes(held.dtype);
  // With a window of channels, this includes what is between its pixels.
  const auto padded = static_cast<uint64_t>(is_cut ? kernels::pixel_elements(held) : 1);
  const auto channels =
      is_cut && held.pixel_stride == 0 ? static_cast<uint64_t>(held.dims[1]) : padded;
  const size_t image_row =
      held.layout == Layout::Image2d ? static_cast<size_t>(kernels::image_width(held)) * 4 : 1;
  const size_t count = round_up(static_cast<size_t>(kernels::stored_elements(held)), image_row);
  // Only whole rows of an image are written.
  const size_t room = memory_.size_bytes() / element_bytes / image_row * image_row;
  if (room == 0) {
    set_diag(diag, "no room for a row of an image");
    return CODL_OUT_OF_MEMORY;
  }
  auto* pointer = static_cast<uint8_t*>(inputs_.memory.pointer_of(tensor));
  const cl_mem memory = inputs_.memory.buffer_of(tensor);
  for (size_t begin = 0; begin < count; begin += room) {
    const size_t some = std::min(room, count - begin);
    uint8_t* to = pointer != nullptr ? pointer + begin * element_bytes : memory_.data();
    for (size_t i = 0; i < some; ++i) {
      // Pad lanes are zeros, which kernels may count on.
      const float value = (begin + i) % padded < channels
                              ? value_of(pattern, (uint64_t{tensor} << 32) + begin + i)
                              : 0.0f;
      if (held.dtype == DType::F16) {
        const uint16_t half = half_of(value);
        std::memcpy(to + i * sizeof(half), &half, sizeof(half));
      } else if (kernels::is_quantised(held)) {
        // Steps of the grid in place of numbers of about 1.
        const float steps = 100 * held.scale * value;
        to[i] = static_cast<uint8_t>(byte_of_number(steps, held.scale, held.zero_point));
        if (held.layout == Layout::Image2d) to[i] ^= kTexelBit;
      } else {
        std::memcpy(to + i * sizeof(value), &value, sizeof(value));
      }
    }
    if (pointer != nullptr) continue;
    cl_int error = CL_SUCCESS;
    if (held.layout == Layout::Image2d) {
      const size_t origin[3] = {0, begin / image_row, 0};
      const size_t region[3] = {image_row / 4, some / image_row, 1};
      error = api.clEnqueueWriteImage(queue, memory, CL_TRUE, origin, region, 0, 0, to, 0, nullptr,
                                      nullptr);
      if (error != CL_SUCCESS) return cl_fault(diag, "clEnqueueWriteImage", error);
    } else {
      error = api.clEnqueueWriteBuffer(queue, memory, CL_TRUE, begin * element_bytes,
                                       some * element_bytes, to, 0, nullptr, nullptr);
      if (error != CL_SUCCESS) return cl_fault(diag, "clEnqueueWriteBuffer", error);
    }
  }
  return CODL_OK;
}

codl_status_t StepChecker::write_inputs(const plan::StepDef& step, uint32_t pattern,
                                        codl_diag_t* diag) {
  for (uint32_t i = 0; i + 1 < step.operands()->size(); ++i) {
    if (is_constant(step, i)) continue;
    const codl_status_t status = write(step.operands()->Get(i), pattern, diag);
    if (status != CODL_OK) return status;
  }
  return CODL_OK;
}

codl_status_t StepChecker::test(const Checked& checked, const GpuKernel& kernel, uint32_t pattern,
                                codl_diag_t* diag) {
  codl_status_t status = write_inputs(step_of(checked), pattern, diag);
  if (status != CODL_OK) return status;
  const cl_int error = kernel.enqueue(*inputs_.gpu, 0, nullptr, nullptr);
  if (error != CL_SUCCESS) return cl_fault(diag, "clEnqueueNDRangeKernel", error);
  status = inputs_.gpu->finish(kComputeQueue, diag);
  return status == CODL_OK ? check(diag) : status;
}

codl_status_t StepChecker::test_all(const StepList& steps, codl_step_report_t report, void* context,
                                    codl_diag_t* diag) {
  codl_status_t result = CODL_OK;
  for (current_ = 0; current_ < checked_.count(); ++current_) {
    const Checked& checked = checked_[current_];
    const plan::StepDef& step = step_of(checked);
    codl_diag_t message = {};
    codl_status_t status = CODL_OK;
    for (uint32_t pattern = 0; pattern < kPatternCount && status == CODL_OK; ++pattern)
      status = test(checked, steps.steps()[checked.step].gpu_kernel, pattern, &message);
    if (status != CODL_OK && result == CODL_OK) {
      result = status;
      set_diag(diag, "%s", message.message);
    }
    if (status != CODL_OK && status != CODL_WRONG_RESULT) return status;
    if (report == nullptr) continue;
    const plan::TensorDef& output = tensor_of(step, step.operands()->size() - 1);
    codl_step_result_t found = {};
    found.name = step.name()->c_str();
    found.kernel = find_kernel(step.kernel())->symbol;
    found.tile = step.tile()->size() != 0 ? step.tile()->data() : nullptr;
    found.tile_count = step.tile()->size();
    found.output_rank = static_cast<int32_t>(output.dims()->size());
    for (uint32_t i = 0; i < output.dims()->size(); ++i)
      found.output_dims[i] = output.dims()->Get(i);
    found.is_wrong = status != CODL_OK;
    found.message = message.message;
    report(context, &found);
  }
  current_ = 0;
  return result;
}

}  // namespace codl::rt
