#include "test/runtime/relu_plan.h"

#include <cstring>

#include "schema/step_shape.h"

namespace codl::test {
namespace {

uint16_t kernel_id(const char* symbol) {
  for (const KernelInfo& kernel : kKernelInfos)
    if (std::strcmp(kernel.symbol, symbol) == 0) return kernel.id;
  return 0;
}

// Writes one variant: tensors get the next free bytes of their arena, which are never reused.
class VariantWriter {
 public:
  VariantWriter(TestVariant* variant, const std::vector<int32_t>& dims)
      : variant_(variant), dims_(dims) {}

  int32_t rows() const { return dims_[2]; }
  int32_t channels() const { return dims_[1]; }

  uint32_t io(Storage storage) {
    return add({.name = "io", .storage = storage, .dims = dims_, .bytes = plain_bytes()});
  }

  // Adds rows [rows.begin, rows.end) in Nhwc.
  uint32_t nhwc(Storage storage, Range rows) {
    kernels::OperandShape shape = shape_of(Layout::Nhwc, rows);
    const uint64_t bytes = static_cast<uint64_t>(kernels::stored_elements(shape)) * 4;
    uint64_t& arena = arena_of(storage);
    const uint64_t offset = arena;
    arena = round_up(arena + bytes, kDeviceAlignment);
    return add({.name = "nhwc",
                .storage = storage,
                .dims = dims_,
                .layout = Layout::Nhwc,
                .row_begin = rows.begin,
                .row_end = rows.end,
                .offset_bytes = offset,
                .bytes = bytes});
  }

  uint32_t image(Range rows) {
    const kernels::OperandShape shape = shape_of(Layout::Image2d, rows);
    variant_->images.push_back({static_cast<uint32_t>(kernels::image_width(shape)),
                                static_cast<uint32_t>(kernels::image_height(shape))});
    return add({.name = "image",
                .storage = Storage::Image,
                .dims = dims_,
                .layout = Layout::Image2d,
                .row_begin = rows.begin,
                .row_end = rows.end,
                .index = static_cast<uint32_t>(variant_->images.size() - 1)});
  }

  // Appends one step; returns its number.
  uint32_t kernel(const char* symbol, uint32_t from, uint32_t to, std::vector<uint32_t> waits = {},
                  SplitDim part_dim = SplitDim::None, Range part = {}) {
    TestStep step;
    step.kernel = kernel_id(symbol);
    step.queue = std::strstr(symbol, "_cl_") != nullptr ? Queue::Gpu : Queue::Cpu;
    if (std::strncmp(symbol, "unary", 5) == 0)
      step.params = params_bytes(UnaryParams{.kind = kUnaryRelu});
    step.operands = {from, to};
    step.waits = std::move(waits);
    step.part_dim = part_dim;
    step.part = part;
    step.name = symbol;
    return add(step);
  }
  uint32_t map(StepKind kind, MapAccess access, uint32_t tensor, std::vector<uint32_t> waits = {}) {
    TestStep step;
    step.kind = kind;
    step.queue = Queue::Gpu;
    step.operands = {tensor};
    step.map_access = access;
    step.waits = std::move(waits);
    step.name = "map";
    return add(step);
  }
  uint32_t transfer(StepKind kind, uint32_t from, uint32_t to, std::vector<uint32_t> waits,
                    SplitDim part_dim, Range part) {
    TestStep step;
    step.kind = kind;
    step.queue = Queue::Transfer;
    step.operands = {from, to};
    step.waits = std::move(waits);
    step.part_dim = part_dim;
    step.part = part;
    step.name = "transfer";
    return add(step);
  }

 private:
  uint64_t plain_bytes() const {
    uint64_t bytes = 4;
    for (int32_t dim : dims_) bytes *= static_cast<uint64_t>(dim);
    return bytes;
  }

  kernels::OperandShape shape_of(Layout layout, Range rows) const {
    kernels::OperandShape shape;
    shape.layout = layout;
    shape.rank = 4;
    for (size_t i = 0; i < 4; ++i) shape.dims[i] = dims_[i];
    shape.row_begin = rows.begin;
    shape.row_end = rows.end;
    return shape;
  }

  uint64_t& arena_of(Storage storage) {
    if (storage == Storage::Shared) return variant_->shared_bytes;
    if (storage == Storage::Device) return variant_->device_bytes;
    return variant_->host_bytes;
  }

  uint32_t add(TestTensor tensor) {
    variant_->tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(variant_->tensors.size() - 1);
  }
  uint32_t add(TestStep step) {
    variant_->steps.push_back(std::move(step));
    return static_cast<uint32_t>(variant_->steps.size() - 1);
  }

