// Tests every GPU kernel of kernels.def on every case of its operator that it can run, on the first
// OpenCL device. It must equal the reference within the tolerance, and write no byte outside the
// part or around the operands, with operands in memory in the forms of each of its signatures.
// test/kernels/README.md says how to run this in oclgrind.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>

#include "kernels/work_table.h"
#include "test/kernels/all_cases.h"
#include "test/kernels/cpu_runner.h"
#include "test/kernels/opencl_device.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

constexpr uint32_t kClSeed = 3;

// GPU kernels have these documented limits: they may refuse no other cases of their operator.
const std::set<std::string_view> kLimits = {
    // The cases of a kernel that writes one layout are also cases of another.
    "the kernel's output layout",
    "output in the kernel's layout",
    "operands of a dtype that the kernel takes",
    "the kernel's input layout",
    "axis 1 for a GPU kernel of channels",
    "another axis than 1 for the kernel of runs",
    "all rows in memory for this axis and kernel",
    "pads of rows and columns",
    "at most 8 images",
    "inputs like the output, scalar, per channel or of one pixel on a GPU",
    "an input that only the kernel of any broadcast takes",
    "groups of whole texels of 4 channels for kernels on texels",
    "one group for tiles in local memory",
    "a depth of whole quads for tiles in local memory",
    "more than 8 rows for tiles in local memory",
    "at most 8 rows, or a depth without tiles, for a matrix-vector product",
    "a 3x3 filter of one group that moves by one",
    "input rows of the part's tiles inside the operand",
    "a sum or an extreme for a kernel of f32",
    "means over the rows and columns of each channel for a kernel on texels",
    "scale and bias that are one for all pixels of a channel for a kernel on texels",
    "sizes that are multiples of 4 on a GPU",
};

// Returns one choice for a case, because each needs a program of its own, which is slow to build.
// It is None for most cases of an operator that has many, which differ in activations and windows.
Halves halves_for(size_t case_index, size_t case_count) {
  constexpr Halves kChoices[] = {Halves::All, Halves::Even, Halves::Odd};
  constexpr size_t kManyCases = 12;
  const size_t stride = case_count > kManyCases ? 5 : 1;
  if (case_index % stride != 0) return Halves::None;
  return kChoices[case_index / stride % std::size(kChoices)];
}

bool has_halves(const KernelCase& item) {
  return std::any_of(item.operands.begin(), item.operands.end(),
                     [](const OperandShape& shape) { return shape.dtype == DType::F16; });
}

GuardedMemory as_floats(const OperandShape& shape, GuardedMemory memory) {
  if (shape.dtype != DType::F16) return memory;
  const size_t count = memory.bytes() / sizeof(uint16_t);
  GuardedMemory floats(count * sizeof(float));
  from_halves(reinterpret_cast<const uint16_t*>(memory.data()), count, floats.data());
  return floats;
}

// Decides which cases of an operator's kernels run. A program takes 0.2 to 5 s to build, and next
// to nothing to run. So it takes each case whose program is built already, and of the others those
// with a definition or a local size that no program of the kernel had. The functions of ACTIVATION
// and KIND are the same text in all kernels, so each is new once. A simulator builds in no time and
// is slow to run, so it takes no more than kMaxOfProgram whole steps of a program, and parts of
// each kind. With CODL_ALL_CASES set, it takes all.
class ChosenPrograms {
 public:
  bool takes(const ClDevice& device, const KernelInfo& kernel, const kernels::ClLaunch& launch,
             SplitDim part_dim) {
    if (takes_all_) return true;
    std::string program;
    bool is_new = false;
    const auto add = [&](std::string_view kernel_name, const std::string& part) {
      program += part;
      is_new = parts_.insert(std::string(kernel_name) + " " + part).second || is_new;
    };
    for (uint32_t i = 0; i < launch.define_count; ++i) {
      const std::string_view name = launch.defines[i].name;
      if (!device.uses_define(name)) continue;
      add(name == "ACTIVATION" || name == "KIND" ? "" : kernel.symbol,
          std::string(name) + "=" + std::to_string(launch.defines[i].value) + " ");
    }
    std::string size = "local";
    for (uint32_t extent : launch.local) size += " " + std::to_string(extent);
    add(kernel.symbol, size);
    program += kernel.symbol;
    if (is_new) programs_.insert(program);
    if (programs_.count(program) == 0) return false;
    return !is_small_run() || taken_[{program, part_dim}]++ < kMaxOfProgram;
  }
  // Bytes ran in a program of the kernel: its next tile may have none that is new for them.
  void note_bytes(const KernelInfo& kernel) { with_bytes_.insert(kernel.symbol); }
  bool ran_bytes(const KernelInfo& kernel) const { return with_bytes_.count(kernel.symbol) != 0; }

