// Runs sessions of a plan for a long time: two side by side, whose variants and options change at
// random, with cancels from another thread; and many that are created and destroyed. Every output
// has the bits of the first, and memory, threads, descriptors and OpenCL objects do not grow. It
// can also run with checks, each run with inputs of its own (`soak --help`). test/soak.sh and
// test/drivers.sh run it.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/tools/plan_tool.h"
#include "test/soak/cl_objects.h"
#include "test/support/process_facts.h"
#include "tools/messages.h"
#include "tools/printable.h"
#include "tools/quantity.h"

namespace codl::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kTool = "soak";
// So many inputs take turns.
constexpr uint64_t kInputSets = 3;
// Each worker makes so many sessions before the process's memory is compared: drivers and the C
// library first fill their caches.
constexpr int64_t kFirstSessions = 20;
// The time of two sessions side by side is divided into so many stretches. After each, when no
// session is left, the process holds leaks and what others keep; during one, the maximum differs
// each time.
constexpr int kStretches = 12;
// Bytes by which allocations may have grown at the end. PoCL keeps some 300 per session.
constexpr int64_t kMaxGrowth = 2 << 20;

// The leak that each created and destroyed session makes on purpose, and that must be found.
enum class Leak { NotAsked, Nothing, Memory, Thread, Descriptor, Object };
const Choices<Leak> kLeaks = {{"nothing", Leak::Nothing},
                              {"memory", Leak::Memory},
                              {"thread", Leak::Thread},
                              {"descriptor", Leak::Descriptor},
                              {"object", Leak::Object}};
constexpr size_t kLeakedBytes = 256 << 10;

struct SoakOptions {
  PlanFlags plan;
  double duration_s = 60;
  int32_t creations = 200;
  int64_t checked_runs = 0;    // instead of the other tests
  Leak leak = Leak::NotAsked;  // if set: no sessions side by side
};

[[noreturn]] void fail(const std::string& where, const std::string& expected,
                       const std::string& found) {
  throw ToolError(ExitCode::Internal, where + ": expected " + expected + ", found " + found);
}

// Counts the resources that the process holds.
struct Held {
  int64_t allocated_bytes = 0;  // from the C library; 0 where a sanitizer has its own
  int mapped_plans = 0;
  int threads = 0;
  int descriptors = 0;
  test::ClObjects objects;
};

Held held_now() {
  Held held;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    held.mapped_plans += line.find(".codl") != std::string::npos;
  maps.close();  // before descriptors are counted
  const struct mallinfo2 info = mallinfo2();
  held.allocated_bytes = static_cast<int64_t>(info.uordblks + info.hblkhd);
  held.threads = test::thread_count();
  held.descriptors = test::descriptor_count();
  held.objects = test::cl_objects();
  if (held.threads < 0 || held.descriptors < 0) fail("/proc/self", "task and fd", "none");
  return held;
}

std::string describe(const Held& held) {
  return formatted(
      "%.3f MB allocated, %d plans mapped, %d threads, %d descriptors, %lld OpenCL objects of %lld",
      static_cast<double>(held.allocated_bytes) / 1e6, held.mapped_plans, held.threads,
      held.descriptors, static_cast<long long>(held.objects.alive),
      static_cast<long long>(held.objects.made));
}

void plant(Leak leak) {
  if (leak == Leak::Memory) {
    // It is stored where the compiler cannot see that nobody reads it.
    static std::vector<std::vector<std::byte>> leaked;
    leaked.emplace_back(kLeakedBytes);
  } else if (leak == Leak::Thread) {
    std::thread([] { pause(); }).detach();
  } else if (leak == Leak::Descriptor) {
    if (dup(STDERR_FILENO) < 0) fail("dup", "a descriptor", "none");
  } else if (leak == Leak::Object) {
    if (!test::leak_cl_object()) fail("clCreateContext", "a context", "none");
  }
}

