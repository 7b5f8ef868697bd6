// Computes RNN, GRU and LSTM with packed weights, in floats; operands and weights may be halves.
// The products of the inputs of some steps are computed at once by the micro-kernel of MatMul. Then
// each step computes the product of the state, which reads the weights R once for all sequences of
// a group, and the gates on vectors.
//
// The gates are computed where the products of the inputs stood: rows of all gates, a sequence
// each, [z r h] or [i o f c]. `sums` has the state's addends.
#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/recurrent/recurrent.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/recurrent/recurrent_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/cpu/lanes-inl.h"
#include "kernels/common/cpu/stored_rows-inl.h"
#include "kernels/common/gemm/panel_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Computes a group of sequences in one direction.
class RecurrentGroup {
 public:
  RecurrentGroup(const KernelArgs& args, const RecurrentWork& work, int64_t task)
      : params_(args.params_as<RecurrentParams>()),
        x_(args.operands[0]),
        y_(args.output()),
        direction_(task / work.groups),
        first_(work.first_sequence(task % work.groups, x_.shape.dims[1])),
        batch_(work.first_sequence(task % work.groups + 1, x_.shape.dims[1]) - first_),
        is_whole_batch_(work.groups == 1),
        is_reverse_(params_.direction == 1 || direction_ == 1),
        steps_(x_.shape.dims[0]),
        chunk_steps_(work.chunk_steps),
        units_(y_.shape.dims[3]),
        columns_(units_ * recurrent_gates(params_.kind)),
        stride_(work.sum_stride),
        is_half_(x_.shape.dtype == DType::F16),
        w_(stored_in(args.operands[1]).at(direction_ * weights_of(x_.shape.dims[2]))),
        r_(stored_in(args.operands[2]).at(direction_ * weights_of(units_))),
        bias_w_(static_cast<float*>(args.scratch)),
        bias_r_(bias_w_ + stride_),
        sums_(bias_r_ + stride_),
        chunk_(sums_ + batch_ * stride_),
        hidden_(bias_w_ + work.scratch_rows * stride_),
        cell_(is_half_ ? hidden_ + work.scratch_states : row(steps_ + 1).floats()) {
    const RecurrentOperands operands = recurrent_operands(params_);
    const auto memory = [&](uint32_t operand, int64_t offset) {
      return stored_in(args.operands[operand]).at(offset);
    };
    // Returns an operand's numbers as floats, null if it is absent.
    const auto floats = [&](uint32_t operand, int64_t offset, int64_t count,
                            float* to) -> const float* {
      if (operand == 0) return nullptr;
      const StoredNumbers from = memory(operand, offset);
      if (from.is_float()) return from.floats();
      load_rows(from, count, 1, count, to, count);
      return to;
    };
    const int64_t state = (direction_ * x_.shape.dims[1] + first_) * units_;
    h0_ = floats(operands.h0, state, batch_ * units_, hidden_);
    c0_ = floats(operands.c0, state, batch_ * units_, cell_);
    peepholes_ = floats(operands.peepholes, direction_ * 3 * units_, 3 * units_,
                        hidden_ + 2 * work.scratch_states);
    std::memset(bias_w_, 0, static_cast<size_t>(2 * stride_) * sizeof(float));
    if (operands.bias != 0)
      load_rows(memory(operands.bias, direction_ * 2 * columns_), columns_, 2, columns_, bias_w_,
                stride_);
    length_ = steps_;
    if (operands.lengths != 0) {
      const int64_t length = args.operands[operands.lengths].as<const int64_t>()[first_];
      length_ = length < 0 ? 0 : length < steps_ ? length : steps_;
    }
    clip_ = params_.clip > 0.0f ? params_.clip : __builtin_inff();
    set_activations();
  }

  void run() {
    for (int64_t t = length_; t < steps_; ++t) set_state(t, nullptr);
    if (c0_ == nullptr) std::memset(cell_, 0, state_bytes());
    if (c0_ != nullptr && c0_ != cell_) std::memcpy(cell_, c0_, state_bytes());
    const float* hidden = h0_;  // state of the step before; null means zero
    for (int64_t done = 0; done < length_; done += chunk_steps_) {
      const int64_t count = length_ - done < chunk_steps_ ? length_ - done : chunk_steps_;
      const int64_t first = is_reverse_ ? length_ - done - count : done;
      multiply_inputs(first, count);
      for (int64_t k = 0; k < count; ++k) {
        const int64_t at = is_reverse_ ? count - 1 - k : k;
        float* const out = is_half_ ? hidden_ : row(first + at).floats();
        step(hidden, chunk_ + at * batch_ * stride_, out);
        if (is_half_) set_state(first + at, out);
        hidden = out;
      }
    }
    set_state(steps_, hidden);
    if (is_half_) set_state(steps_ + 1, cell_);
  }

