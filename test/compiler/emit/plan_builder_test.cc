#include "compiler/emit/plan_builder.h"

#include <algorithm>
#include <cstring>

#include "compiler/emit/dump_plan.h"
#include "compiler/memory/memory_plan.h"
#include "compiler/partition/partition.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "kernels/pack.h"
#include "nlohmann/json.hpp"
#include "schema/plan_fields.h"
#include "schema/plan_layout.h"
#include "schema/verify_plan.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

using test::value_of;

// Has two 3x3 convolutions, one after the other, with a co-execution and a CPU variant.
struct Example {
  ir::Graph graph;
  std::vector<Schedule> schedules;
  PlanInfo info{"box", "00000000000000aa", "00000000000000bb", 3, {10000, 8521, 8521}};

  explicit Example(SplitDim dim = SplitDim::Height, Sharing sharing = Sharing::FineSvm,
                   Layout layout = Layout::Nhwc) {
    test::GraphBuilder builder(16, 16, 16);
    graph = builder.finish(builder.conv("b", builder.conv("a", builder.input(), 32), 32));
    const DeviceProfile profile = test::test_profile(sharing, layout);
    PartitionOptions forced;
    forced.split_dim = dim;
    forced.ratio = 0.5;
    PartitionOptions cpu;
    cpu.strategy = "cpu";
    add(profile, forced, "coexec");
    add(profile, cpu, "cpu");
  }

  void add(const DeviceProfile& profile, const PartitionOptions& options, llvm::StringRef name) {
    const PartitionPlan plan = value_of(partition(graph, LatencyPredictor(profile), options));
    schedules.push_back(value_of(make_schedule(graph, plan, LatencyPredictor(profile), name)));
    CHECK(llvm::toString(plan_memory(schedules.back(), profile)) == "");
  }

  EntryToEmit entry(const std::string& entry_name = "") { return {entry_name, &graph, schedules}; }

  llvm::Expected<LargeBytes> build() const {
    ir::Graph copy = graph;  // its constants are freed
    const EntryToEmit built = {"", &copy, schedules};
    CODL_ASSIGN_OR_RETURN(weights, pack_weights(built));
    return build_plan(built, weights, info);
  }
};

PlanHead head_of(const LargeBytes& file) {
  PlanHead head;
  std::memcpy(&head, file.data(), sizeof(head));
  return head;
}

TEST_CASE("the head describes the file") {
  const LargeBytes file = value_of(Example().build());
  const PlanHead head = head_of(file);
  CHECK(std::memcmp(head.magic, "CODL", 4) == 0);
  CHECK(head.version == kPlanVersion);
  CHECK(head.file_bytes == file.size());
  CHECK(head.table_offset == 64);
  CHECK(head.data_offset % kDataAlignment == 0);
  CHECK(head.data_offset + head.data_bytes == file.size());
  CHECK(head.checksum == plan_checksum(file.data(), file.size()));
}

TEST_CASE("constants with equal bytes are one blob") {
  // The convolutions have equal weights, all zeros, and equal biases.
  test::GraphBuilder builder(16, 16, 16);
  Example twice;
  twice.schedules.clear();
  twice.graph = builder.finish(builder.conv("b", builder.conv("a", builder.input(), 16), 16));
  PartitionOptions cpu;
  cpu.strategy = "cpu";
  twice.add(test::test_profile(Sharing::FineSvm, Layout::Nhwc), cpu, "cpu");
  const auto equal = value_of(pack_weights(twice.entry()));
  for (ir::ValueId id = 0; id < twice.graph.values().size(); ++id) {
    ir::Value& value = twice.graph.value(id);
    if (!value.is_constant || value.name.find("b_") != 0) continue;
    std::vector<uint8_t> other(value.bytes.begin(), value.bytes.end());
    other[0] ^= 1;
    value.bytes = std::move(other);
  }
  const auto distinct = value_of(pack_weights(twice.entry()));
  CHECK(distinct.blobs.size() == 2 * equal.blobs.size());
  CHECK(distinct.data_bytes == 2 * equal.data_bytes);
  CHECK(test::error_of(twice.build()) == "");
}

