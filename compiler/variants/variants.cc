#include "compiler/variants/variants.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "compiler/device/busy_profile.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// The shares and counts below are chosen by trial: with them no plan of nine networks on five
// phones was slower than the plans of separate budgets.
//
// If limits may be why one processor is kept, this share of the budget is for the plan without
// them.
constexpr double kShareOfReason = 0.1;

// This share of the others is left to go on with from the plan that the first search finds.
constexpr double kShareOfRest = 0.5;

// Where values may be floats or halves, each of both has the whole budget, and plans that mix them
// have this share of it.
constexpr double kShareOfMixing = 0.2;

// A budget is searched with twice: a part of it goes first, unless it is small.
constexpr uint32_t kNestedPart = 4;
constexpr uint32_t kMinNestedBudget = 500;

// The report tells of a plan with weights of any size only if it gains that much.
constexpr double kMinGain = 0.005;

// A search compares plans with a rival in this many draws.
constexpr size_t kDrawsOfSearch = 40;

// Takes, of the draws, each fifth by how a plan stands to its rival in them: of plans like that one
// they say what all draws do, which those drawn first may not.
Rival::InDraws some_of(const Rival::InDraws& rival, llvm::ArrayRef<double> plan_us) {
  std::vector<size_t> order(plan_us.size());
  std::iota(order.begin(), order.end(), size_t{0});
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return plan_us[a] * rival.us[b] < plan_us[b] * rival.us[a];
  });
  const size_t step = order.size() / kDrawsOfSearch;
  std::vector<size_t> chosen;
  std::vector<double> chosen_us;
  for (size_t i = step / 2; i < order.size(); i += step) {
    chosen.push_back(order[i]);
    chosen_us.push_back(rival.us[order[i]]);
  }
  return {rival.draws.some(chosen), std::move(chosen_us)};
}

const char* name_of(Processor processor) {
  return processor == Processor::Cpu ? "the CPU alone" : "the GPU alone";
}

}  // namespace

// Holds the best plan of one processor alone that meets the limits, by the options' objective.
struct VariantMaker::BestSingle {
  Processor processor = Processor::Cpu;
  const Candidate* candidate = nullptr;
  Rival::InDraws in_draws;

  // Returns the share of the draws in which the plan is faster.
  llvm::Expected<double> sure_share_of(const Candidate& plan) const {
    CODL_ASSIGN_OR_RETURN(drawn_us, in_draws.draws.latencies_us(plan.schedule));
    return share_of_wins(drawn_us, in_draws.us);
  }
};

VariantMaker::VariantMaker(const ir::Graph& graph, const LatencyPredictor& predictor,
                           const PartitionOptions& options, const WeightsOfEntries& others)
    : VariantMaker(graph, predictor, options, StoredWeights(graph, others),
                   most_weight_bytes(graph, options.limits.max_weights)) {}

VariantMaker::VariantMaker(const ir::Graph& graph, const LatencyPredictor& predictor,
                           const PartitionOptions& options, StoredWeights others,
                           std::optional<uint64_t> most_bytes)
    : graph_(graph),
      predictor_(predictor),
      options_(options),
      most_weight_bytes_(most_bytes),
      needs_choice_(most_weight_bytes_ &&
                    most_bytes_of_any(graph, predictor, others) > *most_weight_bytes_),
      of_others_(std::move(others)),
      stored_(of_others_),
      free_(of_others_) {}

std::optional<FreePlan> VariantMaker::without_weight_limit() const {
  if (!is_limited_) return std::nullopt;
  const auto score = [&](const PlanFigures& figures) {
    return static_cast<double>(score_of(figures, options_.objective, options_.limits));
  };
  if (score(first_free_) > score(*first_) * (1 - kMinGain)) return std::nullopt;
  return FreePlan{first_free_, free_.bytes()};
}

