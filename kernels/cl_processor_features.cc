#include "kernels/cl_processor_features.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/binary/binary.h"
#include "kernels/common/cl_launch.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd_cl.h"
#include "kernels/convert/convert.h"
#include "kernels/depth_to_space/depth_to_space.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "kernels/kernel_table.h"
#include "kernels/matmul/matmul.h"
#include "kernels/pad/pad.h"
#include "kernels/pool2d/pool2d.h"
#include "kernels/softmax/softmax.h"

namespace codl::kernels {
namespace {

constexpr int32_t kLineFloats = 16;
constexpr int32_t kPageFloats = 1024;
// Lines that one place of a first-level cache holds: 8 or 12.
constexpr int32_t kMostWays = 12;
// Half of a first-level cache, 32 or 48 KB.
constexpr double kNearLines = 256;

// Taps inside the map, of outputs [begin, end) together.
double taps_inside(const WindowAxis& axis, int32_t input, int32_t begin, int32_t end) {
  int64_t inside = 0;
  for (int32_t tap = 0; tap < axis.taps; ++tap) {
    const Range positions = positions_inside(axis, tap, input, end);
    inside += std::max(positions.end - std::max(positions.begin, begin), 0);
  }
  return static_cast<double>(inside);
}

// The share of taps of which any of outputs [begin, end) is inside the map: the weights of the
// others nobody reads.
double share_in_use(const WindowAxis& axis, int32_t input, int32_t begin, int32_t end) {
  int32_t in_use = 0;
  for (int32_t tap = 0; tap < axis.taps; ++tap) {
    const Range positions = positions_inside(axis, tap, input, end);
    if (positions.end > std::max(positions.begin, begin)) ++in_use;
  }
  return static_cast<double>(in_use) / axis.taps;
}

// The vectors of 16 channels of a pixel.
struct Vectors {
  explicit Vectors(int32_t channels) : whole(channels / kClLanes) {
    // load_lanes() of prelude.cl.
    for (int32_t rest = channels % kClLanes; rest != 0; rest &= rest - 1) ++pieces;
    ragged = pieces > 0 ? 1 : 0;
  }
  double all() const { return whole + ragged; }

  double whole;
  double ragged;
  double pieces = 0;  // loads that the ragged one takes
};

// The share of vectors of 16 floats, so many floats apart, that lie in two lines.
double split_share(int32_t pitch_floats) {
  if (pitch_floats % kLineFloats == 0) return 0;
  return pitch_floats % (kLineFloats / 2) == 0 ? 0.5 : 0.75;
}

// The share of lines, so many floats apart, that no neighbour brings.
double apart_share(int32_t pitch_floats) {
  constexpr int32_t kPairFloats = 2 * kLineFloats;
  if (pitch_floats <= kPairFloats || pitch_floats >= kPageFloats) return 0;
  return 1 - static_cast<double>(kPairFloats) / pitch_floats;
}

int64_t groups_of(const ClLaunch& launch) {
  int64_t groups = 1;
  for (int i = 0; i < 3; ++i)
    groups *= static_cast<int64_t>(launch.global[i] / std::max<uint64_t>(launch.local[i], 1));
  return groups;
}

// PoCL's threads take groups of what is left, their share of it or so many at most, whenever they
// have none.
constexpr int64_t kMostGroups = 256;  // of each thread; an eighth if fewer than that are left

bool are_many(int64_t left, int64_t threads) { return left > kMostGroups * threads * threads; }

int64_t taken_of(int64_t left, int64_t threads) {
  const int64_t most = threads * (are_many(left, threads) ? kMostGroups : kMostGroups / 8);
  return std::min(most, ceil_div(left, threads));
}

double begins_of(int64_t groups, int32_t units) {
  int64_t begins = 0;
  for (int64_t left = groups; left > 0; ++begins) left -= taken_of(left, units);
  return static_cast<double>(begins) / units;
}

// Of the first groups of a launch, work-items without those that fill up groups, each as heavy as
// its layer: `weight_of_first` is of so many layers.
template <typename Weight>
class WorkOfFirst {
 public:
  WorkOfFirst(const ClLaunch& launch, const Weight& weight_of_first) : weigh_(weight_of_first) {
    for (int i = 0; i < 3; ++i) {
      local_[i] = static_cast<int64_t>(std::max<uint64_t>(launch.local[i], 1));
      groups_[i] = static_cast<int64_t>(launch.global[i]) / local_[i];
      // The first scalars of a launch that fills up groups are how many items it has.
      const auto extent = static_cast<int64_t>(launch.scalars[i]);
      const bool is_filled_up = ceil_div(extent, local_[i]) == groups_[i];
      items_[i] = is_filled_up ? extent : groups_[i] * local_[i];
    }
  }

  double operator()(int64_t groups) const {
    const int64_t row = groups / groups_[0] % groups_[1];
    const int64_t layer = groups / groups_[0] / groups_[1];
    const double first_layers = weigh_(before(2, layer));
    const int64_t row_items = before(1, row + 1) - before(1, row);
    const int64_t items = before(1, row) * items_[0] + row_items * before(0, groups % groups_[0]);
    return first_layers * static_cast<double>(items_[1] * items_[0]) +
           (weigh_(before(2, layer + 1)) - first_layers) * static_cast<double>(items);
  }

 private:
  int64_t before(int axis, int64_t groups) const {
    return std::min(groups * local_[axis], items_[axis]);
  }

