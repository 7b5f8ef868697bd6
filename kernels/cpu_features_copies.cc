// Features of the CPU kernels that move elements.
#include "kernels/common/move_elements.h"
#include "kernels/convert/convert.h"
#include "kernels/cpu_feature_counts.h"
#include "kernels/transpose/transpose.h"

namespace codl::kernels {

void count_concat(CpuFeatures& out) {
  const StepShape& step = out.step();
  const OperandShape& y = step.output();
  const int32_t axis = step.params_as<ConcatParams>().axis;
  out.traffic();
  const double inputs = step.operand_count - 1;
  if (!has_pixels(y)) {
    double outer = 1;
    for (int32_t i = 0; i < axis; ++i) outer *= y.dims[i];
    out.thousands("kruns", outer * inputs);
    return;
  }
  const MapPart part = map_part(step);
  if (axis != 1) return;
  out.thousands("pixel_kruns", part.pixels * inputs);
  // Memory is asked for lines of as many places in turns.
  out.over(16, "joined_mbytes_over_16", inputs - 1);
  double copies = 0;  // of 16 channels
  double rest = 0;    // vectors and elements behind those
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i) {
    const int32_t channels = step.operands[i].dims[1];
    copies += channels / 16;
    rest += channels % 16 / 4 + channels % 4;
  }
  out.thousands("copied_klines", part.pixels * copies);
  out.thousands("rest_kmoves", part.pixels * (rest + padded_channels(y) - y.dims[1]));
}

void count_transpose(CpuFeatures& out) {
  const StepShape& step = out.step();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  int32_t perm[kMaxRank];
  transpose_perm(step.params_as<TransposeParams>(), perm);
  int64_t x_strides[kMaxRank];
  int64_t y_strides[kMaxRank];
  strides_of(x, x_strides);
  strides_of(y, y_strides);
  LoopAxes axes;
  for (int32_t i = 0; i < y.rank; ++i) axes.append(y.dims[i], x_strides[perm[i]], y_strides[i]);
  const double elements = count_of(step);
  const int32_t turned = turned_axis(axes);
  // What runs wait for, few of which are fetched at once, hides what caches do not hold.
  const bool is_runs = turned < 0 && axes.count > 1 && axes.last_step(0) == 1;
  out.traffic(1, axes.count <= 1, is_runs ? 16 : 0.25);
  if (turned < 0) {
    const double bytes = elements * 2 * sizeof(float);
    if (axes.count <= 1) return out.millions("copied_mbytes", bytes);
    out.apart();
    if (!is_runs) return out.millions("strided_melements", elements);
    const int64_t run = axes.extents[axes.count - 1];
    out.millions("unaligned_mbytes", bytes * out.crossing_share(run));
    // What fetches ahead fetches what lies between runs, too: the nearer they are, the more of it.
    const auto run_step = static_cast<double>(axes.steps[axes.count - 2][0]);
    out.millions("between_mbytes", bytes * static_cast<double>(run) / run_step);
    return out.runs(bytes * 1e-6, static_cast<double>(run) * 2 * sizeof(float));
  }
  // Squares: turn_matrix().
  const int64_t rows = axes.extents[turned];
  const int64_t columns = axes.extents[axes.count - 1];
  const double others = elements / static_cast<double>(rows * columns);
  const auto squares =
      static_cast<double>(ceil_div(rows, kTurnSide) * ceil_div(columns, kTurnSide)) * others;
  if (rows >= kTurnSide && columns >= kTurnSide) {
    out.thousands("ksquares", squares);
    const double turned_elements =
        others * static_cast<double>(rows) * static_cast<double>(round_up(columns, kTurnSide));
    out.millions("turned_melements", turned_elements);
    // Lines of y that two squares write.
    const int64_t y_step = axes.steps[turned][1];
    out.millions("unaligned_turned_melements", turned_elements * out.crossing_share(y_step));
    // The rows that a square writes are one run of memory where they are a line apart; places of
    // their own, which nothing fetches ahead of time, from some lines on.
    constexpr double kFarLines = 6;
    const double lines = static_cast<double>(y_step) / kTurnSide;
    const double spread = std::clamp((lines - 1) / (kFarLines - 1), 0.0, 1.0);
    out.millions("spread_melements", elements * spread);
    // Tasks are whole rows of squares, so of few some worker has more than its part; the last row
    // of squares has fewer rows.
    const int64_t blocks = ceil_div(rows, kTurnSide);
    const int64_t units = static_cast<int64_t>(others) * blocks;
    const int32_t tasks = transpose_task_count(static_cast<int64_t>(elements));
    int64_t busy_rows = 0;
    out.each_share([&](int32_t begin, int32_t end) {
      const Units own = units_of_tasks(units, tasks, begin, end);
      const int64_t own_rows = (own.end / blocks - own.begin / blocks) * rows +
                               (own.end % blocks - own.begin % blocks) * kTurnSide;
      busy_rows = std::max(busy_rows, own_rows);
    });
    out.uneven("uneven_melements", elements,
               static_cast<double>(busy_rows) / (others * static_cast<double>(rows)));
    // What squares read of a column is a line of x, or parts of two: the next row of squares reads
    // the second again.
    const int64_t x_step = axes.last_step(0);
    const double column_parts = others * static_cast<double>(blocks * columns);
    const auto x_offsets = static_cast<double>(std::gcd(x_step, kTurnSide));
    out.thousands("split_kcolumns", column_parts * (1 - x_offsets / kTurnSide));
    // A row of squares goes through all columns: pages that the near TLB has forgotten when the
    // next row comes, all of them from twice as many on.
    constexpr double kNearPages = 96;
    constexpr double kPageElements = 4096 / sizeof(float);
    const double pages =
        static_cast<double>(columns) * std::min(static_cast<double>(x_step) / kPageElements, 1.0);
    out.thousands("far_kcolumns", column_parts * std::clamp(pages / kNearPages - 1, 0.0, 1.0));
  } else {
    out.thousands("edge_kcolumns", others * static_cast<double>(columns) *
                                       static_cast<double>(ceil_div(rows, kTurnSide)));
  }
}

