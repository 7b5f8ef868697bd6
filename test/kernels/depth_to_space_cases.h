// Covers both orders of channels, blocks that are not square, crops.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> depth_to_space_cases() {
  std::vector<KernelCase> cases;
  DepthToSpaceParams params;
  const auto add = [&](const char* name, std::initializer_list<int32_t> x,
                       std::initializer_list<int32_t> y) {
    cases.push_back(
        {name, OpKind::DepthToSpace, words_of(params), {nhwc_operand(x), nhwc_operand(y)}});
    for (DType dtype : {DType::F32, DType::U8})
      cases.push_back({name,
                       OpKind::DepthToSpace,
                       words_of(params),
                       {typed_operand(dtype, x), typed_operand(dtype, y)}});
  };
  for (int32_t is_channel_major : {0, 1}) {
    params.is_channel_major = is_channel_major;
    params.crop_top = params.crop_left = 0;
    params.block_h = params.block_w = 2;
    add("blocks of 2 x 2", {2, 12, 3, 4}, {2, 3, 6, 8});
    add("many channels", {1, 148, 3, 4}, {1, 37, 6, 8});
    params.block_h = 3;
    params.block_w = 1;
    add("blocks of 3 x 1", {1, 15, 3, 4}, {1, 5, 9, 4});
    params.crop_top = 4;
    params.crop_left = 1;
    add("crop", {1, 15, 3, 4}, {1, 5, 4, 2});
    add("crop in front", {1, 15, 3, 4}, {1, 5, 5, 3});
    add("crop of whole pixels", {1, 12, 3, 4}, {1, 4, 4, 2});
    add("crop of whole pixels in front", {1, 12, 3, 4}, {1, 4, 5, 3});
    params.block_h = 1;
    params.block_w = 3;
    params.crop_top = 1;
    add("crop of rows of pixels in front", {2, 24, 9, 4}, {2, 8, 8, 11});
    params.crop_top = 4;
    add("crop of rows of pixels", {1, 24, 9, 4}, {1, 8, 5, 7});
    params.block_h = params.block_w = 4;
    params.crop_top = params.crop_left = 3;
    for (int32_t channels : {1, 2, 8, 9})
      add("large blocks", {1, 16 * channels, 2, 3}, {1, channels, 5, 7});
    add("less than a block", {1, 48, 1, 2}, {1, 3, 1, 3});
    params.block_h = params.block_w = 1;
    params.crop_top = params.crop_left = 0;
    add("tasks", {1, 20, 30, 40}, {1, 20, 30, 40});
  }
  return cases;
}

}  // namespace codl::test