 private:
  const bool takes_all_ = std::getenv("CODL_ALL_CASES") != nullptr;
  static constexpr int32_t kMaxOfProgram = 2;
  std::set<std::string> parts_, programs_, with_bytes_;
  std::map<std::pair<std::string, SplitDim>, int32_t> taken_;
};

// Runs the kernel on the case. Returns the fault, or "" if there is none or the kernel is not
// chosen. `out_limit`: the limit of the kernel that the case is beyond, or null.
std::string run_case(ClDevice* device, const KernelInfo& kernel, const KernelCase& item,
                     const std::vector<int32_t>& tile, Forms forms, const Special& special,
                     ChosenPrograms& chosen, const char** out_limit, ByteCounts* out_counts) {
  const KernelCase stored = in_forms(kernel, forms, item);
  const KernelCase device_item = with_images(kernel, stored);
  *out_limit = nullptr;
  // A case of halves is one of other values than floats.
  const bool has_bytes = forms.signature == Signature::Q8Store;
  if (has_halves(item) || (forms.halves != Halves::None && !has_bytes && !has_halves(stored)) ||
      (has_bytes && (special || !kernels::is_quantised(stored.operands.back()))))
    return "";
  kernels::StepShape step = step_of(kernel, device_item);
  step.tile = tile.data();
  step.tile_count = static_cast<uint32_t>(tile.size());
  kernels::StepNeeds needs;
  *out_limit = kernels::check_step(step, &needs);
  if (*out_limit) return "";
  kernels::ClLaunch launch;
  kernels::launch_of(step, &launch);
  // Special values run in the same programs.
  if (!chosen.takes(*device, kernel, launch, item.part_dim) ||
      (special && why_open(kernel, item, special)))
    return "";

  CaseInputs inputs(item, kClSeed);
  if (special) inputs.add_special(special, kClSeed);
  inputs.round_to(stored);
  GuardedMemory expected(static_cast<size_t>(item.operands.back().bytes));
  run_ref(item, inputs, expected.data());
  const OperandShape& y = stored.operands.back();
  const bool is_half = y.dtype == DType::F16;
  if (is_half) round_to_halves(&expected);

  // An image's bytes are those of Nhwc with the same window: pixels of texels, row by row.
  std::vector<GuardedMemory> memory;
  std::vector<ClOperand> operands;
  for (size_t i = 0; i < item.operands.size(); ++i) {
    const OperandShape& shape = device_item.operands[i];
    const bool is_output = i + 1 == item.operands.size();
    if (is_output)
      memory.emplace_back(static_cast<size_t>(y.bytes));
    else
      memory.push_back(inputs.memory(kernel, i, stored.operands[i]));
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
    operands.push_back(operand);
  }
  std::string error = device->run(kernel, launch, operands);
  if (!error.empty()) return error;
  for (const GuardedMemory& operand : memory)
    if (!operand.has_whole_guards()) return "a write outside an operand";
  const bool adds_halves =
      device->has_halves() && kernels::half_arithmetic_of(step) != kernels::HalfArithmetic::None;
  Tolerance tolerance =
      tolerance_of(kernel, stored, adds_halves ? Signature::F16 : Signature::F16Store);
  if (is_half) tolerance = with_half_rounding(tolerance);
  if (kernels::is_quantised(y))
    return byte_difference(expected, memory.back(), y, !keeps_elements(item), out_counts);
  const GuardedMemory found = as_floats(y, std::move(memory.back()));
  if (special)
    return special_difference(expected, found, item.operands.back(),
                              kernels::winograd_outputs(kernel.packing), tolerance);
  return difference(expected, found, tolerance);
}

