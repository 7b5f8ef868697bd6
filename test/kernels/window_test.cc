// Checks that a window of a wider map's channels behaves like a map of its own, bit by bit, and
// that nothing between its pixels is read or written: for every CPU kernel that takes windows by
// kernels.def, in every case whose channels are whole panels. For the GPU: cl_window_test.cc.
#include "test/kernels/all_cases.h"
#include "test/kernels/cpu_runner.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

constexpr uint32_t kWindowSeed = 3;
// It is no multiple of a panel; the output's differs from the inputs', which would otherwise be
// windows of it.
constexpr int32_t kAroundInput = 20;
constexpr int32_t kAroundOutput = 36;

bool takes_case(const KernelInfo& info, const KernelCase& item) {
  kernels::StepNeeds needs;
  return kernels::check_step(step_of(info, item), &needs) == nullptr;
}

// Returns false if the operand cannot be a window.
bool make_window(const KernelInfo& info, KernelCase* item, size_t i) {
  const size_t count = item->operands.size();
  OperandShape& shape = item->operands[i];
  if (!info.takes_window(static_cast<uint32_t>(i), static_cast<uint32_t>(count)) ||
      shape.layout != Layout::Nhwc || shape.dims[1] % kChannelPanel != 0)
    return false;
  shape.pixel_stride = shape.dims[1] + (i + 1 == count ? kAroundOutput : kAroundInput);
  shape.bytes = static_cast<uint64_t>(kernels::stored_elements(shape)) * sizeof(float);
  return true;
}

// Returns the case with windows of the inputs, the output or both; nothing if there are none.
std::vector<KernelCase> windowed(const KernelInfo& info, const KernelCase& item) {
  std::vector<KernelCase> cases;
  for (const bool of_inputs : {false, true})
    for (const bool of_output : {false, true}) {
      KernelCase with = item;
      bool has_some = false;
      for (size_t i = 0; i < with.operands.size(); ++i) {
        const bool is_output = i + 1 == with.operands.size();
        if (is_output ? of_output : of_inputs) has_some |= make_window(info, &with, i);
      }
      const OperandShape& y = with.operands.back();
      for (size_t i = 0; i + 1 < with.operands.size(); ++i)
        has_some = has_some && !(info.op == OpKind::Concat && is_window_of(with.operands[i], y));
      if (has_some && takes_case(info, with)) cases.push_back(std::move(with));
    }
  return cases;
}

// Compares `found`, the memory of a window; returns the difference or "".
std::string window_difference(const GuardedMemory& expected, const GuardedMemory& found,
                              const GuardedMemory& before, const OperandShape& window) {
  const int64_t count = kernels::stored_elements(window);
  const int64_t stride = kernels::pixel_elements(window);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t lane = i % stride;
    const float* const right = lane < window.dims[1]
                                   ? expected.data() + i / stride * window.dims[1] + lane
                                   : before.data() + i;
    if (std::memcmp(found.data() + i, right, sizeof(float)) != 0)
      return "element " + std::to_string(i / stride) + " x " + std::to_string(lane) +
             (lane < window.dims[1] ? " differs" : " is another's, and was written");
  }
  return "";
}

}  // namespace

TEST_CASE("a window of channels is as a map of its own, bit by bit", "[windows]") {
  for (const KernelInfo& info : kKernelInfos) {
    if (!info.takes_windows || info.processor != Processor::Cpu || !takes_floats(info)) continue;
    int checked = 0;
    const auto check_cases = [&](const std::vector<KernelCase>& cases) {
      for (const KernelCase& any_row : cases) {
        const KernelCase item = case_for(info, any_row);
        if (item.operands.back().layout != Layout::Nhwc || !takes_case(info, item)) continue;
        const CaseInputs inputs(item, kWindowSeed);
        for (const KernelCase& with : windowed(info, item))
          for (kernels::CpuTarget target : kernels::kCpuTargets) {
            const kernels::CpuKernel kernel = kernel_for_target(info, target);
            if (kernel == nullptr) continue;
            ++checked;
            GuardedMemory expected(static_cast<size_t>(item.operands.back().bytes));
            GuardedMemory found(static_cast<size_t>(with.operands.back().bytes));
            const GuardedMemory before(found.bytes());
            std::string error = run_cpu(info, kernel, item, inputs, {1}, expected.data());
            const OperandShape& y = with.operands.back();
            if (error.empty()) error = run_cpu(info, kernel, with, inputs, {2}, found.data());
            if (error.empty() && !found.has_whole_guards()) error = "a write outside the output";
            if (error.empty())
              error = y.pixel_stride != 0           ? window_difference(expected, found, before, y)
                      : same_bytes(expected, found) ? ""
                                                    : "other bits";
            if (!error.empty())
              FAIL_CHECK(info.symbol << " " << kernels::cpu_target_name(target) << " \""
                                     << item.name << "\", seed " << kWindowSeed << ": " << error);
          }
      }
    };
    check_cases(cpu_cases_of(info.op));
    if (checked == 0) check_cases(cases_of(info.op));  // if some were too few
    INFO(info.symbol << " has a case with a window");
    CHECK(checked > 0);
  }
}

