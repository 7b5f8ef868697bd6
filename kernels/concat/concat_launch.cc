#include "kernels/common/contract/move_elements.h"
#include "kernels/common/launch/cl_launch.h"
#include "kernels/concat/concat.h"

namespace codl::kernels {
namespace {

// clang-format off
// Groups of an input stand behind the list, one for each input that is an argument.
#define CODL_ARGS_ConcatBuffer(A, G, N) \
  A(int, item_count) A(int, chunks) A(int, pixels) A(int, out_c) G(RunOperand, y)
#define CODL_ARGS_ConcatBufferInput(A, p) \
  A(int, p##first) A(int, p##channels) A(int, p##offset) A(int, p##batch_stride)
#define CODL_ARGS_ConcatImage(A, G, N) G(Texels, texels) G(PartImage, y)
#define CODL_ARGS_ConcatImageInput(A, p) \
  A(int, p##first) A(int, p##channels) A(int, p##first_row) A(int, p##rows_held)
#define CODL_ARGS_ConcatRuns(A, G, N) A(int, item_count) A(int, y_run)
#define CODL_ARGS_ConcatRunsInput(A, p) A(int, p##run)
// clang-format on
CODL_CL_GROUP(ConcatBufferInput);
CODL_CL_GROUP(ConcatImageInput);
CODL_CL_GROUP(ConcatRunsInput);
CODL_CL_ARGS(ConcatBuffer);
CODL_CL_ARGS(ConcatImage);
CODL_CL_ARGS(ConcatRuns);

// Returns the elements in memory that belong to one index along the axis and one in front of it.
int64_t elements_behind(const OperandShape& shape, int32_t axis) {
  if (has_pixels(shape)) {
    int64_t count = padded_channels(shape);
    if (axis != 3) count *= shape.dims[3];
    if (axis == 0) count *= shape.dims[2];
    return count;
  }
  return element_count(shape, axis + 1, shape.rank);
}

void launch_runs(const StepShape& step, ClLaunch* out_launch) {
  constexpr int64_t kWidth = 4;
  const int32_t axis = step.params_as<ConcatParams>().axis;
  const OperandShape& y = step.output();
  const int64_t behind = elements_behind(y, axis);
  bool is_wide = true;  // every run is whole vectors
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i)
    is_wide = is_wide && behind * step.operands[i].dims[axis] % kWidth == 0;
  const int64_t width = is_wide ? kWidth : 1;
  out_launch->define("INPUTS", static_cast<int32_t>(step.operand_count - 1));
  out_launch->define("WIDTH", static_cast<int32_t>(width));
  const auto run_of = [&](const OperandShape& operand) {
    return static_cast<int32_t>(behind * operand.dims[axis] / width);
  };
  out_launch->add(ConcatRunsArgs{
      .item_count = set_line(step, stored_elements(y) / width, out_launch), .y_run = run_of(y)});
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i)
    out_launch->add(ConcatRunsInputArgs{.run = run_of(step.operands[i])});
}

}  // namespace

void concat_launch(const StepShape& step, ClLaunch* out_launch) {
  if (step.kernel->algorithm == Algorithm::Runs) return launch_runs(step, out_launch);
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const bool is_image = y.layout == Layout::Image2d;
  Range copied = {y.dims[1], 0};  // from the first channel that is, to the last
  int32_t inputs = 0;
  int64_t chunks = 0;
  int32_t channels = 0;  // channels of the inputs before
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i) {
    const int32_t first = channels;
    channels += step.operands[i].dims[1];
    if (!is_cl_argument(step, i)) continue;
    ++inputs;
    chunks += ceil_div(channels - first, kClLanes);
    copied = {first < copied.begin ? first : copied.begin, channels};
  }
  if (inputs == 0) return;  // nothing to launch
  out_launch->define("INPUTS", inputs);
  if (is_image) {
    const Range texels = {copied.begin / kChannelPad,
                          static_cast<int32_t>(ceil_div(copied.end, kChannelPad))};
    out_launch->add(ConcatImageArgs{.texels = set_texels(step, y, texels, rows.count(), out_launch),
                                    .y = part_image(step, y)});
  } else {
    const int64_t pixels = int64_t{rows.count()} * y.dims[3];
    const NhwcOutputArgs output = nhwc_output(step);
    out_launch->add(
        ConcatBufferArgs{.item_count = set_line(step, chunks * pixels * y.dims[0], out_launch),
                         .chunks = static_cast<int32_t>(chunks),
                         .pixels = static_cast<int32_t>(pixels),
                         .out_c = y.dims[1],
                         .y = {.offset = output.offset,
                               .batch_stride = output.batch_stride,
                               .pixel_stride = output.pixel_stride}});
  }
  channels = 0;
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i) {
    const OperandShape& x = step.operands[i];
    const int32_t first = channels;
    channels += x.dims[1];
    if (!is_cl_argument(step, i)) continue;
    if (is_image) {
      const PartImageArgs image = part_image(step, x);
      out_launch->add(ConcatImageInputArgs{.first = first,
                                           .channels = x.dims[1],
                                           .first_row = image.first_row,
                                           .rows_held = image.rows_held});
    } else {
      const NhwcRowsArgs buffer = nhwc_rows(step, x);
      out_launch->add(ConcatBufferInputArgs{.first = first,
                                            .channels = x.dims[1],
                                            .offset = buffer.offset,
                                            .batch_stride = buffer.batch_stride});
    }
  }
}

}  // namespace codl::kernels
