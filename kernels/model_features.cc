#include "kernels/model_features.h"

#include <string_view>

#include "kernels/common/check_step_shape.h"
#include "kernels/kernel_table.h"

namespace codl::kernels {
namespace {

// The name under which the arithmetic of a Unary member counts; null for one of a few instructions.
const char* arithmetic_of(int32_t kind) {
  switch (kind) {
    case kUnaryIdentity:
    case kUnaryRelu:
    case kUnaryLeakyRelu:
    case kUnaryClip:
    case kUnaryThresholdedRelu:
    case kUnaryAbs:
    case kUnaryNeg:
    case kUnarySqrt:
    case kUnarySign:
    case kUnaryNot:
    case kUnaryBitwiseNot:
      return nullptr;
    case kUnaryHardSigmoid:
    case kUnaryHardSwish:
      return "melements_hard";
    case kUnarySigmoid:
    case kUnaryTanh:
    case kUnarySwish:
    case kUnaryExp:
    case kUnaryElu:
    case kUnarySelu:
    case kUnaryCelu:
      return "melements_exp";
    case kUnaryGelu:
    case kUnaryErf:
      return "melements_erf";
    default:
      return "melements_other";
  }
}

// The member that a step applies to every element it writes: its kind if it is a Unary, else its
// activation, if it has one.
int32_t member_applied(const StepShape& step) {
  const OpKind op = step.row->op;
  for (const OpParamField& field : kOpParamFields)
    if (field.op == op && field.name == (op == OpKind::Unary ? "kind" : "activation"))
      return *reinterpret_cast<const int32_t*>(static_cast<const uint8_t*>(step.params) +
                                               field.offset_bytes);
  return kUnaryIdentity;
}

// What the part touches, as the contract counts it.
double touched_mbytes(const Features& features) {
  double mbytes = 0;
  for (uint32_t i = 0; i < features.count; ++i) {
    const std::string_view name = features.items[i].name;
    if (name == "mbytes" || name == "weight_mbytes") mbytes += features.items[i].value;
  }
  return mbytes;
}

double sum_of_macs(const Features& features) {
  double mmacs = 0;
  for (uint32_t i = 0; i < features.count; ++i) {
    const std::string_view name = features.items[i].name;
    if (name.starts_with("mmacs") || name == "mops") mmacs += features.items[i].value;
  }
  return mmacs;
}

// What tells loops apart that an operator's kernels have for some parameters or shapes.
void add_case_features(const StepShape& step, double elements, double innermost,
                       Features* features) {
  const OperandShape& y = step.output();
  const OperandShape& x = step.operands[0];
  const double pixels = elements / innermost;
  features->add("part_kpixels", step.part_dim == SplitDim::OutputChannel ? pixels * 1e-3 : 0);
  if (y.layout != Layout::Plain) {
    features->add("map_melements", elements * 1e-6);
    // Vectors that are not full.
    const auto channels =
        static_cast<double>(channels_of_part(step.part_dim, step.part, y).count());
    const double lanes = round_up(static_cast<int64_t>(channels), int64_t{kChannelPanel});
    features->add("lane_mmacs", sum_of_macs(*features) * lanes / channels);
  }
  switch (step.row->op) {
    case OpKind::Binary: {
      const int32_t kind = step.params_as<BinaryParams>().kind;
      const bool is_by_kind = kind != kBinaryAdd && kind != kBinaryMul;
      features->add("melements_by_kind", is_by_kind ? elements * 1e-6 : 0);
      double broadcast_runs = 0;
      for (uint32_t i = 0; i < 2; ++i)
        if (!same_dims(step.operands[i], y) && element_count(step.operands[i]) > 1)
          broadcast_runs += y.layout == Layout::Plain && y.rank == 4 ? y.dims[1] : pixels;
      features->add("broadcast_kpixels", broadcast_runs * 1e-3);
      break;
    }
    case OpKind::Pool2d:
      features->add("mops_average", step.params_as<Pool2dParams>().kind == kPool2dAverage
                                        ? sum_of_macs(*features)
                                        : 0);
      break;
    case OpKind::Resize:
      features->add("melements_nearest",
                    step.params_as<ResizeParams>().kind == kResizeNearest ? elements * 1e-6 : 0);
      break;
    case OpKind::DepthToSpace:
      features->add(
          "melements_channel_major",
          step.params_as<DepthToSpaceParams>().is_channel_major != 0 ? elements * 1e-6 : 0);
      break;
    case OpKind::Convert:
      features->add("melements_from_plain", x.layout == Layout::Plain ? elements * 1e-6 : 0);
      features->add("melements_to_plain", y.layout == Layout::Plain ? elements * 1e-6 : 0);
      features->add("few_channel_kpixels", y.dims[1] < kChannelPanel ? pixels * 1e-3 : 0);
      break;
    case OpKind::Transpose:
      // The input's innermost axis begins anew.
      features->add("read_kpixels", elements / x.dims[x.rank - 1] * 1e-3);
      break;
    default:
      break;
  }
}

void add_cpu_features(const StepShape& step, int32_t thread_count, Features* features) {
  StepNeeds needs;
  check_step(step, &needs);
  const double tasks = needs.task_count;
  const double most = static_cast<double>(ceil_div(needs.task_count, thread_count));
  const double factor = most * thread_count / tasks;
  const double mbytes = touched_mbytes(*features);
  const OperandShape& y = step.output();
  const double elements = static_cast<double>(part_elements(step));
  const double innermost =
      y.layout == Layout::Plain ? (y.rank == 0 ? 1 : y.dims[y.rank - 1]) : padded_channels(y);
  features->add("melements", elements * 1e-6);
  features->add("kpixels", elements / innermost * 1e-3);
  const bool is_ragged = static_cast<int64_t>(innermost) % kChannelPanel != 0;
  features->add("ragged_kpixels", is_ragged ? elements / innermost * 1e-3 : 0);
  add_case_features(step, elements, innermost, features);
  features->add("cached_mbytes", mbytes > 1 ? mbytes - 1 : 0);
  features->add("far_mbytes", mbytes > 8 ? mbytes - 8 : 0);
  for (uint32_t i = 0; i < features->count; ++i)
    if (std::string_view(features->items[i].name) != "steps") features->items[i].value *= factor;
  features->add("shares", needs.task_count > 1 && thread_count > 1 ? 1 : 0);
}

// The value of a launch's define, or `otherwise`.
int32_t defined(const ClLaunch& launch, std::string_view name, int32_t otherwise) {
  for (uint32_t i = 0; i < launch.define_count; ++i)
    if (name == launch.defines[i].name) return launch.defines[i].value;
  return otherwise;
}

// Of the tiles of gemm_tile.cl by their slices, which are the more the smaller the tile is.
struct TileNames {
  int32_t slices;
  const char* macs;
  const char* steps;
};
constexpr TileNames kTileNames[] = {
    {1, "tile1_kmacs", "tile1_steps"},    {2, "tile2_kmacs", "tile2_steps"},
    {4, "tile4_kmacs", "tile4_steps"},    {8, "tile8_kmacs", "tile8_steps"},
    {16, "tile16_kmacs", "tile16_steps"},
};

void add_gpu_features(const StepShape& step, const GpuFacts& gpu, Features* features) {
  ClLaunch launch;
  launch_of(step, &launch);
  double items = 1;
  double group_items = 1;
  for (int i = 0; i < 3; ++i) {
    items *= static_cast<double>(launch.global[i]);
    group_items *= static_cast<double>(launch.local[i] == 0 ? 1 : launch.local[i]);
  }
  const double mmacs = sum_of_macs(*features);
  double mbytes = 0;
  for (uint32_t i = 0; i < features->count; ++i)
    if (std::string_view(features->items[i].name) == "mbytes") mbytes += features->items[i].value;
  features->add("kitems", items * 1e-3);
  if (mmacs > 0) features->add("item_kmacs", 1e3 * mmacs / items);
  features->add("item_kbytes", 1e3 * mbytes / items);
  const auto elements = static_cast<double>(part_elements(step));
  features->add("melements", elements * 1e-6);
  if (step.output().layout != Layout::Plain) features->add("map_melements", elements * 1e-6);
  if (gpu.units == 0) return;
  // Groups of the unit that has most, of any and of so many at a time as it may hold.
  const auto groups = static_cast<int64_t>(items / group_items);
  const auto waves = [&](int64_t held) {
    return static_cast<double>(ceil_div(groups, held * gpu.units));
  };
  const double unit_items = waves(1) * group_items;
  features->add("unit_kitems", unit_items * 1e-3);
  features->add("unit_kbytes", unit_items * 1e3 * mbytes / items);
  if (mmacs == 0) return;
  features->add("unit_kmacs", unit_items * 1e3 * mmacs / items);
  // Multiply-adds of an element come one after the other.
  const double depth = 1e6 * mmacs / elements;
  const int32_t tile_depth = defined(launch, "TILE_K", 0);
  if (tile_depth != 0) {
    const double depth_steps =
        static_cast<double>(ceil_div(static_cast<int64_t>(depth), tile_depth));
    const int32_t slices = defined(launch, "SLICES", 1);
    const double tile_macs = static_cast<double>(tile_depth) * defined(launch, "TILE_M", 0) *
                             defined(launch, "TILE_N", 0);
    for (const TileNames& names : kTileNames) {
      const bool is_own = names.slices == slices;
      features->add(names.macs, is_own ? waves(1) * depth_steps * tile_macs * 1e-3 : 0);
      features->add(names.steps, is_own ? waves(2) * depth_steps : 0);
    }
    return;
  }
  features->add("kdepth", depth * 1e-3);
  features->add("wave4_kdepth", waves(4) * depth * 1e-3);
  features->add("wave32_kdepth", waves(32) * depth * 1e-3);
  // Columns of a matrix that are not neighbours, and those at an edge, are read one by one.
  if (step.row->op != OpKind::BatchMatMul) return;
  const bool has_columns = defined(launch, "HAS_ROWS_OF_B", 1) == 0;
  const bool has_edge = step.output().dims[step.output().rank - 1] % 8 != 0;
  const double wave8_kdepth = waves(8) * depth * 1e-3;
  features->add("column_kdepth", has_columns ? wave8_kdepth : 0);
  features->add("column_mmacs", has_columns ? mmacs : 0);
  features->add("edge_kdepth", has_edge ? wave8_kdepth : 0);
}

}  // namespace

void model_features_of(const StepShape& given, const LaneFacts& lane, Features* out_features) {
  StepShape step = given;
  int32_t tile[kMaxTileInts] = {};
  if (step.tile_count == 0 && step.row->processor == Processor::Gpu) {
    step.tile_count = choose_tile(step, lane.gpu, tile);
    step.tile = tile;
  }
  features_of(step, out_features);
  if (const char* name = arithmetic_of(member_applied(step)))
    out_features->add(name, static_cast<double>(part_elements(step)) * 1e-6);
  if (step.row->processor == Processor::Cpu)
    add_cpu_features(step, lane.thread_count, out_features);
  else
    add_gpu_features(step, lane.gpu, out_features);
}

}  // namespace codl::kernels
