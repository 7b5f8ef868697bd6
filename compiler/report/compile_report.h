// Reports on a plan that codlc made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/emit/pack_weights.h"
#include "compiler/partition/limits.h"
#include "compiler/report/printouts.h"
#include "compiler/shrink/shrink.h"
#include "compiler/simulate/measured/measured_steps.h"
#include "compiler/simulate/measured/uncertainty.h"
#include "compiler/variants/precision_choices.h"
#include "compiler/variants/variants.h"

namespace codl::compiler {

// Holds everything that codlc tells the user about an entry of a plan. What is said of weights is
// said of the plan.
struct CompileReport {
  std::string entry;  // PlanEntry::name
  struct Variant {
    std::string name;
    double predicted_us = 0;
    // Hold the predicted speedup over the CPU alone, and over a plan with everything on the GPU
    // that it can run, both without limits; nothing without a GPU.
    std::optional<double> speedup_over_cpu, speedup_over_gpu;
    // Hold the share of the energy of these plans that it saves, by prediction; nothing without
    // figures.energy_mj.
    std::optional<double> energy_saved_over_cpu, energy_saved_over_gpu;
    std::optional<double> measured_us;  // median of the runs of --measured
    Uncertainty uncertainty;            // uncertainty of predicted_us
    uint32_t evaluations = 0;           // whole plans that the search judged; 0: there was none
    double gpu_mac_share = 0;           // share of the multiply-adds
    PlanFigures figures;                // figures that limits concern
    // Is the origin of figures.energy_mj, the least certain of the power figures'.
    const char* power_origin = "";
    // Says why it is not on both processors; empty where it is, and where that was not asked for.
    std::string one_processor_reason;
    // Holds the figures with the weights that other variants leave it, and with all; empty if they
    // are equal.
    std::string short_of_weights;
    std::string exempt;  // a flag that it does not keep to, and why: "--place: ..."; or empty
    size_t split_nodes = 0;
    size_t chains = 0;
    size_t longest_chain = 0;
    // Count tensors of real numbers, without weights and the application's, and those of them that
    // are halves or bytes.
    size_t real_tensors = 0;
    size_t half_tensors = 0;
    size_t byte_tensors = 0;
  };
  std::vector<Variant> variants;

  // Returns how many times as fast the first variant was as the one with this name; nothing unless
  // both were measured.
  std::optional<double> measured_speedup_over(llvm::StringRef name) const;

  std::vector<std::string> not_split_as_forced;  // "node (Op)"
  uint64_t weight_bytes = 0;
  uint64_t winograd_bytes = 0;                   // filters transformed by Winograd's method
  uint64_t model_weight_bytes = 0;               // as constants of the compiled graph
  std::optional<uint64_t> weight_limit_bytes;    // --max-weights; nothing: none
  std::optional<FreePlan> without_weight_limit;  // nothing: the plan is as it would be
  ShrinkReport shrink;
  AllowedForms allowed_forms;
  std::vector<PrecisionChoice> precisions;  // empty unless CompileOptions::compares_precisions
  std::string precision_warning;   // one line if the plan loses more than the budget; or empty
  std::vector<std::string> notes;  // the importer's, one line each
  // Is one line if a notable share of the first variant's time goes into nodes without a fast
  // kernel.
  std::string plain_loops_warning;
  // Is one line if kernels that the network could use have times that the profile assumes.
  std::string assumed_kernels_warning;
};

// Fills in the variants' part, and prints their stages where that is asked for.
llvm::Error report_variants(const ir::Graph& graph, llvm::ArrayRef<MadeVariant> variants,
                            const DeviceProfile& profile, VariantMaker& maker,
                            const Printouts& prints, CompileReport& report);

// Fills in the variants' measured_us, with a note where that is far from the predicted. Errors: see
// measured_steps_of(); `path` is the measurements'.
llvm::Error report_measured(llvm::ArrayRef<MeasuredSteps> measured, llvm::StringRef path,
                            llvm::ArrayRef<Schedule> schedules, CompileReport& report);

// Fills in the precisions' part, with a warning if the plan loses more than `budget`.
void report_precisions(std::vector<PrecisionChoice> precisions, double budget,
                       CompileReport& report);

// Fills in the weights' part.
void report_weights(const ir::Graph& graph, const PackedWeights& weights, const WeightLimit& limit,
                    CompileReport& report);

}  // namespace codl::compiler