// `where` names the sessions for messages. `after`, when everything that began since `before` has
// ended, may hold as much as `before` and a little more memory. Resident memory would tell less:
// the C library keeps freed memory, and how much depends on which threads built programs at the
// same time.
void check_held(const std::string& where, const Held& before, Held after) {
  after.threads = test::threads_down_to(before.threads);
  after.descriptors = test::descriptor_count();
  print(formatted("%s: %s before, %s after\n", where.c_str(), describe(before).c_str(),
                  describe(after).c_str()));
  if (after.threads > before.threads || after.descriptors > before.descriptors ||
      after.mapped_plans > before.mapped_plans || after.objects.alive > before.objects.alive ||
      after.allocated_bytes > before.allocated_bytes + kMaxGrowth)
    fail(where, "no more than " + describe(before), describe(after));
}

// Holds inputs and output buffers of one thread.
struct Tensors {
  std::vector<std::vector<Tensor>> inputs;  // indexed by set
  std::vector<Tensor> outputs;
};

Tensors tensors_of(const Plan& plan, PlanFlags flags) {
  Tensors tensors;
  for (uint64_t set = 0; set < kInputSets; ++set) {
    flags.seed = set;
    tensors.inputs.push_back(inputs_of(plan, flags));
  }
  tensors.outputs = empty_outputs(plan);
  return tensors;
}

std::vector<std::byte> bytes_of(const std::vector<Tensor>& outputs) {
  std::vector<std::byte> bytes;
  for (const Tensor& output : outputs)
    bytes.insert(bytes.end(), output.data.begin(), output.data.end());
  return bytes;
}

// Holds outputs, keyed by variant and set of inputs.
using Expected = std::map<std::pair<std::string, uint64_t>, std::vector<std::byte>>;

class Soak {
 public:
  explicit Soak(const SoakOptions& options)
      : options_(options), plan_(open_plan(options.plan, CODL_VERIFY_ALL)) {
    for (size_t i = 0; i < plan_.variant_count(); ++i)
      variants_.emplace_back(plan_.variant(i).name);
  }

  void run() {
    if (options_.checked_runs > 0) return run_checked();
    take_first_outputs();
    create_and_destroy();
    if (options_.leak == Leak::NotAsked) run_side_by_side();
  }

 private:
  // Has a session that the canceller may cancel while its thread runs or replaces it.
  struct Worker {
    std::mutex mutex;  // held while `session` changes or is cancelled
    Session session;
    std::string variant;
    int64_t runs = 0;
    int64_t cancelled = 0;
    std::atomic<int64_t> sessions{0};
    std::string failure;
  };

  PlanFlags flags_of(const std::string& variant) const {
    PlanFlags flags = options_.plan;
    flags.variant = variant;
    flags.require_variant = true;
    return flags;
  }

  void take_first_outputs() {
    Tensors tensors = tensors_of(plan_, options_.plan);
    for (const std::string& variant : variants_) {
      Session session = create_session(plan_, flags_of(variant), false);
      // Cores are given for the sake of what the plan asks for. A session beside another, on the
      // same cores, may find that flags come too late.
      const codl_session_info_t info = session.info();
      for (const char* refusal : {info.flag_refusal, info.recording_refusal})
        if (!options_.plan.gpu_cores.empty() && refusal[0] != 0)
          fail(variant, "flags and recordings where the plan has some", refusal);
      for (uint64_t set = 0; set < kInputSets; ++set) {
        run_session(session, buffers_of(tensors.inputs[set]), buffers_of(tensors.outputs));
        expected_[{variant, set}] = bytes_of(tensors.outputs);
      }
    }
  }

  // Runs the first variant: in each run the CPU computes the next GPU step again.
  void run_checked() {
    PlanFlags flags = flags_of(variants_.front());
    flags.check_every = 1;
    Session session = create_session(plan_, flags, false);
    int64_t steps = 0;
    const auto count = [](void* context, const codl_step_result_t*) {
      ++*static_cast<int64_t*>(context);
    };
    const Status test = session.self_test(count, &steps);
    if (!test.ok()) fail(variants_.front(), "steps that pass their test", test.message());
    std::vector<Tensor> inputs = inputs_of(plan_, flags);
    std::vector<Tensor> outputs = empty_outputs(plan_);
    for (int64_t run = 1; run <= options_.checked_runs; ++run) {
      for (size_t i = 0; i < inputs.size(); ++i)
        fill_random(inputs[i], static_cast<uint64_t>(run), i);
      const Status status = session.run(buffers_of(inputs), buffers_of(outputs));
      if (!status.ok())
        fail(formatted("run %lld", static_cast<long long>(run)), "a step that passes its check",
             status.message());
    }
    const codl_session_info_t info = session.info();
    print(formatted("%lld runs on %s, each with a check of one of %lld GPU steps: none differs\n",
                    static_cast<long long>(options_.checked_runs),
                    printable(info.opencl_platform).c_str(), static_cast<long long>(steps)));
  }

