// Computes what MACE's kernels, as CoDL ran them on phones, demand of a processor. It uses codl's
// own machines, terms and shares, and is the ladder's (ladder.py) only model of a step's cost.
//
//   mace_cost < REQUESTS     answers each line with one
//
// terms PHONE cpu|gpu OP: the kernel's class, and microseconds of compute, read, written, weights
// and step.
// shares PHONE cpu|gpu CLASS C R W WEIGHTS STEP: from now on a step of the class takes these
// shares; the answer is "ok".
// time PHONE cpu|gpu OP: microseconds.
//
// OP is conv|pool|fc KERNEL STRIDE IN_ROWS IN_COLS IN_CHANNELS OUT_CHANNELS, the input with its
// padding.
//
// PHONE is a profile, whose machine it is. How a step is cut into blocks, threads, work-groups and
// waves follows from the shapes and from the constants that CoDL's released code holds for the
// phone.
#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "compiler/cost/calibration.h"
#include "compiler/cost/step_cost.h"
#include "compiler/device/device_profile.h"
#include "kernels/common/contract/tasks.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {
namespace {

// Describes an operator, or the part of one that a processor computes.
struct MaceOp {
  std::string kind;  // conv, pool, fc
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t in_rows = 1;
  int64_t in_cols = 1;
  int64_t in_channels = 1;
  int64_t out_channels = 1;

