#include "compiler/report/compile_report.h"

#include <algorithm>

#include "compiler/memory/memory_plan.h"
#include "compiler/ops/multiply_adds.h"
#include "compiler/report/print_partition.h"
#include "compiler/support/error.h"
#include "kernels/conv2d/winograd.h"
#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {
namespace {

// A measured time is far from the predicted one beyond this factor.
constexpr double kFarFactor = 2;

// Returns the least certain origin among the profile's power figures; "" without any.
const char* power_origin(const DeviceProfile& profile) {
  if (!profile.power) return "";
  const PowerFigures& power = *profile.power;
  return name_of(std::max({power.base_w.origin, power.cpu_w.origin, power.gpu_w.origin}));
}

// Returns the GPU's share of the multiply-adds.
double gpu_mac_share(const ir::Graph& graph, const PartitionPlan& plan) {
  double gpu_macs = 0, macs = 0;
  for (const NodePartition& node_partition : plan.node_partitions) {
    const double node_macs = multiply_adds({graph, graph.node(node_partition.node)});
    double owned = 0;
    for (const Part& part : node_partition.parts) owned += part.owned.count();
    macs += node_macs;
    if (const Part* gpu = node_partition.part_on(Processor::Gpu))
      gpu_macs += node_macs * gpu->owned.count() / owned;
  }
  return macs > 0 ? gpu_macs / macs : 0;
}

// Returns the share of the energy of `alone` that a plan saves.
std::optional<double> energy_saved(const PlanFigures& plan, const PlanFigures& alone) {
  if (plan.energy_mj.value_or(0) <= 0 || alone.energy_mj.value_or(0) <= 0) return std::nullopt;
  return 1 - *plan.energy_mj / *alone.energy_mj;
}

std::string short_of_weights(const ir::Graph& graph, const MadeVariant& made) {
  if (made.with_all_weights == nullptr) return "";
  const Candidate* plans[] = {&made.candidate, made.with_all_weights};
  double percents[2];
  std::string figures[2];
  for (size_t i = 0; i < 2; ++i) {
    percents[i] = 100 * gpu_mac_share(graph, plans[i]->partition);
    figures[i] = llvm::formatv("{0:f2} ms", plans[i]->schedule.predicted_us / 1e3).str();
  }
  if (percents[0] != percents[1])
    for (size_t i = 0; i < 2; ++i)
      figures[i] += llvm::formatv(" with {0:f0} % of MACs on the GPU", percents[i]).str();
  return llvm::formatv(
             "only the weights that other variants leave of --max-weights: {0}, in place of {1} "
             "(--strategy={2})",
             figures[0], figures[1], made.with_all_weights->schedule.name)
      .str();
}

llvm::Expected<CompileReport::Variant> report_of(const ir::Graph& graph, const MadeVariant& made,
                                                 const DeviceProfile& profile,
                                                 VariantMaker& maker) {
  const Candidate& variant = made.candidate;
  CompileReport::Variant report;
  report.one_processor_reason = made.one_processor_reason;
  report.exempt = made.exempt;
  report.short_of_weights = short_of_weights(graph, made);
  report.figures = variant.figures;
  report.power_origin = power_origin(profile);
  report.name = variant.schedule.name;
  report.predicted_us = variant.schedule.predicted_us;
  report.evaluations = variant.evaluations;
  for (const NodePartition& node_partition : variant.partition.node_partitions)
    report.split_nodes += node_partition.is_split();
  report.gpu_mac_share = gpu_mac_share(graph, variant.partition);
  report.chains = variant.partition.chains.size();
  for (const Chain& chain : variant.partition.chains)
    report.longest_chain = std::max(report.longest_chain, chain.nodes.size());
  for (const Tensor& tensor : variant.schedule.tensors) {
    if (tensor.storage == Storage::Weights || tensor.storage == Storage::Input ||
        tensor.storage == Storage::Output)
      continue;
    const bool is_half = tensor.shape.dtype == DType::F16;
    const bool is_byte = kernels::is_quantised(tensor.shape);
    report.half_tensors += is_half;
    report.byte_tensors += is_byte;
    report.real_tensors += is_half || is_byte || tensor.shape.dtype == DType::F32;
  }
  CODL_ASSIGN_OR_RETURN(uncertainty, uncertainty_of(variant.schedule, profile));
  report.uncertainty = uncertainty;
  if (report.predicted_us <= 0) return report;
  CODL_ASSIGN_OR_RETURN(on_cpu, maker.unlimited_alone_on(Processor::Cpu));
  report.speedup_over_cpu = on_cpu.predicted_us / report.predicted_us;
  report.energy_saved_over_cpu = energy_saved(report.figures, on_cpu);
  if (!maker.has_gpu_work()) return report;
  CODL_ASSIGN_OR_RETURN(on_gpu, maker.unlimited_alone_on(Processor::Gpu));
  report.speedup_over_gpu = on_gpu.predicted_us / report.predicted_us;
  report.energy_saved_over_gpu = energy_saved(report.figures, on_gpu);
  return report;
}

void print_stages(const ir::Graph& graph, const Candidate& variant, const Printouts& prints) {
  const std::string heading = "variant " + variant.schedule.name + "\n";
  if (prints.dumps("partition")) *prints.to << heading << print_partition(graph, variant.partition);
  if (prints.dumps("schedule")) *prints.to << print(variant.schedule);
  if (prints.dumps("memory")) *prints.to << heading << print_memory(variant.schedule);
}

}  // namespace