  void create_and_destroy() {
    Tensors tensors = tensors_of(plan_, options_.plan);
    Held before;
    // The first sessions, of each variant, fill the caches of the C library and the driver.
    const int32_t first = std::min(options_.creations / 4, 100);
    for (int32_t i = 0; i < options_.creations; ++i) {
      if (i == first) before = held_now();
      const Plan plan = open_plan(options_.plan, CODL_VERIFY_STRUCTURE);
      const size_t index = static_cast<size_t>(i) % variants_.size();
      const std::string& variant = variants_[index];
      PlanFlags flags = flags_of(variant);
      flags.check_every = i % 3 == 0 && plan.variant(index).needs_gpu != 0 ? 1 : 0;
      Session session = create_session(plan, flags, i % 5 == 0);
      plant(options_.leak);
      if (i % 10 != 0) continue;
      run_session(session, buffers_of(tensors.inputs[0]), buffers_of(tensors.outputs));
      if (bytes_of(tensors.outputs) != expected_[{variant, 0}])
        fail(variant, "the first run's bits", formatted("others in session %d", i));
    }
    check_held(formatted("%d sessions", options_.creations), before, held_now());
  }

  // Creates one session of all variants.
  Session create_switching(const std::string& variant, std::mt19937& random) {
    std::vector<const char*> names;
    for (const std::string& name : variants_) names.push_back(name.c_str());
    codl_session_options_t options = session_options();
    options.variant = variant.c_str();
    options.variants = names.data();
    options.variant_count = names.size();
    options.require_variant = 1;
    options.cpu_cores = options_.plan.cpu_cores.data();
    options.cpu_core_count = options_.plan.cpu_cores.size();
    options.gpu_cores = options_.plan.gpu_cores.data();
    options.gpu_core_count = options_.plan.gpu_cores.size();
    options.check_every = static_cast<int32_t>(random() % 4);
    options.fallback = random() % 2 == 0 ? CODL_FALLBACK_NEVER : CODL_FALLBACK_PER_RUN;
    options.record_timeline = static_cast<int32_t>(random() % 2);
    Result<Session> session = Session::create(plan_, options);
    if (!session) fail(variant, "a session", session.status().message());
    return std::move(*session);
  }

  // Does one step of a worker's life.
  void step(Worker& worker, Tensors& tensors, std::mt19937& random) {
    const std::string& variant = variants_[random() % variants_.size()];
    if (!worker.session || random() % 16 == 0) {
      Session session = create_switching(variant, random);
      const std::lock_guard lock(worker.mutex);
      worker.session = std::move(session);
      worker.variant = variant;
      ++worker.sessions;
    } else if (random() % 4 == 0) {
      const Status status = worker.session.set_variant(variant.c_str());
      if (!status.ok()) fail(variant, "a variant to switch to", status.message());
      worker.variant = variant;
    }
    const uint64_t set = random() % kInputSets;
    for (Tensor& output : tensors.outputs)
      std::fill(output.data.begin(), output.data.end(), std::byte{0xff});
    const Status status =
        worker.session.run(buffers_of(tensors.inputs[set]), buffers_of(tensors.outputs));
    ++worker.runs;
    if (status.code() == CODL_CANCELLED) {
      ++worker.cancelled;
      return;
    }
    if (!status.ok()) fail(worker.variant, "a run", status.message());
    if (bytes_of(tensors.outputs) != expected_.at({worker.variant, set}))
      fail(worker.variant, "the first run's bits",
           formatted("others in run %lld", static_cast<long long>(worker.runs)));
  }

  void live(Worker& worker, uint32_t seed) {
    try {
      Tensors tensors = tensors_of(plan_, options_.plan);
      std::mt19937 random(seed);
      while (!is_over_) step(worker, tensors, random);
    } catch (const ToolError& error) {
      worker.failure = error.what();
      is_over_ = true;
    }
  }