TEST_CASE("a Concat leaves windows of its output where they are", "[windows]") {
  constexpr int32_t kChannels[] = {16, 32, 16};  // the second is copied
  constexpr int32_t kWidth = 64;
  constexpr int32_t kPixels = 2 * 3 * 5;
  ConcatParams params;
  params.axis = 1;
  KernelCase item{"", OpKind::Concat, words_of(params), {}, SplitDim::None, {}};
  for (int32_t channels : kChannels) item.operands.push_back(nhwc_operand({2, channels, 3, 5}));
  item.operands.push_back(nhwc_operand({2, kWidth, 3, 5}));
  for (size_t i : {0, 2}) {
    item.operands[i].pixel_stride = kWidth;
    item.operands[i].bytes =
        static_cast<uint64_t>(kernels::stored_elements(item.operands[i])) * sizeof(float);
  }
  GuardedMemory y(static_cast<size_t>(item.operands.back().bytes));
  GuardedMemory copied(static_cast<size_t>(item.operands[1].bytes));
  for (int32_t i = 0; i < kPixels * kWidth; ++i) y.data()[i] = static_cast<float>(i);
  for (int32_t i = 0; i < kPixels * 32; ++i)
    copied.data()[i] = static_cast<float>(i / 32 * kWidth + 16 + i % 32);
  for (int32_t i = 0; i < kPixels; ++i) std::fill_n(y.data() + i * kWidth + 16, 32, -1.0f);
  for (const KernelInfo& info : kKernelInfos) {
    if (info.op != OpKind::Concat || !info.takes_windows || info.processor != Processor::Cpu)
      continue;
    kernels::StepNeeds needs;
    REQUIRE(kernels::check_step(step_of(info, item), &needs) == nullptr);
    const std::vector<kernels::TensorView> views = {
        kernels::make_view(item.operands[0], y.data()),
        kernels::make_view(item.operands[1], copied.data()),
        kernels::make_view(item.operands[2], y.data() + 48),
        kernels::make_view(item.operands[3], y.data())};
    kernels::KernelArgs args = args_of(item, views);
    args.task_end = needs.task_count;
    kernels::cpu_kernel(info)(args);
  }
  bool is_right = y.has_whole_guards();
  for (int32_t i = 0; i < kPixels * kWidth; ++i)
    is_right = is_right && y.data()[i] == static_cast<float>(i);
  CHECK(is_right);
}

TEST_CASE("a window is of whole panels, of Nhwc maps, and of operands that may be one",
          "[windows]") {
  const auto refusal_of = [](auto change) {
    UnaryParams unary;
    Pool2dParams pool;
    pool.kind = kPool2dMax;
    pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = 1;
    pool.dilation_h = pool.dilation_w = 1;
    KernelCase item{"", OpKind::Pool2d, words_of(pool), {}, SplitDim::None, {}};
    item.operands = {nhwc_operand({1, 16, 3, 5}), nhwc_operand({1, 16, 3, 5})};
    change(item, words_of(unary));
    for (OperandShape& shape : item.operands)
      shape.bytes = static_cast<uint64_t>(kernels::stored_elements(shape)) * sizeof(float);
    for (const KernelInfo& info : kKernelInfos)
      if (info.op == item.op && info.processor == Processor::Cpu && !info.is_reference()) {
        kernels::StepNeeds needs;
        const char* expected = kernels::check_step(step_of(info, item), &needs);
        return std::string(expected == nullptr ? "" : expected);
      }
    return std::string("no kernel");
  };
  const char* const kBounds =
      "a window of whole panels, texels on the GPU, in a map at least as wide";
  CHECK(refusal_of([](auto& item, auto) { item.operands[0].pixel_stride = 16; }) == "");
  CHECK(refusal_of([](auto& item, auto) { item.operands[1].pixel_stride = 20; }) == "");
  CHECK(refusal_of([](auto& item, auto) { item.operands[1].pixel_stride = 18; }) == kBounds);
  CHECK(refusal_of([](auto& item, auto) { item.operands[1].pixel_stride = 12; }) == kBounds);
  CHECK(refusal_of([](auto& item, auto) {
          item.operands[1].pixel_stride = 32;
          item.operands[1].first_channel = 16;
        }) == kBounds);
  CHECK(refusal_of([](auto& item, auto) {
          for (auto& shape : item.operands) shape.dims[1] = 20;
          item.operands[1].pixel_stride = 32;
        }) == kBounds);
  CHECK(refusal_of([](auto& item, auto unary) {
          item.op = OpKind::Unary;
          item.params = unary;
          item.operands[0].pixel_stride = 32;
        }) == "no window of channels for this operand");
}

}  // namespace codl::test
