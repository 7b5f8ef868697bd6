#include "compiler/shrink/quantizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "compiler/accuracy/ranges.h"
#include "compiler/interp/fast_node.h"
#include "compiler/ops/activation.h"
#include "compiler/ops/channel_places.h"
#include "compiler/passes/grids.h"
#include "compiler/passes/rewrite.h"
#include "compiler/shrink/operands.h"
#include "compiler/shrink/shrink.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

// A scale of weights is tried at these shares of the one with which the largest weight is the last
// number of the grid.
constexpr float kScaleShares[] = {1.0f, 0.95f, 0.9f, 0.85f, 0.8f, 0.75f, 0.7f, 0.65f, 0.6f};
constexpr float kMaxWeightSteps = 127;  // on either side of zero

bool is_real(const ir::Value& value) { return value.type.dtype == DType::F32; }

// Returns true for a node whose operands may be bytes if its result is: it adds, scales, averages
// or bends numbers by one of the activations that follow convolutions.
bool keeps_bytes(const ir::Node& node) {
  switch (node.op) {
    case OpKind::Pool2d:
    case OpKind::Resize:
      return true;
    case OpKind::Binary: {
      const int32_t kind = node.params.as<BinaryParams>().kind;
      return kind == kBinaryAdd || kind == kBinarySub || kind == kBinaryMul || kind == kBinaryMin ||
             kind == kBinaryMax || kind == kBinaryPRelu;
    }
    case OpKind::Unary: {
      const int32_t kind = node.params.as<UnaryParams>().kind;
      return kind <= kUnaryAbs && kind != kUnarySoftplus && kind != kUnaryErf;
    }
    default:
      return false;
  }
}

// Rounds the elements w[i * step] to the grid around zero, of those with the scales, that is
// nearest to them.
void round_channel(float* w, int64_t count, int64_t step, llvm::ArrayRef<float> scale_shares) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(w[i * step]));
  if (!std::isnormal(largest / kMaxWeightSteps)) {
    for (int64_t i = 0; i < count; ++i) w[i * step] = 0;
    return;
  }
  const auto rounded = [](float x, float scale) {
    return std::clamp(std::nearbyint(x / scale), -kMaxWeightSteps, kMaxWeightSteps) * scale;
  };
  double least = std::numeric_limits<double>::infinity();
  float best = 0;
  for (const float share : scale_shares) {
    const float scale = largest / kMaxWeightSteps * share;
    double error = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double difference = double{rounded(w[i * step], scale)} - w[i * step];
      error += difference * difference;
    }
    if (error >= least) continue;
    least = error;
    best = scale;
  }
  for (int64_t i = 0; i < count; ++i) w[i * step] = rounded(w[i * step], best);
}

void round_to(const ir::Grid& grid, llvm::MutableArrayRef<float> numbers) {
  for (float& number : numbers) number = nearest_on_grid(grid, number);
}

llvm::ArrayRef<float> floats_of(llvm::ArrayRef<uint8_t> bytes) {
  return {floats(bytes), bytes.size() / sizeof(float)};
}

// Runs the graph on all samples. `see` is told every real value; several threads may call it.
using SeeValue = llvm::function_ref<void(ir::ValueId value, llvm::ArrayRef<float> numbers)>;
llvm::Error run_samples(const ir::Graph& graph, CalibrationData& calibration,
                        llvm::ArrayRef<size_t> samples, SeeValue see) {
  const FastGraph fast(graph);
  return calibration.for_each(samples, [&](size_t, llvm::ArrayRef<Bytes> inputs) -> llvm::Error {
    for (size_t i = 0; i < graph.inputs().size(); ++i)
      if (is_real(graph.value(graph.inputs()[i]))) see(graph.inputs()[i], floats_of(inputs[i]));
    const auto evaluate =
        [&](const ir::NodeView& node,
            llvm::ArrayRef<llvm::ArrayRef<uint8_t>> operands) -> llvm::Expected<LargeBytes> {
      CODL_ASSIGN_OR_RETURN(output, fast.evaluate(node, operands));
      if (node.output().dtype == DType::F32) see(node.node.output, floats_of(output));
      return output;
    };
    return interpret(graph, inputs, evaluate).takeError();
  });
}