  const Weight& weigh_;
  int64_t local_[3];
  int64_t groups_[3];
  int64_t items_[3];
};

// How long the thread works that is done last, of the step's work together. The first takes its
// share of the groups at once; where the last groups have less work, that is more than its share of
// the work. `work_of_first`: of so many groups. `late`: what the others miss, who are woken.
template <typename Work>
double busiest_share(int64_t groups, int32_t units, const Work& work_of_first, double late = 0) {
  constexpr int32_t kMostUnits = 8;
  if (units > kMostUnits || are_many(groups, units))
    return static_cast<double>(ceil_div(groups, int64_t{units})) / static_cast<double>(groups) +
           late * (units - 1) / units;
  double work[kMostUnits] = {};
  const double all = work_of_first(groups);
  std::fill(work + 1, work + units, late * all);
  double done = 0;
  for (int64_t begun = 0; begun < groups;) {
    begun += taken_of(groups - begun, units);
    const double before = work_of_first(begun);
    *std::min_element(work, work + units) += before - done;
    done = before;
  }
  return *std::max_element(work, work + units) / all;
}

// What the first work-items of the convolution on buffers have to do, each as heavy as its row:
// `weight_of_first` is of so many rows of all images. Where panels do not fill the last of the
// blocks that pass one behind the other, every so manyth item has none.
template <typename Weight>
double work_of_items(const Conv2dBufferGrid& grid, int64_t layers, int64_t items,
                     const Weight& weight_of_first) {
  const int64_t last_blocks =
      grid.panels.count() / grid.item_panels - (grid.outer_blocks - 1) * grid.inner_blocks;
  const int64_t layer_items = grid.inner_blocks * grid.pixel_blocks;
  double work = 0;
  for (int64_t outer = 0; outer < grid.outer_blocks && items > 0; ++outer) {
    const int64_t blocks = outer + 1 < grid.outer_blocks ? grid.inner_blocks : last_blocks;
    const int64_t own = std::min(items, layer_items * layers);
    const auto in_use = [&](int64_t count) {
      return static_cast<double>(count / grid.inner_blocks * blocks +
                                 std::min(count % grid.inner_blocks, blocks));
    };
    const double before = weight_of_first(own / layer_items);
    work += in_use(layer_items) * before;
    if (own % layer_items > 0)
      work += in_use(own % layer_items) * (weight_of_first(own / layer_items + 1) - before);
    items -= own;
  }
  return work;
}

class ProcessorFeatures {
 public:
  ProcessorFeatures(const StepShape& step, const GpuFacts& gpu, const ClLaunch& launch,
                    Features* features)
      : step_(step),
        y_(step.output()),
        features_(*features),
        registers_(gpu.registers),
        launch_(launch) {
    const int64_t groups = groups_of(launch_);
    groups_ = static_cast<double>(groups);
    unit_groups_ = static_cast<double>(ceil_div(groups, int64_t{gpu.units}));
    // Of bytes: memory and the caches behind it are everyone's.
    const double even_share = unit_groups_ / groups_;
    share_ = even_share;
    if (is_shared()) {
      const auto count_work = [&](const auto& work_of_first) {
        share_ = busiest_share(groups, gpu.units, work_of_first);
        constexpr double kLate = 0.05;
        late_share_ = (busiest_share(groups, gpu.units, work_of_first, kLate) - share_) / kLate;
      };
      const auto first_items = [&](int64_t begun) {
        return begun * static_cast<int64_t>(launch_.local[0]);
      };
      if (is_conv2d_quad(*step.row)) {
        const auto taps_of_first = [&](int64_t layers) { return taps_of_rows(layers); };
        count_work(WorkOfFirst(launch_, taps_of_first));
      } else if (is_conv2d_buffer(*step.row)) {
        const Conv2dBufferGrid grid = conv2d_buffer_grid(step);
        const auto weigh = [&](int64_t layers) {
          return grid.is_joined ? static_cast<double>(layers) : taps_of_rows(layers);
        };
        const int64_t layers = int64_t{grid.rows} * y_.dims[0];
        count_work(
            [&](int64_t begun) { return work_of_items(grid, layers, first_items(begun), weigh); });
      } else if (is_winograd_item(*step.row)) {
        count_work([&](int64_t begun) { return blocks_in_use(first_items(begun)); });
      } else if (step.row->op == OpKind::MatMul) {  // its first scalars are no extents
        count_work([](int64_t begun) { return static_cast<double>(begun); });
      } else {
        const auto count = [](int64_t layers) { return static_cast<double>(layers); };
        count_work(WorkOfFirst(launch_, count));
      }
    }
    const double elements = static_cast<double>(part_elements(step));
    pixels_ = double{1} * y_.dims[0] * rows().count() * y_.dims[3];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < features->count; ++i) {
      Feature feature = features->items[i];
      const std::string_view name = feature.name;
      const bool is_mapped = name.substr(0, 10) == "melements_";
      if (name == "mbytes") mbytes_ = feature.value * even_share;
      if (name == "weight_mbytes") weight_mbytes_ = feature.value;
      if (name != "steps" && name != "begins" && !is_mapped) continue;
      if (is_mapped) feature.value = mapped_lanes(elements) * share_ * 1e-6;
      features->items[kept++] = feature;
    }
    features->count = kept;
    written_mbytes_ = elements * static_cast<double>(dtype_bytes(y_.dtype)) * 1e-6 * even_share;
    once("shares", is_shared() ? 1 : 0);
  }

  void add_batch_matmul();
  void add_conv2d();
  void add_convert();
  void add_depth_to_space();
  void add_depthwise();
  void add_matmul();
  void add_pool();
  void add_runs();
  void add_slice();
  void add_softmax();
  void add_texels();
  void add_transpose();
  void add_winograd();

 private:
  void once(const char* name, double value) {
    if (value > 0) features_.add(name, value);
  }
  // Counts are of the whole step.
  void thousands(const char* name, double count) { once(name, count * share_ * 1e-3); }
  void millions(const char* name, double count) { once(name, count * share_ * 1e-6); }

  int32_t defined(std::string_view name, int32_t otherwise) const {
    for (uint32_t i = 0; i < launch_.define_count; ++i)
      if (name == launch_.defines[i].name) return launch_.defines[i].value;
    return otherwise;
  }
  double scalar(int i) const { return launch_.scalars[i]; }
  bool is_part_of_channels() const { return step_.part_dim == SplitDim::OutputChannel; }
  Range rows() const {
    return y_.rank == 4 ? rows_of_part(step_.part_dim, step_.part, y_) : Range{0, 1};
  }