 private:
  using Vector = ActivationVector;
  static constexpr ActivationTag kTag = {};

  size_t state_bytes() const { return static_cast<size_t>(batch_ * units_) * sizeof(float); }

  // Returns the number of elements of one direction's weights.
  int64_t weights_of(int64_t depth) const { return panel_channels(columns_) * depth; }

  void set_activations() {
    const int32_t count = recurrent_activations(params_.kind);
    for (int32_t i = 0; i < count; ++i) {
      const RecurrentActivation given =
          recurrent_activation(params_, static_cast<int32_t>(direction_) * count + i);
      activations_[i] = make_activation(given.kind, given.alpha, given.beta);
    }
  }

  // Returns row `t` of y for this direction and the group's first sequence; the others follow.
  StoredNumbers row(int64_t t) const {
    return stored_in(y_).at(t * y_.strides[0] + direction_ * y_.strides[1] + first_ * units_);
  }
  HWY_NOINLINE void set_state(int64_t t, const float* from) const {
    const int64_t count = batch_ * units_;
    if (from != nullptr)
      store_rows(from, count, 1, count, row(t), count);
    else
      store_zeros(row(t), count);
  }

  // Multiplies the inputs of `count` steps from `first` on, and adds the bias, into the chunk. T
  // says what inputs and weights are.
  template <class T>
  void multiply_inputs_of(int64_t first, int64_t count) const {
    const int64_t inputs = x_.shape.dims[2];
    PanelRows<T> product = {
        .x = x_.as<const InputOf<T>>() + first * x_.strides[0] + first_ * inputs,
        .x_stride = batch_ == 1 ? x_.strides[0] : inputs,
        .depth = inputs,
        .weights = static_cast<const WeightOf<T>*>(w_.first),
        .bias = bias_w_,
        .y = chunk_,
        .y_stride = stride_,
        .columns = static_cast<int32_t>(columns_),
        .is_row = count * batch_ == 1,
        .brings_ahead = true,
        .activation = make_activation(kUnaryIdentity, 0.0f, 0.0f),
    };
    // If a call has only some sequences of a batch, the rows of each step lie apart.
    const int64_t calls = batch_ == 1 || is_whole_batch_ ? 1 : count;
    for (int64_t i = 0; i < calls; ++i) {
      multiply_rows<FloatSums<T>>(product, 0, count * batch_ / calls, all_panels());
      product.x += x_.strides[0];
      product.y += batch_ * stride_;
    }
  }
  void multiply_inputs(int64_t first, int64_t count) const {
    if (is_half_) return multiply_inputs_of<HalfFactors>(first, count);
    multiply_inputs_of<float>(first, count);
  }

  Range all_panels() const { return {0, static_cast<int32_t>(ceil_div(columns_, kChannelPanel))}; }

  // Sets sums = state R + bias in `panels`; a null state is zero.
  HWY_NOINLINE void multiply_state(const float* state, int64_t state_stride, Range panels) const {
    if (state == nullptr) {
      for (int64_t b = 0; b < batch_; ++b)
        std::memcpy(sums_ + b * stride_, bias_r_, static_cast<size_t>(columns_) * sizeof(float));
      return;
    }
    if (is_half_) return multiply_state_by<FloatRowSums, HalfWeights>(state, state_stride, panels);
    multiply_state_by<FloatSums<float>, float>(state, state_stride, panels);
  }
  template <class Sums, class T>
  void multiply_state_by(const float* state, int64_t state_stride, Range panels) const {
    const PanelRows<T> product = {
        .x = state,
        .x_stride = state_stride,
        .depth = units_,
        .weights = static_cast<const WeightOf<T>*>(r_.first),
        .bias = bias_r_,
        .y = sums_,
        .y_stride = stride_,
        .columns = static_cast<int32_t>(columns_),
        .is_row = is_half_ || batch_ == 1,
        .brings_ahead = false,
        .activation = make_activation(kUnaryIdentity, 0.0f, 0.0f),
    };
    multiply_rows<Sums>(product, 0, batch_, panels);
  }

