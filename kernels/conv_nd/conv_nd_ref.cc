#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/conv_nd/conv_nd.h"

namespace codl::kernels {
namespace {

// Steps along one axis by the stride: "from" moves through "to", in a plain convolution from
// outputs to inputs, in a transposed one from inputs to outputs.
struct Steps {
  int64_t from_extent;
  int64_t to_extent;
  int64_t stride;
  int64_t offset;  // offset of one tap: `from` meets from * stride + offset

  // The elements [begin(), end()) of `from` each meet an element.
  int64_t begin() const {
    const int64_t first = -floor_div(offset, stride);
    return first > 0 ? first : 0;
  }
  int64_t end() const {
    const int64_t last = floor_div(to_extent - 1 - offset, stride) + 1;
    return last < from_extent ? last : from_extent;
  }
};

// T is float, or uint32_t for i32, whose sums wrap.
template <typename T>
class Convolution {
 public:
  explicit Convolution(const KernelArgs& args)
      : params_(args.params_as<ConvNdParams>()),
        x_(args.operands[0]),
        w_(args.operands[1]),
        y_(args.output()),
        bias_(params_.has_bias != 0 ? args.operands[2].as<const T>() : nullptr),
        axes_(conv_nd_axes(params_, x_.shape, w_.shape, y_.shape)) {}

  void run() const {
    const int64_t row = axes_.axis[2].out;
    T* y_row = y_.as<T>();
    for (int32_t n = 0; n < y_.shape.dims[0]; ++n)
      for (int32_t channel = 0; channel < y_.shape.dims[1]; ++channel)
        for (int32_t o0 = 0; o0 < axes_.axis[0].out; ++o0)
          for (int32_t o1 = 0; o1 < axes_.axis[1].out; ++o1, y_row += row) {
            const T bias = bias_ != nullptr ? bias_[channel] : T{0};
            for (int64_t i = 0; i < row; ++i) y_row[i] = bias;
            add_channels(n, channel, o0, o1, y_row);
          }
  }

 private:
  void add_channels(int32_t n, int32_t channel, int32_t o0, int32_t o1, T* y_row) const {
    const int32_t x_channels = x_.shape.dims[1] / params_.groups;
    const int32_t y_channels = y_.shape.dims[1] / params_.groups;
    const int32_t group = channel / y_channels;
    for (int32_t c = 0; c < x_channels; ++c) {
      const int64_t x_channel = int64_t{group} * x_channels + c;
      const T* x_map = x_.as<const T>() + n * x_.strides[0] + x_channel * x_.strides[1];
      const T* w_map = w_.as<const T>();
      if (params_.is_transposed != 0)
        w_map += x_channel * w_.strides[0] + channel % y_channels * w_.strides[1];
      else
        w_map += channel * w_.strides[0] + c * w_.strides[1];
      add_map(x_map, w_map, o0, o1, y_row);
    }
  }

  // Adds the products of one input channel.
  void add_map(const T* x_map, const T* w_map, int32_t o0, int32_t o1, T* y_row) const {
    for (int32_t k0 = 0; k0 < axes_.axis[0].kernel; ++k0) {
      const int64_t i0 = input_at(axes_.axis[0], o0, k0);
      for (int32_t k1 = 0; k1 < axes_.axis[1].kernel; ++k1, w_map += axes_.axis[2].kernel) {
        const int64_t i1 = input_at(axes_.axis[1], o1, k1);
        if (i0 < 0 || i1 < 0) continue;
        add_row(x_map + (i0 * axes_.axis[1].in + i1) * axes_.axis[2].in, w_map, y_row);
      }
    }
  }

  // Returns the input element that tap `k` of output `o` looks at, or -1.
  int64_t input_at(const ConvNdAxis& axis, int64_t o, int64_t k) const {
    const int64_t offset = k * axis.dilation - axis.pad_begin;
    int64_t i = o * axis.stride + offset;
    if (params_.is_transposed != 0) {
      if ((o - offset) % axis.stride != 0) return -1;
      i = (o - offset) / axis.stride;
    }
    return i >= 0 && i < axis.in ? i : -1;
  }

  void add_row(const T* x_row, const T* w_row, T* y_row) const {
    const ConvNdAxis& axis = axes_.axis[2];
    const bool is_transposed = params_.is_transposed != 0;
    for (int64_t k = 0; k < axis.kernel; ++k) {
      Steps steps = {axis.out, axis.in, axis.stride, k * axis.dilation - axis.pad_begin};
      if (is_transposed) {
        steps.from_extent = axis.in;
        steps.to_extent = axis.out;
      }
      const int64_t begin = steps.begin();
      const int64_t end = steps.end();
      const int64_t to = begin * axis.stride + steps.offset;
      const T w = w_row[k];
      if (axis.stride == 1)
        add_products(w, x_row + (is_transposed ? begin : to), y_row + (is_transposed ? to : begin),
                     end - begin);
      else if (is_transposed)
        for (int64_t j = 0; j < end - begin; ++j)
          y_row[to + j * axis.stride] += w * x_row[begin + j];
      else
        for (int64_t j = 0; j < end - begin; ++j)
          y_row[begin + j] += w * x_row[to + j * axis.stride];
    }
  }

  static void add_products(T w, const T* __restrict x, T* __restrict y, int64_t count) {
    for (int64_t j = 0; j < count; ++j) y[j] += w * x[j];
  }

  const ConvNdParams& params_;
  const TensorView& x_;
  const TensorView& w_;
  const TensorView& y_;
  const T* bias_;
  ConvNdAxes axes_;
};

}  // namespace

void conv_nd_ref(const KernelArgs& args) {
  if (args.output().shape.dtype == DType::F32)
    Convolution<float>(args).run();
  else
    Convolution<uint32_t>(args).run();
}

CODL_CPU_KERNEL_PLAIN(conv_nd_any_cpu, conv_nd_ref);

}  // namespace codl::kernels
