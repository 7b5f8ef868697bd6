// Fuzz target: any bytes are a plan. If libcodl accepts it, it runs in every variant of every entry
// on random inputs; sanitizers see whether it touches bytes outside its memory. Counts are printed
// at the end.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "codl/codl.h"
#include "test/fuzz/target.h"

namespace codl::test {
namespace {

// A plan that asks for more is not run, because the fuzzer should see many.
constexpr size_t kMaxBytes = size_t{1} << 23;
constexpr size_t kMaxSteps = 2000;

struct Counts {
  size_t seen = 0, opened = 0, sessions = 0, runs = 0;
  Counts() { std::atexit(print); }
  static void print();
};
Counts counts;
void Counts::print() {
  if (counts.seen == 0) return;
  std::fprintf(stderr, "plans: %zu seen, %zu opened, %zu sessions, %zu runs\n", counts.seen,
               counts.opened, counts.sessions, counts.runs);
}

// Counts memory, so that a session that asks for terabytes is refused and not tried.
struct Meter {
  size_t left = kMaxBytes;
  static void* allocate(void* context, size_t size, size_t alignment) {
    auto* meter = static_cast<Meter*>(context);
    if (size > meter->left) return nullptr;
    meter->left -= size;
    const size_t rounded = (std::max<size_t>(size, 1) + alignment - 1) / alignment * alignment;
    return aligned_alloc(alignment, rounded);
  }
  static void release(void* context, void* memory, size_t size, size_t) {
    static_cast<Meter*>(context)->left += size;
    free(memory);
  }
};

codl_tensor_info_t info_of(const codl_plan_t* plan, size_t entry, bool is_input, size_t index) {
  codl_tensor_info_t info;
  if ((is_input ? codl_plan_entry_input(plan, entry, index, &info)
                : codl_plan_entry_output(plan, entry, index, &info)) != CODL_OK)
    fail("expected the type of every input and output");
  return info;
}

std::vector<std::vector<uint64_t>> buffers_of(const codl_plan_t* plan, size_t entry, bool inputs,
                                              size_t* total) {
  std::vector<std::vector<uint64_t>> buffers;
  std::minstd_rand random(1);
  const size_t count = inputs ? codl_plan_input_count(plan) : codl_plan_output_count(plan);
  for (size_t i = 0; i < count; ++i) {
    const codl_tensor_info_t info = info_of(plan, entry, inputs, i);
    *total += info.bytes;
    if (*total > kMaxBytes) return buffers;
    buffers.emplace_back(info.bytes / 8 + 1);
    // Bytes may be anything: bools that are neither 0 nor 1, indices out of range, NaN.
    for (uint64_t& word : buffers.back()) word = random() % 4 == 0 ? 0 : random() * 2654435761u;
  }
  return buffers;
}

std::vector<codl_buffer_t> views_of(const codl_plan_t* plan, size_t entry, bool inputs,
                                    std::vector<std::vector<uint64_t>>& buffers) {
  std::vector<codl_buffer_t> views;
  for (size_t i = 0; i < buffers.size(); ++i)
    views.push_back({buffers[i].data(), info_of(plan, entry, inputs, i).bytes});
  return views;
}

// Runs the session at the shapes of an entry: as it is or, with `all`, in each variant in turn.
void run_entry(const codl_plan_t* plan, size_t entry, bool all, codl_session_t* session) {
  size_t total = 0;
  auto inputs = buffers_of(plan, entry, true, &total);
  auto outputs = buffers_of(plan, entry, false, &total);
  if (total > kMaxBytes) return;
  codl_diag_t diag;
  std::vector<codl_shape_t> shapes(inputs.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    const codl_tensor_info_t info = info_of(plan, entry, true, i);
    shapes[i].rank = info.rank;
    std::copy_n(info.dims, CODL_MAX_RANK, shapes[i].dims);
  }
  if (codl_session_set_shapes(session, shapes.data(), shapes.size(), &diag) != CODL_OK)
    fail("expected to change to the shapes of every entry");
  const auto in = views_of(plan, entry, true, inputs);
  const auto out = views_of(plan, entry, false, outputs);
  const auto run = [&] {
    counts.runs +=
        codl_session_run(session, in.data(), in.size(), out.data(), out.size(), &diag) == CODL_OK;
  };
  run();
  codl_variant_state_t state;
  for (size_t i = 0; all && codl_session_variant(session, i, &state) == CODL_OK; ++i) {
    if (codl_session_set_variant(session, state.name, &diag) != CODL_OK)
      fail("expected to switch to every variant that is prepared");
    for (int runs = 0; runs < 3; ++runs) run();
  }
}

// If `name` is null, one session runs all variants, each in turn.
void run_variant(const codl_plan_t* plan, const char* name, const codl_allocator_t& allocator) {
  codl_session_options_t options{};
  options.struct_size = sizeof options;
  options.variant = name;
  if (name == nullptr) options.variant_count = CODL_ALL_VARIANTS;
  options.thread_count = 1;
  options.allocator = &allocator;
  codl_session_t* session = nullptr;
  codl_diag_t diag;
  if (codl_session_create(plan, &options, &session, &diag) != CODL_OK) return;
  ++counts.sessions;
  for (size_t entry = 0; entry < codl_plan_entry_count(plan); ++entry)
    run_entry(plan, entry, name == nullptr, session);
  codl_session_destroy(session);
}

void run_plan(const uint8_t* data, size_t size) {
  ++counts.seen;
  // libcodl requires plans that are aligned as a mapping is.
  const size_t rounded = (size + 4095) / 4096 * 4096 + 4096;
  auto* bytes = static_cast<uint8_t*>(aligned_alloc(4096, rounded));
  std::memcpy(bytes, data, size);
  Meter meter;
  const codl_allocator_t allocator = {&meter, Meter::allocate, Meter::release};
  codl_plan_options_t options{};
  options.struct_size = sizeof options;
  options.allocator = &allocator;
  codl_plan_t* plan = nullptr;
  codl_diag_t diag;
  if (codl_plan_open(bytes, size, &options, &plan, &diag) == CODL_OK) {
    ++counts.opened;
    size_t step_count = 0;
    for (size_t entry = 0; entry < codl_plan_entry_count(plan); ++entry)
      for (size_t i = 0; i < codl_plan_entry_variant_count(plan, entry); ++i) {
        codl_variant_info_t info;
        if (codl_plan_entry_variant(plan, entry, i, &info) == CODL_OK)
          step_count += info.step_count;
      }
    if (step_count <= kMaxSteps) run_variant(plan, nullptr, allocator);
    for (size_t i = 0; i < std::min<size_t>(codl_plan_variant_count(plan), 3); ++i) {
      codl_variant_info_t info;
      if (codl_plan_variant(plan, i, &info) != CODL_OK) fail("expected every variant's facts");
      if (info.step_count <= kMaxSteps) run_variant(plan, info.name, allocator);
    }
    codl_plan_close(plan);
  }
  free(bytes);
}

}  // namespace
}  // namespace codl::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  codl::test::run_plan(data, size);
  return 0;
}
