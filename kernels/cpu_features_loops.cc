// Features of the CPU kernels that go through windows and axes.
#include <numeric>

#include "kernels/cpu_feature_counts.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "kernels/normalize/normalize.h"
#include "kernels/pool2d/pool2d.h"
#include "kernels/softmax/softmax.h"

namespace codl::kernels {

void count_pool2d(CpuFeatures& out) {
  const StepShape& step = out.step();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const auto& params = step.params_as<Pool2dParams>();
  const Pool2dWork work = pool2d_work(params, step.part_dim, step.part, y);
  const MapPart part = map_part(step);
  const double pixels = part.pixels;
  const double channels = work.channels.count();
  const int32_t lanes = out.vector_lanes();
  // What a unit of work takes of a pixel.
  const double unit_channels =
      work.blocks > 1 ? std::min(channels, double{kPool2dChannelBlock}) : channels;
  const double unit_bytes = unit_channels * static_cast<double>(sizeof(float));
  const bool is_apart = unit_channels < padded_channels(y);
  if (is_apart) out.apart();
  if (!part.is_whole) {
    const Range input_rows = pool2d_input_range(work.rows, params.stride_h, params.dilation_h,
                                                params.kernel_h, params.pad_top, x.dims[2]);
    out.pieces(pixels + static_cast<double>(x.dims[0]) * input_rows.count() * x.dims[3]);
  }
  // Maxima of 3x3 windows along a row: runs of pixels, each column once for the pixels it serves,
  // and one before the first. Blocks of channels.
  if (pool2d_has_max_runs(params)) {
    const Strips strips = strips_of(channels, 1, lanes);
    const Strips blocks = strips_of(channels, lanes == 8 && params.stride_w == 2 ? 8 : 4, lanes);
    const int32_t outputs =
        pool2d_run_outputs(y.dims[3], params.stride_w, static_cast<int32_t>(channels));
    const double runs = pixels / y.dims[3] * static_cast<double>(ceil_div(y.dims[3], outputs));
    const double columns = pixels * params.stride_w + runs;
    out.traffic();
    out.millions("column_mvectors", columns * strips.groups);
    out.millions("output_mvectors", pixels * strips.groups);
    // Vectors of four lanes take as long as wide ones, for fewer elements.
    out.millions("narrow_column_mvectors", columns * strips.narrow);
    // Each begins with the columns before its first output.
    out.thousands("kruns", runs * blocks.count());
    out.thousands("krows", runs * work.blocks);
    if (!part.is_whole) out.swept(pixels * params.stride_h * params.stride_w / 2);
    out.millions("unaligned_column_mvectors",
                 columns * (strips.groups + strips.narrow) * out.crossing_share(y));
    return;
  }
  const int32_t vectors = lanes == 8 ? 8 : 4;  // at once
  // Blocks of channels are whole groups of vectors.
  const Strips strips = strips_of(channels, vectors, lanes);
  const double taps = static_cast<double>(params.kernel_h) * params.kernel_w;
  // Whole rows of taps are one.
  const double rows = params.kernel_w == x.dims[3] ? 1 : params.kernel_h;
  const bool is_map = y.dims[2] * y.dims[3] == 1;
  // What several windows share comes while others are computed, if whole rows are read in order.
  const double windows = is_map ? 1 : taps / (params.stride_h * params.stride_w);
  const bool is_in_order = work.blocks == 1 && part.is_whole;
  out.traffic(is_in_order ? 2 / (1 + std::max(windows, 1.0)) : 1);
  // A row of windows begins with lines of other channels behind those of every pixel, again and
  // again: more of the time than a map's one window takes for it.
  if (is_apart && !is_map) out.apart("apart_window_mbytes");
  // Each tap is a piece of a pixel of its own then, among channels that lie elsewhere.
  if (!part.is_whole) {
    out.thousands("apart_kpixels", pixels * taps);
    if (!is_map) out.swept(pixels * params.stride_h * params.stride_w / 2);
  }
  out.millions("window_mvectors", pixels * taps * strips.groups * vectors);
  out.thousands("window_krows", pixels * rows * strips.groups);
  out.millions("single_window_mvectors", pixels * taps * strips.singles);
  out.millions("narrow_window_mvectors", pixels * taps * strips.narrow);
  out.millions("unaligned_window_mvectors",
               pixels * taps * (strips.groups * vectors + strips.singles) * out.crossing_share(y));
  // Windows so large that neither the next one nor, of those of a whole map, what fetches ahead
  // finds their lines in the first-level cache, beside what it holds of rows.
  constexpr double kWindowBytes = 8 * 1024;
  constexpr double kLineBytes = 64;
  out.millions("lost_window_mbytes",
               pixels * std::max(taps * channels * sizeof(float) - kWindowBytes, 0.0));
  // Rows that the next row of windows shares, and no longer finds there: the lines of a part of
  // each pixel fall into some of its sets only.
  const auto pixel_bytes = static_cast<int64_t>(padded_channels(y)) * int64_t{sizeof(float)};
  const auto places = static_cast<double>(4096 / std::gcd(pixel_bytes, int64_t{4096}));
  const double set_bytes =
      std::min(places * std::ceil(unit_bytes / kLineBytes) * kLineBytes, 4096.0);
  const double row_bytes = (params.kernel_h * x.dims[3] + y.dims[3]) * unit_bytes;
  const double lost_rows =
      std::clamp(row_bytes / (set_bytes * out.first_level_ways()) - 1, 0.0, 1.0);
  out.millions("lost_row_mbytes", lost_rows * pixels * channels * sizeof(float) *
                                      std::max(params.kernel_h - params.stride_h, 0) *
                                      std::min(params.kernel_w, params.stride_w));
  // Where a vector has one sum, each addition to a single one waits for the one before, and if one
  // window is all of the map, no other is near.
  if (lanes == 8 && is_map)
    out.millions("single_map_mvectors", pixels * taps * (strips.singles + strips.narrow));
  out.thousands("kwindows", pixels * strips.count());
  out.thousands("kpixels", pixels * work.blocks);
  out.thousands("krows", static_cast<double>(work.units));
}

void count_softmax(CpuFeatures& out) {
  const StepShape& step = out.step();
  out.first_bytes();
  const SoftmaxWork work = softmax_work(step.params_as<SoftmaxParams>().axis, step.output());
  const auto outer = static_cast<double>(work.outer);
  const auto axis = static_cast<double>(work.axis);
  constexpr int64_t kShortAxis = 16;
  if (work.inner != 1) {
    out.millions("column_melements", outer * axis * static_cast<double>(work.inner));
    out.thousands("column_kruns", outer * std::ceil(static_cast<double>(work.inner) / 16));
  } else if (work.axis <= kShortAxis) {
    out.millions("short_melements", outer * axis);
    out.thousands("short_kruns", outer);
  } else {
    out.millions("run_melements", outer * std::ceil(axis / 16) * 16);
    out.thousands("kruns", outer);
    if (work.axis % 16 != 0) {
      out.thousands("ragged_kruns", outer);
      out.millions("unaligned_melements", outer * axis * out.crossing_share(work.axis));
    }
  }
  if (has_pixels(step.output()) && step.output().dims[1] % kChannelPad != 0)
    out.thousands("padded_kpixels", map_part(step).pixels);
  out.traffic();
}

namespace {

// Columns of whole lines as the kernel takes them, bands that it goes through twice: once for the
// means, once for the results.
void add_bands(CpuFeatures& out, const NormalizeWork& work) {
  constexpr int64_t kBandLanes = 256;
  constexpr int64_t kLineBytes = 64;
  constexpr int64_t kWayBytes = 4096;
  const OperandShape& x = out.step().operands[0];
  const auto lines = static_cast<double>(work.element_count);
  const auto means = static_cast<double>(work.kept.size());
  // Of every line a part is touched, and those of the next are elsewhere.
  out.thousands("band_klines",
                lines * means * static_cast<double>(ceil_div(work.lanes, kBandLanes) - 1));
  // What the first-level cache had of a band the first time is not there the second time if it is
  // more than that cache holds, in the sets that the band's lines fall into.
  const int64_t line_bytes = (work.lanes + work.pad) * int64_t{sizeof(float)};
  const int64_t places = kWayBytes / std::gcd(line_bytes, kWayBytes);
  const int64_t band = ceil_div(std::min(work.lanes, kBandLanes), kChannelPanel);
  const auto sets = static_cast<double>(std::min(places * band, kWayBytes / kLineBytes));
  const double held = sets * out.first_level_ways();
  const double again = lines * static_cast<double>(band) / held - 1;
  out.millions("lost_band_melements",
               static_cast<double>(element_count(x)) * std::clamp(again, 0.0, 1.0));
}
}  // namespace

void count_normalize(CpuFeatures& out) {
  const StepShape& step = out.step();
  const auto& params = step.params_as<NormalizeParams>();
  const NormalizeWork work =
      normalize_work(params, step.operands[0], normalize_scale(params, step.operands),
                     normalize_bias(params, step.operands));
  const auto elements = static_cast<double>(element_count(step.operands[0]));
  // Two workers have two second-level caches.
  out.traffic(1, true, out.is_shared() ? 4 : 2);
  out.near();
  if (!work.has_kept_lanes) {
    const double runs = elements / static_cast<double>(work.lanes);
    // Scale and bias of each element, or one of a run.
    const bool has_vectors = (params.has_scale != 0 && work.lane_strides[kNormalizeScale] != 0) ||
                             (params.has_bias != 0 && work.lane_strides[kNormalizeBias] != 0);
    // They have left the first-level cache before the next run, for this one, its results and the
    // next one.
    const bool is_lost = 5 * work.lanes * int64_t{sizeof(float)} > 4096 * out.first_level_ways();
    if (has_vectors && is_lost) out.millions("lost_scaled_melements", elements);
    // A run itself has: it is read again when its mean is known, while the next one is read.
    if (3 * work.lanes * int64_t{sizeof(float)} > 4096 * out.first_level_ways())
      out.millions("lost_run_melements", elements);
    // Whose vectors lie across two cache lines. With vectors of 16 lanes that hardly shows but
    // where two runs of some length are written at once.
    constexpr int64_t kShortRun = 192;
    constexpr int64_t kLongestOfTwo = 1024;
    if (out.vector_lanes() == 8 || (work.lanes > kShortRun && work.lanes <= kLongestOfTwo))
      out.millions("unaligned_run_melements", elements * out.crossing_share(work.lanes));
    constexpr int64_t kPieceElements = 2048;
    out.thousands("kpieces", runs * static_cast<double>(ceil_div(work.lanes, kPieceElements)));
    out.thousands("kruns", runs);
    out.thousands("kmeans", elements / static_cast<double>(work.element_count));
    return;
  }
  // Strips of columns as a piece of work has them: vectors by four, by two where there are
  // registers for it, single ones. The last may be a part of one.
  const int32_t vector_lanes = out.vector_lanes();
  double strips[3] = {};
  double rest_lines = 0;
  const auto add_strips = [&](int64_t columns, double lines) {
    const int64_t vectors = ceil_div(columns, vector_lanes);
    const int64_t pairs = vector_lanes == 16 ? vectors % 4 / 2 : 0;
    strips[0] += lines * static_cast<double>(vectors / 4);
    strips[1] += lines * static_cast<double>(pairs);
    strips[2] += lines * static_cast<double>(vectors % 4 - 2 * pairs);
    if (columns % vector_lanes != 0) rest_lines += lines;
  };
  const auto lines = static_cast<double>(work.element_count);
  const auto means = static_cast<double>(work.kept.size());
  if (work.line_blocks > 0) {
    add_strips(work.lanes, lines * means);
    // Which each piece of a worker's joins.
    double joined = 0;
    out.each_piece([&](int32_t, int32_t) { joined += static_cast<double>(work.line_blocks); });
    out.thousands("joined_kvectors",
                  joined * static_cast<double>(ceil_div(work.lanes, vector_lanes)));
  } else {
    out.each_piece([&](int32_t begin, int32_t end) {
      const Units units = units_of_tasks(work.units, work.task_count, begin, end);
      // Blocks of columns of a mean's lines, then those of the next.
      for (int64_t unit = units.begin; unit < units.end;) {
        const int64_t block = unit % work.lane_blocks;
        const int64_t whole = block == 0 ? (units.end - unit) / work.lane_blocks : 0;
        const int64_t end_block = std::min(block + units.end - unit, work.lane_blocks);
        const int64_t columns =
            std::min(end_block * kNormalizeBlock, work.lanes) - block * kNormalizeBlock;
        const int64_t times = std::max(whole, int64_t{1});
        add_strips(columns, lines * static_cast<double>(times));
        unit += times * (end_block - block);
      }
    });
    // Workers write columns side by side: what fetches lines in pairs takes them from each other.
    int32_t workers = 0;
    out.each_share([&](int32_t, int32_t) { ++workers; });
    if (workers > 1) out.thousands("shared_klines", strips[0] + strips[1] + strips[2]);
  }
  out.thousands("strip1_klines", strips[2]);
  out.thousands("rest_klines", rest_lines);
  add_bands(out, work);
  out.thousands("kmeans", elements / lines);
  if (step.operands[0].layout == Layout::Nhwc)
    out.millions("unaligned_melements", elements * out.crossing_share(step.operands[0]));
  if (work.pad > 0) out.thousands("padded_klines", lines * means);
}

void count_resize(CpuFeatures& out) {
  const StepShape& step = out.step();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const auto& params = step.params_as<ResizeParams>();
  const MapPart part = map_part(step);
  const double channels = has_pixels(y) && part.is_whole ? padded_channels(y) : part.channels;
  out.traffic();
  const double rows = part.pixels / y.dims[3];
  const Strips strips = strips_of(channels, 4, out.vector_lanes());
  const double vectors = strips.groups * 4 + strips.singles;
  // The share of a first-level cache's contents that what is used again has pushed out by then.
  const auto lost = [channels](double pixels) {
    constexpr double kCacheBytes = 32 * 1024;
    return std::clamp(pixels * channels * sizeof(float) / kCacheBytes - 1, 0.0, 1.0);
  };
  if (params.kind == kResizeNearest) {
    out.thousands("copied_kgroups", part.pixels * strips.groups);
    out.millions("copied_single_mvectors", part.pixels * strips.singles);
    out.millions("copied_narrow_mvectors", part.pixels * strips.narrow);
    // A row of the input serves rows of outputs one after the other.
    out.millions("row_lost_mvectors",
                 part.pixels * (vectors + strips.narrow) * lost(x.dims[3] + y.dims[3]));
    out.thousands("copied_kpixels", part.pixels);
    out.near();
  } else {
    // Blocks of columns, strips of channels. A column of the input serves all outputs of its block.
    constexpr int32_t kBlockColumns = 64;
    const double blocks = rows * static_cast<double>(ceil_div(y.dims[3], kBlockColumns));
    const double columns = rows * std::min(x.dims[3], 2 * y.dims[3]) + blocks;
    out.millions("weighed_mvectors", part.pixels * vectors);
    out.millions("weighed_narrow_mvectors", part.pixels * strips.narrow);
    out.millions("column_mvectors", columns * vectors);
    out.thousands("weighed_kpixels", part.pixels * strips.count());
    // Every strip goes through all pixels of a block: two rows of the input, and one of outputs.
    const double block = std::min(y.dims[3], kBlockColumns);
    out.millions("block_lost_mvectors", columns * (vectors + strips.narrow) *
                                            lost(block * (1 + 2.0 * x.dims[3] / y.dims[3])));
    out.millions("unaligned_weighed_mvectors",
                 part.pixels * (vectors + strips.narrow) * out.crossing_share(y));
    out.thousands("krows", rows);
    // Which columns are new to branch predictors.
    out.once("weighed_steps", 1);
    out.near();
  }
  if (!part.is_whole) {
    out.pieces(part.pixels);
    out.swept(part.pixels);
  }
  // Results are in the counts of vectors, and beyond caches in those of traffic().
  out.leave_out("mbytes");
  out.millions("read_mbytes", static_cast<double>(element_count(x)) * count_of(step) /
                                  static_cast<double>(element_count(y)) * sizeof(float));
  // Where columns come from, for every piece of work that a worker takes.
  out.once("kcolumns", y.dims[3] * 1e-3);
}

namespace {

// Rows of outputs of a depthwise convolution, as the kernel takes them, of one image.
struct DepthwiseRows {
  double taps = 0;   // rows of taps inside the map, of all rows of outputs
  double pairs = 0;  // of rows of outputs, which share rows of inputs; all of their taps are inside
};

DepthwiseRows depthwise_rows(const WindowAxis& axis, int32_t input, int32_t output, Range part,
                             bool has_pairs) {
  DepthwiseRows rows;
  for (int32_t tap = 0; tap < axis.taps; ++tap) {
    const Range inside = positions_inside(axis, tap, input, output);
    rows.taps += std::max(std::min(inside.end, part.end) - std::max(inside.begin, part.begin), 0);
  }
  if (!has_pairs) return rows;
  const auto first = static_cast<int32_t>(ceil_div(axis.pad_begin, axis.stride));
  const int32_t end = (input - axis.taps + axis.pad_begin) / axis.stride + 1;
  rows.pairs = std::max(std::min(end, part.end) - std::max(first, part.begin), 0) / 2;
  return rows;
}

// Runs of outputs of a row, and the inputs under them in a row of taps.
struct DepthwiseRuns {
  double wide_count = 0;  // of seven or eight outputs: those that pairs of rows share
  double wide_inputs = 0;
  double count = 0;
  double inputs = 0;
  double single_count = 0;  // of the latter, those of one output
};

DepthwiseRuns depthwise_runs(const WindowAxis& axis, int32_t output) {
  DepthwiseRuns runs;
  for (int32_t rest = output; rest > 0;) {
    const int32_t count = rest % 7 == 0 && rest % 8 != 0 ? 7 : rest >= 8 ? 8 : rest >= 4 ? 4 : 1;
    (count >= 7 ? runs.wide_count : runs.count) += 1;
    (count >= 7 ? runs.wide_inputs : runs.inputs) += (count - 1) * axis.stride + axis.taps;
    runs.single_count += count == 1 ? 1 : 0;
    rest -= count;
  }
  return runs;
}

// What decides which lines of a depthwise convolution stay in the first-level cache.
struct DepthwiseLines {
  const WindowAxis& vertical;
  const WindowAxis& horizontal;
  const DepthwiseRows& rows;  // of all images
  const DepthwiseRuns& runs;
  double pass_bytes;
  double places;  // of pixels: sets that their first lines fall into
  double row_count;
  double outputs;  // of a row
  int32_t inputs;  // of a row
};

// Lines that a vector of 16 lanes, which is one, brings from the second-level cache again: where a
// run leaves no room for the next, those of columns that they share, and of the weights. Only the
// sets that the pass has lines of hold them, and threads of a core share those: so workers are on
// servers' virtual cores.
void add_evicted_lines(CpuFeatures& out, const DepthwiseLines& step) {
  const int32_t taps = step.horizontal.taps;
  const int32_t stride = step.horizontal.stride;
  const DepthwiseRows& rows = step.rows;
  const DepthwiseRuns& runs = step.runs;
  const double vectors = std::ceil(map_part(out.step()).channels / kChannelPanel);
  const double pass_lines = step.pass_bytes / 64;
  const double ways = out.first_level_ways() / (out.is_shared() ? 2.0 : 1.0);
  const double held = std::min(step.places * pass_lines, 64.0) * ways;
  // The share of lines that are no longer there after so many others of each vector: some sets have
  // twice as many as others.
  const auto evicted = [&](double lines) {
    return std::clamp(lines * pass_lines / held - 0.5, 0.0, 1.0);
  };
  const double pair_rows = taps + stride;  // of inputs, and the lines of a pair's weights
  const double lone = step.row_count - 2 * rows.pairs;
  const double lone_taps = lone > 0 ? (rows.taps - 2 * taps * rows.pairs) / lone : 0;
  const double weights = static_cast<double>(step.vertical.taps) * taps;
  const double run_outputs = std::min(step.outputs, 8.0);
  const double run_inputs =
      std::min<double>((run_outputs - 1) * stride + taps, static_cast<double>(step.inputs));
  const double shared = std::max(taps - stride, 0);
  const double lone_evicted = evicted(step.vertical.taps * run_inputs + weights + run_outputs);
  const double pair_evicted = evicted(pair_rows * run_inputs + weights + 2 * run_outputs);
  const double lines =
      lone_evicted *
          (lone * lone_taps * (runs.wide_count + runs.count) + rows.pairs * 2 * taps * runs.count) *
          (shared + taps) +
      pair_evicted * rows.pairs * runs.wide_count * (pair_rows * shared + weights);
  out.millions("evicted_melements", lines * vectors * kChannelPanel);
}
}  // namespace

void count_depthwise_conv2d(CpuFeatures& out) {
  const StepShape& step = out.step();
  const auto& params = step.params_as<DepthwiseConv2dParams>();
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  const OperandShape& x = step.operands[0];
  const MapPart part = map_part(step);
  const Range row_range = rows_of_part(step.part_dim, step.part, y);
  const WindowAxis axis = horizontal_axis(params, w.dims);
  const WindowAxis vertical = vertical_axis(params, w.dims);
  const int32_t taps = axis.taps;
  const int32_t lanes = out.vector_lanes();
  // Rows that no tap is on.
  if (w.dims[2] < vertical.stride)
    out.skip((1 - static_cast<double>(w.dims[2]) / vertical.stride) *
             input_rows_of(vertical, x.dims[2], row_range).count() * x.dims[0] * x.dims[3] *
             (part.is_whole ? padded_channels(x) : part.channels) * sizeof(float));
  const bool is_square = w.dims[2] == taps && axis.dilation == 1;
  const char* macs = "any_mmacs";
  if (is_square && taps == 3 && axis.stride == 1)
    macs = "3x3_s1_mmacs";
  else if (is_square && taps == 3 && axis.stride == 2)
    macs = "3x3_s2_mmacs";
  else if (is_square && taps == 5 && axis.stride <= 2)
    macs = "5x5_mmacs";
  else if (taps == 1 && axis.stride == 1)
    macs = "1x1_mmacs";
  const bool has_pairs =
      is_square && taps == 3 && axis.stride <= 2 && vertical.stride == axis.stride && lanes == 16;
  DepthwiseRows rows = depthwise_rows(vertical, x.dims[2], y.dims[2], row_range, has_pairs);
  rows.taps *= y.dims[0];
  rows.pairs *= y.dims[0];
  const DepthwiseRuns runs = depthwise_runs(axis, y.dims[3]);
  const double row_count = part.pixels / y.dims[3];
  const auto channels = static_cast<int32_t>(part.channels);
  const bool begins_early = channels >= lanes && params.has_residual == 0 &&
                            (channels % kChannelPad == 0 || !part.is_whole);
  const double vectors =
      begins_early ? std::ceil(part.channels / lanes) : static_cast<double>(channels / lanes);
  const double lone_taps = rows.taps - 2 * taps * rows.pairs;
  const double every_run =
      row_count * (runs.count + runs.wide_count) - rows.pairs * runs.wide_count;
  const double every_load = (rows.taps * runs.inputs + lone_taps * runs.wide_inputs +
                             rows.pairs * (taps + axis.stride) * runs.wide_inputs) *
                            vectors * lanes;
  const double every_weight = rows.taps * (runs.count + runs.wide_count) * taps * vectors * lanes;
  out.millions(macs, rows.taps * y.dims[3] * taps * vectors * lanes);
  out.thousands("kruns", every_run * vectors);
  // Branch predictors learn the borders anew.
  if (taps == 3) out.once("3x3_steps", 1);
  // Passes of some channels. Rows of inputs of a pass are in the first-level cache for the next row
  // of outputs, unless they are too many, or too many for the sets that their lines fall into.
  // Tasks of few rows have a block of the panels each.
  const DepthwiseConv2dWork work = depthwise_conv2d_work(w, y, step.part_dim, step.part);
  const int64_t block =
      std::min<int64_t>(ceil_div(work.panels.count(), work.panel_blocks) * kChannelPanel, channels);
  const auto pass = std::min<int64_t>(depthwise_conv2d_pass_channels(vertical, axis, x, y), block);
  const auto passes = static_cast<double>(work.panel_blocks *
                                          (std::max<int64_t>(block - kChannelPanel, 0) / pass + 1));
  // The beginnings of runs, which vectors of 16 lanes hide. What fetches ahead begins anew with
  // every row of a pass, whose channels are not all of a pixel's.
  if (lanes == 16)
    out.thousands("pass_krows", passes > 1 ? row_count * passes : 0);
  else
    out.thousands("row_kruns", every_run * passes);
  // Products of a single output wait for each other.
  out.thousands("single_kruns", row_count * runs.single_count * passes);
  out.thousands("krows", (row_count - rows.pairs) * passes);
  out.thousands("kpixels", part.pixels * passes);
  // The last vector begins early, over elements of the one before and across lines, or is masked.
  if (channels % lanes != 0) out.thousands("tail_kruns", every_run * passes);
  const auto pixel_bytes = static_cast<int64_t>(padded_channels(y)) * int64_t{sizeof(float)};
  const int64_t places = 4096 / std::gcd(pixel_bytes, int64_t{4096});
  const double pass_bytes = std::ceil(static_cast<double>(pass) / kChannelPanel) * 64;
  // Of a run, before what fetches ahead has seen where it goes.
  constexpr double kUnseenLines = 8;
  if (taps > 1) {
    // Every row of taps comes from the second-level cache then, once for a row of outputs.
    const double ways = out.first_level_ways();
    if (lanes == 16) {
      add_evicted_lines(out, {vertical, axis, rows, runs, pass_bytes, static_cast<double>(places),
                              row_count, static_cast<double>(y.dims[3]), x.dims[3]});
    } else {
      const double held_bytes = std::min(static_cast<double>(places) * pass_bytes, 4096.0) * ways;
      const double needed_bytes = vertical.taps * (x.dims[3] + 2.0 * taps) * pass_bytes;
      const double again = std::clamp(needed_bytes / held_bytes - 1, 0.0, 1.0);
      out.millions("again_melements", again * rows.taps * x.dims[3] * vectors * lanes);
    }
    // Rows of inputs that are read again for the next row of outputs lie on more pages than the
    // first-level TLB, or half of it, has entries for.
    constexpr double kHeldBytes = 100 * 1024;
    const double window =
        static_cast<double>(vertical.taps) * x.dims[3] * static_cast<double>(pixel_bytes);
    out.millions("far_mloads", every_load * std::clamp(window / kHeldBytes - 1, 0.0, 1.0));
    // As often as the pixels of a run begin with the same set.
    out.millions("aliased_mloads", every_load / static_cast<double>(places));
    // The lines of a run's inputs, outputs and weights that fall into one set. As far as they are
    // more than it has ways, the next vector does not find those that it has the rest of.
    const double run_inputs = std::min<double>(
        runs.wide_count > 0 ? runs.wide_inputs / runs.wide_count : runs.inputs / runs.count,
        x.dims[3]);
    const double run_lines = vertical.taps * (run_inputs + taps) + 8;
    const double crowd = run_lines / std::min(static_cast<double>(places), 64.0) / ways;
    out.millions("crowded_mloads", every_load * (1 - lanes / 16.0) * std::max(crowd - 1, 0.0));
    // Of all channels of a pass a run touches so much that the next finds a part of it, and of the
    // weights, no longer in half of a first-level cache. The first lines of each pixel and tap come
    // before what fetches ahead has seen where the run goes.
    constexpr double kRunBytes = 16 * 1024;
    constexpr double kVectorBytes = 8 * 1024;
    const double run_bytes = pass_bytes * (vertical.taps * (2 * taps + 7.0 * axis.stride) + 8);
    const double lost = std::max(1 - kRunBytes / run_bytes, 0.0);
    // Inputs that runs share.
    out.millions("lost_mloads", every_load * std::max(1 - kVectorBytes / run_bytes, 0.0));
    const double unseen = std::min(kUnseenLines * kChannelPanel / static_cast<double>(pass), 1.0);
    // (Vectors of 16 lanes are whole lines, of which as many are on their way as loads.)
    out.millions("unseen_mloads", (every_load + every_weight) * (1 - lanes / 16.0) * lost * unseen);
  }
  out.millions("unaligned_mloads", every_load * out.crossing_share(y));
  // Lines of results are fetched before they are written, while inputs are near.
  out.millions("written_mbytes", count_of(step) * sizeof(float));
  // Weights are in no near cache, and read by every worker that has rows of them. Those of each tap
  // are a run of a pass's channels, of which the first lines come before anything fetches ahead.
  out.once("unseen_weight_klines", 1e-3 * taps * w.dims[2] * passes *
                                       std::min(pass_bytes / 64, kUnseenLines) *
                                       out.sharers(static_cast<double>(work.panel_blocks)));
  out.once("read_weight_mbytes", 1e-6 * part.channels * sizeof(float) * taps * w.dims[2] *
                                     out.sharers(static_cast<double>(work.panel_blocks)));
  const bool has_curve = curve_names(params.activation).elements != nullptr;
  if (has_curve) out.thousands("curve_kpixels", part.pixels * passes);
  if (channels % lanes != 0) {
    if (!begins_early) out.millions("rest_mmacs", rows.taps * y.dims[3] * taps * lanes);
    // The curve's loads wait for stores of a part of a vector, or of two that overlap: they are not
    // handed on.
    if (has_curve) out.thousands("rest_curve_kpixels", part.pixels);
  }
  if (params.has_residual != 0) out.millions("residual_melements", count_of(step));
  // What fetches lines ahead fetches those of channels behind the part's, too: up to so many bytes.
  // (AMD's does not.)
  constexpr double kAheadBytes = 256;
  const bool is_swept = !part.is_whole && lanes == 16;
  if (is_swept) {
    const double bytes = part.channels * sizeof(float);
    out.sweep(std::min(static_cast<double>(pixel_bytes), std::ceil(bytes / 64) * 64 + kAheadBytes) /
              bytes);
  }
  // Wide pixels of a run lie on pages of their own, which are read side by side: the time before
  // what fetches ahead follows each of them hides in that of the others.
  constexpr double kPagedChannels = 512;
  const double paged = std::clamp(2 - part.channels / kPagedChannels, 0.0, 1.0);
  out.millions("paged_mbytes", out.mbytes() * 1e6 * paged);
  out.traffic(1, true, 0.5);
  const double touched = part.pixels + input_rows_of(vertical, x.dims[2], row_range).count() *
                                           static_cast<double>(x.dims[3]) * y.dims[0];
  if (!part.is_whole && !is_swept) out.pieces(touched);
  // Each pixel of inputs and results of which a pass has some channels, and others go to another
  // worker, or another step.
  if (!part.is_whole || work.panel_blocks > 1) out.thousands("apart_kpixels", touched * passes);
}

}  // namespace codl::kernels