  // Calls visit(sequence, j, lanes) for the vectors of `count` elements of each sequence.
  template <class Visit>
  HWY_INLINE void each_vector(int64_t count, Visit visit) const {
    for (int64_t b = 0; b < batch_; ++b)
      for (int64_t j = 0; j < count; j += static_cast<int64_t>(hn::Lanes(kTag)))
        visit(b, j, count - j);
  }

  // A vector of a row of gates or sums: behind it there is more memory.
  HWY_INLINE Vector load(const float* rows, int64_t b, int64_t j) const {
    return hn::LoadU(kTag, rows + b * stride_ + j);
  }
  HWY_INLINE void store(Vector v, float* rows, int64_t b, int64_t j, int64_t lanes) const {
    store_lanes(kTag, v, rows + b * stride_ + j, lanes);
  }
  // A vector of a state.
  HWY_INLINE Vector load_state(const float* state, int64_t b, int64_t j, int64_t lanes) const {
    return load_lanes(kTag, state + b * units_ + j, lanes);
  }

  HWY_INLINE Vector clipped(Vector v) const {
    return limit(v, hn::Set(kTag, -clip_), hn::Set(kTag, clip_));
  }

  // `count` gates become activation(clip(gates + sums + peepholes cell)). Without peepholes the
  // cell does not matter.
  HWY_NOINLINE void add_sums(float* gates, int64_t gate, int64_t count, const float* peepholes,
                             const float* cell) const {
    float* const to = gates + gate * units_;
    const float* const sums = sums_ + gate * units_;
    each_vector(count * units_, [&](int64_t b, int64_t j, int64_t lanes) HWY_ATTR {
      Vector v = hn::Add(load(to, b, j), load(sums, b, j));
      if (peepholes != nullptr)
        v = hn::MulAdd(load_lanes(kTag, peepholes + j, lanes), load_state(cell, b, j, lanes), v);
      store(clipped(v), to, b, j, lanes);
    });
  }

  HWY_NOINLINE void activate_gates(const Activation& activation, float* gates, int64_t gate,
                                   int64_t count) const {
    activate_into(activation, gates + gate * units_, gates + gate * units_, stride_,
                  count * units_);
  }
  HWY_NOINLINE void activate_into(const Activation& activation, const float* from, float* to,
                                  int64_t to_stride, int64_t count) const {
    if (activation.has_curve)
      return activate_rows(activation, from, stride_, to, to_stride, batch_, count);
    each_vector(count, [&](int64_t b, int64_t j, int64_t lanes) HWY_ATTR {
      const Vector v =
          limit(load(from, b, j), hn::Set(kTag, activation.low), hn::Set(kTag, activation.high));
      store_lanes(kTag, v, to + b * to_stride + j, lanes);
    });
  }

  // Computes one step of all sequences. `gates`: the products of its inputs; `out`: its rows of y.
  void step(const float* hidden, float* gates, float* out) const {
    if (params_.kind == kRecurrentGru) return gru_step(hidden, gates, out);
    multiply_state(hidden, units_, all_panels());
    if (params_.kind == kRecurrentLstm) return lstm_step(gates, out);
    add_sums(gates, 0, 1, nullptr, nullptr);
    activate_into(activations_[0], gates, out, units_, units_);
  }

  void lstm_step(float* gates, float* out) const {
    enum : int64_t { kInput = 0, kOutput = 1, kForget = 2, kCell = 3 };
    float* const cell = cell_;
    if (peepholes_ == nullptr) {
      add_sums(gates, kInput, 4, nullptr, nullptr);
      activate_gates(activations_[0], gates, kInput, 3);
    } else {
      for (int64_t gate : {kInput, kForget}) {
        add_sums(gates, gate, 1, peepholes_ + gate * units_, cell);
        activate_gates(activations_[0], gates, gate, 1);
      }
      add_sums(gates, kCell, 1, nullptr, nullptr);
    }
    activate_gates(activations_[1], gates, kCell, 1);

    float* const curve = gates + kCell * units_;
    each_vector(units_, [&](int64_t b, int64_t j, int64_t lanes) HWY_ATTR {
      const Vector input = load(gates, b, j);
      const Vector forget = params_.is_input_forget != 0 ? hn::Sub(hn::Set(kTag, 1.0f), input)
                                                         : load(gates + kForget * units_, b, j);
      const Vector next =
          hn::MulAdd(forget, load_state(cell, b, j, lanes), hn::Mul(input, load(curve, b, j)));
      store_lanes(kTag, next, cell + b * units_ + j, lanes);
      store(clipped(next), curve, b, j, lanes);
    });
    if (peepholes_ != nullptr) {
      add_sums(gates, kOutput, 1, peepholes_ + kOutput * units_, cell);
      activate_gates(activations_[0], gates, kOutput, 1);
    }
    activate_gates(activations_[2], gates, kCell, 1);
    each_vector(units_, [&](int64_t b, int64_t j, int64_t lanes) HWY_ATTR {
      const Vector v = hn::Mul(load(gates + kOutput * units_, b, j), load(curve, b, j));
      store_lanes(kTag, v, out + b * units_ + j, lanes);
    });
  }

