// Convolutions and fully connected layers of a network, ours beside oneDNN's on one core. Built by
// name only, where oneDNN is installed; not run by ctest.
//
//   codlc MODEL.onnx --strategy=cpu -o MODEL.codl
//   taskset -c 1 onednn_layers MODEL.codl [ROUNDS [TEXT]]
//
// Only steps with TEXT in their name or line, if given; steps of equal shapes are timed once.
//
// Ours: the steps of the plan with the kernels the runtime would call, all tasks in order. oneDNN:
// input, weights and output in layouts of its own choice, which are not timed; bias, residual and
// activation fused; direct algorithms unless it prefers others. Both, and ours once more as two
// halves of the rows and of the channels, take turns within a round; shown are medians over the
// rounds, in GFLOP/s of the operator's multiply-adds without padding. "peak" is a loop of fused
// multiply-adds on registers that takes its turn as well.
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dnnl.hpp>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "test/bench/plan_layers.h"

namespace codl::test {
namespace {

using kernels::OperandShape;
using kernels::StepShape;

constexpr int kPeakLoops = 100000;
constexpr int kPeakChains = 12;  // of 16 lanes; more than latency times ports of any core in use

__attribute__((target("avx512f"))) void run_peak_avx512() {
  __m512 sums[kPeakChains];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1.0f);
  const __m512 factor = _mm512_set1_ps(0.5f);
  for (int i = 0; i < kPeakLoops; ++i) {
#pragma GCC unroll 12
    for (__m512& sum : sums) {
      sum = _mm512_fmadd_ps(sum, factor, factor);
      asm volatile("" : "+v"(sum));  // one instruction each
    }
  }
}

// The operands of a step with random numbers; the same memory for whole step and halves.
class OurStep {
 public:
  explicit OurStep(const StepShape& shape) : shape_(shape) {
    operands_.assign(shape.operands, shape.operands + shape.operand_count);
    std::mt19937 random(1);
    for (const OperandShape& operand : operands_) {
      memory_.emplace_back(static_cast<size_t>(operand.bytes));
      for (size_t i = 0; i < operand.bytes / sizeof(float); ++i)
        memory_.back().data()[i] = static_cast<float>(random() % 1000) * 1e-3f - 0.5f;
      views_.push_back(kernels::make_view(operand, memory_.back().data()));
    }
    shape_.operands = operands_.data();
  }

  // A function that runs the parts one after the other; null if the row cannot.
  std::function<void()> runner(SplitDim dim, std::vector<Range> parts) {
    std::vector<kernels::KernelArgs> calls;
    for (const Range part : parts) {
      StepShape shape = shape_;
      shape.part_dim = dim;
      shape.part = part;
      kernels::StepNeeds needs;
      if (kernels::check_step(shape, &needs) != nullptr) return nullptr;
      scratch_.emplace_back(static_cast<size_t>(needs.scratch_bytes));
      kernels::KernelArgs args;
      args.params = shape.params;
      args.operands = views_.data();
      args.operand_count = shape.operand_count;
      args.part_dim = dim;
      args.part = part;
      args.tile = shape.tile;
      args.tile_count = shape.tile_count;
      args.scratch = scratch_.back().data();
      args.task_end = needs.task_count;
      calls.push_back(args);
    }
    return [calls, kernel = kernels::cpu_kernel(*shape_.kernel)] {
      for (const kernels::KernelArgs& args : calls) kernel(args);
    };
  }

  // Two halves of `extent`, the cut at a multiple of `grain`.
  std::function<void()> halves(SplitDim dim, int32_t extent, int32_t grain) {
    const int32_t cut = (extent / 2 + grain / 2) / grain * grain;
    if (cut <= 0 || cut >= extent) return nullptr;
    return runner(dim, {{0, cut}, {cut, extent}});
  }

 private:
  StepShape shape_;
  std::vector<OperandShape> operands_;
  std::vector<GuardedMemory> memory_;
  std::vector<GuardedMemory> scratch_;
  std::vector<kernels::TensorView> views_;
};

// The primitive of a step with memory of its own.
class OneDnnStep {
 public:
  explicit OneDnnStep(const dnnl::engine& engine) : engine_(engine), stream_(engine) {}

  void make_conv(const StepShape& step) {
    using tag = dnnl::memory::format_tag;
    const auto& params = step.params_as<Conv2dParams>();
    const int32_t* x = step.operands[0].dims;
    const int32_t* w = step.operands[1].dims;
    const int32_t* y = step.output().dims;
    const auto any = [](dnnl::memory::dims dims, tag format = tag::any) {
      return dnnl::memory::desc(std::move(dims), dnnl::memory::data_type::f32, format);
    };
    const dnnl::memory::desc weights =
        params.groups == 1 ? any({w[0], w[1], w[2], w[3]})
                           : any({params.groups, w[0] / params.groups, w[1], w[2], w[3]});
    const dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto,
        any({x[0], x[1], x[2], x[3]}), weights, any({y[1]}, tag::x), any({y[0], y[1], y[2], y[3]}),
        {params.stride_h, params.stride_w}, {params.dilation_h - 1, params.dilation_w - 1},
        {params.pad_top, params.pad_left}, {params.pad_bottom, params.pad_right});
    set_primitive<dnnl::convolution_forward>(desc, params.has_residual != 0, params.activation,
                                             params.activation_alpha, params.activation_beta);
  }