// Puts values of a graph on grids.
class GridsOnValues {
 public:
  explicit GridsOnValues(ir::Graph& graph) : graph_(graph), names_(graph) {}

  // Lets all nodes that read the value read its nearest numbers on the grid: the node that computes
  // it rounds, if its kernel can, else a node behind it.
  void put(ir::ValueId value, const ir::Grid& grid) {
    const ir::NodeId producer = graph_.value(value).producer;
    if (producer != ir::kNoId && !graph_.is_output(value) && round_in(producer, grid)) return;
    const auto added = static_cast<ir::NodeId>(graph_.nodes().size());
    const ir::ValueId rounded = add_quantize8(graph_, names_, value, grid);
    for (ir::NodeId id = 0; id < added; ++id) {
      auto& inputs = graph_.node(id).inputs;
      std::replace(inputs.begin(), inputs.end(), value, rounded);
    }
  }

  ir::ValueId constant(ir::ValueId like, SharedBytes bytes) {
    const ir::Value& value = graph_.value(like);
    std::string name = names_.take(value.name + ".bytes");
    ir::TensorType type = value.type;
    return graph_.add_constant(std::move(name), std::move(type), std::move(bytes));
  }
  ir::ValueId constant(ir::ValueId like, llvm::ArrayRef<float> elements) {
    return constant(like, SharedBytes(bytes_of(elements)));
  }

 private:
  // A clamp is left out if the grid ends where it does.
  bool round_in(ir::NodeId id, const ir::Grid& grid) {
    ir::Node& node = graph_.node(id);
    const UnaryParams last = last_function(node);
    const auto ends_at = [&](float end, float limit) {
      return nearest_on_grid(grid, limit) == end;
    };
    const bool is_clamp = (last.kind == kUnaryRelu && ends_at(lowest_of(grid), 0)) ||
                          (last.kind == kUnaryClip && ends_at(lowest_of(grid), last.alpha) &&
                           ends_at(highest_of(grid), last.beta));
    if (last.kind != kUnaryIdentity && !is_clamp) return false;
    if (node.op == OpKind::Unary) {
      node.params = ir::OpParams::of(OpKind::Unary, quantize8(grid));
      return true;
    }
    if (!takes_activation(node)) return false;
    set_activation(node, quantize8(grid));
    return true;
  }

  ir::Graph& graph_;
  NewNames names_;
};

}  // namespace

Quantizer::Quantizer(const ir::Graph& graph)
    : graph_(graph),
      has_own_grid_(graph.values().size()),
      set_(graph.values().size()),
      grids_(graph.values().size()) {
  std::vector<ir::Grid> own(graph.values().size());
  for (const ir::Node& node : graph.nodes()) {
    own[node.output] = grid_after(graph, node, [&](ir::ValueId id) { return own[id]; });
    has_own_grid_[node.output] = static_cast<bool>(own[node.output]);
  }
  for (ir::ValueId id = 0; id < set_.size(); ++id) set_[id] = id;
  for (const ir::Node& node : graph.nodes()) {
    const auto [first, last] = moved_operands(node);
    for (size_t i = first; i < last; ++i)
      if (may_be_on_grid(node.output) && may_be_on_grid(node.inputs[i]))
        set_[root_of(node.output)] = root_of(node.inputs[i]);
  }
  for (ir::ValueId& set : set_) set = root_of(set);
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    const ir::Node& node = graph.node(id);
    if (has_weights(node) && may_be_on_grid(node.inputs[kX]) && is_real(graph.value(node.output)) &&
        graph.value(node.inputs[kW]).is_constant && graph.value(node.inputs[kBias]).is_constant)
      nodes_.push_back(id);
  }
}

ir::ValueId Quantizer::root_of(ir::ValueId value) {
  while (set_[value] != value) value = set_[value] = set_[set_[value]];
  return value;
}

bool Quantizer::may_be_on_grid(ir::ValueId value) const {
  return is_real(graph_.value(value)) && !graph_.value(value).is_constant && !has_own_grid_[value];
}