  void add_axes();
  void add_unrolled_depths(int32_t depth, int32_t sharers);

  // Rows of taps inside the map of the first rows of a convolution's part, of all images.
  double taps_of_rows(int64_t count) const {
    const OperandShape& x = step_.operands[0];
    const WindowAxis vertical =
        vertical_axis(step_.params_as<Conv2dParams>(), step_.operands[1].dims);
    const Range part = rows();
    const auto of_first = [&](int64_t first) {
      return taps_inside(vertical, x.dims[2], part.begin, part.begin + static_cast<int32_t>(first));
    };
    return static_cast<double>(count / part.count()) * of_first(part.count()) +
           of_first(count % part.count());
  }

  // Lanes of the vectors whose elements an activation or a Unary is applied to.
  double mapped_lanes(double elements) const {
    const KernelRow& row = *step_.row;
    const auto full = [](int32_t channels, int32_t lanes) {
      return static_cast<double>(ceil_div(channels, lanes)) * lanes;
    };
    const int32_t channels = channels_of_part(step_.part_dim, step_.part, y_).count();
    switch (row.op) {
      case OpKind::Unary:
      case OpKind::Binary:
        return scalar(0) * kClLanes;
      case OpKind::Conv2d:
      case OpKind::DepthwiseConv2d:
        return pixels_ * full(channels, is_conv2d_quad(row) ? kChannelPad : kClLanes);
      case OpKind::MatMul:
        return elements / channels * full(channels, is_matmul_gemv(row) ? kChannelPad : kClLanes);
      default:
        return elements;
    }
  }

  // Blocks of tiles in registers of the first work-items of Winograd's products: the last of those
  // that share panels has what is left.
  double blocks_in_use(int64_t items) const {
    const auto tiles = static_cast<int64_t>(winograd_item_work(step_).tiles);
    const int64_t register_tiles = winograd_item_of(step_).register_tiles;
    const auto tile_blocks = static_cast<int64_t>(scalar(1));
    items = std::min(items, static_cast<int64_t>(scalar(0)));
    const auto blocks = [&](int64_t of_items) {
      return ceil_div(std::min(of_items * static_cast<int64_t>(scalar(2)), tiles), register_tiles);
    };
    return static_cast<double>(items / tile_blocks * blocks(tile_blocks) +
                               blocks(items % tile_blocks));
  }

  void moved() {
    once("mbytes", mbytes_);
    once("written_mbytes", written_mbytes_);
  }

  // From the part's first row on.
  double inputs_mbytes() const {
    double bytes = 0;
    for (uint32_t i = 0; i + 1 < step_.operand_count; ++i)
      if (step_.operands[i].layout != Layout::Packed)
        bytes += static_cast<double>(step_.operands[i].bytes);
    if (step_.part_dim == SplitDim::Height)
      bytes *= 1 - static_cast<double>(rows().begin) / y_.dims[2];
    return bytes * 1e-6;
  }

  // The lines of a step's inputs are as far behind in the cache as the inputs are long: each is
  // read again in the order in which all came.
  struct LevelNames {
    const char* names[3];  // null: the level is left out
  };
  static constexpr double kLevelMbytes[] = {1, 4, 8};
  static constexpr LevelNames kLevels = {{"mbytes_over_1", "mbytes_over_4", nullptr}};
  static constexpr LevelNames kFarLevels = {{"mbytes_over_1", nullptr, "mbytes_over_8"}};
  static constexpr LevelNames kSharedLevels = {{"shared_mbytes_over_1", nullptr, nullptr}};
  void beyond_caches(const LevelNames& levels = kLevels, int level_count = 2) {
    const double input_mbytes = inputs_mbytes();
    for (int i = 0; i < level_count; ++i) {
      if (levels.names[i] == nullptr) continue;
      const double share = std::clamp(input_mbytes / kLevelMbytes[i] - 1, 0.0, 1.0);
      once(levels.names[i], (mbytes_ - written_mbytes_) * share);
    }
  }

  bool is_shared() const { return unit_groups_ < groups_; }

  // Inputs of which a unit finds a part in another one's cache.
  void near() {
    constexpr double kNearMbytes = 0.25;
    if (is_shared()) once("near_mbytes", std::min(inputs_mbytes() * share_, kNearMbytes));
  }
  // Bytes as far as nothing fetches them from another unit's cache ahead of time yet.
  void first_bytes() {
    constexpr double kFirstMbytes = 0.05;
    if (is_shared()) once("first_mbytes", std::min(mbytes_, kFirstMbytes));
  }

  // Where groups take longer than waking a unit does.
  void late() { once("late_shares", late_share_); }

  // Weights lie in `blocks` that pass one behind the other, each for as many groups. Returns those
  // of a unit's groups, which it reads for the first time.
  double first_weights(double blocks) const {
    const double unit_blocks = std::ceil(unit_groups_ * blocks / groups_);
    return weight_mbytes_ * std::min(unit_blocks / blocks, 1.0);
  }

