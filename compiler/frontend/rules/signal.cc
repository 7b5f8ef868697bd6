// Signals: windows, Fourier transforms, the weights of mel filters.
//
// A Fourier transform is a product with a matrix of cosines and sines. Its cost grows with the
// square of the length of a sound frame, which is some hundred.
#include <algorithm>
#include <cmath>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

const double kTau = 2 * std::acos(-1.0);

// These limit windows and transforms, and the elements of a filter matrix. No network for sound has
// more. The importer makes such constants from a few bytes of the file each.
constexpr int64_t kMaxLength = 4096;
constexpr int64_t kMaxFilterWeights = int64_t{1} << 18;

llvm::Error expect_length(const OnnxNode& node, int64_t length) {
  if (length < 0)
    return input_error(node.name, "expected a length of 0 or more, found {0}", length);
  if (length > kMaxLength)
    return unsupported_error(node.name, "expected at most {0} elements, found {1}", kMaxLength,
                             length);
  return llvm::Error::success();
}

// Returns the dtype that attribute `output_datatype` names, as the graph holds it.
llvm::Expected<DType> read_output_dtype(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(data_type, node.int_or("output_datatype", 1));
  if (const std::optional<DType> dtype = dtype_of_onnx(data_type)) return held_dtype(*dtype);
  return unsupported_error(node.name, "expected an output of float or an integer, found {0}",
                           onnx_type_name(data_type));
}

// ---- HannWindow, HammingWindow, BlackmanWindow ----

// Computes offset - first * cos(angle) + second * cos(2 angle).
struct Window {
  double offset;
  double first;
  double second;
};

llvm::Error import_window(const OnnxNode& node, Importer& importer, Window window) {
  CODL_ASSIGN_OR_RETURN(dtype, read_output_dtype(node));
  CODL_ASSIGN_OR_RETURN(is_periodic, node.int_or("periodic", 1));
  CODL_ASSIGN_OR_RETURN(known, known_ints(node, importer, 0));
  const auto declared = importer.declared_dims(node, 0);
  if (!known && !(declared && declared->size() == 1))
    return needs_constant(node, importer, 0, "size");
  if (known && known->size() != 1)
    return input_error(node.name, "expected one size, found {0}", known->size());
  const int64_t length = known ? known->front() : declared->front();
  if (llvm::Error error = expect_length(node, length)) return error;
  if (length == 0) return bind_empty(node, importer, dtype, {0});
  const double period = static_cast<double>(is_periodic != 0 ? length : length - 1);
  std::vector<float> elements;
  for (int64_t i = 0; i < length; ++i) {
    const double angle = kTau * static_cast<double>(i) / period;
    elements.push_back(static_cast<float>(window.offset - window.first * std::cos(angle) +
                                          window.second * std::cos(2 * angle)));
  }
  Compose c(node, importer);
  return c.bind(c.cast(c.floats(elements, {length}, "window"), dtype));
}

llvm::Error import_hann_window(const OnnxNode& node, Importer& importer) {
  return import_window(node, importer, {0.5, 0.5, 0});
}
llvm::Error import_hamming_window(const OnnxNode& node, Importer& importer) {
  return import_window(node, importer, {25.0 / 46, 21.0 / 46, 0});
}
llvm::Error import_blackman_window(const OnnxNode& node, Importer& importer) {
  return import_window(node, importer, {0.42, 0.5, 0.08});
}

// ---- DFT ----

struct Transform {
  int64_t length = 0;
  bool is_inverse = false;
  // The forward transform gives only the half that determines a real signal; the inverse makes a
  // real signal of that half.
  bool is_onesided = false;

  int64_t half() const { return length / 2 + 1; }
  int64_t rows() const { return is_inverse && is_onesided ? half() : length; }
  int64_t bins() const { return !is_inverse && is_onesided ? half() : length; }
  int64_t parts() const { return is_inverse && is_onesided ? 1 : 2; }  // real and imaginary
};

