#include "compiler/simulate/scenarios/replay.h"

#include <algorithm>
#include <optional>

#include "compiler/partition/kernel_choice.h"
#include "compiler/support/error.h"
#include "compiler/support/json_reader.h"
#include "llvm/Support/FormatVariadic.h"
#include "schema/plan.h"

namespace codl::compiler {

namespace {

constexpr int64_t kReplayVersion = 1;
// CoDL gives the GPU channels in multiples of four.
constexpr int32_t kChannelGranularity = 4;

double elements_in(const ReplayOp& op) {
  return static_cast<double>(op.in_rows) * op.in_columns * op.in_channels;
}

double elements_out(const ReplayOp& op) {
  return static_cast<double>(op.out_rows()) * op.out_columns() * op.out_channels;
}

ReplayOp read_op(const JsonValue& json) {
  constexpr OpKind kKinds[] = {OpKind::Conv2d, OpKind::Pool2d, OpKind::MatMul};
  const auto extent = [&](llvm::StringRef key) {
    return static_cast<int32_t>(json.member(key).as_integer(1, INT16_MAX));
  };
  ReplayOp op;
  op.op = kKinds[json.member("op").as_choice({"conv2d", "max_pool", "matmul"})];
  op.in_channels = extent("input_channels");
  op.out_channels = op.op == OpKind::Pool2d ? op.in_channels : extent("output_channels");
  if (op.op != OpKind::MatMul) {
    op.kernel = extent("kernel");
    op.stride = extent("stride");
    op.in_rows = extent("input_rows");
    op.in_columns = extent("input_columns");
    if (op.kernel > std::min(op.in_rows, op.in_columns))
      json.member("kernel").expected("a number of at most input_rows and input_columns");
  }
  constexpr double kMaxElements = 1e9;  // with padded channels it still fits int32
  const double weights =
      static_cast<double>(op.kernel) * op.kernel * op.in_channels * op.out_channels;
  if (std::max({elements_in(op), elements_out(op), weights}) > kMaxElements)
    json.expected("an operator of at most 10^9 elements");
  return op;
}

ReplayChain read_chain(const JsonValue& json) {
  constexpr SplitDim kDims[] = {SplitDim::Height, SplitDim::OutputChannel};
  ReplayChain chain;
  chain.dim = kDims[json.member("split_dim").as_choice({"height", "output_channel"})];
  chain.gpu_percent = static_cast<int32_t>(json.member("gpu_percent").as_integer(0, 100));
  const JsonValue ops = json.member("ops");
  for (const JsonValue& op : ops.elements()) chain.ops.push_back(read_op(op));
  if (ops && chain.ops.empty()) ops.expected("one operator or more");
  if (chain.ops.size() > 1 && chain.dim != SplitDim::Height)
    json.member("split_dim").expected("\"height\" for a chain of more than one");
  for (const ReplayOp& op : chain.ops)
    if (chain.ops.size() > 1 && op.op == OpKind::MatMul)
      ops.expected("a chain without matmul, which has no rows, or with nothing else");
  return chain;
}

ReplayOp with_out_rows(ReplayOp op, int32_t rows) {
  op.in_rows = (rows - 1) * op.stride + op.kernel;
  return op;
}

ReplayOp with_channels(ReplayOp op, int32_t channels) {
  op.out_channels = channels;
  if (op.op == OpKind::Pool2d) op.in_channels = channels;
  return op;
}

// Holds the parts of an operator that the two processors compute; a part that is missing does
// nothing.
struct Parts {
  std::optional<ReplayOp> cpu;
  std::optional<ReplayOp> gpu;
};

int32_t gpu_rows_of(const ReplayOp& op, int32_t gpu_percent) {
  return static_cast<int32_t>(ceil_div(op.out_rows() * gpu_percent, 100));
}

Parts split_channels(const ReplayOp& op, int32_t gpu_percent) {
  const int32_t gpu =
      std::min(round_up(op.out_channels * gpu_percent / 100, kChannelGranularity), op.out_channels);
  Parts parts;
  if (gpu > 0) parts.gpu = with_channels(op, gpu);
  if (gpu < op.out_channels) parts.cpu = with_channels(op, op.out_channels - gpu);
  return parts;
}

// Returns the rows of op's output that `following` reads for some of its own rows. Half of the
// padding is at each border and is not op's output.
int32_t rows_read(const ReplayOp& op, const ReplayOp& following, int32_t following_rows) {
  const int32_t padding = std::max(0, following.in_rows - op.out_rows()) / 2;
  return std::clamp((following_rows - 1) * following.stride + following.kernel - padding, 0,
                    op.out_rows());
}

// Splits each operator of a chain along Height: own rows, and those that the same processor's next
// operators read.
std::vector<Parts> split_rows(const ReplayChain& chain) {
  std::vector<Parts> parts(chain.ops.size());
  int32_t cpu_rows = 0;
  int32_t gpu_rows = 0;
  for (size_t i = chain.ops.size(); i-- > 0;) {
    const ReplayOp& op = chain.ops[i];
    const int32_t own_gpu = gpu_rows_of(op, chain.gpu_percent);
    const int32_t own_cpu = op.out_rows() - own_gpu;
    const auto with_halo = [&](int32_t own, int32_t following_rows) {
      if (i + 1 == chain.ops.size() || following_rows == 0) return own;
      return std::max(own, rows_read(op, chain.ops[i + 1], following_rows));
    };
    cpu_rows = with_halo(own_cpu, cpu_rows);
    gpu_rows = with_halo(own_gpu, gpu_rows);
    if (cpu_rows > 0) parts[i].cpu = with_out_rows(op, cpu_rows);
    if (gpu_rows > 0) parts[i].gpu = with_out_rows(op, gpu_rows);
  }
  return parts;
}

std::vector<Parts> parts_of(const ReplayChain& chain) {
  const ReplayOp& first = chain.ops.front();
  const bool has_rows = first.op != OpKind::MatMul;
  if (chain.dim == SplitDim::Height && has_rows) return split_rows(chain);
  return {split_channels(first, chain.gpu_percent)};
}

ir::TensorType f32(ir::Dims dims, Layout layout) { return {DType::F32, std::move(dims), layout}; }

// Returns a graph of the operator alone, with constants that have a shape only.
ir::Graph graph_of(const ReplayOp& op) {
  ir::Graph graph;
  ir::Node node{op.op, {}, {}, ir::kNoId, "op"};
  ir::TensorType out = f32({1, op.out_channels, op.out_rows(), op.out_columns()}, Layout::Nhwc);
  const auto constant = [&](const char* name, ir::Dims dims) {
    // The constant is added without elements, because it has no bytes.
    node.inputs.push_back(graph.add_constant(name, f32({0}, Layout::Plain), {}));
    graph.value(node.inputs.back()).type.dims = std::move(dims);
  };
  if (op.op == OpKind::MatMul) {
    node.inputs.push_back(graph.add_input("x", f32({1, op.in_channels}, Layout::Plain)));
    constant("w", {op.in_channels, op.out_channels});
    constant("bias", {op.out_channels});
    node.params = ir::OpParams::of(op.op, MatMulParams{});
    out = f32({1, op.out_channels}, Layout::Plain);
  } else {
    node.inputs.push_back(
        graph.add_input("x", f32({1, op.in_channels, op.in_rows, op.in_columns}, Layout::Nhwc)));
  }
  if (op.op == OpKind::Conv2d) {
    constant("w", {op.out_channels, op.in_channels, op.kernel, op.kernel});
    constant("bias", {op.out_channels});
    Conv2dParams params;
    params.stride_h = params.stride_w = op.stride;
    params.dilation_h = params.dilation_w = params.groups = 1;
    node.params = ir::OpParams::of(op.op, params);
  }
  if (op.op == OpKind::Pool2d) {
    Pool2dParams params;
    params.kind = kPool2dMax;
    params.kernel_h = params.kernel_w = op.kernel;
    params.stride_h = params.stride_w = op.stride;
    params.dilation_h = params.dilation_w = 1;
    node.params = ir::OpParams::of(op.op, params);
  }
  graph.add_node(std::move(node), "y", out);
  return graph;
}

class Replayer {
 public:
  Replayer(const Replay& replay, const DeviceProfile& profile)
      : replay_(replay), profile_(profile), predictor_(profile) {}

