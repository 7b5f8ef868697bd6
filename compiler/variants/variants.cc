#include "compiler/variants/variants.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "compiler/device/busy_profile.h"
#include "compiler/partition/kernel_choice.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace codl::compiler {
namespace {

// Co-execution is kept where it is faster in nine of ten draws of the profile's calibrations than
// one processor in the same ones.
constexpr double kSureShare = 0.9;

// The share of the search's budget with which a plan is looked for that only tells which weights it
// has if they may be of any size.
constexpr double kShareOfFree = 0.1;

size_t count_gpu_nodes(const Candidate& variant) {
  return static_cast<size_t>(
      llvm::count_if(variant.partition.node_partitions, [](const NodePartition& node_partition) {
        return node_partition.part_on(Processor::Gpu) != nullptr;
      }));
}

// Takes, of the draws, each fifth by how a plan stands to its rival in them: of plans like that one
// they say what all draws do, which those drawn first may not.
Rival rival_of(const Draws& draws, llvm::ArrayRef<double> plan_us,
               llvm::ArrayRef<double> rival_us) {
  std::vector<size_t> order(plan_us.size());
  std::iota(order.begin(), order.end(), size_t{0});
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return plan_us[a] * rival_us[b] < plan_us[b] * rival_us[a];
  });
  const size_t step = order.size() / kDrawsOfSearch;
  std::vector<size_t> chosen;
  std::vector<double> chosen_us;
  for (size_t i = step / 2; i < order.size(); i += step) {
    chosen.push_back(order[i]);
    chosen_us.push_back(rival_us[order[i]]);
  }
  return {draws.some(chosen), std::move(chosen_us)};
}

bool has_gpu_kernel(const ir::Graph& graph, const LatencyPredictor& predictor) {
  bool has_one = false;
  for (const ir::Node& node : graph.nodes())
    each_kernel({graph, node}, Processor::Gpu, predictor,
                [&](const kernels::StepShape&) { has_one = true; });
  return has_one;
}

const char* name_of(Processor processor) {
  return processor == Processor::Cpu ? "the CPU alone" : "the GPU";
}

}  // namespace

uint64_t constant_bytes(const ir::Graph& graph) {
  uint64_t bytes = 0;
  for (const ir::Value& value : graph.values()) bytes += value.bytes.size();
  return bytes;
}

double constant_mbytes(const ir::Graph& graph) {
  return static_cast<double>(constant_bytes(graph)) * 1e-6;
}

// The best of one processor alone that meets the limits: by what the options have plans judged by.
// No candidate: none does.
struct VariantMaker::BestSingle {
  Processor processor = Processor::Cpu;
  const Candidate* candidate = nullptr;
  std::vector<double> drawn_us;
};

// A plan against the best of one processor alone.
struct VariantMaker::Comparison {
  bool is_kept = true;
  // Where there is something to compare with:
  BestSingle alone;
  std::vector<double> drawn_us;  // of the plan
  double sure_share = 1;         // of draws in which it is faster
};

VariantMaker::VariantMaker(const ir::Graph& graph, const LatencyPredictor& predictor,
                           Precision precision, const PartitionOptions& options)
    : graph_(graph),
      predictor_(predictor),
      precision_(precision),
      options_(options),
      most_weight_bytes_(options.limits.max_weights.bytes_for(constant_bytes(graph))),
      needs_choice_(most_weight_bytes_ &&
                    most_bytes_of_any(graph, predictor) > *most_weight_bytes_),
      stored_(graph),
      free_(graph) {}

std::optional<FreePlan> VariantMaker::without_weight_limit() const {
  if (!is_limited_) return std::nullopt;
  return FreePlan{*first_free_us_, free_.bytes()};
}

