#include "compiler/emit/dump_plan_json.h"

#include <cmath>

#include "compiler/emit/step_facts.h"
#include "kernels/common/contract/tasks.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/bit.h"
#include "tools/json_writer.h"

namespace codl::compiler {

namespace {

class JsonDump {
 public:
  explicit JsonDump(const PlanModel& plan) : plan_(plan) {}

  std::string run(const PlanHead& head) {
    json_.object([&] {
      json_.key("format_version").integer(head.version);
      number("file_bytes", head.file_bytes);
      number("table_bytes", head.table_bytes);
      number("data_bytes", head.data_bytes);
      text("device", plan_.info.device);
      text("codlc_version", plan_.codlc_version);
      text("model_hash", plan_.info.model_hash);
      text("profile_hash", plan_.info.profile_hash);
      number("cpu_threads", plan_.info.cpu_threads);
      json_.key("worker_speeds").array([&] {
        for (uint16_t speed : plan_.info.worker_speeds)
          json_.number(double{1} * speed / kFullSpeed);
      });
      const bool is_only = plan_.entries.size() == 1;
      if (is_only) ios(plan_.entries.front());
      array("blobs", plan_.blobs, [&](const PlanBlob& blob) {
        text("name", blob.name);
        number("offset_bytes", blob.offset_bytes);
        number("bytes", blob.bytes);
      });
      array("kernels", plan_.kernels, [&](const KernelInfo* kernel) {
        number("id", kernel->id);
        number("revision", kernel->revision);
        json_.key("symbol").string(kernel->symbol);
      });
      if (is_only)
        variants(plan_.entries.front());
      else
        array("entries", plan_.entries, [&](const PlanEntry& entry) {
          text("name", entry.name);
          ios(entry);
          variants(entry);
        });
    });
    return json_.text() + "\n";
  }

 private:
  void number(llvm::StringRef key, uint64_t value) {
    json_.key(key).integer(static_cast<int64_t>(value));
  }

  // Writes an array of objects; `members` writes the members of one.
  template <typename T, typename Members>
  void array(llvm::StringRef key, const std::vector<T>& items, Members members) {
    json_.key(key).array([&] {
      for (const T& item : items) json_.object([&] { members(item); });
    });
  }

  template <typename T>
  void numbers(llvm::StringRef key, llvm::ArrayRef<T> items) {
    json_.key(key).array([&] {
      for (T item : items) json_.integer(item);
    });
  }

  void range(llvm::StringRef key, Range range) {
    json_.key(key).array([&] {
      json_.integer(range.begin);
      json_.integer(range.end);
    });
  }

  void text(llvm::StringRef key, const std::string& text) { json_.key(key).string(text); }

  void micros(llvm::StringRef key, double latency_us) {
    json_.key(key).number(std::round(latency_us * 1e3) / 1e3);
  }

  void ios(const PlanEntry& entry) {
    array("inputs", entry.inputs, [&](const PlanIo& one) { io(one); });
    array("outputs", entry.outputs, [&](const PlanIo& one) { io(one); });
    number("visible_outputs", entry.visible_outputs);
    array("extents", entry.extents, [&](const OutputExtent& extent) {
      number("output", extent.output);
      json_.key("dim").integer(extent.dim);
      number("count_output", extent.count_output);
    });
    array("states", entry.states, [&](const KeptState& state) {
      number("input", state.input);
      number("output", state.output);
    });
  }

  void variants(const PlanEntry& entry) {
    array("variants", entry.variants, [&](const Variant& one) { variant(one); });
  }

  void io(const PlanIo& io) {
    text("name", io.name);
    json_.key("dtype").string(dtype_name(io.dtype));
    numbers<int32_t>("dims", io.dims);
    number("bytes", io.bytes);
  }

