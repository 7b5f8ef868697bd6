// Fits the weights of a pruned network to the sums of the untouched one.
#include <algorithm>
#include <optional>

#include "compiler/accuracy/deviation.h"
#include "compiler/interp/fast_node.h"
#include "compiler/ops/activation.h"
#include "compiler/passes/rewrite.h"
#include "compiler/shrink/matrix.h"
#include "compiler/shrink/operands.h"
#include "compiler/shrink/pruning.h"
#include "compiler/support/error.h"
#include "compiler/support/parallel.h"

namespace codl::compiler {
namespace {

constexpr int64_t kMaxFitBytes = int64_t{1} << 29;
constexpr int64_t kMaxFeatures = 2305;
// The fit has this many rows for each unknown: more say little that is new.
constexpr int64_t kRowsPerFeature = 8;
// The ridge is relative to the mean square of the features and limits how far a weight moves for a
// small gain. It is larger if there are few rows per feature.
constexpr double kRidge = 3e-3;
constexpr double kRidgeOfFewRows = 0.05;
constexpr size_t kMeasuredSamples = 64;

bool is_depthwise(const ir::NodeView& node) { return node.node.op == OpKind::DepthwiseConv2d; }

// Depthwise ones are also what BatchNormalization is where no convolution has taken it: its
// statistics are fitted with its scale and shift.
bool is_fitted(const ir::NodeView& node) {
  const bool is_sum = node.node.op == OpKind::MatMul || is_depthwise(node) ||
                      (node.node.op == OpKind::Conv2d && node.params<Conv2dParams>().groups == 1);
  return is_sum && node.input_value(kW).is_constant && node.input_value(kBias).is_constant;
}

// Sums of products of what some outputs are fitted of. Rows are gathered before they are
// multiplied: one at a time would pass over the sums for each.
class NormalEquations {
 public:
  NormalEquations(int64_t features, int64_t outputs)
      : gram(features, features),
        across(features, outputs),
        rows_(kRowsAtOnce, features),
        targets_(kRowsAtOnce, outputs) {}
  // Returns the row of features to fill; add() then takes the targets that they should give.
  llvm::MutableArrayRef<double> next_row() { return rows_.row(count_); }
  void add(llvm::ArrayRef<double> targets) {
    llvm::copy(targets, targets_.row(count_).begin());
    if (++count_ == kRowsAtOnce) finish();
  }
  void finish() {
    add_transposed_product(1, rows_, rows_, count_, gram);
    add_transposed_product(1, rows_, targets_, count_, across);
    count_ = 0;
  }

  Matrix gram;    // [features + 1, features + 1]
  Matrix across;  // [features + 1, outputs]