// Returns [length, parts of the input, parts of the output]: the contribution of an input element
// to the output, by the angle between them in units of the circle's `length` parts.
ir::ValueId circle(Compose& c, const Transform& transform, int64_t parts) {
  const double scale = transform.is_inverse ? 1.0 / static_cast<double>(transform.length) : 1.0;
  const double direction = transform.is_inverse ? 1 : -1;
  std::vector<float> elements;
  for (int64_t i = 0; i < transform.length; ++i) {
    const double angle =
        direction * kTau * static_cast<double>(i) / static_cast<double>(transform.length);
    const double terms[2][2] = {{std::cos(angle), std::sin(angle)},
                                {-std::sin(angle), std::cos(angle)}};
    for (int64_t from = 0; from < parts; ++from)
      for (int64_t to = 0; to < transform.parts(); ++to)
        elements.push_back(static_cast<float>(scale * terms[from][to]));
  }
  return c.floats(elements, {transform.length, parts, transform.parts()}, "circle");
}

// Returns [rows * parts of the input, bins * parts of the output]. It is made of nodes, so that the
// limits of folded constants hold for its size.
ir::ValueId fourier_matrix(Compose& c, const Transform& transform, int64_t rows, int64_t parts) {
  const ir::ValueId turns = c.mul(c.reshape(iota(c, rows), {rows, 1}),
                                  c.reshape(iota(c, transform.bins()), {1, transform.bins()}));
  const ir::ValueId places = c.binary(kBinaryMod, turns, int_scalar(c, transform.length));
  ir::ValueId matrix = c.gather(circle(c, transform, parts), places, 0);
  if (transform.is_inverse && transform.is_onesided) {
    // Each row stands for its mirror image, too, except the first and, for an even length, the
    // last.
    std::vector<float> copies(rows, 2);
    copies[0] = 1;
    if (transform.length % 2 == 0 && rows == transform.half()) copies[rows - 1] = 1;
    matrix = c.mul(matrix, c.floats(copies, {rows, 1, 1, 1}, "copies"));
  }
  return c.reshape(c.transpose(matrix, {0, 2, 1, 3}),
                   {rows * parts, transform.bins() * transform.parts()});
}

// Transforms along `axis` of x[..., parts], which is cut or padded with zeros to the length.
ir::ValueId transformed(Compose& c, ir::ValueId x, int64_t axis, const Transform& transform) {
  const Dims64 dims(c.dims(x).begin(), c.dims(x).end());
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  const int64_t rows = std::min(dims[axis], transform.rows());
  Dims64 to_back;  // puts the axis before the last one
  for (int64_t i = 0; i < last; ++i)
    if (i != axis) to_back.push_back(i);
  to_back.append({axis, last});
  Dims64 result;
  for (int64_t i : to_back) result.push_back(dims[i]);
  result[last - 1] = transform.bins();
  result[last] = transform.parts();
  Dims64 to_front(dims.size());
  for (int64_t i = 0; i <= last; ++i) to_front[to_back[i]] = i;

  const int64_t signals = element_count(llvm::makeArrayRef(result).drop_back(2));
  const int64_t parts = dims[last];
  const ir::ValueId flat =
      c.reshape(c.transpose(c.slice(x, axis, 0, rows), to_back), {signals, rows * parts});
  const ir::ValueId y = c.matmul(flat, fourier_matrix(c, transform, rows, parts));
  return c.transpose(c.reshape(y, result), to_front);
}

llvm::Error expect_signal(const OnnxNode& node, llvm::ArrayRef<int64_t> dims) {
  if (dims.size() >= 2 && (dims.back() == 1 || dims.back() == 2)) return llvm::Error::success();
  return input_error(node.name,
                     "expected real or complex elements as a last dim of 1 or 2, found [{0}]",
                     llvm::make_range(dims.begin(), dims.end()));
}

// Returns the axes that operand 2, known only at run time, may name: those that give the declared
// dims.
std::vector<int64_t> fitting_axes(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> declared,
                                  const std::function<Transform(int64_t)>& transform_of) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis + 1 < static_cast<int64_t>(dims.size()); ++axis) {
    const Transform transform = transform_of(axis);
    if (transform.length < 1) continue;
    Dims64 result(dims.begin(), dims.end());
    result[axis] = transform.bins();
    result.back() = transform.parts();
    if (llvm::makeArrayRef(result) == declared) axes.push_back(axis);
  }
  return axes;
}

