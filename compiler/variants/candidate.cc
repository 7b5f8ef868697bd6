#include "compiler/variants/candidate.h"

#include <algorithm>

#include "compiler/memory/fit_arena.h"
#include "compiler/memory/memory_plan.h"
#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/partition.h"
#include "compiler/schedule/bound_slices.h"
#include "compiler/schedule/concat_windows.h"
#include "compiler/simulate/measured/uncertainty.h"
#include "compiler/simulate/timing/figures.h"
#include "compiler/simulate/timing/plan_times.h"
#include "compiler/simulate/timing/simulate.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// A search by more than time begins with one by time alone, and has these shares of the budget for
// plans that are judged as a whole. Where floors of plans are known, most of them are not
// scheduled; else a plan takes ten times as long.
constexpr double kWholeShare = 0.5;
constexpr double kWholeShareWithoutFloors = 0.1;

// Where values may be floats or halves, a search in each of both comes first and has this share of
// the budget. What is left goes on from their plans and mixes them.
constexpr double kShareOfPrecision = 0.4;

// A search for a sure plan asks for this share of its few draws. If a plan has at least
// kAlmostSureShare of them, it asks for all draws.
constexpr double kSureShareOfSearch = 0.95;
constexpr double kAlmostSureShare = 0.85;

// Returns the plan's steps as they will run, without places in memory and predicted times.
llvm::Expected<Schedule> schedule_of(const ir::Graph& graph, const PartitionPlan& plan,
                                     const LatencyPredictor& predictor, const PlanLimits& limits,
                                     llvm::StringRef name) {
  CODL_ASSIGN_OR_RETURN(schedule, make_schedule(graph, plan, predictor, name));
  if (limits.max_gpu_slice_us)
    bound_gpu_slices(graph, schedule, predictor, *limits.max_gpu_slice_us);
  return schedule;
}

// Returns the most that write_into_concats() saves in any plan. Searches by time alone count a
// Concat's copies, with what always disturbs a processor and, on a GPU, with the host's calls.
double most_saved_us(const ir::Graph& graph, const LatencyPredictor& predictor) {
  const DeviceProfile& profile = predictor.profile();
  double us = 0;
  for (const ir::Node& node : graph.nodes()) {
    if (node.op != OpKind::Concat) continue;
    double most = 0;
    for (const Processor processor : {Processor::Cpu, Processor::Gpu}) {
      const bool is_called = processor == Processor::Gpu && profile.transfer.host.has_value();
      const double call_us = is_called ? profile.transfer.host->enqueue_us.value +
                                             profile.transfer.host->submit_us.value
                                       : 0;
      const double interference =
          profile.interference_percent[static_cast<size_t>(processor)].value / 100;
      each_kernel({graph, node}, processor, predictor, [&](const kernels::StepShape& step) {
        most = std::max(most, (predictor.predict_us(step, true) + predictor.launch_us(step)) *
                                      (1 + interference) +
                                  call_us);
      });
    }
    us += most;
  }
  return us;
}

// Evaluates whole plans for a search. Less is better.
class PlanJudge {
 public:
  PlanJudge(const ir::Graph& graph, const LatencyPredictor& predictor,
            const PartitionOptions& options, const Rival* rival)
      : graph_(graph),
        predictor_(predictor),
        options_(options),
        rival_(rival),
        times_(graph, predictor),
        saved_us_(most_saved_us(graph, predictor)) {}

  // Returns true if the score is what the steps take, and nothing more.
  bool is_time_alone() const {
    return rival_ == nullptr && is_of_time() && !options_.limits.limit_plans();
  }

  // Returns true if no score is below floor_ns(): limits and doubts only add to a plan's time.
  bool has_floor() const { return is_of_time() && !options_.limits.max_gpu_slice_us; }

  // Returns the best plan so far that is surely faster than the rival and meets all limits.
  const std::optional<PartitionPlan>& surest() const { return surest_; }

  // Returns the time of the plan's steps alone.
  llvm::Expected<int64_t> time_ns(const PartitionPlan& plan) {
    CODL_ASSIGN_OR_RETURN(time_us, times_.time_us(plan));
    return nanoseconds_of(time_us);
  }

  llvm::Expected<int64_t> floor_ns(const PartitionPlan& plan) {
    CODL_ASSIGN_OR_RETURN(time_us, times_.time_us(plan));
    return nanoseconds_of(std::max(time_us - saved_us_, 0.0));
  }

