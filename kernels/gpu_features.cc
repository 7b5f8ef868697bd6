#include "kernels/gpu_features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd_cl.h"
#include "kernels/convert/convert.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "kernels/kernel_table.h"
#include "kernels/matmul/matmul.h"
#include "kernels/softmax/softmax.h"

namespace codl::kernels {
namespace {

// Half of the second-level cache of an NVIDIA H100 or H200, which is in two parts.
constexpr double kNearMbytes = 25;
// Half of a unit's first-level cache there.
constexpr double kUnitKbytes = 128;
// Groups of 64 items from which on the time of the convolution on texels rises with their number.
constexpr double kFullGroups = 8;
// Waves of a unit whose steps hide each other's waiting.
constexpr double kHeldWaves = 16;
// Waves of the convolutions on buffers that have room for their registers on a unit.
constexpr int32_t kHeldLargeWaves = 8;

// Groups that a unit holds at once.
constexpr double kMostHeldGroups = 32;
// Groups of a unit whose functions are computed while others load.
constexpr double kHiddenGroups = 11;

// Banks of a unit's first-level cache, of 4 bytes each; as many as a wave has items.
constexpr int32_t kBanks = 32;

// Elements written while the next launch is prepared: where groups have 32 items of 16 elements,
// four of them on each unit, one for each of its schedulers; about twice as many of smaller groups.
constexpr double kFewMelements = 0.25;
constexpr double kFewKitems = 25;

// Cases of loops. A kernel has few of them.
#define CASES(CASE)                                                           \
  CASE(usual)                                                                 \
  CASE(pointwise)        /* a filter of one tap */                            \
  CASE(ragged_depth)     /* input channels that do not fill the last texel */ \
  CASE(to_plain)         /* channels become planes, */                        \
  CASE(from_plain)       /* and planes channels */                            \
  CASE(shared)           /* items of a group share the loop */                \
  CASE(channel_major)    /* neighbours of y are a block apart in x */         \
  CASE(few_channels)     /* fewer than half a vector */                       \
  CASE(columns)          /* neighbours of a column are a row apart, */        \
  CASE(columns_of_quads) /* and rows begin at whole quads */                  \
  CASE(single_row)       /* of a product */                                   \
  CASE(linear)           /* four corners */

struct LoopNames {
  const char* chain;
  const char* wave4;
  const char* wave32;
  const char* unit;
  const char* active;
};
#define CASE_NAMES(name)                                                                          \
  constexpr LoopNames k_##name = {#name "_chain", #name "_wave4", #name "_wave32", #name "_unit", \
                                  #name "_active"};
CASES(CASE_NAMES)
#undef CASE_NAMES
#undef CASES

// The value of a launch's define, or `otherwise`.
int32_t defined(const ClLaunch& launch, std::string_view name, int32_t otherwise) {
  for (uint32_t i = 0; i < launch.define_count; ++i)
    if (name == launch.defines[i].name) return launch.defines[i].value;
  return otherwise;
}

struct BatchNames;

class GpuFeatures {
 public:
  GpuFeatures(const StepShape& step, const GpuFacts& gpu, Features* features)
      : step_(step),
        y_(step.output()),
        units_(gpu.units),
        is_processor_(gpu.is_processor()),
        features_(*features) {
    launch_of(step, &launch_);
    double group_items = 1;
    for (int i = 0; i < 3; ++i) {
      items_ *= static_cast<double>(launch_.global[i]);
      group_items *= static_cast<double>(launch_.local[i] == 0 ? 1 : launch_.local[i]);
    }
    groups_ = items_ / group_items;
  }

  void add() {
    leave_out_unread();
    if (units_ != 0 && !is_processor_) forget_hidden();
    const double mbytes = named("mbytes");
    add("kitems", items_ * 1e-3);
    // What an item or a group has on the average falls where rows begin tiles that are not full.
    const bool has_means = !is_winograd_group(*step_.row);
    // Items of the convolution wait for weights, not for activations; what those of Normalize read
    // is in their steps.
    const bool has_steps_alone =
        step_.row->op == OpKind::Normalize || (step_.row->op == OpKind::Conv2d && !has_tiles());
    if (has_means && (is_processor_ || !has_steps_alone)) add("item_kbytes", 1e3 * mbytes / items_);
    const auto elements = static_cast<double>(part_elements(step_));
    add("melements", elements * 1e-6);
    // Runs of Softmax take as long in maps.
    if (y_.layout != Layout::Plain && (is_processor_ || step_.row->op != OpKind::Softmax))
      add("map_melements", elements * 1e-6);
    if (units_ == 0) return;
    if (is_processor_) add("shares", waves(1) < groups_ ? 1 : 0);
    add("unit_groups", waves(1));
    if (has_means) add("unit_melements", waves(1) * elements * 1e-6 / groups_);
    if (has_tiles()) return add_tiles();
    if (is_winograd_item(*step_.row)) return add_winograd_item();
    if (is_winograd_group(*step_.row)) return add_winograd_group();
    switch (step_.row->op) {
      case OpKind::Conv2d:
        return is_conv2d_buffer(*step_.row) ? add_conv2d_buffer() : add_conv2d_texels();
      case OpKind::DepthwiseConv2d:
        return add_depthwise();
      case OpKind::MatMul:
        return add_matmul();
      case OpKind::BatchMatMul:
        return add_batch_matmul();
      case OpKind::Pool2d:
        return y_.layout == Layout::Nhwc ? add_pool2d() : add_other();
      default:
        return add_other();
    }
  }

 private:
  void add(const char* name, double value) {
    if (value > 0) features_.add(name, value);
  }
  double named(std::string_view name) const {
    for (uint32_t i = 0; i < features_.count; ++i)
      if (name == features_.items[i].name) return features_.items[i].value;
    return 0;
  }

  void forget(std::string_view prefix) {
    const auto end = std::remove_if(
        features_.items, features_.items + features_.count,
        [&](const Feature& feature) { return std::string_view(feature.name).starts_with(prefix); });
    features_.count = static_cast<uint32_t>(end - features_.items);
  }

  // What a contract counts and a GPU does meanwhile, or what its loops say better. Multiply-adds
  // stay: profiles of other devices know of little else.
  void forget_hidden() {
    switch (step_.row->op) {
      case OpKind::Unary:
        // In add_function().
        return forget("melements_");
      case OpKind::Normalize:
        return forget("row_mbytes");
      default:
        return;
    }
  }

  // Of what a convolution's window steps over; its contract counts whole rows.
  void leave_out_unread() {
    if (step_.row->op != OpKind::Conv2d) return;
    const auto& params = step_.params_as<Conv2dParams>();
    const OperandShape& w = step_.operands[1];
    const double share = std::min(1.0, double{1} * w.dims[2] / params.stride_h) *
                         std::min(1.0, double{1} * w.dims[3] / params.stride_w);
    const double written_mbytes =
        static_cast<double>(part_elements(step_)) * conv_output_bytes<Conv2dParams>(step_) * 1e-6;
    for (uint32_t i = 0; i < features_.count; ++i) {
      Feature& feature = features_.items[i];
      if (std::string_view(feature.name) == "mbytes" && feature.value > written_mbytes)
        feature.value = written_mbytes + share * (feature.value - written_mbytes);
    }
  }

  bool has_tiles() const { return defined(launch_, "TILE_K", 0) != 0; }

  bool reads_two_of_the_size_of_y() const {
    return element_count(step_.operands[0]) == element_count(y_) &&
           element_count(step_.operands[1]) == element_count(y_);
  }