 private:
  static constexpr int64_t kRowsAtOnce = 128;
  Matrix rows_, targets_;
  int64_t count_ = 0;
};

// Describes the fit of one node.
struct Fit {
  int64_t rows_per_sample = 0;
  std::vector<int32_t> kept;  // indexed by output channel: the untouched network's
  // There is one for all outputs; a depthwise node has one for each.
  std::vector<NormalEquations> equations;
  Matrix targets;  // targets of the current sample, [rows, outputs]
};

int64_t pixels_of(const ir::TensorType& type) {
  int64_t pixels = type.dims[0];
  for (int32_t d = 2; d < type.rank(); ++d) pixels *= type.dims[d];
  return pixels;
}

// Returns the pixel that is row `row` of a sample's rows in the fit; each sample has other ones.
int64_t pixel_at(int64_t row, int64_t rows, int64_t pixels, size_t sample) {
  return (row * pixels / rows + static_cast<int64_t>(sample)) % pixels;
}

// Returns channel c of pixel p of a map [n, c, ...].
float element_at(const float* x, const ir::Dims& dims, int64_t pixel, int64_t channel) {
  int64_t area = 1;
  for (size_t d = 2; d < dims.size(); ++d) area *= dims[d];
  return x[(pixel / area * dims[1] + channel) * area + pixel % area];
}

// Reads `channels` channels of a map from `first` on that the window at an output pixel sees, in
// the weights' order, and 1.
template <typename Params>
void window_at(const ir::NodeView& node, const float* x, int64_t pixel, int64_t first,
               int64_t channels, llvm::MutableArrayRef<double> features) {
  const auto p = node.params<Params>();
  const ir::Dims& in = node.input(kX).dims;
  const ir::Dims& filter = node.input(kW).dims;
  const ir::Dims& out = node.output().dims;
  const int64_t area = int64_t{out[2]} * out[3];
  const int64_t batch = pixel / area, oh = pixel % area / out[3], ow = pixel % out[3];
  llvm::SmallVector<int64_t, 32> taps;  // place in a channel; -1: in the padding
  for (int64_t kh = 0; kh < filter[2]; ++kh)
    for (int64_t kw = 0; kw < filter[3]; ++kw) {
      const int64_t ih = oh * p.stride_h - p.pad_top + kh * p.dilation_h;
      const int64_t iw = ow * p.stride_w - p.pad_left + kw * p.dilation_w;
      const bool is_inside = ih >= 0 && ih < in[2] && iw >= 0 && iw < in[3];
      taps.push_back(is_inside ? ih * in[3] + iw : -1);
    }
  const int64_t plane = int64_t{in[2]} * in[3];
  const float* channel = x + (batch * in[1] + first) * plane;
  int64_t at = 0;
  for (int64_t c = 0; c < channels; ++c, channel += plane)
    for (int64_t tap : taps) features[at++] = tap < 0 ? 0.0f : channel[tap];
  features[at] = 1;
}

// Reads the features that the node's sum at an output pixel consists of. `output` says which one in
// a depthwise node.
void features_at(const ir::NodeView& node, const float* x, int64_t pixel, int64_t output,
                 llvm::MutableArrayRef<double> features) {
  const ir::Dims& in = node.input(kX).dims;
  if (node.node.op == OpKind::MatMul) {
    for (int64_t c = 0; c < in[1]; ++c) features[c] = x[pixel * in[1] + c];
    features[in[1]] = 1;
  } else if (is_depthwise(node)) {
    const int64_t channel = output * in[1] / node.output().dims[1];
    window_at<DepthwiseConv2dParams>(node, x, pixel, channel, 1, features);
  } else {
    window_at<Conv2dParams>(node, x, pixel, 0, in[1], features);
  }
}

// Holds the values of one graph that some node has yet to read, of each sample. They take at most
// kMaxFitBytes, in ordinary memory: large values that lie in files would be written to disk.
class Frontier {
 public:
  explicit Frontier(const ir::Graph& graph) : last_reader_(graph.values().size(), 0) {
    for (ir::NodeId id = 0; id < graph.nodes().size(); ++id)
      for (ir::ValueId input : graph.node(id).inputs) last_reader_[input] = id;
  }
  // Returns the most bytes that a sample's values take at a time.
  int64_t peak_bytes(const ir::Graph& graph) const {
    int64_t live = 0, peak = 0;
    for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
      live += graph.value(graph.node(id).output).type.element_count() * int64_t{sizeof(float)};
      peak = std::max(peak, live);
      for (ir::ValueId input : distinct(graph.node(id).inputs))
        if (last_reader_[input] == id && graph.value(input).producer != ir::kNoId)
          live -= graph.value(input).type.element_count() * int64_t{sizeof(float)};
    }
    return peak;
  }
  void add_sample(const ir::Graph& graph, std::vector<Bytes> inputs) {
    auto& values = samples_.emplace_back();
    for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = std::move(inputs[i]);
  }
  size_t count() const { return samples_.size(); }
  llvm::SmallVector<llvm::ArrayRef<uint8_t>, 4> operands(const ir::Graph& graph, ir::NodeId id,
                                                         size_t sample) {
    llvm::SmallVector<llvm::ArrayRef<uint8_t>, 4> result;
    for (ir::ValueId input : graph.node(id).inputs)
      result.push_back(graph.value(input).is_constant
                           ? llvm::ArrayRef<uint8_t>(graph.value(input).bytes)
                           : llvm::ArrayRef<uint8_t>(samples_[sample][input]));
    return result;
  }
  void set(const ir::Graph& graph, ir::NodeId id, size_t sample, llvm::ArrayRef<uint8_t> result) {
    samples_[sample][graph.node(id).output] = result.vec();
    // Only constants are added to the graph meanwhile.
    for (ir::ValueId input : graph.node(id).inputs)
      if (!graph.value(input).is_constant && last_reader_[input] == id)
        samples_[sample].erase(input);
  }

 private:
  static llvm::SmallVector<ir::ValueId, 4> distinct(llvm::ArrayRef<ir::ValueId> inputs) {
    llvm::SmallVector<ir::ValueId, 4> result(inputs.begin(), inputs.end());
    llvm::sort(result);
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }
  std::vector<ir::NodeId> last_reader_;  // indexed by value of the original graph
  std::vector<std::map<ir::ValueId, Bytes>> samples_;
};

// Runs both networks node by node over all samples, and fits a node's weights before the next one
// sees what they give.
class Refit {
 public:
  Refit(const ir::Graph& untouched, const ir::Graph& pruned, llvm::ArrayRef<const Channel*> removed)
      : untouched_(untouched),
        pruned_(pruned),
        before_(untouched),
        after_(pruned),
        names_(pruned_) {
    for (const Channel* channel : removed)
      for (const Place& place : channel->places) {
        const ir::Value& value = untouched.value(place.dim.value);
        if (value.is_constant || place.dim.dim != 1) continue;
        const auto [entry, is_new] = gone_.try_emplace(
            place.dim.value, llvm::BitVector(static_cast<unsigned>(value.type.dims[1])));
        entry->second.set(static_cast<unsigned>(place.index));
      }
  }