// Makes the candidate with weights of any size, by a short search. Where the plan has no room for
// these, that candidate tells which of them save most time for their bytes, and another one is made
// with those.
llvm::Expected<Candidate> VariantMaker::fit_weights(PartitionOptions options, Make make) const {
  if (!needs_choice_) return make(options);
  const auto fits = [&](const Candidate& candidate) {
    StoredWeights all = stored_;
    all.add(candidate.partition);
    return all.bytes() <= *most_weight_bytes_;
  };
  const bool searches = options.is_optimal() && !options.forces_split();
  if (searches) options.search_share = kShareOfFree;
  CODL_ASSIGN_OR_RETURN(free, make(options));
  options.search_share = 1;
  uint32_t evaluations = 0;
  if (fits(free)) {
    if (!searches) return free;
    evaluations = free.evaluations;
    CODL_ASSIGN_OR_RETURN(searched, make(options));
    free = std::move(searched);
    if (fits(free)) return free;
  }
  options.packings = choose_packings(graph_, predictor_, options.limits, free.partition, stored_,
                                     *most_weight_bytes_);
  CODL_ASSIGN_OR_RETURN(kept, make(options));
  kept.evaluations += free.evaluations + evaluations;
  kept.weights = {std::move(options.packings), std::move(free.partition),
                  free.schedule.predicted_us};
  return kept;
}

// With the weights that the plan has already for nothing.
llvm::Expected<Candidate> VariantMaker::make_alone(Processor processor) const {
  PartitionOptions options = options_;
  options.strategy = processor == Processor::Cpu ? "cpu" : "gpu";
  options.split_dim = SplitDim::None;
  options.ratio.reset();
  options.objective = Objective::Latency;
  options.limits.places.clear();
  return fit_weights(std::move(options), [&](const PartitionOptions& fitting) {
    return make_candidate(graph_, predictor_, precision_, fitting);
  });
}

llvm::Expected<const Candidate*> VariantMaker::alone_on(Processor processor) {
  std::optional<Candidate>& made = alone_[static_cast<size_t>(processor)];
  if (!made) {
    CODL_ASSIGN_OR_RETURN(candidate, make_alone(processor));
    made = std::move(candidate);
  }
  return &*made;
}

// The same as a variant of the plan: after others, it keeps to what these leave of the weights.
llvm::Expected<Candidate> VariantMaker::alone_in_plan(Processor processor) {
  if (needs_choice_) return make_alone(processor);
  CODL_ASSIGN_OR_RETURN(alone, alone_on(processor));
  return *alone;
}

llvm::Expected<VariantMaker::BestSingle> VariantMaker::best_single(const Draws& draws) {
  BestSingle best;
  double least_us = 0;
  for (const Processor processor : {Processor::Cpu, Processor::Gpu}) {
    CODL_ASSIGN_OR_RETURN(candidate, alone_on(processor));
    if (!meets(options_.limits, candidate->figures)) continue;
    CODL_ASSIGN_OR_RETURN(drawn_us, draws.latencies_us(candidate->schedule));
    const double us = candidate->schedule.predicted_us;
    if (best.candidate != nullptr && us >= least_us) continue;
    best = {processor, candidate, std::move(drawn_us)};
    least_us = us;
  }
  return best;
}

// What is asked for without a search. The CPU where both processors are the same cores: what a GPU
// kernel is predicted to gain there is a difference of kernels, which the next profile may not
// have.
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
  return MadeVariant{*alone, "the OpenCL device computes on the cores of the CPU queue"};
}

// Co-execution is kept where it is surely faster than one processor alone, and where a split is
// forced or another thing than time is to be least.
llvm::Expected<VariantMaker::Comparison> VariantMaker::compare(const Candidate& candidate,
                                                               const Draws& draws) {
  Comparison comparison;
  if (!predictor_.profile().has_gpu || !options_.is_optimal() || options_.forces_placement() ||
      options_.objective != Objective::Latency)
    return comparison;
  CODL_ASSIGN_OR_RETURN(alone, best_single(draws));
  if (alone.candidate == nullptr) return comparison;
  CODL_ASSIGN_OR_RETURN(drawn_us, draws.latencies_us(candidate.schedule));
  comparison.sure_share = share_of_wins(drawn_us, alone.drawn_us);
  comparison.is_kept = comparison.sure_share >= kSureShare;
  comparison.alone = std::move(alone);
  comparison.drawn_us = std::move(drawn_us);
  return comparison;
}

