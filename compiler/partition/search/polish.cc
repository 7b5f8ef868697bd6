#include "compiler/partition/search/polish.h"

#include <algorithm>
#include <random>
#include <unordered_map>

#include "compiler/partition/search/change_costs.h"
#include "compiler/partition/search/plan_changes.h"
#include "compiler/partition/search/random_changes.h"

namespace codl::compiler {
namespace {

// Annealing gets this share of the budget that is left when no single change helps. At first a
// change may make the plan slower by kWarmth. It tries this many changes for each that it judges.
constexpr double kAnnealed = 0.8;
constexpr double kWarmth = 0.02;
constexpr uint32_t kTriesOfOne = 16;

// There are at most as many kicks as if each judged this many plans.
constexpr uint32_t kMinOfKick = 8;

// The plan is improved again in this many nodes before and after those that were moved.
constexpr ir::NodeId kAround = 1;

// mix() puts this many nodes on different processors in every way. At every place it judges
// 2^kMixed plans, or 3^kMixed where the GPU has two forms; with floats and halves to choose from,
// 6^kMixedInHalves.
constexpr ir::NodeId kMixed = 5;
constexpr ir::NodeId kMixedInHalves = 3;

class Polisher : private ChangeJudge {
 public:
  Polisher(const CostModel& costs, const PartitionOptions& options, const PartitionPlan& seed,
           uint32_t budget, JudgePlan judge, FloorOfPlan floor)
      : budget_(budget),
        judge_(judge),
        floor_(floor),
        judges_time_alone_(options.objective == Objective::Latency &&
                           !options.limits.limit_plans()),
        mixed_(costs.chooses_precision() ? kMixedInHalves : kMixed),
        list_(seed),
        changes_(costs, options, list_),
        in_turn_(costs, changes_, list_, *this),
        at_random_(costs, changes_, list_),
        change_costs_(costs, list_) {}

  llvm::Expected<Polished> run() {
    ++evaluations_;
    llvm::Expected<int64_t> ns = judge_(list_.plan());
    if (!ns) return ns.takeError();
    now_ns_ = below_ns_ = *ns;
    key_ = key_of(list_.runs());
    known_[key_] = {now_ns_};
    const ir::NodeId last = list_.node_count() - 1;
    improve(0, last);
    if (const auto left =
            static_cast<uint32_t>(kAnnealed * (budget_ - std::min(evaluations_, budget_)))) {
      anneal(left);
      improve(0, last);
    }
    // Counted: where all plans around are known, none is judged.
    for (uint32_t kicks = 0; kicks < budget_ / kMinOfKick && !is_over(); ++kicks) kick();
    mix();
    if (error_) return std::move(*error_);
    return Polished{plan_of(list_.runs()), now_ns_, evaluations_};
  }

 private:
  struct Known {
    int64_t ns = 0;
    bool is_floor = false;  // the plan takes no less, maybe more
  };

  bool is_over() const override { return error_.has_value() || evaluations_ >= budget_; }

  bool try_change(std::optional<Change> change) override {
    if (!change || is_over()) return false;
    const llvm::ArrayRef<RunPtr> old = list_.stretch(change->begin, change->end);
    const uint64_t key = key_ ^ key_of(old) ^ key_of(change->runs);
    if (key == key_) return false;
    const auto known = known_.find(key);
    if (known != known_.end()
            ? known->second.ns >= below_ns_
            : judges_time_alone_ && below_ns_ != INT64_MAX && change_costs_.is_hopeless(*change))
      return false;
    list_.show(change->runs);
    const bool is_judged = known != known_.end() && !known->second.is_floor;
    const Known now = is_judged ? known->second : judge_shown();
    known_[key] = now;
    if (error_ || now.ns >= below_ns_) {
      list_.show(old);
      return false;
    }
    now_ns_ = below_ns_ = now.ns;
    key_ = key;
    list_.replace(change->begin, change->end, std::move(change->runs));
    return true;
  }

  Known judge_shown() {
    ++evaluations_;
    for (const bool is_floor : {true, false}) {
      if (is_floor && (!floor_ || below_ns_ == INT64_MAX)) continue;
      llvm::Expected<int64_t> ns = is_floor ? floor_(list_.plan()) : judge_(list_.plan());
      if (!ns) {
        error_.emplace(ns.takeError());
        break;
      }
      if (!is_floor || *ns >= below_ns_) return {*ns, is_floor};
    }
    return {INT64_MAX};
  }

