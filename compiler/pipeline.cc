// ONNX bytes to plan bytes: every stage, in order. Nothing else decides what runs when.
#include "compiler/pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/device/busy_profile.h"
#include "compiler/emit/pack_weights.h"
#include "compiler/emit/plan_builder.h"
#include "compiler/emit/plan_memory.h"
#include "compiler/frontend/onnx/onnx_model.h"
#include "compiler/memory/fit_arena.h"
#include "compiler/memory/memory_plan.h"
#include "compiler/ops/multiply_adds.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/passes.h"
#include "compiler/report/alternatives.h"
#include "compiler/report/assumed_kernels.h"
#include "compiler/report/explain.h"
#include "compiler/report/pass_savings.h"
#include "compiler/report/plain_loops.h"
#include "compiler/report/plan_report.h"
#include "compiler/report/print_partition.h"
#include "compiler/report/support_report.h"
#include "compiler/schedule/bound_slices.h"
#include "compiler/schedule/half_storage.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/figures.h"
#include "compiler/simulate/plan_times.h"
#include "compiler/simulate/simulate.h"
#include "compiler/support/error.h"
#include "compiler/support/hash.h"
#include "compiler/support/version.h"
#include "kernels/conv2d/winograd.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/printable.h"

namespace codl::compiler {
namespace {

constexpr Pass kFrontendPasses[] = {
    {"fold_constants", fold_constants},            // the fusions may use what becomes constant
    {"merge_common", merge_common},                // before readers are counted
    {"eliminate_dead", eliminate_dead},            // copies would stand between what fuses
    {"fuse_unary_patterns", fuse_unary_patterns},  // before pieces of a formula fuse elsewhere
    {"sink_transposes", sink_transposes},          // from between what fuses
    {"sink_reshapes", sink_reshapes},              // likewise
    {"eliminate_dead", eliminate_dead},            // those that met there
    {"fuse_pads", fuse_pads},                      // where a convolution reads what is padded
    {"fold_batch_norm", fold_batch_norm},          // before a convolution has an activation
    {"fuse_residual", fuse_residual},              // the same
    {"fuse_activation", fuse_activation},          // the last thing a node does
    {"assign_layouts", assign_layouts},            // its Converts would stand between, too
};

// --robust: what so many of the draws stay below. While it searches, of the first draws only.
constexpr double kRobustShare = 0.9;
constexpr int kDrawsOfSearch = 40;

// Co-execution is kept where it is faster in nine of ten draws of the profile's calibrations than
// one processor in the same ones.
constexpr double kSureShare = 0.9;
// Of fewer draws somewhat more.
constexpr double kSureShareOfSearch = 0.95;
// A search for a plan that is sure counts a plan as so much slower for what it lacks of that share.
constexpr double kDoubtWeight = 4;

// One way to run the graph, through all stages that depend on it.
struct Candidate {
  PartitionPlan partition;
  Schedule schedule;
  PlanFigures figures;       // of the schedule
  uint32_t evaluations = 0;  // of the search that it comes from; 0: it was not searched for
  double bound_us = 0;       // that the search cannot go below; 0: not known
};

// The plan's steps as they will run, without places in memory and predicted times.
llvm::Expected<Schedule> schedule_of(const ir::Graph& graph, const PartitionPlan& plan,
                                     const LatencyPredictor& predictor, Precision precision,
                                     const PlanLimits& limits, llvm::StringRef name) {
  CODL_ASSIGN_OR_RETURN(schedule, make_schedule(graph, plan, predictor, name));
  if (precision == Precision::Fp16) store_halves(schedule);
  if (limits.max_gpu_slice_us)
    bound_gpu_slices(graph, schedule, predictor, *limits.max_gpu_slice_us);
  return schedule;
}

// The plan as a variant that is ready to be emitted. Where it needs more memory than it may, some
// of it is computed in tiles.
llvm::Expected<Candidate> finish_candidate(const ir::Graph& graph,
                                           const LatencyPredictor& predictor, Precision precision,
                                           const PlanLimits& limits, Optimum optimum,
                                           llvm::StringRef name) {
  const DeviceProfile& profile = predictor.profile();
  CODL_ASSIGN_OR_RETURN(schedule,
                        schedule_of(graph, optimum.plan, predictor, precision, limits, name));
  if (llvm::Error error = check_races(graph, schedule)) return error;
  if (llvm::Error error = plan_memory(schedule, profile)) return error;
  if (limits.max_arena_bytes && arena_bytes_of(schedule, profile) > *limits.max_arena_bytes) {
    // Before launches are cut: a tile is one step.
    PlanLimits others = limits;
    others.max_gpu_slice_us.reset();
    CODL_ASSIGN_OR_RETURN(whole,
                          schedule_of(graph, optimum.plan, predictor, precision, others, name));
    if (llvm::Error error = fit_arena(graph, whole, predictor, *limits.max_arena_bytes))
      return error;
    if (limits.max_gpu_slice_us)
      bound_gpu_slices(graph, whole, predictor, *limits.max_gpu_slice_us);
    schedule = std::move(whole);
    if (llvm::Error error = check_races(graph, schedule)) return error;
    if (llvm::Error error = plan_memory(schedule, profile)) return error;
  }
  if (llvm::Error error = check_memory_plan(schedule)) return error;
  if (llvm::Error error = predict(schedule, profile)) return error;
  CODL_ASSIGN_OR_RETURN(figures, figures_of(schedule, profile));
  return Candidate{std::move(optimum.plan), std::move(schedule), figures, optimum.evaluations,
                   optimum.bound_us};
}

// `rival_us`: of a plan in each of the first draws, which the one looked for is surely to be faster
// than; empty: none.
llvm::Expected<Candidate> make_candidate(const ir::Graph& graph, const LatencyPredictor& predictor,
                                         Precision precision, const PartitionOptions& options,
                                         llvm::ArrayRef<double> rival_us = {}) {
  Optimum optimum;
  const bool needs_draws = options.is_robust || !rival_us.empty();
  const Draws draws(predictor.profile(), needs_draws ? kDrawsOfSearch : 0);
  if (options.is_optimal() && !options.forces_split() && predictor.profile().has_gpu) {
    const bool is_time_alone =
        !needs_draws && precision != Precision::Fp16 && options.objective == Objective::Latency &&
        !options.limits.limit_plans() && PlanTimes::can_time(predictor.profile());
    PlanTimes times(graph, predictor);
    const auto judge = [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
      if (is_time_alone) {
        PlanFigures figures;
        CODL_ASSIGN_OR_RETURN(time_us, times.time_us(plan));
        figures.predicted_us = time_us;
        return score_of(figures, options.objective, options.limits);
      }
      CODL_ASSIGN_OR_RETURN(schedule,
                            schedule_of(graph, plan, predictor, precision, options.limits, ""));
      // The only limit, and objective, whose figure takes a memory plan.
      if (options.limits.max_arena_bytes || options.objective == Objective::Memory)
        if (llvm::Error error = plan_memory(schedule, predictor.profile())) return error;
      if (llvm::Error error = predict(schedule, predictor.profile())) return error;
      PlanFigures figures;
      figures.predicted_us = schedule.predicted_us;
      if (options.objective != Objective::Latency || options.limits.limit_plans()) {
        CODL_ASSIGN_OR_RETURN(all, figures_of(schedule, predictor.profile()));
        figures = all;
      }
      double& us = figures.predicted_us;
      if (needs_draws) {
        CODL_ASSIGN_OR_RETURN(drawn_us, draws.latencies_us(schedule));
        if (options.is_robust)
          us = quantile_of(std::move(drawn_us), kRobustShare);
        else
          us *= 1 + kDoubtWeight *
                        std::max(kSureShareOfSearch - share_of_wins(drawn_us, rival_us), 0.0);
      }
      return score_of(figures, options.objective, options.limits);
    };
    PartitionOptions searched = options;
    if (!is_time_alone && !searched.search_budget) searched.search_budget = kWholeSearchBudget;
    CODL_ASSIGN_OR_RETURN(found, optimal_partition(graph, predictor, searched, judge));
    optimum = std::move(found);
    // The bound is of the time, and of kernels on f32; halves are moved in less.
    if (precision == Precision::Fp16 || options.objective != Objective::Latency)
      optimum.bound_us = 0;
  } else {
    CODL_ASSIGN_OR_RETURN(plan, partition(graph, predictor, options));
    optimum.plan = std::move(plan);
  }
  const std::string name = options.is_optimal() ? "coexec" : options.strategy;
  return finish_candidate(graph, predictor, precision, options.limits, std::move(optimum), name);
}

// The best that is found. The search judges plans without tiles: where memory is limited, the best
// plan that fits by itself and the best of any memory, fitted into it, are compared.
llvm::Expected<Candidate> best_candidate(const ir::Graph& graph, const LatencyPredictor& predictor,
                                         Precision precision, const PartitionOptions& options,
                                         llvm::ArrayRef<double> rival_us = {}) {
  CODL_ASSIGN_OR_RETURN(fits, make_candidate(graph, predictor, precision, options, rival_us));
  if (!options.limits.max_arena_bytes || !options.is_optimal()) return fits;
  PartitionOptions free = options;
  free.limits.max_arena_bytes.reset();
  CODL_ASSIGN_OR_RETURN(large, make_candidate(graph, predictor, precision, free, rival_us));
  Optimum plan{std::move(large.partition), 0, fits.evaluations + large.evaluations, large.bound_us};
  CODL_ASSIGN_OR_RETURN(tiled, finish_candidate(graph, predictor, precision, options.limits,
                                                std::move(plan), large.schedule.name));
  const auto score = [&](const Candidate& candidate) {
    return score_of(candidate.figures, options.objective, options.limits);
  };
  fits.evaluations += large.evaluations;
  return score(tiled) < score(fits) ? std::move(tiled) : std::move(fits);
}

// The ways to run the graph on one processor where that can all of it, each made once: the first
// variant may be one, the fallback and the reports are others.
class SingleProcessor {
 public:
  SingleProcessor(const ir::Graph& graph, const LatencyPredictor& predictor, Precision precision,
                  const PartitionOptions& options)
      : graph_(graph), predictor_(predictor), precision_(precision), options_(options) {
    options_.split_dim = SplitDim::None;
    options_.ratio.reset();
    options_.objective = Objective::Latency;
    options_.limits.places.clear();
  }