  double melements() const { return static_cast<double>(part_elements(step_)) * 1e-6; }
  // Work-items of a group along a dimension, where the kernel's first scalars are the extents.
  double group_items(int dim) const {
    return static_cast<double>(std::min<uint64_t>(launch_.scalars[dim], launch_.local[dim]));
  }
  int64_t group_waves() const {
    const uint64_t items = launch_.local[0] * launch_.local[1] * launch_.local[2];
    return std::max<int64_t>(ceil_div(static_cast<int64_t>(items), kBanks), 1);  // 0: the driver's
  }
  // How often the groups fill the units, of which each holds `held`.
  double waves(int64_t held) const {
    return static_cast<double>(ceil_div(static_cast<int64_t>(groups_), held * units_));
  }
  // `steps`: of a work-item.
  void add_loop(const LoopNames& names, double steps, bool has_unit = true) {
    add(names.chain, steps * 1e-3);
    add(names.wave4, waves(4) * steps * 1e-3);
    add(names.wave32, waves(32) * steps * 1e-3);
    if (has_unit) add(names.unit, waves(1) * steps * 1e-3);
    add(names.active, active_items() * steps * 1e-3 / static_cast<double>(units_));
  }
  // Of a grid in three dimensions, those inside the extents, which are the first scalars; 0 of
  // another launch.
  double active_items() const {
    if (launch_.local[2] <= 1) return 0;
    double items = 1;
    for (int i = 0; i < 3; ++i) items *= launch_.scalars[i];
    return items;
  }

  // Words that a wave finds in the same bank of the unit's memory, where neighbours are vectors of
  // channels, then pixels `stride` apart: they come one after the other.
  double bank_words(int32_t stride) const {
    const int32_t chunks = (cl_channels(step_).stored_count + kClLanes - 1) / kClLanes;
    int32_t words[kBanks] = {};
    for (int32_t item = 0; item < kBanks; ++item) {
      const int64_t word = int64_t{item / chunks} * stride * padded_channels(step_.operands[0]) +
                           item % chunks * kClLanes;
      ++words[word % kBanks];
    }
    return *std::max_element(words, words + kBanks);
  }

  // What a load of a wave's vectors waits for, where neighbours are vectors of channels, then
  // pixels `stride` apart, summed up over the quads of a vector: lines of 128 bytes, and quads that
  // an eighth of the banks has, one after the other, of each 8 items. Vectors that are not full are
  // loaded by a loop of their own.
  struct WaveLoads {
    double lines = 0;
    double turns = 0;
  };
  WaveLoads wave_loads(int32_t stride) const {
    constexpr int32_t kQuads = kClLanes / 4;
    constexpr int32_t kLineQuads = 8;
    constexpr int32_t kTurnItems = 8;
    const int32_t stored = cl_channels(step_).stored_count;
    const int32_t chunks = (stored + kClLanes - 1) / kClLanes;
    const int64_t pixel_quads = padded_channels(step_.operands[0]) / 4;
    const auto items = static_cast<int32_t>(std::min<uint64_t>(launch_.local[0], kBanks));
    WaveLoads loads;
    for (const bool is_full : {true, false})
      for (int32_t quad = 0; quad < kQuads; ++quad) {
        int64_t last_line = -1;
        int32_t quads_of_bank[kLineQuads] = {};
        for (int32_t item = 0; item < items; ++item) {
          if (item % kTurnItems == 0) {
            loads.turns += *std::max_element(quads_of_bank, quads_of_bank + kLineQuads);
            std::fill(quads_of_bank, quads_of_bank + kLineQuads, 0);
          }
          const int32_t lanes = std::min(kClLanes, stored - item % chunks * kClLanes);
          if ((lanes == kClLanes) != is_full || 4 * quad >= lanes) continue;
          const int64_t at = item / chunks * stride * pixel_quads + item % chunks * kQuads + quad;
          ++quads_of_bank[at % kLineQuads];
          if (at / kLineQuads != last_line) ++loads.lines;
          last_line = at / kLineQuads;
        }
        loads.turns += *std::max_element(quads_of_bank, quads_of_bank + kLineQuads);
      }
    return loads;
  }

  // Taps inside the map of the part's row that has most.
  double row_taps(const WindowAxis& axis) const {
    const Range rows = rows_of_part(step_.part_dim, step_.part, y_);
    int32_t most = 0;
    for (int32_t row = rows.begin; row < rows.end; ++row)
      most = std::max(most, taps_inside(axis, step_.operands[0].dims[2], row));
    return most;
  }
  // Taps that any item of a wave has inside the map, of the wave that has most, where a row of y
  // has `row_items` items: those of a wave that are in several rows wait for each other's taps.
  double row_taps_of_wave(const WindowAxis& axis, int64_t row_items) const {
    const Range rows = rows_of_part(step_.part_dim, step_.part, y_);
    const auto wave_items = static_cast<int64_t>(std::min<uint64_t>(launch_.local[0], kBanks));
    int32_t most = 0;
    for (int32_t row = 0; row < rows.count(); ++row) {
      // The wave that has the row's first item.
      const int64_t begin = row * row_items / wave_items * wave_items;
      const auto first = static_cast<int32_t>(begin / row_items);
      const int64_t last =
          std::min<int64_t>((begin + wave_items - 1) / row_items, rows.count() - 1);
      int32_t inside = 0;
      for (int32_t tap = 0; tap < axis.taps; ++tap) {
        const WindowAxis only = {1, axis.stride, 1, axis.pad_begin - tap * axis.dilation, 0};
        for (int32_t i = first; i <= last; ++i) {
          if (taps_inside(only, step_.operands[0].dims[2], rows.begin + i) == 0) continue;
          ++inside;
          break;
        }
      }
      most = std::max(most, inside);
    }
    return most;
  }
  static int32_t taps_inside(const WindowAxis& axis, int32_t extent, int32_t output) {
    int32_t inside = 0;
    for (int32_t tap = 0; tap < axis.taps; ++tap) {
      const int64_t at =
          int64_t{output} * axis.stride - axis.pad_begin + int64_t{tap} * axis.dilation;
      if (at >= 0 && at < extent) ++inside;
    }
    return inside;
  }

  // Lines of 64 bytes of x that a group reads for its corners: items have a vector of channels of a
  // pixel each, channels first, and neighbouring pixels may have the same corners.
  void add_corner_lines() {
    const int64_t chunks = ceil_div(cl_channels(step_).stored_count, kClLanes);
    const auto items = static_cast<int64_t>(launch_.local[0]);
    const auto pixels = static_cast<double>(ceil_div(items, chunks));
    const double share = static_cast<double>(step_.operands[0].dims[3]) / y_.dims[3];
    const double side = defined(launch_, "IS_NEAREST", 1) != 0 ? 1 : 2;
    const double lines =
        side * ((pixels - 1) * share + side) * static_cast<double>(std::min(items, chunks));
    add("corner_lines_unit", waves(1) * lines * 1e-3);
  }