TEST_CASE("every sharing kind, layout and split gives a plan that verifies") {
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const auto dim = GENERATE(SplitDim::Height, SplitDim::OutputChannel);
  CHECK(test::error_of(Example(dim, sharing, layout).build()) == "");
}

TEST_CASE("equal input gives equal bytes") {
  CHECK(value_of(Example().build()) == value_of(Example().build()));
}

TEST_CASE("the table holds what it was made from") {
  const Example example;
  const LargeBytes file = value_of(example.build());
  const plan::PlanDef& plan = *flatbuffers::GetRoot<plan::PlanDef>(file.data() + kTableOffset);
  CHECK(plan.device()->str() == "box");
  CHECK(plan.model_hash()->str() == "00000000000000aa");
  CHECK(plan.profile_hash()->str() == "00000000000000bb");
  CHECK(plan.cpu_threads() == 3);
  REQUIRE(plan.worker_speeds() != nullptr);
  CHECK(plan.worker_speeds()->size() == 3);
  CHECK(plan.worker_speeds()->Get(2) == 8521);
  const plan::EntryDef& entry = first_entry_of(plan);
  CHECK(entry.name()->size() == 0);
  CHECK(entry.inputs()->Get(0)->name()->str() == "x");
  CHECK(entry.inputs()->Get(0)->bytes() == 16 * 16 * 16 * 4);
  CHECK(entry.outputs()->Get(0)->name()->str() == "y");
  // Convert and Conv2d on either queue, in ascending order; a GPU that shares SVM needs no Convert.
  REQUIRE(plan.kernels()->size() == 3);
  CHECK(plan.kernels()->Get(0)->id() == 1);
  CHECK(plan.kernels()->Get(1)->id() == 2);
  CHECK(plan.kernels()->Get(2)->id() == 25);
  REQUIRE(entry.variants()->size() == 2);
  CHECK(sharing_of(*entry.variants()->Get(0)) == Sharing::FineSvm);
  CHECK(sharing_of(*entry.variants()->Get(1)) == Sharing::None);
  for (uint32_t v = 0; v < 2; ++v) {
    const plan::VariantDef& variant = *entry.variants()->Get(v);
    REQUIRE(variant.steps()->size() == example.schedules[v].steps.size());
    for (uint32_t i = 0; i < variant.steps()->size(); ++i) {
      const plan::StepDef& stored = *variant.steps()->Get(i);
      const Step& step = example.schedules[v].steps[i];
      CHECK(stored.name()->str() == step.name);
      CHECK(queue_of(stored) == step.queue);
      CHECK(stored.kernel() == step.kernel->id);
      CHECK(Range{stored.part_begin(), stored.part_end()} == step.part);
      CHECK(Range{stored.owned_begin(), stored.owned_end()} == step.owned);
      REQUIRE(stored.params()->size() == step.params.size() * 4);
      if (!step.params.empty())
        CHECK(std::memcmp(stored.params()->data(), step.params.data(), step.params.size() * 4) ==
              0);
    }
  }
}

TEST_CASE("a constant is packed once for all parts, queues and variants") {
  Example example;
  const PackedWeights weights = value_of(pack_weights(example.entry()));
  // The blobs are two convolutions' weights and their common bias of 32 zeros.
  CHECK(weights.blobs.size() == 3);
  CHECK(weights.data_bytes % kBlobAlignment == 0);
  for (uint64_t offset : weights.offsets) CHECK(offset % kBlobAlignment == 0);
}

TEST_CASE("entries share blobs with equal bytes, whatever their graphs call them") {
  Example first, second;
  for (ir::ValueId id = 0; id < second.graph.values().size(); ++id)
    second.graph.value(id).name += "_2";
  // Dims that no other entry has.
  second.graph.value(second.graph.inputs()[0]).type.dims[2] += 1;
  const std::vector<EntryToEmit> entries = {first.entry("one"), second.entry("two")};
  PackedWeights weights = value_of(pack_weights(entries));
  CHECK(weights.blobs.size() == 3);
  for (const Blob& blob : second.schedules[0].blobs)
    CHECK(weights.find(1, blob) == weights.find(0, blob));

  // One other byte is a blob of its own.
  for (const Blob& blob : first.schedules[0].blobs) {
    ir::Value& value = second.graph.value(blob.value);
    if (value.name != "a_w_2") continue;
    std::vector<uint8_t> other(value.bytes.begin(), value.bytes.end());
    other[0] ^= 1;
    value.bytes = std::move(other);
  }
  weights = value_of(pack_weights(entries));
  CHECK(weights.blobs.size() == 4);
  CHECK(weights.blobs.back().entry == 1);
  LargeBytes file;
  append_weights(entries, weights, file);
  CHECK(file.size() == weights.data_bytes);
  CHECK(file.data()[weights.offsets.back()] == 1);
}