  llvm::Expected<const Candidate*> on(Processor processor) {
    std::optional<Candidate>& made = made_[static_cast<size_t>(processor)];
    if (!made) {
      options_.strategy = processor == Processor::Cpu ? "cpu" : "gpu";
      CODL_ASSIGN_OR_RETURN(candidate, make_candidate(graph_, predictor_, precision_, options_));
      made = std::move(candidate);
    }
    return &*made;
  }

 private:
  const ir::Graph& graph_;
  const LatencyPredictor& predictor_;
  const Precision precision_;
  PartitionOptions options_;
  std::optional<Candidate> made_[2];  // by processor
};

size_t count_gpu_nodes(const Candidate& variant) {
  return static_cast<size_t>(
      llvm::count_if(variant.partition.node_partitions, [](const NodePartition& node_partition) {
        return node_partition.part_on(Processor::Gpu) != nullptr;
      }));
}

struct FirstVariant {
  Candidate variant;
  std::string one_processor_reason;  // CompileReport::Variant's
};

const char* name_of(Processor processor) {
  return processor == Processor::Cpu ? "the CPU alone" : "the GPU";
}

// The best of one processor alone that meets the limits: by what the options have plans judged by.
// No variant: none does.
struct BestSingle {
  Processor processor = Processor::Cpu;
  const Candidate* variant = nullptr;
  std::vector<double> drawn_us;
};

llvm::Expected<BestSingle> best_single(SingleProcessor& single, const Draws& draws, bool is_robust,
                                       const PlanLimits& limits) {
  BestSingle best;
  double least_us = 0;
  for (const Processor processor : {Processor::Cpu, Processor::Gpu}) {
    CODL_ASSIGN_OR_RETURN(variant, single.on(processor));
    if (!meets(limits, variant->figures)) continue;
    CODL_ASSIGN_OR_RETURN(drawn_us, draws.latencies_us(variant->schedule));
    const double us =
        is_robust ? quantile_of(drawn_us, kRobustShare) : variant->schedule.predicted_us;
    if (best.variant != nullptr && us >= least_us) continue;
    best = {processor, variant, std::move(drawn_us)};
    least_us = us;
  }
  return best;
}

// The first variant of the plan: what the options ask for. One processor alone where co-execution
// is not surely faster, unless a split is forced. The CPU where both are the same cores: what a GPU
// kernel is predicted to gain there is a difference of kernels, which the next profile may not
// have.
llvm::Expected<FirstVariant> make_first_variant(const ir::Graph& graph,
                                                const LatencyPredictor& predictor,
                                                Precision precision,
                                                const PartitionOptions& options,
                                                SingleProcessor& single) {
  for (const auto& [strategy, processor] :
       {std::pair("cpu", Processor::Cpu), std::pair("gpu", Processor::Gpu)}) {
    if (options.strategy != strategy || options.forces_placement()) continue;
    CODL_ASSIGN_OR_RETURN(asked, single.on(processor));
    return FirstVariant{*asked, ""};
  }
  const DeviceProfile& profile = predictor.profile();
  if (profile.shares_cores && options.is_optimal() && !options.forces_placement()) {
    CODL_ASSIGN_OR_RETURN(alone, single.on(Processor::Cpu));
    FirstVariant first{*alone, "the OpenCL device computes on the cores of the CPU queue"};
    first.variant.schedule.name = "coexec";
    return first;
  }
  CODL_ASSIGN_OR_RETURN(best, best_candidate(graph, predictor, precision, options));
  FirstVariant first{std::move(best), ""};
  if (!profile.has_gpu) {
    first.one_processor_reason = "the device has no GPU that can be used";
    return first;
  }
  if (count_gpu_nodes(first.variant) == 0)
    first.one_processor_reason = "the GPU is of no use for any node of this network";
  // The search has judged both processors alone, too.
  const bool is_of_time = options.objective == Objective::Latency;
  if (!options.is_optimal() || options.forces_placement() || !is_of_time) return first;
  const Draws draws(profile);
  CODL_ASSIGN_OR_RETURN(alone, best_single(single, draws, options.is_robust, options.limits));
  if (alone.variant == nullptr) return first;
  CODL_ASSIGN_OR_RETURN(drawn_us, draws.latencies_us(first.variant.schedule));
  double sure_share = share_of_wins(drawn_us, alone.drawn_us);
  const bool is_better = options.is_robust ? quantile_of(drawn_us, kRobustShare) <
                                                 quantile_of(alone.drawn_us, kRobustShare)
                                           : sure_share >= kSureShare;
  if (is_better) return first;
  // The fastest is not sure; one that is may be a little slower.
  if (!options.is_robust && sure_share > 1 - kSureShare) {
    const auto rival_us = llvm::ArrayRef(alone.drawn_us).take_front(kDrawsOfSearch);
    CODL_ASSIGN_OR_RETURN(sure, best_candidate(graph, predictor, precision, options, rival_us));
    CODL_ASSIGN_OR_RETURN(sure_us, draws.latencies_us(sure.schedule));
    sure.evaluations += first.variant.evaluations;
    first.variant = std::move(sure);
    sure_share = share_of_wins(sure_us, alone.drawn_us);
    if (sure_share >= kSureShare) return first;
  }
  if (first.one_processor_reason.empty())
    first.one_processor_reason =
        llvm::formatv(
            "{0} takes {1:f2} ms; {2:f2} ms on both are less in {3:f0} % of {4} draws of what the "
            "profile leaves open, {5:f0} % are asked for",
            name_of(alone.processor), alone.variant->schedule.predicted_us / 1e3,
            first.variant.schedule.predicted_us / 1e3, 100 * sure_share, kDraws, 100 * kSureShare)
            .str();
  const uint32_t evaluations = first.variant.evaluations;
  const double bound_us = first.variant.bound_us;
  first.variant = *alone.variant;
  first.variant.schedule.name = "coexec";
  first.variant.evaluations = evaluations;
  first.variant.bound_us = bound_us;
  return first;
}

// Of the constants as the model has them: what kernels make of these is not known before kernels
// are chosen (weight_mbytes() of a variant).
double constant_mbytes(const ir::Graph& graph) {
  double bytes = 0;
  for (const ir::Value& value : graph.values()) bytes += static_cast<double>(value.bytes.size());
  return bytes * 1e-6;
}

// What a variant beside the first is planned by.
PartitionOptions options_of(const VariantRequest& request, PartitionOptions options) {
  options.strategy = "optimal";
  options.split_dim = SplitDim::None;
  options.ratio.reset();
  if (request.kind == VariantRequest::Limited)
    options.limits.gpu_share = std::min(request.gpu_share, options.limits.gpu_share.value_or(1));
  return options;
}

// Planned for a CPU that others use; times are those of one that nobody does, like all in a plan.
llvm::Expected<Candidate> make_busy_variant(const ir::Graph& graph,
                                            const LatencyPredictor& predictor,
                                            const CompileOptions& options,
                                            const PartitionOptions& partition) {
  const DeviceProfile busy = busy_profile(predictor.profile());
  const LatencyPredictor busy_predictor(busy, constant_mbytes(graph));
  CODL_ASSIGN_OR_RETURN(found, make_candidate(graph, busy_predictor, options.precision, partition));
  Optimum optimum;
  optimum.plan = std::move(found.partition);
  optimum.evaluations = found.evaluations;
  return finish_candidate(graph, predictor, options.precision, partition.limits, std::move(optimum),
                          "busy");
}

llvm::Expected<FirstVariant> make_variant(const VariantRequest& request, const ir::Graph& graph,
                                          const LatencyPredictor& predictor,
                                          const CompileOptions& options, SingleProcessor& single) {
  if (request.kind == VariantRequest::Coexec)
    return make_first_variant(graph, predictor, options.precision, options.partition, single);
  if (request.kind == VariantRequest::Cpu) {
    CODL_ASSIGN_OR_RETURN(alone, single.on(Processor::Cpu));
    return FirstVariant{*alone, ""};
  }
  const DeviceProfile& profile = predictor.profile();
  if (!profile.has_gpu)
    return input_error("--variants", "expected a device with a GPU for {0}, found {1} without",
                       request.name, profile.name);
  if (request.kind == VariantRequest::Gpu) {
    CODL_ASSIGN_OR_RETURN(alone, single.on(Processor::Gpu));
    return FirstVariant{*alone, ""};
  }
  const PartitionOptions partition = options_of(request, options.partition);
  CODL_ASSIGN_OR_RETURN(made, request.kind == VariantRequest::Busy
                                  ? make_busy_variant(graph, predictor, options, partition)
                                  : best_candidate(graph, predictor, options.precision, partition));
  made.schedule.name = request.name;
  made.bound_us = 0;  // it is of the least time, which is not what was looked for
  const std::vector<LimitCheck> checks =
      check_limits(made.figures, partition.limits, made.schedule.name);
  if (llvm::Error error = expect_limits(checks, profile.name)) return error;
  return FirstVariant{std::move(made), ""};
}

// The least sure of the profile's power figures; "" without any.
const char* power_origin(const DeviceProfile& profile) {
  if (!profile.power) return "";
  const PowerFigures& power = *profile.power;
  return name_of(std::max({power.base_w.origin, power.cpu_w.origin, power.gpu_w.origin}));
}

CompileReport::Variant report_of(const ir::Graph& graph, const Candidate& variant,
                                 const DeviceProfile& profile) {
  CompileReport::Variant report;
  report.figures = variant.figures;
  report.power_origin = power_origin(profile);
  report.name = variant.schedule.name;
  report.predicted_us = variant.schedule.predicted_us;
  report.evaluations = variant.evaluations;
  report.bound_us = variant.bound_us;
  double gpu_macs = 0, macs = 0;
  for (const NodePartition& node_partition : variant.partition.node_partitions) {
    const ir::NodeView view{graph, graph.node(node_partition.node)};
    const double node_macs = multiply_adds(view);
    double owned = 0;
    for (const Part& part : node_partition.parts) owned += part.owned.count();
    macs += node_macs;
    if (const Part* gpu = node_partition.part_on(Processor::Gpu))
      gpu_macs += node_macs * gpu->owned.count() / owned;
    report.split_nodes += node_partition.is_split();
  }
  report.gpu_mac_share = macs > 0 ? gpu_macs / macs : 0;
  report.chains = variant.partition.chains.size();
  for (const Chain& chain : variant.partition.chains)
    report.longest_chain = std::max(report.longest_chain, chain.nodes.size());
  const GpuTensorCounts tensors = count_gpu_tensors(variant.schedule);
  report.gpu_tensors = tensors.all;
  report.half_tensors = tensors.halves;
  return report;
}

// All limits that were asked for, against the first variant.
llvm::Expected<std::vector<LimitCheck>> checks_of(const Candidate& chosen,
                                                  const SupportReport* support,
                                                  const DeviceProfile& profile,
                                                  const PlanLimits& limits) {
  std::vector<LimitCheck> checks;
  if (limits.max_fallback_percent) {
    if (!profile.has_gpu)
      return input_error(profile.name,
                         "expected a device with a GPU for --max-fallback, found one without");
    checks.push_back(*check_fallback(100 * support->fallback_share,
                                     support->macs > 0 ? "multiply-adds" : "nodes", limits));
  }
  llvm::append_range(checks, check_limits(chosen.figures, limits, chosen.schedule.name));
  return checks;
}

// Makes the support report where it is asked for, or a limit needs it, and prints it where it is
// asked for; nothing if nobody asks.
llvm::Expected<std::optional<SupportReport>> report_support(const ir::Graph& graph,
                                                            const LatencyPredictor& predictor,
                                                            const Candidate& chosen,
                                                            SingleProcessor& single,
                                                            const CompileOptions& options) {
  if (options.support == SupportFormat::None && !options.partition.limits.max_fallback_percent &&
      !options.wants_report)
    return std::nullopt;
  std::optional<PlannedVariant> planned_on_gpu;
  if (predictor.profile().has_gpu) {
    CODL_ASSIGN_OR_RETURN(on_gpu, single.on(Processor::Gpu));
    planned_on_gpu.emplace(PlannedVariant{on_gpu->partition, on_gpu->schedule});
  }
  SupportReport report = support_report(graph, predictor, {chosen.partition, chosen.schedule},
                                        planned_on_gpu ? &*planned_on_gpu : nullptr);
  if (options.dump_to != nullptr && options.support == SupportFormat::Text)
    print_text(report, *options.dump_to);
  if (options.dump_to != nullptr && options.support == SupportFormat::Json)
    print_json(report, *options.dump_to);
  return report;
}

// The error itself, after its reasons have been printed where a report is asked for.
llvm::Error report_refusal(llvm::Error error, const CompileOptions& options) {
  return llvm::handleErrors(std::move(error), [&](std::unique_ptr<ImportError> refusal) {
    if (options.dump_to != nullptr && options.support == SupportFormat::Text)
      print_text(*refusal, *options.dump_to);
    if (options.dump_to != nullptr && options.support == SupportFormat::Json)
      print_json(*refusal, *options.dump_to);
    return llvm::Error(std::move(refusal));
  });
}

void dump_stage(const CompileOptions& options, llvm::StringRef stage,
                llvm::function_ref<std::string()> text) {
  if (options.dump == stage && options.dump_to != nullptr) *options.dump_to << text();
}

// Microseconds of a graph in front of assign_layouts: by the strategy asked for, of optimal by its
// seeds, for the search judges a thousand plans where this one is asked for hundreds of graphs.
llvm::Expected<double> judge_latency(const ir::Graph& graph, const DeviceProfile& profile,
                                     const CompileOptions& options) {
  ir::Graph laid_out = graph;
  if (llvm::Error error = assign_layouts(laid_out)) return error;
  const LatencyPredictor predictor(profile, constant_mbytes(laid_out));
  std::vector<std::string> strategies = {options.partition.strategy};
  if (options.partition.is_optimal()) strategies = {"cpu", "gpu", "segments"};
  if (!profile.has_gpu) strategies = {"cpu"};
  double least_us = std::numeric_limits<double>::infinity();
  for (const std::string& strategy : strategies) {
    PartitionOptions partition = options.partition;
    partition.strategy = strategy;
    CODL_ASSIGN_OR_RETURN(candidate,
                          make_candidate(laid_out, predictor, options.precision, partition));
    least_us = std::min(least_us, candidate.schedule.predicted_us);
  }
  return least_us;
}

// All that judge_latency() depends on beside the graph.
std::string what_judges(const DeviceProfile& profile, const CompileOptions& options) {
  const PartitionOptions& partition = options.partition;
  std::string text =
      llvm::formatv("{0} {1} {2} {3} {4} {5} {6}", codlc_version(), to_hex(profile.hash),
                    partition.strategy, static_cast<int>(options.precision),
                    static_cast<int>(partition.split_dim), partition.ratio.value_or(-1),
                    partition.max_chain)
          .str();
  for (const ForcedPlacement& place : partition.limits.places)
    text += llvm::formatv(" {0} {1} {2} {3}", place.node,
                          place.processor ? static_cast<int>(*place.processor) : -1,
                          static_cast<int>(place.split_dim), place.gpu_share)
                .str();
  return text;
}

llvm::Error run_frontend_passes(ir::Graph& graph, const CompileOptions& options,
                                PassSavings& savings, const DeviceProfile& profile,
                                CompileReport& report) {
  PassOptions passes = options.passes;
  if (options.reports_passes || options.wants_report)
    passes.on_graph = [&](llvm::StringRef pass, const ir::Graph& after) {
      return savings.add(pass, after);
    };
  passes.inserted_before = "assign_layouts";
  passes.inserted = [&](ir::Graph& plain) -> llvm::Error {
    if (options.compress.is_asked()) {
      CompressOptions asked = options.compress;
      asked.judged_by = what_judges(profile, options);
      CODL_ASSIGN_OR_RETURN(compressed, compress(plain, asked, [&](const ir::Graph& tried) {
                              return judge_latency(tried, profile, options);
                            }));
      report.compress = std::move(compressed);
    }
    return options.on_optimised ? options.on_optimised(plain) : llvm::Error::success();
  };
  std::vector<Pass> kept;
  for (const Pass& pass : kFrontendPasses)
    if (!llvm::is_contained(options.skipped_passes, pass.name)) kept.push_back(pass);
  if (llvm::Error error = run_passes(graph, kept, passes)) return error;
  if (options.reports_passes && options.dump_to != nullptr) savings.print(*options.dump_to);
  return llvm::Error::success();
}

}  // namespace

llvm::ArrayRef<Pass> frontend_passes() { return kFrontendPasses; }

llvm::Expected<CompileResult> compile(llvm::StringRef onnx, llvm::StringRef path,
                                      const DeviceProfile& profile, const CompileOptions& options) {
  if (llvm::Error error = check_objective(profile, options.partition)) return error;
  CompileResult result;
  const auto begin = [&](const char* stage) {
    if (options.on_stage) options.on_stage(stage);
  };
  begin("import");
  if (llvm::Error error = check_model_bytes(onnx.size(), path)) return error;  // before it is read
  const std::string model_hash = to_hex(hash_of(onnx));
  auto imported = import_onnx(onnx, path, options.import, &result.report.notes);
  if (!imported) return report_refusal(imported.takeError(), options);
  ir::Graph graph = std::move(*imported);
  begin("passes");
  PassSavings savings(profile);
  if (llvm::Error error = run_frontend_passes(graph, options, savings, profile, result.report))
    return error;
  dump_stage(options, "graph", [&] { return ir::print(graph); });
  begin("partition");
  const LatencyPredictor predictor(profile, constant_mbytes(graph));
  SingleProcessor single(graph, predictor, options.precision, options.partition);

  CODL_ASSIGN_OR_RETURN(first,
                        make_variant(options.variants[0], graph, predictor, options, single));
  CODL_ASSIGN_OR_RETURN(support, report_support(graph, predictor, first.variant, single, options));
  CODL_ASSIGN_OR_RETURN(limits, checks_of(first.variant, support ? &*support : nullptr, profile,
                                          options.partition.limits));
  if (llvm::Error error = expect_limits(limits, profile.name)) return error;
  result.report.plain_loops_warning = warning(plain_loops(first.variant.schedule));
  result.report.assumed_kernels_warning =
      warning(assumed_kernels(graph, predictor, options.partition.strategy != "cpu"));
  if (options.explained_node && options.dump_to != nullptr) {
    CODL_ASSIGN_OR_RETURN(
        text, explain(graph, first.variant.schedule, predictor, *options.explained_node));
    CODL_ASSIGN_OR_RETURN(others, explain_alternatives(graph, first.variant.partition, predictor,
                                                       *options.explained_node));
    *options.dump_to << text << others;
  }
  if (!options.builds_plan) return result;
  std::vector<Candidate> variants;
  variants.push_back(std::move(first.variant));
  for (const VariantRequest& request : llvm::ArrayRef(options.variants).drop_front()) {
    CODL_ASSIGN_OR_RETURN(made, make_variant(request, graph, predictor, options, single));
    if (llvm::none_of(variants, [&](const Candidate& other) {
          return other.schedule.name == made.variant.schedule.name;
        }))
      variants.push_back(std::move(made.variant));
  }

  std::vector<Schedule> schedules;
  for (Candidate& variant : variants) {
    const std::string heading = "variant " + variant.schedule.name + "\n";
    dump_stage(options, "partition",
               [&] { return heading + print_partition(graph, variant.partition); });
    dump_stage(options, "schedule", [&] { return print(variant.schedule); });
    dump_stage(options, "memory", [&] { return heading + print_memory(variant.schedule); });
    result.report.variants.push_back(report_of(graph, variant, profile));
    CODL_ASSIGN_OR_RETURN(uncertainty, uncertainty_of(variant.schedule, profile));
    result.report.variants.back().uncertainty = uncertainty;
    if (&variant == &variants.front())
      result.report.variants.back().one_processor_reason = first.one_processor_reason;
    for (ir::NodeId node : variant.partition.not_split_as_forced)
      result.report.not_split_as_forced.push_back(
          llvm::formatv("{0} ({1})", graph.node(node).name, op_row(graph.node(node).op).name)
              .str());
    schedules.push_back(std::move(variant.schedule));
  }

  begin("pack weights");
  CODL_ASSIGN_OR_RETURN(weights, pack_weights(graph, schedules));
  result.report.weight_bytes = weights.data_bytes;
  for (const Blob& blob : weights.blobs)
    if (kernels::winograd_outputs(blob.packing) != 0) result.report.winograd_bytes += blob.bytes;
  begin("emit");
  const PlanInfo info{profile.name, model_hash, to_hex(profile.hash),
                      static_cast<uint32_t>(profile.machine.cpu_threads), profile.worker_speeds()};
  std::optional<ir::Graph> reported;  // the plan takes the graph
  if (options.wants_report) reported = graph;
  CODL_ASSIGN_OR_RETURN(plan, build_plan(std::move(graph), schedules, weights, info));
  result.plan = std::move(plan);
  const PlanMemory held = memory_of_plan(result.plan, profile);
  for (size_t i = 0; i < held.variants.size(); ++i)
    result.report.variants[i].memory = held.variants[i];
  result.report.memory_of_all = held.all;
  if (options.wants_report) {
    std::vector<PlannedVariant> planned;
    for (size_t i = 0; i < schedules.size(); ++i)
      planned.push_back({variants[i].partition, schedules[i]});
    const ReportedPlan of = {.graph = *reported,
                             .predictor = predictor,
                             .report = result.report,
                             .passes = savings.costs(),
                             .support = *support,
                             .variants = planned,
                             .strategy = options.partition.strategy,
                             .objective = options.partition.objective,
                             .precision = options.precision == Precision::Fp16 ? "fp16" : "fp32",
                             .limits = limits,
                             .measured_json = options.measured_json,
                             .measured_path = options.measured_path,
                             .model_name = llvm::sys::path::filename(path).str(),
                             .model_hash = info.model_hash,
                             .plan_bytes = result.plan.size()};
    CODL_ASSIGN_OR_RETURN(json, report_json(of));
    result.report_json = std::move(json);
  }
  return result;
}

}  // namespace codl::compiler