// `rows` is a part of the symbols of the kernels to run.
void check_rows(OpKind op, const std::vector<KernelCase>& cases, const std::vector<int32_t>& tile,
                const char* rows, const Special& special, ChosenPrograms& chosen) {
  ClDevice* const device = opencl_device();
  // A simulator looks for races and bounds, which no value changes.
  if (device == nullptr || (special && is_small_run())) return;
  for (const KernelInfo& kernel : kKernelInfos) {
    if (kernel.processor != Processor::Gpu || kernel.op != op ||
        std::string_view(kernel.symbol).find(rows) == std::string_view::npos)
      continue;
    int run_count = 0;
    ByteCounts counts;
    for (size_t i = 0; i < cases.size(); ++i) {
      const KernelCase item = case_for(kernel, cases[i]);
      if (is_small_run() && !is_small(item)) continue;
      if (!kernel.can_split(item.part_dim)) continue;  // kernels.def says so
      std::vector<Forms> choices = {{}};
      if (const Halves some = halves_for(i, cases.size()); some != Halves::None)
        if (kernel.takes_halves()) choices.push_back({halves_signature(kernel), some});
      // Weights beside bytes are floats or halves.
      if (kernel.has(Signature::Q8Store))
        choices.push_back({Signature::Q8Store, Halves::All, i % 2 == 0 ? DType::F32 : DType::F16});
      for (const Forms forms : choices) {
        const char* limit = nullptr;
        std::string error =
            run_case(device, kernel, item, tile, forms, special, chosen, &limit, &counts);
        if (!limit && forms.halves == Halves::None) ++run_count;
        if (limit && kLimits.count(limit) == 0)
          error = std::string("the contract expected ") + limit;
        if (error.empty()) continue;
        FAIL_CHECK(kernel.symbol << " on " << device->name() << ", case " << i << " \""
                                 << cases[i].name << "\", seed " << kClSeed << ", signature "
                                 << static_cast<int>(forms.signature) << ", halves "
                                 << static_cast<int>(forms.halves) << ": " << error);
      }
    }
    // Few sums that are added in another order are on the other side of a tie. Sums of halves round
    // by an eighth of a quantum where they are largest (2^-11 of 255), so that more of them are.
    const double most = device->has_halves() ? 1e-2 : 1e-3;
    CHECK(static_cast<double>(counts.unequal) <= most * static_cast<double>(counts.all));
    if (special) continue;
    INFO(kernel.symbol << " has a case that it can run");
    if (counts.all > 0) chosen.note_bytes(kernel);
    if (run_count > 0) CHECK(chosen.ran_bytes(kernel) == kernel.has(Signature::Q8Store));
    CHECK(run_count > 0);
  }
}

void check_rows(OpKind op, const std::vector<KernelCase>& cases,
                const std::vector<int32_t>& tile = {}, const char* rows = "_cl_",
                const Special& special = kNotSpecial) {
  ChosenPrograms chosen;
  check_rows(op, cases, tile, rows, special, chosen);
}

void check_operators(bool are_convolutions, const Special& special = kNotSpecial) {
  // Maps each operator to its part of the symbol, before the dtype.
  std::map<OpKind, std::string_view> ops;
  for (const KernelInfo& kernel : kKernelInfos) {
    const std::string_view symbol = kernel.symbol;
    if (kernel.processor == Processor::Gpu &&
        (symbol.find("conv") == 0 || symbol.find("depthwise") == 0) == are_convolutions)
      ops.emplace(kernel.op, symbol.substr(0, symbol.find("_f")));
  }
  // A simulator is slow, too, so it runs only some. There are sections, so that one operator's
  // cases can be run: with a driver that is slow to build, all take minutes.
  for (const auto& [op, name] : ops) DYNAMIC_SECTION(name) {
      check_rows(op, is_small_run() ? some_cases_of(op) : cases_of(op), {}, "_cl_", special);
    }
}

