#include "runtime/tools/timeline.h"

#include "test/support/catch.h"

namespace codl::tools {
namespace {

TEST_CASE("busy, idle and overlap are lengths of time, counted once") {
  // The spans are
  // cpu   [1000,3000)          [5000,6000)
  // gpu         [2000,5000) and, inside it, [2500,3000)
  const Timeline timeline = {{"a", "k", 0, 1000, 3000, 0, 0},
                             {"b", "k", 1, 2000, 5000, 0, 0},
                             {"c", "k", 1, 2500, 3000, 0, 0},
                             {"d", "k", 0, 5000, 6000, 0, 0}};
  const RunTimes times = run_times_of(timeline);
  CHECK(times.wall_us == 5);  // 1000 to 6000
  CHECK(times.queues[0].busy_us == 3);
  CHECK(times.queues[0].idle_us == 2);
  CHECK(times.queues[0].step_count == 2);
  CHECK(times.queues[1].busy_us == 3);
  CHECK(times.queues[1].idle_us == 2);
  CHECK(times.queues[2].step_count == 0);
  CHECK(times.overlap_us == 1);  // 2000 to 3000
}

TEST_CASE("a timeline as text shows who was busy when") {
  // A column is 500 ns: cpu [1000,3000) and [5000,6000), gpu [2900,5000).
  CHECK(text_timeline({{"a", "k", 0, 1000, 3000, 0, 0},
                       {"b", "k", 1, 2900, 5000, 0, 0},
                       {"d", "k", 0, 5000, 6000, 0, 0}},
                      10) ==
        "  cpu       |####    ##|\n"
        "  gpu       |   .####  |\n");
  CHECK(text_timeline({}, 10) == "");
}

TEST_CASE("a slice lasts from when a GPU kernel is enqueued until it is done") {
  // Maps, copies and the CPU's steps are not counted; commands without times of their own have no
  // length.
  CHECK(slices_us_of({{"a", "k", 0, 1000, 3000, 0, 0},
                      {"b", "k", 1, 2000, 5000, 0, 1500},
                      {"c", "k", 1, 5000, 9000, 0, 1600},
                      {"c", "map", 1, 9000, 9100, 0, 1700},
                      {"c", "upload", 2, 9000, 9100, 0, 1800},
                      {"d", "k", 1, 9500, 9500, 0, 9500}}) == std::vector<double>{3.5, 7.4, 0});
  CHECK(slices_us_of({}).empty());
}

TEST_CASE("an empty timeline has no times") {
  const RunTimes times = run_times_of({});
  CHECK(times.wall_us == 0);
  CHECK(times.overlap_us == 0);
}

TEST_CASE("a trace has a named track per queue and times from the first step on") {
  CHECK(chrome_trace({{"conv \"1\"", "conv2d_f32_cpu", 0, 1000, 2500, 0, 0}}, "coexec") ==
        R"({"displayTimeUnit":"ns","traceEvents":[)"
        R"({"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"coexec"}},)"
        R"({"name":"thread_name","ph":"M","pid":1,"tid":0,"args":{"name":"cpu"}},)"
        R"({"name":"conv \"1\"","cat":"conv2d_f32_cpu","ph":"X","ts":0,"dur":1.5,"pid":1,"tid":0,)"
        R"("args":{"kernel":"conv2d_f32_cpu","step":0}}]})"
        "\n");
}

}  // namespace
}  // namespace codl::tools