// Limits and places have a plan without them say what they keep off the GPU.
llvm::Expected<std::string> VariantMaker::why_not_on_gpu(const Candidate& made) {
  const DeviceProfile& profile = predictor_.profile();
  if (!profile.has_gpu)
    return llvm::formatv("the profile of {0} has no GPU that can be used", profile.name).str();
  if (options_.forces_split()) return "no node can be split as --place asks";
  const auto is_gpu = [](uint16_t id) { return find_kernel(id)->processor == Processor::Gpu; };
  const auto avoided = llvm::count_if(profile.unused_kernels, is_gpu);
  const std::string left_out =
      avoided == 0 ? "" : llvm::formatv(", without the {0} that --avoid leaves out", avoided).str();
  if (!has_gpu_kernel(graph_, predictor_))
    return "the GPU has no kernel for any node of this network" + left_out;
  if (!options_.is_optimal())
    return llvm::formatv("--strategy={0} gives the GPU nothing", options_.strategy).str();
  std::vector<std::string> flags;
  if (!options_.limits.places.empty()) flags.push_back("--place");
  for (const LimitCheck& limit : check_limits(made.figures, options_.limits, ""))
    flags.push_back(limit.flag);
  const double ms = made.schedule.predicted_us / 1e3;
  if (!flags.empty()) {
    PartitionOptions free = options_;
    free.limits = {};
    CODL_ASSIGN_OR_RETURN(unlimited,
                          VariantMaker(graph_, predictor_, precision_, free).make_first());
    if (count_gpu_nodes(unlimited.candidate) == 0) return unlimited.one_processor_reason;
    return llvm::formatv("because of {0}: {1:f2} ms are predicted, {2:f2} ms without",
                         llvm::join(flags, ", "), ms,
                         unlimited.candidate.schedule.predicted_us / 1e3)
        .str();
  }
  CODL_ASSIGN_OR_RETURN(on_gpu, alone_on(Processor::Gpu));
  std::string text =
      llvm::formatv(
          "of {0} plans judged{1} none that uses the GPU is better: {2:f2} ms on the CPU "
          "alone, {3:f2} ms on the GPU alone",
          made.evaluations,
          options_.search_budget
              ? llvm::formatv(" (--search-budget={0})", *options_.search_budget).str()
              : "",
          ms, on_gpu->schedule.predicted_us / 1e3)
          .str();
  if (options_.objective != Objective::Latency)
    text += llvm::formatv(", by --objective={0}",
                          kObjectiveNames[static_cast<size_t>(options_.objective)])
                .str();
  return text + left_out;
}

// The first variant of the plan: what the options ask for.
llvm::Expected<MadeVariant> VariantMaker::make_first() {
  CODL_ASSIGN_OR_RETURN(asked, without_search());
  if (asked) return std::move(*asked);
  CODL_ASSIGN_OR_RETURN(best, fit_weights(options_, [&](const PartitionOptions& options) {
                          return best_candidate(graph_, predictor_, precision_, options);
                        }));
  MadeVariant first{std::move(best)};
  if (count_gpu_nodes(first.candidate) == 0) {
    if (options_.is_optimal()) first.candidate.schedule.name = "cpu";
    CODL_ASSIGN_OR_RETURN(why, why_not_on_gpu(first.candidate));
    first.one_processor_reason = std::move(why);
  }
  // The search has judged both processors alone, too.
  const Draws draws(predictor_.profile());
  CODL_ASSIGN_OR_RETURN(found, compare(first.candidate, draws));
  if (found.is_kept) return first;
  const BestSingle& alone = found.alone;
  // The fastest is not sure; one that is may be a little slower.
  if (found.sure_share > 1 - kSureShare) {
    const Rival rival = rival_of(draws, found.drawn_us, alone.drawn_us);
    PartitionOptions options = options_;
    if (first.candidate.weights) options.packings = first.candidate.weights->packings;
    CODL_ASSIGN_OR_RETURN(sure, best_candidate(graph_, predictor_, precision_, options, &rival));
    CODL_ASSIGN_OR_RETURN(sure_us, draws.latencies_us(sure.schedule));
    sure.evaluations += first.candidate.evaluations;
    sure.weights = std::move(first.candidate.weights);
    first.candidate = std::move(sure);
    found.sure_share = share_of_wins(sure_us, alone.drawn_us);
    if (found.sure_share >= kSureShare) return first;
  }
  if (first.one_processor_reason.empty())
    first.one_processor_reason =
        llvm::formatv(
            "{0} takes {1:f2} ms; {2:f2} ms on both are less in {3:f0} % of {4} draws of what the "
            "profile leaves open, {5:f0} % are asked for",
            name_of(alone.processor), alone.candidate->schedule.predicted_us / 1e3,
            first.candidate.schedule.predicted_us / 1e3, 100 * found.sure_share, kDraws,
            100 * kSureShare)
            .str();
  const uint32_t evaluations = first.candidate.evaluations;
  first.candidate = *alone.candidate;
  first.candidate.evaluations = evaluations;
  return first;
}

