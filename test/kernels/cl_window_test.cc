// Checks that a window of a wider map's channels behaves on the GPU like a map of its own, bit by
// bit, and that nothing between its pixels is read or written: for every GPU kernel that takes
// windows by kernels.def, in buffers and in images.
#include <map>

#include "test/kernels/all_cases.h"
#include "test/kernels/cpu_runner.h"
#include "test/kernels/opencl_device.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

constexpr uint32_t kClWindowSeed = 5;
constexpr float kOther = -7.5f;  // fills maps beside windows
// Limit per kernel: building a program takes a second, and windows define nothing.
constexpr size_t kMaxPrograms = 3;
// A simulator takes so many windows with each program: those of the first three cases or so.
constexpr int kMaxWindows = 8;

bool takes_step(const kernels::StepShape& step) {
  kernels::StepNeeds needs;
  return kernels::check_step(step, &needs) == nullptr;
}

bool is_map(const OperandShape& shape) {
  return shape.layout == Layout::Nhwc || shape.layout == Layout::Image2d;
}

void set_bytes(OperandShape& shape) {
  if (shape.layout != Layout::Image2d) shape.bytes = kernels::stored_bytes(shape);
}

// Returns false if the operand cannot be a window. Neither stride is a multiple of a panel, and the
// output's differs from the inputs'.
bool make_window(const KernelInfo& info, KernelCase* item, size_t i) {
  const size_t count = item->operands.size();
  OperandShape& shape = item->operands[i];
  if (!info.takes_window(static_cast<uint32_t>(i), static_cast<uint32_t>(count)) ||
      !is_map(shape) || shape.dims[1] % kChannelPad != 0)
    return false;
  const bool is_output = i + 1 == count;
  shape.first_channel = is_output ? 12 : 8;
  shape.pixel_stride = shape.dims[1] + (is_output ? 36 : 20);
  set_bytes(shape);
  return true;
}

// Returns the number of elements in an operand's memory: of the whole map if it is a window.
size_t element_count_of(const OperandShape& shape) {
  if (!is_map(shape)) return static_cast<size_t>(shape.bytes) / dtype_bytes(shape.dtype);
  return static_cast<size_t>(int64_t{shape.dims[0]} * kernels::rows_held(shape) * shape.dims[3] *
                             kernels::pixel_elements(shape));
}

// Calls visit(element of the window, the same element of a map of its own).
template <typename Visit>
void for_each_element(const OperandShape& shape, Visit visit) {
  const auto padded = static_cast<size_t>(kernels::padded_channels(shape));
  const auto stride = static_cast<size_t>(kernels::pixel_elements(shape));
  const auto first = static_cast<size_t>(shape.first_channel);
  for (size_t pixel = 0; pixel < element_count_of(shape) / stride; ++pixel)
    for (size_t c = 0; c < padded; ++c) visit(pixel * stride + first + c, pixel * padded + c);
}

// Runs the case and returns the contents of the output's map, which held kOther before.
std::string run_windows(ClDevice* device, const KernelInfo& info, const KernelCase& plain,
                        const KernelCase& item, const CaseInputs& inputs, std::vector<float>* out) {
  const kernels::StepShape step = step_of(info, item);
  kernels::ClLaunch launch;
  kernels::launch_of(step, &launch);
  std::vector<GuardedMemory> memory;
  std::vector<ClOperand> operands;
  for (size_t i = 0; i < item.operands.size(); ++i) {
    const OperandShape& shape = item.operands[i];
    const bool is_output = i + 1 == item.operands.size();
    const size_t count = element_count_of(shape);
    const bool is_half = shape.dtype == DType::F16;
    GuardedMemory floats(count * sizeof(float));
    std::fill_n(floats.data(), count, is_output ? kOther : std::nanf(""));
    if (!is_output) {
      const GuardedMemory own = inputs.memory(info, i, plain.operands[i]);
      if (!is_map(shape))
        std::memcpy(floats.data(), own.data(), own.bytes());
      else
        for_each_element(shape, [&](size_t in_map, size_t in_own) {
          floats.data()[in_map] = own.data()[in_own];
        });
    }
    memory.emplace_back(count * (is_half ? sizeof(uint16_t) : sizeof(float)));
    if (is_half)
      to_halves(floats.data(), count, reinterpret_cast<uint16_t*>(memory[i].data()));
    else
      std::memcpy(memory[i].data(), floats.data(), count * sizeof(float));
    ClOperand operand;
    operand.data = memory[i].data();
    operand.bytes = memory[i].bytes();
    operand.is_output = is_output;
    operand.is_image = shape.layout == Layout::Image2d;
    operand.dtype = shape.dtype;
    if (operand.is_image) {
      operand.width = static_cast<size_t>(kernels::image_width(shape));
      operand.height = static_cast<size_t>(kernels::image_height(shape));
    }
    if (kernels::is_cl_argument(step, static_cast<uint32_t>(i))) operands.push_back(operand);
  }
  std::string error = device->run(info, launch, operands);
  if (!error.empty()) return error;
  for (const GuardedMemory& operand : memory)
    if (!operand.has_whole_guards()) return "a write outside an operand";
  const size_t count = element_count_of(item.operands.back());
  out->resize(count);
  if (item.operands.back().dtype == DType::F16)
    from_halves(reinterpret_cast<const uint16_t*>(memory.back().data()), count, out->data());
  else
    std::memcpy(out->data(), memory.back().data(), count * sizeof(float));
  return "";
}

