#include "compiler/memory/memory_plan.h"
#include "test/compiler/support/schedules.h"
#include "test/support/catch.h"

namespace codl::compiler {
namespace {

// Has two tensors in each memory, alive at the same time, and a right plan for them.
struct Example {
  ScheduleBuilder builder;
  TensorId host = builder.tensor(Storage::Host, 100);
  TensorId other_host = builder.tensor(Storage::Host, 100);
  TensorId shared = builder.tensor(Storage::Shared, 100);
  TensorId other_shared = builder.tensor(Storage::Shared, 100);
  TensorId image = builder.image(10, 5);
  TensorId other_image = builder.image(10, 5);
  Variant& plan = builder.schedule;

  Example() {
    builder.step(Queue::Cpu, {host, other_host, shared});
    builder.step(Queue::Gpu, {shared, other_shared, image, other_image}, {0});
    builder.step(Queue::Cpu, {other_shared}, {1});
    set_places(plan, {0, 128, 0, 1024, 0, 1});
    plan.host_bytes = 256;
    plan.shared_bytes = 2048;
    plan.images = {{10, 5}, {10, 5}};
  }

  std::string fault() { return llvm::toString(check_memory_plan(plan)); }
};

TEST_CASE("the right plan passes") { CHECK(Example().fault() == ""); }

TEST_CASE("rule: host offsets are multiples of 64") {
  Example example;
  set_place(example.plan, example.other_host, 132);
  CHECK(example.fault() == "memory: t1: expected an offset that is a multiple of 64, found 132");
}

TEST_CASE("rule: shared and device offsets are multiples of 1024") {
  Example example;
  set_place(example.plan, example.other_shared, 512);
  CHECK(example.fault() == "memory: t3: expected an offset that is a multiple of 1024, found 512");
}

TEST_CASE("rule: a tensor lies inside its arena") {
  Example example;
  example.plan.host_bytes = 192;
  CHECK(example.fault() ==
        "memory: t1: expected 100 bytes at 128 inside an arena of 192, found 228");
}

TEST_CASE("rule: an image exists") {
  Example example;
  set_place(example.plan, example.image, 2);
  CHECK(example.fault() == "memory: t4: expected an image number below 2, found 2");
}

TEST_CASE("rule: an image is as large as its tensors") {
  Example example;
  example.plan.images[1].height = 4;
  CHECK(example.fault() == "memory: t5: expected an image of 10 x 5 or more, found 10 x 4");
}

TEST_CASE("rule: an image is of the dtype of its tensors") {
  Example example;
  example.plan.images[1].dtype = DType::F16;
  CHECK(example.fault() == "memory: t5: expected an image of f32, found one of f16");
}

TEST_CASE("rule: tensors that live together share no byte") {
  Example example;
  set_place(example.plan, example.other_host, 64);  // host has 100 bytes from 0
  CHECK(example.fault() ==
        "memory: t0: expected no memory in common with t1, which is live at the same time, found "
        "offsets 0 and 64");
}

TEST_CASE("rule: a Reshape on the CPU may leave its operand in place, all of it") {
  ScheduleBuilder builder;
  const TensorId a = builder.tensor(Storage::Host, 128);
  const TensorId b = builder.tensor(Storage::Host, 128);
  const StepId step = builder.step(Queue::Cpu, {a, b});
  Variant& plan = builder.schedule;
  set_places(plan, {0, 0});
  plan.host_bytes = 192;
  const auto is_refused = [&] {
    return llvm::toString(check_memory_plan(plan)).find("no memory in common") != std::string::npos;
  };
  CHECK(is_refused());
  builder.schedule.steps[step].kernel = find_kernel(23);
  REQUIRE(builder.schedule.steps[step].kernel->op == OpKind::Reshape);
  CHECK(!is_refused());
  // Anywhere else it would be copied, which the prediction does not contain.
  for (const uint64_t place : {64, 128}) {
    set_places(plan, {0, place});
    plan.host_bytes = 256;
    CHECK_THAT(llvm::toString(check_memory_plan(plan)),
               Catch::Contains("expected its place 0 bytes behind t0's"));
  }
}

TEST_CASE("rule: a Reshape of the GPU may leave its operand in the device's memory only") {
  for (const Storage storage : {Storage::Device, Storage::Shared}) {
    ScheduleBuilder builder;
    const TensorId a = builder.tensor(storage, 1024);
    const TensorId b = builder.tensor(storage, 1024);
    builder.schedule.steps[builder.step(Queue::Gpu, {a, b})].kernel = find_kernel(24);
    Variant& plan = builder.schedule;
    set_places(plan, {0, 0});
    plan.device_bytes = plan.shared_bytes = 1024;
    const bool is_refused =
        llvm::toString(check_memory_plan(plan)).find("no memory in common") != std::string::npos;
    CHECK(is_refused == (storage == Storage::Shared));
  }
}

TEST_CASE("rule: images that live together are two") {
  Example example;
  set_place(example.plan, example.other_image, 0);
  CHECK(example.fault() ==
        "memory: t4: expected no memory in common with t5, which is live at the same time, found "
        "offsets 0 and 0");
}

TEST_CASE("rule: an order of the list that no wait enforces is none") {
  ScheduleBuilder builder;
  const TensorId a = builder.tensor(Storage::Shared, 64);
  const TensorId b = builder.tensor(Storage::Shared, 64);
  builder.step(Queue::Cpu, {a});
  builder.step(Queue::Gpu, {b}, {0});
  Variant& plan = builder.schedule;
  set_places(plan, {0, 0});
  plan.shared_bytes = 1024;
  CHECK(llvm::toString(check_memory_plan(plan)) == "");
  builder.schedule.steps[1].waits.clear();
  CHECK(llvm::toString(check_memory_plan(plan)) ==
        "memory: t0: expected no memory in common with t1, which is live at the same time, found "
        "offsets 0 and 0");
}

TEST_CASE("rule: device tensors lie in one place or apart") {
  ScheduleBuilder builder;
  const TensorId a = builder.tensor(Storage::Device, 4000);
  const TensorId b = builder.tensor(Storage::Device, 900);
  const TensorId c = builder.tensor(Storage::Device, 900);
  builder.step(Queue::Gpu, {a});
  builder.step(Queue::Gpu, {b});
  builder.step(Queue::Gpu, {c});
  Variant& plan = builder.schedule;
  plan.device_bytes = 8192;
  set_places(plan, {0, 0, 4096});
  CHECK(llvm::toString(check_memory_plan(plan)) == "");
  set_place(plan, c, 3072);
  CHECK(llvm::toString(check_memory_plan(plan)) ==
        "memory: t2: expected the place of t0 or no byte of it, found offsets 3072 and 0");
}

TEST_CASE("tensors in different memories may have the same offset") {
  Example example;
  CHECK(place(example.plan, example.host) == place(example.plan, example.shared));
  CHECK(example.fault() == "");
}

}  // namespace
}  // namespace codl::compiler