// There are two test cases for two processes: half of the time goes into building the convolutions'
// programs.
TEST_CASE("OpenCL convolutions equal the reference", "[opencl][convolution]") {
  check_operators(true);
}
TEST_CASE("other OpenCL kernels equal the reference", "[opencl]") { check_operators(false); }

// docs/reference/operators.md, "NaN and infinities", says why.
TEST_CASE("OpenCL convolutions make of NaN what the reference makes", "[opencl][special]") {
  check_operators(true, kSpecialNan);
}
TEST_CASE("other OpenCL kernels make of NaN what the reference makes", "[opencl][special]") {
  check_operators(false, kSpecialNan);
}
TEST_CASE("OpenCL convolutions make of infinities what the reference makes", "[opencl][special]") {
  check_operators(true, kSpecialInfinities);
}
TEST_CASE("other OpenCL kernels make of infinities what the reference makes", "[opencl][special]") {
  check_operators(false, kSpecialInfinities);
}

// The tiles are those of GPUs whose work-items have few registers. Elements need only some cases,
// because the functions of their kinds are the text that ran above.
TEST_CASE("kernels on chunks of buffers take quads", "[opencl]") {
  for (OpKind op : {OpKind::Pool2d, OpKind::Resize, OpKind::Lrn, OpKind::Unary, OpKind::Binary})
    for (const Special& special : {kNotSpecial, kSpecialNan})
      check_rows(op, op == OpKind::Unary || op == OpKind::Binary ? some_cases_of(op) : cases_of(op),
                 {32, 1, 1, 4}, "_cl_buffer", special);
}
TEST_CASE("depthwise convolutions on quads of buffers", "[opencl][convolution]") {
  const std::vector<int32_t> tile = {4, 4, 4, 4};
  const std::vector<KernelCase> cases = cases_of(OpKind::DepthwiseConv2d);
  for (const Special& special : {kNotSpecial, kSpecialNan, kSpecialInfinities})
    check_rows(OpKind::DepthwiseConv2d, cases, tile, "_cl_buffer", special);
}

TEST_CASE("work-items that share a large window", "[opencl]") {
  std::vector<KernelCase> cases;
  for (int32_t kind : {kPool2dMax, kPool2dAverage})
    for (int32_t extent : {8, 11, 17}) {
      cases.push_back(make_pool2d_case({.name = "whole map",
                                        .kind = kind,
                                        .batch = 2,
                                        .channels = 21,
                                        .in_h = extent,
                                        .in_w = extent,
                                        .kernel = extent}));
      cases.push_back(make_pool2d_case({.name = "large window",
                                        .kind = kind,
                                        .channels = 35,
                                        .in_h = 9,
                                        .in_w = 9,
                                        .kernel = 8,
                                        .stride = 2,
                                        .pad_begin = 3,
                                        .pad_end = 2,
                                        .count_include_pad = true,
                                        .part_dim = SplitDim::OutputChannel,
                                        .part = {16, 35}}));
    }
  check_rows(OpKind::Pool2d, cases);
}

TEST_CASE("as many inputs as an OpenCL concat has", "[opencl]") {
  KernelCase item;
  item.name = "eight inputs";
  item.op = OpKind::Concat;
  ConcatParams params;
  params.axis = 1;
  item.params = words_of(params);
  for (int32_t channels : {1, 2, 3, 4, 5, 6, 7, 18})
    item.operands.push_back(nhwc_operand({2, channels, 3, 4}));
  item.operands.push_back(nhwc_operand({2, 46, 3, 4}));
  check_rows(OpKind::Concat, {item}, {}, "_cl_buffer");
  check_rows(OpKind::Concat, {item}, {}, "_cl_image");
  params.axis = 2;
  item.name = "fifteen inputs";
  item.params = words_of(params);
  item.operands.clear();
  for (int32_t count = 1; count <= 15; ++count)
    item.operands.push_back(plain_operand({2, 3, count}));
  item.operands.push_back(plain_operand({2, 3, 120}));
  check_rows(OpKind::Concat, {item}, {}, "_cl_runs");
}