// Compares `found`, a map with the window in it, with the expected one; returns the difference or
// "".
std::string window_difference(const std::vector<float>& expected, const std::vector<float>& found,
                              const OperandShape& window) {
  std::vector<float> right(found.size(), kOther);
  for_each_element(window, [&](size_t in_map, size_t in_own) { right[in_map] = expected[in_own]; });
  for (size_t i = 0; i < found.size(); ++i)
    if (std::memcmp(&found[i], &right[i], sizeof(float)) != 0)
      return "element " + std::to_string(i) + " is " + std::to_string(found[i]) + ", not " +
             std::to_string(right[i]);
  return "";
}

// Returns the case in floats, and with all in halves that may be.
std::vector<KernelCase> in_all_forms(const KernelInfo& info, const KernelCase& item) {
  std::vector<KernelCase> all = {item};
  if (info.takes_halves())
    all.push_back(in_forms(info, {halves_signature(info), Halves::All}, item));
  return all;
}

// Returns how many windows of the case were compared. `programs` maps each program that was built
// to its windows so far.
int check_windows(ClDevice* device, const KernelInfo& info, const KernelCase& item, bool has_few,
                  std::map<std::string, int>& programs) {
  int checked = 0;
  const CaseInputs inputs(item, kClWindowSeed);
  for (const KernelCase& plain : in_all_forms(info, with_images(info, item))) {
    std::vector<float> expected;
    for (const bool of_inputs : {false, true})
      for (const bool of_output : {false, true}) {
        KernelCase with = plain;
        bool has_some = false;
        for (size_t i = 0; i < with.operands.size(); ++i) {
          const bool is_output = i + 1 == with.operands.size();
          if (is_output ? of_output : of_inputs) has_some |= make_window(info, &with, i);
        }
        if (!has_some || !takes_step(step_of(info, with))) continue;
        kernels::ClLaunch launch;
        kernels::launch_of(step_of(info, with), &launch);
        std::string program;
        for (uint32_t i = 0; i < launch.define_count; ++i)
          if (device->uses_define(launch.defines[i].name))
            program += std::string(launch.defines[i].name) + "=" +
                       std::to_string(launch.defines[i].value) + " ";
        if (programs.count(program) == 0 && programs.size() >= kMaxPrograms) continue;
        if (programs[program]++ >= kMaxWindows && has_few) continue;
        std::string error;
        if (expected.empty()) error = run_windows(device, info, item, plain, inputs, &expected);
        std::vector<float> found;
        if (error.empty()) error = run_windows(device, info, item, with, inputs, &found);
        if (error.empty()) error = window_difference(expected, found, with.operands.back());
        ++checked;
        if (!error.empty())
          FAIL_CHECK(info.symbol << " \"" << item.name << "\", windows of inputs " << of_inputs
                                 << ", of the output " << of_output << ", dtype "
                                 << dtype_name(plain.operands.back().dtype) << ": " << error);
      }
  }
  return checked;
}

}  // namespace

TEST_CASE("a window of channels on the GPU is as a map of its own, bit by bit",
          "[opencl][windows]") {
  ClDevice* const device = opencl_device();
  if (device == nullptr) return;
  // A window is a first channel and a stride: no branch of a kernel depends on it, and a large map
  // or filter shows no more than a small one. nightly.sh runs all.
  const bool has_few = is_small_run() && std::getenv("CODL_ALL_CASES") == nullptr;
  for (const KernelInfo& info : kKernelInfos) {
    if (!info.takes_windows || info.processor != Processor::Gpu) continue;
    int checked = 0;
    std::map<std::string, int> programs;
    for (const KernelCase& any : cases_of(info.op)) {
      const KernelCase item = case_for(info, any);
      if (has_few && !is_small(item)) continue;
      if (item.operands.back().layout != Layout::Nhwc || !info.can_split(item.part_dim) ||
          !takes_step(step_of(info, with_images(info, item))))
        continue;
      checked += check_windows(device, info, item, has_few, programs);
    }
    INFO(info.symbol << " has cases with a window");
    CHECK(checked > 1);
  }
}

