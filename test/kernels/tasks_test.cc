// Tests how tasks are distributed among workers.
#include "kernels/common/contract/tasks.h"

#include <cmath>
#include <vector>

#include "test/support/catch.h"

namespace codl::kernels {
namespace {

// Returns the ends of all workers' shares.
std::vector<int64_t> ends_of(int64_t task_count, const WorkerSpeeds& workers) {
  std::vector<int64_t> ends;
  int64_t speed = 0;
  for (int32_t worker = 0; worker < workers.count; ++worker) {
    speed += workers.of(worker);
    ends.push_back(tasks_before(task_count, speed, workers.sum()));
  }
  return ends;
}

TEST_CASE("workers that are alike have the i-th of equal shares") {
  const std::vector<uint16_t> same(64, 8521);
  for (int32_t workers = 1; workers <= 64; ++workers)
    for (int64_t tasks : {0, 1, 2, 3, 5, 7, 31, 32, 33, 100, 1001, 65537, INT32_MAX}) {
      const std::vector<int64_t> ends = ends_of(tasks, {workers});
      bool is_equal = ends == ends_of(tasks, {workers, same.data()});
      for (int32_t i = 0; i < workers; ++i)
        is_equal = is_equal && ends[static_cast<size_t>(i)] == tasks * (i + 1) / workers;
      if (!is_equal) FAIL_CHECK(tasks << " tasks of " << workers << " workers");
    }
}

TEST_CASE("shares cover all tasks once, each in proportion to its speed within one task") {
  const std::vector<std::vector<uint16_t>> all = {{10000},
                                                  {10000, 1},
                                                  {10000, 8521, 8521, 8521},
                                                  {10000, 4261, 4261, 4261},
                                                  {10000, 10000, 8252, 8252},
                                                  {10000, 1, 9999, 3, 5000, 5000, 7}};
  for (const std::vector<uint16_t>& speeds : all) {
    const WorkerSpeeds workers = {static_cast<int32_t>(speeds.size()), speeds.data()};
    for (int64_t tasks = 0; tasks <= 200; ++tasks) {
      int64_t begin = 0;
      bool is_fair = true;
      for (size_t i = 0; const int64_t end : ends_of(tasks, workers)) {
        const double fair =
            static_cast<double>(tasks) * speeds[i++] / static_cast<double>(workers.sum());
        is_fair = is_fair && end >= begin && std::abs(static_cast<double>(end - begin) - fair) < 1;
        begin = end;
      }
      if (!is_fair || begin != tasks)
        FAIL_CHECK(tasks << " tasks of " << speeds.size() << " workers");
    }
  }
}

}  // namespace
}  // namespace codl::kernels
