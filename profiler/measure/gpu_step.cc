#include "profiler/measure/gpu_step.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/contract/contract.h"
#include "kernels/kernel_table.h"
#include "profiler/measure/contents.h"

namespace codl::profiler {
namespace {

// Length of a batch of launches of a short step; its end is seen some microseconds late.
constexpr double kBatchUs = 150;
constexpr double kMaxLaunches = 16;
// The GPU is kept busy this many times as long as the host probably takes for a batch's launches.
constexpr double kHostIsAhead = 1.5;

// Returns the texts of all kernels.
const std::string& unpacked_texts() {
  static const std::string texts = [] {
    std::string unpacked(kernels::kClTextBytes, '\0');
    if (!kernels::unpack_cl_texts(unpacked.data())) unpacked.assign(unpacked.size(), '\0');
    return unpacked;
  }();
  return texts;
}

}  // namespace

cl_mem GpuStep::take(size_t bytes) {
  const size_t begin =
      round_up(processor_->arena_used_bytes_,
               memory_.empty() ? kStepAlignment : processor_->device_.base_alignment_bytes);
  // GPUs have memory of their own, in which drivers place buffers.
  if (!processor_->is_cpu_device() || begin + bytes > kArenaBytes)
    return processor_->make_buffer(bytes, 0, nullptr);
  const cl_buffer_region region = {begin, std::max<size_t>(bytes, 4)};
  processor_->arena_used_bytes_ = begin + region.size;
  cl_int error = CL_SUCCESS;
  const cl_mem buffer = processor_->api_.clCreateSubBuffer(
      processor_->arena_, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  processor_->check("clCreateSubBuffer", error);
  return buffer;
}

GpuStep::GpuStep(MeasuredGpu* processor, const KernelInfo& kernel, const StepCase& item,
                 const std::vector<int32_t>& tile)
    : processor_(processor), has_warm_weights_(item.has_warm_weights) {
  ++processor->step_count_;
  const rt::ClApi& api = processor->api_;
  kernels::StepShape shape_of_step = step_of(kernel, item);
  shape_of_step.tile_count = static_cast<uint32_t>(tile.size());
  shape_of_step.tile = tile.data();
  kernels::ClLaunch launch;
  kernels::launch_of(shape_of_step, &launch);
  std::string options = "-cl-std=CL1.2";
  for (uint32_t i = 0; i < launch.define_count; ++i)
    options +=
        std::string(" -D") + launch.defines[i].name + "=" + std::to_string(launch.defines[i].value);
  const kernels::ClText text = kernels::cl_text(kernel, unpacked_texts().data());
  kernel_ = processor->kernel_of(text.parts, kernels::ClText::kParts, options, kernel.symbol);
  cl_uint argument = 0;
  for (size_t i = 0; i < item.operands.size(); ++i) {
    const OperandShape& shape = item.operands[i];
    const bool is_image = shape.layout == Layout::Image2d;
    const auto bytes = static_cast<size_t>(
        is_image ? static_cast<uint64_t>(kernels::image_width(shape) *
                                         kernels::image_height(shape) * kChannelPad) *
                       sizeof(float)
                 : shape.bytes);
    std::vector<uint8_t> contents(bytes);
    fill(shape, contents.data(), bytes);
    cl_mem memory = nullptr;
    if (is_image) {
      const cl_image_format format = {CL_RGBA, CL_FLOAT};
      cl_image_desc desc = {};
      desc.image_type = CL_MEM_OBJECT_IMAGE2D;
      desc.image_width = static_cast<size_t>(kernels::image_width(shape));
      desc.image_height = static_cast<size_t>(kernels::image_height(shape));
      cl_int error = CL_SUCCESS;
      memory = api.clCreateImage(processor->context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                 &format, &desc, contents.data(), &error);
      processor->check("clCreateImage", error);
    } else {
      memory = take(bytes);
      processor->check("clEnqueueWriteBuffer",
                       api.clEnqueueWriteBuffer(processor->queue_, memory, CL_TRUE, 0, bytes,
                                                contents.data(), 0, nullptr, nullptr));
      if (shape.layout != Layout::Packed) activations_.emplace_back(memory, bytes);
    }
    if (shape.layout == Layout::Packed) {
      weights_.push_back({argument, memory, bytes});
      // Allocates here, where a device that cannot hold them can still be left out.
      if (processor->has_room_for_weights()) processor->weight_buffers(bytes);
    }
    memory_.push_back(memory);
    if (!kernels::is_cl_argument(shape_of_step, static_cast<uint32_t>(i))) continue;
    processor->check("clSetKernelArg",
                     api.clSetKernelArg(kernel_, argument++, sizeof(memory), &memory));
  }
  for (uint32_t i = 0; i < launch.scalar_count; ++i)
    processor->check("clSetKernelArg",
                     api.clSetKernelArg(kernel_, argument++, 4, &launch.scalars[i]));
  has_local_ = launch.local[0] != 0;
  for (int i = 0; i < 3; ++i) {
    global_[i] = static_cast<size_t>(launch.global[i]);
    local_[i] = static_cast<size_t>(launch.local[i]);
  }
}

void GpuStep::set_weights(cl_uint argument, cl_mem memory) {
  processor_->check("clSetKernelArg",
                    processor_->api_.clSetKernelArg(kernel_, argument, sizeof(memory), &memory));
}

void GpuStep::warm() {
  for (const Weights& own : weights_)
    set_weights(own.argument, processor_->weight_buffers(own.bytes)[0]);
  processor_->api_.clReleaseEvent(enqueue());
  for (const Weights& own : weights_) set_weights(own.argument, own.memory);
}

double GpuStep::batch_us(int count, double busy_us) {
  std::vector<std::pair<cl_uint, const std::vector<cl_mem>*>> turns;
  if (!has_warm_weights_ && processor_->has_room_for_weights())
    for (const Weights& own : weights_)
      turns.emplace_back(own.argument, &processor_->weight_buffers(own.bytes));
  const int64_t start_ns = rt::now_ns();
  processor_->keep_busy(processor_->plain_queue_, busy_us);
  const int64_t calls_start_ns = rt::now_ns();
  for (int i = 0; i < count; ++i) {
    for (const auto& [argument, buffers] : turns)
      set_weights(argument, (*buffers)[processor_->next_weights_ % buffers->size()]);
    ++processor_->next_weights_;
    processor_->check("clEnqueueNDRangeKernel",
                      processor_->api_.clEnqueueNDRangeKernel(
                          processor_->plain_queue_, kernel_, 3, nullptr, global_,
                          has_local_ ? local_ : nullptr, 0, nullptr, nullptr));
  }
  call_us_ = micros_since(calls_start_ns) / count;
  processor_->check("clFinish", processor_->api_.clFinish(processor_->plain_queue_));
  return micros_since(start_ns);
}

double GpuStep::run_us() {
  // A GPU's clock shows mostly the start of a short kernel, but in a plan the queue is full. So
  // this measures how much longer twice as many launches take. The host runs ahead, because a
  // plan's calls are counted by themselves (HostCosts), and one launch call takes as long as
  // several short kernels. Activations stay in caches larger than a processor's, as in a plan;
  // weights do not (kWeightBytes).
  if (!processor_->is_cpu_device()) {
    if (batch_count_ == 0) {
      const double once_us = batch_us(1, 0);
      const double step_us = std::max(batch_us(2, 0) - once_us, 1.0);
      longest_call_us_ = std::max(processor_->call_us_, call_us_);
      batch_count_ = static_cast<int>(std::clamp(kBatchUs / step_us, 1.0, kMaxLaunches));
    }
    const double busy_us = kHostIsAhead * 2 * batch_count_ * longest_call_us_;
    const double more_us = batch_us(2 * batch_count_, busy_us);
    return (more_us - batch_us(batch_count_, busy_us)) / batch_count_;
  }
  // Prepares the caches as before a step of the CPU; see there.
  for (int pass = 0; has_warm_weights_ && pass < 2; ++pass) {
    for (const Weights& own : weights_) touch(own.memory, own.bytes);
    touch(processor_->other_memory_, kOtherBytes);
  }
  touch(processor_->other_memory_, kOtherBytes);
  for (const auto& [buffer, bytes] : activations_) touch(buffer, bytes);
  touch(processor_->other_memory_, kOtherBytes);
  if (last_us_ > 0 && last_us_ < kShortStepUs) warm();
  for (size_t i = activations_.size(); i-- > 0;) {
    touch(activations_[i].first, activations_[i].second);
    if (i + 1 == activations_.size()) touch(processor_->other_memory_, 3 * kUsualStepBytes);
  }
  last_us_ = processor_->wait_and_time_us(enqueue());
  return last_us_;
}

void GpuStep::start() {
  processor_->api_.clReleaseEvent(enqueue());
  processor_->api_.clFlush(processor_->queue_);
}

}  // namespace codl::profiler