std::optional<double> CompileReport::measured_speedup_over(llvm::StringRef name) const {
  if (variants.empty() || !variants.front().measured_us) return std::nullopt;
  for (const Variant& variant : llvm::drop_begin(variants))
    if (variant.name == name && variant.measured_us)
      return *variant.measured_us / *variants.front().measured_us;
  return std::nullopt;
}

llvm::Error report_variants(const ir::Graph& graph, llvm::ArrayRef<MadeVariant> variants,
                            const DeviceProfile& profile, VariantMaker& maker,
                            const Printouts& prints, CompileReport& report) {
  for (const MadeVariant& made : variants) {
    print_stages(graph, made.candidate, prints);
    CODL_ASSIGN_OR_RETURN(variant, report_of(graph, made, profile, maker));
    report.variants.push_back(std::move(variant));
    for (ir::NodeId id : made.candidate.partition.not_split_as_forced) {
      const ir::Node& node = graph.node(id);
      report.not_split_as_forced.push_back(
          llvm::formatv("{0} ({1})", node.name, op_info(node.op).name).str());
    }
  }
  report.without_weight_limit = maker.without_weight_limit();
  return llvm::Error::success();
}

llvm::Error report_measured(llvm::ArrayRef<MeasuredSteps> measured, llvm::StringRef path,
                            llvm::ArrayRef<Schedule> schedules, CompileReport& report) {
  for (size_t i = 0; i < schedules.size(); ++i) {
    CODL_ASSIGN_OR_RETURN(steps, measured_steps_of(measured, path, report.entry, schedules[i]));
    if (steps == nullptr || steps->median_us <= 0) continue;
    CompileReport::Variant& variant = report.variants[i];
    variant.measured_us = steps->median_us;
    if (steps->median_us <= kFarFactor * variant.predicted_us &&
        variant.predicted_us <= kFarFactor * steps->median_us)
      continue;
    report.notes.push_back(
        llvm::formatv("variant {0} took {1:f2} ms, and {2:f2} ms are predicted: --learn predicts "
                      "by what was measured",
                      variant.name, steps->median_us / 1e3, variant.predicted_us / 1e3)
            .str());
  }
  return llvm::Error::success();
}

void report_precisions(std::vector<PrecisionChoice> precisions, double budget,
                       CompileReport& report) {
  for (const PrecisionChoice& choice : precisions)
    if (choice.is_chosen && choice.deviation && !(choice.deviation->loss() <= budget))
      report.precision_warning =
          llvm::formatv(
              "--precision={0} loses {1:f2} % ({2}) on the {3} samples measured, more than the "
              "{4:f2} % of --accuracy-budget",
              choice.name, 100 * choice.deviation->loss(), choice.deviation->loss_name(),
              choice.deviation->samples, 100 * budget)
              .str();
  report.precisions = std::move(precisions);
}

void report_weights(const ir::Graph& graph, const PackedWeights& weights, const WeightLimit& limit,
                    CompileReport& report) {
  report.weight_bytes = weights.data_bytes;
  report.model_weight_bytes = constant_bytes(graph);
  report.weight_limit_bytes = most_weight_bytes(graph, limit);
  for (const auto& [entry, blob] : weights.blobs)
    if (kernels::winograd_outputs(blob.packing.kind) != 0) report.winograd_bytes += blob.bytes;
}

}  // namespace codl::compiler
