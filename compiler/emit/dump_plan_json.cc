#include "compiler/emit/dump_plan_json.h"

#include <cmath>
#include <cstring>

#include "compiler/emit/step_facts.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "schema/verify_plan.h"

namespace codl::compiler {

namespace {

class JsonDump {
 public:
  explicit JsonDump(const plan::PlanDef& plan) : plan_(plan) {}

  std::string run(const PlanHead& head) {
    json_.object([&] {
      json_.attribute("format_version", int64_t{head.version});
      json_.attribute("file_bytes", static_cast<int64_t>(head.file_bytes));
      json_.attribute("table_bytes", static_cast<int64_t>(head.table_bytes));
      json_.attribute("data_bytes", static_cast<int64_t>(head.data_bytes));
      text("device", plan_.device());
      text("codlc_version", plan_.codlc_version());
      text("model_hash", plan_.model_hash());
      text("profile_hash", plan_.profile_hash());
      json_.attribute("cpu_threads", int64_t{plan_.cpu_threads()});
      array("inputs", plan_.inputs(), [&](const plan::IoDef& io) { this->io(io); });
      array("outputs", plan_.outputs(), [&](const plan::IoDef& io) { this->io(io); });
      json_.attribute("visible_outputs", int64_t{visible_output_count(plan_)});
      json_.attributeArray("extents", [&] {
        if (plan_.extents() == nullptr) return;
        for (const plan::ExtentDef* extent : *plan_.extents())
          json_.object([&] {
            json_.attribute("output", int64_t{extent->output()});
            json_.attribute("dim", int64_t{extent->dim()});
            json_.attribute("count_output", int64_t{extent->count_output()});
          });
      });
      array("blobs", plan_.blobs(), [&](const plan::BlobDef& blob) {
        text("name", blob.name());
        json_.attribute("offset_bytes", static_cast<int64_t>(blob.offset_bytes()));
        json_.attribute("bytes", static_cast<int64_t>(blob.bytes()));
      });
      array("kernels", plan_.kernels(), [&](const plan::KernelUse& use) {
        json_.attribute("id", int64_t{use.id()});
        json_.attribute("revision", int64_t{use.revision()});
        json_.attribute("symbol", find_kernel(use.id())->symbol);
      });
      array("variants", plan_.variants(),
            [&](const plan::VariantDef& variant) { this->variant(variant); });
    });
    return os_.str() + "\n";
  }

 private:
  // An array of objects; `members` writes those of one.
  template <typename T, typename Members>
  void array(llvm::StringRef key, const flatbuffers::Vector<flatbuffers::Offset<T>>* items,
             Members members) {
    json_.attributeArray(key, [&] {
      for (const T* item : *items) json_.object([&] { members(*item); });
    });
  }

  template <typename T>
  void numbers(llvm::StringRef key, const flatbuffers::Vector<T>& items) {
    json_.attributeArray(key, [&] {
      for (T item : items) json_.value(int64_t{item});
    });
  }

  void range(llvm::StringRef key, Range range) {
    json_.attributeArray(key, [&] {
      json_.value(range.begin);
      json_.value(range.end);
    });
  }

  void text(llvm::StringRef key, const flatbuffers::String* text) {
    json_.attribute(key, text != nullptr ? llvm::json::fixUTF8(text->str()) : std::string());
  }

  void micros(llvm::StringRef key, float latency_us) {
    json_.attributeBegin(key);
    json_.rawValue(llvm::formatv("{0:f3}", latency_us).str());
    json_.attributeEnd();
  }

  void io(const plan::IoDef& io) {
    text("name", io.name());
    json_.attribute("dtype", dtype_name(static_cast<DType>(io.dtype())));
    numbers("dims", *io.dims());
    json_.attribute("bytes", static_cast<int64_t>(io.bytes()));
  }