TEST_CASE("weights lie packed where the plan says") {
  Example example;
  // Gives element i of the weights of "a", [32, 16, 3, 3], the value i.
  ir::ValueId weight = ir::kNoId;
  for (ir::ValueId id = 0; id < example.graph.values().size(); ++id)
    if (example.graph.value(id).name == "a_w") weight = id;
  ir::Value& value = example.graph.value(weight);
  std::vector<float> elements(value.bytes.size() / 4);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
  value.bytes = bytes_of(llvm::ArrayRef(elements));

  const LargeBytes file = value_of(example.build());
  const plan::PlanDef& plan = *flatbuffers::GetRoot<plan::PlanDef>(file.data() + kTableOffset);
  const plan::BlobDef* blob = nullptr;
  for (const plan::BlobDef* each : *plan.blobs())
    if (each->name()->str() == "a_w") blob = each;
  REQUIRE(blob != nullptr);
  std::vector<float> packed(blob->bytes() / 4);
  kernels::pack({PackingKind::ConvPanels}, value.type.dims.data(), 4, 1, elements.data(),
                packed.data());
  CHECK(std::memcmp(file.data() + head_of(file).data_offset + blob->offset_bytes(), packed.data(),
                    blob->bytes()) == 0);
}

TEST_CASE("a constant may be stored as halves, packed or in ONNX's order") {
  Example example;
  const auto id = static_cast<ir::ValueId>(example.graph.values().size());
  const std::vector<float> elements = {1, -0.5f, 65504, 0x1p-24f, 1 + 0x1p-11f, 1 + 0x1.8p-10f};
  example.graph.add_constant("c", {DType::F32, {3, 2}}, bytes_of(llvm::ArrayRef(elements)));
  std::vector<Schedule> schedules(1);
  schedules[0].blobs = {{id, {PackingKind::None, DType::F32}, 1, 24},
                        {id, {PackingKind::None, DType::F16}, 1, 12},
                        {id, {PackingKind::MatMulPanels, DType::F16}, 1, 3 * 16 * 2}};
  const EntryToEmit entry = {"", &example.graph, schedules};
  const PackedWeights weights = value_of(pack_weights(entry));
  REQUIRE(weights.blobs.size() == 3);
  LargeBytes file;
  append_weights(entry, weights, file);
  const auto halves_at = [&](size_t blob, size_t i) {
    const auto* at = reinterpret_cast<const uint16_t*>(file.data() + weights.offsets[blob]) + i;
    return std::vector<uint16_t>(at, at + 2);
  };
  // The last row is rounded to the nearest halves, the even one of two.
  CHECK(halves_at(1, 0) == std::vector<uint16_t>{0x3c00, 0xb800});
  CHECK(halves_at(1, 2) == std::vector<uint16_t>{0x7bff, 0x0001});
  CHECK(halves_at(1, 4) == std::vector<uint16_t>{0x3c00, 0x3c02});
  for (size_t row = 0; row < 3; ++row) CHECK(halves_at(2, 16 * row) == halves_at(1, 2 * row));
}

TEST_CASE("a blob of another size than its packing is an internal error") {
  Example example;
  example.schedules[0].blobs[0].bytes += 4;
  CHECK(test::error_of(pack_weights(example.entry()))
            .find("pack_weights: expected a_w of 18432 bytes, found 18436") == 0);
}

TEST_CASE("a plan that verify_plan refuses is an internal error that names the fault") {
  Example example;
  example.schedules[0].steps[1].waits = {5};
  CHECK(test::error_of(example.build())
            .find("build_plan: step 1 of variant 0: expected waits for "
                  "earlier steps, found 5") == 0);
}

// ---- dumps --------------------------------------------------------------------------------------