void count_convert(CpuFeatures& out) {
  const StepShape& step = out.step();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (x.layout == y.layout) {
    out.traffic(1, true);
  } else {
    // Lines of many places at once wait longer than those of a run.
    out.over(0.5, "moved_mbytes_over_0.5");
    out.over(2, "moved_mbytes_over_2");
    out.over(8, "moved_mbytes_over_8");
    out.over(16, "moved_mbytes_over_16");
  }
  out.begins();
  out.apart_channels();
  if (y.rank != 4) return;
  const MapPart part = map_part(step);
  if (!part.is_whole) out.pieces(2 * part.pixels);
  constexpr int64_t kSquareSide = 4;
  const bool from_nhwc = x.layout == Layout::Nhwc;
  const bool to_nhwc = y.layout == Layout::Nhwc;
  if (from_nhwc && to_nhwc) {
    if (part.channels == padded_channels(y)) return;
    // A copy of each pixel, and the lanes behind its channels.
    if (part.is_whole) return out.thousands("padded_kpixels", part.pixels);
    out.swept(part.pixels, 1024);
    return out.thousands("kruns", part.pixels);
  }
  if (!from_nhwc && !to_nhwc) return;
  // One of the two has pixels.
  if (!part.is_whole) out.swept(part.pixels / 2);
  const double groups = std::floor(part.channels / kChannelPanel);
  const double whole = groups * kChannelPanel;
  const double rest = std::ceil((part.channels - whole) / kChannelPad);
  const int64_t plane = int64_t{y.dims[2]} * y.dims[3];
  const int64_t pixel = padded_channels(to_nhwc ? y : x);
  // Each worker's pieces, image by image and block by block: convert_f32().
  const ConvertWork work = convert_work(step.part_dim, step.part, y);
  const int64_t block = convert_block_pixels(pixel);
  const int64_t wide = to_nhwc ? kSquareSide : out.vector_lanes();  // pixels at once
  double apart_runs = 0;    // of planes, behind which others or nobody writes
  double split_lines = 0;   // of a plane, of which a block writes a part
  double shared_lines = 0;  // of which two workers do
  double wide_pixels = 0;
  double square_pixels = 0;  // in fours behind those
  double edge_pixels = 0;    // one by one behind the fours
  double far_pixels = 0;     // whose pages are more than what fetches ahead follows
  double block_runs = 0;     // of a plane, which has several
  double first_pixels = 0;   // of each block, those whose lines are not fetched ahead
  // Pages in which a group's lines of a block's pixels lie: from so many on they are forgotten
  // before the next group's turn comes, all of them from twice as many on.
  constexpr double kFollowedPages = 16;
  const double pixel_pages = std::min(static_cast<double>(pixel) / 1024, 1.0);
  const auto add_blocks = [&](int64_t count, int64_t pixels) {
    wide_pixels += static_cast<double>(count * (pixels / wide * wide));
    square_pixels += static_cast<double>(count * (pixels % wide / kSquareSide * kSquareSide));
    edge_pixels += static_cast<double>(count * (pixels % kSquareSide));
    const double pages = pixel_pages * static_cast<double>(pixels);
    far_pixels +=
        static_cast<double>(count * pixels) * std::clamp(pages / kFollowedPages - 1, 0.0, 1.0);
    first_pixels += static_cast<double>(count * std::min(pixels, kConvertPixelsAhead));
  };
  out.each_piece([&](int32_t begin, int32_t end) {
    const Units units = units_of_tasks(work.units, work.task_count, begin, end);
    for (int64_t unit = units.begin; unit < units.end;) {
      const int64_t rows = std::min(work.rows.count() - unit % work.rows.count(), units.end - unit);
      const int64_t pixels = rows * y.dims[3];
      add_blocks(pixels / block, block);
      if (pixels % block != 0) add_blocks(1, pixels % block);
      // Planes that are a block each follow each other.
      if (pixels < plane) apart_runs += 1;
      if (pixels > block) block_runs += static_cast<double>(ceil_div(pixels, block));
      if (plane % kChannelPanel != 0 && (pixels < plane || pixels > block))
        split_lines += static_cast<double>(ceil_div(pixels, block));
      unit += rows;
    }
  });
  const double far_lines = far_pixels * std::ceil(part.channels / kChannelPanel);
  // Lines of a group's planes that fall into one set of the first-level cache and fill it.
  const double behind = part.channels - whole >= out.first_level_ways() ? part.channels - whole : 0;
  const double aliased_planes = plane % 1024 == 0 ? part.pixels * (whole + behind) : 0;
  if (to_nhwc) {
    // A worker begins with many planes at once, in lines of the other cores' caches.
    out.once("to_nhwc_shares", out.is_shared() ? 1 : 0);
    out.near();
    out.millions("to_nhwc_melements", wide_pixels * whole);
    out.thousands("to_nhwc_rest_ksquares", wide_pixels * rest / 4);
    out.thousands("to_nhwc_kplanes", y.dims[0] * part.channels);
    out.thousands("to_nhwc_edge_kelements", edge_pixels * part.channels);
    out.thousands("first_klines", first_pixels * (groups + (rest > 0 ? 1 : 0)));
    out.thousands("to_nhwc_far_klines", far_lines);
    out.millions("unaligned_to_nhwc_melements",
                 pixel % kChannelPanel != 0 ? wide_pixels * whole : 0);
    // Stores that wait 4 KiB before a line that is to be fetched hold that up: see
    // kConvertPixelsAhead. The more, the farther pixels are apart.
    const double late = pixel % (2 * kChannelPanel) == 0 ? part.pixels * groups : 0;
    out.thousands("late_klines", late);
    out.thousands("far_late_klines",
                  pixel % (4 * kChannelPanel) == 0
                      ? late * std::clamp(static_cast<double>(pixel) / 512 - 1, 0.0, 1.0)
                      : 0);
    // Lines of pixels that are written and fetched ahead fall into four sets or fewer.
    out.thousands("aliased_pixels_klines",
                  pixel % (16 * kChannelPanel) == 0 ? part.pixels * groups : 0);
    out.millions("aliased_planes_to_nhwc_melements", aliased_planes);
    return;
  }
  out.millions("to_plain_melements", wide_pixels * whole);
  out.thousands("to_plain_rest_ksquares",
                (square_pixels * whole / kSquareSide + (wide_pixels + square_pixels) * rest) / 4);
  out.thousands("to_plain_far_klines", far_lines);
  out.thousands("to_plain_block_kruns", block_runs * part.channels);
  // Lines behind a run are fetched in vain, and not those where the next one begins.
  out.thousands("to_plain_apart_kruns", apart_runs * part.channels);
  // What a block writes of a line waits for the other channels' pixels before the next one goes on.
  out.thousands("to_plain_split_klines", split_lines * part.channels);
  out.each_share([&](int32_t begin, int32_t) {
    const int64_t unit = units_of_tasks(work.units, work.task_count, begin, begin).begin;
    const int64_t row = unit % work.rows.count();
    const int64_t first = (work.rows.begin + row) * y.dims[3];
    if (row > 0 && (plane % kChannelPanel != 0 || first % kChannelPanel != 0)) shared_lines += 1;
  });
  out.thousands("to_plain_shared_klines", shared_lines * part.channels);
  out.millions("aliased_planes_to_plain_melements", aliased_planes);
  // What is read beside them is not fetched ahead where pixels are lines apart.
  const double far = static_cast<double>(pixel) / (2 * kChannelPanel) - 1;
  out.millions("far_aliased_planes_to_plain_melements", aliased_planes * std::clamp(far, 0.0, 1.0));
}

