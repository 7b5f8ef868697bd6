#include "kernels/common/launch/cl_launch.h"
#include "kernels/resize/resize.h"

namespace codl::kernels {
namespace {

// clang-format off
// ResizeLine of resize.h, its 64-bit integers in two halves; form: 1 if the position is rounded,
// 2 more if 1 / 2 is subtracted then.
#define CODL_ARGS_ResizeLine(A, p)                                                    \
  A(int, p##step_low) A(int, p##step_high) A(int, p##start_low) A(int, p##start_high) \
  A(int, p##divisor_low) A(int, p##divisor_high) A(int, p##fraction) A(int, p##form)
#define CODL_ARGS_ResizeBuffer(A, G, N)                                         \
  G(Chunks, chunks) A(int, in_h) A(int, in_w) G(ResizeLine, h) G(ResizeLine, w) \
  A(int, channels) G(NhwcInput, x) G(NhwcOutput, y)
#define CODL_ARGS_ResizeImage(A, G, N)                                \
  G(Texels, texels) G(PartImage, y) A(int, first_row) G(HeldImage, x) \
  A(int, in_h) A(int, in_w) G(ResizeLine, h) G(ResizeLine, w)
// clang-format on
CODL_CL_GROUP(ResizeLine);
CODL_CL_ARGS(ResizeBuffer);
CODL_CL_ARGS(ResizeImage);

// The kernels compare ROUNDING_H and ROUNDING_W with these differences.
static_assert(kResizeRoundPreferCeil - kResizeRoundPreferFloor == 1 &&
              kResizeFloor - kResizeRoundPreferFloor == 2 &&
              kResizeCeil - kResizeRoundPreferFloor == 3);

// Returns whether the numerators of all `out` positions, and twice the divisor, have 32 bits.
bool is_short(const ResizeLine& line, int64_t out) {
  constexpr int64_t kMax = 1 << 30;
  return !line.is_rounded && line.divisor < kMax && line.step < kMax && line.start > -kMax &&
         line.start + line.step * out < kMax && line.start < kMax;
}

int32_t low_of(int64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }
int32_t high_of(int64_t value) { return static_cast<int32_t>(value >> 32); }

ResizeLineArgs line_args(const ResizeLine& line) {
  return {.step_low = low_of(line.step),
          .step_high = high_of(line.step),
          .start_low = low_of(line.start),
          .start_high = high_of(line.start),
          .divisor_low = low_of(line.divisor),
          .divisor_high = high_of(line.divisor),
          .fraction = line.fraction,
          .form = (line.is_rounded ? 1 : 0) + (line.is_half_less ? 2 : 0)};
}

}  // namespace

void resize_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<ResizeParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  ResizeMap map;
  resize_is_map(params, x.dims, y.dims, &map);
  out_launch->define("IS_NEAREST", params.kind == kResizeNearest ? 1 : 0);
  out_launch->define("ROUNDING_H", map.rounding_h - kResizeRoundPreferFloor);
  out_launch->define("ROUNDING_W", map.rounding_w - kResizeRoundPreferFloor);
  out_launch->define("IS_ROUNDED", map.h.is_rounded || map.w.is_rounded ? 1 : 0);
  out_launch->define("IS_SHORT", is_short(map.h, y.dims[2]) && is_short(map.w, y.dims[3]) ? 1 : 0);
  if (y.layout == Layout::Image2d)
    out_launch->add(ResizeImageArgs{.texels = set_texels(step, out_launch),
                                    .y = part_image(step, y),
                                    .first_row = rows_of_part(step.part_dim, step.part, y).begin,
                                    .x = held_image(x),
                                    .in_h = x.dims[2],
                                    .in_w = x.dims[3],
                                    .h = line_args(map.h),
                                    .w = line_args(map.w)});
  else
    out_launch->add(ResizeBufferArgs{.chunks = set_chunks(step, out_launch),
                                     .in_h = x.dims[2],
                                     .in_w = x.dims[3],
                                     .h = line_args(map.h),
                                     .w = line_args(map.w),
                                     .channels = x.dims[1],
                                     .x = nhwc_input(x),
                                     .y = nhwc_output(step)});
}

}  // namespace codl::kernels