nlohmann::json json_of(const LargeBytes& file) {
  return nlohmann::json::parse(value_of(dump_plan_json(file.data(), file.size(), "x.codl")));
}

TEST_CASE("the JSON shows how each convolution is divided, halo and all") {
  const nlohmann::json plan = json_of(value_of(Example().build()));
  const nlohmann::json& variant = plan["variants"][0];
  // The chain is split along the height: each queue owns 8 of 16 rows and, in "a", computes one
  // more for "b".
  std::vector<std::string> parts;
  double owned_macs = 0;
  for (const nlohmann::json& step : variant["steps"]) {
    if (step["kind"] != "kernel" || step["op"] != "Conv2d") continue;
    parts.push_back(step["queue"].get<std::string>() + " " + step["name"].get<std::string>() + " " +
                    step["part"].dump());
    owned_macs += step["owned_macs"].get<double>();
    CHECK(step["params"]["stride_h"] == 1);
  }
  std::sort(parts.begin(), parts.end());
  CHECK(parts == std::vector<std::string>{
                     R"(cpu a {"dim":"height","extent":16,"owned":[8,16],"range":[7,16]})",
                     R"(cpu b {"dim":"height","extent":16,"owned":[8,16],"range":[8,16]})",
                     R"(gpu a {"dim":"height","extent":16,"owned":[0,8],"range":[0,9]})",
                     R"(gpu b {"dim":"height","extent":16,"owned":[0,8],"range":[0,8]})"});
  // There are 16 x 16 pixels x 9 taps x (16 x 32 + 32 x 32) channels.
  CHECK(owned_macs == 16 * 16 * 9 * (16 * 32 + 32 * 32));
  CHECK(variant["convolution_macs"]["cpu"] == variant["convolution_macs"]["gpu"]);
  CHECK(plan["variants"][1]["convolution_macs"]["gpu"] == 0);
}

TEST_CASE("workers that are all alike have no speeds in the file") {
  Example example;
  CHECK(json_of(value_of(example.build()))["worker_speeds"].dump() == "[1,0.8521,0.8521]");
  example.info.worker_speeds.clear();
  const LargeBytes file = value_of(example.build());
  CHECK(flatbuffers::GetRoot<plan::PlanDef>(file.data() + kTableOffset)->worker_speeds() ==
        nullptr);
  CHECK(json_of(file)["worker_speeds"].empty());
  CHECK(value_of(dump_plan_text(file.data(), file.size(), "x")).find("cpu_threads=3\n") !=
        std::string::npos);
}

TEST_CASE("in the JSON a chain's inner value is private to each queue") {
  const nlohmann::json plan = json_of(value_of(Example().build()));
  std::vector<std::string> places;
  for (const nlohmann::json& tensor : plan["variants"][0]["tensors"])
    if (tensor["name"] == "a_out")
      places.push_back(tensor["storage"].get<std::string>() + tensor["rows"].dump());
  std::sort(places.begin(), places.end());
  CHECK(places == std::vector<std::string>{"device[0,9]", "host[7,16]"});
}

TEST_CASE("the text has a line for each step") {
  const LargeBytes file = value_of(Example().build());
  const std::string text = value_of(dump_plan_text(file.data(), file.size(), "x.codl"));
  CHECK(text.find("for box, cpu_threads=3 worker_speeds=1.0000,0.8521,0.8521\n") !=
        std::string::npos);
  CHECK(text.find("input x f32[1,16,16,16]\n") != std::string::npos);
  CHECK(text.find("multiply-adds of convolutions: cpu 50.0 %, gpu 50.0 %\n") != std::string::npos);
  CHECK(text.find("gpu conv2d_f32_cl_buffer a rows[0,9) of 16 owns[0,8) in=t") !=
        std::string::npos);
}

TEST_CASE("bytes that are no plan are an input error with the file's name") {
  LargeBytes file = value_of(Example().build());
  file.back() ^= 1;
  CHECK(test::error_of(dump_plan_text(file.data(), file.size(), "x.codl"))
            .find("x.codl: head: expected checksum of the file's bytes, found ") == 0);
  file.resize(100);
  CHECK(test::error_of(dump_plan_json(file.data(), file.size(), "x.codl")).find("x.codl: ") == 0);
}

}  // namespace
}  // namespace codl::compiler
