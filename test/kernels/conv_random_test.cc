// Tries random convolutions, most of them wrong somewhere: those that the contract accepts must run
// inside their operands (guards; AddressSanitizer in the asan build) and be right.
#include "test/kernels/conv_case.h"
#include "test/kernels/cpu_runner.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  // Returns a number in [low, high].
  int32_t roll(int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random_);
  }
  bool one_in(int32_t count) { return roll(1, count) == 1; }

 private:
  std::mt19937 random_;
};

// Makes a window of rows, now and then of all.
void cut_rows(Dice& dice, OperandShape* shape) {
  if (dice.one_in(2)) return;
  shape->row_begin = dice.roll(0, shape->dims[2] - 1);
  shape->row_end = dice.roll(shape->row_begin + 1, shape->dims[2]);
  shape->bytes = static_cast<uint64_t>(kernels::stored_elements(*shape)) * sizeof(float);
}

KernelCase random_case(Dice& dice, const KernelInfo& info) {
  ConvCase conv = {.name = "random"};
  conv.groups = info.op == OpKind::Conv2d && dice.one_in(4) ? dice.roll(2, 3) : 1;
  conv.batch = dice.roll(1, 2);
  conv.in_c = conv.groups * dice.roll(1, 9);
  conv.out_c = conv.groups * dice.roll(1, 36);
  ConvWindow& window = conv.window;
  window = {dice.roll(1, 4), dice.roll(1, 4), dice.roll(1, 3), dice.roll(1, 3), dice.roll(1, 3),
            dice.roll(1, 3), dice.roll(0, 5), dice.roll(0, 5), dice.roll(0, 5), dice.roll(0, 5)};
  // Some kernels are made for such convolutions alone.
  if (dice.one_in(3)) {
    conv.groups = 1;
    window.kernel_h = window.kernel_w = 3;
    window.stride_h = window.stride_w = window.dilation_h = window.dilation_w = 1;
  }
  // The map is large enough for the filter, so that the output has a row and a column.
  conv.in_h = dice.roll(1, 9) + (window.kernel_h - 1) * window.dilation_h;
  conv.in_w = dice.roll(1, 17) + (window.kernel_w - 1) * window.dilation_w;
  conv.activation = dice.roll(0, 5);
  conv.has_residual = dice.one_in(3);
  KernelCase item = case_for(info, make_conv_case(info.op, conv));

  OperandShape& y = item.operands.back();
  for (size_t i = 0; i < item.operands.size(); ++i)
    if (item.operands[i].layout == Layout::Nhwc) cut_rows(dice, &item.operands[i]);
  if (dice.one_in(3)) {
    item.part_dim = SplitDim::Height;
    item.part.begin = dice.roll(0, y.dims[2] - 1);
    item.part.end = dice.roll(item.part.begin, y.dims[2]);
  } else if (dice.one_in(3)) {
    item.part_dim = SplitDim::OutputChannel;
    item.part = {16 * dice.roll(0, 2), dice.one_in(2) ? y.dims[1] : 16 * dice.roll(1, 3)};
  }
  // This damages one parameter, or one dim of one operand.
  if (dice.one_in(4)) item.params[static_cast<size_t>(dice.roll(0, 9))] += dice.roll(-2, 2);
  if (dice.one_in(6)) {
    OperandShape& operand = item.operands[static_cast<size_t>(
        dice.roll(0, static_cast<int32_t>(item.operands.size()) - 1))];
    int32_t& dim = operand.dims[dice.roll(0, operand.rank - 1)];
    dim += dice.roll(-1, 1);
    if (dim < 1) dim = 1;
    if (operand.row_end > operand.dims[2]) operand.row_end = operand.dims[2];
    if (operand.row_begin >= operand.row_end) operand.row_begin = 0;
    if (operand.layout == Layout::Packed)
      operand.bytes =
          kernels::packed_bytes({info.packing_of(operand.rank == 1 ? 2 : 1), operand.dtype},
                                operand.dims, operand.rank, conv.groups);
    else
      operand.bytes = static_cast<uint64_t>(kernels::stored_elements(operand)) * sizeof(float);
  }
  return item;
}

void run_random(const KernelInfo& info, int32_t count) {
  int32_t accepted = 0;
  for (int32_t seed = 1; seed <= count; ++seed) {
    Dice dice(static_cast<uint32_t>(seed));
    const KernelCase item = random_case(dice, info);
    kernels::StepNeeds needs;
    if (kernels::check_step(step_of(info, item), &needs) != nullptr) continue;
    ++accepted;
    const CaseInputs inputs(item, static_cast<uint32_t>(seed));
    GuardedMemory expected(static_cast<size_t>(item.operands.back().bytes));
    run_ref(item, inputs, expected.data());
    for (kernels::CpuTarget target : kernels::kCpuTargets) {
      const kernels::CpuKernel kernel = kernel_for_target(info, target);
      if (kernel == nullptr) continue;
      GuardedMemory found(expected.bytes());
      std::string error = run_cpu(info, kernel, item, inputs, {1}, found.data());
      if (error.empty() && !found.has_whole_guards()) error = "a write outside the output";
      if (error.empty())
        error = difference(expected, found, tolerance_of(info, item, Signature::F32));
      if (!error.empty())
        FAIL_CHECK(info.symbol << " " << kernels::cpu_target_name(target) << ", seed " << seed
                               << ": " << error);
    }
  }
  INFO(info.symbol << ": accepted " << accepted << " of " << count);
  CHECK(accepted > count / 50);
  CHECK(accepted < count);
}

TEST_CASE("random convolutions that pass their contract run inside their operands") {
  for (const KernelInfo& info : kKernelInfos)
    if (info.processor == Processor::Cpu && takes_floats(info) &&
        (info.op == OpKind::Conv2d || info.op == OpKind::DepthwiseConv2d))
      run_random(info, 2000);
}

}  // namespace
}  // namespace codl::test