void count_depth_to_space(CpuFeatures& out) {
  const StepShape& step = out.step();
  const OperandShape& y = step.output();
  const OperandShape& x = step.operands[0];
  const auto& params = step.params_as<DepthToSpaceParams>();
  const MapPart part = map_part(step);
  const double moved = count_of(step);
  out.traffic(1, false, 0.5);
  if (!part.is_whole) out.pieces(2 * part.pixels);
  const bool has_runs = params.is_channel_major == 0 && part.channels == padded_channels(y);
  // Elements behind the channels are a loop of their own, however few: a branch that is
  // mispredicted now and then, and where channels were copied stores beside wider ones.
  const bool has_pad = y.dims[1] % kChannelPad != 0 &&
                       channels_of_part(step.part_dim, step.part, y).end == y.dims[1];
  const bool is_strided = params.is_channel_major != 0;
  if (has_pad) out.thousands(is_strided ? "padded_kruns" : "padded_kpixels", part.pixels);
  if (has_pad && !is_strided)
    out.thousands("pad_kelements", part.pixels * (padded_channels(y) - y.dims[1]));
  const double bytes = 2 * moved * sizeof(float);
  // Pixels of x that lie on pages of their own: what fetches ahead begins anew with each.
  constexpr double kPageElements = 4096 / sizeof(float);
  if (!is_strided)
    out.thousands("page_kpixels",
                  part.pixels / params.block_w * std::min(padded_channels(x) / kPageElements, 1.0));
  // Pieces of x that lie apart, too.
  if (!is_strided && !part.is_whole) out.thousands("apart_kpixels", part.pixels);
  if (!is_strided)
    out.millions("unaligned_mbytes", bytes * out.crossing_share(int64_t{padded_channels(y)} *
                                                                (has_runs ? params.block_w : 1)));
  if (has_runs) return out.runs(bytes * 1e-6, 2 * part.channels * params.block_w * sizeof(float));
  if (!is_strided) {
    // Bytes of runs of one pixel each, which cost more than those of long ones.
    out.millions("copied_mbytes", bytes);
    return out.thousands("kpixels", part.pixels);
  }
  // A pixel's channels lie apart: each row of a block goes through the whole row of x.
  out.millions("strided_melements", part.pixels * part.channels);
  out.thousands("strided_kruns", part.pixels);
  // So many turns that no predictor of branches sees the end of the loop coming.
  constexpr double kPredictedTurns = 36;
  if (part.channels > kPredictedTurns) out.thousands("long_strided_kruns", part.pixels);
  out.millions("strided_mbytes", part.pixels / params.block_w * padded_channels(x) * sizeof(float));
}