  void make_matmul(const StepShape& step) {
    using tag = dnnl::memory::format_tag;
    const auto& params = step.params_as<MatMulParams>();
    const int32_t* w = step.operands[1].dims;
    const int32_t rows = step.output().dims[0];
    const auto any = [](dnnl::memory::dims dims, tag format = tag::any) {
      return dnnl::memory::desc(std::move(dims), dnnl::memory::data_type::f32, format);
    };
    const dnnl::inner_product_forward::desc desc(dnnl::prop_kind::forward_inference,
                                                 any({rows, w[0]}), any({w[1], w[0]}),
                                                 any({w[1]}, tag::x), any({rows, w[1]}));
    set_primitive<dnnl::inner_product_forward>(desc, false, params.activation,
                                               params.activation_alpha, params.activation_beta);
  }

  std::function<void()> runner() {
    return [this] {
      primitive_.execute(stream_, arguments_);
      stream_.wait();
    };
  }

 private:
  template <typename Primitive>
  void set_primitive(const typename Primitive::desc& desc, bool has_residual, int32_t activation,
                     float alpha, float beta) {
    using dnnl::algorithm;
    dnnl::post_ops post_ops;
    if (has_residual) post_ops.append_sum();
    if (activation == kUnaryRelu) post_ops.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
    if (activation == kUnaryLeakyRelu)
      post_ops.append_eltwise(1, algorithm::eltwise_relu, alpha, 0);
    if (activation == kUnaryClip) post_ops.append_eltwise(1, algorithm::eltwise_clip, alpha, beta);
    if (activation == kUnarySigmoid) post_ops.append_eltwise(1, algorithm::eltwise_logistic, 0, 0);
    if (activation == kUnarySwish) post_ops.append_eltwise(1, algorithm::eltwise_swish, 1, 0);
    if (activation == kUnaryHardSwish)
      post_ops.append_eltwise(1, algorithm::eltwise_hardswish, 0, 0);
    if (activation == kUnaryTanh) post_ops.append_eltwise(1, algorithm::eltwise_tanh, 0, 0);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(post_ops);
    const typename Primitive::primitive_desc description(desc, attributes, engine_);
    primitive_ = Primitive(description);
    arguments_ = {{DNNL_ARG_SRC, make_memory(description.src_desc())},
                  {DNNL_ARG_WEIGHTS, make_memory(description.weights_desc())},
                  {DNNL_ARG_BIAS, make_memory(description.bias_desc())},
                  {DNNL_ARG_DST, make_memory(description.dst_desc())}};
  }

  dnnl::memory make_memory(const dnnl::memory::desc& desc) {
    dnnl::memory memory(desc, engine_);
    float* data = static_cast<float*>(memory.get_data_handle());
    std::mt19937 random(1);
    for (size_t i = 0; i < desc.get_size() / sizeof(float); ++i)
      data[i] = static_cast<float>(random() % 1000) * 1e-3f - 0.5f;
    return memory;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: onednn_layers MODEL.codl [ROUNDS [TEXT]]\n");
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  const std::string wanted = argc > 3 ? argv[3] : "";
  PlanLayers layers;
  if (!layers.open(argv[1], wanted)) return 1;

  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);

  std::printf("%-44s %5s %8s %7s %7s %7s %6s  %6s %6s\n", "layer", "steps", "us", "ours", "oneDNN",
              "peak", "ratio", "rows", "chan.");
  double log_sum = 0;
  double worst = 1e9;
  double ours_ms = 0;
  double peer_ms = 0;
  for (const plan::StepDef* def : layers.steps()) {
    const StepShape step = layers.shape_of(*def);
    OurStep ours(step);
    OneDnnStep peer(engine);
    const OperandShape& y = step.output();
    const bool is_matmul = step.kernel->op == OpKind::MatMul;
    if (is_matmul)
      peer.make_matmul(step);
    else
      peer.make_conv(step);
    Stopwatch our_time(ours.runner(SplitDim::None, {{0, 0}}));
    Stopwatch peer_time(peer.runner());
    Stopwatch row_time(is_matmul ? nullptr : ours.halves(SplitDim::Height, y.dims[2], 1));
    Stopwatch channel_time(ours.halves(SplitDim::OutputChannel, y.dims[1], kChannelPanel));
    Stopwatch peak_time(__builtin_cpu_supports("avx512f") ? run_peak_avx512 : nullptr);
    for (int round = 0; round < rounds; ++round)
      for (Stopwatch* watch : {&our_time, &peer_time, &row_time, &channel_time, &peak_time})
        watch->take_turn();
    const double flops = giga_flops_of(step);
    const double ratio = peer_time.median() / our_time.median();
    const double peak = 2e-9 * kPeakLoops * kPeakChains * 16 / std::max(peak_time.median(), 1e-9);
    const int count = layers.count_of(step);
    std::printf("%-44s %5d %8.1f %7.1f %7.1f %7.1f %6.2f  %6.2f %6.2f\n", text_of(step).c_str(),
                count, our_time.median() * 1e6, flops / our_time.median(),
                flops / peer_time.median(), peak_time.median() > 0 ? peak : 0, ratio,
                row_time.median() / our_time.median(), channel_time.median() / our_time.median());
    std::fflush(stdout);
    log_sum += std::log(ratio);
    worst = std::min(worst, ratio);
    ours_ms += our_time.median() * 1e3 * count;
    peer_ms += peer_time.median() * 1e3 * count;
  }
  std::printf(
      "oneDNN's time / ours: geometric mean %.3f, least %.3f over %zu layers; sums %.2f and "
      "%.2f ms (ours)\n",
      std::exp(log_sum / static_cast<double>(layers.steps().size())), worst, layers.steps().size(),
      peer_ms, ours_ms);
  return 0;
}

}  // namespace codl::test

int main(int argc, char** argv) { return codl::test::run(argc, argv); }