  // Changes at nodes [first, last] until none helps.
  void improve(ir::NodeId first, ir::NodeId last) {
    bool has_improved = true;
    while (has_improved && !is_over()) {
      has_improved = false;
      // Positions are nodes, as runs come and go.
      for (ir::NodeId node = first; node <= last && !is_over(); ++node)
        has_improved |= in_turn_.at(node);
      has_improved |= in_turn_.of_branches(first, last);
    }
  }

  // Tries random changes until `evaluations` of them have been judged. Some that make the plan
  // slower are kept, fewer and less slow ones as it goes on. Then returns to the best plan of all.
  void anneal(uint32_t evaluations) {
    Runs best = list_.runs();
    int64_t best_ns = now_ns_;
    const uint32_t begin = evaluations_;
    // Tries are counted, because a change that cannot be made judges nothing.
    for (uint32_t tries = 0; tries / kTriesOfOne < evaluations && !is_over(); ++tries) {
      const double done = static_cast<double>(evaluations_ - begin) / evaluations;
      if (done >= 1) break;
      const double chance = draw_share(random_);
      below_ns_ = now_ns_ + 1 +
                  static_cast<int64_t>(static_cast<double>(now_ns_) * kWarmth * (1 - done) *
                                       chance * chance * chance);
      try_change(at_random_.small());
      if (now_ns_ >= best_ns) continue;
      best = list_.runs();
      best_ns = now_ns_;
    }
    go_back_to(best, best_ns);
  }

  // Moves some nodes elsewhere and improves the plan around them. Restores the plan if the result
  // is no better.
  void kick() {
    const Runs runs = list_.runs();
    const int64_t ns = now_ns_;
    below_ns_ = INT64_MAX;  // whatever comes is kept
    RandomChanges::Kick kick = at_random_.kick();
    if (try_change(std::move(kick.change)))
      improve(kick.first < kAround ? 0 : kick.first - kAround,
              std::min(kick.last + kAround, list_.node_count() - 1));
    if (now_ns_ < ns)
      below_ns_ = now_ns_;
    else
      go_back_to(runs, ns);
  }

  // Nodes on different processors in turn may only pay together: no row of changes that each help
  // leads there, and where all on one processor is the best around, a kick hardly ever does. Last,
  // as it is of small graphs, whose other plans around are known by then.
  void mix() {
    const ir::NodeId count = list_.node_count();
    const ir::NodeId length = std::min(mixed_, count);
    for (bool has_improved = true; has_improved && !is_over();) {
      has_improved = false;
      for (ir::NodeId first = 0; first + length <= count && !is_over(); ++first)
        has_improved |= in_turn_.mixes(first, first + length - 1);
      if (has_improved) improve(0, count - 1);
    }
  }

  void go_back_to(const Runs& runs, int64_t ns) {
    now_ns_ = below_ns_ = ns;
    list_.go_back_to(runs);
    key_ = key_of(runs);
  }

  const uint32_t budget_;
  JudgePlan judge_;
  FloorOfPlan floor_;
  // Costs of segments say nothing of limits, and of other objectives.
  const bool judges_time_alone_;
  const ir::NodeId mixed_;  // nodes that mix() takes at once
  RunList list_;            // runs of the current plan
  const PlanChanges changes_;
  ChangesInTurn in_turn_;
  RandomChanges at_random_;
  const ChangeCosts change_costs_;
  uint64_t key_ = 0;                           // key of the current plan
  std::unordered_map<uint64_t, Known> known_;  // keyed by plan, so that each is judged once
  int64_t now_ns_ = 0;                         // time of the current plan
  int64_t below_ns_ = 0;  // a change is kept where it takes less; INT64_MAX: always
  uint32_t evaluations_ = 0;
  std::optional<llvm::Error> error_;
  std::mt19937 random_{1};  // how much slower a change may be; not the numbers of at_random_
};

}  // namespace

llvm::Expected<Polished> polish(const CostModel& costs, const PartitionOptions& options,
                                const PartitionPlan& seed, uint32_t budget, JudgePlan judge,
                                FloorOfPlan floor) {
  return Polisher(costs, options, seed, budget, judge, floor).run();
}

}  // namespace codl::compiler