TEST_CASE("a tile changes the work-groups and nothing else", "[opencl]") {
  const KernelCase conv = make_conv_case(
      OpKind::Conv2d, {.name = "tile", .batch = 2, .in_c = 3, .out_c = 19, .in_h = 3, .in_w = 8});
  check_rows(OpKind::Conv2d, {conv}, {2, 1, 3}, "conv2d_f32_cl_buffer");
  check_rows(OpKind::Conv2d, {conv}, {2, 1, 3, 14, 2}, "conv2d_f32_cl_buffer");
  check_rows(OpKind::Conv2d, {conv}, {2, 1, 3}, "_cl_image");
  check_rows(OpKind::Conv2d, {conv}, {2, 1, 3}, "_cl_quad");
  const KernelCase unary = {"tile",
                            OpKind::Unary,
                            words_of(UnaryParams{.kind = kUnarySigmoid, .alpha = 0, .beta = 0}),
                            {nhwc_operand({1, 21, 5, 7}), nhwc_operand({1, 21, 5, 7})}};
  check_rows(OpKind::Unary, {unary}, {8, 2, 1});
  check_rows(OpKind::BatchMatMul, cases_of(OpKind::BatchMatMul), {4, 4, 4, 4},
             "batch_matmul_f32_cl_buffer");
  check_rows(OpKind::Attention, some_cases_of(OpKind::Attention), {kernels::kAttentionFewRows});
}

// Tests every kernel whose local size a profile may choose, with sizes that fill neither its lines
// nor its grids, on a processor with many registers (whose buffer convolution has further tile
// numbers of its own) and on a GPU.
TEST_CASE("a profile's local size changes no result", "[opencl]") {
  for (const KernelInfo& kernel : kKernelInfos) {
    if (kernels::tile_kind_of(kernel) != kernels::TileKind::Local) continue;
    kernels::GpuFacts gpu;
    for (const std::array<int32_t, 3>& size :
         {std::array<int32_t, 3>{5, 3, 2}, std::array<int32_t, 3>{64, 4, 1}}) {
      gpu.tiles.set_local_size(kernel, size.data());
      // One case is enough, because each is a kernel to compile.
      size_t left = 1;
      for (const KernelCase& item : cases_of(kernel.op)) {
        const KernelCase device_item = with_images(kernel, case_for(kernel, item));
        kernels::StepShape step = step_of(kernel, device_item);
        kernels::StepNeeds needs;
        if (left == 0) break;
        if (!is_small(case_for(kernel, item)) || kernels::check_step(step, &needs) != nullptr)
          continue;
        std::vector<int32_t> tile(kernels::kMaxTileInts);
        tile.resize(kernels::choose_tile(step, gpu, tile.data()));
        REQUIRE(tile.size() >= 3);
        CHECK(std::equal(size.begin(), size.end(), tile.begin()));
        // Some kernels have steps whose work-items share local memory, whatever the size.
        step.tile = tile.data();
        step.tile_count = static_cast<uint32_t>(tile.size());
        kernels::ClLaunch launch;
        kernels::launch_of(step, &launch);
        const auto items = static_cast<uint64_t>(size[0] * size[1] * size[2]);
        if (launch.local[0] * launch.local[1] * launch.local[2] != items) continue;
        check_rows(kernel.op, {item}, tile, kernel.symbol);
        --left;
      }
      INFO(kernel.symbol << " has a case whose work-groups are of the size");
      CHECK(left == 0);
      gpu.is_processor = true;
      gpu.registers = 512;
    }
  }
}