  int64_t out_rows() const { return (in_rows - kernel) / stride + 1; }
  int64_t out_cols() const { return (in_cols - kernel) / stride + 1; }
  double in_bytes() const {
    return static_cast<double>(sizeof(float)) *
           static_cast<double>(in_rows * in_cols * in_channels);
  }
  double out_bytes() const {
    return static_cast<double>(sizeof(float)) *
           static_cast<double>(out_rows() * out_cols() * out_channels);
  }
};

// Constants that the released code has for a phone, or asks its driver for.
struct MaceConstants {
  int64_t cache_bytes;
  int64_t units;  // that work-groups are sized for, whatever the GPU has
  int64_t most_items;
};
const std::map<std::string, MaceConstants> kConstants = {{"sd855", {128 << 10, 2, 1024}},
                                                         {"sd865", {128 << 10, 2, 1024}},
                                                         {"sd888", {256 << 10, 3, 1024}},
                                                         {"kirin990", {512 << 10, 16, 384}}};

int64_t blocks(int64_t count, int64_t size) { return (count + size - 1) / size; }
int64_t rounded(int64_t count, int64_t size) { return blocks(count, size) * size; }

// ---- CPU ----------------------------------------------------------------------------------------

// Returns the time of the slowest thread, if the fastest core takes 1 for all `items`: each thread
// has two tiles in a static schedule, whatever its core.
double busiest_share(int64_t items, const Machine& machine) {
  constexpr int64_t kTilesPerThread = 2;
  const int64_t threads = machine.cpu_threads;
  const int64_t tile = std::max<int64_t>(1, items / (threads * kTilesPerThread));
  const int64_t most = tile * blocks(blocks(items, tile), threads);
  double slowest = 1;
  for (const uint16_t speed : machine.cpu_worker_speeds)
    slowest = std::min(slowest, static_cast<double>(speed) / kFullSpeed);
  return static_cast<double>(most) / static_cast<double>(items) / slowest;
}

// Counts a product in blocks of 8 x 8 x 4; threads share the blocks of rows.
void count_product(int64_t rows, int64_t cols, int64_t depth, int64_t times, const Machine& machine,
                   kernels::StepWork& work) {
  work.macs = static_cast<double>(times * rounded(rows, 8) * rounded(cols, 8) * rounded(depth, 4));
  work.tasks = static_cast<double>(blocks(rows, 8));
  work.busiest_share = busiest_share(blocks(rows, 8), machine);
}

// Fills `work`; returns the class, which has shares of its own.
std::string cpu_work(const MaceOp& op, const Machine& machine, kernels::StepWork& work) {
  work.read_bytes = op.in_bytes();
  work.written_bytes = op.out_bytes();
  work.busiest_share = busiest_share(machine.cpu_threads * 2, machine);
  work.tasks = machine.cpu_threads;
  if (op.kind == "fc")
    work.weight_bytes =
        static_cast<double>(sizeof(float)) * static_cast<double>(op.in_channels * op.out_channels);
  if (op.kind != "conv") return op.kind;
  const int64_t pixels = op.out_rows() * op.out_cols();
  if (op.kernel == 1 && op.stride == 1) {
    count_product(op.out_channels, pixels, op.in_channels, 1, machine, work);
    return "gemm";
  }
  if (op.kernel == 3 && op.stride == 1 && op.in_channels >= 8 && op.out_channels >= 8) {
    const int64_t tile = op.in_rows > 16 && op.in_cols > 16 ? 6 : 2;
    const int64_t tiles = blocks(op.out_rows(), tile) * blocks(op.out_cols(), tile);
    const int64_t area = (tile + 2) * (tile + 2);
    count_product(op.out_channels, tiles, op.in_channels, area, machine, work);
    // Transformed inputs and products are written and read.
    const double moved = static_cast<double>(sizeof(float)) *
                         static_cast<double>(area * tiles * (op.in_channels + op.out_channels));
    work.read_bytes += moved;
    work.written_bytes += moved;
    return "gemm";
  }
  // The direct kernel computes some channels of an item, four columns at a time.
  const int64_t channels = op.kernel == 3 ? (op.stride == 1 ? 2 : 1) : 4;
  const int64_t items = blocks(op.out_channels, channels);
  work.macs = static_cast<double>(items * channels * op.out_rows() * rounded(op.out_cols(), 4) *
                                  op.in_channels * op.kernel * op.kernel);
  work.tasks = static_cast<double>(items);
  work.busiest_share = busiest_share(items, machine);
  return op.kernel <= 3 ? "d3" : "dbig";
}

// ---- GPU ----------------------------------------------------------------------------------------

using Size = std::array<int64_t, 3>;  // channels, columns, rows

// Uses the heuristics of CoDL's kernels: one for 1x1, one for 3x3, one for the rest.
Size work_group(const Size& global, int64_t block, int64_t kernel, const MaceConstants& phone) {
  int64_t base = std::max<int64_t>(phone.cache_bytes / 16384, 1);
  const int64_t item_bytes = (2 * block + 4) * 16;
  const auto [channels, cols, rows] = global;
  const int64_t group_cols = std::min(cols, phone.most_items);
  const int64_t most_channels = phone.most_items / group_cols;
  const int64_t in_cache = phone.cache_bytes / item_bytes;
  const int64_t half_units = std::max<int64_t>(phone.units / 2, 1);
  int64_t group_channels = 0;
  int64_t group_rows = 0;
  int64_t fallback = 0;
  if (kernel == 1) {
    const int64_t wanted = group_cols >= base || (group_cols > 1 && channels >= 128)
                               ? std::min(channels, base)
                           : channels / 8 >= base ? channels / 8
                                                  : std::max(channels / 4, base);
    group_channels = std::min(wanted, most_channels);
    group_rows = in_cache / (group_channels * group_cols) / half_units * 8;
    fallback = std::min(rows, base);
  } else if (kernel == 3) {
    base = std::min<int64_t>(base, 4);
    group_channels = std::min({channels, base, most_channels});
    group_rows = rounded(in_cache / (group_channels * group_cols) / half_units, base);
    fallback = std::min(rows, base);
  } else {
    group_channels = std::min(channels / 4 == 0 ? channels : channels / 4, most_channels);
    group_rows = in_cache / kernel / (group_channels * group_cols) / phone.units * 8;
    fallback = rows < 20 ? rows : base;
  }
  group_rows = std::min(group_rows, rows);
  if (group_rows == 0) group_rows = fallback;
  const int64_t most_rows = phone.most_items / (group_channels * group_cols);
  return {group_channels, group_cols, std::max<int64_t>(std::min(group_rows, most_rows), 1)};
}

std::string gpu_work(const MaceOp& op, const Machine& machine, const MaceConstants& phone,
                     kernels::StepWork& work) {
  work.launches = work.work_groups = work.waves = 1;
  if (op.kind == "fc") {
    work.weight_bytes =
        static_cast<double>(sizeof(float)) * static_cast<double>(op.in_channels * op.out_channels);
    return "fc";
  }
  work.read_bytes = op.in_bytes();
  work.written_bytes = op.out_bytes();
  if (op.kind == "pool") return "pool";
  // An item makes four channels of a block of columns; groups are whole waves.
  const int64_t block = op.kernel == 3 ? 5 : 4;
  const Size global = {blocks(op.out_channels, 4), blocks(op.out_cols(), block), op.out_rows()};
  const Size group = work_group(global, block, op.kernel, phone);
  int64_t groups = 1;
  int64_t group_items = 1;
  int64_t items = 1;
  for (int i = 0; i < 3; ++i) {
    groups *= blocks(global[i], group[i]);
    group_items *= group[i];
    items *= global[i];
  }
  const auto wave = static_cast<int64_t>(machine.gpu.wave_width);
  const double filled = static_cast<double>(items) *
                        static_cast<double>(rounded(group_items, wave)) /
                        static_cast<double>(group_items);
  work.work_groups = static_cast<double>(groups);
  work.waves = static_cast<double>(groups * blocks(group_items, wave));
  work.work_items = filled;
  work.macs =
      filled * static_cast<double>(4 * block * rounded(op.in_channels, 4) * op.kernel * op.kernel);
  if (op.kernel == 3) return op.stride == 1 ? "k3" : "k3s2";
  return op.kernel == 1 ? "k1" : "kbig";
}

// ---- requests -----------------------------------------------------------------------------------

constexpr Term kTerms[] = {Term::Compute, Term::Read, Term::Written, Term::Weights, Term::Step};

class Costs {
 public:
  // Returns the answer to a line.
  std::string answer(const std::string& line) {
    std::istringstream in(line);
    std::string what, phone, processor;
    in >> what >> phone >> processor;
    if (!(in && kConstants.count(phone) != 0 && (processor == "cpu" || processor == "gpu")))
      return "error: expected terms, shares or time, a phone of CoDL's, cpu or gpu";
    std::ostringstream out;
    out.precision(9);
    if (what == "shares") {
      std::string name;
      in >> name;
      Shares& shares = shares_[phone + processor + name];
      for (const Term term : kTerms) in >> shares[term];
      return in ? "ok" : "error: expected a class and five shares";
    }
    MaceOp op;
    in >> op.kind >> op.kernel >> op.stride >> op.in_rows >> op.in_cols >> op.in_channels >>
        op.out_channels;
    if (!in || op.out_rows() < 1 || op.out_cols() < 1 || op.in_channels < 1 || op.out_channels < 1)
      return "error: expected an operator";
    const Machine& machine = profile_of(phone).machine;
    kernels::StepWork work;
    TermTimes times;
    std::string name;
    if (processor == "cpu") {
      name = cpu_work(op, machine, work);
      times = cpu_times(work, machine.cpu, machine.cpu_threads, false);
    } else {
      name = gpu_work(op, machine, kConstants.at(phone), work);
      times = gpu_times(work, machine.gpu, machine.is_gpu_a_processor, false);
    }
    if (what == "time") {
      out << weigh(times, shares_[phone + processor + name]);
    } else {
      out << name;
      for (const Term term : kTerms) out << ' ' << times[term];
    }
    return out.str();
  }

 private:
  const DeviceProfile& profile_of(const std::string& phone) {
    std::unique_ptr<DeviceProfile>& profile = profiles_[phone];
    if (profile == nullptr)
      profile = std::make_unique<DeviceProfile>(llvm::cantFail(load_device_profile(phone)));
    return *profile;
  }

  std::map<std::string, std::unique_ptr<DeviceProfile>> profiles_;
  std::map<std::string, Shares> shares_;  // keyed by phone, processor and class
};

}  // namespace
}  // namespace codl::compiler

int main() {
  codl::compiler::Costs costs;
  std::string line;
  while (std::getline(std::cin, line)) std::cout << costs.answer(line) << std::endl;
  return 0;
}
