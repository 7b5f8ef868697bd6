// Makes plans for tests by hand: structs go in, file bytes come out. Nothing here checks anything,
// so a test can write a wrong plan as easily as a right one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schema/plan_fields.h"
#include "schema/plan_layout.h"
#include "schema/tables.h"

namespace codl::test {

struct TestTensor {
  std::string name;
  Storage storage = Storage::Host;
  std::vector<int32_t> dims;
  Layout layout = Layout::Plain;
  int32_t row_begin = 0;
  int32_t row_end = 0;
  uint32_t index = 0;
  uint64_t offset_bytes = 0;
  uint64_t bytes = 0;
  DType dtype = DType::F32;
  int32_t pixel_stride = 0;
  int32_t first_channel = 0;
  std::vector<float> scales = {};         // empty: the vector is absent
  std::vector<int32_t> zero_points = {};  // likewise
  int32_t scale_dim = 0;
};

struct TestStep {
  StepKind kind = StepKind::Kernel;
  Queue queue = Queue::Cpu;
  uint16_t kernel = 0;
  std::vector<uint8_t> params;
  std::vector<uint32_t> operands;
  std::vector<uint32_t> waits;
  SplitDim part_dim = SplitDim::None;
  Range part;
  Range owned;
  std::vector<int32_t> tile;
  MapAccess map_access = MapAccess::Read;
  float predicted_us = 1;
  std::string name;
  std::vector<uint8_t> wait_kinds;  // empty: the vector is absent
};

struct TestImage {
  uint32_t width = 0;
  uint32_t height = 0;
  DType dtype = DType::F32;
};

struct TestVariant {
  std::string name = "cpu";
  Sharing sharing = Sharing::None;
  Gate gate = Gate::HostEnqueue;
  uint64_t host_bytes = 0;
  uint64_t shared_bytes = 0;
  uint64_t device_bytes = 0;
  std::vector<TestImage> images;
  std::vector<TestTensor> tensors;
  std::vector<TestStep> steps;
  float predicted_us = 0;
  float max_ahead_us = 0;
  std::vector<uint16_t> needs;
  bool is_recorded = false;
};

struct TestBlob {
  std::string name;
  uint64_t offset_bytes = 0;
  uint64_t bytes = 0;
};

struct TestIo {
  std::string name;
  std::vector<int32_t> dims;
  uint64_t bytes = 0;
  DType dtype = DType::F32;
};

struct TestExtent {
  uint32_t output = 0;
  int32_t dim = 0;
  uint32_t count_output = 0;
};

struct TestState {
  uint32_t input = 0;
  uint32_t output = 0;
};

struct TestKernelUse {
  uint16_t id = 0;
  uint16_t revision = 0;
};

struct TestPlan {
  std::string device = "test";
  uint32_t cpu_threads = 1;
  std::vector<TestIo> inputs;
  std::vector<TestIo> outputs;
  std::vector<TestBlob> blobs;
  std::vector<TestKernelUse> kernels;
  std::vector<TestVariant> variants;
  std::vector<uint8_t> data;  // the data section
  uint32_t visible_outputs = 0;
  std::vector<TestExtent> extents;      // empty: the vector is absent
  std::vector<TestState> states;        // likewise; each variant's needs have to say so
  std::vector<uint16_t> worker_speeds;  // likewise
  uint32_t entry_count = 1;             // how often the network is in the plan
  std::string entry_name;
  std::vector<TestPlan> others;  // further entries: of each only what an entry has counts
};

// Returns the bytes of a Params struct.
template <typename Params>
std::vector<uint8_t> params_bytes(const Params& params) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&params);
  return {begin, begin + sizeof(Params)};
}

// Appends `values` to plan.data as a new blob, at a multiple of kBlobAlignment; returns its number.
uint32_t add_blob(TestPlan& plan, const std::string& name, std::span<const float> values);

// Names in plan.kernels every kernel that a step of any entry uses, with the revision of this
// build.
void name_kernels(TestPlan& plan);

// Returns a whole file with a right head and checksum, from a plan, or from a finished FlatBuffer
// and a data section.
std::vector<uint8_t> to_bytes(const TestPlan& plan);
std::vector<uint8_t> to_bytes(std::span<const uint8_t> table, std::span<const uint8_t> data);

PlanHead read_head(std::span<const uint8_t> file);
void write_head(std::span<uint8_t> file, const PlanHead& head);

// Corrects the checksum after a test has changed bytes.
void update_checksum(std::span<uint8_t> file);

}  // namespace codl::test