// Without a known axis, operand 2 picks one at run time among all that fit.
llvm::Error import_dft(const OnnxNode& node, Importer& importer,
                       std::optional<int64_t> known_axis) {
  CODL_ASSIGN_OR_RETURN(is_inverse, node.int_or("inverse", 0));
  CODL_ASSIGN_OR_RETURN(is_onesided, node.int_or("onesided", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = expect_signal(node, dims)) return error;
  std::optional<int64_t> length;
  if (is_given(node, importer, 1)) {
    CODL_ASSIGN_OR_RETURN(known, known_ints(node, importer, 1));
    if (!known) return needs_constant(node, importer, 1, "length");
    if (known->size() != 1 || known->front() < 1)
      return input_error(node.name, "expected one length of 1 or more, found another");
    length = known->front();
  }
  const auto transform_of = [&](int64_t axis) {
    Transform transform = {0, is_inverse != 0, is_onesided != 0};
    const bool is_half = transform.is_inverse && transform.is_onesided;
    transform.length = length.value_or(is_half ? 2 * (dims[axis] - 1) : dims[axis]);
    return transform;
  };
  std::vector<int64_t> axes;
  if (known_axis) {
    CODL_ASSIGN_OR_RETURN(axis, normalized_axis(node, *known_axis, dims.size()));
    if (axis + 1 == static_cast<int64_t>(dims.size()) || transform_of(axis).length < 1)
      return input_error(node.name, "expected an axis of a signal, found {0}", *known_axis);
    axes = {axis};
  } else {
    const auto declared = importer.declared_dims(node, 0);
    if (!declared) return needs_constant(node, importer, 2, "axis");
    axes = fitting_axes(dims, *declared, transform_of);
    if (axes.empty())
      return input_error(node.name, "expected declared dims that an axis makes, found others");
  }
  for (int64_t axis : axes)
    if (llvm::Error error = expect_length(node, transform_of(axis).length)) return error;
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  if (llvm::Error error = c.take_error()) return error;
  ir::ValueId y = transformed(c, x, axes[0], transform_of(axes[0]));
  for (size_t i = 1; i < axes.size(); ++i) {
    const ir::ValueId axis = from_front(c, c.reshape(c.operand_as(2, DType::I64), {}),
                                        int_scalar(c, static_cast<int64_t>(dims.size())));
    y = c.where(c.binary(kBinaryEqual, axis, int_scalar(c, axes[i])),
                transformed(c, x, axes[i], transform_of(axes[i])), y);
  }
  return c.bind(y);
}

// The axis is an attribute.
llvm::Error import_dft_17(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axis, node.int_or("axis", 1));
  return import_dft(node, importer, axis);
}

// The axis is an input.
llvm::Error import_dft_20(const OnnxNode& node, Importer& importer) {
  if (!is_given(node, importer, 2)) return import_dft(node, importer, -2);
  CODL_ASSIGN_OR_RETURN(known, known_ints(node, importer, 2));
  if (!known) return import_dft(node, importer, std::nullopt);
  if (known->size() != 1)
    return input_error(node.name, "expected one axis, found {0}", known->size());
  return import_dft(node, importer, known->front());
}

// ---- STFT ----

struct Frames {
  int64_t length = 0;
  int64_t count = 0;
};

// Transforms signal[batch, elements, parts] in overlapping frames: [batch, frames, bins, 2].
ir::ValueId short_transforms(Compose& c, ir::ValueId signal, ir::ValueId window, Frames frames,
                             bool is_onesided) {
  const ir::ValueId step = c.reshape(c.operand_as(1, DType::I64), {});
  const ir::ValueId starts = c.mul(c.reshape(iota(c, frames.count), {frames.count, 1}), step);
  const ir::ValueId places = c.add(starts, c.reshape(iota(c, frames.length), {1, frames.length}));
  ir::ValueId x = c.gather(signal, places, 1);
  if (window != ir::kNoId) x = c.mul(x, c.reshape(window, {frames.length, 1}));
  return transformed(c, x, 2, {frames.length, false, is_onesided});
}