  // If `limit_weight` is unset, plans that keep all limits come before those that do not.
  llvm::Expected<int64_t> score(const PartitionPlan& plan,
                                std::optional<double> limit_weight = std::nullopt) {
    const PlanLimits& limits = options_.limits;
    const DeviceProfile& profile = predictor_.profile();
    CODL_ASSIGN_OR_RETURN(schedule, schedule_of(graph_, plan, predictor_, limits, ""));
    write_into_concats(schedule);
    // Only this limit's figure needs a memory plan.
    if (limits.max_arena_bytes)
      if (llvm::Error error = plan_memory(schedule, profile)) return error;
    if (llvm::Error error = predict(schedule, profile)) return error;
    PlanFigures figures;
    figures.predicted_us = schedule.predicted_us;
    if (options_.objective != Objective::Latency || limits.limit_plans()) {
      CODL_ASSIGN_OR_RETURN(all, figures_of(schedule, profile));
      figures = all;
    }
    if (rival_ != nullptr) {
      CODL_ASSIGN_OR_RETURN(share, share_of_wins_in(rival_->few, schedule));
      const int64_t without_doubt = score_of(figures, options_.objective, limits);
      if (share >= kAlmostSureShare && is_met(without_doubt) && without_doubt < surest_score_) {
        CODL_ASSIGN_OR_RETURN(share_of_all, share_of_wins_in(rival_->all, schedule));
        if (share_of_all >= kSureShare) {
          surest_ = plan;
          surest_score_ = without_doubt;
        }
      }
      figures.predicted_us *= 1 + kDoubtWeight * std::max(kSureShareOfSearch - share, 0.0);
    }
    return limit_weight ? weighted_score_of(figures, options_.objective, limits, *limit_weight)
                        : score_of(figures, options_.objective, limits);
  }

 private:
  static llvm::Expected<double> share_of_wins_in(const Rival::InDraws& rival,
                                                 const Schedule& schedule) {
    CODL_ASSIGN_OR_RETURN(drawn_us, rival.draws.latencies_us(schedule));
    return share_of_wins(drawn_us, rival.us);
  }

  bool is_of_time() const { return options_.objective == Objective::Latency; }

  static int64_t nanoseconds_of(double us) { return std::llround(std::min(us * 1e3, 1e17)); }

  const ir::Graph& graph_;
  const LatencyPredictor& predictor_;
  const PartitionOptions& options_;
  const Rival* rival_;
  PlanTimes times_;
  const double saved_us_;
  std::optional<PartitionPlan> surest_;
  int64_t surest_score_ = INT64_MAX;
};

// Whether the CPU computes a node of the network itself, beside conversions.
bool has_cpu_work(const ir::Graph& graph, const PartitionPlan& plan) {
  return llvm::any_of(plan.node_partitions, [&](const NodePartition& node_partition) {
    return node_partition.part_on(Processor::Cpu) != nullptr &&
           graph.node(node_partition.node).op != OpKind::Convert;
  });
}

// The strategy's name; for a plan of the search, or one of `cpu` whose places are on the GPU, that
// of the processors which compute it.
std::string name_of(const ir::Graph& graph, const PartitionOptions& options,
                    const PartitionPlan& plan) {
  const bool has_places = options.strategy == "cpu" && uses_gpu(plan);
  if (!options.is_optimal() && !has_places) return options.strategy;
  if (!uses_gpu(plan)) return "cpu";
  return has_cpu_work(graph, plan) ? kCoexecVariant : "gpu";
}

}  // namespace

bool uses_gpu(const PartitionPlan& plan) {
  return llvm::any_of(plan.node_partitions, [](const NodePartition& node_partition) {
    return node_partition.part_on(Processor::Gpu) != nullptr;
  });
}

llvm::Expected<Candidate> finish_candidate(const ir::Graph& graph,
                                           const LatencyPredictor& predictor,
                                           const PlanLimits& limits, Optimum optimum,
                                           llvm::StringRef name) {
  const DeviceProfile& profile = predictor.profile();
  CODL_ASSIGN_OR_RETURN(schedule, schedule_of(graph, optimum.plan, predictor, limits, name));
  write_into_concats(schedule);
  if (llvm::Error error = check_races(graph, schedule)) return error;
  if (llvm::Error error = plan_memory(schedule, profile)) return error;
  if (limits.max_arena_bytes && arena_bytes_of(schedule, profile) > *limits.max_arena_bytes) {
    // Tiles come before launches are cut, because a tile is one step.
    PlanLimits others = limits;
    others.max_gpu_slice_us.reset();
    CODL_ASSIGN_OR_RETURN(whole, schedule_of(graph, optimum.plan, predictor, others, name));
    if (llvm::Error error = fit_arena(graph, whole, predictor, *limits.max_arena_bytes))
      return error;
    if (limits.max_gpu_slice_us)
      bound_gpu_slices(graph, whole, predictor, *limits.max_gpu_slice_us);
    schedule = std::move(whole);
    if (llvm::Error error = check_races(graph, schedule)) return error;
    if (llvm::Error error = plan_memory(schedule, profile)) return error;
  }
  if (llvm::Error error = check_work_groups(schedule, profile)) return error;
  if (llvm::Error error = check_memory_plan(schedule)) return error;
  if (llvm::Error error = predict(schedule, profile)) return error;
  CODL_ASSIGN_OR_RETURN(figures, figures_of(schedule, profile));
  return Candidate{std::move(optimum.plan), std::move(schedule), figures, optimum.evaluations};
}