  llvm::Expected<std::vector<QueueStep>> run() {
    if (!profile_.has_gpu)
      return input_error(profile_.name, "expected a profile with a \"gpu\", found none");
    for (const ReplayChain& chain : replay_.chains)
      if (llvm::Error error = add_chain(chain)) return error;
    return std::move(steps_);
  }

 private:
  static constexpr auto kCpu = static_cast<uint8_t>(Queue::Cpu);
  static constexpr auto kGpu = static_cast<uint8_t>(Queue::Gpu);

  llvm::Error add_chain(const ReplayChain& chain) {
    const std::vector<Parts> parts = parts_of(chain);
    const bool is_shared = parts.back().cpu.has_value();
    if (is_shared) add_transfer_in(elements_in(*parts.front().cpu));
    const uint32_t begun = last_;
    uint32_t ends[2] = {begun, begun};
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::pair<Processor, const std::optional<ReplayOp>&> sides[] = {
          {Processor::Cpu, parts[i].cpu}, {Processor::Gpu, parts[i].gpu}};
      for (const auto& [processor, op] : sides) {
        if (!op) continue;
        uint32_t& end = ends[static_cast<size_t>(processor)];
        if (llvm::Error error = add_op(*op, processor, end)) return error;
        end = last_;
      }
    }
    last_ = ends[1];
    if (is_shared) {
      // The CPU's own rows leave; those of the halo do not.
      const ReplayOp& last_op = chain.ops.back();
      ReplayOp own = *parts.back().cpu;
      if (chain.ops.size() > 1)
        own = with_out_rows(last_op, last_op.out_rows() - gpu_rows_of(last_op, chain.gpu_percent));
      add_transfer_out(elements_out(own), ends);
    }
    return llvm::Error::success();
  }