llvm::Expected<double> VariantMaker::estimate_us() {
  CODL_ASSIGN_OR_RETURN(asked, without_search());
  if (asked) return asked->candidate.schedule.predicted_us;
  PartitionOptions options = options_;
  if (options.is_optimal() && !options.forces_split())
    options.strategy = predictor_.profile().has_gpu ? "segments" : "cpu";
  CODL_ASSIGN_OR_RETURN(found, fit_weights(options, [&](const PartitionOptions& fitting) {
                          return make_candidate(graph_, predictor_, precision_, fitting);
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
  if (least != &found) return least->schedule.predicted_us;
  CODL_ASSIGN_OR_RETURN(comparison, compare(found, Draws(predictor_.profile())));
  return comparison.is_kept ? found.schedule.predicted_us
                            : comparison.alone.candidate->schedule.predicted_us;
}

// What a variant beside the first is planned by.
PartitionOptions VariantMaker::options_of(const VariantRequest& request) const {
  PartitionOptions options = options_;
  options.strategy = "optimal";
  options.split_dim = SplitDim::None;
  options.ratio.reset();
  if (request.kind == VariantRequest::Limited)
    options.limits.gpu_share = std::min(request.gpu_share, options.limits.gpu_share.value_or(1));
  return options;
}

// Planned for a CPU that others use; times are those of one that nobody does, like all in a plan.
llvm::Expected<Candidate> VariantMaker::make_busy(const PartitionOptions& options) const {
  const DeviceProfile busy = busy_profile(predictor_.profile());
  const LatencyPredictor busy_predictor(busy, constant_mbytes(graph_));
  CODL_ASSIGN_OR_RETURN(found, make_candidate(graph_, busy_predictor, precision_, options));
  Optimum optimum;
  optimum.plan = std::move(found.partition);
  optimum.evaluations = found.evaluations;
  return finish_candidate(graph_, predictor_, precision_, options.limits, std::move(optimum),
                          "busy");
}

llvm::Expected<MadeVariant> VariantMaker::make_one(const VariantRequest& request) {
  if (request.kind == VariantRequest::Coexec) return make_first();
  if (request.kind == VariantRequest::Cpu) {
    CODL_ASSIGN_OR_RETURN(alone, alone_in_plan(Processor::Cpu));
    MadeVariant made{std::move(alone)};
    if (llvm::any_of(options_.limits.places, [](const ForcedPlacement& place) {
          return place.processor != Processor::Cpu;
        }))
      made.exempt = "--place: it is what a session takes where no GPU can be used";
    return made;
  }
  const DeviceProfile& profile = predictor_.profile();
  if (!profile.has_gpu)
    return input_error("--variants", "expected a device with a GPU for {0}, found {1} without",
                       request.name, profile.name);
  PartitionOptions options = options_of(request);
  if (request.kind == VariantRequest::Gpu && options.limits.places.empty()) {
    CODL_ASSIGN_OR_RETURN(alone, alone_in_plan(Processor::Gpu));
    return MadeVariant{std::move(alone)};
  }
  if (request.kind == VariantRequest::Gpu) {
    options.strategy = "gpu";
  }
  CODL_ASSIGN_OR_RETURN(
      made, fit_weights(std::move(options),
                        [&](const PartitionOptions& fitting) -> llvm::Expected<Candidate> {
                          if (request.kind == VariantRequest::Busy) return make_busy(fitting);
                          return best_candidate(graph_, predictor_, precision_, fitting);
                        }));
  made.schedule.name = request.name;
  return MadeVariant{std::move(made)};
}

llvm::Expected<MadeVariant> VariantMaker::make(const VariantRequest& request) {
  CODL_ASSIGN_OR_RETURN(made, make_one(request));
  const Candidate& candidate = made.candidate;
  if (!first_free_us_)
    first_free_us_ =
        candidate.weights ? candidate.weights->free_us : candidate.schedule.predicted_us;
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
