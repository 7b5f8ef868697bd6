// Writes the graph as an ONNX model. Longer than 500 lines: this file alone says how each operator
// is written, in a function each, and all functions share the names and constants that they add.
#include "compiler/frontend/onnx/onnx_writer.h"

#include <climits>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "compiler/frontend/onnx/proto_pieces.h"
#include "compiler/ops/channel_places.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"
#include "kernels/common/gemm/weight_grid.h"
#include "kernels/common/reference/elements.h"
#include "kernels/pad/pad.h"
#include "kernels/recurrent/recurrent.h"
#include "kernels/slice/slice.h"

namespace codl::compiler {
namespace {

class Writer {
 public:
  explicit Writer(const ir::Graph& graph) : graph_(graph) {
    for (const ir::Value& value : graph.values()) names_.insert(value.name);
    for (size_t i = 0; i < graph.outputs().size(); ++i)
      if (names_.insert(graph.output_name(i)).second) copied_outputs_.insert(i);
    for (const OutputExtent& extent : graph.extents()) {
      const ir::ValueId whole = graph.outputs()[extent.output];
      if (!whole_.count(whole)) whole_[whole] = fresh(graph.value(whole).name + ".whole");
    }
  }

  llvm::Expected<std::string> run() {
    model_.set_ir_version(kWrittenIrVersion);
    model_.set_producer_name("codlc");
    model_.add_opset_import()->set_version(kWrittenOpset);
    to_ = model_.mutable_graph();
    to_->set_name(graph_.name.empty() ? "network" : graph_.name);
    for (ir::ValueId id : graph_.inputs())
      describe(graph_.value(id).name, graph_.value(id).type.dtype, graph_.value(id).type.dims,
               to_->add_input());
    const std::vector<bool> is_written = write_weights();
    for (ir::ValueId id = 0; id < graph_.values().size(); ++id)
      if (const ir::Value& value = graph_.value(id); value.is_constant && !is_written[id])
        tensor(name_of(id), value.type.dtype, value.type.dims, value.bytes);
    if (llvm::Error error = write_nodes()) return error;
    write_outputs();
    if (model_.ByteSizeLong() > INT_MAX)
      return input_error("--emit-onnx", "expected a model of at most 2 GiB, found {0} bytes",
                         model_.ByteSizeLong());
    return model_.SerializeAsString();
  }

  llvm::Error check() {
    to_ = model_.mutable_graph();
    return write_nodes();
  }

 private:
  llvm::Error write_nodes() {
    for (const ir::Node& node : graph_.nodes()) {
      node_ = &node;
      if (!write(ir::NodeView{graph_, node})) unknown_.insert(std::string(op_info(node.op).name));
    }
    if (unknown_.empty()) return llvm::Error::success();
    std::string names;
    for (const std::string& name : unknown_) names += (names.empty() ? "" : ", ") + name;
    return unsupported_error("--emit-onnx", "expected operators that can be written, found {0}",
                             names);
  }

  // ---- pieces ----

  std::string fresh(const std::string& base) {
    std::string name = base;
    for (int i = 1; !names_.insert(name).second; ++i) name = base + "." + std::to_string(i);
    return name;
  }
  const std::string& name_of(ir::ValueId id) const {
    const auto whole = whole_.find(id);
    return whole == whole_.end() ? graph_.value(id).name : whole->second;
  }
  const std::string& name(uint32_t i) const { return name_of(node_->inputs[i]); }
  const std::string& result() const { return name_of(node_->output); }

  template <typename Dims>
  std::string tensor(const std::string& name, DType dtype, const Dims& dims,
                     llvm::ArrayRef<uint8_t> bytes) {
    auto* tensor = to_->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx_type_of(dtype));
    for (const auto dim : dims) tensor->add_dims(dim);
    tensor->set_raw_data(bytes.data(), bytes.size());
    return name;
  }
  std::string ints(llvm::ArrayRef<int64_t> values) { return ints(result(), values); }
  std::string ints(const std::string& of, llvm::ArrayRef<int64_t> values) {
    return tensor(fresh(of + ".ints"), DType::I64,
                  std::vector<int64_t>{static_cast<int64_t>(values.size())},
                  {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 8});
  }
  // Double among doubles, else f32.
  std::string scalar(float value) {
    const double wide = value;
    if (graph_.value(node_->output).type.dtype == DType::F64)
      return tensor(fresh(result() + ".number"), DType::F64, std::vector<int64_t>{},
                    {reinterpret_cast<const uint8_t*>(&wide), sizeof(wide)});
    return tensor(fresh(result() + ".number"), DType::F32, std::vector<int64_t>{},
                  {reinterpret_cast<const uint8_t*>(&value), sizeof(value)});
  }
  // Returns the constant for a parameter of an operator on such elements.
  std::string scalar(DType dtype, float value) {
    if (!is_integer(dtype)) return scalar(value);
    const int64_t whole = kernels::integer_of(dtype, double{value});
    return tensor(fresh(result() + ".number"), dtype, std::vector<int64_t>{},
                  {reinterpret_cast<const uint8_t*>(&whole), dtype_bytes(dtype)});
  }
  onnx::NodeProto* add(const char* type, const std::vector<std::string>& inputs,
                       const std::string& output) {
    auto* node = to_->add_node();
    node->set_op_type(type);
    for (const std::string& input : inputs) node->add_input(input);
    node->add_output(output);
    return node;
  }