llvm::Expected<Candidate> VariantMaker::fit(const PartitionOptions& options,
                                            const StoredWeights& stored, MakeCandidate make,
                                            const BestSingle* alone) const {
  if (!needs_choice_) return make(options, {});
  const WeightRoom room{graph_, predictor_, stored, *most_weight_bytes_};
  return fit_weights(room, options, make, [&](const Candidate& made) -> llvm::Expected<double> {
    double doubt = 0;
    if (alone != nullptr) {
      CODL_ASSIGN_OR_RETURN(sure_share, alone->sure_share_of(made));
      doubt = std::max(kSureShare - sure_share, 0.0);
    }
    PlanFigures doubted = made.figures;
    doubted.predicted_us *= 1 + kDoubtWeight * doubt;
    return static_cast<double>(score_of(doubted, options.objective, options.limits));
  });
}

// The plan has what `stored` leaves of the weights, and these for nothing.
llvm::Expected<Candidate> VariantMaker::make_alone(Processor processor, const StoredWeights& stored,
                                                   const PlanLimits& limits) const {
  PartitionOptions options = options_;
  options.limits = limits;
  options.strategy = processor == Processor::Cpu ? "cpu" : "gpu";
  options.split_dim = SplitDim::None;
  options.ratio.reset();
  options.objective = Objective::Latency;
  options.limits.places.clear();
  return fit(options, stored, [&](const PartitionOptions& fitting, const SearchStart&) {
    return make_candidate(graph_, predictor_, fitting);
  });
}

llvm::Expected<const Candidate*> VariantMaker::alone_on(Processor processor) {
  std::optional<Candidate>& made = alone_[static_cast<size_t>(processor)];
  if (!made) {
    CODL_ASSIGN_OR_RETURN(candidate, make_alone(processor, of_others_, options_.limits));
    made = std::move(candidate);
  }
  return &*made;
}

llvm::Expected<PlanFigures> VariantMaker::unlimited_alone_on(Processor processor) {
  std::optional<PlanFigures>& figures = unlimited_alone_[static_cast<size_t>(processor)];
  if (!figures && !options_.limits.limit_plans()) {
    CODL_ASSIGN_OR_RETURN(alone, alone_on(processor));
    figures = alone->figures;
  } else if (!figures) {
    PlanLimits limits;
    limits.max_weights = options_.limits.max_weights;
    CODL_ASSIGN_OR_RETURN(alone, make_alone(processor, of_others_, limits));
    figures = alone.figures;
  }
  return *figures;
}

// Makes the same as a variant of the plan.
llvm::Expected<MadeVariant> VariantMaker::alone_in_plan(Processor processor) {
  CODL_ASSIGN_OR_RETURN(alone, alone_on(processor));
  if (!needs_choice_) return MadeVariant{*alone};
  CODL_ASSIGN_OR_RETURN(made, make_alone(processor, stored_, options_.limits));
  MadeVariant variant{std::move(made)};
  if (variant.candidate.schedule.predicted_us != alone->schedule.predicted_us)
    variant.with_all_weights = alone;
  return variant;
}

// Returns what is asked for without a search. If both processors are the same cores, this is the
// CPU: a GPU kernel's predicted gain is only a difference of kernels, which the next profile may
// not have.
llvm::Expected<std::optional<MadeVariant>> VariantMaker::without_search() {
  for (const auto& [strategy, processor] :
       {std::pair("cpu", Processor::Cpu), std::pair("gpu", Processor::Gpu)}) {
    if (options_.strategy != strategy || options_.forces_placement()) continue;
    CODL_ASSIGN_OR_RETURN(asked, alone_on(processor));
    return MadeVariant{*asked};
  }
  const DeviceProfile& profile = predictor_.profile();
  if (!profile.shares_cores || !options_.is_optimal() || options_.forces_placement())
    return std::nullopt;
  CODL_ASSIGN_OR_RETURN(alone, alone_on(Processor::Cpu));
  return MadeVariant{*alone,
                     "the profile's OpenCL device is the CPU itself (as with PoCL), so both would "
                     "share its cores; --device=host-pair gives each its own cores"};
}

