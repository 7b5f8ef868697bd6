// Covers layer, instance, group and batch statistics in both layouts; scale and bias of every
// broadcast.
#pragma once

#include "test/kernels/kernel_case.h"
#include "test/kernels/tested_activations.h"

namespace codl::test {

struct NormalizeCase {
  const char* name = "";
  int32_t axes_mask = 0;
  OperandShape x;
  bool has_scale = false;
  OperandShape scale = {};
  bool has_bias = false;
  OperandShape bias = {};
  bool is_rms = false;
  Range channels = {};  // not empty: an OutputChannel part
  int32_t activation = kUnaryIdentity;
};

inline KernelCase make_normalize_case(const NormalizeCase& spec) {
  NormalizeParams params;
  params.axes_mask = spec.axes_mask;
  params.is_rms = spec.is_rms;
  params.has_scale = spec.has_scale;
  params.has_bias = spec.has_bias;
  params.epsilon = 1e-3f;
  params.activation = spec.activation;
  params.activation_alpha = spec.activation == kUnaryClip ? 0.1f : 0.2f;
  params.activation_beta = 0.6f;
  KernelCase item = {spec.name, OpKind::Normalize, words_of(params), {spec.x}};
  if (spec.has_scale) item.operands.push_back(spec.scale);
  if (spec.has_bias) item.operands.push_back(spec.bias);
  item.operands.push_back(spec.x);
  if (!spec.channels.empty()) {
    item.part_dim = SplitDim::OutputChannel;
    item.part = spec.channels;
  }
  return item;
}

inline std::vector<KernelCase> normalize_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const NormalizeCase& spec) { cases.push_back(make_normalize_case(spec)); };
  const auto with_both = [&](const char* name, int32_t mask, const OperandShape& x,
                             const OperandShape& scale, const OperandShape& bias) {
    add({name, mask, x, true, scale, true, bias});
  };
  for (int32_t length : {1, 3, 16, 17, 100}) {
    const OperandShape row = plain_operand({length});
    with_both("layer", 2, plain_operand({5, length}), row, row);
    add({.name = "rms",
         .axes_mask = 4,
         .x = plain_operand({2, 3, length}),
         .has_scale = true,
         .scale = row,
         .is_rms = true});
  }
  // Items of a group share one mean, or 2 to 64; quads are kept, or read again.
  for (int32_t length : {8, 20, 64, 192, 255, 768, 1028, 1500}) {
    const OperandShape row = plain_operand({length});
    with_both("layer of quads", 2, plain_operand({7, length}), row, row);
  }
  with_both("quads of several axes", 5, plain_operand({2, 3, 8}), plain_operand({2, 1, 8}),
            plain_operand({8}));
  add({.name = "bare", .axes_mask = 2, .x = plain_operand({3, 20})});
  add({.name = "bias alone",
       .axes_mask = 2,
       .x = plain_operand({3, 20}),
       .has_bias = true,
       .bias = plain_operand({1})});
  with_both("layer of maps", 14, plain_operand({2, 3, 4, 5}), plain_operand({3, 4, 5}),
            plain_operand({4, 1}));
  with_both("instance", 12, plain_operand({2, 5, 4, 7}), plain_operand({5, 1, 1}),
            plain_operand({1, 5, 1, 1}));
  with_both("instance of volumes", 28, plain_operand({2, 5, 2, 3, 7}), plain_operand({5, 1, 1, 1}),
            plain_operand({5, 1, 1, 1}));
  with_both("instance of signals", 4, plain_operand({2, 19, 33}), plain_operand({19, 1}),
            plain_operand({19, 1}));
  with_both("batch", 13, plain_operand({3, 5, 4, 7}), plain_operand({5, 1, 1}),
            plain_operand({5, 1, 1}));
  with_both("columns", 1, plain_operand({20, 37}), plain_operand({37}), plain_operand({20, 1}));
  with_both("middle", 2, plain_operand({2, 9, 21}), plain_operand({9, 1}), plain_operand({21}));
  with_both("every second axis", 21, plain_operand({2, 3, 4, 2, 5}), plain_operand({3, 4, 2, 5}),
            plain_operand({2, 1}));
  with_both("all", 7, plain_operand({2, 3, 40}), plain_operand({1}), plain_operand({3, 40}));
  with_both("scale across the lanes", 4, plain_operand({2, 3, 5}), plain_operand({2, 1, 1}),
            plain_operand({2, 3, 5}));
  for (int32_t channels : {1, 3, 4, 16, 21, 40}) {
    const OperandShape x = nhwc_operand({2, channels, 3, 5});
    const OperandShape each = plain_operand({channels, 1, 1});
    with_both("pixels, instance", 12, x, each, each);
    with_both("pixels, channels", 2, x, each, each);
    with_both("pixels, layer", 14, x, plain_operand({channels, 3, 5}), each);
    with_both("pixels, batch", 13, x, each, each);
    add({.name = "pixels, rows", .axes_mask = 4, .x = x});
  }
  with_both("tasks of rows", 4, plain_operand({2, 101, 100}), plain_operand({100}),
            plain_operand({100}));
  with_both("tasks of rows, scale of each", 4, plain_operand({2, 101, 100}),
            plain_operand({2, 101, 100}), plain_operand({101, 1}));
  with_both("tasks of long rows", 2, plain_operand({7, 5001}), plain_operand({5001}),
            plain_operand({7, 1}));
  with_both("tasks of channels", 12, nhwc_operand({2, 85, 11, 13}), plain_operand({85, 1, 1}),
            plain_operand({85, 1, 1}));
  // There are enough lines for blocks of them.
  with_both("blocks of pixels, instance", 12, nhwc_operand({2, 37, 24, 23}),
            plain_operand({37, 1, 1}), plain_operand({37, 1, 1}));
  with_both("blocks of pixels, batch", 13, nhwc_operand({3, 300, 16, 13}),
            plain_operand({300, 1, 1}), plain_operand({300, 1, 1}));
  with_both("blocks of lines", 1, plain_operand({2100, 21}), plain_operand({21}),
            plain_operand({1}));
  add({.name = "blocks of pixels, rms",
       .axes_mask = 12,
       .x = nhwc_operand({1, 66, 25, 24}),
       .is_rms = true});
  for (Range channels : {Range{0, 16}, Range{16, 32}, Range{16, 37}, Range{32, 37}, Range{0, 37}}) {
    const auto part = [&](const char* name, int32_t mask, const OperandShape& x,
                          const OperandShape& scale, const OperandShape& bias) {
      add({name, mask, x, true, scale, true, bias, false, channels});
    };
    const OperandShape each = plain_operand({37, 1, 1});
    const OperandShape x = nhwc_operand({2, 37, 3, 5});
    part("part of channels, instance", 12, x, each, plain_operand({1}));
    part("part of channels, rows", 4, x, each, each);
    part("part of channels, batch", 13, x, plain_operand({37, 3, 5}), each);
    part("part of channels, blocks of pixels", 12, nhwc_operand({2, 37, 24, 23}), each, each);
    add({.name = "part of channels, rms",
         .axes_mask = 8,
         .x = x,
         .is_rms = true,
         .channels = channels});
  }
  // Without pad lanes, columns and channels of the whole are one axis.
  for (Range channels : {Range{0, 16}, Range{16, 48}, Range{32, 48}})
    add({.name = "part of channels, no pad lanes",
         .axes_mask = 4,
         .x = nhwc_operand({1, 48, 7, 3}),
         .channels = channels});
  add({.name = "part of channels, tasks",
       .axes_mask = 12,
       .x = nhwc_operand({2, 85, 11, 23}),
       .channels = {16, 85}});
  // The kernel on texels takes these cases separately: each combination of scale and bias, of
  // batches too, of few pixels and of many.
  const OperandShape few = nhwc_operand({2, 9, 5, 13});
  const OperandShape many = nhwc_operand({2, 6, 67, 65});
  with_both("texels, scale and bias of batches", 12, many, plain_operand({2, 6, 1, 1}),
            plain_operand({2, 1, 1, 1}));
  with_both("texels, one row", 12, nhwc_operand({1, 3, 1, 33}), plain_operand({1}),
            plain_operand({3, 1, 1}));
  for (const OperandShape& x : {few, many}) {
    const OperandShape each = plain_operand({x.dims[1], 1, 1});
    add({.name = "texels, bare", .axes_mask = 12, .x = x});
    add({.name = "texels, scale", .axes_mask = 12, .x = x, .has_scale = true, .scale = each});
    add({.name = "texels, bias", .axes_mask = 12, .x = x, .has_bias = true, .bias = each});
    add({.name = "texels, rms",
         .axes_mask = 12,
         .x = x,
         .has_scale = true,
         .scale = plain_operand({1, x.dims[1], 1, 1}),
         .is_rms = true});
  }
  with_both("texels, scale of columns", 12, few, plain_operand({9, 1, 13}), plain_operand({1}));
  // Combines each way to normalize with each activation; those that are not zero at zero show in
  // pad lanes.
  const auto activated = [&](const char* name, int32_t mask, const OperandShape& x,
                             const OperandShape& scale, int32_t activation, Range channels = {}) {
    add({name, mask, x, true, scale, true, scale, false, channels, activation});
  };
  for (int32_t activation : kTestedActivations) {
    if (activation == kUnaryIdentity) continue;
    activated("activation, columns", 12, nhwc_operand({2, 21, 3, 5}), plain_operand({21, 1, 1}),
              activation);
    activated("activation, lines", 2, plain_operand({5, 33}), plain_operand({33}), activation);
  }
  for (int32_t activation : {kUnaryRelu, kUnarySigmoid}) {
    activated("activation, runs", 12, plain_operand({1, 3, 65, 67}), plain_operand({3, 1, 1}),
              activation);
    activated("activation, runs of an axis between", 5, plain_operand({3, 5, 2100}),
              plain_operand({5, 1}), activation);
    activated("activation, long lines", 2, plain_operand({3, 5001}), plain_operand({5001}),
              activation);
    activated("activation, scale across the lanes", 4, plain_operand({2, 3, 5}),
              plain_operand({2, 1, 1}), activation);
    activated("activation, scale of each line", 4, nhwc_operand({2, 21, 3, 5}),
              plain_operand({21, 3, 5}), activation);
    activated("activation, blocks", 12, nhwc_operand({2, 37, 24, 23}), plain_operand({37, 1, 1}),
              activation);
    activated("activation, blocks without pad lanes", 12, nhwc_operand({1, 48, 33, 32}),
              plain_operand({48, 1, 1}), activation);
    for (Range channels : {Range{16, 32}, Range{16, 37}})
      activated("activation, part of channels", 12, nhwc_operand({2, 37, 3, 5}),
                plain_operand({37, 1, 1}), activation, channels);
  }
  return cases;
}

}  // namespace codl::test
