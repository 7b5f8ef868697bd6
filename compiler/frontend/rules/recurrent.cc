// RNN, GRU and LSTM become a Recurrent, whose one output holds ONNX's three, one after the other.
#include "kernels/recurrent/recurrent.h"

#include "compiler/frontend/graph/compose.h"
#include "compiler/frontend/rules/rules.h"

namespace codl::compiler {
namespace {

// An activation by ONNX's name (case does not matter), with the defaults of the ONNX operator; it
// says whether it takes alpha and beta from the node's lists.
struct ActivationRow {
  llvm::StringRef name;
  int32_t kind;
  float alpha;
  float beta;
  bool takes_alpha;
  bool takes_beta;
};

constexpr ActivationRow kActivations[] = {
    {"relu", kUnaryRelu, 0, 0, false, false},
    {"tanh", kUnaryTanh, 0, 0, false, false},
    {"sigmoid", kUnarySigmoid, 0, 0, false, false},
    {"leakyrelu", kUnaryLeakyRelu, 0.01f, 0, true, false},
    {"thresholdedrelu", kUnaryThresholdedRelu, 1.0f, 0, true, false},
    {"hardsigmoid", kUnaryHardSigmoid, 0.2f, 0.5f, true, true},
    {"elu", kUnaryElu, 1.0f, 0, true, false},
    {"softsign", kUnarySoftsign, 0, 0, false, false},
    {"softplus", kUnarySoftplus, 0, 0, false, false},
};

constexpr size_t kMaxActivations = 6;

struct Activation {
  int32_t kind = kUnaryTanh;
  float alpha = 0;
  float beta = 0;
};

llvm::Expected<std::vector<float>> floats_of(const OnnxNode& node, llvm::StringRef attribute) {
  const OnnxAttribute* found = node.find(attribute);
  if (found == nullptr) return std::vector<float>();
  if (found->type != OnnxAttribute::Type::Floats)
    return input_error(node.name, "expected attribute '{0}' to be floats, found another type",
                       attribute);
  return found->floats;
}

// Returns the names of `count` activations for each direction.
llvm::Expected<std::vector<std::string>> activation_names(const OnnxNode& node, int32_t kind,
                                                          int32_t directions) {
  const int32_t count = kernels::recurrent_activations(kind);
  CODL_ASSIGN_OR_RETURN(given, node.strings_or("activations", {}));
  if (!given.empty()) {
    if (given.size() != static_cast<size_t>(count * directions))
      return input_error(node.name, "expected {0} activations, found {1}", count * directions,
                         given.size());
    return given;
  }
  std::vector<std::string> names;
  for (int32_t i = 0; i < directions; ++i) {
    if (kind != kRecurrentRnn) names.push_back("sigmoid");
    for (int32_t k = kind == kRecurrentRnn ? 0 : 1; k < count; ++k) names.push_back("tanh");
  }
  return names;
}

llvm::Expected<llvm::SmallVector<Activation, 6>> read_activations(const OnnxNode& node,
                                                                  int32_t kind,
                                                                  int32_t directions) {
  CODL_ASSIGN_OR_RETURN(names, activation_names(node, kind, directions));
  CODL_ASSIGN_OR_RETURN(alphas, floats_of(node, "activation_alpha"));
  CODL_ASSIGN_OR_RETURN(betas, floats_of(node, "activation_beta"));
  size_t next_alpha = 0;
  size_t next_beta = 0;
  llvm::SmallVector<Activation, 6> activations;
  for (const std::string& name : names) {
    const ActivationRow* row = llvm::find_if(kActivations, [&](const ActivationRow& each) {
      return llvm::StringRef(name).equals_insensitive(each.name);
    });
    if (row == std::end(kActivations))
      return unsupported_error(node.name,
                               "expected activations Relu, Tanh, Sigmoid, LeakyRelu, "
                               "ThresholdedRelu, HardSigmoid, Elu, Softsign or Softplus, found {0}",
                               name);
    Activation activation = {row->kind, row->alpha, row->beta};
    // The lists hold only the numbers of activations that take one.
    if (row->takes_alpha && next_alpha < alphas.size()) activation.alpha = alphas[next_alpha++];
    if (row->takes_beta && next_beta < betas.size()) activation.beta = betas[next_beta++];
    activations.push_back(activation);
  }
  return activations;
}

void set_activations(RecurrentParams& params, llvm::ArrayRef<Activation> activations) {
  Activation all[kMaxActivations];
  llvm::copy(activations, all);
  params.activation_0 = all[0].kind;
  params.activation_1 = all[1].kind;
  params.activation_2 = all[2].kind;
  params.activation_3 = all[3].kind;
  params.activation_4 = all[4].kind;
  params.activation_5 = all[5].kind;
  params.activation_alpha_0 = all[0].alpha;
  params.activation_alpha_1 = all[1].alpha;
  params.activation_alpha_2 = all[2].alpha;
  params.activation_alpha_3 = all[3].alpha;
  params.activation_alpha_4 = all[4].alpha;
  params.activation_alpha_5 = all[5].alpha;
  params.activation_beta_0 = all[0].beta;
  params.activation_beta_1 = all[1].beta;
  params.activation_beta_2 = all[2].beta;
  params.activation_beta_3 = all[3].beta;
  params.activation_beta_4 = all[4].beta;
  params.activation_beta_5 = all[5].beta;
}

llvm::Expected<RecurrentParams> read_params(const OnnxNode& node, int32_t kind) {
  RecurrentParams params;
  params.kind = kind;
  CODL_ASSIGN_OR_RETURN(direction, node.string_or("direction", "forward"));
  if (direction == "reverse")
    params.direction = 1;
  else if (direction == "bidirectional")
    params.direction = 2;
  else if (direction != "forward")
    return input_error(
        node.name, "expected direction forward, reverse or bidirectional, found '{0}'", direction);
  CODL_ASSIGN_OR_RETURN(clip, node.float_or("clip", 0));
  params.clip = clip;
  if (kind == kRecurrentGru) {
    CODL_ASSIGN_OR_RETURN(linear_before_reset, node.int_or("linear_before_reset", 0));
    params.is_linear_before_reset = linear_before_reset != 0;
  }
  if (kind == kRecurrentLstm) {
    CODL_ASSIGN_OR_RETURN(input_forget, node.int_or("input_forget", 0));
    params.is_input_forget = input_forget != 0;
  }
  CODL_ASSIGN_OR_RETURN(
      activations, read_activations(node, kind, kernels::recurrent_directions(params.direction)));
  set_activations(params, activations);
  params.has_bias = node.has_input(3);
  params.has_lengths = node.has_input(4);
  params.has_h0 = node.has_input(5);
  params.has_c0 = kind == kRecurrentLstm && node.has_input(6);
  params.has_peepholes = kind == kRecurrentLstm && node.has_input(7);
  return params;
}

// Returns the operands that exist, with the sequence first (layout 0).
llvm::SmallVector<ir::ValueId, 8> operands_of(Compose& c, const RecurrentParams& params,
                                              bool is_batch_first) {
  const auto state = [&](size_t i) {
    const ir::ValueId value = c.operand(i);
    return is_batch_first ? c.transpose(value, {1, 0, 2}) : value;
  };
  llvm::SmallVector<ir::ValueId, 8> operands = {state(0), c.operand(1), c.operand(2)};
  if (params.has_bias) operands.push_back(c.operand(3));
  if (params.has_lengths) operands.push_back(c.operand_as(4, DType::I64));
  if (params.has_h0) operands.push_back(state(5));
  if (params.has_c0) operands.push_back(state(6));
  if (params.has_peepholes) operands.push_back(c.operand(7));
  return operands;
}

llvm::Error import_recurrent(const OnnxNode& node, Importer& importer, int32_t kind) {
  CODL_ASSIGN_OR_RETURN(params, read_params(node, kind));
  CODL_ASSIGN_OR_RETURN(layout, node.int_or("layout", 0));
  // The weights tell the size, and the named outputs are the wanted ones.
  ignore_attributes(node, {"hidden_size", "output_sequence"});
  Compose c(node, importer);
  const bool is_batch_first = layout != 0;
  const ir::ValueId all = c.node(OpKind::Recurrent, params, operands_of(c, params, is_batch_first));
  if (all == ir::kNoId) return c.take_error();
  const llvm::SmallVector<int64_t, 4> dims(c.dims(all).begin(), c.dims(all).end());
  const int64_t steps = dims[0] - 2;
  const auto state = [&](int64_t at) {
    const ir::ValueId value = c.reshape(c.slice(all, 0, at, 1), {dims[1], dims[2], dims[3]});
    return is_batch_first ? c.transpose(value, {1, 0, 2}) : value;
  };
  if (c.has_output(0)) {
    const ir::ValueId y = c.slice(all, 0, 0, steps);
    if (llvm::Error error = c.bind(is_batch_first ? c.transpose(y, {2, 0, 1, 3}) : y, 0))
      return error;
  }
  if (c.has_output(1))
    if (llvm::Error error = c.bind(state(steps), 1)) return error;
  if (kind == kRecurrentLstm && c.has_output(2)) return c.bind(state(steps + 1), 2);
  return c.take_error();
}

llvm::Error import_rnn(const OnnxNode& node, Importer& importer) {
  return import_recurrent(node, importer, kRecurrentRnn);
}
llvm::Error import_gru(const OnnxNode& node, Importer& importer) {
  return import_recurrent(node, importer, kRecurrentGru);
}
llvm::Error import_lstm(const OnnxNode& node, Importer& importer) {
  return import_recurrent(node, importer, kRecurrentLstm);
}

}  // namespace

llvm::ArrayRef<ImportEntry> recurrent_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"GRU", 7, kNewestOpset, import_gru},
      {"LSTM", 7, kNewestOpset, import_lstm},
      {"RNN", 7, kNewestOpset, import_rnn},
  };
  return kEntries;
}

}  // namespace codl::compiler