// Co-execution is kept where it is surely faster than one processor alone, and where a split is
// forced or another thing than time is to be least: then there is nothing to compare with.
llvm::Expected<std::optional<VariantMaker::BestSingle>> VariantMaker::best_single() {
  if (!predictor_.profile().has_gpu || !options_.is_optimal() || options_.forces_placement() ||
      options_.objective != Objective::Latency)
    return std::nullopt;
  std::optional<BestSingle> best;
  for (const Processor processor : kProcessors) {
    CODL_ASSIGN_OR_RETURN(candidate, alone_on(processor));
    if (!meets(options_.limits, candidate->figures)) continue;
    if (best && best->candidate->schedule.predicted_us <= candidate->schedule.predicted_us)
      continue;
    Draws draws(predictor_.profile());
    CODL_ASSIGN_OR_RETURN(drawn_us, draws.latencies_us(candidate->schedule));
    best.emplace(BestSingle{processor, candidate, {std::move(draws), std::move(drawn_us)}});
  }
  return best;
}

bool VariantMaker::has_limits() const {
  return options_.limits.limit_plans() || !options_.limits.places.empty();
}

uint32_t VariantMaker::budget_of_reason() const {
  if (!has_limits() && !needs_choice_) return 0;
  return static_cast<uint32_t>(kShareOfReason * options_.search_budget);
}

// Goes on from the plan with the rest of the budget: where it may be faster than one processor
// alone, but is not surely so, to one that is; else to one that takes less time. Puts it in the
// plan's place, and returns the share of the draws in which it is faster.
llvm::Expected<double> VariantMaker::go_on(Candidate& plan, const BestSingle& alone,
                                           uint32_t budget) const {
  CODL_ASSIGN_OR_RETURN(sure_share, alone.sure_share_of(plan));
  const bool is_sure = sure_share >= kSureShare;
  const bool is_in_doubt = !is_sure && sure_share > 1 - kSureShare;
  CODL_ASSIGN_OR_RETURN(plan_us, alone.in_draws.draws.latencies_us(plan.schedule));
  const Rival rival = {alone.in_draws, some_of(alone.in_draws, plan_us)};
  PartitionOptions options = options_;
  options.search_budget = budget - plan.evaluations;
  SearchStart start = {{plan.partition}, is_in_doubt ? &rival : nullptr};
  if (plan.weights) {
    options.packings = plan.weights->packings;
    start.seeds.push_back(plan.weights->start);
  } else if (needs_choice_) {
    options.packings = choose_packings(graph_, predictor_, options.limits, plan.partition, stored_,
                                       *most_weight_bytes_);
  }
  CODL_ASSIGN_OR_RETURN(found, best_candidate(graph_, predictor_, options, start));
  plan.evaluations += found.evaluations;
  CODL_ASSIGN_OR_RETURN(found_share, alone.sure_share_of(found));
  if (is_sure && found_share < kSureShare) return sure_share;
  found.evaluations = plan.evaluations;
  found.weights = std::move(plan.weights);
  plan = std::move(found);
  return found_share;
}

// Holds a plan that a search finds, and the share of draws in which it is faster than one processor
// alone (1: there is nothing to compare with).
struct VariantMaker::Found {
  Candidate candidate;
  double sure_share = 1;
};

// `alone` is null where there is nothing to compare with.
llvm::Expected<VariantMaker::Found> VariantMaker::search_once(const BestSingle* alone,
                                                              uint32_t budget) const {
  PartitionOptions options = options_;
  options.search_budget = budget;
  if (alone != nullptr) options.search_budget -= static_cast<uint32_t>(kShareOfRest * budget);
  const auto make = [&](const PartitionOptions& fitting, const SearchStart& start) {
    return best_candidate(graph_, predictor_, fitting, start);
  };
  CODL_ASSIGN_OR_RETURN(best, fit(options, stored_, make, alone));
  Found found{std::move(best)};
  if (alone == nullptr) return found;
  CODL_ASSIGN_OR_RETURN(sure_share, go_on(found.candidate, *alone, budget));
  found.sure_share = meets(options_.limits, found.candidate.figures) ? sure_share : 0;
  return found;
}

