#include "runtime/src/cpu_pool.h"

#include <sched.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "test/support/catch.h"
#include "test/support/thread_faults.h"

namespace codl::rt {
namespace {

struct Counts {
  std::vector<std::atomic<int>> tasks;
  std::atomic<int> calls{0};
  explicit Counts(size_t count) : tasks(count) {}
};

void count_tasks(void* context, const CpuPool::Piece& piece) {
  auto& counts = *static_cast<Counts*>(context);
  ++counts.calls;
  for (int32_t i = piece.task_begin; i < piece.task_end; ++i)
    ++counts.tasks[static_cast<size_t>(i)];
}

// Computes for longer than workers spin.
void outlast_spinning() {
  const int64_t start_ns = now_ns();
  while (now_ns() - start_ns < 2'000'000) pause_core();
}

// Runs a job in which every worker takes part.
void use_all_workers(CpuPool& pool) {
  struct Job {
    std::atomic<int32_t> begun{0};
    int32_t worker_count;
  } job;
  job.worker_count = pool.worker_count();
  pool.run(
      4 * job.worker_count,
      [](void* context, const CpuPool::Piece& piece) {
        Job& shared = *static_cast<Job*>(context);
        if (!piece.is_first) return;
        // No worker continues, and takes others' tasks, before all have begun.
        ++shared.begun;
        while (shared.begun < shared.worker_count) sched_yield();
      },
      &job);
  CHECK(job.begun == job.worker_count);
}

// Returns a line of /proc/self/task/TID/status for each thread with a name of the pool's.
std::vector<std::string> of_workers(const std::string& key) {
  std::vector<std::string> found;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(thread.path() / "status");
    std::string name, value;
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("Name:", 0) == 0) name = line.substr(6);
      if (line.rfind(key + ":", 0) == 0) value = line.substr(key.size() + 2);
    }
    if (name.rfind("codl-", 0) == 0) found.push_back(value);
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST_CASE("workers have names, and leave signals to the host's threads but those of their faults") {
  sigset_t before, behind;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  CpuPool pool;
  REQUIRE(pool.start(default_allocator(), {3}, nullptr, 0, nullptr) == CODL_OK);
  use_all_workers(pool);  // a new thread blocks all signals until it has its mask
  CHECK(of_workers("Name") == std::vector<std::string>{"codl-1", "codl-2"});
  for (const std::string& mask : of_workers("SigBlk")) {
    const uint64_t blocked = std::stoull(mask, nullptr, 16);
    const auto is_blocked = [&](int signal) { return (blocked >> (signal - 1) & 1) != 0; };
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGALRM}) CHECK(is_blocked(signal));
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT}) CHECK(!is_blocked(signal));
  }
  pthread_sigmask(SIG_BLOCK, nullptr, &behind);
  for (int signal = 1; signal < 32; ++signal)
    CHECK(sigismember(&before, signal) == sigismember(&behind, signal));
}

TEST_CASE("every task of a job runs once, whatever the number of workers") {
  for (int32_t workers : {1, 2, 3, 8}) {
    CpuPool pool;
    REQUIRE(pool.start(default_allocator(), {workers}, nullptr, 0, nullptr) == CODL_OK);
    CHECK(pool.worker_count() == workers);
    for (int32_t tasks : {0, 1, 2, 3, 7, 8, 100}) {
      Counts counts(static_cast<size_t>(tasks));
      pool.run(tasks, count_tasks, &counts);
      for (const auto& count : counts.tasks) CHECK(count == 1);
      if (workers == 1) CHECK(counts.calls <= 1);
    }
  }
}

TEST_CASE("workers begin with tasks in proportion to their speeds") {
  constexpr uint16_t kSpeeds[] = {kFullSpeed, 4261, 4261, 2000};
  constexpr int32_t kWorkers = 4;
  constexpr int32_t kTasks = 41;
  constexpr int32_t kEnds[] = {19, 28, 37, 41};  // 41 * (10000, 14261, 18522, 20522) / 20522
  struct Job {
    std::atomic<int> begun{0};
    kernels::Units firsts[kWorkers] = {};
  };
  CpuPool pool;
  REQUIRE(pool.start(default_allocator(), {kWorkers, kSpeeds}, nullptr, 0, nullptr) == CODL_OK);
  for (int round = 0; round < 100; ++round) {
    Job job;
    pool.run(
        kTasks,
        [](void* context, const CpuPool::Piece& piece) {
          Job& shared = *static_cast<Job*>(context);
          if (!piece.is_first) return;
          shared.firsts[piece.worker] = {piece.task_begin, piece.task_end};
          // No worker continues, and takes others' tasks, before all have begun.
          ++shared.begun;
          while (shared.begun < kWorkers) sched_yield();
        },
        &job);
    for (int32_t i = 0; i < kWorkers; ++i) {
      const int32_t begin = i == 0 ? 0 : kEnds[i - 1];
      CHECK(job.firsts[i].begin == begin);
      CHECK(job.firsts[i].end == kEnds[i] - (kEnds[i] - begin) / 2);
    }
  }
}

TEST_CASE("who is done takes tasks of a worker that is held up") {
  struct Job {
    std::atomic<int> done{0};
    std::atomic<bool> is_held{false};
  };
  constexpr int32_t kTasks = 240;
  for (int32_t workers : {2, 3, 8}) {
    CpuPool pool;
    REQUIRE(pool.start(default_allocator(), {workers}, nullptr, 0, nullptr) == CODL_OK);
    Job job;
    pool.run(
        kTasks,
        [](void* context, const CpuPool::Piece& piece) {
          const int32_t count = piece.task_end - piece.task_begin;
          Job& shared = *static_cast<Job*>(context);
          // The first worker ends after the others have done all other tasks.
          if (!shared.is_held.exchange(true))
            while (shared.done < kTasks - count) sched_yield();
          shared.done += count;
        },
        &job);
    CHECK(job.done == kTasks);
  }
}