// Blocks of pixels and texels are whole and ragged, inside the map, at its edges and over both of
// them; parts begin in the middle of the map, and groups in the middle of a panel. All cases have
// one of two programs.
TEST_CASE("tiles of convolutions without local memory", "[opencl][convolution]") {
  std::vector<KernelCase> cases;
  const auto add = [&](ConvCase conv) {
    conv.activation = kUnarySigmoid;
    for (const bool has_residual : {false, true}) {
      conv.has_residual = has_residual;
      if (conv.in_c / conv.groups % kChannelPad == (has_residual ? 3 : 0))
        cases.push_back(make_conv_case(OpKind::Conv2d, conv));
    }
  };
  for (const ConvWindow& window :
       {k1x1, k3x3, k3x3Stride2, k5x5, k7x7Stride2, kDilated, kUneven, kDilatedBy6, kMostlyPadding})
    for (const int32_t in_c : {3, 8}) {
      for (const int32_t in_w : {3, 14})
        add({.name = "tiles",
             .batch = 2,
             .in_c = in_c,
             .out_c = in_w == 3 ? 4 : 19,
             .in_h = 7,
             .in_w = in_w,
             .window = window});
      add({.name = "tiles, rows",
           .in_c = in_c,
           .out_c = 36,
           .in_h = 13,
           .in_w = 11,
           .window = window,
           .rows = {1, 3},
           .is_part = true});
    }
  // These rows are joined.
  for (const int32_t in_c : {7, 12})
    add({.name = "tiles, rows of 1x1",
         .in_c = in_c,
         .out_c = 20,
         .in_h = 5,
         .in_w = 7,
         .window = k1x1});
  add({.name = "tiles, channels",
       .in_c = 7,
       .out_c = 44,
       .in_h = 6,
       .in_w = 13,
       .channels = {16, 44}});
  add({.name = "tiles, groups", .in_c = 16, .out_c = 48, .in_h = 4, .in_w = 6, .groups = 2});
  const std::vector<KernelCase> odd_groups = {make_conv_case(
      OpKind::Conv2d,
      {.name = "tiles, odd groups", .in_c = 6, .out_c = 9, .in_h = 3, .in_w = 5, .groups = 3})};
  for (const std::vector<int32_t>& tile : std::vector<std::vector<int32_t>>{
           {2, 1, 3, 4, 2}, {4, 2, 1, 3, 2}, {1, 2, 2, 2, 2}, {4, 4, 4, 4, 1}, {4, 4, 4, 1, 1}})
    for (const char* rows : {"conv2d_f32_cl_image", "conv2d_f32_cl_quad"}) {
      check_rows(OpKind::Conv2d, cases, tile, rows);
      if (tile[3] == 3) check_rows(OpKind::Conv2d, cases, tile, rows, kSpecialInfinities);
    }
  for (const std::vector<int32_t>& tile :
       std::vector<std::vector<int32_t>>{{32, 1, 1, 1, 1}, {32, 1, 1, 4, 1}}) {
    check_rows(OpKind::Conv2d, cases, tile, "conv2d_f32_cl_buffer");
    check_rows(OpKind::Conv2d, odd_groups, tile, "conv2d_f32_cl_buffer");
  }
}