  TestVariant* variant_;
  std::vector<int32_t> dims_;
};

TestVariant cpu_variant(const std::vector<int32_t>& dims) {
  TestVariant variant;
  VariantWriter writer(&variant, dims);
  const Range all = {0, writer.rows()};
  const uint32_t in = writer.io(Storage::Input);
  const uint32_t x = writer.nhwc(Storage::Host, all);
  const uint32_t y = writer.nhwc(Storage::Host, all);
  const uint32_t out = writer.io(Storage::Output);
  writer.kernel("convert_f32_cpu", in, x);
  writer.kernel("unary_f32_cpu", x, y);
  writer.kernel("convert_f32_cpu", y, out);
  return variant;
}

void write_fine_svm(VariantWriter& writer, const ReluPlanOptions& options) {
  const Range all = {0, writer.rows()};
  const bool by_channels = options.half == GpuHalf::FineSvmChannels;
  const SplitDim dim = by_channels ? SplitDim::OutputChannel : SplitDim::Height;
  const int32_t cut = by_channels ? options.cut_channel : options.cut_row;
  const int32_t end = by_channels ? writer.channels() : writer.rows();
  const uint32_t in = writer.io(Storage::Input);
  const uint32_t x = writer.nhwc(Storage::Shared, all);
  const uint32_t y = writer.nhwc(Storage::Shared, all);
  const uint32_t out = writer.io(Storage::Output);
  const uint32_t enter = writer.kernel("convert_f32_cpu", in, x);
  uint32_t gpu_last = 0;
  if (options.half == GpuHalf::FineSvmImages) {
    const uint32_t image_x = writer.image({cut, end});
    const uint32_t image_y = writer.image({cut, end});
    writer.kernel("convert_f32_cl_to_image", x, image_x, {enter});
    writer.kernel("unary_f32_cl_image", image_x, image_y);
    gpu_last = writer.kernel("convert_f32_cl_from_image", image_y, y, {}, dim, {cut, end});
  } else {
    gpu_last = writer.kernel("unary_f32_cl_buffer", x, y, {enter}, dim, {cut, end});
  }
  writer.kernel("unary_f32_cpu", x, y, {}, dim, {0, cut});
  writer.kernel("convert_f32_cpu", y, out, {gpu_last});
}

// Writes the GPU's relu of rows that both tensors hold, through images or not; returns its last
// step.
uint32_t write_gpu_rows(VariantWriter& writer, uint32_t x, uint32_t y, Range rows, bool by_images,
                        std::vector<uint32_t> waits = {}) {
  if (!by_images) return writer.kernel("unary_f32_cl_buffer", x, y, std::move(waits));
  const uint32_t image_x = writer.image(rows);
  const uint32_t image_y = writer.image(rows);
  writer.kernel("convert_f32_cl_to_image", x, image_x, std::move(waits));
  writer.kernel("unary_f32_cl_image", image_x, image_y);
  return writer.kernel("convert_f32_cl_from_image", image_y, y);
}

void write_sub_buffer(VariantWriter& writer, const ReluPlanOptions& options) {
  const Range cpu = {0, options.cut_row};
  const Range gpu = {options.cut_row, writer.rows()};
  const uint32_t in = writer.io(Storage::Input);
  const uint32_t x_cpu = writer.nhwc(Storage::Host, cpu);
  const uint32_t y_cpu = writer.nhwc(Storage::Host, cpu);
  const uint32_t x_gpu = writer.nhwc(Storage::Shared, gpu);
  const uint32_t y_gpu = writer.nhwc(Storage::Shared, gpu);
  const uint32_t out = writer.io(Storage::Output);
  const uint32_t map_x = writer.map(StepKind::Map, MapAccess::Write, x_gpu);
  const uint32_t enter = writer.kernel("convert_f32_cpu", in, x_gpu, {map_x});
  writer.map(StepKind::Unmap, MapAccess::Write, x_gpu, {enter});
  write_gpu_rows(writer, x_gpu, y_gpu, gpu, options.half == GpuHalf::SubBufferImages);
  const uint32_t map_y = writer.map(StepKind::Map, MapAccess::Read, y_gpu);
  writer.kernel("convert_f32_cpu", in, x_cpu);
  writer.kernel("unary_f32_cpu", x_cpu, y_cpu);
  writer.kernel("convert_f32_cpu", y_cpu, out, {}, SplitDim::Height, cpu);
  const uint32_t leave =
      writer.kernel("convert_f32_cpu", y_gpu, out, {map_y}, SplitDim::Height, gpu);
  writer.map(StepKind::Unmap, MapAccess::Read, y_gpu, {leave});
}

void write_separate(VariantWriter& writer, const ReluPlanOptions& options) {
  const bool by_channels = options.half == GpuHalf::SeparateChannels;
  const SplitDim dim = by_channels ? SplitDim::OutputChannel : SplitDim::Height;
  const int32_t cut = by_channels ? options.cut_channel : options.cut_row;
  const int32_t end = by_channels ? writer.channels() : writer.rows();
  const Range all = {0, writer.rows()};
  const Range held = by_channels ? all : Range{cut, end};
  const uint32_t in = writer.io(Storage::Input);
  const uint32_t x = writer.nhwc(Storage::Host, all);
  const uint32_t y = writer.nhwc(Storage::Host, all);
  const uint32_t x_gpu = writer.nhwc(Storage::Device, held);
  const uint32_t y_gpu = writer.nhwc(Storage::Device, held);
  const uint32_t out = writer.io(Storage::Output);
  const uint32_t enter = writer.kernel("convert_f32_cpu", in, x);
  const uint32_t up = writer.transfer(StepKind::Upload, x, x_gpu, {enter}, dim, {cut, end});
  const uint32_t relu =
      by_channels ? writer.kernel("unary_f32_cl_buffer", x_gpu, y_gpu, {up}, dim, {cut, end})
                  : write_gpu_rows(writer, x_gpu, y_gpu, held,
                                   options.half == GpuHalf::SeparateImages, {up});
  const uint32_t down = writer.transfer(StepKind::Download, y_gpu, y, {relu}, dim, {cut, end});
  writer.kernel("unary_f32_cpu", x, y, {}, dim, {0, cut});
  writer.kernel("convert_f32_cpu", y, out, {down});
}

TestPlan empty_plan(const std::vector<int32_t>& dims, uint32_t cpu_threads) {
  TestPlan plan;
  plan.cpu_threads = cpu_threads;
  uint64_t bytes = 4;
  for (int32_t dim : dims) bytes *= static_cast<uint64_t>(dim);
  plan.inputs = {{.name = "x", .dims = dims, .bytes = bytes}};
  plan.outputs = {{.name = "y", .dims = dims, .bytes = bytes}};
  return plan;
}

}  // namespace

TestPlan relu_plan(const ReluPlanOptions& options) {
  TestPlan plan = empty_plan(options.dims, options.cpu_threads);
  TestVariant variant;
  variant.name = "coexec";
  variant.gate = options.gate;
  VariantWriter writer(&variant, options.dims);
  switch (options.half) {
    case GpuHalf::FineSvm:
    case GpuHalf::FineSvmChannels:
    case GpuHalf::FineSvmImages:
      variant.sharing = Sharing::FineSvm;
      write_fine_svm(writer, options);
      break;
    case GpuHalf::SubBuffer:
    case GpuHalf::SubBufferImages:
      variant.sharing = Sharing::SubBuffer;
      write_sub_buffer(writer, options);
      break;
    case GpuHalf::Separate:
    case GpuHalf::SeparateImages:
    case GpuHalf::SeparateChannels:
      variant.sharing = Sharing::Separate;
      write_separate(writer, options);
      break;
  }
  plan.variants = {variant, cpu_variant(options.dims)};
  name_kernels(plan);
  return plan;
}

void add_reshapes_in_place(TestPlan& plan) {
  TestVariant& variant = plan.variants[0];
  const auto first = static_cast<uint32_t>(variant.tensors.size());
  const uint64_t place = (variant.device_bytes + 1023) / 1024 * 1024;
  variant.device_bytes = place + 1024;
  for (const std::vector<int32_t>& dims : {std::vector<int32_t>{64}, {4, 16}, {16, 4}})
    variant.tensors.push_back({.name = "plain",
                               .storage = Storage::Device,
                               .dims = dims,
                               .offset_bytes = place,
                               .bytes = 64 * sizeof(float)});
  for (const uint32_t input : {first, first + 1}) {
    TestStep step;
    step.queue = Queue::Gpu;
    step.kernel = kernel_id("reshape_f32_cl_buffer");
    step.operands = {input, input + 1};
    step.name = "reshape";
    variant.steps.push_back(step);
  }
  name_kernels(plan);
}

TestPlan relu_cpu_plan(const std::vector<int32_t>& dims, uint32_t cpu_threads) {
  TestPlan plan = empty_plan(dims, cpu_threads);
  plan.variants = {cpu_variant(dims)};
  name_kernels(plan);
  return plan;
}

}  // namespace codl::test