  // Writes the model's outputs; the counts of their extents come after them in the graph.
  void write_outputs() {
    std::set<std::string> written;
    for (size_t i = 0; i < graph_.outputs().size() - graph_.extents().size(); ++i) {
      const ir::ValueId id = graph_.outputs()[i];
      const std::string& name = graph_.output_name(i);
      auto* info = to_->add_output();
      describe(name, graph_.value(id).type.dtype, graph_.value(id).type.dims, info);
      if (!written.insert(name).second) continue;  // two outputs have one name
      if (whole_.count(id))
        cut(i, info->mutable_type()->mutable_tensor_type()->mutable_shape());
      else if (copied_outputs_.count(i))  // otherwise the network has its source
        add("Identity", {name_of(id)}, name);
    }
  }
  // Cuts output `i` from its largest dims to the actual ones.
  void cut(size_t i, onnx::TensorShapeProto* shape) {
    std::string whole = name_of(graph_.outputs()[i]);
    std::vector<OutputExtent> extents;
    for (const OutputExtent& extent : graph_.extents())
      if (extent.output == i) extents.push_back(extent);
    for (const OutputExtent& extent : extents) {
      shape->mutable_dim(extent.dim)->clear_dim_value();
      const std::string end = fresh(whole + ".end"), begin = ints(whole, {0});
      add("Reshape", {name_of(graph_.outputs()[extent.count_output]), ints(whole, {1})}, end);
      const bool is_last = &extent == &extents.back();
      const std::string to = is_last ? graph_.output_name(i) : fresh(whole + ".cut");
      add("Slice", {whole, begin, end, ints(whole, {extent.dim})}, to);
      whole = to;
    }
  }