// The result has the channels of inputs 0 and 3 already; input 1 begins inside a texel. These
// inputs and the result are halves, as where the GPU alone touches them; the copied inputs are not.
TEST_CASE("a GPU's Concat copies what is no window of its output, and nothing else",
          "[opencl][windows]") {
  constexpr int32_t kChannels[] = {8, 6, 10, 4, 5};
  ClDevice* const device = opencl_device();
  if (device == nullptr) return;
  ConcatParams params;
  params.axis = 1;
  KernelCase item{"concat", OpKind::Concat, words_of(params), {}, SplitDim::None, {}};
  for (int32_t channels : kChannels) item.operands.push_back(nhwc_operand({2, channels, 3, 5}));
  item.operands.push_back(nhwc_operand({2, 33, 3, 5}));
  const CaseInputs inputs(item, kClWindowSeed);
  const bool is_half = GENERATE(false, true);
  int checked = 0;
  for (const KernelInfo& info : kKernelInfos) {
    if (info.op != OpKind::Concat || !info.takes_windows || info.processor != Processor::Gpu)
      continue;
    KernelCase plain = with_images(info, item);
    if (is_half)
      for (const size_t i : {0, 3, 5}) {
        REQUIRE(info.takes_halves());
        plain.operands[i].dtype = DType::F16;
        set_bytes(plain.operands[i]);
      }
    std::vector<float> expected;
    REQUIRE(run_windows(device, info, item, plain, inputs, &expected) == "");
    // The result is a window, too.
    for (int32_t first : {0, 8}) {
      KernelCase with = plain;
      int32_t channels = first;
      OperandShape& y = with.operands.back();
      y.first_channel = first;
      y.pixel_stride = first == 0 ? 0 : 56;
      set_bytes(y);
      for (size_t i = 0; i < 5; ++i) {
        OperandShape& x = with.operands[i];
        if (i == 0 || i == 3) {
          x.pixel_stride = kernels::pixel_elements(y);
          x.first_channel = channels;
          set_bytes(x);
        }
        channels += x.dims[1];
      }
      // 33 channels cannot be a window: their last texel would be shared.
      INFO(info.symbol << " first " << first << " halves " << is_half);
      CHECK(takes_step(step_of(info, with)) == (first == 0));
      if (first != 0) continue;
      std::vector<float> found;
      REQUIRE(run_windows(device, info, item, with, inputs, &found) == "");
      size_t different = 0;
      for (size_t i = 0; i < found.size(); ++i) {
        const size_t lane = i % 36;
        const bool is_window = lane < 8 || (lane >= 24 && lane < 28);
        different += found[i] != (is_window ? kOther : expected[i]);
      }
      CHECK(different == 0);
      ++checked;
    }
  }
  CHECK(checked == 2);
}

TEST_CASE("a window on the GPU is of whole texels inside its map", "[windows]") {
  Pool2dParams pool;
  pool.kind = kPool2dMax;
  pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = 1;
  pool.dilation_h = pool.dilation_w = 1;
  for (const char* symbol : {"pool2d_f32_cl_buffer", "pool2d_f32_cl_image"}) {
    const KernelInfo& info = *std::find_if(
        std::begin(kKernelInfos), std::end(kKernelInfos),
        [&](const KernelInfo& kernel) { return std::string_view(symbol) == kernel.symbol; });
    const auto takes = [&](int32_t channels, int32_t stride, int32_t first) {
      KernelCase item{"", OpKind::Pool2d, words_of(pool), {}, SplitDim::None, {}};
      item.operands = {nhwc_operand({1, channels, 3, 5}), nhwc_operand({1, channels, 3, 5})};
      item = with_images(info, item);
      item.operands[1].pixel_stride = stride;
      item.operands[1].first_channel = first;
      set_bytes(item.operands[1]);
      return takes_step(step_of(info, item));
    };
    INFO(symbol);
    CHECK(takes(20, 24, 4));
    CHECK(takes(20, 20, 0));
    CHECK_FALSE(takes(18, 24, 4));
    CHECK_FALSE(takes(20, 24, 8));
    CHECK_FALSE(takes(20, 24, -4));
    CHECK_FALSE(takes(20, 24, 2));
    CHECK_FALSE(takes(20, 26, 4));
    CHECK_FALSE(takes(20, 16, 0));
    CHECK_FALSE(takes(20, kMaxDim + 4, 4));
  }
}

}  // namespace codl::test
