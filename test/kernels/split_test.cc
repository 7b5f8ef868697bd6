// Checks that a split equals the whole: parts computed one by one and joined are the whole, bit by
// bit. It covers every CPU kernel, the reference kernels, and the GPU kernels of convolutions,
// norms and pads, with every dim that the kernel can split and every legal cut.
//
// Each part runs on operands trimmed to the rows it needs, as far as the contract allows. So a
// contract that accepts too few rows fails here, too (the kernel would read rows of the guards).
#include <functional>
#include <set>
#include <utility>

#include "kernels/conv2d/winograd.h"
#include "kernels/work_table.h"
#include "test/kernels/all_cases.h"
#include "test/kernels/cpu_runner.h"
#include "test/kernels/opencl_device.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

constexpr uint32_t kSplitSeed = 2;

uint64_t bytes_of(const OperandShape& shape) {
  return static_cast<uint64_t>(kernels::stored_elements(shape)) * sizeof(float);
}

bool passes(const KernelInfo& info, const KernelCase& item) {
  const KernelCase on_device = with_images(info, item);
  kernels::StepNeeds needs;
  return kernels::check_step(step_of(info, on_device), &needs) == nullptr;
}

// Removes rows of the inputs' windows as long as the contract agrees.
void trim_inputs(const KernelInfo& info, KernelCase* item) {
  for (size_t i = 0; i + 1 < item->operands.size(); ++i) {
    OperandShape& shape = item->operands[i];
    if (shape.layout != Layout::Nhwc) continue;
    for (bool from_above : {true, false}) {
      while (kernels::rows_held(shape) > 1) {
        const OperandShape before = shape;
        if (from_above)
          ++shape.row_begin;
        else
          --shape.row_end;
        shape.bytes = bytes_of(shape);
        if (passes(info, *item)) continue;
        shape = before;
        break;
      }
    }
  }
}

// Returns the operator's cases in which the kernel can compute `part`, at the cut: two parts.
std::vector<KernelCase> parts_of(const KernelInfo& info, const KernelCase& whole, SplitDim dim,
                                 Range all, int32_t cut) {
  std::vector<KernelCase> parts;
  for (Range part : {Range{all.begin, cut}, Range{cut, all.end}}) {
    KernelCase item = whole;
    item.part_dim = dim;
    item.part = part;
    if (!passes(info, item)) return {};
    trim_inputs(info, &item);
    parts.push_back(item);
  }
  return parts;
}

using Run = std::function<std::string(const KernelCase&, const CaseInputs&, float* output)>;

// Returns every cut of a small case; for a slow one the first, one in the middle and the last.
std::vector<int32_t> cuts_of(const KernelCase& whole, Range all, int32_t step) {
  constexpr uint64_t kSmallBytes = 4 * 1024;
  uint64_t bytes = 0;
  for (const OperandShape& operand : whole.operands) bytes += operand.bytes;
  std::vector<int32_t> cuts;
  for (int32_t cut = all.begin + step; cut < all.end; cut += step) cuts.push_back(cut);
  if (bytes > kSmallBytes && cuts.size() > 3)
    cuts = {cuts.front(), cuts[cuts.size() / 2], cuts.back()};
  return cuts;
}

// Runs the cuts of a case; returns how many there were.
int check_cuts(const KernelInfo& info, const KernelCase& whole, SplitDim dim,
               const std::string& name, const Run& run) {
  const OperandShape& y = whole.operands.back();
  const bool is_height = dim == SplitDim::Height;
  const Range all = is_height ? kernels::rows_of_part(SplitDim::None, {}, y)
                              : Range{0, y.rank >= 2 ? y.dims[1] : 1};
  const CaseInputs inputs(whole, kSplitSeed);
  GuardedMemory expected(static_cast<size_t>(y.bytes));
  std::string error = run(whole, inputs, expected.data());
  int count = 0;
  for (int32_t cut : cuts_of(whole, all, is_height ? 1 : kChannelPanel)) {
    const std::vector<KernelCase> parts = parts_of(info, whole, dim, all, cut);
    if (parts.empty()) continue;
    ++count;
    GuardedMemory found(expected.bytes());
    for (const KernelCase& part : parts)
      if (error.empty()) error = run(part, inputs, found.data());
    if (error.empty() && !found.has_whole_guards()) error = "a write outside the output";
    if (error.empty() && !same_bytes(expected, found)) error = "the parts differ from the whole";
    if (error.empty()) continue;
    FAIL_CHECK(name << " \"" << whole.name << "\", cut at " << (is_height ? "row " : "channel ")
                    << cut << ", seed " << kSplitSeed << ": " << error);
    break;
  }
  return count;
}

std::vector<KernelCase> whole_cases(const KernelInfo& info, const std::vector<KernelCase>& cases) {
  std::vector<KernelCase> whole;
  for (const KernelCase& item : cases)
    if (item.part_dim == SplitDim::None) whole.push_back(case_for(info, item));
  return whole;
}