void count_pad(CpuFeatures& out) {
  const StepShape& step = out.step();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const auto& params = step.params_as<PadParams>();
  // What is around x is written and not read, or read again from near.
  out.skip(traffic_bytes(y) - traffic_bytes(x));
  out.traffic();
  out.millions("written_mbytes", traffic_bytes(y));
  out.millions("unaligned_mbytes", (traffic_bytes(x) + traffic_bytes(y)) * out.crossing_share(y));
  const double pixels = map_part(step).pixels;
  out.thousands("kruns", static_cast<double>(y.dims[0]) * y.dims[2]);
  const double inner = static_cast<double>(x.dims[0]) * x.dims[2] * x.dims[3];
  if (params.kind == kPadConstant)
    out.thousands("border_kelements", (pixels - inner) * padded_channels(y));
  // Left and right of a row: filled, or each copied from a place in x that takes a division, near
  // or at the other end of the row. (What repeats the edge takes none.)
  if (params.kind != kPadEdge)
    out.thousands(params.kind == kPadConstant ? "filled_kpixels"
                  : params.kind == kPadWrap   ? "wrapped_kpixels"
                                              : "reflected_kpixels",
                  static_cast<double>(y.dims[0]) * y.dims[2] * (y.dims[3] - x.dims[3]));
}

}  // namespace codl::kernels
