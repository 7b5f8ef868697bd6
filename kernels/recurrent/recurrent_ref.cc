#include <cmath>
#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/recurrent/recurrent.h"
#include "kernels/unary/unary.h"

namespace codl::kernels {
namespace {

// Eight sums at a time: additions need not wait for each other.
float dot(const float* a, const float* b, int64_t count) {
  constexpr int64_t kSums = 8;
  float sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (int64_t k = 0; k < kSums; ++k) sums[k] += a[i + k] * b[i + k];
  for (int64_t k = 0; i < count; ++i, ++k) sums[k] += a[i] * b[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

// Computes one direction of one sequence.
class Sequence {
 public:
  Sequence(const KernelArgs& args, int32_t direction, int32_t batch)
      : params_(args.params_as<RecurrentParams>()),
        x_(args.operands[0]),
        y_(args.output()),
        inputs_(x_.shape.dims[2]),
        units_(y_.shape.dims[3]),
        is_reverse_(params_.direction == 1 || direction == 1),
        offset_(direction * y_.strides[1] + batch * y_.strides[2]),
        batch_(batch) {
    const RecurrentOperands operands = recurrent_operands(params_);
    const int64_t rows = units_ * recurrent_gates(params_.kind);
    // Returns the memory of an operand for this direction; null if it is absent.
    const auto of_direction = [&](uint32_t operand, int64_t elements) -> const float* {
      if (operand == 0) return nullptr;
      return args.operands[operand].as<const float>() + direction * elements;
    };
    w_ = of_direction(1, rows * inputs_);
    r_ = of_direction(2, rows * units_);
    bias_ = of_direction(operands.bias, 2 * rows);
    peepholes_ = of_direction(operands.peepholes, 3 * units_);
    const int64_t batches = x_.shape.dims[1];
    if (operands.h0 != 0) h0_ = of_direction(operands.h0, batches * units_) + batch * units_;
    if (operands.c0 != 0) c0_ = of_direction(operands.c0, batches * units_) + batch * units_;
    steps_ = x_.shape.dims[0];
    length_ = steps_;
    if (operands.lengths != 0) {
      const int64_t length = args.operands[operands.lengths].as<const int64_t>()[batch];
      length_ = length < 0 ? 0 : length < steps_ ? length : steps_;
    }
    set_activations(direction * recurrent_activations(params_.kind));
  }

  void run() {
    const size_t bytes = static_cast<size_t>(units_) * sizeof(float);
    for (int64_t t = length_; t < steps_; ++t) std::memset(row(t), 0, bytes);
    float* cell = row(steps_ + 1);
    if (c0_ != nullptr)
      std::memcpy(cell, c0_, bytes);
    else
      std::memset(cell, 0, bytes);
    const float* hidden = h0_;  // state of the step before; null means zero
    for (int64_t k = 0; k < length_; ++k) {
      const int64_t t = is_reverse_ ? length_ - 1 - k : k;
      const float* x = x_.as<const float>() + t * x_.strides[0] + batch_ * x_.strides[1];
      step(x, hidden, cell, row(t));
      hidden = row(t);
    }
    if (hidden != nullptr)
      std::memcpy(row(steps_), hidden, bytes);
    else
      std::memset(row(steps_), 0, bytes);
  }

 private:
  // Returns the h elements of y's row `t` that belong to this sequence and direction.
  float* row(int64_t t) const { return y_.as<float>() + t * y_.strides[0] + offset_; }

  void set_activations(int32_t first) {
    for (int32_t i = 0; i < recurrent_activations(params_.kind); ++i)
      activations_[i] = recurrent_activation(params_, first + i);
  }

  float activate(int32_t which, float value) const {
    // fmin() and fmax() would lose a NaN.
    if (params_.clip > 0.0f && std::fabs(value) > params_.clip)
      value = std::copysign(params_.clip, value);
    const RecurrentActivation& activation = activations_[which];
    return unary_value_ref(activation.kind, activation.alpha, activation.beta, value);
  }

  // Return the product of the input, or of the hidden state, with a gate's weights of one unit,
  // plus its bias.
  float of_input(int64_t gate, int64_t unit, const float* x) const {
    const int64_t at = gate * units_ + unit;
    return (bias_ != nullptr ? bias_[at] : 0.0f) + dot(w_ + at * inputs_, x, inputs_);
  }
  float of_hidden(int64_t gate, int64_t unit, const float* hidden) const {
    const int64_t at = gate * units_ + unit;
    const int64_t gates = recurrent_gates(params_.kind);
    const float bias = bias_ != nullptr ? bias_[gates * units_ + at] : 0.0f;
    return hidden != nullptr ? bias + dot(r_ + at * units_, hidden, units_) : bias;
  }
  float gate_sum(int64_t gate, int64_t unit, const float* x, const float* hidden) const {
    return of_input(gate, unit, x) + of_hidden(gate, unit, hidden);
  }
  // Returns the cell's addend to a gate; without peepholes it is 0, even for an infinite cell.
  float of_cell(int64_t gate, int64_t unit, float cell) const {
    return peepholes_ != nullptr ? peepholes_[gate * units_ + unit] * cell : 0.0f;
  }

  void step(const float* x, const float* hidden, float* cell, float* out) const {
    if (params_.kind == kRecurrentLstm) {
      for (int64_t j = 0; j < units_; ++j) out[j] = lstm_unit(j, x, hidden, &cell[j]);
    } else if (params_.kind == kRecurrentGru) {
      gru_step(x, hidden, out);
    } else {
      for (int64_t j = 0; j < units_; ++j) out[j] = activate(0, gate_sum(0, j, x, hidden));
    }
  }

  float lstm_unit(int64_t j, const float* x, const float* hidden, float* cell) const {
    enum : int64_t { kInput = 0, kOutput = 1, kForget = 2, kCell = 3 };
    const float input = activate(0, gate_sum(kInput, j, x, hidden) + of_cell(kInput, j, *cell));
    const float forget =
        params_.is_input_forget != 0
            ? 1.0f - input
            : activate(0, gate_sum(kForget, j, x, hidden) + of_cell(kForget, j, *cell));
    *cell = forget * *cell + input * activate(1, gate_sum(kCell, j, x, hidden));
    const float output = activate(0, gate_sum(kOutput, j, x, hidden) + of_cell(kOutput, j, *cell));
    return output * activate(2, *cell);
  }

  void gru_step(const float* x, const float* hidden, float* out) const {
    enum : int64_t { kUpdate = 0, kReset = 1, kHidden = 2 };
    const bool resets_first = params_.is_linear_before_reset == 0;
    float* reset_hidden = nullptr;
    if (resets_first && hidden != nullptr) {
      // The last hidden state goes here when all steps are done.
      reset_hidden = row(steps_);
      for (int64_t j = 0; j < units_; ++j)
        reset_hidden[j] = activate(0, gate_sum(kReset, j, x, hidden)) * hidden[j];
    }
    for (int64_t j = 0; j < units_; ++j) {
      const float update = activate(0, gate_sum(kUpdate, j, x, hidden));
      float candidate = of_input(kHidden, j, x);
      if (resets_first)
        candidate += of_hidden(kHidden, j, reset_hidden);
      else
        candidate += activate(0, gate_sum(kReset, j, x, hidden)) * of_hidden(kHidden, j, hidden);
      const float before = hidden != nullptr ? hidden[j] : 0.0f;
      out[j] = (1.0f - update) * activate(1, candidate) + update * before;
    }
  }

  const RecurrentParams& params_;
  const TensorView& x_;
  const TensorView& y_;
  int64_t inputs_;
  int64_t units_;
  bool is_reverse_;
  int64_t offset_;
  int64_t batch_;
  int64_t steps_ = 0;
  int64_t length_ = 0;
  const float* w_ = nullptr;
  const float* r_ = nullptr;
  const float* bias_ = nullptr;
  const float* peepholes_ = nullptr;
  const float* h0_ = nullptr;
  const float* c0_ = nullptr;
  RecurrentActivation activations_[3] = {};
};

}  // namespace

void recurrent_ref(const KernelArgs& args) {
  const TensorView& y = args.output();
  for (int32_t direction = 0; direction < y.shape.dims[1]; ++direction)
    for (int32_t batch = 0; batch < y.shape.dims[2]; ++batch)
      Sequence(args, direction, batch).run();
}

CODL_CPU_KERNEL_PLAIN(recurrent_any_cpu, recurrent_ref);

}  // namespace codl::kernels