TEST_CASE("parts of a step make the whole, bit by bit", "[parts]") {
  // An operator has one reference, however many kernels it has.
  std::set<std::pair<OpKind, SplitDim>> checked_references;
  for (const KernelInfo& info : kKernelInfos) {
    if (info.processor != Processor::Cpu || !takes_floats(info)) continue;
    for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel}) {
      if (!info.can_split(dim)) continue;
      const bool is_first = checked_references.emplace(info.op, dim).second;
      int cuts = 0;
      const auto check_cases = [&](const std::vector<KernelCase>& cases) {
        for (const KernelCase& item : cases) {
          if (is_first)
            check_cuts(info, item, dim, std::string(info.symbol) + " reference",
                       [](const KernelCase& part, const CaseInputs& inputs, float* output) {
                         run_ref(part, inputs, output);
                         return std::string();
                       });
          for (kernels::CpuTarget target : kernels::kCpuTargets) {
            const kernels::CpuKernel kernel = kernel_for_target(info, target);
            if (kernel == nullptr) continue;
            for (const Forms forms : forms_of(info))
              cuts += check_cuts(
                  info, item, dim,
                  std::string(info.symbol) + " " + kernels::cpu_target_name(target) +
                      form_name(forms),
                  [&](const KernelCase& part, const CaseInputs& inputs, float* output) {
                    return run_cpu(info, kernel, in_forms(info, forms, part), inputs, {1}, output);
                  });
          }
        }
      };
      check_cases(whole_cases(info, cpu_cases_of(info.op)));
      if (cuts == 0) check_cases(whole_cases(info, cases_of(info.op)));  // if some were too few
      INFO(info.symbol << " has a case that can be cut along "
                       << (dim == SplitDim::Height ? "rows" : "channels"));
      CHECK(cuts > 0);
    }
  }
}

// On a processor, parts of channels have work-items of other sizes.
constexpr kernels::GpuFacts kProcessor = {.units = 1, .registers = 512};

std::string run_cl(ClDevice* device, const KernelInfo& info, const KernelCase& item,
                   const CaseInputs& inputs, float* output,
                   const kernels::GpuFacts& gpu = kProcessor, Forms forms = {}) {
  const KernelCase stored = in_forms(info, forms, item);
  const KernelCase on_device = with_images(info, stored);
  const kernels::StepShape untiled = step_of(info, on_device);
  int32_t tile[kernels::kMaxTileInts];
  kernels::StepShape step = untiled;
  step.tile_count = kernels::choose_tile(untiled, gpu, tile);
  step.tile = tile;
  kernels::ClLaunch launch;
  kernels::launch_of(step, &launch);
  std::vector<GuardedMemory> memory;
  std::vector<ClOperand> operands;
  for (size_t i = 0; i + 1 < item.operands.size(); ++i) {
    memory.push_back(inputs.memory(info, i, stored.operands[i]));
    operands.push_back({.data = memory[i].data(), .bytes = memory[i].bytes()});
  }
  operands.push_back({.data = output,
                      .bytes = static_cast<size_t>(stored.operands.back().bytes),
                      .is_output = true});
  for (size_t i = 0; i < operands.size(); ++i) {
    const OperandShape& shape = on_device.operands[i];
    operands[i].dtype = shape.dtype;
    if (shape.layout != Layout::Image2d) continue;
    operands[i].is_image = true;
    operands[i].width = static_cast<size_t>(kernels::image_width(shape));
    operands[i].height = static_cast<size_t>(kernels::image_height(shape));
  }
  return device->run(info, launch, operands);
}

// Returns the forms in which the kernel computes: in floats, and in halves if it can.
std::vector<Forms> forms_of(const KernelInfo& info) {
  std::vector<Forms> forms = {{}};
  if (info.has(Signature::F16)) forms.push_back({Signature::F16, Halves::All});
  return forms;
}

// Tiles of outputs must lie where they lie in the whole.
TEST_CASE("parts of a step by Winograd's method on a GPU make the whole",
          "[opencl][splits][convolution]") {
  ClDevice* const device = opencl_device();
  if (device == nullptr) return;
  std::vector<KernelCase> cases;
  for (int32_t out_channels : {20, 96})
    cases.push_back(make_conv_case(OpKind::Conv2d, {.name = "parts",
                                                    .batch = 2,
                                                    .in_c = 9,
                                                    .out_c = out_channels,
                                                    .in_h = 11,
                                                    .in_w = 6,
                                                    .has_residual = true}));
  for (const KernelInfo& info : kKernelInfos) {
    if (info.processor != Processor::Gpu || kernels::winograd_outputs(info.packing) == 0) continue;
    for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel}) {
      int cuts = 0;
      for (const KernelCase& item : cases)
        cuts += check_cuts(info, case_for(info, item), dim, info.symbol,
                           [&](const KernelCase& part, const CaseInputs& inputs, float* output) {
                             return run_cl(device, info, part, inputs, output);
                           });
      // There are two cases: rows are cut at 1, 6 and 10; channels at 16, and 96 channels at 16, 48
      // and 80.
      INFO(info.symbol << " along " << (dim == SplitDim::Height ? "rows" : "channels"));
      CHECK(cuts == (dim == SplitDim::Height ? 6 : 4));
    }
  }
}