  void variant(const plan::VariantDef& variant) {
    text("name", variant.name());
    json_.attribute("sharing", name_of(sharing_of(variant)));
    json_.attribute("gate", name_of(gate_of(variant)));
    json_.attribute("host_bytes", static_cast<int64_t>(variant.host_bytes()));
    json_.attribute("shared_bytes", static_cast<int64_t>(variant.shared_bytes()));
    json_.attribute("device_bytes", static_cast<int64_t>(variant.device_bytes()));
    micros("predicted_us", variant.predicted_us());
    const ConvolutionShare share = convolution_share(variant);
    json_.attributeObject("convolution_macs", [&] {
      json_.attribute("cpu", std::llround(share.cpu_macs));
      json_.attribute("gpu", std::llround(share.gpu_macs));
    });
    array("images", variant.images(), [&](const plan::ImageDef& image) {
      json_.attribute("width", int64_t{image.width()});
      json_.attribute("height", int64_t{image.height()});
      json_.attribute("dtype", dtype_name(static_cast<DType>(image.dtype())));
    });
    array("tensors", variant.tensors(),
          [&](const plan::TensorDef& tensor) { this->tensor(tensor); });
    int64_t index = 0;
    array("steps", variant.steps(), [&](const plan::StepDef& step) {
      json_.attribute("index", index++);
      this->step(variant, step);
    });
  }

  void tensor(const plan::TensorDef& tensor) {
    text("name", tensor.name());
    json_.attribute("dtype", dtype_name(static_cast<DType>(tensor.dtype())));
    json_.attribute("layout", name_of(static_cast<Layout>(tensor.layout())));
    numbers("dims", *tensor.dims());
    range("rows", {tensor.row_begin(), tensor.row_end()});
    json_.attribute("storage", name_of(storage_of(tensor)));
    json_.attribute("index", int64_t{tensor.index()});
    json_.attribute("offset_bytes", static_cast<int64_t>(tensor.offset_bytes()));
    json_.attribute("bytes", static_cast<int64_t>(tensor.bytes()));
  }

  void step(const plan::VariantDef& variant, const plan::StepDef& step) {
    const StepFacts facts = step_facts(variant, step);
    json_.attribute("lane", name_of(lane_of(step)));
    json_.attribute("kind", name_of(kind_of(step)));
    text("name", step.name());
    if (facts.kernel != nullptr) {
      json_.attribute("kernel", facts.kernel->symbol);
      json_.attribute("is_reference", facts.kernel->is_reference());
      json_.attribute("op", llvm::StringRef(op_row(facts.kernel->op).name.data(),
                                            op_row(facts.kernel->op).name.size()));
      params(facts.kernel->op, step);
      json_.attribute("macs", std::llround(facts.macs));
      json_.attribute("owned_macs", std::llround(facts.owned_macs));
    }
    json_.attributeObject("part", [&] {
      json_.attribute("dim", name_of(facts.dim));
      range("range", facts.part);
      range("owned", facts.owned);
      json_.attribute("extent", facts.extent);
    });
    numbers("operands", *step.operands());
    numbers("tile", *step.tile());
    if (kind_of(step) == StepKind::Map) json_.attribute("map_access", name_of(map_access_of(step)));
    numbers("waits", *step.waits());
    micros("predicted_us", step.predicted_us());
  }

  void params(OpKind op, const plan::StepDef& step) {
    json_.attributeObject("params", [&] {
      for (const OpParamField& field : kOpParamFields) {
        if (field.op != op) continue;
        const llvm::StringRef name(field.name.data(), field.name.size());
        const uint8_t* bytes = step.params()->data() + field.offset_bytes;
        if (field.is_float) {
          float value;
          std::memcpy(&value, bytes, sizeof(value));
          real(name, value);
        } else {
          int32_t value;
          std::memcpy(&value, bytes, sizeof(value));
          json_.attribute(name, value);
        }
      }
    });
  }

  // 9 digits give a float back; JSON has no infinities (the ends of an open Clip) and no NaN.
  void real(llvm::StringRef key, float value) {
    json_.attributeBegin(key);
    if (std::isfinite(value))
      json_.rawValue([&](llvm::raw_ostream& os) { os << llvm::format("%.9g", value); });
    else
      json_.value(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    json_.attributeEnd();
  }

  const plan::PlanDef& plan_;
  std::string text_;
  llvm::raw_string_ostream os_{text_};
  llvm::json::OStream json_{os_};
};

}  // namespace

std::string plan_as_json(const plan::PlanDef& plan, const PlanHead& head) {
  return JsonDump(plan).run(head);
}

}  // namespace codl::compiler