namespace {

// Makes a candidate in one go: as make_candidate() does where no precision is to be chosen.
llvm::Expected<Candidate> make_at_once(const ir::Graph& graph, const LatencyPredictor& predictor,
                                       const PartitionOptions& options, const SearchStart& start) {
  Optimum optimum;
  if (options.is_optimal() && !options.forces_split() && predictor.profile().has_gpu &&
      options.search_budget > 0) {
    PlanJudge judge(graph, predictor, options, start.rival);
    const auto time = [&](const PartitionPlan& plan) { return judge.time_ns(plan); };
    const auto floor = [&](const PartitionPlan& plan) { return judge.floor_ns(plan); };
    const auto score = [&](const PartitionPlan& plan) { return judge.score(plan); };
    const auto weighted = [&](const PartitionPlan& plan, double limit_weight) {
      return judge.score(plan, limit_weight);
    };
    const auto whole_budget = static_cast<uint32_t>(std::ceil(
        (judge.has_floor() ? kWholeShare : kWholeShareWithoutFloors) * options.search_budget));
    PartitionOptions searched = options;
    if (!judge.is_time_alone()) searched.search_budget -= whole_budget;
    std::vector<PartitionPlan> seeds = start.seeds;
    // A search for a plan that is sure begins with the fastest.
    if (start.rival == nullptr && searched.search_budget > 0) {
      CODL_ASSIGN_OR_RETURN(fastest, optimal_partition(graph, predictor, searched, time, seeds));
      optimum = std::move(fastest);
    }
    if (!judge.is_time_alone()) {
      // Many plans are timed in the time that one is judged: the fastest is a seed.
      if (optimum.evaluations > 0) seeds.insert(seeds.begin(), std::move(optimum.plan));
      JudgeHelp help;
      if (judge.has_floor()) help.floor = floor;
      if (judge.has_floor() && options.limits.limit_plans()) help.weighted = weighted;
      searched.search_budget = options.search_budget - optimum.evaluations;
      if (!judge.has_floor()) searched.search_budget = whole_budget;
      CODL_ASSIGN_OR_RETURN(found,
                            optimal_partition(graph, predictor, searched, score, seeds, help));
      found.evaluations += optimum.evaluations;
      optimum = std::move(found);
    }
    if (judge.surest()) optimum.plan = *judge.surest();
  } else {
    CODL_ASSIGN_OR_RETURN(plan, partition(graph, predictor, options));
    optimum.plan = std::move(plan);
  }
  const std::string name = name_of(graph, options, optimum.plan);
  return finish_candidate(graph, predictor, options.limits, std::move(optimum), name);
}

}  // namespace

llvm::Expected<Candidate> make_candidate(const ir::Graph& graph, const LatencyPredictor& predictor,
                                         const PartitionOptions& options,
                                         const SearchStart& start) {
  const bool chooses = options.auto_as == Precision::Auto &&
                       precision_of(graph) == Precision::Auto && start.seeds.empty();
  if (!chooses) return make_at_once(graph, predictor, options, start);
  std::optional<Candidate> best;
  const auto score = [&](const Candidate& candidate) {
    return score_of(candidate.figures, options.objective, options.limits);
  };
  SearchStart from = start;
  uint32_t judged = 0;
  for (const Precision precision : {Precision::Fp32, Precision::Fp16, Precision::Auto}) {
    const bool is_last = precision == Precision::Auto;
    PartitionOptions one = options;
    one.auto_as = precision;
    one.search_budget = is_last ? options.search_budget - judged
                                : static_cast<uint32_t>(kShareOfPrecision * options.search_budget);
    CODL_ASSIGN_OR_RETURN(made, make_at_once(graph, predictor, one, is_last ? from : start));
    judged += made.evaluations;
    from.seeds.push_back(made.partition);
    if (!best || score(made) < score(*best)) best = std::move(made);
  }
  best->evaluations = judged;
  return std::move(*best);
}

llvm::Expected<Candidate> best_candidate(const ir::Graph& graph, const LatencyPredictor& predictor,
                                         const PartitionOptions& options,
                                         const SearchStart& start) {
  if (!options.limits.max_arena_bytes || !options.is_optimal())
    return make_candidate(graph, predictor, options, start);
  PartitionOptions half = options;
  half.search_budget -= options.search_budget / 2;
  CODL_ASSIGN_OR_RETURN(fits, make_candidate(graph, predictor, half, start));
  PartitionOptions free = options;
  free.search_budget /= 2;
  free.limits.max_arena_bytes.reset();
  CODL_ASSIGN_OR_RETURN(large, make_candidate(graph, predictor, free, start));
  Optimum plan{std::move(large.partition), 0, fits.evaluations + large.evaluations};
  CODL_ASSIGN_OR_RETURN(tiled, finish_candidate(graph, predictor, options.limits, std::move(plan),
                                                large.schedule.name));
  const auto score = [&](const Candidate& candidate) {
    return score_of(candidate.figures, options.objective, options.limits);
  };
  fits.evaluations += large.evaluations;
  return score(tiled) < score(fits) ? std::move(tiled) : std::move(fits);
}

}  // namespace codl::compiler