  // First block that is inside the map with this tap.
  static int64_t first_block_inside(const Conv2dBufferGrid& grid, const WindowAxis& axis,
                                    int32_t tap) {
    const int64_t outside_columns = axis.pad_begin - int64_t{tap} * axis.dilation;
    return outside_columns > 0 ? ceil_div(outside_columns, int64_t{grid.item_pixels} * axis.stride)
                               : 0;
  }
  // Taps with which the wave that has `item` has items inside the map and others outside.
  int32_t mixed_taps(const Conv2dBufferGrid& grid, const WindowAxis& axis, int64_t rows,
                     int64_t item) const {
    const auto wave_items = static_cast<int64_t>(launch_.local[0]);
    const int64_t begin = item / wave_items * wave_items / grid.inner_blocks;
    const int64_t end = std::min(ceil_div((item / wave_items + 1) * wave_items, grid.inner_blocks),
                                 rows * grid.pixel_blocks);
    int32_t mixed = 0;
    for (int32_t tap = 0; tap < axis.taps; ++tap) {
      const int64_t first = first_block_inside(grid, axis, tap);
      const int64_t inside = conv2d_blocks_inside(grid, axis, tap);
      int64_t found = 0;
      for (int64_t block = begin; block < end; ++block) {
        const int64_t at = block % grid.pixel_blocks - first;
        if (at >= 0 && at < inside) ++found;
      }
      if (found > 0 && found < end - begin) ++mixed;
    }
    return mixed;
  }
  // Those of the wave that has most, of `rows` rows of blocks that follow each other. Waves lie the
  // same after as many rows as a wave has items.
  int32_t most_mixed_taps(const Conv2dBufferGrid& grid, const WindowAxis& axis,
                          int64_t rows) const {
    int32_t most = 0;
    for (int64_t row = 0; row < std::min<int64_t>(rows, static_cast<int64_t>(launch_.local[0]));
         ++row) {
      int64_t last_blocks[] = {-1, -1};
      for (int32_t tap = 0; tap < axis.taps; ++tap) {
        const int64_t first = first_block_inside(grid, axis, tap);
        // Waves have blocks of both kinds around those where the kind changes. Many taps of a long
        // filter change at the same blocks.
        const int64_t blocks[] = {first, first + conv2d_blocks_inside(grid, axis, tap)};
        for (int i = 0; i < 2; ++i) {
          if (blocks[i] == last_blocks[i]) continue;
          last_blocks[i] = blocks[i];
          const int64_t item = (row * grid.pixel_blocks + blocks[i]) * grid.inner_blocks;
          if (item < rows * grid.pixel_blocks * grid.inner_blocks)
            most = std::max(most, mixed_taps(grid, axis, rows, item));
          if (most == axis.taps) return most;
        }
      }
    }
    return most;
  }

  void add_tiles();
  void add_conv2d_buffer();
  void add_conv2d_texels();
  void add_winograd_item();
  void add_winograd_group();
  double columns_of_any(const WindowAxis& axis, int32_t pixels) const;
  void add_depthwise();
  void add_depthwise_buffer();
  void add_matmul();
  void add_batch_matmul();
  void add_pool2d();
  void add_function();
  double first_share() const;
  void add_vectors(int32_t stored);
  void add_tails(int32_t stored, double steps);
  void add_gaps();
  void add_convert(double steps);
  void add_binary();
  void add_concat();
  void add_pad();
  void add_softmax();
  void add_batches(const BatchNames& names, int64_t elements, int64_t items, int64_t wave_items);
  void add_depth_to_space();
  void add_other();