// Returns which sets are on grids, indexed by the value that names one. Nodes stand behind what
// they read, so that most is known after one pass from the last to the first.
std::vector<bool> Quantizer::sets_read_in_bytes(const std::vector<bool>& is_in_bytes) const {
  std::vector<bool> multiplies(graph_.nodes().size()), is_read(graph_.values().size());
  for (size_t i = 0; i < nodes_.size(); ++i) multiplies[nodes_[i]] = is_in_bytes[i];
  bool has_changed = true;
  const auto read = [&](ir::ValueId value) {
    if (!may_be_on_grid(value) || !grids_[set_of(value)] || is_read[set_of(value)]) return;
    is_read[set_of(value)] = has_changed = true;
  };
  while (has_changed) {
    has_changed = false;
    for (ir::NodeId id = static_cast<ir::NodeId>(graph_.nodes().size()); id-- > 0;) {
      const ir::Node& node = graph_.node(id);
      const bool is_result_read = has_own_grid_[node.output] || is_read[set_of(node.output)];
      if (multiplies[id]) {
        read(node.inputs[kX]);
        if (is_result_read && node.inputs.size() > kResidual) read(node.inputs[kResidual]);
      } else if (is_result_read && keeps_bytes(node)) {
        for (ir::ValueId input : node.inputs) read(input);
      }
    }
  }
  return is_read;
}

// Finds the range of each set, then how its numbers lie there.
llvm::Error Quantizer::see(CalibrationData& calibration, llvm::ArrayRef<size_t> samples) {
  const size_t count = graph_.values().size();
  std::vector<std::pair<float, float>> ranges(count);
  std::vector<bool> is_finite(count, true), is_seen(count);
  std::mutex mutex;
  const auto find_range = [&](ir::ValueId value, llvm::ArrayRef<float> numbers) {
    if (!may_be_on_grid(value) || numbers.empty()) return;
    float low = numbers[0], high = numbers[0];
    bool are_finite = true;
    for (const float number : numbers) {
      low = std::min(low, number);
      high = std::max(high, number);
      are_finite &= std::isfinite(number);
    }
    const std::lock_guard<std::mutex> lock(mutex);
    const ir::ValueId set = set_of(value);
    auto& [least, most] = ranges[set];
    least = is_seen[set] ? std::min(least, low) : low;
    most = is_seen[set] ? std::max(most, high) : high;
    is_seen[set] = true;
    is_finite[set] = is_finite[set] && are_finite && std::isfinite(most - least);
  };
  if (llvm::Error error = run_samples(graph_, calibration, samples, find_range)) return error;

  // Results that are moved are among what their nodes read, but for what joins them there.
  std::vector<bool> is_source(count, true);
  for (const ir::Node& node : graph_.nodes()) {
    const auto [first, last] = moved_operands(node);
    is_source[node.output] =
        first == last ||
        llvm::any_of(llvm::makeArrayRef(node.inputs).slice(first, last - first),
                     [&](ir::ValueId operand) { return set_of(operand) != set_of(node.output); });
  }
  std::map<ir::ValueId, Histogram> histograms;
  for (ir::ValueId id = 0; id < count; ++id)
    if (set_of(id) == id && is_seen[id] && is_finite[id])
      histograms.emplace(id, Histogram(ranges[id].first, ranges[id].second));
  const auto add = [&](ir::ValueId value, llvm::ArrayRef<float> numbers) {
    if (!is_source[value] || !may_be_on_grid(value)) return;
    std::unique_lock<std::mutex> lock(mutex);
    const auto found = histograms.find(set_of(value));
    if (found == histograms.end()) return;
    Histogram counts(found->second.lowest(), found->second.highest());
    lock.unlock();
    counts.add(numbers);
    lock.lock();
    found->second.add(counts);
  };
  if (llvm::Error error = run_samples(graph_, calibration, samples, add)) return error;
  for (const auto& [set, histogram] : histograms) grids_[set] = nearest_grid(histogram);
  return llvm::Error::success();
}