  llvm::Expected<ir::Graph> run(CalibrationData& calibration, llvm::ArrayRef<size_t> samples) {
    const int64_t bytes =
        std::max<int64_t>(before_.peak_bytes(untouched_) + after_.peak_bytes(pruned_), 1);
    const auto most = static_cast<size_t>(std::max<int64_t>(kMaxFitBytes / bytes, 1));
    for (size_t sample : samples.take_front(most)) {
      CODL_ASSIGN_OR_RETURN(inputs, calibration.inputs(sample));
      before_.add_sample(untouched_, inputs);
      after_.add_sample(pruned_, std::move(inputs));
    }
    for (ir::NodeId id = 0; id < pruned_.nodes().size(); ++id)
      if (llvm::Error error = fit_node(id)) return error;
    pruned_.remove_unused_values();
    return std::move(pruned_);
  }

 private:
  std::optional<Fit> make_fit(ir::NodeId id) const {
    const ir::NodeView view{pruned_, pruned_.node(id)};
    if (!is_fitted(view)) return std::nullopt;
    const int64_t outputs = view.output().dims[1];
    const int64_t features = view.input(kW).element_count() / outputs + 1;
    if (features > kMaxFeatures) return std::nullopt;
    Fit fit;
    const int64_t together = is_depthwise(view) ? 1 : outputs;
    fit.equations.assign(static_cast<size_t>(outputs / together), {features, together});
    fit.rows_per_sample =
        std::clamp<int64_t>(kRowsPerFeature * features / static_cast<int64_t>(after_.count()) + 1,
                            1, pixels_of(view.output()));
    const auto found = gone_.find(untouched_.node(id).output);
    for (int32_t c = 0; static_cast<int64_t>(fit.kept.size()) < outputs; ++c)
      if (found == gone_.end() || !found->second[static_cast<unsigned>(c)]) fit.kept.push_back(c);
    return fit;
  }

  llvm::Error fit_node(ir::NodeId id) {
    std::optional<Fit> fit = make_fit(id);
    const ir::NodeView was{untouched_, untouched_.node(id)};
    const FastNode before(untouched_, fit ? without_activation(was.node) : was.node);
    std::vector<LargeBytes> results(after_.count());
    const auto evaluate = [&](size_t s) -> llvm::Error {
      CODL_ASSIGN_OR_RETURN(result, before.evaluate(before_.operands(untouched_, id, s)));
      results[s] = std::move(result);
      return llvm::Error::success();
    };
    if (llvm::Error error = for_each_at_once(results.size(), evaluate)) return error;
    for (size_t s = 0; s < after_.count(); ++s) {
      if (fit) {
        take_targets(was, results[s], s, *fit);
        gather({pruned_, pruned_.node(id)}, after_.operands(pruned_, id, s), s, *fit);
        apply_activation(was, results[s]);
      }
      before_.set(untouched_, id, s, results[s]);
      LargeBytes().swap(results[s]);
    }
    if (fit) {
      for (NormalEquations& equations : fit->equations) equations.finish();
      solve(pruned_, names_, id, *fit);
    }
    const FastNode after(pruned_, pruned_.node(id));
    return for_each_at_once(after_.count(), [&](size_t s) -> llvm::Error {
      CODL_ASSIGN_OR_RETURN(result, after.evaluate(after_.operands(pruned_, id, s)));
      after_.set(pruned_, id, s, result);
      return llvm::Error::success();
    });
  }

  static void take_targets(const ir::NodeView& node, const LargeBytes& sum, size_t sample,
                           Fit& fit) {
    const int64_t pixels = pixels_of(node.output());
    fit.targets = Matrix(fit.rows_per_sample, static_cast<int64_t>(fit.kept.size()));
    for (int64_t r = 0; r < fit.rows_per_sample; ++r)
      for (size_t c = 0; c < fit.kept.size(); ++c)
        fit.targets(r, static_cast<int64_t>(c)) =
            element_at(floats(sum), node.output().dims,
                       pixel_at(r, fit.rows_per_sample, pixels, sample), fit.kept[c]);
  }

