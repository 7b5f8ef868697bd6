#include "compiler/schedule/step_order.h"

#include "test/compiler/support/schedules.h"
#include "test/support/catch.h"

namespace codl::compiler {
namespace {

TEST_CASE("a queue keeps its order") {
  ScheduleBuilder builder;
  builder.step(Queue::Cpu, {});
  builder.step(Queue::Gpu, {});
  builder.step(Queue::Cpu, {});
  builder.step(Queue::Gpu, {});
  const StepOrder order(builder.schedule);
  CHECK(order.happens_before(0, 2));
  CHECK(order.happens_before(1, 3));
  CHECK_FALSE(order.happens_before(2, 0));
}

TEST_CASE("queues that do not wait for each other have no order, whatever the list says") {
  ScheduleBuilder builder;
  builder.step(Queue::Cpu, {});
  builder.step(Queue::Gpu, {});
  builder.step(Queue::Transfer, {});
  const StepOrder order(builder.schedule);
  for (StepId a = 0; a < 3; ++a)
    for (StepId b = 0; b < 3; ++b) CHECK_FALSE(order.happens_before(a, b));
}

TEST_CASE("order goes through waits and queues, and no further") {
  ScheduleBuilder builder;
  builder.step(Queue::Cpu, {});            // 0
  builder.step(Queue::Gpu, {}, {0});       // 1
  builder.step(Queue::Cpu, {});            // 2
  builder.step(Queue::Transfer, {}, {1});  // 3
  builder.step(Queue::Cpu, {}, {3});       // 4
  const StepOrder order(builder.schedule);
  CHECK(order.happens_before(0, 1));
  CHECK(order.happens_before(0, 3));  // 0 -> 1 by wait, 1 -> 3 by wait
  CHECK(order.happens_before(1, 4));  // 1 -> 3 -> 4
  CHECK(order.happens_before(2, 4));  // queue
  CHECK_FALSE(order.happens_before(1, 2));
  CHECK_FALSE(order.happens_before(2, 3));
}

TEST_CASE("a wait for a step that is not earlier proves no order") {
  ScheduleBuilder builder;
  builder.step(Queue::Cpu, {}, {1, 7});
  builder.step(Queue::Gpu, {});
  const StepOrder order(builder.schedule);
  CHECK_FALSE(order.happens_before(1, 0));
}

}  // namespace
}  // namespace codl::compiler