  void variant(const Variant& variant) {
    text("name", variant.name);
    json_.key("sharing").string(name_of(variant.sharing));
    json_.key("gate").string(name_of(variant.gate));
    number("host_bytes", variant.host_bytes);
    number("shared_bytes", variant.shared_bytes);
    number("device_bytes", variant.device_bytes);
    micros("predicted_us", variant.predicted_us);
    if (variant.max_ahead_us > 0) micros("max_ahead_us", variant.max_ahead_us);
    if (variant.is_recorded) json_.key("is_recorded").boolean(true);
    const ConvolutionShare share = convolution_share(variant);
    json_.key("convolution_macs").object([&] {
      json_.key("cpu").integer(std::llround(share.cpu_macs));
      json_.key("gpu").integer(std::llround(share.gpu_macs));
    });
    array("images", variant.images, [&](const ImageSlot& image) {
      number("width", image.width);
      number("height", image.height);
      json_.key("dtype").string(dtype_name(image.dtype));
    });
    array("tensors", variant.tensors, [&](const Tensor& one) { tensor(one); });
    uint64_t index = 0;
    array("steps", variant.steps, [&](const Step& one) {
      number("index", index++);
      step(variant, one);
    });
  }

  void tensor(const Tensor& tensor) {
    const kernels::OperandShape& shape = tensor.shape;
    text("name", tensor.name);
    json_.key("dtype").string(dtype_name(shape.dtype));
    json_.key("layout").string(name_of(shape.layout));
    numbers<int32_t>("dims", {shape.dims, static_cast<size_t>(shape.rank)});
    range("rows", {shape.row_begin, shape.row_end});
    json_.key("storage").string(name_of(tensor.storage));
    number("index", tensor.index);
    number("offset_bytes", tensor.offset_bytes);
    number("bytes", shape.bytes);
    number("pixel_stride", static_cast<uint64_t>(shape.pixel_stride));
    number("first_channel", static_cast<uint64_t>(shape.first_channel));
    if (!kernels::is_quantised(shape)) return;
    json_.key("scale").number(double{shape.scale});
    json_.key("zero_point").number(double(shape.zero_point));
  }

  void step(const Variant& variant, const Step& step) {
    const StepFacts facts = step_facts(variant, step);
    json_.key("queue").string(name_of(step.queue));
    json_.key("kind").string(name_of(step.kind));
    text("name", step.name);
    if (step.kernel != nullptr) {
      json_.key("kernel").string(step.kernel->symbol);
      json_.key("is_reference").boolean(step.kernel->is_reference());
      json_.key("is_in_place").boolean(facts.is_in_place);
      json_.key("op").string(llvm::StringRef(op_info(step.kernel->op).name.data(),
                                             op_info(step.kernel->op).name.size()));
      params(step);
      json_.key("macs").integer(std::llround(facts.macs));
      json_.key("owned_macs").integer(std::llround(facts.owned_macs));
    }
    json_.key("part").object([&] {
      json_.key("dim").string(name_of(step.part_dim));
      range("range", step.part);
      range("owned", facts.owned);
      json_.key("extent").integer(facts.extent);
    });
    numbers<TensorId>("operands", step.operands);
    numbers<int32_t>("tile", step.tile);
    if (step.kind == StepKind::Map) json_.key("map_access").string(name_of(step.map_access));
    numbers<StepId>("waits", step.waits);
    if (!step.wait_kinds.empty())
      json_.key("wait_kinds").array([&] {
        for (const WaitKind kind : step.wait_kinds) json_.string(name_of(kind));
      });
    micros("predicted_us", step.predicted_us);
  }

  void params(const Step& step) {
    json_.key("params").object([&] {
      for (const OpParamField& field : kOpParamFields) {
        if (field.op != step.kernel->op) continue;
        const llvm::StringRef name(field.name.data(), field.name.size());
        const uint32_t word = step.params[field.offset_bytes / sizeof(word)];
        if (field.is_float)
          real(name, llvm::bit_cast<float>(word));
        else
          json_.key(name).integer(static_cast<int32_t>(word));
      }
    });
  }

  // JSON has no infinities (the ends of an open Clip) and no NaN.
  void real(llvm::StringRef key, float value) {
    if (std::isfinite(value))
      json_.key(key).number(value);
    else
      json_.key(key).string(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  }

  const PlanModel& plan_;
  tools::JsonWriter json_;
};

}  // namespace

std::string plan_as_json(const PlanModel& plan, const PlanHead& head) {
  return JsonDump(plan).run(head);
}

}  // namespace codl::compiler
