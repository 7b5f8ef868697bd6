#include "runtime/src/plan.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "test/runtime/relu_plan.h"
#include "test/support/catch.h"
#include "test/support/counting_allocator.h"

namespace codl::test {
namespace {

// Keeps a file in the working directory, removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::vector<uint8_t>& bytes) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    REQUIRE(file != nullptr);
    const bool is_written =
        bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    std::fclose(file);
    REQUIRE(is_written);
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
  const std::string path = "plan_test.codl";
};

struct Opened {
  codl_status_t status;
  codl_plan_t* plan = nullptr;
  codl_diag_t diag = {};
  ~Opened() { codl_plan_close(plan); }
};

Opened open_file(const std::string& path) {
  Opened opened;
  opened.status = codl_plan_open_file(path.c_str(), nullptr, &opened.plan, &opened.diag);
  return opened;
}

TEST_CASE("a plan file says what it holds") {
  const TemporaryFile file(to_bytes(relu_plan({})));
  const Opened opened = open_file(file.path);
  REQUIRE(opened.status == CODL_OK);
  CHECK(opened.diag.message == std::string());
  CHECK(codl_plan_device(opened.plan) == std::string("test"));
  REQUIRE(codl_plan_input_count(opened.plan) == 1);
  REQUIRE(codl_plan_output_count(opened.plan) == 1);
  codl_tensor_info_t info;
  REQUIRE(codl_plan_input(opened.plan, 0, &info) == CODL_OK);
  CHECK(info.name == std::string("x"));
  CHECK(info.dtype == CODL_FLOAT32);
  CHECK(info.rank == 4);
  CHECK(info.dims[1] == 37);
  CHECK(info.bytes == 2 * 37 * 9 * 5 * 4);
  CHECK(codl_plan_output(opened.plan, 1, &info) == CODL_INVALID_ARGUMENT);
  REQUIRE(codl_plan_variant_count(opened.plan) == 2);
  codl_variant_info_t variant;
  REQUIRE(codl_plan_variant(opened.plan, 0, &variant) == CODL_OK);
  CHECK(variant.name == std::string("coexec"));
  CHECK(variant.needs_gpu == 1);
  CHECK(variant.step_count == 4);
  REQUIRE(codl_plan_variant(opened.plan, 1, &variant) == CODL_OK);
  CHECK(variant.needs_gpu == 0);
}

TEST_CASE("a file that cannot be a plan is refused with its name") {
  CHECK(open_file("no/such/plan.codl").status == CODL_NOT_FOUND);
  CHECK(open_file(".").status == CODL_IO_ERROR);
  const TemporaryFile empty({});
  const Opened opened = open_file(empty.path);
  CHECK(opened.status == CODL_CORRUPT_PLAN);
  CHECK(opened.plan == nullptr);
  CHECK(opened.diag.message == empty.path + ": expected a plan, found an empty file");
  std::vector<uint8_t> ir_version = {0x08, 8};
  ir_version.resize(64);
  const TemporaryFile model(ir_version);
  const Opened onnx = open_file(model.path);
  CHECK(onnx.status == CODL_CORRUPT_PLAN);
  CHECK(onnx.diag.message ==
        model.path + ": expected a plan, found an ONNX model (codlc makes a plan of it)");
  const auto message_of = [](std::string_view text) {
    const TemporaryFile file({text.begin(), text.end()});
    const Opened other = open_file(file.path);
    CHECK(other.status == CODL_CORRUPT_PLAN);
    return std::string(other.diag.message).substr(file.path.size());
  };
  CHECK(message_of("\n{\"plan\": 1}") == ": expected a plan, found JSON");
  CHECK(message_of("codlc wrote no such file, and it has more bytes than the head of a plan") ==
        ": expected a plan, found a file of another kind");
  CHECK(message_of("CODL") ==
        ": expected 64 bytes of the plan's head, found 4 (the file is cut off)");
}

TEST_CASE("a plan of another size than its head says is refused with both sizes") {
  const std::vector<uint8_t> bytes = to_bytes(relu_cpu_plan({1, 4, 2, 2}, 1));
  const std::string expected =
      "expected " + std::to_string(bytes.size()) + " bytes as the plan's head says, found ";
  const TemporaryFile cut({bytes.begin(), bytes.begin() + 100});
  CHECK(open_file(cut.path).diag.message ==
        cut.path + ": " + expected + "100 (the file is cut off)");
  std::vector<uint8_t> longer = bytes;
  longer.resize(bytes.size() + 8);
  const TemporaryFile file(longer);
  CHECK(open_file(file.path).diag.message ==
        file.path + ": " + expected + std::to_string(longer.size()));
}

TEST_CASE("every truncation of a plan file is refused") {
  const std::vector<uint8_t> bytes = to_bytes(relu_cpu_plan({1, 4, 2, 2}, 1));
  for (size_t size = 0; size < bytes.size(); size += size < 200 ? 1 : 997) {
    const TemporaryFile file({bytes.begin(), bytes.begin() + static_cast<long>(size)});
    CHECK(open_file(file.path).status == CODL_CORRUPT_PLAN);
  }
}

TEST_CASE("a head that names a nonsensical table does not take the file with it") {
  std::vector<uint8_t> bytes = to_bytes(relu_cpu_plan({1, 4, 2, 2}, 1));
  PlanHead head = read_head(bytes);
  head.table_bytes = UINT64_MAX - 10;
  write_head(bytes, head);
  const TemporaryFile file(bytes);
  CHECK(open_file(file.path).status == CODL_CORRUPT_PLAN);
}

TEST_CASE("the structure of an open plan does not follow changes of its file") {
  const std::vector<uint8_t> bytes = to_bytes(relu_cpu_plan({1, 4, 2, 2}, 1));
  const TemporaryFile file(bytes);
  const Opened opened = open_file(file.path);
  REQUIRE(opened.status == CODL_OK);
  std::FILE* changed = std::fopen(file.path.c_str(), "r+b");
  REQUIRE(changed != nullptr);
  const std::vector<uint8_t> noise(4096, 0xff);
  REQUIRE(std::fwrite(noise.data(), 1, noise.size(), changed) == noise.size());
  std::fclose(changed);
  CHECK(codl_plan_device(opened.plan) == std::string("test"));
}

// Rewrites the file between any two reads of it.
struct Rewriter {
  static ssize_t read_at(int file, void* bytes, size_t count, off_t offset) {
    const ssize_t got = pread(file, bytes, count, offset);
    if (++read_count == rewrite_after) {
      std::FILE* target = std::fopen(path.c_str(), "r+b");
      std::fwrite(contents.data(), 1, contents.size(), target);
      std::fclose(target);
    }
    return got;
  }
  static inline std::string path;
  static inline std::vector<uint8_t> contents;
  static inline int read_count = 0;
  static inline int rewrite_after = 0;
};

TEST_CASE("what is verified is what is used, whenever the file changes") {
  // A table beyond the first head's size would lie in the mapping, which follows the file.
  const std::vector<uint8_t> before = to_bytes(relu_cpu_plan({1, 4, 2, 2}, 1));
  std::vector<uint8_t> large_table = before;
  PlanHead head = read_head(before);
  head.table_bytes = before.size() - kTableOffset;
  write_head(large_table, head);
  const std::vector<uint8_t> noise(before.size(), 0xff);
  for (const std::vector<uint8_t>& changed : {large_table, noise}) {
    for (int rewrite_after : {1, 2, 3}) {
      const TemporaryFile file(before);
      Rewriter::path = file.path;
      Rewriter::contents = changed;
      Rewriter::read_count = 0;
      Rewriter::rewrite_after = rewrite_after;
      rt::MappedFile mapped;
      codl_diag_t diag;
      REQUIRE(mapped.open(file.path.c_str(), &diag, Rewriter::read_at) == CODL_OK);
      const auto* bytes = static_cast<const uint8_t*>(mapped.bytes());
      const std::vector<uint8_t> opened(bytes, bytes + mapped.size_bytes());
      CHECK(std::memcmp(opened.data(), before.data(), sizeof(PlanHead)) == 0);
      // The head's facts are private: they stay when the file becomes noise.
      const PlanHead seen = read_head(opened);
      Rewriter::contents = noise;
      Rewriter::read_count = 0;
      Rewriter::rewrite_after = 1;
      char byte = 0;
      const int descriptor = ::open(file.path.c_str(), O_RDONLY);
      (void)Rewriter::read_at(descriptor, &byte, 1, 0);
      close(descriptor);
      CHECK(std::memcmp(bytes, opened.data(), seen.table_offset + seen.table_bytes) == 0);
    }
  }
}

TEST_CASE("a plan opens inside another file, mapped or copied") {
  TestPlan test_plan = relu_cpu_plan({1, 4, 2, 2}, 1);
  const float weights[] = {1, 2, 3};
  add_blob(test_plan, "w", weights);
  const std::vector<uint8_t> plan = to_bytes(test_plan);
  for (const size_t offset : {size_t{0}, size_t{4}, size_t{65536}, size_t{65540}})
    for (const bool is_open_ended : {false, true}) {
      INFO("offset " << offset << ", up to the end " << is_open_ended);
      std::vector<uint8_t> bytes(offset, 0xff);
      bytes.insert(bytes.end(), plan.begin(), plan.end());
      if (!is_open_ended) bytes.insert(bytes.end(), 100, 0xff);
      const TemporaryFile file(bytes);
      const int descriptor = ::open(file.path.c_str(), O_RDONLY);
      REQUIRE(descriptor >= 0);
      Opened opened;
      opened.status =
          codl_plan_open_descriptor(descriptor, offset, is_open_ended ? UINT64_MAX : plan.size(),
                                    nullptr, &opened.plan, &opened.diag);
      close(descriptor);
      INFO(opened.diag.message);
      REQUIRE(opened.status == CODL_OK);
      CHECK(opened.plan->file.private_bytes() >= (offset % 4096 == 0 ? 4096 : plan.size()));
      CHECK(reinterpret_cast<uintptr_t>(opened.plan->blob_data(0)) % 64 == 0);
      CHECK(std::memcmp(opened.plan->blob_data(0), weights, sizeof(weights)) == 0);
    }
}

TEST_CASE("bytes that are not in a file are refused") {
  const std::vector<uint8_t> bytes = to_bytes(relu_cpu_plan({1, 4, 2, 2}, 1));
  const TemporaryFile file(bytes);
  const int descriptor = ::open(file.path.c_str(), O_RDONLY);
  REQUIRE(descriptor >= 0);
  const auto open_part = [&](int of, uint64_t offset, uint64_t size) {
    codl_plan_t* plan = nullptr;
    const codl_status_t status =
        codl_plan_open_descriptor(of, offset, size, nullptr, &plan, nullptr);
    CHECK(plan == nullptr);
    return status;
  };
  CHECK(open_part(descriptor, 0, bytes.size() + 1) == CODL_CORRUPT_PLAN);
  CHECK(open_part(descriptor, bytes.size() + 1, 0) == CODL_CORRUPT_PLAN);
  CHECK(open_part(descriptor, bytes.size() + 1, UINT64_MAX) == CODL_CORRUPT_PLAN);
  CHECK(open_part(descriptor, UINT64_MAX, UINT64_MAX) == CODL_CORRUPT_PLAN);
  CHECK(open_part(descriptor, UINT64_MAX - 1, UINT64_MAX - 1) == CODL_CORRUPT_PLAN);
  CHECK(open_part(descriptor, 4096, bytes.size() - 4096) == CODL_CORRUPT_PLAN);
  close(descriptor);
  CHECK(open_part(descriptor, 0, bytes.size()) == CODL_IO_ERROR);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  CHECK(open_part(ends[0], 0, bytes.size()) == CODL_IO_ERROR);
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("a fault is reported with its place, what was expected and what was found") {
  TestPlan plan = relu_cpu_plan({1, 4, 2, 2}, 1);
  plan.variants[0].steps[1].operands[0] = 99;
  const TemporaryFile file(to_bytes(plan));
  const Opened opened = open_file(file.path);
  CHECK(opened.status == CODL_CORRUPT_PLAN);
  CHECK(opened.diag.message == file.path +
                                   ": step 1 of variant 0: expected operands that name tensors of "
                                   "the variant, found 99");
}

TEST_CASE("a fault in one of several entries says in which") {
  TestPlan plan = relu_cpu_plan({1, 4, 2, 2}, 1);
  plan.entry_name = "first";
  plan.others = {relu_cpu_plan({1, 4, 4, 2}, 1)};
  plan.others[0].entry_name = "second";
  const auto message_of = [](const TestPlan& broken) {
    const TemporaryFile file(to_bytes(broken));
    const Opened opened = open_file(file.path);
    CHECK(opened.status == CODL_CORRUPT_PLAN);
    return std::string(opened.diag.message).substr(file.path.size());
  };
  plan.others[0].variants[0].steps[1].operands[0] = 99;
  CHECK(message_of(plan) ==
        ": step 1 of variant 0 of entry 1: expected operands that name tensors of the variant, "
        "found 99");
  plan.others[0].variants[0].name = "";
  CHECK(message_of(plan) == ": variant 0 of entry 1: expected a name of 1 to 255 bytes, found 0");
  plan.others[0].entry_name = "first";
  CHECK(message_of(plan) == ": entry 1: expected a name that no other entry has, found 0");
}

TEST_CASE("a plan of another version or of kernels unknown here is told from a damaged one") {
  std::vector<uint8_t> bytes = to_bytes(relu_cpu_plan({1, 4, 2, 2}, 1));
  PlanHead head = read_head(bytes);
  head.version = kPlanVersion + 1;
  write_head(bytes, head);
  CHECK(open_file(TemporaryFile(bytes).path).status == CODL_UNSUPPORTED_VERSION);
  TestPlan plan = relu_cpu_plan({1, 4, 2, 2}, 1);
  plan.kernels[0].revision = 99;
  CHECK(open_file(TemporaryFile(to_bytes(plan)).path).status == CODL_UNSUPPORTED_VERSION);
  plan = relu_cpu_plan({1, 4, 2, 2}, 1);
  plan.variants[0].needs = {1};
  const TemporaryFile file(to_bytes(plan));
  const Opened opened = open_file(file.path);
  CHECK(opened.status == CODL_UNSUPPORTED_VERSION);
  CHECK(opened.diag.message == file.path + ": variant 0: expected no needs, found 1");
}

TEST_CASE("a changed weight is noticed only when all is verified") {
  TestPlan plan = relu_cpu_plan({1, 4, 2, 2}, 1);
  const float weights[] = {1, 2, 3};
  add_blob(plan, "w", weights);
  std::vector<uint8_t> bytes = to_bytes(plan);
  bytes.back() ^= 1;
  const TemporaryFile file(bytes);
  CHECK(open_file(file.path).status == CODL_OK);
  codl_plan_options_t options = {};
  options.struct_size = sizeof(options);
  options.verify = CODL_VERIFY_ALL;
  codl_plan_t* opened = nullptr;
  CHECK(codl_plan_open_file(file.path.c_str(), &options, &opened, nullptr) == CODL_CORRUPT_PLAN);
  CHECK(opened == nullptr);
}

TEST_CASE("a plan in memory may lie at any multiple of 8; its weights are aligned") {
  TestPlan plan = relu_cpu_plan({1, 4, 2, 2}, 1);
  const float weights[] = {1, 2, 3};
  add_blob(plan, "w", weights);
  const std::vector<uint8_t> bytes = to_bytes(plan);
  std::vector<uint64_t> memory(bytes.size() / 8 + 16);
  for (size_t offset = 0; offset < 8; ++offset) {
    uint8_t* at = reinterpret_cast<uint8_t*>(memory.data() + offset);
    std::memcpy(at, bytes.data(), bytes.size());
    codl_plan_t* opened = nullptr;
    REQUIRE(codl_plan_open(at, bytes.size(), nullptr, &opened, nullptr) == CODL_OK);
    CHECK(reinterpret_cast<uintptr_t>(opened->blob_data(0)) % 64 == 0);
    CHECK(std::memcmp(opened->blob_data(0), weights, sizeof(weights)) == 0);
    codl_plan_close(opened);
  }
  codl_plan_t* opened = nullptr;
  const uint8_t* odd = reinterpret_cast<uint8_t*>(memory.data()) + 4;
  CHECK(codl_plan_open(odd, 100, nullptr, &opened, nullptr) == CODL_INVALID_ARGUMENT);
}

TEST_CASE("options of an unknown size are refused, shorter ones are taken") {
  const std::vector<uint8_t> bytes = to_bytes(relu_cpu_plan({1, 4, 2, 2}, 1));
  const TemporaryFile file(bytes);
  codl_plan_options_t options = {};
  codl_plan_t* opened = nullptr;
  CHECK(codl_plan_open_file(file.path.c_str(), &options, &opened, nullptr) ==
        CODL_INVALID_ARGUMENT);
  options.struct_size = sizeof(options) + 8;
  CHECK(codl_plan_open_file(file.path.c_str(), &options, &opened, nullptr) ==
        CODL_INVALID_ARGUMENT);
  options.struct_size = sizeof(size_t);
  REQUIRE(codl_plan_open_file(file.path.c_str(), &options, &opened, nullptr) == CODL_OK);
  codl_plan_close(opened);
  codl_plan_close(nullptr);
}

TEST_CASE("opening without memory releases what it has") {
  const std::vector<uint8_t> bytes = to_bytes(relu_cpu_plan({1, 4, 2, 2}, 1));
  const TemporaryFile file(bytes);
  CountingAllocator allocator;
  allocator.fail_at = 0;
  codl_plan_options_t options = {};
  options.struct_size = sizeof(options);
  options.allocator = allocator.get();
  codl_plan_t* opened = nullptr;
  CHECK(codl_plan_open_file(file.path.c_str(), &options, &opened, nullptr) == CODL_OUT_OF_MEMORY);
  CHECK(allocator.live_count == 0);
}

TEST_CASE("every status has a text") {
  for (int status = CODL_OK; status <= CODL_CANCELLED; ++status)
    CHECK(std::strlen(codl_status_text(static_cast<codl_status_t>(status))) > 0);
  CHECK(codl_status_text(CODL_OK) == std::string("ok"));
  CHECK(codl_plan_format_version() == kPlanVersion);
  CHECK(std::strlen(codl_version()) > 0);
}

}  // namespace
}  // namespace codl::test