  void run_side_by_side() {
    Worker workers[2];
    std::optional<Held> before;
    std::mt19937 random(3);
    for (int stretch = 0; stretch < kStretches; ++stretch) {
      run_stretch(workers, static_cast<uint32_t>(stretch), random);
      const Held held = held_now();
      print(formatted("%2d of %d: %s\n", stretch + 1, kStretches, describe(held).c_str()));
      std::fflush(stdout);
      if (!before && stretch >= kStretches / 4 - 1 && workers[0].sessions >= kFirstSessions &&
          workers[1].sessions >= kFirstSessions)
        before = held;
    }
    for (const Worker& worker : workers)
      print(formatted("%lld runs in %lld sessions, %lld cancelled\n",
                      static_cast<long long>(worker.runs),
                      static_cast<long long>(worker.sessions.load()),
                      static_cast<long long>(worker.cancelled)));
    if (!before)
      fail("--duration",
           formatted("time for %lld sessions", static_cast<long long>(kFirstSessions)), "less");
    check_held(formatted("%.0f s", options_.duration_s), *before, held_now());
  }

  // Runs both workers, and cancels from this thread. No session is left.
  void run_stretch(Worker (&workers)[2], uint32_t stretch, std::mt19937& random) {
    is_over_ = false;
    std::thread threads[] = {std::thread([&] { live(workers[0], 2 * stretch + 1); }),
                             std::thread([&] { live(workers[1], 2 * stretch + 2); })};
    const Clock::time_point end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(options_.duration_s / kStretches));
    while (!is_over_ && Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
      Worker& worker = workers[random() % 2];
      const std::lock_guard lock(worker.mutex);
      if (worker.session && random() % 4 == 0) worker.session.cancel();
    }
    is_over_ = true;
    for (std::thread& thread : threads) thread.join();
    for (Worker& worker : workers) {
      if (!worker.failure.empty()) throw ToolError(ExitCode::Internal, worker.failure);
      worker.session = {};
    }
  }

  const SoakOptions options_;
  Plan plan_;
  std::vector<std::string> variants_;
  Expected expected_;
  std::atomic<bool> is_over_{false};
};

int soak(const std::vector<std::string>& arguments) {
  SoakOptions options;
  CommandLine own;
  own.tool = kTool;
  own.version = runtime_version();
  own.usage = {"PLAN... [flags]"};
  own.summary =
      "For each plan: creates and destroys sessions; then runs two side by side, whose variants "
      "and "
      "options change, with cancels. Fails if an output's bits change, or memory, threads or "
      "descriptors grow. With --checked-runs: runs whose steps are checked, and nothing else.";
  own.groups = {
      {"How long",
       {{"duration", duration_value(&options.duration_s), "of the two sessions of a plan"},
        {"creations", integer_value<int32_t>("N", &options.creations, 1),
         "sessions of a plan that are created and destroyed"},
        {"checked-runs", integer_value<int64_t>("N", &options.checked_runs, 1, INT64_MAX, "none"),
         "runs of a plan's first variant, each with other inputs and a check of one GPU step"},
        {"leak", choice_value(&options.leak, kLeaks),
         "only create and destroy sessions, and leak this with each: a test of this program"}}},
      {"Where it runs",
       {{"cpu-cores", cores_value(&options.plan.cpu_cores, "not pinned"), "of the CPU's workers"},
        {"gpu-cores", cores_value(&options.plan.gpu_cores, "not pinned"),
         "of OpenCL that computes on the CPU; waits by flag and recorded steps are not refused "
         "then"}}}};
  own.exit_codes = "0 ok, 1 the input is wrong, 70 something changed, grew, differed or failed";
  const Arguments parsed = parse_command_line(own, arguments);
  if (parsed.answer) {
    print(*parsed.answer);
    return 0;
  }
  if (parsed.operands.empty()) fail_input("command line", "a PLAN", "none (see --help)");
  test::count_cl_objects();
  for (const std::string& path : parsed.operands) {
    options.plan.plan_path = path;
    print(path + "\n");
    std::fflush(stdout);
    Soak(options).run();
  }
  return 0;
}

}  // namespace
}  // namespace codl::tools

int main(int argc, char** argv) {
  return codl::tools::run_tool(codl::tools::kTool, argc, argv, codl::tools::soak);
}
