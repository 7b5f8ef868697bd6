#include "kernels/common/launch/cl_launch.h"
#include "kernels/convert/convert.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_ConvertRuns(A, G, N) G(Runs, runs) G(RunOperand, x) G(RunOperand, y)
// Holds distances within a Plain or Nhwc operand of rank 4, and where the part begins.
#define CODL_ARGS_ConvertOperand(A, p)                                                    \
  A(int, p##offset) A(int, p##batch_stride) A(int, p##row_stride) A(int, p##pixel_stride) \
  A(int, p##channel_stride)
#define CODL_ARGS_ConvertBlocks(A, G, N)                          \
  A(int, item_count) A(int, blocks) A(int, chunks) A(int, pixels) \
  A(int, stored_count) A(int, valid_count) G(ConvertOperand, x) G(ConvertOperand, y)
#define CODL_ARGS_ConvertImage(A, G, N)                                      \
  G(Texels, texels) A(int, image_first_row) A(int, image_rows_held) \
  G(ConvertOperand, buffer)
// clang-format on
CODL_CL_GROUP(ConvertOperand);
CODL_CL_ARGS(ConvertRuns);
CODL_CL_ARGS(ConvertBlocks);
CODL_CL_ARGS(ConvertImage);

// FORM in convert_f32_cl_buffer has these values.
constexpr int32_t kFormRuns = 0;
constexpr int32_t kFormToNhwc = 1;
constexpr int32_t kFormToPlain = 2;

// In the forms that change the order, a work-item has as many pixels as channels.
constexpr int64_t kBlockPixels = kClLanes;

ConvertOperandArgs convert_operand(const OperandShape& shape, int32_t first_row,
                                   int32_t first_channel) {
  int64_t strides[kMaxRank] = {};
  strides_of(shape, strides);
  const auto batch = static_cast<int32_t>(strides[0]);
  const auto channel = static_cast<int32_t>(strides[1]);
  const auto row = static_cast<int32_t>(strides[2]);
  return {.offset = (first_row - shape.row_begin) * row + first_channel * channel,
          .batch_stride = batch,
          .row_stride = row,
          .pixel_stride = static_cast<int32_t>(strides[3]),
          .channel_stride = channel};
}

void launch_convert_buffer(const StepShape& step, ClLaunch* out) {
  const OperandShape x = convert_shape(step.part_dim, step.operands[0]);
  const OperandShape y = convert_shape(step.part_dim, step.output());
  const bool is_part_of_plain = y.layout == Layout::Plain && step.part_dim != SplitDim::None;
  if (x.layout == y.layout && !is_part_of_plain) {
    out->define("FORM", kFormRuns);
    out->add(ConvertRunsArgs{.runs = set_runs(step, cl_runs(step, /*may_join=*/true), out),
                             .x = run_operand(step, x),
                             .y = run_operand(step, y)});
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
  out->add(ConvertBlocksArgs{.item_count = set_line(step, blocks * chunks * y.dims[0], out),
                             .blocks = static_cast<int32_t>(blocks),
                             .chunks = static_cast<int32_t>(chunks),
                             .pixels = static_cast<int32_t>(pixels),
                             .stored_count = stored_count,
                             .valid_count = part.count(),
                             .x = convert_operand(x, rows.begin, part.begin),
                             .y = convert_operand(y, rows.begin, part.begin)});
}

// One work-item per texel of `image`, whichever side it is on. The other side may be an image, too:
// then the members of `buffer` that have no meaning there are 0.
void launch_image(const StepShape& step, const OperandShape& image, const OperandShape& other,
                  ClLaunch* out) {
  const Range rows = rows_of_part(step.part_dim, step.part, step.output());
  const Range channels = channels_of_part(step.part_dim, step.part, step.output());
  const int32_t first = channels.begin / kChannelPad;
  const Range texels = {first,
                        first + static_cast<int32_t>(ceil_div(channels.count(), kChannelPad))};
  const PartImageArgs part = part_image(step, image);
  const bool is_image = other.layout == Layout::Image2d;
  const PartImageArgs from = is_image ? part_image(step, other) : PartImageArgs{};
  out->add(ConvertImageArgs{.texels = set_texels(step, image, texels, rows.count(), out),
                            .image_first_row = part.first_row,
                            .image_rows_held = part.rows_held,
                            .buffer = is_image ? ConvertOperandArgs{.offset = from.first_row,
                                                                    .batch_stride = from.rows_held,
                                                                    .row_stride = 0,
                                                                    .pixel_stride = 0,
                                                                    .channel_stride = 0}
                                               : convert_operand(other, rows.begin, 0)});
}

}  // namespace

void convert_launch(const StepShape& step, ClLaunch* out_launch) {
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (y.layout == Layout::Image2d) {
    if (x.layout == Layout::Image2d) out_launch->define("FROM_IMAGE", 1);
    launch_image(step, y, x, out_launch);
  } else if (x.layout == Layout::Image2d) {
    out_launch->define("TO_PLAIN", y.layout == Layout::Plain ? 1 : 0);
    launch_image(step, x, y, out_launch);
  } else {
    launch_convert_buffer(step, out_launch);
  }
}

}  // namespace codl::kernels
