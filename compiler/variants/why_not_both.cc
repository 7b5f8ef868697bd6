// Says why one processor is taken, in members of VariantMaker.
#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/user_places.h"
#include "compiler/support/error.h"
#include "compiler/variants/variants.h"
#include "llvm/ADT/StringExtras.h"

namespace codl::compiler {

// Returns the flags that limit plans and that this one does not keep to.
llvm::Expected<std::vector<std::string>> VariantMaker::flags_against(const Candidate& plan) const {
  std::vector<std::string> flags;
  const CostModel costs(graph_, predictor_, options_.limits);
  CODL_ASSIGN_OR_RETURN(places, UserPlaces::create(costs, options_.limits.places));
  if (!places.are_kept(plan.partition)) flags.push_back("--place");
  for (const LimitCheck& limit : check_limits(plan.figures, options_.limits, ""))
    if (limit.excess > 0) flags.push_back(limit.flag);
  if (needs_choice_ &&
      !WeightRoom{graph_, predictor_, stored_, *most_weight_bytes_}.is_enough_for(plan.partition))
    flags.push_back("--max-weights");
  return flags;
}

bool VariantMaker::has_gpu_work() const {
  bool has_one = false;
  for (const ir::Node& node : graph_.nodes())
    if (node.op != OpKind::Convert)
      each_kernel({graph_, node}, Processor::Gpu, predictor_,
                  [&](const kernels::StepShape&) { has_one = true; });
  return has_one;
}

// Says why a plan of one processor is taken. The result is empty if a better plan was found on the
// way, and is taken. `doubt` says why the best plan of both processors was not taken, if one is
// better.
llvm::Expected<std::string> VariantMaker::why_not_both(Candidate& taken, std::string doubt) {
  const DeviceProfile& profile = predictor_.profile();
  if (!profile.has_gpu)
    return llvm::formatv("the profile of {0} has no GPU that can be used", profile.name).str();
  if (options_.forces_split()) return "no node can be split as --place asks";
  const auto is_gpu = [](uint16_t id) { return find_kernel(id)->processor == Processor::Gpu; };
  const auto avoided = llvm::count_if(profile.unused_kernels, is_gpu);
  const std::string left_out =
      avoided == 0 ? "" : llvm::formatv(", without the {0} that --avoid leaves out", avoided).str();
  if (!has_gpu_work()) return "the GPU has no kernel for any node of this network" + left_out;
  if (!options_.is_optimal())
    return llvm::formatv("--strategy={0} gives the GPU nothing", options_.strategy).str();
  // The limit on weights is only named where the others are not the reason.
  for (const bool has_any_weights : {false, true}) {
    if (has_any_weights ? !needs_choice_ : !has_limits()) continue;
    PartitionOptions free = options_;
    free.limits = {};
    free.limits.max_weights = options_.limits.max_weights;
    if (has_any_weights) free.limits.max_weights = {std::nullopt, std::nullopt};
    free.search_budget = budget_of_reason() / 2;
    CODL_ASSIGN_OR_RETURN(unlimited, VariantMaker(graph_, predictor_, free).make_first());
    taken.evaluations += unlimited.candidate.evaluations;
    const auto score = [&](const Candidate& plan) {
      return score_of(plan.figures, options_.objective, {});
    };
    // The limits do not keep out what is no better without them.
    if (!unlimited.one_processor_reason.empty() || score(unlimited.candidate) >= score(taken))
      continue;
    CODL_ASSIGN_OR_RETURN(flags, flags_against(unlimited.candidate));
    if (flags.empty()) {
      unlimited.candidate.evaluations = taken.evaluations;
      taken = std::move(unlimited.candidate);
      return "";
    }
    return llvm::formatv("because of {0}: {1} are predicted, a short search without found {2}",
                         llvm::join(flags, ", "), objective_text(taken.figures, options_.objective),
                         objective_text(unlimited.candidate.figures, options_.objective))
        .str();
  }
  // A default search may find what this one did not.
  const std::string few =
      options_.search_budget >= kSearchBudget
          ? ""
          : llvm::formatv("; --search-budget={0} judges fewer plans than the default of {1}",
                          options_.search_budget, kSearchBudget)
                .str();
  if (!doubt.empty()) return doubt + few;
  CODL_ASSIGN_OR_RETURN(on_cpu, alone_on(Processor::Cpu));
  CODL_ASSIGN_OR_RETURN(on_gpu, alone_on(Processor::Gpu));
  std::string text =
      llvm::formatv(
          "of the plans that were judged none on both is better: {0} on the CPU alone, {1} on the "
          "GPU alone",
          objective_text(on_cpu->figures, options_.objective),
          objective_text(on_gpu->figures, options_.objective))
          .str();
  if (options_.limits.limit_plans()) text += ", within the limits";
  if (options_.objective != Objective::Latency)
    text += llvm::formatv(", by --objective={0}",
                          kObjectiveNames[static_cast<size_t>(options_.objective)])
                .str();
  return text + left_out + few;
}

}  // namespace codl::compiler