// Returns the lengths that frames may have. There is one, unless the length is known only at run
// time: two lengths of a onesided transform give the same number of bins.
llvm::Expected<std::vector<int64_t>> frame_lengths(const OnnxNode& node, Importer& importer,
                                                   llvm::ArrayRef<int64_t> signal,
                                                   bool is_onesided) {
  std::vector<int64_t> lengths;
  const bool has_window = is_given(node, importer, 2);
  if (has_window) {
    CODL_ASSIGN_OR_RETURN(window, importer.dims_of(node, 2));
    if (window.size() != 1)
      return input_error(node.name, "expected a window of rank 1, found {0}", window.size());
    lengths = {window[0]};
  }
  if (is_given(node, importer, 3)) {
    CODL_ASSIGN_OR_RETURN(known, known_ints(node, importer, 3));
    const auto declared = importer.declared_dims(node, 0);
    if (known) {
      if (known->size() != 1 || (has_window && lengths != *known))
        return input_error(node.name, "expected one frame length, and a window of that length");
      lengths = *known;
    } else if (!has_window) {
      if (!declared || declared->size() != 4)
        return needs_constant(node, importer, 3, "frame length");
      const int64_t bins = (*declared)[2];
      lengths = is_onesided ? std::vector<int64_t>{2 * bins - 2, 2 * bins - 1}
                            : std::vector<int64_t>{bins};
    }
  } else if (!has_window) {
    lengths = {signal[1]};
  }
  llvm::erase_if(lengths, [&](int64_t length) { return length < 1 || length > signal[1]; });
  if (lengths.empty())
    return input_error(node.name, "expected frames of 1 to {0} elements, found others", signal[1]);
  return lengths;
}