  const StepShape& step_;
  const OperandShape& y_;
  int64_t units_;
  bool is_processor_;
  Features& features_;
  ClLaunch launch_;
  double items_ = 1;
  double groups_ = 1;
};

// Of gemm_tile.cl: what a tile of so many rows and columns takes. Those of fastest_gemm_tile().
struct TileNames {
  int32_t m;
  int32_t n;
  const char* macs;   // million multiply-adds of the unit with most groups
  const char* wave2;  // thousand steps of a group times waves of two groups a unit
  const char* unit;   // groups of that unit
};
#define TILE_NAMES(m, n) \
  { m, n, "tile" #m "x" #n "_mmacs", "tile" #m "x" #n "_wave2", "tile" #m "x" #n "_unit" }
constexpr TileNames kTileNames[] = {
    TILE_NAMES(64, 128), TILE_NAMES(128, 64), TILE_NAMES(64, 64), TILE_NAMES(32, 64),
    TILE_NAMES(32, 32),  TILE_NAMES(16, 32),  TILE_NAMES(16, 16),
};

int64_t gemm_depth(const StepShape& step) {
  switch (step.row->op) {
    case OpKind::Conv2d:
      return conv2d_gemm_size(step.operands[0], step.operands[1], step.output()).depth;
    case OpKind::MatMul:
      return step.operands[0].dims[1];
    default:
      return batch_matmul_work(step.params_as<BatchMatMulParams>(), step.operands[0],
                               step.operands[1], step.output())
          .k;
  }
}

void GpuFeatures::add_tiles() {
  const int32_t m = defined(launch_, "TILE_M", 0);
  const int32_t n = defined(launch_, "TILE_N", 0);
  const int32_t k = defined(launch_, "TILE_K", 0);
  const auto steps = static_cast<double>(ceil_div(gemm_depth(step_), k));
  const double group_mmacs = steps * k * m * n * 1e-6;
  const bool is_merged = !is_processor_ && step_.row->op == OpKind::Conv2d;
  const bool has_any_unit = !is_processor_ && step_.row->op == OpKind::BatchMatMul;
  for (const TileNames& names : kTileNames) {
    if (names.m != m || names.n != n) continue;
    // Of tiles with a side of 128 multiply-adds take what tiles_mmacs says.
    if (!is_merged || std::max(m, n) < 128) add(names.macs, waves(1) * group_mmacs);
    if (is_merged) continue;
    add(names.wave2, waves(2) * steps * 1e-3);
    if (!has_any_unit) add(names.unit, waves(1));
  }
  // Tiles of 64 rows and columns and more leave a unit room for fewer groups.
  const bool is_large = m * n >= 64 * 64;
  if (is_merged) {
    add(is_large ? "large_tiles_wave2" : "small_tiles_wave2", waves(2) * steps * 1e-3);
    add(is_large ? "large_tiles_unit" : "small_tiles_unit", waves(1));
  }
  // Products are shallow, so that writing a tile weighs more than its kind.
  if (has_any_unit) add("tiles_unit", waves(1) * m * n * 1e-3);
  // Loads and barriers of a step follow each other whatever the tile.
  add("tiles_chain", steps * 1e-3);
  add("device_mmacs", groups_ * group_mmacs / static_cast<double>(units_));
  if (!is_processor_) {
    // Whatever the tile: groups wait for those before them.
    add("tiles_mmacs", waves(1) * group_mmacs);
    add("tiles_over_unit", (waves(1) - 3) * steps * 1e-3);
    add("tiles_over_unit_mmacs", (waves(1) - 2) * group_mmacs);
  }
  const double depth_bytes = static_cast<double>(dtype_bytes(step_.operands[0].dtype)) * m +
                             static_cast<double>(dtype_bytes(step_.operands[1].dtype)) * n;
  add("tile_mbytes", groups_ * steps * k * depth_bytes * 1e-6);
  add("far_weight_mbytes", named("weight_mbytes") - kNearMbytes);
  if (step_.row->op != OpKind::Conv2d) return;
  if (step_.operands[0].dims[1] % kChannelPad != 0) add("pad_wave2", waves(2) * steps * 1e-3);
  if (step_.params_as<Conv2dParams>().has_residual != 0) {
    add("residual", 1);
    if (is_processor_) add("residual_unit", waves(1) * m * n * 1e-3);
  }
  if (step_.operands[1].dims[2] == 1) return;
  // Quads of x that an item brings in a step; it asks for each where the tap is.
  const double loads = double{1} * m * k / 4 / static_cast<double>(launch_.local[0]);
  add("window_chain", steps * loads * 1e-3);
  add("window_wave2", waves(2) * steps * loads * 1e-3);
  add("window_unit", waves(1) * steps * loads * 1e-3);
}

// Items of a wave that differ in whether a tap reaches outside the map run both loops, one after
// the other; only the first waits for the tap's weights in memory, of as many panels as the items
// have.
// Not of OpenCL on a processor: cl_processor_features.h has the row.
void GpuFeatures::add_conv2d_buffer() {
  const auto& params = step_.params_as<Conv2dParams>();
  const OperandShape& w = step_.operands[1];
  const Conv2dBufferGrid grid = conv2d_buffer_grid(step_);
  const WindowAxis axis = horizontal_axis(params, w.dims);
  const auto wave_items = static_cast<int64_t>(launch_.local[0]);
  const int64_t rows = int64_t{grid.rows} * y_.dims[0];  // of one outer block
  const double again = most_mixed_taps(grid, axis, rows * grid.outer_blocks);
  // Where a wave has items of more than one outer block, their panels differ, too.
  const int64_t wave_outer = std::min(
      grid.outer_blocks, ceil_div(wave_items, grid.inner_blocks * grid.pixel_blocks * rows));
  const auto panels = static_cast<double>(std::min(wave_items, grid.inner_blocks * wave_outer));
  const double row_steps = grid.is_joined ? 1
                                          : row_taps_of_wave(vertical_axis(params, w.dims),
                                                             grid.inner_blocks * grid.pixel_blocks);
  const double depth = row_steps * w.dims[1] * 1e-3;
  const double loops = axis.taps + again;
  if (params.has_residual != 0) add("residual", 1);
  const double rounds = waves(std::max<int64_t>(1, kHeldLargeWaves / group_waves()));
  // Panels are so many vectors of weights apart, and blocks so many words of x: words of one bank
  // or of several.
  const int64_t panel_vectors = int64_t{1} * w.dims[1] * w.dims[2] * w.dims[3];
  const int64_t words =
      int64_t{grid.item_pixels} * params.stride_w * padded_channels(step_.operands[0]);
  const double wave_blocks = std::ceil(static_cast<double>(wave_items) / panels);
  const double x_turns = std::max(
      1.0, std::ceil(wave_blocks * static_cast<double>(std::gcd(words, int64_t{kBanks})) / kBanks));
  add("panel_turns_chain", std::ceil(panels / (panel_vectors % 2 != 0 ? 2 : 1)) * loops * depth);
  add("pixel_turns_unit", waves(1) * grid.item_pixels * x_turns * loops * depth);
  // The loop over few channels is unrolled: they are loaded at once.
  if (defined(launch_, "FEW_CHANNELS", 0) != 0) {
    const auto blocks = static_cast<double>(ceil_div(wave_items, grid.inner_blocks));
    add("few_pixel_chain", loops * depth * blocks);
    return add("few_wave8", rounds * loops * depth);
  }
  add("weight_chain", axis.taps * depth);
  if (params.has_residual == 0) add("bare_chain", axis.taps * depth);
  if (w.dims[2] == 1 && w.dims[3] == 1) add("pointwise_chain", depth);
  if (params.stride_w > 1) add("strided_chain", axis.taps * depth);
  if (axis.taps == 1) add("single_again_chain", again * depth);
  // Weights that a unit does not keep.
  const double weight_kbytes = 1e3 * named("weight_mbytes");
  if (weight_kbytes > kUnitKbytes)
    add("far_weight_chain", axis.taps * depth * (1 - kUnitKbytes / weight_kbytes));
  add("panel_chain", axis.taps * depth * panels);
  add("again_chain", again * depth);
  add("again_panel_chain", again * depth * panels);
  add("most_wave8", rounds * loops * depth);
  add("most_unit", waves(1) * loops * depth);
}

// A step waits for a texel of weights, and longer for pixels that no tap of the row has read before
// it, or that the window is too large to keep.
void GpuFeatures::add_conv2d_texels() {
  const auto& params = step_.params_as<Conv2dParams>();
  const OperandShape& x = step_.operands[0];
  const OperandShape& w = step_.operands[1];
  const double rows = row_taps(vertical_axis(params, w.dims));
  const auto texels = static_cast<double>(ceil_div(w.dims[1], kChannelPad));
  const double steps = rows * w.dims[3] * texels * 1e-3;
  if (is_processor_) {
    const bool is_pointwise = w.dims[2] == 1 && w.dims[3] == 1;
    return add_loop(w.dims[1] % kChannelPad != 0 ? k_ragged_depth
                    : is_pointwise               ? k_pointwise
                                                 : k_usual,
                    1e3 * steps);
  }
  const double fresh = rows * std::min(w.dims[3], params.stride_w) * texels * 1e-3;
  add("texel_chain", steps);
  add("far_weight_mbytes", named("weight_mbytes") - kNearMbytes);
  add("full_chain", steps * (groups_ / static_cast<double>(kFullGroups * units_) - 1));
  // Found on an H200: kernels with a residual, which are compiled by themselves, wait less for
  // them.
  const bool has_residual = params.has_residual != 0;
  const int32_t item_pixels = defined(launch_, "PIXELS", 1);
  const double item_share = std::min(item_pixels, y_.dims[3]) * (1.0 / item_pixels);
  add(has_residual ? "residual_fresh_chain" : "fresh_chain", fresh * item_share);
  add(has_residual ? "residual" : "bare_chain", has_residual ? 1 : steps);
  // Waves of a group are in different rows.
  const double waves_held = groups_ / static_cast<double>(units_) * group_items(2);
  add("over_held_chain", steps * (waves_held - kHeldWaves));
  // Pixels begin in the middle of sectors of 32 bytes.
  if (ceil_div(x.dims[1], kChannelPad) % 2 != 0) add("apart_chain", steps * group_items(1));
  // Pixels that the groups of a unit read.
  const auto extent = [&](int dim, int64_t outputs, int32_t stride) {
    return static_cast<double>(
        std::min<int64_t>(x.dims[dim], (outputs - 1) * stride + w.dims[dim]));
  };
  const auto blocks =
      static_cast<int64_t>(std::min<uint64_t>(launch_.scalars[1], launch_.local[1]));
  const auto batch_rows =
      static_cast<int64_t>(std::min<uint64_t>(launch_.scalars[2], launch_.local[2]));
  const double window_kbytes = extent(2, batch_rows, params.stride_h) *
                               extent(3, blocks * item_pixels, params.stride_w) * texels *
                               kChannelPad * sizeof(float) * 1e-3;
  const double held = std::clamp(groups_ / static_cast<double>(units_), 1.0, kFullGroups);
  add("refetched_chain", (steps - fresh) * (1 - kUnitKbytes / (held * window_kbytes)));
}

// A unit's work-items, as if all had as many tiles.
void GpuFeatures::add_winograd_item() {
  const WinogradItem item = winograd_item_of(step_);
  const WinogradWork work = winograd_item_work(step_);
  const int32_t in_channels = step_.operands[0].dims[1];
  const double positions = WinogradItem::kPositions;
  const double panel_blocks = work.panels.count() / item.panels;
  const double block_tiles = static_cast<double>(work.tiles) * panel_blocks / groups_;
  const double sums = waves(1) * positions * block_tiles * item.panels * kClLanes;
  add(item.register_panels == 4   ? "four_panels_mmacs"
      : item.register_panels == 2 ? "pair_mmacs"
                                  : "single_mmacs",
      sums * in_channels * 1e-6);
  add("sums_melements", sums * static_cast<double>(ceil_div(in_channels, item.channels)) * 1e-6);
  add("transformed_melements",
      waves(1) * positions * block_tiles * round_up(in_channels, kClLanes) * 1e-6);
  add("read_weight_mbytes", named("weight_mbytes") * groups_ / panel_blocks);
  // On a GPU an item waits for each weight, so that nothing counts but how many follow each other.
  if (!is_processor_) add("channel_chain", in_channels * 1e-3);
}

// Of conv2d_winograd2_f32_cl_tiled.cl: what a group of so many tiles and channels takes.
struct WinogradNames {
  int32_t tiles;
  int32_t channels;
  const char* macs;
  const char* chain;
  const char* wave2;
  const char* unit;
};
#define WINOGRAD_NAMES(m, n)                                                                  \
  {                                                                                           \
    m, n, "group" #m "x" #n "_mmacs", "group" #m "x" #n "_chain", "group" #m "x" #n "_wave2", \
        "group" #m "x" #n "_unit"                                                             \
  }
constexpr WinogradNames kWinogradNames[] = {WINOGRAD_NAMES(32, 32), WINOGRAD_NAMES(8, 32)};

void GpuFeatures::add_winograd_group() {
  const WinogradGroup group = winograd_group_of(step_);
  const auto steps = static_cast<double>(ceil_div(step_.operands[0].dims[1], group.chunk));
  const double group_mmacs =
      WinogradGroup::kPositions * steps * group.chunk * group.tiles * group.channels * 1e-6;
  for (const WinogradNames& names : kWinogradNames) {
    if (names.tiles != group.tiles || names.channels != group.channels) continue;
    add(names.macs, waves(1) * group_mmacs);
    add(names.chain, steps * 1e-3);
    add(names.wave2, waves(2) * steps * 1e-3);
    add(names.unit, waves(1));
  }
  add("device_mmacs", groups_ * group_mmacs / static_cast<double>(units_));
  add("far_weight_mbytes", named("weight_mbytes") - kNearMbytes);
  if (step_.params_as<Conv2dParams>().has_residual != 0)
    add("residual_unit", waves(1) * group.tiles * group.channels * 1e-3);
}

// Taps of a pixel on the average that are inside the map in some block of `pixels` pixels.
double GpuFeatures::columns_of_any(const WindowAxis& axis, int32_t pixels) const {
  const int32_t extent = step_.operands[0].dims[3];
  int32_t inside = 0;
  for (int32_t tap = 0; tap < axis.taps; ++tap)
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
      const int64_t first =
          int64_t{pixel} * axis.stride - axis.pad_begin + int64_t{tap} * axis.dilation;
      const int64_t step = int64_t{pixels} * axis.stride;
      // The first block that is not left of the map.
      const int64_t block = first < 0 ? ceil_div(-first, step) : 0;
      if (block < ceil_div(y_.dims[3], pixels) && first + block * step < extent) ++inside;
    }
  return static_cast<double>(inside) / pixels;
}

void GpuFeatures::add_depthwise_buffer() {
  const auto& params = step_.params_as<DepthwiseConv2dParams>();
  const OperandShape& w = step_.operands[1];
  const int32_t stored = cl_channels(step_).stored_count;
  const int64_t row_items =
      ceil_div(stored, kClLanes) * ceil_div(y_.dims[3], kDepthwiseBufferPixels);
  const double rows = row_taps_of_wave(vertical_axis(params, w.dims), row_items);
  // A wave takes the columns that any item has inside.
  const double columns = columns_of_any(horizontal_axis(params, w.dims), kDepthwiseBufferPixels);
  const double steps = rows * columns * 1e-3;
  const double rounds = waves(std::max<int64_t>(1, kHeldLargeWaves / group_waves()));
  const WaveLoads loads = wave_loads(kDepthwiseBufferPixels * params.stride_w);
  add("usual_chain", steps);
  add("tap_chain", rows * w.dims[3] * 1e-3);
  add("turns_wave8", rounds * loads.turns * steps);
  add("turns_over_wave8", (rounds - 1) * loads.turns * steps);
  add("turns_unit", waves(1) * loads.turns * steps);
  add("lines_unit", waves(1) * loads.lines * steps);
  add("written_lines_unit", waves(1) * loads.lines * 1e-3);
  if (params.stride_w > 1) add("strided_wave8", rounds * steps);
  // Pixels begin in the middle of lines.
  if (stored > kClLanes && padded_channels(y_) % (2 * kClLanes) != 0)
    add("apart_unit", waves(1) * steps);
  if (stored % kClLanes != 0) {
    // Vectors that are not full take a loop of their own, which items of a wave with both run both.
    if (stored > kClLanes)
      add(params.stride_w > 1 ? "mixed_strided_wave8" : "mixed_wave8", rounds * steps);
    // They are loaded in pieces of 8 and 4 channels.
    const int32_t quads = stored % kClLanes / kChannelPad;
    add("pieces_wave8", rounds * (quads / 2 + quads % 2) * steps);
  }
  // An item's pixels follow each other.
  if (params.activation == kUnarySwish)
    add("swish_wave8", rounds * std::min(kDepthwiseBufferPixels, y_.dims[3]));
}

void GpuFeatures::add_depthwise() {
  const auto& params = step_.params_as<DepthwiseConv2dParams>();
  const OperandShape& w = step_.operands[1];
  const double rows = row_taps(vertical_axis(params, w.dims));
  const bool has_vectors = y_.layout != Layout::Image2d;
  if (has_vectors && !is_processor_) return add_depthwise_buffer();
  // A wave takes the columns that any of its items has inside.
  const double columns =
      columns_of_any(horizontal_axis(params, w.dims),
                     has_vectors ? kDepthwiseBufferPixels : kDepthwiseImagePixels);
  const int32_t stored = cl_channels(step_).stored_count;
  // Vectors that are not full take a loop of their own, which items of a wave with both run both.
  const bool is_mixed = has_vectors && stored > kClLanes && stored % kClLanes != 0;
  const double steps = rows * columns;
  add_loop(k_usual, steps);
  if (is_mixed) add("mixed_wave32", waves(32) * steps * 1e-3);
  if (params.stride_w > 1) add("strided_wave32", waves(32) * steps * 1e-3);
  if (has_vectors)
    add("banks_unit",
        waves(1) * bank_words(kDepthwiseBufferPixels * params.stride_w) * steps * 1e-3);
  add("tap_chain", rows * w.dims[3] * 1e-3);
  add("wave32", waves(32));
  // Neighbours of a wave have pixels of their own, not channels.
  if (!has_vectors || stored > kClLanes) return;
  add("narrow_chain", steps * 1e-3);
  if (params.stride_w > 1) add("narrow_strided_chain", steps * 1e-3);
}

void GpuFeatures::add_matmul() {
  const int32_t rows = defined(launch_, "ROWS", 1);
  const int32_t items = defined(launch_, "ITEMS", 1);
  const int32_t depth = step_.operands[0].dims[1];
  // Items of gemv come in fours for the lanes of a panel.
  const auto steps = static_cast<double>(
      ceil_div(depth, is_matmul_gemv(*step_.row) ? items / kChannelPad : items));
  add_loop(rows == 1 ? k_single_row : k_usual, steps);
  if (!is_processor_ && rows > 1) {
    // Groups that wait for others of their unit.
    add("groups_over_2_unit", (waves(1) - 2) * steps * 1e-3);
  }
  if (!is_processor_ && !is_matmul_gemv(*step_.row)) {
    // Items' runs of the depth are so many vectors of weights apart: words of one bank, or of two.
    const auto run = static_cast<int32_t>(steps);
    const int32_t weight_turns = items / (run % 2 == 0 ? 1 : 2);
    const int32_t x_turns = std::max(1, items * std::gcd(run, kBanks) / kBanks);
    const double turns = (kClLanes * weight_turns + rows * x_turns) * steps * 1e-3;
    add("turns_chain", turns);
    add("turns_unit", waves(1) * turns);
    add("turns_over_unit", (waves(1) - 4) * turns);
  }
  // The second-level cache keeps weights for rows to come.
  const double passes = static_cast<double>(ceil_div(y_.dims[0], rows));
  if (is_processor_ || is_matmul_gemv(*step_.row))
    add("read_weight_mbytes", named("weight_mbytes") * passes);
  add("far_weight_mbytes", named("weight_mbytes") - 20);
  if (depth % kChannelPad != 0) add("ragged_depth_wave4", waves(4) * steps * 1e-3);
}

void GpuFeatures::add_batch_matmul() {
  const BatchMatMulWork work = batch_matmul_work(step_.params_as<BatchMatMulParams>(),
                                                 step_.operands[0], step_.operands[1], y_);
  // Half of a group, two products deep: a wave, which ends at once where there is no product.
  if (launch_.local[2] == 4) {
    const int64_t deep = ceil_div(work.batch_count, 4);
    groups_ *= static_cast<double>(ceil_div(work.batch_count, 2)) / static_cast<double>(2 * deep);
  }
  const auto depth = static_cast<double>(work.k);
  const bool has_columns = defined(launch_, "HAS_ROWS_OF_B", 1) == 0;
  const bool has_quads = work.k % 4 == 0;
  // What waits by columns is lines: refetched_columns_unit, far_columns_unit.
  add_loop(!has_columns ? k_usual
           : has_quads  ? k_columns_of_quads
                        : k_columns,
           depth, is_processor_ || !has_columns);
  // Columns at an edge are read one by one.
  if (work.n % 8 != 0) {
    add("edge_chain", depth * 1e-3);
    if (is_processor_) add("edge_wave4", waves(4) * depth * 1e-3);
  }
  if (!is_processor_) {
    // Neighbours of a wave read eight columns each: lines of their own where a column is one, which
    // the groups of a unit keep for the steps to come if there is room for them.
    const double tiles = group_items(0);
    const double held_kbytes = std::clamp(groups_ / static_cast<double>(units_), 1.0, 32.0) *
                               tiles * (has_columns ? 8 : 2) * 128e-3;
    const double kept_kbytes = kUnitKbytes / (has_columns ? 2 : 4);
    const double read_again = depth * tiles * 1e-3 * std::max(0.0, 1 - kept_kbytes / held_kbytes);
    add(!has_columns ? "row_tiles_chain"
        : has_quads  ? "column_quads_chain"
                     : "column_tiles_chain",
        depth * tiles * 1e-3);
    add(has_columns ? "refetched_columns_unit" : "refetched_rows_unit", waves(1) * read_again);
    if (has_columns) {
      const double product_kbytes = 1e-3 * sizeof(float) * depth * work.n;
      add("far_columns_unit",
          waves(1) * std::max(0.0, 1 - kUnitKbytes / 4 / product_kbytes) * depth * tiles * 1e-3);
      // Columns begin in the middle of sectors of 32 bytes.
      if (work.k % 8 != 0) add("apart_chain", depth * 1e-3);
      // Neighbours are eight columns apart: words of one to four banks.
      const double banks = work.k % 4 == 0 ? 1 : work.k % 2 == 0 ? 2 : 4;
      const auto column_tiles = static_cast<double>(ceil_div(work.n, 8));
      const double mean_tiles = column_tiles / std::ceil(column_tiles / tiles);
      add("turns_unit", waves(1) * static_cast<double>(group_waves()) *
                            std::ceil(mean_tiles / banks) * depth * 1e-3);
    } else if (work.k % 2 == 0) {
      // Found on an H200: even depths take longer, by a tenth up to 128 steps.
      add("even_chain", depth * 1e-3);
    }
    return;
  }
  // Rows of an odd depth begin anywhere in a quad; beyond 40 steps they take longer.
  if (work.k % 2 == 0) return;
  add("odd_chain", depth * 1e-3);
  add("odd_far_chain", (depth - 40) * 1e-3);
}

void GpuFeatures::add_pool2d() {
  const auto& params = step_.params_as<Pool2dParams>();
  const int32_t split = defined(launch_, "TAP_SPLIT", 1);
  if (split > 1) {
    const int64_t taps = int64_t{params.kernel_h} * params.kernel_w;
    const auto steps = static_cast<double>(ceil_div(taps, split));
    return add("shared_chain", steps * 1e-3);
  }
  const double rows = row_taps(
      {params.kernel_h, params.stride_h, params.dilation_h, params.pad_top, params.pad_bottom});
  const WindowAxis axis = {params.kernel_w, params.stride_w, params.dilation_w, params.pad_left,
                           params.pad_right};
  int32_t columns = 0;
  for (int32_t column = 0; column < y_.dims[3]; ++column)
    columns = std::max(columns, taps_inside(axis, step_.operands[0].dims[3], column));
  const double steps = rows * columns * 1e-3;
  add("usual_chain", steps);
  add("usual_unit", waves(1) * steps);
  // Items of a wave read lines of their own.
  add("lines_chain", group_items(0) * steps);
  const WaveLoads loads = wave_loads(params.stride_w);
  add("lines_unit", waves(1) * loads.lines * steps);
  add("turns_unit", waves(1) * loads.turns * steps);
  if (is_processor_) return;
  add_tails(cl_channels(step_).stored_count, rows * columns);
  add_gaps();
}

// Those that share a mean.
int64_t normalized_elements(const StepShape& step) {
  const OperandShape& x = step.operands[0];
  int64_t elements = 1;
  for (int32_t i = 0; i < x.rank; ++i)
    if ((step.params_as<NormalizeParams>().axes_mask >> i & 1) != 0) elements *= x.dims[i];
  return elements;
}

// Steps of an item's loop, and which loop it is.
struct Loop {
  const LoopNames* names = &k_usual;
  double steps = 1;
};

Loop loop_of(const StepShape& step, const ClLaunch& launch) {
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  switch (step.row->op) {
    case OpKind::Convert: {
      const bool is_reordered = x.layout != y.layout;
      const LoopNames* names = !is_reordered               ? &k_usual
                               : y.layout == Layout::Plain ? &k_to_plain
                                                           : &k_from_plain;
      if (x.layout == Layout::Image2d || y.layout == Layout::Image2d) return {names, kChannelPad};
      if (!is_reordered) return {};
      const double pixels =
          double{1} * rows_of_part(step.part_dim, step.part, y).count() * y.dims[3];
      const int32_t channels = y.layout == Layout::Nhwc
                                   ? cl_channels(step).stored_count
                                   : channels_of_part(step.part_dim, step.part, y).count();
      // Of blocks that are not full, fewer items of a wave are at work.
      return {names, pixels / std::ceil(pixels / kClLanes) * std::min(kClLanes, channels)};
    }
    case OpKind::Pool2d: {
      const auto& params = step.params_as<Pool2dParams>();
      const int32_t split = defined(launch, "TAP_SPLIT", 1);
      const int64_t taps = int64_t{params.kernel_h} * params.kernel_w;
      return {split > 1 ? &k_shared : &k_usual, static_cast<double>(ceil_div(taps, split))};
    }
    case OpKind::DepthToSpace: {
      const bool is_major = step.params_as<DepthToSpaceParams>().is_channel_major != 0;
      return {y.dims[1] < kClLanes / 2 ? &k_few_channels
              : is_major               ? &k_channel_major
                                       : &k_usual,
              static_cast<double>(std::min(kClLanes, cl_channels(step).valid_count))};
    }
    case OpKind::Softmax: {
      const int32_t items = defined(launch, "ITEMS", 1);
      const int64_t axis = softmax_work(step.params_as<SoftmaxParams>().axis, y).axis;
      return {items > 1 ? &k_shared : &k_usual, static_cast<double>(ceil_div(axis, items))};
    }
    case OpKind::Normalize: {
      return {defined(launch, "COLUMNS", 1) > 1 ? &k_columns : &k_usual,
              static_cast<double>(ceil_div(normalized_elements(step), defined(launch, "ROWS", 1)))};
    }
    case OpKind::Transpose:
      return {defined(launch, "SIDE", 0) != 0 ? &k_shared : &k_usual, 1};
    case OpKind::Concat:
      return {&k_usual, static_cast<double>(step.operand_count - 1)};
    case OpKind::Resize:
      return defined(launch, "IS_NEAREST", 1) != 0 ? Loop{} : Loop{&k_linear, 4};
    default:
      return {};
  }
}

// Names of what a function of Unary takes besides what it reads and writes.
struct FunctionNames {
  const char* chain;
  const char* held;
  const char* rest;
};
#define FUNCTION_NAMES(name) \
  { #name "_chain", #name "_over_unit", #name "_over_held_unit" }
constexpr FunctionNames kExp = FUNCTION_NAMES(exp);
constexpr FunctionNames kSigmoid = FUNCTION_NAMES(sigmoid);
constexpr FunctionNames kSwish = FUNCTION_NAMES(swish);
constexpr FunctionNames kErf = FUNCTION_NAMES(erf);
constexpr FunctionNames kTanh = FUNCTION_NAMES(tanh);
#undef FUNCTION_NAMES

// Null for one of an instruction or two. Members that no sample has count as one of about as many
// instructions.
const FunctionNames* function_of(int32_t kind) {
  switch (kind) {
    case kUnaryExp:
    case kUnaryElu:
    case kUnarySelu:
    case kUnaryCelu:
    case kUnaryLog:
      return &kExp;
    case kUnarySigmoid:
      return &kSigmoid;
    case kUnarySwish:  // divides besides what Sigmoid does
    case kUnaryGeluTanh:
      return &kSwish;
    case kUnaryGelu:
    case kUnaryErf:
      return &kErf;
    case kUnaryTanh:
    case kUnaryMish:
    case kUnarySoftplus:
      return &kTanh;
    default:
      return kind >= kUnarySin && kind <= kUnaryAtanh ? &kTanh : nullptr;
  }
}

void GpuFeatures::add_function() {
  const FunctionNames* names = function_of(step_.params_as<UnaryParams>().kind);
  if (names == nullptr) return;
  // An item computes its elements one after the other, however few items there are.
  add(names->chain, 1e-3 * kClLanes);
  const double groups = waves(1);
  // Found on an H200: loads hide the arithmetic of so many groups.
  if (groups <= kHiddenGroups) return;
  add("function_chain", 1e-3 * kClLanes);
  add(names->held, std::min(groups, kMostHeldGroups) - kHiddenGroups);
  add(names->rest, groups - kMostHeldGroups);
}

// Groups that the units hold at first all wait for memory at once; later ones begin while others
// end.
double GpuFeatures::first_share() const { return std::min(1.0, kMostHeldGroups / waves(1)); }

// Of runs of `stored` lanes: whole vectors, which take longer than others.
void GpuFeatures::add_vectors(int32_t stored) {
  const double full_share =
      static_cast<double>(stored / kClLanes) / static_cast<double>(ceil_div(stored, kClLanes));
  add("first_kitems", first_share() * full_share * items_ * 1e-3);
  add_tails(stored, 1);
}

// A wave loads whole vectors, then 8, 4, 2 and 1 lanes of others, one after the other.
void GpuFeatures::add_tails(int32_t stored, double steps) {
  const int loads =
      (stored >= kClLanes ? 1 : 0) + std::popcount(static_cast<uint32_t>(stored % kClLanes));
  add("tail_chain", (loads - 1) * steps * 1e-3);
}

// Of a part of the channels: lines of 128 bytes that the runs of pixels touch, without what they
// would fill if they lay together.
void GpuFeatures::add_gaps() {
  if (y_.layout != Layout::Nhwc || step_.part_dim != SplitDim::OutputChannel) return;
  constexpr int64_t kLineFloats = 32;
  const ClChannels channels = cl_channels(step_);
  const int64_t stride = padded_channels(y_);
  // Where runs begin in a line repeats after so many pixels.
  double lines = 0;
  for (int64_t pixel = 0; pixel < kLineFloats; ++pixel)
    lines += static_cast<double>(ceil_div(
        (channels.begin + pixel * stride) % kLineFloats + channels.stored_count, kLineFloats));
  const double pixels = static_cast<double>(part_elements(step_)) / channels.valid_count;
  const double filled = static_cast<double>(channels.stored_count) / kLineFloats;
  add("gaps_over_klines", pixels * (lines / kLineFloats - filled) * 1e-3);
}

void GpuFeatures::add_convert(double steps) {
  const bool is_plain = y_.layout == Layout::Plain;
  if (is_plain) add("to_plain_melements", melements());
  if (defined(launch_, "FORM", 0) == 0) return;
  // Where the order changes, each block of pixels of a wave is in lines of its own.
  add(is_plain ? "to_plain_lines_chain" : "from_plain_lines_chain",
      steps * static_cast<double>(std::min<uint64_t>(launch_.scalars[1], launch_.local[0])) * 1e-3);
  if (is_processor_) return;
  if (!is_plain) add("from_plain_melements", melements());
  // Planes that begin anywhere in a sector, so that blocks of pixels share lines.
  if (y_.dims[2] * y_.dims[3] % 2 == 0) return;
  if (is_plain)
    add("to_odd_planes_melements", melements());
  else
    add("from_odd_planes_chain", steps * 1e-3);
}

void GpuFeatures::add_binary() {
  if (is_processor_) {
    if (reads_two_of_the_size_of_y()) add("paired_mbytes", named("mbytes"));
    return;
  }
  // Found on an H200: beyond a quarter of the second-level cache these take longer.
  if (reads_two_of_the_size_of_y()) add("paired_over_mbytes", named("mbytes") - kNearMbytes / 2);
  // An operand of a value per channel is another vector to load.
  const int64_t fewer =
      std::min(element_count(step_.operands[0]), element_count(step_.operands[1]));
  const bool divides = step_.params_as<BinaryParams>().kind == kBinaryDiv;
  // An item divides its elements one after the other.
  if (divides) add("divided_chain", 1e-3 * kClLanes);
  if (fewer > 1 && fewer < element_count(y_)) {
    add("broadcast_melements", melements());
    add(divides ? "broadcast_divided_kitems" : "broadcast_first_kitems",
        first_share() * items_ * 1e-3);
    // As with functions of Unary. Divisions spread loads and stores.
    if (!divides) add("broadcast_over_unit", std::min(waves(1), kMostHeldGroups) - kHiddenGroups);
  }
  add("items_over_kitems", items_ * 1e-3 - kFewKitems);
}

// Names of steps by fours and one by one.
struct BatchNames {
  const char* chain;
  const char* unit;
  const char* single_chain;
  const char* single_unit;
};
constexpr BatchNames kBatches = {"batch_chain", "batch_unit", "single_chain", "single_unit"};
constexpr BatchNames kColumnBatches = {"column_batch_chain", "column_batch_unit",
                                       "column_single_chain", "column_single_unit"};

// Of `items` that share `elements`, `wave_items` of them in a wave. Loops are unrolled four times:
// loads of a batch of steps wait together, those of the steps that are left one after the other. A
// wave where only some items have a last step runs what either have.
void GpuFeatures::add_batches(const BatchNames& names, int64_t elements, int64_t items,
                              int64_t wave_items) {
  const int64_t least = elements / items;
  const int64_t most = ceil_div(elements, items);
  const bool has_mixed_wave = elements % items % wave_items != 0;
  int64_t batches = most / 4;
  int64_t singles = most % 4;
  if (has_mixed_wave || singles == 0) singles = std::max(singles, least % 4);
  // Waves of one kind each: those with three steps that are left take longer than a batch.
  if (!has_mixed_wave && most % 4 == 0) batches = least / 4;
  const std::pair<const char*, double> values[] = {
      {names.chain, static_cast<double>(batches)},
      {names.unit, waves(1) * static_cast<double>(batches)},
      {names.single_chain, static_cast<double>(singles)},
      {names.single_unit, waves(1) * static_cast<double>(singles)}};
  for (const auto& [name, value] : values) add(name, value * 1e-3);
}

void GpuFeatures::add_softmax() {
  const SoftmaxWork work = softmax_work(step_.params_as<SoftmaxParams>().axis, y_);
  const int64_t items = defined(launch_, "ITEMS", 1);
  if (items > 1) {
    add_batches(kBatches, work.axis, items, kBanks);
    return;
  }
  const auto steps = static_cast<double>(work.axis);
  add_loop(k_usual, steps, /*has_unit=*/false);
  add("long_over_chain", (steps - 20) * 1e-3);
  // Neighbours of a wave have runs of their own: lines of 128 bytes that a load touches, and words
  // that it finds in the same bank.
  constexpr int64_t kLineFloats = 32;
  int32_t words[kBanks] = {};
  double lines = 0;
  int64_t last_line = -1;
  for (int64_t item = 0; item < std::min<int64_t>(kBanks, static_cast<int64_t>(launch_.local[0]));
       ++item) {
    const int64_t at = item / work.inner * work.outer_stride + item % work.inner;
    ++words[at % kBanks];
    if (at / kLineFloats != last_line) ++lines;
    last_line = at / kLineFloats;
  }
  add("lines_unit", waves(1) * lines * steps * 1e-3);
  add("turns_unit", waves(1) * *std::max_element(words, words + kBanks) * steps * 1e-3);
}

void GpuFeatures::add_pad() {
  const int32_t stored = cl_channels(step_).stored_count;
  add("full_kitems", items_ * 1e-3 * (stored / kClLanes) / ceil_div(stored, kClLanes));
  add_vectors(stored);
  // Each kind is a program of its own.
  switch (step_.params_as<PadParams>().kind) {
    case kPadConstant:
      return add("constant_kitems", items_ * 1e-3);
    case kPadEdge:
      return add("edge_kitems", items_ * 1e-3);
    default:
      // Divides to find its pixel.
      add("place_chain", 1e-3);
      return add("reflect_kitems", items_ * 1e-3);
  }
}

void GpuFeatures::add_concat() {
  // Found on an H200: programs of two and three inputs, which are compiled by themselves, take
  // longer than those of more.
  const uint32_t input_count = step_.operand_count - 1;
  if (input_count <= 3) add(input_count == 3 ? "three_melements" : "two_melements", melements());
  // Vectors of a pixel of y.
  int64_t full = 0;
  int64_t tails = 0;
  uint32_t tail_lanes = 0;  // bits: 8, 4, 2 and 1 of any tail
  for (uint32_t i = 0; i < input_count; ++i) {
    const int32_t channels = step_.operands[i].dims[1];
    full += channels / kClLanes;
    tails += channels % kClLanes != 0 ? 1 : 0;
    tail_lanes |= static_cast<uint32_t>(channels % kClLanes);
  }
  const auto vectors = static_cast<double>(full + tails);
  add("full_kitems", items_ * 1e-3 * static_cast<double>(full) / vectors);
  add("first_kitems", first_share() * items_ * 1e-3 * static_cast<double>(full) / vectors);
  add("tail_chain", ((full > 0 ? 1 : 0) + std::popcount(tail_lanes) - 1) * 1e-3);
  // Waves without a tail, whose items all begin at the same places of lines. On an H200 1.15 TB/s;
  // 1.5 to 1.9 with tails.
  const double waves_with_tail =
      std::min(1.0, static_cast<double>(launch_.local[0]) * static_cast<double>(tails) / vectors);
  add("aligned_kitems", (1 - waves_with_tail) * items_ * 1e-3);
}

void GpuFeatures::add_depth_to_space() {
  const auto& params = step_.params_as<DepthToSpaceParams>();
  const int32_t stored = cl_channels(step_).stored_count;
  const int32_t chunks = (stored + kClLanes - 1) / kClLanes;
  add("full_kitems", items_ * 1e-3 * (stored / kClLanes) / chunks);
  if (stored % kClLanes == 0) add("aligned_kitems", items_ * 1e-3);
  // Those that the units hold at first all wait at once: found on an H200, 0.16 us a thousand, and
  // 0.09 of others.
  const double first = std::min(1.0, kMostHeldGroups * static_cast<double>(units_) / groups_);
  add("first_kitems", first * items_ * 1e-3 * (stored / kClLanes) / chunks);
  // Lanes of an item are a block apart where channels are major: sectors of 32 bytes, which
  // neighbours of a row in the group share.
  double sectors = stored / 8.0 / chunks;
  if (params.is_channel_major != 0) {
    const double lanes = static_cast<double>(stored) / chunks;
    const double sharing =
        std::clamp<double>(static_cast<double>(launch_.local[0]) / chunks, 1, params.block_w);
    sectors = lanes * std::min(1.0, params.block_h * params.block_w / 8.0) / sharing;
  }
  add("sector_mbytes", items_ * sectors * 32e-6);
  // A program of its own.
  add(params.is_channel_major != 0 ? "channel_major_kitems" : "block_major_kitems", items_ * 1e-3);
  if (step_.part_dim == SplitDim::OutputChannel) add("apart_kitems", items_ * 1e-3);
  add_gaps();
}

void GpuFeatures::add_other() {
  const Loop loop = loop_of(step_, launch_);
  if (step_.row->op == OpKind::DepthToSpace && !is_processor_) return add_depth_to_space();
  if (step_.row->op == OpKind::Resize && y_.layout == Layout::Nhwc) {
    add("usual_unit", waves(1) * loop.steps * 1e-3);
    if (is_processor_) return add_corner_lines();
    add_vectors(cl_channels(step_).stored_count);
    add_gaps();
    add(loop.names == &k_linear ? "linear_first_kitems" : "nearest_first_kitems",
        first_share() * items_ * 1e-3);
    // Corners are a case of their own; else what is written takes as long as what is read.
    if (loop.names == &k_linear)
      add(k_linear.chain, loop.steps * 1e-3);
    else
      add("banks_unit", waves(1) * bank_words(1) * 1e-3);
    return add_corner_lines();
  }
  // Items of Normalize wait for each other within a group alone.
  if (step_.row->op == OpKind::Softmax && !is_processor_)
    add_softmax();
  else
    add_loop(*loop.names, loop.steps, is_processor_ || step_.row->op != OpKind::Normalize);
  if (step_.row->op == OpKind::Normalize && !is_processor_) {
    const int32_t columns = defined(launch_, "COLUMNS", 1);
    add_batches(columns > 1 ? kColumnBatches : kBatches, normalized_elements(step_),
                defined(launch_, "ROWS", 1), std::max(1, kBanks / columns));
  }
  if (step_.row->op == OpKind::Convert) add_convert(loop.steps);
  if (step_.row->op == OpKind::Convert && !is_processor_ && defined(launch_, "FORM", 1) == 0) {
    add_vectors(static_cast<int32_t>(launch_.scalars[4]));
    add_gaps();
  }
  if (!is_processor_) {
    add("melements_over_few", melements() - kFewMelements);
    add("melements_over_some", melements() - 2 * kFewMelements);
  }
  if (step_.row->op == OpKind::Binary) add_binary();
  if (step_.row->op == OpKind::Unary && !is_processor_) add_function();
  if (!is_processor_ && (step_.row->op == OpKind::Unary || step_.row->op == OpKind::Binary)) {
    if (y_.layout != Layout::Image2d) add_vectors(static_cast<int32_t>(launch_.scalars[4]));
    add_gaps();
  }
  if (step_.row->op == OpKind::Pad && !is_processor_ && y_.layout == Layout::Nhwc) add_pad();
  if (step_.row->op == OpKind::Concat && !is_processor_) add_concat();
  // Runs with gaps between them.
  if (step_.part_dim == SplitDim::OutputChannel &&
      (is_processor_ || step_.row->op == OpKind::Binary || step_.row->op == OpKind::Unary))
    add("apart_kitems", items_ * 1e-3);
  if (!is_processor_) return;
  add("far_mbytes", named("mbytes") - kNearMbytes);
  if (y_.layout != Layout::Nhwc || y_.rank != 4) return;
  const int32_t stored = cl_channels(step_).stored_count;
  if (stored % kClLanes != 0) add("ragged_unit", waves(1) * loop.steps * 1e-3);
}

}  // namespace

void add_gpu_features(const StepShape& step, const GpuFacts& gpu, Features* features) {
  GpuFeatures(step, gpu, features).add();
}

}  // namespace codl::kernels
