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
  const double pixels = map_part(step).pixels;
  const double channels = work.channels.count();
  const int32_t lanes = out.vector_lanes();
  const bool is_unaligned = padded_channels(y) % kChannelPanel != 0;
  // Maxima of 3x3 windows along a row: runs of pixels, each column once for the pixels it serves,
  // and one before the first. Blocks of channels.
  if (params.kind == kPool2dMax && params.kernel_h == 3 && params.kernel_w == 3 &&
      params.dilation_w == 1 && params.stride_w <= 2) {
    const Strips strips = strips_of(channels, 1, lanes);
    const Strips blocks = strips_of(channels, lanes == 8 && params.stride_w == 2 ? 8 : 4, lanes);
    const int32_t outputs =
        pool2d_run_outputs(y.dims[3], params.stride_w, static_cast<int32_t>(channels));
    const double runs = pixels / y.dims[3] * static_cast<double>(ceil_div(y.dims[3], outputs));
    const double columns = pixels * params.stride_w + runs;
    out.traffic();
    out.millions("column_mvectors", columns * strips.groups);
    out.millions("output_mvectors", pixels * strips.groups);
    out.millions("narrow_column_mvectors", columns * strips.narrow);
    out.millions("narrow_output_mvectors", pixels * strips.narrow);
    out.thousands("kruns", pixels * blocks.count());
    out.thousands("krows", runs * work.blocks);
    if (is_unaligned)
      out.millions("unaligned_column_mvectors", columns * (strips.groups + strips.narrow));
    return;
  }
  const int32_t vectors = lanes == 8 ? 8 : 4;  // at once
  // Blocks of channels are whole groups of vectors.
  const Strips strips = strips_of(channels, vectors, lanes);
  const double taps = static_cast<double>(params.kernel_h) * params.kernel_w;
  // Whole rows of taps are one.
  const double rows = params.kernel_w == x.dims[3] ? 1 : params.kernel_h;
  // What several windows share comes while others are computed, if whole rows are read in order.
  const double windows =
      y.dims[2] * y.dims[3] == 1 ? 1 : taps / (params.stride_h * params.stride_w);
  const bool is_in_order = work.blocks == 1 && channels == padded_channels(y);
  out.traffic(is_in_order ? 2 / (1 + std::max(windows, 1.0)) : 1);
  out.millions("window_mvectors", pixels * taps * strips.groups * vectors);
  out.thousands("window_krows", pixels * rows * strips.groups);
  out.millions("single_window_mvectors", pixels * taps * strips.singles);
  out.millions("narrow_window_mvectors", pixels * taps * strips.narrow);
  out.thousands("single_window_krows", pixels * rows * (strips.singles + strips.narrow));
  out.thousands("kwindows", pixels * strips.count());
  out.thousands("kpixels", pixels * work.blocks);
  out.thousands("krows", static_cast<double>(work.units));
  if (is_unaligned)
    out.millions("unaligned_mvectors",
                 pixels * taps * (strips.groups * vectors + strips.singles + strips.narrow));
  if (params.kind == kPool2dAverage)
    out.thousands("divided_kvectors",
                  pixels * (strips.groups * vectors + strips.singles + strips.narrow));
}

void count_softmax(CpuFeatures& out) {
  const StepShape& step = out.step();
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
  }
  out.traffic();
}

void count_normalize(CpuFeatures& out) {
  const StepShape& step = out.step();
  const auto& params = step.params_as<NormalizeParams>();
  const NormalizeWork work =
      normalize_work(params, step.operands[0], normalize_scale(params, step.operands),
                     normalize_bias(params, step.operands));
  const auto elements = static_cast<double>(element_count(step.operands[0]));
  out.traffic();
  if (!work.has_kept_lanes) {
    const double runs = elements / static_cast<double>(work.lanes);
    out.millions("run_melements", elements);
    out.thousands("kruns", runs);
    if (work.lanes % 64 != 0) out.thousands("ragged_kruns", runs);
    out.thousands("kmeans", elements / static_cast<double>(work.element_count));
    return;
  }
  // Strips of columns as a piece of work has them: vectors by four, by two, single ones.
  const int64_t block_vectors = kNormalizeBlock / out.vector_lanes();
  double strips[3] = {};
  const auto add_strips = [&](int64_t blocks, double lines) {
    const int64_t vectors = blocks * block_vectors;
    strips[0] += lines * static_cast<double>(vectors / 4);
    strips[1] += lines * static_cast<double>(vectors % 4 / 2);
    strips[2] += lines * static_cast<double>(vectors % 2);
  };
  const auto lines = static_cast<double>(work.element_count);
  const auto means = static_cast<double>(work.kept.size());
  if (work.line_blocks > 0) {
    add_strips(work.lane_blocks, lines * means);
    // Which each piece of a worker's joins.
    double joined = 0;
    out.each_piece([&](int32_t, int32_t) { joined += static_cast<double>(work.line_blocks); });
    out.thousands("joined_kvectors",
                  joined * static_cast<double>(work.lane_blocks * block_vectors));
    out.once("phases", 1);
  } else {
    out.each_piece([&](int32_t begin, int32_t end) {
      const Units units = units_of_tasks(work.units, work.task_count, begin, end);
      add_strips(units.end - units.begin, lines);
    });
  }
  out.thousands("strip4_klines", strips[0]);
  out.thousands("strip2_klines", strips[1]);
  out.thousands("strip1_klines", strips[2]);
  out.thousands("kmeans", elements / lines);
  // Strips are read two or three times.
  out.millions("streamed_melements", elements * sizeof(float) > 2e6 ? elements : 0);
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
  if (params.kind == kResizeNearest) {
    const Strips strips = strips_of(channels, 1, out.vector_lanes());
    out.thousands("copied_kpixels", part.pixels);
    out.millions("copied_mvectors", part.pixels * strips.groups);
    out.millions("copied_narrow_mvectors", part.pixels * strips.narrow);
  } else {
    // Blocks of columns and channels. A column of the input serves all outputs of its block.
    constexpr double kBlockColumns = 64;
    constexpr double kBlockChannels = 64;
    const Strips strips = strips_of(channels, 1, out.vector_lanes());
    const double blocks = rows * std::ceil(y.dims[3] / kBlockColumns);
    const double columns = rows * x.dims[3] + blocks;
    const double channel_blocks = std::ceil(channels / kBlockChannels);
    out.millions("weighed_mvectors", part.pixels * strips.groups);
    out.millions("weighed_narrow_mvectors", part.pixels * strips.narrow);
    out.millions("column_mvectors", columns * strips.groups);
    out.millions("column_narrow_mvectors", columns * strips.narrow);
    out.thousands("weighed_kpixels", part.pixels * channel_blocks);
    out.thousands("kblocks", blocks * channel_blocks);
  }
  // Where columns come from, for every piece of work that a worker takes.
  out.once("kcolumns", y.dims[3] * 1e-3);
}