// The search with a part of the budget comes first, and its plan is taken where that with the rest
// finds no better one: what a smaller budget finds is not missed.
llvm::Expected<VariantMaker::Found> VariantMaker::search(const BestSingle* alone,
                                                         uint32_t budget) const {
  if (alone == nullptr || budget < kMinNestedBudget) return search_once(alone, budget);
  CODL_ASSIGN_OR_RETURN(smaller, search(alone, budget / kNestedPart));
  CODL_ASSIGN_OR_RETURN(larger, search_once(alone, budget - smaller.candidate.evaluations));
  const bool is_worse =
      smaller.sure_share >= kSureShare &&
      (larger.sure_share < kSureShare ||
       smaller.candidate.schedule.predicted_us < larger.candidate.schedule.predicted_us);
  const uint32_t evaluations = smaller.candidate.evaluations + larger.candidate.evaluations;
  Found& taken = is_worse ? smaller : larger;
  taken.candidate.evaluations = evaluations;
  return std::move(taken);
}

// Returns whether the search chooses between floats and halves.
bool VariantMaker::chooses_precision() const {
  return precision_of(graph_) == Precision::Auto && options_.is_optimal() &&
         !options_.forces_split() && options_.search_budget > 0 && predictor_.profile().has_gpu;
}

// The plans of floats and of halves are those that are made where one of both is asked for, each
// with the whole budget, so that the choice is never worse than either. A search that mixes them
// goes on from the better one.
llvm::Expected<MadeVariant> VariantMaker::make_of_precisions() {
  const auto score = [&](const Candidate& candidate) {
    return score_of(candidate.figures, options_.objective, options_.limits);
  };
  std::optional<MadeVariant> best;
  uint32_t judged = 0;
  WeightsOfEntries stored;
  stored_.add_to(stored);
  for (const Precision precision : {Precision::Fp32, Precision::Fp16}) {
    ir::Graph graph = graph_;
    for (ir::ValueId id = 0; id < graph.values().size(); ++id)
      if (graph.value(id).precision == Precision::Auto) graph.value(id).precision = precision;
    // Floats of a model in halves have no more bytes than these.
    std::optional<uint64_t> most_bytes = most_weight_bytes(graph, options_.limits.max_weights);
    if (most_bytes) most_bytes = std::min(*most_bytes, *most_weight_bytes_);
    VariantMaker maker(graph, predictor_, options_, StoredWeights(graph, stored), most_bytes);
    CODL_ASSIGN_OR_RETURN(made, maker.make_searched());
    judged += made.candidate.evaluations;
    if (!best || score(made.candidate) < score(best->candidate)) best = std::move(made);
  }
  const auto budget = static_cast<uint32_t>(std::ceil(kShareOfMixing * options_.search_budget));
  CODL_ASSIGN_OR_RETURN(alone, best_single());
  std::optional<Candidate> mixed;
  if (alone) {
    mixed = best->candidate;
    CODL_ASSIGN_OR_RETURN(share, go_on(*mixed, *alone, mixed->evaluations + budget));
    judged += mixed->evaluations - best->candidate.evaluations;
    if (share < kSureShare || !meets(options_.limits, mixed->figures)) mixed = *alone->candidate;
  } else if (!needs_choice_) {
    PartitionOptions options = options_;
    options.search_budget = budget;
    CODL_ASSIGN_OR_RETURN(
        found, best_candidate(graph_, predictor_, options, {{best->candidate.partition}}));
    judged += found.evaluations;
    mixed = std::move(found);
  }
  if (mixed && score(*mixed) < score(best->candidate)) {
    best = MadeVariant{std::move(*mixed)};
    if (best->candidate.schedule.name != kCoexecVariant) {
      CODL_ASSIGN_OR_RETURN(why, why_not_both(best->candidate, ""));
      best->one_processor_reason = std::move(why);
    }
  }
  best->candidate.evaluations = judged;
  return std::move(*best);
}