  // Writes the weights that lie on grids of their channels as bytes that are dequantised. Returns
  // which these are.
  std::vector<bool> write_weights() {
    std::vector<bool> is_written(graph_.values().size());
    for (const ir::Node& node : graph_.nodes()) {
      if (!has_weights(node)) continue;
      const ir::ValueId id = node.inputs[1];
      const ir::Value& weights = graph_.value(id);
      if (!weights.has_channel_grids || is_written[id]) continue;
      is_written[id] = true;
      const ChannelPlaces places = places_of(weights, node.op);
      const llvm::ArrayRef<float> elements = weights.as<float>();
      std::vector<float> scales(static_cast<size_t>(places.channels));
      std::vector<int8_t> bytes(elements.size());
      for (int64_t c = 0; c < places.channels; ++c) {
        const int64_t first = c * places.first_step;
        kernels::find_channel_grid(elements.data() + first, places.depth, places.step, &scales[c]);
        for (int64_t i = 0; i < places.depth; ++i) {
          const int64_t at = first + i * places.step;
          bytes[at] = static_cast<int8_t>(std::nearbyint(elements[at] / scales[c]));
        }
      }
      const std::string quantized = fresh(name_of(id) + ".int8");
      const std::string scale = fresh(name_of(id) + ".scale");
      tensor(quantized, DType::I8, weights.type.dims,
             {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
      tensor(scale, DType::F32, std::vector<int64_t>{places.channels},
             {reinterpret_cast<const uint8_t*>(scales.data()), scales.size() * sizeof(float)});
      set(add("DequantizeLinear", {quantized, scale}, name_of(id)), "axis",
          int64_t{node.op == OpKind::MatMul});
    }
    return is_written;
  }

  // ---- functions ----

  // Returns false if ONNX has no operator for the function.
  bool unary(int32_t kind, float alpha, float beta, const std::string& x, const std::string& y) {
    switch (kind) {
      case kUnaryIdentity:
        add("Identity", {x}, y);
        return true;
      case kUnaryLeakyRelu:
      case kUnaryElu:
      case kUnaryCelu:
      case kUnaryThresholdedRelu: {
        const char* type = kind == kUnaryLeakyRelu ? "LeakyRelu"
                           : kind == kUnaryElu     ? "Elu"
                           : kind == kUnaryCelu    ? "Celu"
                                                   : "ThresholdedRelu";
        set_float(add(type, {x}, y), "alpha", alpha);
        return true;
      }
      case kUnaryClip: {
        const DType dtype = graph_.value(node_->output).type.dtype;
        if (!is_number(dtype)) return false;
        const std::string low = scalar(dtype, alpha);
        add("Clip", {x, low, scalar(dtype, beta)}, y);
        return true;
      }
      case kUnaryHardSigmoid: {
        auto* node = add("HardSigmoid", {x}, y);
        set_float(node, "alpha", alpha);
        set_float(node, "beta", beta);
        return true;
      }
      case kUnarySelu: {
        auto* node = add("Selu", {x}, y);
        set_float(node, "alpha", alpha);
        set_float(node, "gamma", beta);
        return true;
      }
      case kUnaryShrink: {
        auto* node = add("Shrink", {x}, y);
        set_float(node, "lambd", beta);
        set_float(node, "bias", alpha);
        return true;
      }
      case kUnarySwish: {
        std::string scaled = x;
        if (alpha != 1) add("Mul", {x, scalar(alpha)}, scaled = fresh(y + ".scaled"));
        const std::string gate = fresh(y + ".gate");
        add("Sigmoid", {scaled}, gate);
        add("Mul", {x, gate}, y);
        return true;
      }
      case kUnaryQuantize8: {  // `beta` counts the steps of the grid below zero
        const auto zero_point = static_cast<int8_t>(static_cast<int32_t>(beta) - 128);
        const std::string scale = scalar(alpha), quantized = fresh(y + ".int8");
        const std::string zero =
            tensor(fresh(y + ".zero_point"), DType::I8, std::vector<int64_t>{},
                   {reinterpret_cast<const uint8_t*>(&zero_point), sizeof(zero_point)});
        add("QuantizeLinear", {x, scale, zero}, quantized);
        add("DequantizeLinear", {quantized, scale, zero}, y);
        return true;
      }
      case kUnaryAffineHardSwish: {
        const std::string curve = fresh(y + ".curve");
        add("HardSwish", {x}, curve);
        return unary(kUnaryAffine, alpha, beta, curve, y);
      }
      case kUnaryAffine: {
        const std::string product = fresh(y + ".product");
        add("Mul", {x, scalar(alpha)}, product);
        add("Add", {product, scalar(beta)}, y);
        return true;
      }
      case kUnaryGelu:
      case kUnaryGeluTanh:
        set_text(add("Gelu", {x}, y), "approximate", kind == kUnaryGelu ? "none" : "tanh");
        return true;
      case kUnaryIsNan:
        add("IsNaN", {x}, y);
        return true;
      case kUnaryIsInf: {
        auto* node = add("IsInf", {x}, y);
        set(node, "detect_negative", int64_t{alpha != 0});
        set(node, "detect_positive", int64_t{beta != 0});
        return true;
      }
      default:  // named as in ONNX
        add(std::string(member_name(OpKind::Unary, kind)).c_str(), {x}, y);
        return true;
    }
  }

  // Returns the name for the result before the activation; the activation reads it.
  template <typename Params>
  std::string before_activation(const Params& params) {
    return params.activation == kUnaryIdentity ? result() : fresh(result() + ".sum");
  }
  template <typename Params>
  bool activate(const Params& params, const std::string& x) {
    return params.activation == kUnaryIdentity ||
           unary(params.activation, params.activation_alpha, params.activation_beta, x, result());
  }

  // ---- operators ----

  template <typename Params>
  bool convolution(const ir::NodeView& node, const Params& p, int64_t groups) {
    const std::string sum = before_activation(p);
    const std::string product = p.has_residual ? fresh(result() + ".conv") : sum;
    auto* conv = add("Conv", {name(0), name(1), name(2)}, product);
    set(conv, "strides", {p.stride_h, p.stride_w});
    set(conv, "dilations", {p.dilation_h, p.dilation_w});
    set(conv, "pads", {p.pad_top, p.pad_left, p.pad_bottom, p.pad_right});
    set(conv, "kernel_shape", {node.input(1).dims[2], node.input(1).dims[3]});
    set(conv, "group", groups);
    if (p.has_residual) add("Add", {product, name(3)}, sum);
    return activate(p, sum);
  }
  bool matmul(const MatMulParams& p) {
    const std::string sum = before_activation(p);
    add("Gemm", {name(0), name(1), name(2)}, sum);
    return activate(p, sum);
  }
  bool binary(const ir::NodeView& node, const BinaryParams& p) {
    const DType dtype = node.input(0).dtype;
    const bool shifts = p.kind == kBinaryShiftLeft || p.kind == kBinaryShiftRight;
    // These need opset 28.
    if ((shifts && kernels::is_signed_integer(dtype)) ||
        (p.kind == kBinaryMod && !is_integer(dtype)))
      return false;
    const std::string sum = before_activation(p);
    if (shifts) {
      set_text(add("BitShift", {name(0), name(1)}, sum), "direction",
               p.kind == kBinaryShiftLeft ? "LEFT" : "RIGHT");
    } else {
      const bool is_fmod = p.kind == kBinaryFmod;
      auto* pair = add(is_fmod ? "Mod" : std::string(member_name(OpKind::Binary, p.kind)).c_str(),
                       {name(0), name(1)}, sum);
      if (is_fmod) set(pair, "fmod", int64_t{1});
    }
    return activate(p, sum);
  }
  bool batch_matmul(const ir::NodeView& node, const BatchMatMulParams& p) {
    const auto swapped = [&](uint32_t i, bool is_transposed) {
      if (!is_transposed) return name(i);
      std::vector<int64_t> perm;
      for (int64_t d = 0; d < node.input(i).rank(); ++d) perm.push_back(d);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      const std::string y = fresh(result() + ".swapped");
      set(add("Transpose", {name(i)}, y), "perm", perm);
      return y;
    };
    const std::string a = swapped(0, p.is_a_transposed != 0);
    add("MatMul", {a, swapped(1, p.is_b_transposed != 0)}, result());
    return true;
  }
  // Writes products, a softmax and, where heads of q share one of k, the Reshapes that put these
  // one below the other.
  bool attention(const ir::NodeView& node, const AttentionParams& p) {
    const ir::Dims &q = node.input(0).dims, &k = node.input(1).dims, &y = node.output().dims;
    const auto named = [&](const char* op, const std::vector<std::string>& inputs) {
      const std::string value = fresh(result() + ".attention");
      add(op, inputs, value);
      return value;
    };
    const auto viewed = [&](const std::string& x, llvm::ArrayRef<int64_t> dims) {
      return q[1] == k[1] ? x : named("Reshape", {x, ints(dims)});
    };
    const std::string turned = fresh(result() + ".turned");
    set(add("Transpose", {name(1)}, turned), "perm", {0, 1, 3, 2});
    const int64_t lines = int64_t{q[1]} / k[1] * q[2];
    std::string scores = named("Mul", {name(0), scalar(p.scale)});
    scores = named("MatMul", {viewed(scores, {q[0], k[1], lines, q[3]}), turned});
    scores = viewed(scores, {q[0], q[1], q[2], k[2]});
    if (p.has_bias) scores = named("Add", {scores, name(3)});
    const std::string weights = fresh(result() + ".weights");
    set(add("Softmax", {scores}, weights), "axis", int64_t{-1});
    std::string shown = weights;
    if (p.zero_if_hidden) {
      const std::string best = fresh(result() + ".best");
      set(add("ReduceMax", {scores, ints({-1})}, best), "keepdims", int64_t{1});
      const std::string lowest = scalar(-std::numeric_limits<float>::infinity());
      shown = named("Where", {named("Equal", {best, lowest}), scalar(0), weights});
    }
    shown = viewed(shown, {q[0], k[1], lines, k[2]});
    if (q[1] == k[1]) {
      add("MatMul", {shown, name(2)}, result());
      return true;
    }
    const std::string grouped = named("MatMul", {shown, name(2)});
    add("Reshape", {grouped, ints({y[0], y[1], y[2], y[3]})}, result());
    return true;
  }
  bool pool(const ir::NodeView& node, const Pool2dParams& p) {
    const ir::Dims &x = node.input(0).dims, &y = node.output().dims;
    const WindowAxis height = {x[2], p.kernel_h, p.stride_h, p.dilation_h, p.pad_top, p.pad_bottom};
    const WindowAxis width = {x[3], p.kernel_w, p.stride_w, p.dilation_w, p.pad_left, p.pad_right};
    // ceil_mode is written only where it matters: before opset 22, shape inference counts windows
    // that begin in the padding, too.
    const bool is_ceil = window_count(height, false) != y[2] || window_count(width, false) != y[3];
    auto* windows = add(p.kind == kPool2dMax ? "MaxPool" : "AveragePool", {name(0)}, result());
    set(windows, "kernel_shape", {p.kernel_h, p.kernel_w});
    set(windows, "strides", {p.stride_h, p.stride_w});
    set(windows, "dilations", {p.dilation_h, p.dilation_w});
    set(windows, "pads", {p.pad_top, p.pad_left, p.pad_bottom, p.pad_right});
    set(windows, "ceil_mode", int64_t{is_ceil});
    if (p.kind != kPool2dMax) set(windows, "count_include_pad", int64_t{p.count_include_pad});
    return true;
  }
  bool slice(const ir::NodeView& node) {
    const kernels::SliceAxes axes = kernels::slice_axes(node.params<SliceParams>());
    std::vector<int64_t> starts, ends, all, steps;
    for (int64_t d = 0; d < node.output().rank(); ++d) {
      const int64_t end = axes.start[d] + int64_t{axes.count[d]} * axes.step[d];
      starts.push_back(axes.start[d]);
      ends.push_back(end < 0 ? INT_MIN : end);  // backwards, past the first element
      all.push_back(d);
      steps.push_back(axes.step[d]);
    }
    const std::string begin = ints(starts), end = ints(ends), axis = ints(all);
    add("Slice", {name(0), begin, end, axis, ints(steps)}, result());
    return true;
  }
  bool pad(const ir::NodeView& node, const PadParams& p) {
    const kernels::PadAxes axes = kernels::pad_axes(p);
    std::vector<int64_t> pads(axes.begin, axes.begin + node.output().rank());
    pads.insert(pads.end(), axes.end, axes.end + node.output().rank());
    std::vector<std::string> inputs = {name(0), ints(pads)};
    if (p.has_value) inputs.push_back(name(1));
    const char* const modes[] = {"constant", "reflect", "edge", "wrap"};
    set_text(add("Pad", inputs, result()), "mode", modes[p.kind - kPadConstant]);
    return true;
  }
  bool reduce(const ir::NodeView& node, const ReduceParams& p) {
    std::vector<int64_t> axes;
    for (int64_t d = 0; d < node.input(0).rank(); ++d)
      if (p.axes_mask >> d & 1) axes.push_back(d);
    const std::string kind(member_name(OpKind::Reduce, p.kind));
    if (p.kind == kReduceArgMax || p.kind == kReduceArgMin) {
      auto* arg = add(kind.c_str(), {name(0)}, result());
      set(arg, "axis", axes[0]);
      set(arg, "select_last_index", int64_t{p.takes_last});
      return true;
    }
    const std::string type = "Reduce" + kind;
    if (!axes.empty()) {
      add(type.c_str(), {name(0), ints(axes)}, result());
      return true;
    }
    // For ONNX no axes mean all axes, so it gets one more, of one element.
    const ir::Dims& dims = node.output().dims;
    std::vector<int64_t> apart(dims.begin(), dims.end());
    apart.push_back(1);
    const std::string single = fresh(result() + ".single"), sum = fresh(result() + ".sum");
    add("Reshape", {name(0), ints(apart)}, single);
    add(type.c_str(), {single, ints({int64_t{node.output().rank()}})}, sum);
    apart.pop_back();
    add("Reshape", {sum, ints(apart)}, result());
    return true;
  }
  bool conv_nd(const ir::NodeView& node, const ConvNdParams& p) {
    const auto rank = static_cast<size_t>(node.output().rank()) - 2;
    const auto first = [&](std::initializer_list<int64_t> values) {
      return std::vector<int64_t>(values.begin(), values.begin() + rank);
    };
    std::vector<std::string> inputs;
    for (uint32_t i = 0; i < node.input_count(); ++i) inputs.push_back(name(i));
    std::string y = result();
    // ONNX has no average of i32. Doubles hold the sums exactly.
    if (node.output().dtype == DType::I32) {
      for (std::string& input : inputs) {
        const std::string wide = fresh(input + ".f64");
        set(add("Cast", {input}, wide), "to", int64_t{onnx::TensorProto::DOUBLE});
        input = wide;
      }
      y = fresh(result() + ".f64");
    }
    auto* conv = add(p.is_transposed ? "ConvTranspose" : "Conv", inputs, y);
    if (y != result()) set(add("Cast", {y}, result()), "to", int64_t{onnx::TensorProto::INT32});
    std::vector<int64_t> pads = first({p.pad_begin_0, p.pad_begin_1, p.pad_begin_2});
    const std::vector<int64_t> ends = first({p.pad_end_0, p.pad_end_1, p.pad_end_2});
    pads.insert(pads.end(), ends.begin(), ends.end());
    if (llvm::any_of(pads, [](int64_t amount) { return amount < 0; })) return false;
    set(conv, "pads", pads);
    set(conv, "strides", first({p.stride_0, p.stride_1, p.stride_2}));
    set(conv, "dilations", first({p.dilation_0, p.dilation_1, p.dilation_2}));
    set(conv, "group", int64_t{p.groups});
    if (p.is_transposed)
      set(conv, "output_padding",
          first({p.output_padding_0, p.output_padding_1, p.output_padding_2}));
    return true;
  }
  // Writes a Resize that its shape describes completely.
  bool resize(const ir::NodeView& node, const ResizeParams& p) {
    const float scales[] = {p.scale_0, p.scale_1, p.scale_2, p.scale_3,
                            p.scale_4, p.scale_5, p.scale_6, p.scale_7};
    if (p.has_scales || p.has_roi || p.kind == kResizeCubic) return false;
    for (int32_t d = 0; d < node.output().rank(); ++d) {
      const double quotient = double{1.0} * node.output().dims[d] / node.input(0).dims[d];
      if (scales[d] != 0 && scales[d] != static_cast<float>(quotient)) return false;
    }
    const auto coordinates = coordinates_of(p.coordinates);
    if (coordinates == nullptr) return false;
    const ir::Dims& dims = node.output().dims;
    auto* resize =
        add("Resize", {name(0), "", "", ints(std::vector<int64_t>(dims.begin(), dims.end()))},
            result());
    set_text(resize, "mode", p.kind == kResizeNearest ? "nearest" : "linear");
    set_text(resize, "coordinate_transformation_mode", coordinates);
    const char* const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    if (p.kind == kResizeNearest) {
      if (p.nearest < kResizeRoundPreferFloor || p.nearest > kResizeCeil) return false;
      set_text(resize, "nearest_mode", nearest[p.nearest - kResizeRoundPreferFloor]);
    }
    set(resize, "antialias", int64_t{p.is_antialias});
    return true;
  }
  static const char* coordinates_of(int32_t member) {
    switch (member) {
      case kResizeHalfPixel:
        return "half_pixel";
      case kResizeHalfPixelSymmetric:
        return "half_pixel_symmetric";
      case kResizePytorchHalfPixel:
        return "pytorch_half_pixel";
      case kResizeAlignCorners:
        return "align_corners";
      case kResizeAsymmetric:
        return "asymmetric";
      default:
        return nullptr;
    }
  }
  bool depth_to_space(const ir::NodeView& node, const DepthToSpaceParams& p) {
    const ir::Dims &x = node.input(0).dims, &y = node.output().dims;
    const int64_t bottom = int64_t{p.crop_top} + y[2], right = int64_t{p.crop_left} + y[3];
    const int64_t height = int64_t{x[2]} * p.block_h, width = int64_t{x[3]} * p.block_w;
    if (p.block_h != p.block_w || bottom > height || right > width) return false;
    const bool is_whole = y[2] == height && y[3] == width;
    const std::string whole = is_whole ? result() : fresh(result() + ".whole");
    auto* blocks = add("DepthToSpace", {name(0)}, whole);
    set(blocks, "blocksize", int64_t{p.block_h});
    set_text(blocks, "mode", p.is_channel_major ? "CRD" : "DCR");
    if (is_whole) return true;
    const std::string begin = ints({p.crop_top, p.crop_left}), end = ints({bottom, right});
    add("Slice", {whole, begin, end, ints({2, 3})}, result());
    return true;
  }
  // Returns true if it normalizes over all axes after the channels, with a constant per channel.
  bool is_instance_norm(const ir::NodeView& node, const NormalizeParams& p) const {
    const int32_t rank = node.output().rank();
    if (rank < 3 || p.is_rms || !p.has_scale || !p.has_bias ||
        p.axes_mask != (((1 << rank) - 1) & ~3))
      return false;
    return llvm::all_of(llvm::ArrayRef<uint32_t>({1, 2}), [&](uint32_t i) {
      const ir::Value& value = node.input_value(i);
      const ir::Dims& dims = value.type.dims;
      return value.is_constant && dims.size() + 1 >= static_cast<size_t>(rank) &&
             value.type.element_count() == node.output().dims[1] &&
             dims[dims.size() - static_cast<size_t>(rank) + 1] == node.output().dims[1];
    });
  }
  // Returns the first axis if it normalizes over the last axes, with a scale for each of their
  // elements.
  static std::optional<int64_t> layer_norm_axis(const ir::NodeView& node,
                                                const NormalizeParams& p) {
    const ir::Dims& x = node.output().dims;
    int64_t axis = 0;
    while (axis < node.output().rank() && !(p.axes_mask >> axis & 1)) ++axis;
    if (p.is_rms || !p.has_scale || p.axes_mask != (((1 << x.size()) - 1) & ~((1 << axis) - 1)))
      return std::nullopt;
    for (uint32_t i = 1; i < node.input_count(); ++i)
      if (node.input(i).dims != ir::Dims(x.begin() + axis, x.end())) return std::nullopt;
    return axis;
  }
  // Writes ONNX's operator where it means the same, else a formula.
  bool normalize(const ir::NodeView& node, const NormalizeParams& p) {
    const std::string whole = before_activation(p);
    if (is_instance_norm(node, p)) {
      std::vector<std::string> inputs = {name(0)};
      for (const uint32_t i : {1, 2})
        inputs.push_back(tensor(fresh(name(i) + ".by_channel"), DType::F32,
                                std::vector<int64_t>{node.output().dims[1]},
                                node.input_value(i).bytes));
      set_float(add("InstanceNormalization", inputs, whole), "epsilon", p.epsilon);
      return activate(p, whole);
    }
    if (const std::optional<int64_t> axis = layer_norm_axis(node, p)) {
      std::vector<std::string> inputs = {name(0), name(1)};
      if (p.has_bias) inputs.push_back(name(2));
      auto* norm = add("LayerNormalization", inputs, whole);
      set(norm, "axis", *axis);
      set_float(norm, "epsilon", p.epsilon);
      return activate(p, whole);
    }
    std::vector<int64_t> axes;
    for (int64_t d = 0; d < node.output().rank(); ++d)
      if (p.axes_mask >> d & 1) axes.push_back(d);
    const auto piece = [&](const char* type, const std::vector<std::string>& inputs,
                           const char* what) {
      std::string y = fresh(result() + what);
      add(type, inputs, y);
      return y;
    };
    const std::string distance =
        p.is_rms ? name(0)
                 : piece("Sub", {name(0), piece("ReduceMean", {name(0), ints(axes)}, ".mean")},
                         ".distance");
    const std::string square = piece("Mul", {distance, distance}, ".square");
    const std::string variance = piece("ReduceMean", {square, ints(axes)}, ".variance");
    const std::string sum = piece("Add", {variance, scalar(p.epsilon)}, ".variance_epsilon");
    std::string y = distance;
    std::vector<std::pair<const char*, std::string>> steps = {
        {"Div", piece("Sqrt", {sum}, ".deviation")}};
    if (p.has_scale) steps.emplace_back("Mul", name(1));
    if (p.has_bias) steps.emplace_back("Add", name(p.has_scale ? 2 : 1));
    for (size_t i = 0; i < steps.size(); ++i) {
      const std::string to = i + 1 == steps.size() ? whole : fresh(result() + ".normal");
      add(steps[i].first, {y, steps[i].second}, to);
      y = to;
    }
    return activate(p, whole);
  }
  static void set_activations(onnx::NodeProto* node, const RecurrentParams& p) {
    auto* names = attribute(node, "activations");
    names->set_type(onnx::AttributeProto::STRINGS);
    std::vector<float> alphas, betas;
    const int32_t count =
        kernels::recurrent_activations(p.kind) * kernels::recurrent_directions(p.direction);
    for (int32_t i = 0; i < count; ++i) {
      const auto activation = kernels::recurrent_activation(p, i);
      names->add_strings(std::string(member_name(OpKind::Unary, activation.kind)));
      switch (activation.kind) {  // the lists hold only the numbers that activations take
        case kUnaryHardSigmoid:
          betas.push_back(activation.beta);
          [[fallthrough]];
        case kUnaryLeakyRelu:
        case kUnaryThresholdedRelu:
        case kUnaryElu:
          alphas.push_back(activation.alpha);
          break;
        default:
          break;
      }
    }
    set_floats(node, "activation_alpha", alphas);
    set_floats(node, "activation_beta", betas);
  }
  // Joins the three outputs of ONNX: the states of every step, then the last states.
  bool recurrent(const ir::NodeView& node, const RecurrentParams& p) {
    const bool is_lstm = p.kind == kRecurrentLstm;
    std::vector<std::string> inputs = {name(0), name(1), name(2)};
    uint32_t next = 3;
    for (const int32_t is_there : {p.has_bias, p.has_lengths, p.has_h0, p.has_c0, p.has_peepholes})
      inputs.push_back(is_there ? name(next++) : "");
    if (p.has_lengths) {
      const std::string lengths = fresh(result() + ".lengths");
      set(add("Cast", {inputs[4]}, lengths), "to", int64_t{onnx::TensorProto::INT32});
      inputs[4] = lengths;
    }
    while (inputs.back().empty()) inputs.pop_back();
    const std::string steps = fresh(result() + ".steps"), hidden = fresh(result() + ".hidden");
    auto* cells = add(is_lstm ? "LSTM" : p.kind == kRecurrentGru ? "GRU" : "RNN", inputs, steps);
    const char* const directions[] = {"forward", "reverse", "bidirectional"};
    set_text(cells, "direction", directions[p.direction]);
    const ir::Dims& dims = node.output().dims;
    set(cells, "hidden_size", int64_t{dims[3]});
    if (p.clip > 0) set_float(cells, "clip", p.clip);
    if (p.kind == kRecurrentGru)
      set(cells, "linear_before_reset", int64_t{p.is_linear_before_reset});
    if (is_lstm) set(cells, "input_forget", int64_t{p.is_input_forget});
    set_activations(cells, p);
    cells->add_output(hidden);
    std::vector<std::string> pieces = {steps};
    const std::string state_dims = ints({1, dims[1], dims[2], dims[3]});
    const auto add_state = [&](const std::string& state) {
      add("Reshape", {state, state_dims}, pieces.emplace_back(fresh(state + ".state")));
    };
    add_state(hidden);
    if (is_lstm) {
      const std::string cell = fresh(result() + ".cell");
      cells->add_output(cell);
      add_state(cell);
    } else {
      add("Expand", {scalar(0), state_dims}, pieces.emplace_back(fresh(result() + ".no_cell")));
    }
    set(add("Concat", pieces, result()), "axis", int64_t{0});
    return true;
  }
  bool transpose(const ir::NodeView& node, const TransposeParams& p) {
    const std::vector<int64_t> perm = {p.perm_0, p.perm_1, p.perm_2, p.perm_3,
                                       p.perm_4, p.perm_5, p.perm_6, p.perm_7};
    set(add("Transpose", {name(0)}, result()), "perm",
        llvm::ArrayRef<int64_t>(perm).take_front(node.output().rank()));
    return true;
  }
  bool random(const ir::NodeView& node, const RandomParams& p) {
    const bool is_normal = p.kind == kRandomNormal;
    const ir::Dims& dims = node.output().dims;
    auto* numbers = add(is_normal ? "RandomNormal" : "RandomUniform", {}, result());
    set_float(numbers, is_normal ? "mean" : "low", p.location);
    set_float(numbers, is_normal ? "scale" : "high", is_normal ? p.scale : p.location + p.scale);
    set(numbers, "shape", std::vector<int64_t>(dims.begin(), dims.end()));
    if (p.has_seed == 0) return true;
    float seed;
    std::memcpy(&seed, &p.seed, sizeof seed);
    set_float(numbers, "seed", seed);
    return true;
  }
  bool with_shape(const char* type, const ir::NodeView& node) {
    const ir::Dims& dims = node.output().dims;
    add(type, {name(0), ints(std::vector<int64_t>(dims.begin(), dims.end()))}, result());
    return true;
  }

  // Returns false for an operator without a rule, or with parameters that ONNX cannot express.
  bool write(const ir::NodeView& node) {
    switch (node.node.op) {
      case OpKind::Conv2d: {
        const auto params = node.params<Conv2dParams>();
        return convolution(node, params, params.groups);
      }
      case OpKind::DepthwiseConv2d:
        return convolution(node, node.params<DepthwiseConv2dParams>(), node.output().dims[1]);
      case OpKind::MatMul:
        return matmul(node.params<MatMulParams>());
      case OpKind::BatchMatMul:
        return batch_matmul(node, node.params<BatchMatMulParams>());
      case OpKind::ConvNd:
        return conv_nd(node, node.params<ConvNdParams>());
      case OpKind::Pool2d:
        return node.output().dims[1] == node.input(0).dims[1] &&
               pool(node, node.params<Pool2dParams>());
      case OpKind::Unary: {
        const auto params = node.params<UnaryParams>();
        return unary(params.kind, params.alpha, params.beta, name(0), result());
      }
      case OpKind::Binary:
        return binary(node, node.params<BinaryParams>());
      case OpKind::Concat: {
        std::vector<std::string> inputs;
        for (uint32_t i = 0; i < node.input_count(); ++i) inputs.push_back(name(i));
        set(add("Concat", inputs, result()), "axis", int64_t{node.params<ConcatParams>().axis});
        return true;
      }
      case OpKind::Softmax: {
        const auto params = node.params<SoftmaxParams>();
        set(add(params.is_log ? "LogSoftmax" : "Softmax", {name(0)}, result()), "axis",
            int64_t{params.axis});
        return true;
      }
      case OpKind::Transpose:
        return transpose(node, node.params<TransposeParams>());
      case OpKind::Reshape:
        return with_shape("Reshape", node);
      case OpKind::Expand:
        return with_shape("Expand", node);
      case OpKind::Slice:
        return slice(node);
      case OpKind::Pad:
        return pad(node, node.params<PadParams>());
      case OpKind::Reduce:
        return reduce(node, node.params<ReduceParams>());
      case OpKind::Resize:
        return resize(node, node.params<ResizeParams>());
      case OpKind::DepthToSpace:
        return depth_to_space(node, node.params<DepthToSpaceParams>());
      case OpKind::Random:
        return random(node, node.params<RandomParams>());
      case OpKind::Attention:
        return attention(node, node.params<AttentionParams>());
      case OpKind::Lrn: {
        const auto params = node.params<LrnParams>();
        auto* norm = add("LRN", {name(0)}, result());
        set(norm, "size", int64_t{params.size});
        set_float(norm, "alpha", params.alpha);
        set_float(norm, "beta", params.beta);
        set_float(norm, "bias", params.bias);
        return true;
      }
      case OpKind::Normalize:
        return normalize(node, node.params<NormalizeParams>());
      case OpKind::Recurrent:
        return recurrent(node, node.params<RecurrentParams>());
      case OpKind::Where:
        add("Where", {name(0), name(1), name(2)}, result());
        return true;
      case OpKind::Gather:
        set(add("Gather", {name(0), name(1)}, result()), "axis",
            int64_t{node.params<GatherParams>().axis});
        return true;
      case OpKind::Cast:
        set(add("Cast", {name(0)}, result()), "to",
            int64_t{onnx_type_of(static_cast<DType>(node.params<CastParams>().to))});
        return true;
      default:
        return false;
    }
  }

  const ir::Graph& graph_;
  onnx::ModelProto model_;
  onnx::GraphProto* to_ = nullptr;
  const ir::Node* node_ = nullptr;
  std::set<std::string> names_, unknown_;
  std::set<size_t> copied_outputs_;           // outputs that copy a value of another name
  std::map<ir::ValueId, std::string> whole_;  // names of outputs in their largest dims
};

}  // namespace

llvm::Expected<std::string> write_onnx(const ir::Graph& graph) { return Writer(graph).run(); }

llvm::Error check_onnx(const ir::Graph& graph) { return Writer(graph).check(); }

}  // namespace codl::compiler