void count_depthwise_conv2d(CpuFeatures& out) {
  const StepShape& step = out.step();
  const auto& params = step.params_as<DepthwiseConv2dParams>();
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  const MapPart part = map_part(step);
  const double rows = part.pixels / y.dims[3];
  const WindowAxis axis = horizontal_axis(params, w.dims);
  const int32_t taps = axis.taps;
  const bool is_square = w.dims[2] == taps && axis.dilation == 1;
  struct Names {
    const char* macs;
    const char* loads;
    const char* runs;
  };
  Names names = {"any_mmacs", "any_mloads", "any_kruns"};
  // Pairs of rows of outputs share rows of inputs.
  const bool is_pair = is_square && taps == 3 && axis.stride <= 2;
  const double pair_inputs = (taps + axis.stride) / (2.0 * taps);
  if (is_square && taps == 3 && axis.stride == 1)
    names = {"3x3_s1_mmacs", "3x3_s1_mloads", "3x3_s1_kruns"};
  else if (is_square && taps == 3 && axis.stride == 2)
    names = {"3x3_s2_mmacs", "3x3_s2_mloads", "3x3_s2_kruns"};
  else if (is_square && taps == 5 && axis.stride <= 2)
    names = {"5x5_mmacs", "5x5_mloads", "5x5_kruns"};
  else if (taps == 1 && axis.stride == 1)
    names = {"1x1_mmacs", "1x1_mloads", "1x1_kruns"};
  // Runs of outputs as in the kernel, vectors of a panel.
  double runs = 0;
  double inputs = 0;  // of a row of taps
  for (int32_t rest = y.dims[3]; rest > 0;) {
    const int32_t count = rest % 7 == 0 && rest % 8 != 0 ? 7 : rest >= 8 ? 8 : rest >= 4 ? 4 : 1;
    const bool in_pair = is_pair && out.vector_lanes() == 16 && count >= 7;
    inputs += ((count - 1) * axis.stride + taps) * (in_pair ? pair_inputs : 1);
    runs += in_pair ? 0.5 : 1;
    rest -= count;
  }
  const auto channels = static_cast<int32_t>(part.channels);
  const int32_t lanes = out.vector_lanes();
  const bool begins_early = channels >= lanes && (channels % kChannelPad == 0 || !part.is_whole);
  const double vectors =
      begins_early ? std::ceil(part.channels / lanes) : static_cast<double>(channels / lanes);
  out.millions(names.macs, part.pixels * taps * w.dims[2] * vectors * lanes);
  const double every_load = rows * inputs * w.dims[2] * vectors * lanes;
  out.millions(names.loads, every_load);
  out.thousands(names.runs, rows * runs * vectors);
  out.thousands("row_kruns", rows * runs);
  // All channels of a row at once: rows of inputs come from the second-level cache for each row of
  // taps. Else passes of some channels find them in the first-level cache.
  const OperandShape& x = step.operands[0];
  if (taps > 1 && x.bytes + y.bytes > 2048 * 1024) out.millions("streamed_mloads", every_load);
  if (padded_channels(y) % kChannelPanel != 0) out.millions("unaligned_mloads", every_load);
  // Inputs, weights and outputs of a long run lie a pixel apart: more lines than the sets of a
  // first-level cache hold that they fall into (8 lines of 4096 bytes apart).
  const auto pixel_bytes = static_cast<int64_t>(padded_channels(y)) * int64_t{sizeof(float)};
  const int64_t sets = 4096 / std::gcd(pixel_bytes, int64_t{4096});
  const int64_t lines = w.dims[2] * (7 * axis.stride + 2 * int64_t{taps}) + 8;
  if (lines > 8 * sets) out.millions("crowded_mloads", every_load);
  // Not in any cache, and read by every worker that has rows of them.
  const DepthwiseConv2dWork work = depthwise_conv2d_work(w, y, step.part_dim, step.part);
  out.once("weight_mbytes", part.channels * taps * w.dims[2] * sizeof(float) * 1e-6 *
                                out.sharers(static_cast<double>(work.panel_blocks)));
  if (curve_names(params.activation).elements != nullptr)
    out.thousands("curve_kpixels", part.pixels);
  if (!begins_early && channels % lanes != 0)
    out.millions("rest_mmacs", part.pixels * taps * w.dims[2] * lanes);
  if (params.has_residual != 0) out.millions("residual_melements", count_of(step));
  out.traffic();
}

}  // namespace codl::kernels