// Makes the first variant of the plan: what the options ask for.
llvm::Expected<MadeVariant> VariantMaker::make_first() {
  CODL_ASSIGN_OR_RETURN(asked, without_search());
  if (asked) return std::move(*asked);
  return chooses_precision() ? make_of_precisions() : make_searched();
}

llvm::Expected<MadeVariant> VariantMaker::make_searched() {
  CODL_ASSIGN_OR_RETURN(alone, best_single());
  CODL_ASSIGN_OR_RETURN(
      found, search(alone ? &*alone : nullptr, options_.search_budget - budget_of_reason()));
  MadeVariant first{std::move(found.candidate)};
  const bool is_of_one = options_.is_optimal() ? first.candidate.schedule.name != kCoexecVariant
                                               : !uses_gpu(first.candidate.partition);
  std::string doubt;
  if (alone && found.sure_share < kSureShare) {
    const Candidate& single = *alone->candidate;
    if (first.candidate.schedule.predicted_us < single.schedule.predicted_us)
      doubt =
          llvm::formatv(
              "{0} takes {1:f2} ms; co-execution would take {2:f2} ms, but is faster only in "
              "{3:f0} % of what the profile leaves open ({4:f0} % needed); a measured profile "
              "decides",
              name_of(alone->processor), single.schedule.predicted_us / 1e3,
              first.candidate.schedule.predicted_us / 1e3, 100 * found.sure_share, 100 * kSureShare)
              .str();
    const uint32_t evaluations = first.candidate.evaluations;
    first.candidate = single;
    first.candidate.evaluations = evaluations;
  } else if (!is_of_one) {
    return first;
  }
  CODL_ASSIGN_OR_RETURN(why, why_not_both(first.candidate, std::move(doubt)));
  first.one_processor_reason = std::move(why);
  return first;
}

llvm::Expected<PlanFigures> VariantMaker::estimate() {
  CODL_ASSIGN_OR_RETURN(asked, without_search());
  if (asked) return asked->candidate.figures;
  PartitionOptions options = options_;
  if (options.is_optimal() && !options.forces_split())
    options.strategy = predictor_.profile().has_gpu ? "segments" : "cpu";
  CODL_ASSIGN_OR_RETURN(
      found, fit(options, stored_, [&](const PartitionOptions& fitting, const SearchStart&) {
        return make_candidate(graph_, predictor_, fitting);
      }));
  const Candidate* least = &found;
  const auto score = [&](const Candidate& candidate) {
    return score_of(candidate.figures, options_.objective, options_.limits);
  };
  if (predictor_.profile().has_gpu && options_.is_optimal() && !options_.forces_placement())
    for (const Processor processor : {Processor::Cpu, Processor::Gpu}) {
      CODL_ASSIGN_OR_RETURN(alone, alone_on(processor));
      if (score(*alone) <= score(*least)) least = alone;
    }
  if (least != &found) return least->figures;
  CODL_ASSIGN_OR_RETURN(alone, best_single());
  if (!alone) return found.figures;
  CODL_ASSIGN_OR_RETURN(sure_share, alone->sure_share_of(found));
  return (sure_share >= kSureShare ? found : *alone->candidate).figures;
}

// Returns the options for a variant after the first.
PartitionOptions VariantMaker::options_of(const VariantRequest& request) const {
  PartitionOptions options = options_;
  options.strategy = "optimal";
  options.split_dim = SplitDim::None;
  options.ratio.reset();
  if (request.kind == VariantRequest::Limited)
    options.limits.gpu_share = std::min(request.gpu_share, options.limits.gpu_share.value_or(1));
  return options;
}