  void gru_step(const float* hidden, float* gates, float* out) const {
    enum : int64_t { kUpdate = 0, kReset = 1, kHidden = 2 };
    const bool resets_first = params_.is_linear_before_reset == 0 && hidden != nullptr;
    // A panel may have both reset gates and hidden ones: then it is computed twice.
    Range panels = all_panels();
    if (resets_first) panels.end = static_cast<int32_t>(ceil_div(kHidden * units_, kChannelPanel));
    multiply_state(hidden, units_, panels);
    add_sums(gates, kUpdate, 2, nullptr, nullptr);
    activate_gates(activations_[0], gates, kUpdate, 2);

    float* const reset = gates + kReset * units_;
    if (resets_first) {
      each_vector(units_, [&](int64_t b, int64_t j, int64_t lanes) HWY_ATTR {
        const Vector v = hn::Mul(load(reset, b, j), load_state(hidden, b, j, lanes));
        store(v, reset, b, j, lanes);
      });
      panels = all_panels();
      panels.begin = static_cast<int32_t>(kHidden * units_ / kChannelPanel);
      multiply_state(reset, stride_, panels);
    } else if (params_.is_linear_before_reset != 0) {
      float* const sums = sums_ + kHidden * units_;
      each_vector(units_, [&](int64_t b, int64_t j, int64_t lanes) HWY_ATTR {
        store(hn::Mul(load(reset, b, j), load(sums, b, j)), sums, b, j, lanes);
      });
    }
    add_sums(gates, kHidden, 1, nullptr, nullptr);
    activate_gates(activations_[1], gates, kHidden, 1);
    each_vector(units_, [&](int64_t b, int64_t j, int64_t lanes) HWY_ATTR {
      const Vector update = load(gates, b, j);
      const Vector before = hidden == nullptr ? hn::Zero(kTag) : load_state(hidden, b, j, lanes);
      const Vector candidate = load(gates + kHidden * units_, b, j);
      const Vector rest = hn::Mul(hn::Sub(hn::Set(kTag, 1.0f), update), candidate);
      store_lanes(kTag, hn::MulAdd(update, before, rest), out + b * units_ + j, lanes);
    });
  }

  const RecurrentParams& params_;
  const TensorView& x_;
  const TensorView& y_;
  int64_t direction_;
  int64_t first_;  // the first of the sequences
  int64_t batch_;  // how many
  bool is_whole_batch_;
  bool is_reverse_;
  int64_t steps_;
  int64_t chunk_steps_;
  int64_t units_;
  int64_t columns_;  // columns of all gates
  int64_t stride_;   // from row to row of gates and sums
  bool is_half_;
  StoredNumbers w_;
  StoredNumbers r_;
  float* bias_w_;
  float* bias_r_;
  float* sums_;
  float* chunk_;
  // These are in scratch memory if operands are halves; else the cells are a row of y.
  float* hidden_;
  float* cell_;
  const float* h0_ = nullptr;
  const float* c0_ = nullptr;
  const float* peepholes_ = nullptr;
  int64_t length_ = 0;
  float clip_ = 0.0f;
  Activation activations_[3];
};

void recurrent_f32(const KernelArgs& args) {
  const auto& params = args.params_as<RecurrentParams>();
  const RecurrentWork work = recurrent_work(params, args.operands[0].shape, args.output().shape);
  for (int64_t task = args.task_begin; task < args.task_end; ++task)
    RecurrentGroup(args, work, task).run();
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(recurrent_f32_cpu, recurrent_f32);
}
#endif