  // Appends a step that waits for `waits`; a wait of kNone is none.
  QueueStep& add(uint8_t queue, llvm::StringRef name, double us, llvm::ArrayRef<uint32_t> waits) {
    QueueStep& step = steps_.emplace_back();
    step.queue = queue;
    step.name = name.str();
    step.alone_us = us;
    for (uint32_t wait : waits)
      if (wait != kNone) step.waits.push_back({wait});
    last_ = static_cast<uint32_t>(steps_.size()) - 1;
    return step;
  }

  llvm::Error add_op(const ReplayOp& op, Processor processor, uint32_t after) {
    const ir::Graph graph = graph_of(op);
    const ir::NodeView node{graph, graph.node(0)};
    const auto choice = choose_kernel(node, processor, map_forms(node, processor, profile_).front(),
                                      SplitDim::None, {}, predictor_, false);
    if (!choice)
      return input_error(replay_.name,
                         "expected a profile with a kernel for every operator, found none for {0}",
                         name_of(op));
    QueueStep& step = add(processor == Processor::Cpu ? kCpu : kGpu, name_of(op),
                          choice->predicted_us - choice->launch_us, {after});
    step.kernel = choice->kernel->symbol;
    step.launch_us = choice->launch_us;
    return llvm::Error::success();
  }

  // Adds a conversion from buffer to image or back, on the GPU.
  void add_transform(bool to_image, double elements) {
    if (profile_.gpu_layout != Layout::Image2d) return;
    ir::Value map;
    map.type = f32({1, kChannelPad, 1,
                    static_cast<int32_t>(ceil_div(static_cast<int64_t>(elements), kChannelPad))},
                   Layout::Nhwc);
    const kernels::OperandShape buffer = value_shape(map, kBuffers, {});
    const kernels::OperandShape image = value_shape(map, kImages, {});
    const kernels::OperandShape shapes[] = {to_image ? buffer : image, to_image ? image : buffer};
    kernels::StepShape moved;
    moved.operands = shapes;
    moved.operand_count = 2;
    moved.kernel = choose_mover(moved, Processor::Gpu, predictor_);
    QueueStep& step =
        add(kGpu, "transform", moved.kernel != nullptr ? predictor_.predict_us(moved, false) : 0,
            {last_});
    if (moved.kernel != nullptr) step.kernel = moved.kernel->symbol;
    step.launch_us = profile_.launch_us.value;
  }

  double map_us(double elements) const {
    const double bytes = elements * sizeof(float);
    switch (profile_.transfer.sharing) {
      case Sharing::None:
      case Sharing::FineSvm:
        return 0;
      case Sharing::SubBuffer:
        return predictor_.transfer().map_time_us(bytes);
      case Sharing::Separate:
        return profile_.transfer.copy_us_per_mb.value * bytes * 1e-6;
    }
    __builtin_unreachable();
  }

  void add_transfer_in(double elements) {
    add_transform(false, elements);
    add(kCpu, "map", map_us(elements), {last_}).synchronisation_us =
        profile_.transfer.sync_us.value;
  }

  void add_transfer_out(double elements, const uint32_t (&ends)[2]) {
    add(kCpu, "map", map_us(elements), ends).synchronisation_us = profile_.transfer.sync_us.value;
    add_transform(true, elements);
  }

  static std::string name_of(const ReplayOp& op) {
    if (op.op == OpKind::MatMul)
      return llvm::formatv("matmul {0} to {1}", op.in_channels, op.out_channels).str();
    return llvm::formatv("{0} {1}x{1} stride {2}, {3}x{4}x{5} to {6} channels",
                         op.op == OpKind::Conv2d ? "conv2d" : "max_pool", op.kernel, op.stride,
                         op.in_rows, op.in_columns, op.in_channels, op.out_channels)
        .str();
  }

  static constexpr uint32_t kNone = UINT32_MAX;

  const Replay& replay_;
  const DeviceProfile& profile_;
  const LatencyPredictor predictor_;
  std::vector<QueueStep> steps_;
  uint32_t last_ = kNone;  // the step that the next one follows
};

}  // namespace

llvm::Expected<Replay> parse_replay(llvm::StringRef json, llvm::StringRef path) {
  CODL_ASSIGN_OR_RETURN(document, JsonDocument::parse(json, path));
  const JsonValue root = document->root();
  root.member("format_version").as_integer(kReplayVersion, kReplayVersion);
  Replay replay;
  replay.name = root.member("name").as_string();
  const JsonValue chains = root.member("chains");
  for (const JsonValue& chain : chains.elements()) replay.chains.push_back(read_chain(chain));
  if (chains && replay.chains.empty()) chains.expected("one chain or more");
  if (llvm::Error error = document->finish()) return error;
  return replay;
}

llvm::Expected<std::vector<QueueStep>> queue_steps_of(const Replay& replay,
                                                      const DeviceProfile& profile) {
  return Replayer(replay, profile).run();
}

}  // namespace codl::compiler