// Plans for a CPU that others use. Times are those of a CPU that nobody uses, like all in a plan.
llvm::Expected<Candidate> VariantMaker::make_busy(const PartitionOptions& options,
                                                  const SearchStart& start) const {
  const DeviceProfile busy = busy_profile(predictor_.profile());
  const LatencyPredictor busy_predictor(busy, constant_mbytes(graph_));
  CODL_ASSIGN_OR_RETURN(found, make_candidate(graph_, busy_predictor, options, start));
  Optimum optimum;
  optimum.plan = std::move(found.partition);
  optimum.evaluations = found.evaluations;
  return finish_candidate(graph_, predictor_, options.limits, std::move(optimum), "busy");
}

llvm::Expected<MadeVariant> VariantMaker::make_one(const VariantRequest& request) {
  if (request.kind == VariantRequest::Coexec) return make_first();
  if (request.kind == VariantRequest::Cpu) {
    CODL_ASSIGN_OR_RETURN(made, alone_in_plan(Processor::Cpu));
    if (llvm::any_of(options_.limits.places,
                     [](const UserPlace& place) { return place.processor != Processor::Cpu; }))
      made.exempt = "--place: it is what a session takes where no GPU can be used";
    return made;
  }
  const DeviceProfile& profile = predictor_.profile();
  if (!profile.has_gpu)
    return input_error("--variants", "expected a device with a GPU for {0}, found {1} without",
                       request.name, profile.name);
  PartitionOptions options = options_of(request);
  if (request.kind == VariantRequest::Gpu) {
    if (options.limits.places.empty()) return alone_in_plan(Processor::Gpu);
    options.strategy = "gpu";
  }
  CODL_ASSIGN_OR_RETURN(made, fit(options, stored_,
                                  [&](const PartitionOptions& fitting,
                                      const SearchStart& start) -> llvm::Expected<Candidate> {
                                    if (request.kind == VariantRequest::Busy)
                                      return make_busy(fitting, start);
                                    return best_candidate(graph_, predictor_, fitting, start);
                                  }));
  made.schedule.name = request.name;
  return MadeVariant{std::move(made)};
}

llvm::Expected<MadeVariant> VariantMaker::make(const VariantRequest& request) {
  CODL_ASSIGN_OR_RETURN(made, make_one(request));
  const Candidate& candidate = made.candidate;
  if (!first_) {
    first_ = candidate.figures;
    first_free_ = candidate.weights ? candidate.weights->free_figures : *first_;
  }
  stored_.add(candidate.partition);
  free_.add(candidate.weights ? candidate.weights->free : candidate.partition);
  is_limited_ |= candidate.weights.has_value();
  made.limits = check_limits(made.candidate.figures, options_of(request).limits,
                             made.candidate.schedule.name);
  return made;
}

llvm::Expected<std::vector<MadeVariant>> VariantMaker::make_all(
    MadeVariant first, llvm::ArrayRef<VariantRequest> requests, std::vector<LimitCheck>& checks) {
  std::vector<MadeVariant> variants;
  variants.push_back(std::move(first));
  for (const VariantRequest& request : requests.drop_front()) {
    CODL_ASSIGN_OR_RETURN(made, make(request));
    if (llvm::any_of(variants, [&](const MadeVariant& other) {
          return other.candidate.schedule.name == made.candidate.schedule.name;
        }))
      continue;
    if (llvm::Error error = expect_limits(made.limits, predictor_.profile().name)) return error;
    llvm::append_range(checks, made.limits);
    variants.push_back(std::move(made));
  }
  return variants;
}

std::vector<Schedule> take_schedules(llvm::MutableArrayRef<MadeVariant> variants) {
  std::vector<Schedule> schedules;
  for (MadeVariant& made : variants) schedules.push_back(std::move(made.candidate.schedule));
  return schedules;
}

}  // namespace codl::compiler
