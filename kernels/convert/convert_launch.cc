#include "kernels/common/launch/cl_launch.h"
#include "kernels/convert/convert.h"

namespace codl::kernels {
namespace {

// FORM of convert_f32_cl_buffer.
constexpr int32_t kFormRuns = 0;
constexpr int32_t kFormToNhwc = 1;
constexpr int32_t kFormToPlain = 2;

// Pixels of one work-item of the forms that change the order: as many as channels.
constexpr int64_t kBlockPixels = kClLanes;

// Distances in elements within a Plain or Nhwc operand of rank 4, and where the part begins.
struct Rank4 {
  int32_t offset;  // of the part's first row, and of its first channel if asked for
  int32_t batch;
  int32_t row;
  int32_t pixel;
  int32_t channel;
};

Rank4 rank4_of(const OperandShape& shape, int32_t first_row, int32_t first_channel) {
  int64_t strides[kMaxRank] = {};
  strides_of(shape, strides);
  Rank4 rank4 = {};
  rank4.batch = static_cast<int32_t>(strides[0]);
  rank4.channel = static_cast<int32_t>(strides[1]);
  rank4.row = static_cast<int32_t>(strides[2]);
  rank4.pixel = static_cast<int32_t>(strides[3]);
  rank4.offset = (first_row - shape.row_begin) * rank4.row + first_channel * rank4.channel;
  return rank4;
}

void launch_buffer(const StepShape& step, ClLaunch* out) {
  const OperandShape x = convert_shape(step.part_dim, step.operands[0]);
  const OperandShape y = convert_shape(step.part_dim, step.output());
  const bool is_part_of_plain = y.layout == Layout::Plain && step.part_dim != SplitDim::None;
  if (x.layout == y.layout && !is_part_of_plain) {
    out->define("FORM", kFormRuns);
    set_runs(step, cl_runs(step, /*may_join=*/true), out);
    add_runs_operand(step, x, out);
    add_runs_operand(step, y, out);
    return;
  }
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const Range part = channels_of_part(step.part_dim, step.part, y);
  const bool is_nhwc = y.layout == Layout::Nhwc;
  const int32_t stored_count = is_nhwc ? cl_channels(step).stored_count : part.count();
  const int64_t pixels = int64_t{rows.count()} * y.dims[3];
  const int64_t blocks = ceil_div(pixels, kBlockPixels);
  const int64_t chunks = ceil_div(stored_count, kClLanes);
  out->define("FORM", is_nhwc ? kFormToNhwc : kFormToPlain);
  set_line(step, blocks * chunks * y.dims[0], out);
  out->add_int(static_cast<int32_t>(blocks));
  out->add_int(static_cast<int32_t>(chunks));
  out->add_int(static_cast<int32_t>(pixels));
  out->add_int(stored_count);
  out->add_int(part.count());
  for (const OperandShape* operand : {&x, &y}) {
    const Rank4 rank4 = rank4_of(*operand, rows.begin, part.begin);
    out->add_int(rank4.offset);
    out->add_int(rank4.batch);
    out->add_int(rank4.pixel);
    out->add_int(rank4.channel);
  }
}

// One work-item per texel of `image`, whichever side it is on.
void launch_image(const StepShape& step, const OperandShape& image, const OperandShape& buffer,
                  ClLaunch* out) {
  const Range rows = rows_of_part(step.part_dim, step.part, step.output());
  const Range channels = channels_of_part(step.part_dim, step.part, step.output());
  set_grid(step, ceil_div(channels.count(), kChannelPad), image.dims[3],
           int64_t{image.dims[0]} * rows.count(), out);
  out->add_int(channels.begin / kChannelPad);
  out->add_int(rows.count());
  out->add_int(image.dims[1]);
  add_image_rows(step, image, out);
  const Rank4 rank4 = rank4_of(buffer, rows.begin, 0);
  out->add_int(rank4.offset);
  out->add_int(rank4.batch);
  out->add_int(rank4.row);
  out->add_int(rank4.pixel);
  out->add_int(rank4.channel);
}

}  // namespace

void convert_launch(const StepShape& step, ClLaunch* out_launch) {
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (y.layout == Layout::Image2d) {
    launch_image(step, y, x, out_launch);
  } else if (x.layout == Layout::Image2d) {
    out_launch->define("TO_PLAIN", y.layout == Layout::Plain ? 1 : 0);
    launch_image(step, x, y, out_launch);
  } else {
    launch_buffer(step, out_launch);
  }
}

}  // namespace codl::kernels