llvm::Error import_stft(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(is_onesided, node.int_or("onesided", 1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (llvm::Error error = expect_signal(node, dims)) return error;
  if (dims.size() != 3)
    return input_error(node.name, "expected a signal of rank 3, found {0}", dims.size());
  CODL_ASSIGN_OR_RETURN(lengths, frame_lengths(node, importer, dims, is_onesided != 0));
  CODL_ASSIGN_OR_RETURN(step, known_ints(node, importer, 1));
  const auto declared = importer.declared_dims(node, 0);
  if (!step && (!declared || declared->size() != 4))
    return needs_constant(node, importer, 1, "frame step");
  if (step && (step->size() != 1 || step->front() < 1))
    return input_error(node.name, "expected one frame step of 1 or more, found another");
  const auto frames_of = [&](int64_t length) -> Frames {
    return {length, step ? (dims[1] - length) / step->front() + 1 : (*declared)[1]};
  };
  for (int64_t length : lengths)
    if (llvm::Error error = expect_length(node, length)) return error;
  if (llvm::Error error = check_dims(node, {frames_of(lengths[0]).count})) return error;
  if (frames_of(lengths[0]).count == 0)
    return input_error(node.name, "expected one frame or more, found none");
  Compose c(node, importer);
  const ir::ValueId signal = c.operand(0);
  const ir::ValueId window = is_given(node, importer, 2) ? c.operand(2) : ir::kNoId;
  if (llvm::Error error = c.take_error()) return error;
  ir::ValueId y = short_transforms(c, signal, window, frames_of(lengths[0]), is_onesided != 0);
  if (lengths.size() > 1) {
    const ir::ValueId length = c.reshape(c.operand_as(3, DType::I64), {});
    y = c.where(c.binary(kBinaryEqual, length, int_scalar(c, lengths[1])),
                short_transforms(c, signal, window, frames_of(lengths[1]), is_onesided != 0), y);
  }
  return c.bind(y);
}

// ---- MelWeightMatrix ----

struct MelFilters {
  int64_t count = 0;
  int64_t transform_length = 0;
  double sample_rate = 0;
  double lower_hertz = 0;
  double upper_hertz = 0;

  int64_t spectrum() const { return transform_length / 2 + 1; }
};

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

// Returns triangles over the spectrum, whose corners are evenly spaced in mel. As in ONNX's
// reference, the step divides by the number of corners, not of the spaces between them.
llvm::Expected<std::vector<float>> mel_weights(const OnnxNode& node, const MelFilters& filters) {
  const double low = mel_of(filters.lower_hertz);
  const double step = (mel_of(filters.upper_hertz) - low) / static_cast<double>(filters.count + 2);
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < filters.count + 2; ++i) {
    const double hertz = hertz_of(low + static_cast<double>(i) * step);
    const double place =
        std::floor(static_cast<double>(filters.transform_length + 1) * hertz / filters.sample_rate);
    if (!(place >= 0 && place < static_cast<double>(filters.spectrum())))
      return input_error(node.name, "expected filters within the spectrum, found one outside");
    corners.push_back(static_cast<int64_t>(place));
  }
  std::vector<float> weights(filters.spectrum() * filters.count, 0);
  for (int64_t i = 0; i < filters.count; ++i) {
    const auto at = [&](int64_t bin) -> float& { return weights[bin * filters.count + i]; };
    const int64_t first = corners[i];
    const int64_t middle = corners[i + 1];
    const int64_t last = corners[i + 2];
    at(middle) = 1;
    for (int64_t bin = first; bin < middle; ++bin)
      at(bin) = static_cast<float>(static_cast<double>(bin - first) /
                                   static_cast<double>(middle - first));
    for (int64_t bin = middle; bin < last; ++bin)
      at(bin) =
          static_cast<float>(static_cast<double>(last - bin) / static_cast<double>(last - middle));
  }
  return weights;
}

// Requires constant operands: the last digit of a logarithm decides where a corner falls.
llvm::Error import_mel_weight_matrix(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dtype, read_output_dtype(node));
  double numbers[5] = {};
  for (size_t i = 0; i < 5; ++i) {
    if (!importer.is_constant(node, i)) return needs_constant(node, importer, i, "filters");
    CODL_ASSIGN_OR_RETURN(view, importer.constant(node, i));
    if (element_count(view.dims) != 1)
      return input_error(node.name, "expected scalars, found {0} elements",
                         element_count(view.dims));
    CODL_ASSIGN_OR_RETURN(elements, importer.float_constant(node, i));
    numbers[i] = elements[0];
  }
  if (!(numbers[0] >= 1 && numbers[0] <= kMaxDim && numbers[1] >= 1 && numbers[1] <= kMaxDim &&
        numbers[2] > 0 && numbers[3] >= 0 && numbers[4] >= numbers[3]))
    return input_error(
        node.name, "expected filters of 1 to {0} bins, from low to high, found others", kMaxDim);
  const MelFilters filters = {static_cast<int64_t>(numbers[0]), static_cast<int64_t>(numbers[1]),
                              numbers[2], numbers[3], numbers[4]};
  if (filters.spectrum() * filters.count > kMaxFilterWeights)
    return unsupported_error(node.name, "expected at most {0} weights, found {1}",
                             kMaxFilterWeights, filters.spectrum() * filters.count);
  CODL_ASSIGN_OR_RETURN(weights, mel_weights(node, filters));
  Compose c(node, importer);
  return c.bind(c.cast(c.floats(weights, {filters.spectrum(), filters.count}, "weights"), dtype));
}

}  // namespace

llvm::ArrayRef<ImportEntry> signal_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"BlackmanWindow", 17, kNewestOpset, import_blackman_window},
      {"DFT", 17, 19, import_dft_17},
      {"DFT", 20, kNewestOpset, import_dft_20},
      {"HammingWindow", 17, kNewestOpset, import_hamming_window},
      {"HannWindow", 17, kNewestOpset, import_hann_window},
      {"MelWeightMatrix", 17, kNewestOpset, import_mel_weight_matrix},
      {"STFT", 17, kNewestOpset, import_stft},
  };
  return kEntries;
}

}  // namespace codl::compiler
