// Checks that the GPU's Converts make numbers of quantised bytes, and bytes of numbers, which cross
// between the queues where the CPU computes with bytes.
#include <set>

#include "schema/quantised.h"
#include "test/kernels/all_cases.h"
#include "test/kernels/cpu_runner.h"
#include "test/kernels/opencl_device.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

constexpr float kScale = 0.0371f;
constexpr int32_t kZeroPoint = -29;
constexpr size_t kMaxConvertPrograms = 12;  // Building a program takes a second.

int8_t byte_at(size_t i) { return static_cast<int8_t>(i * 37 % 256 - 128); }

size_t stored_count(const OperandShape& shape) {
  return static_cast<size_t>(kernels::stored_elements(shape));
}

void make_bytes(OperandShape& shape) {
  shape.dtype = DType::I8;
  shape.scale = kScale;
  shape.zero_point = kZeroPoint;
  shape.bytes = kernels::stored_bytes(shape);
}

// Calls visit(place in x, place in y) for each element of the part.
template <typename Visit>
void for_each_of_part(const KernelCase& item, Visit visit) {
  const kernels::TensorView x = kernels::make_view(item.operands[0], nullptr);
  const kernels::TensorView y = kernels::make_view(item.operands[1], nullptr);
  const auto rows_from = [](const OperandShape& shape) { return shape.row_begin; };
  if (y.shape.rank != 4) {
    const Range columns = kernels::channels_of_part(item.part_dim, item.part, y.shape);
    const auto width = static_cast<size_t>(y.shape.rank == 2 ? y.shape.dims[1] : 1);
    for (size_t i = 0; i < stored_count(y.shape); ++i)
      if (item.part_dim == SplitDim::None ||
          columns.contains({static_cast<int32_t>(i % width), static_cast<int32_t>(i % width) + 1}))
        visit(i, i);
    return;
  }
  const Range rows = kernels::rows_of_part(item.part_dim, item.part, y.shape);
  const Range channels = kernels::channels_of_part(item.part_dim, item.part, y.shape);
  for (int64_t n = 0; n < y.shape.dims[0]; ++n)
    for (int64_t c = channels.begin; c < channels.end; ++c)
      for (int64_t h = rows.begin; h < rows.end; ++h)
        for (int64_t w = 0; w < y.shape.dims[3]; ++w) {
          const auto place = [&](const kernels::TensorView& view) {
            int64_t strides[kMaxRank];
            OperandShape shape = view.shape;
            if (shape.layout == Layout::Image2d) shape.layout = Layout::Nhwc;
            kernels::strides_of(shape, strides);
            return static_cast<size_t>(n * strides[0] + c * strides[1] +
                                       (h - rows_from(shape)) * strides[2] + w * strides[3]);
          };
          visit(place(x), place(y));
        }
}

// Returns the first difference, or "".
std::string convert_bytes(ClDevice* device, const KernelInfo& info, const KernelCase& item) {
  kernels::ClLaunch launch;
  kernels::launch_of(step_of(info, item), &launch);
  std::vector<GuardedMemory> memory;
  std::vector<ClOperand> operands;
  for (size_t i = 0; i < 2; ++i) {
    const OperandShape& shape = item.operands[i];
    const size_t count = stored_count(shape);
    const bool is_byte = kernels::is_quantised(shape);
    memory.emplace_back(count * (is_byte ? 1 : sizeof(float)));
    auto* const bytes = reinterpret_cast<int8_t*>(memory[i].data());
    for (size_t k = 0; k < count; ++k) {
      if (is_byte)
        bytes[k] = i == 0 ? byte_at(k) : 0;
      else
        memory[i].data()[k] = i == 0 ? number_of_byte(byte_at(k), kScale, kZeroPoint) : -1e9f;
    }
    ClOperand operand;
    operand.data = memory[i].data();
    operand.bytes = memory[i].bytes();
    operand.is_output = i == 1;
    operand.is_image = shape.layout == Layout::Image2d;
    operand.dtype = shape.dtype;
    if (operand.is_image) {
      operand.width = static_cast<size_t>(kernels::image_width(shape));
      operand.height = static_cast<size_t>(kernels::image_height(shape));
    }
    operands.push_back(operand);
  }
  std::string error = device->run(info, launch, operands);
  for (const GuardedMemory& operand : memory)
    if (!operand.has_whole_guards()) return "a write outside an operand";
  for_each_of_part(item, [&](size_t x, size_t y) {
    if (!error.empty()) return;
    const int8_t expected = byte_at(x);
    const int8_t found = kernels::is_quantised(item.operands[1])
                             ? reinterpret_cast<const int8_t*>(memory[1].data())[y]
                             : byte_of_number(memory[1].data()[y], kScale, kZeroPoint);
    if (found != expected)
      error = "element " + std::to_string(y) + ": expected " + std::to_string(expected) +
              ", found " + std::to_string(found);
  });
  // Pad lanes are the zero point.
  const OperandShape& y = item.operands[1];
  if (error.empty() && y.layout == Layout::Nhwc && kernels::is_quantised(y) &&
      item.part_dim == SplitDim::None)
    for (size_t k = 0; k < stored_count(y); ++k)
      if (k % static_cast<size_t>(kernels::padded_channels(y)) >= static_cast<size_t>(y.dims[1]) &&
          reinterpret_cast<const int8_t*>(memory[1].data())[k] != kZeroPoint)
        error = "a pad lane that is not the zero point";
  return error;
}

}  // namespace

TEST_CASE("the GPU converts quantised bytes to numbers and back", "[opencl]") {
  ClDevice* const device = opencl_device();
  if (device == nullptr) return;
  for (const KernelInfo& info : kKernelInfos) {
    if (info.op != OpKind::Convert || info.processor != Processor::Gpu) continue;
    std::set<std::string> programs;
    int checked = 0;
    for (const KernelCase& any : cases_of(info.op)) {
      const KernelCase item = with_images(info, case_for(info, any));
      if (item.operands[0].dtype != DType::F32) continue;
      for (const auto& [from_bytes, to_bytes] :
           {std::pair(true, false), {false, true}, {true, true}}) {
        KernelCase with = item;
        if (from_bytes) make_bytes(with.operands[0]);
        if (to_bytes) make_bytes(with.operands[1]);
        kernels::StepNeeds needs;
        if ((!kernels::is_quantised(with.operands[0]) &&
             !kernels::is_quantised(with.operands[1])) ||
            kernels::check_step(step_of(info, with), &needs) != nullptr)
          continue;
        kernels::ClLaunch launch;
        kernels::launch_of(step_of(info, with), &launch);
        std::string program;
        for (uint32_t i = 0; i < launch.define_count; ++i)
          program += std::string(launch.defines[i].name) + "=" +
                     std::to_string(launch.defines[i].value) + " ";
        if (programs.count(program) == 0 && programs.size() >= kMaxConvertPrograms) continue;
        programs.insert(program);
        ++checked;
        INFO(info.symbol << " \"" << item.name << "\" " << program);
        CHECK(convert_bytes(device, info, with) == "");
      }
    }
    CHECK(checked > 5);
  }
}

}  // namespace codl::test
