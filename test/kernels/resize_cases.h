// Covers maps of f32 for the fast kernels: every rounding and kind of coordinates, larger and
// smaller; any axes and dtypes for the reference.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

struct ResizeCase {
  const char* name;
  int32_t kind = kResizeLinear;
  int32_t coordinates = kResizeHalfPixel;
  int32_t nearest = kResizeRoundPreferFloor;
  int32_t batch = 1;
  int32_t channels = 5;
  int32_t in_h = 4;
  int32_t in_w = 5;
  int32_t out_h = 8;
  int32_t out_w = 10;
  float scale_h = 0;
  float scale_w = 0;
};

inline KernelCase make_resize_case(const ResizeCase& resize) {
  ResizeParams params;
  params.kind = resize.kind;
  params.coordinates = resize.coordinates;
  params.nearest = resize.nearest;
  params.scale_0 = params.scale_1 = 1.0f;
  params.scale_2 = resize.scale_h;
  params.scale_3 = resize.scale_w;
  return {resize.name,
          OpKind::Resize,
          words_of(params),
          {nhwc_operand({resize.batch, resize.channels, resize.in_h, resize.in_w}),
           nhwc_operand({resize.batch, resize.channels, resize.out_h, resize.out_w})}};
}

// Adds cases for the reference alone, in Plain.
inline void add_any_resize_cases(std::vector<KernelCase>& cases) {
  ResizeParams params;
  params.coordinates = kResizeHalfPixel;
  params.nearest = kResizeRoundPreferFloor;
  params.cubic_coefficient = -0.75f;
  params.scale_0 = params.scale_1 = 2.0f;
  params.scale_2 = 0.5f;
  const auto add = [&](const char* name, DType dtype) {
    cases.push_back({name,
                     OpKind::Resize,
                     words_of(params),
                     {typed_operand(dtype, {3, 2, 6}), typed_operand(dtype, {6, 4, 3})}});
    if (params.has_scales != 0)
      cases.back().operands.insert(cases.back().operands.begin() + 1, plain_operand({3}));
    if (params.has_roi != 0)
      cases.back().operands.insert(cases.back().operands.end() - 1, plain_operand({6}));
  };
  for (int32_t kind : {kResizeNearest, kResizeLinear, kResizeCubic}) {
    params.kind = kind;
    add("three axes", DType::F32);
    params.is_antialias = params.excludes_outside = 1;
    add("antialias", DType::F32);
    params.is_antialias = params.excludes_outside = 0;
    params.has_scales = params.has_roi = 1;
    params.coordinates = kResizeTfCropAndResize;
    add("scales and roi of any kind", DType::F32);
    params.has_scales = params.has_roi = 0;
    params.coordinates = kResizeHalfPixel;
  }
  params.kind = kResizeNearest;
  for (DType dtype : {DType::U8, DType::BF16, DType::I64}) add("elements of any size", dtype);
  params.scale_0 = params.scale_1 = 1.0f;
  params.scale_2 = 2.0f;
  params.scale_3 = 0.5f;
  params.scale_4 = 1.5f;
  for (int32_t kind : {kResizeNearest, kResizeLinear, kResizeCubic}) {
    params.kind = kind;
    cases.push_back({"boxes",
                     OpKind::Resize,
                     words_of(params),
                     {plain_operand({2, 3, 2, 4, 6}), plain_operand({2, 3, 4, 2, 9})}});
  }
}

inline std::vector<KernelCase> resize_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const ResizeCase& resize) { cases.push_back(make_resize_case(resize)); };
  for (int32_t coordinates : {kResizeHalfPixel, kResizeHalfPixelSymmetric, kResizePytorchHalfPixel,
                              kResizeAlignCorners, kResizeAsymmetric, kResizeTfHalfPixelForNn}) {
    for (int32_t nearest : {kResizeRoundPreferFloor, kResizeRoundPreferCeil, kResizeFloor,
                            kResizeCeil, kResizeFloorOrCeil}) {
      ResizeCase resize = {"nearest", kResizeNearest, coordinates, nearest};
      add(resize);
      resize.out_h = 9;
      resize.out_w = 3;
      add(resize);
      // Covers quotients that f32 rounds to whole and half elements, and others.
      resize = {"nearest by scales", kResizeNearest, coordinates, nearest};
      resize.in_h = 16;
      resize.scale_h = 0.6f;
      resize.out_h = 9;
      resize.in_w = 20;
      resize.scale_w = 1.2f;
      resize.out_w = 24;
      add(resize);
      resize.scale_h = 0.85f;
      resize.out_h = 13;
      resize.scale_w = 2.2f;
      resize.out_w = 44;
      add(resize);
    }
    ResizeCase resize = {"linear", kResizeLinear, coordinates};
    add(resize);
    resize.out_h = 3;
    resize.out_w = 7;
    add(resize);
    resize.scale_h = 0.9f;
    resize.scale_w = 1.5f;
    add(resize);
    resize.out_h = resize.out_w = 1;
    resize.scale_h = resize.scale_w = 0.25f;
    add(resize);
  }
  for (int32_t kind : {kResizeNearest, kResizeLinear}) {
    for (int32_t channels : {1, 3, 4, 16, 17, 37})
      add({.name = "channels", .kind = kind, .batch = 2, .channels = channels});
    add({.name = "tasks", .kind = kind, .channels = 19, .out_h = 40, .out_w = 40});
  }
  add_any_resize_cases(cases);
  return cases;
}

}  // namespace codl::test