// Work-items have many registers, or few.
TEST_CASE("parts of a depthwise convolution on a GPU make the whole",
          "[opencl][splits][convolution]") {
  ClDevice* const device = opencl_device();
  if (device == nullptr) return;
  for (const KernelInfo& info : kKernelInfos) {
    if (info.processor != Processor::Gpu || info.op != OpKind::DepthwiseConv2d) continue;
    for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel})
      for (const ConvWindow& window : {k3x3, k3x3Stride2, k5x5, kDilated}) {
        const KernelCase item = make_conv_case(OpKind::DepthwiseConv2d, {.name = "parts",
                                                                         .batch = 2,
                                                                         .out_c = 54,
                                                                         .in_h = 15,
                                                                         .in_w = 13,
                                                                         .window = window,
                                                                         .has_residual = true});
        for (int32_t registers : {0, 64})
          for (const Forms forms : forms_of(info)) {
            const int cuts =
                check_cuts(info, case_for(info, item), dim, info.symbol,
                           [&](const KernelCase& part, const CaseInputs& inputs, float* output) {
                             return run_cl(device, info, part, inputs, output,
                                           {.thread_registers = registers}, forms);
                           });
            INFO(info.symbol << " along " << (dim == SplitDim::Height ? "rows" : "channels"));
            CHECK(cuts > 1);
          }
      }
  }
}

// Nor do tiles change a bit: with few registers and with many, parts make the whole of a GPU of
// which nothing is known. An output is a sum of 207 products: of two runs in halves.
TEST_CASE("parts of a direct convolution on a GPU make the whole",
          "[opencl][splits][convolution]") {
  ClDevice* const device = opencl_device();
  if (device == nullptr) return;
  const KernelCase item = make_conv_case(OpKind::Conv2d, {.name = "parts",
                                                          .batch = 2,
                                                          .in_c = 23,
                                                          .out_c = 52,
                                                          .in_h = 7,
                                                          .in_w = 11,
                                                          .has_residual = true});
  for (const KernelInfo& info : kKernelInfos) {
    if (info.processor != Processor::Gpu || info.op != OpKind::Conv2d ||
        (info.algorithm != Algorithm::Direct && info.algorithm != Algorithm::Texels))
      continue;
    std::vector<Forms> all = forms_of(info);
    all.push_back({Signature::Q8Store, Halves::All});
    for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel}) {
      for (const Forms forms : all) {
        int cuts = 0;
        for (const int32_t registers : {0, 64, 192})
          cuts += check_cuts(
              info, case_for(info, item), dim, info.symbol,
              [&](const KernelCase& part, const CaseInputs& inputs, float* output) {
                const bool is_whole = part.part_dim == SplitDim::None;
                return run_cl(device, info, part, inputs, output,
                              {.units = 8, .thread_registers = is_whole ? 0 : registers}, forms);
              });
        // Rows are cut at 1, 3 or 4, and 6; channels at 16, 32 and 48.
        INFO(info.symbol << " along " << (dim == SplitDim::Height ? "rows" : "channels"));
        CHECK(cuts == 9);
      }
    }
  }
}

// One map has pad lanes, one has none.
TEST_CASE("parts of norms and pads on a GPU make the whole", "[opencl][splits][parts]") {
  ClDevice* const device = opencl_device();
  if (device == nullptr) return;
  for (const KernelInfo& info : kKernelInfos) {
    if (info.processor != Processor::Gpu ||
        (info.op != OpKind::Normalize && info.op != OpKind::Pad))
      continue;
    for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel}) {
      if (!info.can_split(dim)) continue;
      int cuts = 0;
      for (const KernelCase& item : cases_of(info.op)) {
        const bool is_drawn = item.name == "pixels, instance" || item.name == "pixels" ||
                              item.name == "more pixels than there are";
        if (item.part_dim != SplitDim::None || !is_drawn || !passes(info, item)) continue;
        cuts += check_cuts(info, case_for(info, item), dim, info.symbol,
                           [&](const KernelCase& part, const CaseInputs& inputs, float* output) {
                             return run_cl(device, info, part, inputs, output);
                           });
      }
      INFO(info.symbol << " along " << (dim == SplitDim::Height ? "rows" : "channels"));
      CHECK(cuts > 2);
    }
  }
}

}  // namespace
}  // namespace codl::test