  static void gather(const ir::NodeView& node, llvm::ArrayRef<llvm::ArrayRef<uint8_t>> operands,
                     size_t sample, Fit& fit) {
    const int64_t pixels = pixels_of(node.output());
    // The residual is added after the sum, so it is the present one.
    if (operands.size() > kResidual)
      for (int64_t r = 0; r < fit.rows_per_sample; ++r)
        for (int64_t c = 0; c < fit.targets.columns(); ++c)
          fit.targets(r, c) -= element_at(floats(operands[kResidual]), node.output().dims,
                                          pixel_at(r, fit.rows_per_sample, pixels, sample), c);
    int64_t first = 0;
    for (NormalEquations& equations : fit.equations) {
      const int64_t count = equations.across.columns();
      for (int64_t r = 0; r < fit.rows_per_sample; ++r) {
        features_at(node, floats(operands[kX]), pixel_at(r, fit.rows_per_sample, pixels, sample),
                    first, equations.next_row());
        equations.add(
            fit.targets.row(r).slice(static_cast<size_t>(first), static_cast<size_t>(count)));
      }
      first += count;
    }
  }

  static void solve(ir::Graph& graph, NewNames& names, ir::NodeId id, const Fit& fit) {
    const bool is_product = graph.node(id).op == OpKind::MatMul;
    const ir::Value w = graph.value(graph.node(id).inputs[kW]);
    const ir::Value bias = graph.value(graph.node(id).inputs[kBias]);
    const auto outputs = static_cast<int64_t>(fit.kept.size());
    const int64_t features = fit.equations[0].gram.rows() - 1;
    const auto place = [&](int64_t feature, int64_t output) {
      return is_product ? feature * outputs + output : output * features + feature;
    };
    std::vector<float> fitted(static_cast<size_t>(features * outputs)), shifted;
    int64_t first = 0;
    for (const NormalEquations& equations : fit.equations) {
      const int64_t count = equations.across.columns();
      Matrix weights(features + 1, count);
      for (int64_t o = 0; o < count; ++o) {
        for (int64_t f = 0; f < features; ++f) weights(f, o) = w.as<float>()[place(f, first + o)];
        weights(features, o) = bias.as<float>()[first + o];
      }
      Matrix gram = equations.gram;
      // The last feature is 1 in every row.
      const double few = static_cast<double>(features) / gram(features, features);
      add_ridge(kRidge + kRidgeOfFewRows * few, gram);
      Matrix missing = equations.across;
      add_product(-1, equations.gram, weights, missing);
      const Matrix moves = solved(gram, missing);
      for (int64_t o = 0; o < count; ++o) {
        for (int64_t f = 0; f < features; ++f)
          fitted[place(f, first + o)] = static_cast<float>(weights(f, o) + moves(f, o));
        shifted.push_back(static_cast<float>(weights(features, o) + moves(features, o)));
      }
      first += count;
    }
    graph.node(id).inputs[kW] = graph.add_constant(names.take(w.name + ".fitted"), w.type,
                                                   bytes_of(llvm::ArrayRef<float>(fitted)));
    graph.node(id).inputs[kBias] = graph.add_constant(names.take(bias.name + ".fitted"), bias.type,
                                                      bytes_of(llvm::ArrayRef<float>(shifted)));
  }

  const ir::Graph& untouched_;
  ir::Graph pruned_;
  Frontier before_, after_;
  NewNames names_;
  std::map<ir::ValueId, llvm::BitVector> gone_;  // keyed by untouched value: places of dim 1
};

}  // namespace

llvm::Expected<ir::Graph> refitted(const ir::Graph& untouched, const ir::Graph& pruned,
                                   llvm::ArrayRef<const Channel*> removed,
                                   CalibrationData& calibration, llvm::ArrayRef<size_t> samples) {
  // The samples that judge the fit have no part in it.
  const size_t judging = std::min(samples.size() / 4 + 1, kMeasuredSamples);
  const auto fitted_to = samples.drop_back(judging);
  if (fitted_to.empty()) return pruned;
  CODL_ASSIGN_OR_RETURN(
      meter, DeviationMeter::make(untouched, calibration, samples.take_back(judging).vec()));
  CODL_ASSIGN_OR_RETURN(before, meter.measure(pruned));
  CODL_ASSIGN_OR_RETURN(fitted, Refit(untouched, pruned, removed).run(calibration, fitted_to));
  CODL_ASSIGN_OR_RETURN(after, meter.measure(fitted));
  if (after.relative >= before.relative) return pruned;
  return fitted;
}

}  // namespace codl::compiler