TEST_CASE("a job ends without workers that have no core, however late they are then") {
  constexpr int32_t kTasks = 50;
  for (const int32_t workers : {2, 8}) {
    test::HeldThreads held;
    CpuPool pool;
    REQUIRE(pool.start(default_allocator(), {workers}, nullptr, 0, nullptr) == CODL_OK);
    const auto run_jobs = [&] {
      for (int job = 0; job < 300; ++job) {
        // The counts are freed when the next job is posted.
        const auto counts = std::make_unique<Counts>(kTasks);
        pool.run(kTasks, count_tasks, counts.get());
        CHECK(std::all_of(counts->tasks.begin(), counts->tasks.end(),
                          [](const auto& count) { return count == 1; }));
      }
    };
    run_jobs();
    CHECK_FALSE(held.gave_up());
    held.release();
    run_jobs();
    use_all_workers(pool);
  }
}

TEST_CASE("a pool works with the threads that the system grants") {
  constexpr uint16_t kSpeeds[] = {kFullSpeed, 4000, 2000, 2000};
  // The first share ends at 100 * 10000 / all speeds.
  constexpr int32_t kEnds[] = {100, 71, 62, 55};
  for (int32_t granted = 0; granted < 4; ++granted) {
    const test::GrantedThreads threads(granted);
    CpuPool pool;
    REQUIRE(pool.start(default_allocator(), {4, kSpeeds}, nullptr, 0, nullptr) == CODL_OK);
    CHECK(pool.worker_count() == 1 + granted);
    CHECK(pool.wanted_worker_count() == 4);
    CHECK(pool.share_end(100, 0) == kEnds[granted]);
    CHECK(pool.share_end(100, granted) == 100);
    use_all_workers(pool);
  }
}

TEST_CASE("a worker's first piece of every job says so") {
  constexpr int32_t kWorkers = 3;
  struct Seen {
    int firsts[kWorkers] = {};
    int pieces[kWorkers] = {};
  };
  CpuPool pool;
  REQUIRE(pool.start(default_allocator(), {kWorkers}, nullptr, 0, nullptr) == CODL_OK);
  for (int round = 0; round < 100; ++round) {
    Seen seen;
    pool.run(
        60,
        [](void* context, const CpuPool::Piece& piece) {
          Seen& shared = *static_cast<Seen*>(context);
          const bool is_first = shared.pieces[piece.worker]++ == 0;
          shared.firsts[piece.worker] += piece.is_first && is_first ? 1 : piece.is_first ? 2 : 0;
        },
        &seen);
    for (int32_t i = 0; i < kWorkers; ++i) CHECK(seen.firsts[i] == (seen.pieces[i] > 0 ? 1 : 0));
  }
}

TEST_CASE("what a job writes is seen by the next one") {
  CpuPool pool;
  REQUIRE(pool.start(default_allocator(), {4}, nullptr, 0, nullptr) == CODL_OK);
  std::vector<int> values(64, 0);
  // Each job moves every value one place on, so reading a value too early gives a wrong sum.
  struct Job {
    std::vector<int>* from;
    std::vector<int>* to;
  };
  std::vector<int> other(64, 0);
  for (int round = 0; round < 2000; ++round) {
    Job job = {round % 2 == 0 ? &values : &other, round % 2 == 0 ? &other : &values};
    pool.run(
        64,
        [](void* context, const CpuPool::Piece& piece) {
          const Job& moved = *static_cast<Job*>(context);
          for (int32_t i = piece.task_begin; i < piece.task_end; ++i)
            (*moved.to)[static_cast<size_t>(i)] =
                (*moved.from)[static_cast<size_t>((i + 17) % 64)] + 1;
        },
        &job);
  }
  for (int value : values) CHECK(value == 2000);
}

TEST_CASE("workers that have gone to sleep take the next job") {
  CpuPool pool;
  REQUIRE(pool.start(default_allocator(), {8}, nullptr, 0, nullptr) == CODL_OK);
  for (int round = 0; round < 5; ++round) {
    outlast_spinning();
    use_all_workers(pool);
  }
}

TEST_CASE("pinned workers stay on their cores and the caller gets its own back") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
  int32_t core = 0;
  while (!CPU_ISSET(static_cast<size_t>(core), &before)) ++core;
  CpuPool pool;
  REQUIRE(pool.start(default_allocator(), {2}, &core, 1, nullptr) == CODL_OK);
  struct Seen {
    std::atomic<int> core_counts[2];
  } seen = {};
  {
    AffinityScope scope;
    pool.enter(&scope);
    pool.run(
        2,
        [](void* context, const CpuPool::Piece& piece) {
          auto& shared = *static_cast<Seen*>(context);
          cpu_set_t set;
          const bool has_set = sched_getaffinity(0, sizeof(set), &set) == 0;
          shared.core_counts[piece.worker] = has_set ? CPU_COUNT(&set) : -1;
          // Neither ends before the other, so each takes one of the tasks.
          while (shared.core_counts[1 - piece.worker] == 0) sched_yield();
        },
        &seen);
  }
  CHECK(seen.core_counts[0] == 1);
  CHECK(seen.core_counts[1] == 1);
  cpu_set_t after;
  REQUIRE(sched_getaffinity(0, sizeof(after), &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("a core that does not exist is named") {
  const int32_t cores[] = {CPU_SETSIZE};
  CHECK(first_unusable_core(cores, 1) == CPU_SETSIZE);
  CHECK(allowed_core_count() >= 1);
}

}  // namespace
}  // namespace codl::rt