// These cases reach over the edges of every tile: rows, columns and depth, with and without slices
// of the depth.
TEST_CASE("tiles in local memory", "[opencl]") {
  std::vector<KernelCase> convs;
  for (const ConvWindow& window : {k1x1, k3x3Stride2})
    for (int32_t in_c : {3, 20})
      convs.push_back(make_conv_case(OpKind::Conv2d, {.name = "tile edges",
                                                      .batch = 2,
                                                      .in_c = in_c,
                                                      .out_c = 83,
                                                      .in_h = 12,
                                                      .in_w = 11,
                                                      .window = window,
                                                      .activation = kUnarySigmoid,
                                                      .has_residual = true}));
  convs.push_back(make_conv_case(OpKind::Conv2d, {.name = "small",
                                                  .in_c = 7,
                                                  .out_c = 19,
                                                  .in_h = 3,
                                                  .in_w = 5,
                                                  .window = kUneven,
                                                  .activation = kUnarySigmoid,
                                                  .has_residual = true}));
  std::vector<KernelCase> products;
  const auto add_product = [&](const char* name, int32_t rows, int32_t depth, int32_t columns) {
    KernelCase item;
    item.name = name;
    item.op = OpKind::MatMul;
    item.params = words_of(MatMulParams{});
    item.operands = {plain_operand({rows, depth}), packed_operand({depth, columns}),
                     packed_operand({columns}), plain_operand({rows, columns})};
    products.push_back(item);
  };
  for (int32_t columns : {19, 84}) add_product("tile edges", 70, 44, columns);
  add_product("small", 11, 8, 19);
  // These are attention's products, with and without aligned quads.
  std::vector<KernelCase> batches;
  for (int32_t orders = 0; orders < 4; ++orders) {
    batches.push_back(make_batch_matmul_case("tile edges", orders, {3, 70, 45}, {3, 45, 83}));
    batches.push_back(make_batch_matmul_case("quads", orders, {2, 72, 44}, {2, 44, 68}));
    batches.push_back(make_batch_matmul_case("small", orders, {2, 3, 9, 7}, {2, 3, 7, 17}));
  }
  // Orders of operands and whole quads have a case with one of the tiles, each tile one with each
  // kernel.
  ChosenPrograms chosen;
  // Tries the tiles of gemm_tile.cc, the largest work-items first; then those with most slices.
  for (const std::vector<int32_t>& tile :
       std::vector<std::vector<int32_t>>{{64, 128, 16, 8, 8, 1},
                                         {64, 64, 32, 8, 4, 2},
                                         {32, 32, 32, 4, 4, 4},
                                         {16, 32, 64, 4, 4, 8},
                                         {16, 16, 128, 4, 4, 16}}) {
    check_rows(OpKind::Conv2d, convs, tile, "conv2d_f32_cl_tiled", kNotSpecial, chosen);
    check_rows(OpKind::MatMul, products, tile, "_cl_tiled", kNotSpecial, chosen);
    check_rows(OpKind::BatchMatMul, batches, tile, "_cl_tiled", kNotSpecial, chosen);
  }
}

// Tiles, channels and input channels fill no block, or more than one; the last case is small.
TEST_CASE("blocks of Winograd's tiles", "[opencl][convolution]") {
  const auto case_of = [](int32_t in_c, int32_t out_c, int32_t in_h, int32_t in_w) {
    return make_conv_case(OpKind::Conv2d, {.name = "blocks of tiles",
                                           .batch = in_h > 5 ? 2 : 1,
                                           .in_c = in_c,
                                           .out_c = out_c,
                                           .in_h = in_h,
                                           .in_w = in_w,
                                           .activation = kUnarySigmoid,
                                           .has_residual = in_h > 1});
  };
  const std::vector<KernelCase> two_panels = {case_of(3, 20, 9, 10), case_of(21, 20, 9, 10),
                                              case_of(2, 20, 5, 6)};
  const std::vector<KernelCase> six_panels = {case_of(3, 96, 9, 10), case_of(21, 96, 9, 10),
                                              case_of(1, 96, 1, 3)};
  for (const std::vector<int32_t>& tile : std::vector<std::vector<int32_t>>{
           {32, 32, 8, 8, 8}, {16, 16, 8, 4, 4}, {8, 32, 16, 8, 4}, {8, 64, 4, 8, 4}}) {
    check_rows(OpKind::Conv2d, two_panels, tile, "winograd2_f32_cl");
    check_rows(OpKind::Conv2d, six_panels, tile, "winograd2_f32_cl");
  }
  check_rows(OpKind::Conv2d, two_panels, {8, 2, 8, 2, 16}, "winograd4_f32_cl");
  check_rows(OpKind::Conv2d, six_panels, {8, 2, 16, 6, 64}, "winograd4_f32_cl");
  check_rows(OpKind::Conv2d, six_panels, {4, 3, 4, 3, 16}, "winograd4_f32_cl");
}

}  // namespace
}  // namespace codl::test