  const StepShape& step_;
  const OperandShape& y_;
  Features& features_;
  int32_t registers_;  // floats
  const ClLaunch& launch_;
  double late_share_ = 0;  // of what other units miss, by which the step takes longer
  double groups_ = 1;
  double unit_groups_ = 1;  // of the unit that has most
  double share_ = 1;        // of the step's arithmetic, of that unit
  double pixels_ = 1;       // of the part
  // Of that unit; weights of the step.
  double mbytes_ = 0;
  double written_mbytes_ = 0;
  double weight_mbytes_ = 0;
};

// A work-item has kDepthwiseBufferPixels pixels, those behind a row's last included.
void ProcessorFeatures::add_depthwise() {
  const auto& params = step_.params_as<DepthwiseConv2dParams>();
  const OperandShape& x = step_.operands[0];
  const OperandShape& w = step_.operands[1];
  const Vectors vectors(cl_channels(step_).stored_count);
  const auto blocks = static_cast<int32_t>(ceil_div(y_.dims[3], kDepthwiseBufferPixels));
  const WindowAxis horizontal = horizontal_axis(params, w.dims);
  const double row_taps =
      y_.dims[0] * taps_inside(vertical_axis(params, w.dims), x.dims[2], rows().begin, rows().end);
  const double taps =
      row_taps * taps_inside(horizontal, x.dims[3], 0, blocks * kDepthwiseBufferPixels);
  const double item_rows = row_taps * blocks * vectors.all();
  // A filter narrower than its stride leaves out columns, or rows.
  const double item_columns =
      (kDepthwiseBufferPixels - 1) * std::min(params.stride_w, w.dims[3]) + w.dims[3];
  const double read_share = std::min(1.0, static_cast<double>(w.dims[2]) / params.stride_h) *
                            std::min(1.0, static_cast<double>(w.dims[3]) / params.stride_w);
  mbytes_ = written_mbytes_ + read_share * (mbytes_ - written_mbytes_);
  const int32_t pitch = padded_channels(y_);
  late();
  moved();
  beyond_caches(kLevels, 1);
  // Lines of a block of pixels, and of weights; the next block reads the columns that both have and
  // the weights again.
  const double block_lines = vectors.all() * w.dims[2] * (item_columns + w.dims[3]);
  const double lost_share = std::clamp(block_lines / kNearLines - 1, 0.0, 1.0);
  const double again_lines = std::max(w.dims[3] - params.stride_w, 0) + w.dims[3];
  thousands("lost_klines", item_rows * again_lines * lost_share);
  // The next row of outputs reads most of the rows again.
  const double window_mbytes = 64e-6 * vectors.all() * w.dims[2] * x.dims[3];
  const double again_rows = std::max(static_cast<double>(w.dims[2]) / params.stride_h - 1, 0.0);
  once("read_mbytes_over_0.5",
       (mbytes_ - written_mbytes_) * again_rows * std::clamp(window_mbytes / 0.5 - 1, 0.0, 1.0));
  const double used_share =
      share_in_use(vertical_axis(params, w.dims), x.dims[2], rows().begin, rows().end);
  once("weight_mbytes", used_share * 64e-6 * vectors.all() * w.dims[2] * w.dims[3]);
  thousands("item_krows", item_rows);
  thousands("weight_krows", item_rows * w.dims[3]);
  thousands("ktaps", taps * vectors.all());
  thousands("ragged_ktaps", taps * vectors.ragged);
  thousands("piece_ktaps", taps * vectors.pieces);
  thousands("split_ktaps", taps * vectors.whole * split_share(pitch));
  thousands("apart_klines", item_rows * item_columns * apart_share(pitch));
  thousands("apart_kpixels", pixels_ * vectors.all() * apart_share(pitch));
  if (is_part_of_channels()) thousands("part_kpixels", pixels_ * vectors.all());
  thousands("ragged_kpixels", pixels_ * vectors.ragged);
  thousands("kitems", scalar(0));
}

void ProcessorFeatures::add_pool() {
  const auto& params = step_.params_as<Pool2dParams>();
  const OperandShape& x = step_.operands[0];
  const Vectors vectors(cl_channels(step_).stored_count);
  const int32_t dims[4] = {1, 1, params.kernel_h, params.kernel_w};
  const double row_taps =
      y_.dims[0] * taps_inside(vertical_axis(params, dims), x.dims[2], rows().begin, rows().end);
  const double taps =
      row_taps * taps_inside(horizontal_axis(params, dims), x.dims[3], 0, y_.dims[3]);
  const int32_t pitch = padded_channels(y_);
  const double split_taps = taps * vectors.whole * split_share(pitch);
  late();
  thousands("piece_ktaps", taps * vectors.pieces);
  // Items that share a window read far from each other, and wait for each line.
  if (defined("TAP_SPLIT", 1) > 1) {
    beyond_caches(kSharedLevels, 1);
    thousands("shared_split_ktaps", split_taps);
    thousands("shared_ktaps", taps * vectors.all());
    thousands("shared_kgroups", groups_);
    return;
  }
  once("mbytes", mbytes_);
  thousands("ktaps", taps * vectors.all());
  thousands("split_ktaps", split_taps);
  thousands("window_krows", row_taps * y_.dims[3] * vectors.all());
  thousands("kitems", scalar(0));
  if (params.kind != kPool2dMax) thousands("divided_kitems", scalar(0));
  // Lines of a window, which the next pixel's has, too, but for the columns that it moves by.
  const double window_lines = vectors.all() * params.kernel_h * params.kernel_w;
  const double lost_share = std::clamp(window_lines / kNearLines - 1, 0.0, 1.0);
  const int32_t again_columns = std::max(params.kernel_w - params.stride_w, 0);
  thousands("lost_klines",
            row_taps * (y_.dims[3] - 1) * vectors.all() * again_columns * lost_share);
  if (is_part_of_channels()) thousands("part_kitems", scalar(0));
}

// A work-item's multiply-adds are of all its pixels, those behind a row's last included.
void ProcessorFeatures::add_conv2d() {
  const auto& params = step_.params_as<Conv2dParams>();
  const OperandShape& x = step_.operands[0];
  const OperandShape& w = step_.operands[1];
  const Conv2dBufferGrid grid = conv2d_buffer_grid(step_);
  const WindowAxis horizontal = horizontal_axis(params, w.dims);
  const auto panel_blocks = static_cast<double>(grid.panels.count() / grid.item_panels);
  const double row_taps = y_.dims[0] * panel_blocks *
                          (grid.is_joined ? 1
                                          : taps_inside(vertical_axis(params, w.dims), x.dims[2],
                                                        rows().begin, rows().end));
  int64_t inside = 0;
  for (int32_t tap = 0; tap < horizontal.taps; ++tap)
    inside += conv2d_blocks_inside(grid, horizontal, tap);
  const double fast_taps = row_taps * static_cast<double>(inside);
  const double slow_taps =
      row_taps * static_cast<double>(horizontal.taps * grid.pixel_blocks - inside);
  const double sums = grid.item_pixels * grid.item_panels;
  const double macs = sums * kClLanes * w.dims[1];
  const bool is_pair = grid.item_panels > 1;
  const bool has_few_channels = defined("FEW_CHANNELS", 0) != 0;
  // The sums, rows of weights, and one register for a pixel's float in all its lanes. If they are
  // too many, some are in memory: not the same ones in a kernel with a residual.
  const bool is_spilled = (grid.item_pixels + 1) * grid.item_panels * kClLanes >= registers_;
  const bool is_residual = is_spilled && params.has_residual != 0;
  late();
  moved();
  beyond_caches();
  const double used_share =
      share_in_use(vertical_axis(params, w.dims), x.dims[2], rows().begin, rows().end);
  // Each panel's first page comes line by line, those behind it are fetched ahead.
  const double used_mbytes = used_share * first_weights(static_cast<double>(grid.outer_blocks));
  const double panel_floats = double{kClLanes} * w.dims[1] * w.dims[2] * w.dims[3];
  const double begun_mbytes = used_mbytes * std::min(kPageFloats / panel_floats, 1.0);
  once("begun_weight_mbytes", begun_mbytes);
  once("weight_mbytes", used_mbytes - begun_mbytes);
  // Of few channels taps at the edge take longer by what slow_ksums count alone.
  const bool is_few = has_few_channels && !is_pair;
  millions(is_pair       ? "fast_pair_mmacs"
           : is_few      ? "few_mmacs"
           : is_residual ? "fast_residual_mmacs"
                         : "fast_mmacs",
           (is_few ? fast_taps + slow_taps : fast_taps) * macs);
  if (!is_few) millions(is_pair ? "slow_pair_mmacs" : "slow_mmacs", slow_taps * macs);
  thousands("slow_ksums", slow_taps * sums);
  thousands("kloops", fast_taps + slow_taps);
  const double items =
      panel_blocks * static_cast<double>(grid.pixel_blocks) * grid.rows * y_.dims[0];
  thousands("kitems", items);
  if (has_few_channels) thousands("few_kitems", items);
  if (params.has_residual != 0) thousands("residual_kitems", items);
  const ClChannels channels = cl_channels(step_);
  const int32_t pitch = padded_channels(y_);
  const int32_t group_channels = w.dims[0] / params.groups;
  thousands("apart_kpixels", pixels_ * channels.stored_count / kClLanes * apart_share(pitch));
  if (params.groups > 1 && group_channels % kClLanes != 0)
    thousands("ragged_kpixels", pixels_ * ceil_div(channels.stored_count, group_channels));
  else if (channels.stored_count % kClLanes != 0)
    thousands("ragged_kpixels", pixels_);
}

// A work-item's steps are of all its pixels, those behind a row's last included. Items that fill up
// a group end at once.
void ProcessorFeatures::add_texels() {
  const auto& params = step_.params_as<Conv2dParams>();
  const OperandShape& x = step_.operands[0];
  const OperandShape& w = step_.operands[1];
  const double row_taps =
      scalar(0) * y_.dims[0] *
      taps_inside(vertical_axis(params, w.dims), x.dims[2], rows().begin, rows().end);
  const double loops = row_taps * scalar(1) * w.dims[3];
  const int32_t whole_texels = w.dims[1] / kChannelPad;
  const double items = scalar(0) * scalar(1) * scalar(2);
  // Layers that fill up groups are not the busiest thread's.
  const double layers = is_shared() ? scalar(2) : static_cast<double>(launch_.global[2]);
  const double filled_up =
      static_cast<double>(launch_.global[0]) * static_cast<double>(launch_.global[1]) * layers;
  const bool is_residual = params.has_residual != 0;
  late();
  moved();
  first_bytes();
  // Lines of a panel, of which a work-item reads a quarter.
  const double used_share =
      share_in_use(vertical_axis(params, w.dims), x.dims[2], rows().begin, rows().end);
  once("weight_mbytes", used_share * 64e-6 *
                            conv2d_panels(params, y_, step_.part_dim, step_.part).count() *
                            w.dims[1] * w.dims[2] * w.dims[3]);
  thousands(is_residual ? "residual_ktexels" : "ktexels", loops * whole_texels);
  // An item's sums wait for each other. Where its steps are few, the processor has begun with the
  // next item's meanwhile; else it does not see that far.
  constexpr double kOverlappedTexels = 10;
  const double item_texels = double{1} * w.dims[2] * w.dims[3] * whole_texels;
  if (item_texels > kOverlappedTexels)
    thousands("long_ktexels", loops * whole_texels * (1 - kOverlappedTexels / item_texels));
  thousands("kloops", loops);
  if (w.dims[1] % kChannelPad != 0) thousands("ragged_kloops", loops);
  thousands("kitems", items);
  if (is_residual) thousands("residual_kitems", items);
  thousands("idle_kitems", filled_up - items);
}

void ProcessorFeatures::add_matmul() {
  const bool is_gemv = is_matmul_gemv(*step_.row);
  const bool is_single = defined("ROWS", 1) == 1;
  const int32_t depth = step_.operands[0].dims[1];
  const double depths = groups_ * depth;
  const double passes = static_cast<double>(ceil_div(y_.dims[0], defined("ROWS", 1)));
  // Work-items share the depth; some have nothing of one that is short.
  const int32_t sharers = defined("ITEMS", 1) / (is_gemv ? kChannelPad : 1);
  const auto run = static_cast<int32_t>(ceil_div(depth, sharers));
  const int64_t begun = is_gemv ? std::min(depth, sharers) : ceil_div(depth, run);
  const double first_mbytes = first_weights(passes > 1 ? 1 : groups_);
  late();
  once("mbytes", mbytes_);
  beyond_caches();
  thousands(is_single ? "single_kgroups" : "kgroups", groups_);
  thousands(is_single ? "single_kitems" : "kitems", groups_ * static_cast<double>(begun));
  if (!is_gemv) thousands(is_single ? "single_kdepths" : "kdepths", depths);
  // Sums of one row wait for each other rather than for weights.
  once(is_single ? "single_weight_mbytes" : "weight_mbytes", first_mbytes);
  if (is_gemv) {  // it has few rows
    add_unrolled_depths(depth, sharers);
    // An item's weights are a page apart, and so in one place of the first-level cache. If they are
    // too many for it, its neighbours find none of the lines that they share. Why they take longer
    // still from 32 on, found on a Zen 4, is not known.
    const double lines = depth * kLineFloats / kPageFloats;
    thousands("lines_over_8_kdepths", depths * std::clamp(lines / 8 - 1, 0.0, 1.0));
    thousands("lost_kdepths", depths * std::max(1 - 16 / lines, 0.0));
    thousands("lines_over_31_kdepths", depths * std::clamp(lines - 31, 0.0, 1.0));
    return;
  }
  // Runs so long that a processor has not begun with the next item's before one's own ends: it
  // waits for sums, and for weights from memory.
  constexpr double kOverlapped = 12;
  const double long_share = std::clamp(run / kOverlapped - 1, 0.0, 1.0);
  if (!is_single) thousands("long_kdepths", groups_ * std::max(depth - kOverlapped * sharers, 0.0));
  once(is_single ? "single_long_weight_mbytes" : "long_weight_mbytes", first_mbytes * long_share);
  const double again_mbytes = weight_mbytes_ * (passes * share_ - 1);
  once("read_weight_over_0.5", again_mbytes * std::clamp(weight_mbytes_ / 0.5 - 1, 0.0, 1.0));
  once("read_weight_over_1", again_mbytes * std::clamp(weight_mbytes_ - 1, 0.0, 1.0));
  once("read_weight_over_2", again_mbytes * std::clamp(weight_mbytes_ / 2 - 1, 0.0, 1.0));
}

// Of matmul_f32_cl_gemv, whose `sharers` take every so manyth depth each: their loop takes eight at
// once, and what is left one by one. Where the latter loop goes back at all, it takes longer by
// about what a branch does that was guessed wrong.
void ProcessorFeatures::add_unrolled_depths(int32_t depth, int32_t sharers) {
  constexpr int32_t kUnrolled = 8;
  int32_t trips = 0;
  int32_t rest_steps = 0;
  int32_t again_items = 0;
  for (int32_t i = 0; i < std::min(depth, sharers); ++i) {
    const auto steps = static_cast<int32_t>(ceil_div(depth - i, sharers));
    trips += steps / kUnrolled;
    rest_steps += steps % kUnrolled;
    if (steps % kUnrolled > 1) ++again_items;
  }
  const bool is_single = defined("ROWS", 1) == 1;
  thousands(is_single ? "single_ktrips" : "ktrips", groups_ * trips);
  thousands(is_single ? "single_rest_kdepths" : "rest_kdepths", groups_ * rest_steps);
  thousands(is_single ? "single_again_kitems" : "again_kitems", groups_ * again_items);
}

void ProcessorFeatures::add_batch_matmul() {
  const BatchMatMulWork work = batch_matmul_work(step_.params_as<BatchMatMulParams>(),
                                                 step_.operands[0], step_.operands[1], y_);
  // The grid: tiles of columns and of rows, products.
  const double row_tiles = scalar(1) * scalar(2);
  const double edge_tiles = work.n % 8 != 0 ? row_tiles : 0;
  const double whole_tiles = row_tiles * scalar(0) - edge_tiles;
  const auto depth = static_cast<double>(work.k);
  late();
  moved();
  beyond_caches();
  thousands(defined("HAS_ROWS_OF_B", 1) != 0 ? "row_kdepths" : "column_kdepths",
            whole_tiles * depth);
  thousands("edge_kdepths", edge_tiles * depth);
  thousands("kitems", whole_tiles + edge_tiles);
}

// A work-item has some tiles, those behind the last that registers hold included, and some panels,
// whose weights pass once for each of its register's tiles.
void ProcessorFeatures::add_winograd() {
  const WinogradItem item = winograd_item_of(step_);
  const WinogradWork work = winograd_item_work(step_);
  const int32_t in_channels = step_.operands[0].dims[1];
  const double positions = WinogradItem::kPositions;
  const double panel_blocks = work.panels.count() / item.panels;
  const auto tiles = static_cast<int64_t>(work.tiles);
  const auto tile_blocks = static_cast<int64_t>(scalar(1));
  const auto block_tiles = static_cast<int64_t>(scalar(2));
  const int64_t last_tiles = tiles - (tile_blocks - 1) * block_tiles;
  const auto register_blocks =
      static_cast<double>((tile_blocks - 1) * ceil_div(block_tiles, int64_t{item.register_tiles}) +
                          ceil_div(last_tiles, int64_t{item.register_tiles}));
  const double sums = positions * register_blocks * item.register_tiles * work.panels.count();
  const bool has_four_panels = item.register_panels == 4;
  const bool is_pair = item.register_panels == 2;
  late();
  once("mbytes", mbytes_);
  if (is_part_of_channels()) once("part_mbytes", mbytes_);
  beyond_caches(kLevels, 1);
  // Of the panels in use, which items read one after the other. Each panel in registers is a stream
  // of its own: the more, the more lines are on their way from memory at once.
  const double used_mbytes = weight_mbytes_ / panel_blocks;
  once(has_four_panels ? "four_panels_weight_mbytes"
       : is_pair       ? "pair_weight_mbytes"
                       : "single_weight_mbytes",
       first_weights(panel_blocks));
  const double again_mbytes =
      used_mbytes * unit_groups_ * register_blocks / static_cast<double>(tile_blocks);
  once("read_weight_over_0.5", again_mbytes * std::clamp(used_mbytes / 0.5 - 1, 0.0, 1.0));
  millions(has_four_panels ? "four_panels_mmacs"
           : is_pair       ? "pair_mmacs"
                           : "single_mmacs",
           sums * kClLanes * in_channels);
  thousands("ksums", sums * static_cast<double>(ceil_div(in_channels, item.channels)));
  const double tile_passes = static_cast<double>(tiles) * panel_blocks;
  thousands("transformed_krows",
            tile_passes * static_cast<double>(ceil_div(in_channels, kClLanes)));
  if (padded_channels(step_.operands[0]) % kClLanes != 0) thousands("ragged_krows", tile_passes);
  if (cl_channels(step_).stored_count % kClLanes != 0) thousands("ragged_kpixels", pixels_);
  thousands("apart_kpixels", pixels_ * work.panels.count() * apart_share(padded_channels(y_)));
}

// Elementwise and copying rows of a work-item per vector.
void ProcessorFeatures::add_runs() {
  once("mbytes", mbytes_);
  // Of these rows Reshape has nothing else to take its time.
  if (step_.row->op == OpKind::Reshape) beyond_caches(kFarLevels, 3);
  thousands("kitems", scalar(0));
  double streams = 2;  // what a work-item reads and writes vectors of
  if (step_.row->op == OpKind::Pad) near();
  if (step_.row->op == OpKind::Binary) {
    first_bytes();
    // Vectors of the second operand, where it is as long as the first; or where one of the two
    // differs by channel alone, so that each vector's place in its pixel counts.
    const BinaryOperand first = binary_operand_of(step_.operands[0], y_);
    const BinaryOperand second = binary_operand_of(step_.operands[1], y_);
    const auto differs_by_channel = [](BinaryOperand operand) {
      return operand == BinaryOperand::PerChannel || operand == BinaryOperand::OnePixel;
    };
    if (first == second) {
      thousands("second_kitems", scalar(0));
      streams = 3;
    } else if (differs_by_channel(first) || differs_by_channel(second)) {
      thousands("channel_kitems", scalar(0));
    }
  }
  if (step_.row->op == OpKind::Unary) {
    const int32_t kind = step_.params_as<UnaryParams>().kind;
    const double lanes = mapped_lanes(static_cast<double>(part_elements(step_)));
    // erf() of smaller arguments takes more.
    if (kind == kUnaryGelu) millions("gelu_melements", lanes);
    // A division besides the exponential.
    if (kind == kUnarySigmoid || kind == kUnarySwish) millions("divided_melements", lanes);
  }
  if (y_.layout != Layout::Nhwc) return;
  double pieces = 0;
  switch (step_.row->op) {
    case OpKind::Concat: {
      // Inputs that a work-item asks whether its vector is of them; and lines that vectors share,
      // as those of the second input may begin anywhere in a pixel.
      double split = 0;
      int32_t first = 0;
      for (uint32_t i = 0; i + 1 < step_.operand_count; ++i) {
        const int32_t channels = step_.operands[i].dims[1];
        const Vectors vectors(channels);
        pieces += pixels_ * vectors.pieces;
        split += pixels_ * vectors.whole *
                 (split_share(padded_channels(step_.operands[i])) +
                  (first % kLineFloats != 0 ? 1 : split_share(padded_channels(y_))));
        first += channels;
      }
      thousands("asked_kinputs", scalar(0) * (step_.operand_count - 1));
      thousands("split_kitems", split);
      break;
    }
    case OpKind::Pad: {
      // Divisions that find the element which stands in the border.
      const int32_t kind = step_.params_as<PadParams>().kind;
      if (kind == kPadReflect || kind == kPadWrap) thousands("placed_kitems", scalar(0));
      if (kind == kPadEdge) thousands("clamped_kitems", scalar(0));
      pieces = pixels_ * Vectors(cl_channels(step_).stored_count).pieces;
      break;
    }
    default:
      // Of the runs, if they are pixels and no whole batches.
      if (scalar(2) > 1)
        pieces = y_.dims[0] * scalar(2) * Vectors(static_cast<int32_t>(launch_.scalars[4])).pieces;
  }
  thousands("piece_kitems", pieces);
  if (!is_part_of_channels()) return;
  const double runs = pixels_ * streams;
  thousands("part_kruns", runs);
  thousands("apart_kruns", runs * apart_share(padded_channels(y_)));
}

// The loops over a work-item's elements compute vectors of exponentials, and what is left of them
// one by one.
void ProcessorFeatures::add_softmax() {
  const SoftmaxWork work = softmax_work(step_.params_as<SoftmaxParams>().axis, y_);
  constexpr int32_t kLanes = 8;  // with AVX-512, too: what compilers prefer for loops
  const int64_t items = defined("ITEMS", 1);
  const bool is_shared = items > 1;
  const int64_t runs = work.outer * work.inner;
  // Items that have one element more than the others.
  const int64_t more_items = work.axis % items;
  const int64_t elements = work.axis / items;
  const int64_t vectors =
      more_items * ((elements + 1) / kLanes) + (items - more_items) * (elements / kLanes);
  const auto rest = static_cast<double>(runs * (work.axis - vectors * kLanes));
  late();
  once("mbytes", mbytes_);
  thousands(is_shared ? "shared_kvectors" : "kvectors", static_cast<double>(runs * vectors));
  thousands(is_shared ? "shared_rest_kelements" : "rest_kelements", rest);
  thousands(is_shared ? "shared_kgroups" : "kitems", static_cast<double>(runs));
}

// copy_axes(): a work-item divides twice for each axis but the last.
void ProcessorFeatures::add_axes() {
  thousands(defined("WIDTH", 1) > 1 ? "kquads" : "kitems", scalar(0));
  thousands("axis_kitems", scalar(0) * (defined("AXES", 1) - 1));
}

void ProcessorFeatures::add_slice() {
  once("mbytes", mbytes_);
  first_bytes();
  add_axes();
}

void ProcessorFeatures::add_transpose() {
  const auto elements = static_cast<double>(element_count(y_));
  moved();
  beyond_caches();
  if (defined("SIDE", 0) == 0) return add_axes();
  const auto x_pitch = static_cast<int32_t>(launch_.scalars[2]);
  const auto y_pitch = static_cast<int32_t>(launch_.scalars[3]);
  // Rows of x that the squares of a row of y pass: more than a prefetcher follows.
  constexpr double kStreams = 32;
  thousands("ksquares", groups_);
  thousands("turned_kelements", elements);
  thousands("stream_kelements", elements * std::clamp(scalar(1) / kStreams - 1, 0.0, 1.0));
  thousands("split_kelements", elements * (split_share(x_pitch) + split_share(y_pitch)));
}

void ProcessorFeatures::add_convert() {
  const int32_t form = defined("FORM", 0);
  if (form == 0) return add_runs();
  // Blocks of 16 x 16: the inner loop is over channels of a pixel, or pixels of a channel.
  const bool is_to_nhwc = form == 1;
  const auto pixels = static_cast<int32_t>(launch_.scalars[3]);
  const int32_t channels = is_to_nhwc ? static_cast<int32_t>(launch_.scalars[4])
                                      : channels_of_part(step_.part_dim, step_.part, y_).count();
  const Vectors vectors(channels);
  const int32_t pitch = padded_channels(is_to_nhwc ? y_ : step_.operands[0]);
  // Pixels pass first: no other work-item soon needs the line next to one's own.
  const double apart = pitch > 2 * kLineFloats ? pixels_ * vectors.all() : 0;
  // Those in another page than the one before; none of it is left in the table of pages when the
  // next channels pass. So many entries has a Xeon's first-level TLB.
  constexpr double kHeldPages = 64;
  const double pages = static_cast<double>(pixels) * pitch / kPageFloats;
  const double paged = pixels_ * vectors.all() *
                       std::min(static_cast<double>(pitch) / kPageFloats, 1.0) *
                       std::clamp(pages / kHeldPages - 1, 0.0, 1.0);
  once("mbytes", mbytes_);
  thousands(is_to_nhwc ? "to_nhwc_kitems" : "to_plain_kitems", scalar(0));
  if (is_to_nhwc) {
    thousands("to_nhwc_krows", pixels_ * vectors.whole);
    thousands("to_nhwc_rest_kelements", pixels_ * (channels % kClLanes));
    thousands("to_nhwc_apart_krows", apart);
    thousands("to_nhwc_paged_krows", paged);
    // Lines of a block's channels that share a place of the first-level cache, and are too many to
    // stay until the next pixel.
    const int32_t rest = channels % kClLanes;
    const double crowded = vectors.whole + (rest > kMostWays ? 1 : 0);
    if (pixels % kPageFloats == 0) thousands("to_nhwc_aliased_krows", pixels_ * crowded);
    return;
  }
  const double planes = double{1} * y_.dims[0] * channels;
  thousands("to_plain_krows", planes * (pixels / kClLanes));
  thousands("to_plain_rest_kelements", planes * (pixels % kClLanes));
  thousands("to_plain_apart_krows", apart);
  thousands("to_plain_paged_krows", paged);
}

void ProcessorFeatures::add_depth_to_space() {
  const ClChannels channels = cl_channels(step_);
  const Vectors vectors(channels.stored_count);
  beyond_caches();
  thousands("kitems", pixels_ * vectors.whole);
  thousands("ragged_kitems", pixels_ * vectors.ragged);
  if (step_.params_as<DepthToSpaceParams>().is_channel_major != 0)
    thousands("major_kelements", pixels_ * channels.valid_count);
  if (!is_part_of_channels()) return;
  thousands("part_kruns", pixels_);
  thousands("apart_kruns", pixels_ * apart_share(padded_channels(y_)));
}

using AddFeatures = void (ProcessorFeatures::*)();

// Null: the row's groups share local memory, or are as those of any GPU.
AddFeatures features_of_row(const StepShape& step) {
  const KernelRow& row = *step.row;
  if (step.output().layout == Layout::Image2d || step.operands[0].layout == Layout::Image2d)
    return nullptr;
  switch (row.op) {
    case OpKind::Conv2d:
      return is_conv2d_buffer(row)   ? &ProcessorFeatures::add_conv2d
             : is_conv2d_quad(row)   ? &ProcessorFeatures::add_texels
             : is_winograd_item(row) ? &ProcessorFeatures::add_winograd
                                     : nullptr;
    case OpKind::DepthwiseConv2d:
      return &ProcessorFeatures::add_depthwise;
    case OpKind::Pool2d:
      return &ProcessorFeatures::add_pool;
    case OpKind::MatMul:
      return is_matmul_tiled(row) ? nullptr : &ProcessorFeatures::add_matmul;
    case OpKind::BatchMatMul:
      return is_batch_matmul_tiled(row) ? nullptr : &ProcessorFeatures::add_batch_matmul;
    case OpKind::Softmax:
      return &ProcessorFeatures::add_softmax;
    case OpKind::Slice:
      return &ProcessorFeatures::add_slice;
    case OpKind::Transpose:
      return &ProcessorFeatures::add_transpose;
    case OpKind::Convert:
      return step.output().rank == 4 ? &ProcessorFeatures::add_convert : nullptr;
    case OpKind::DepthToSpace:
      return &ProcessorFeatures::add_depth_to_space;
    case OpKind::Unary:
    case OpKind::Binary:
    case OpKind::Concat:
    case OpKind::Pad:
    case OpKind::Reshape:
      return &ProcessorFeatures::add_runs;
    default:
      return nullptr;
  }
}

}  // namespace

bool add_cl_processor_features(const StepShape& step, const GpuFacts& gpu, Features* features) {
  ClLaunch launch;
  launch_of(step, &launch);
  const int64_t groups = groups_of(launch);
  if (groups > 1 && gpu.units > 1) features->add("begins", begins_of(groups, gpu.units));
  const AddFeatures add = features_of_row(step);
  if (add == nullptr) return false;
  (ProcessorFeatures(step, gpu, launch, features).*add)();
  return true;
}

}  // namespace codl::kernels