// Several nodes may have the same weights; graphs share the rounded ones.
void Quantizer::round_weights(bool tries_scales) {
  const llvm::ArrayRef<float> shares(kScaleShares);
  std::map<std::pair<ir::ValueId, OpKind>, SharedBytes> known;
  for (ir::NodeId id : nodes_) {
    const ir::Node& node = graph_.node(id);
    const auto [entry, is_new] = known.try_emplace({node.inputs[kW], node.op});
    if (is_new) {
      const ir::Value& w = graph_.value(node.inputs[kW]);
      LargeBytes bytes(w.bytes.begin(), w.bytes.end());
      auto* const rounded = reinterpret_cast<float*>(bytes.data());
      const ChannelPlaces places = places_of(w, node.op);
      for (int64_t c = 0; c < places.channels; ++c)
        round_channel(rounded + c * places.first_step, places.depth, places.step,
                      tries_scales ? shares : shares.take_front());
      entry->second = SharedBytes(std::move(bytes));
    }
    weights_.push_back(entry->second);
    biases_.push_back(graph_.value(node.inputs[kBias]).as<float>().vec());
  }
}

// Each node by itself: what it reads are the float network's values, rounded. So what the nodes
// before it make up for is not made up for again.
llvm::Error Quantizer::correct_biases(CalibrationData& calibration,
                                      llvm::ArrayRef<size_t> samples) {
  ir::Graph rounded = graph_;
  std::vector<FastNode> before, after;
  std::map<ir::NodeId, size_t> places;
  GridsOnValues grids(rounded);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    places[nodes_[i]] = i;
    ir::Node& node = rounded.node(nodes_[i]);
    node.inputs[kW] = grids.constant(node.inputs[kW], weights_[i]);
  }
  before.reserve(nodes_.size());
  after.reserve(nodes_.size());
  for (ir::NodeId id : nodes_) {
    before.emplace_back(graph_, without_activation(graph_.node(id)));
    after.emplace_back(rounded, without_activation(rounded.node(id)));
  }
  const FastGraph fast(graph_);
  // Indexed by sample, node and channel: sums over the pixels of a sample.
  std::vector<std::vector<std::vector<double>>> sums(samples.size());
  const auto run = [&](size_t s, llvm::ArrayRef<Bytes> inputs) -> llvm::Error {
    sums[s].resize(nodes_.size());
    const auto evaluate =
        [&](const ir::NodeView& node,
            llvm::ArrayRef<llvm::ArrayRef<uint8_t>> operands) -> llvm::Expected<LargeBytes> {
      const auto place = places.find(static_cast<ir::NodeId>(&node.node - graph_.nodes().data()));
      if (place == places.end() || !grids_[set_of(node.node.inputs[kX])])
        return fast.evaluate(node, operands);
      const size_t i = place->second;
      CODL_ASSIGN_OR_RETURN(sum, before[i].evaluate(operands));
      std::vector<float> x = floats_of(operands[kX]).vec();
      round_to(grids_[set_of(node.node.inputs[kX])], x);
      llvm::SmallVector<llvm::ArrayRef<uint8_t>, 4> of_bytes(operands.begin(), operands.end());
      of_bytes[kX] = {reinterpret_cast<const uint8_t*>(x.data()), x.size() * sizeof(float)};
      CODL_ASSIGN_OR_RETURN(moved, after[i].evaluate(of_bytes));
      std::vector<double>& channels = sums[s][i];
      channels.resize(biases_[i].size());
      const auto area = static_cast<size_t>(node.output().element_count() /
                                            (node.output().dims[0] * node.output().dims[1]));
      const llvm::ArrayRef<float> is = floats_of(moved), was = floats_of(sum);
      for (size_t e = 0; e < is.size(); ++e)
        channels[e / area % channels.size()] += double{is[e]} - was[e];
      apply_activation(node, sum);
      return sum;
    };
    return interpret(graph_, inputs, evaluate).takeError();
  };
  if (llvm::Error error = calibration.for_each(samples, run)) return error;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const ir::Value& output = graph_.value(graph_.node(nodes_[i]).output);
    const auto count = static_cast<double>(output.type.element_count()) /
                       static_cast<double>(biases_[i].size()) * static_cast<double>(samples.size());
    for (size_t c = 0; c < biases_[i].size(); ++c) {
      double sum = 0;
      for (const auto& sample : sums) sum += sample[i].empty() ? 0 : sample[i][c];
      const double mean = sum / count;
      if (std::isfinite(mean)) biases_[i][c] -= static_cast<float>(mean);
    }
  }
  return llvm::Error::success();
}

llvm::Expected<Quantizer> Quantizer::make(const ir::Graph& graph, CalibrationData* calibration,
                                          llvm::ArrayRef<size_t> samples) {
  Quantizer quantizer(graph);
  if (calibration == nullptr) {
    const ir::Grid any = grid_from(0, 8);  // a clamp at zero is the rounding's, as it mostly is
    std::fill(quantizer.grids_.begin(), quantizer.grids_.end(), any);
    for (const ir::Node& node : graph.nodes())
      if (const UnaryParams last = last_function(node);
          last.kind == kUnaryClip && std::isfinite(last.beta - last.alpha))
        quantizer.grids_[quantizer.set_of(node.output)] = grid_from(last.alpha, last.beta);
  } else if (llvm::Error error = quantizer.see(*calibration, samples)) {
    return error;
  }
  // Numbers that are not finite, or were never computed, have no grid.
  llvm::erase_if(quantizer.nodes_, [&](ir::NodeId id) {
    return !quantizer.grids_[quantizer.set_of(graph.node(id).inputs[kX])];
  });
  quantizer.round_weights(calibration != nullptr);
  if (calibration != nullptr)
    if (llvm::Error error = quantizer.correct_biases(*calibration, samples)) return error;
  return quantizer;
}

llvm::Expected<ir::Graph> Quantizer::quantized(const std::vector<bool>& is_in_bytes) const {
  ir::Graph result = graph_;
  GridsOnValues grids(result);
  std::map<std::pair<ir::ValueId, OpKind>, ir::ValueId> weights;  // several nodes may have them
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!is_in_bytes[i]) continue;
    ir::Node& node = result.node(nodes_[i]);
    const auto [entry, is_new] = weights.try_emplace({node.inputs[kW], node.op}, ir::kNoId);
    if (is_new) entry->second = grids.constant(node.inputs[kW], weights_[i]);
    node.inputs[kW] = entry->second;
    node.inputs[kBias] = grids.constant(node.inputs[kBias], biases_[i]);
  }
  const std::vector<bool> is_read = sets_read_in_bytes(is_in_bytes);
  const auto grid_of_value = [&](ir::ValueId id) {
    return may_be_on_grid(id) && is_read[set_of(id)] ? grids_[set_of(id)] : ir::Grid();
  };
  for (ir::ValueId id = 0; id < graph_.values().size(); ++id) {
    const ir::Grid grid = grid_of_value(id);
    if (!grid) continue;
    const ir::NodeId producer = graph_.value(id).producer;
    const auto [first, last] =
        producer == ir::kNoId ? std::pair<size_t, size_t>() : moved_operands(graph_.node(producer));
    bool is_moved = first < last;
    for (size_t k = first; k < last; ++k) {
      const ir::ValueId operand = graph_.node(producer).inputs[k];
      is_moved &= graph_.value(operand).is_constant ? is_real(graph_.value(operand))
                                                    : grid_of_value(operand) == grid;
    }
    if (!is_moved || graph_.is_output(id)) {
      grids.put(id, grid);
      continue;
    }
    for (size_t k = first; k < last; ++k) {
      const ir::ValueId operand = graph_.node(producer).inputs[k];
      if (!graph_.value(operand).is_constant) continue;
      std::vector<float> elements = graph_.value(operand).as<float>().vec();
      round_to(grid, elements);
      result.node(producer).inputs[k] = grids.constant(operand, elements);
    }
  }
  sort_nodes(result);
  result.remove_unused_values();
  if (llvm::Error error = ir::verify(result, "int8")) return error;
  return result;
}

llvm::Expected<ir::Graph> all_in_bytes(const ir::Graph& graph, const std::string& calibration) {
  std::optional<CalibrationData> data;
  std::vector<size_t> samples;
  if (!calibration.empty()) {
    CODL_ASSIGN_OR_RETURN(opened, CalibrationData::open(calibration, graph));
    data = std::move(opened);
    samples = data->some_of(0, kMinSamples);
  }
  CODL_ASSIGN_OR_RETURN(quantizer, Quantizer::make(graph, data ? &*data : nullptr, samples));
  return quantizer.quantized(std::vector<bool>(quantizer.nodes().size(), true));
}

}  // namespace codl::compiler
