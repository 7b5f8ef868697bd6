// ONNX bytes to plan bytes: every stage, in order. Nothing else decides what runs when.
#include "compiler/pipeline.h"

#include <algorithm>
#include <cmath>

#include "compiler/emit/pack_weights.h"
#include "compiler/emit/plan_builder.h"
#include "compiler/frontend/onnx/onnx_model.h"
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
#include "compiler/schedule/half_storage.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/figures.h"
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

// Low rank and pruning come before it, and the network is written as ONNX.
constexpr char kFirstBehindCompress[] = "widen_pools";

constexpr Pass kFrontendPasses[] = {
    {"fold_constants", fold_constants},            // the fusions may use what becomes constant
    {"merge_common", merge_common},                // before readers are counted
    {"nest_concats", nest_concats},                // by which equal operands are one value
    {"eliminate_dead", eliminate_dead},            // copies would stand between what fuses
    {"fuse_unary_patterns", fuse_unary_patterns},  // before pieces of a formula fuse elsewhere
    {"fuse_normalize", fuse_normalize},            // likewise
    {"fuse_quantize_pairs", fuse_quantize_pairs},  // likewise
    {"fuse_gates", fuse_gates},                    // behind what knows such sums
    {"sink_transposes", sink_transposes},          // from between what fuses
    {"sink_reshapes", sink_reshapes},              // likewise
    {"sink_depth_to_space", sink_depth_to_space},  // likewise
    {"eliminate_dead", eliminate_dead},            // those that met there
    {"fuse_pads", fuse_pads},                      // where a convolution reads what is padded
    {"fold_batch_norm", fold_batch_norm},          // before a convolution has an activation
    {"fuse_one_hot", fuse_one_hot},                // a bias in the product is in the table
    {"fuse_affine", fuse_affine},                  // what did not fold into a convolution
    {"fuse_residual", fuse_residual},              // before a convolution has an activation
    {"fuse_activation", fuse_activation},          // the last thing a node does
    {kFirstBehindCompress, widen_pools},           // whose channels hang together no more
    {"assign_layouts", assign_layouts},            // its Converts would stand between, too
};

// The least sure of the profile's power figures; "" without any.
const char* power_origin(const DeviceProfile& profile) {
  if (!profile.power) return "";
  const PowerFigures& power = *profile.power;
  return name_of(std::max({power.base_w.origin, power.cpu_w.origin, power.gpu_w.origin}));
}

// Without uncertainty.
CompileReport::Variant report_of(const ir::Graph& graph, const MadeVariant& made,
                                 const DeviceProfile& profile) {
  const Candidate& variant = made.candidate;
  CompileReport::Variant report;
  report.one_processor_reason = made.one_processor_reason;
  report.exempt = made.exempt;
  report.figures = variant.figures;
  report.power_origin = power_origin(profile);
  report.name = variant.schedule.name;
  report.predicted_us = variant.schedule.predicted_us;
  report.evaluations = variant.evaluations;
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

// The limit on the network itself, if it was asked for.
llvm::Expected<std::vector<LimitCheck>> checks_of(const SupportReport* support,
                                                  const DeviceProfile& profile,
                                                  const PlanLimits& limits) {
  if (!limits.max_fallback_percent) return std::vector<LimitCheck>();
  if (!profile.has_gpu)
    return input_error(profile.name,
                       "expected a device with a GPU for --max-fallback, found one without");
  return std::vector<LimitCheck>{*check_fallback(
      100 * support->fallback_share, support->macs > 0 ? "multiply-adds" : "nodes", limits)};
}

// Makes the support report where it is asked for, or a limit needs it, and prints it where it is
// asked for; nothing if nobody asks.
llvm::Expected<std::optional<SupportReport>> report_support(const ir::Graph& graph,
                                                            const LatencyPredictor& predictor,
                                                            const Candidate& chosen,
                                                            VariantMaker& maker,
                                                            const CompileOptions& options) {
  if (options.support == SupportFormat::None && !options.partition.limits.max_fallback_percent &&
      !options.wants_report)
    return std::nullopt;
  std::optional<PlannedVariant> planned_on_gpu;
  if (predictor.profile().has_gpu) {
    CODL_ASSIGN_OR_RETURN(on_gpu, maker.alone_on(Processor::Gpu));
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

// Prints it where it is asked for.
llvm::Error explain_node(const ir::Graph& graph, const LatencyPredictor& predictor,
                         const Candidate& variant, const CompileOptions& options) {
  if (!options.explained_node || options.dump_to == nullptr) return llvm::Error::success();
  const std::string& node = *options.explained_node;
  CODL_ASSIGN_OR_RETURN(text, explain(graph, variant.schedule, predictor, node));
  CODL_ASSIGN_OR_RETURN(others, explain_alternatives(graph, variant.partition, predictor, node));
  *options.dump_to << text << others;
  return llvm::Error::success();
}

// All variants of the plan, those of a name once. Adds to `limits` what was checked; a Limit error
// where one is not met.
llvm::Expected<std::vector<MadeVariant>> make_others(MadeVariant first, VariantMaker& maker,
                                                     const std::string& device,
                                                     const CompileOptions& options,
                                                     std::vector<LimitCheck>& limits) {
  std::vector<MadeVariant> variants;
  variants.push_back(std::move(first));
  for (const VariantRequest& request : llvm::ArrayRef(options.variants).drop_front()) {
    CODL_ASSIGN_OR_RETURN(made, maker.make(request));
    if (llvm::any_of(variants, [&](const MadeVariant& other) {
          return other.candidate.schedule.name == made.candidate.schedule.name;
        }))
      continue;
    if (llvm::Error error = expect_limits(made.limits, device)) return error;
    llvm::append_range(limits, made.limits);
    variants.push_back(std::move(made));
  }
  return variants;
}

// How many times as fast as the plan of one processor; nothing on a device without it.
llvm::Expected<std::optional<double>> speedup_over(Processor processor, const Candidate& variant,
                                                   bool has_gpu, VariantMaker& maker) {
  const double us = variant.schedule.predicted_us;
  if ((processor == Processor::Gpu && !has_gpu) || us <= 0) return std::nullopt;
  CODL_ASSIGN_OR_RETURN(alone, maker.alone_on(processor));
  return alone->schedule.predicted_us / us;
}

// Prints the stages that are asked for, and adds to the report.
llvm::Error report_variant(const ir::Graph& graph, const MadeVariant& made,
                           const DeviceProfile& profile, VariantMaker& maker,
                           const CompileOptions& options, CompileReport& report) {
  const Candidate& variant = made.candidate;
  const std::string heading = "variant " + variant.schedule.name + "\n";
  dump_stage(options, "partition",
             [&] { return heading + print_partition(graph, variant.partition); });
  dump_stage(options, "schedule", [&] { return print(variant.schedule); });
  dump_stage(options, "memory", [&] { return heading + print_memory(variant.schedule); });
  report.variants.push_back(report_of(graph, made, profile));
  CODL_ASSIGN_OR_RETURN(uncertainty, uncertainty_of(variant.schedule, profile));
  report.variants.back().uncertainty = uncertainty;
  CODL_ASSIGN_OR_RETURN(over_cpu, speedup_over(Processor::Cpu, variant, profile.has_gpu, maker));
  CODL_ASSIGN_OR_RETURN(over_gpu, speedup_over(Processor::Gpu, variant, profile.has_gpu, maker));
  report.variants.back().speedup_over_cpu = over_cpu;
  report.variants.back().speedup_over_gpu = over_gpu;
  for (ir::NodeId id : variant.partition.not_split_as_forced) {
    const ir::Node& node = graph.node(id);
    report.not_split_as_forced.push_back(
        llvm::formatv("{0} ({1})", node.name, op_info(node.op).name).str());
  }
  return llvm::Error::success();
}

// Microseconds of a graph in front of the passes behind compress(): an estimate, for a rewrite is
// judged on hundreds of graphs, and the search judges thousands of plans of each.
llvm::Expected<double> judge_latency(const ir::Graph& graph, const DeviceProfile& profile,
                                     const CompileOptions& options) {
  ir::Graph laid_out = graph;
  if (!llvm::is_contained(options.skipped_passes, kFirstBehindCompress))
    if (llvm::Error error = widen_pools(laid_out)) return error;
  if (llvm::Error error = assign_layouts(laid_out)) return error;
  const LatencyPredictor predictor(profile, constant_mbytes(laid_out));
  return VariantMaker(laid_out, predictor, options.precision, options.partition).estimate_us();
}

// All that judge_latency() depends on beside the graph.
std::string what_judges(const DeviceProfile& profile, const CompileOptions& options) {
  const PartitionOptions& partition = options.partition;
  const PlanLimits& limits = partition.limits;
  std::string text =
      llvm::formatv(
          "{0} {1} {2} {3} {4} {5} {6} {7} {8} {9} {10} {11} {12} {13} {14}", codlc_version(),
          to_hex(profile.hash), partition.strategy, static_cast<int>(options.precision),
          static_cast<int>(partition.split_dim), partition.ratio.value_or(-1), partition.max_chain,
          static_cast<int>(partition.boundary_first), static_cast<int>(partition.objective),
          limits.gpu_share.value_or(-1), limits.max_gpu_slice_us.value_or(-1),
          limits.max_arena_bytes.value_or(0), limits.max_syncs.value_or(UINT32_MAX),
          limits.max_weights.ratio.value_or(-1), limits.max_weights.bytes.value_or(0))
          .str();
  for (const ForcedPlacement& place : limits.places)
    text += llvm::formatv(" {0} {1} {2} {3}", place.node,
                          place.processor ? static_cast<int>(*place.processor) : -1,
                          static_cast<int>(place.split_dim), place.gpu_share)
                .str();
  return text;
}

llvm::Error run_frontend_passes(ir::Graph& graph, const CompileOptions& options,
                                PassSavings& savings, const DeviceProfile& profile,
                                CompileReport& report) {
  PassOptions passes{options.dump, options.dump_to};
  if (options.wants_report)
    passes.on_graph = [&](llvm::StringRef pass, const ir::Graph& after) {
      return savings.add(pass, after);
    };
  const bool widens = !llvm::is_contained(options.skipped_passes, kFirstBehindCompress);
  passes.inserted_before = widens ? kFirstBehindCompress : "assign_layouts";
  passes.inserted = [&](ir::Graph& plain) -> llvm::Error {
    if (options.compress.is_asked()) {
      if (options.on_uncompressed)
        if (llvm::Error error = options.on_uncompressed(plain)) return error;
      CompressOptions asked = options.compress;
      asked.judged_by = what_judges(profile, options);
      // Other dims are another node to what was learned: a rewrite would gain, or lose, that.
      DeviceProfile unlearned = profile;
      unlearned.learned = {};
      CODL_ASSIGN_OR_RETURN(compressed, compress(plain, asked, [&](const ir::Graph& tried) {
                              return judge_latency(tried, unlearned, options);
                            }));
      report.compress = std::move(compressed);
    }
    return options.on_optimised ? options.on_optimised(plain) : llvm::Error::success();
  };
  std::vector<Pass> kept;
  for (const Pass& pass : kFrontendPasses)
    if (!llvm::is_contained(options.skipped_passes, pass.name)) kept.push_back(pass);
  return run_passes(graph, kept, passes);
}

}  // namespace

llvm::ArrayRef<Pass> frontend_passes() { return kFrontendPasses; }

llvm::Expected<CompileResult> compile(llvm::StringRef onnx, llvm::StringRef path,
                                      const DeviceProfile& profile, const CompileOptions& options) {
  if (llvm::Error error = check_objective(profile, options.partition)) return error;
  CompileResult result;
  if (llvm::Error error = check_model_bytes(onnx.size(), path)) return error;  // before it is read
  const std::string model_hash = to_hex(hash_of(onnx));
  auto imported = import_onnx(onnx, path, options.import, &result.report.notes);
  if (!imported) return report_refusal(imported.takeError(), options);
  ir::Graph graph = std::move(*imported);
  PassSavings savings(profile);
  if (llvm::Error error = run_frontend_passes(graph, options, savings, profile, result.report))
    return error;
  dump_stage(options, "graph", [&] { return ir::print(graph); });
  const LatencyPredictor predictor(profile, constant_mbytes(graph));
  VariantMaker maker(graph, predictor, options.precision, options.partition);

  CODL_ASSIGN_OR_RETURN(first, maker.make(options.variants[0]));
  CODL_ASSIGN_OR_RETURN(support, report_support(graph, predictor, first.candidate, maker, options));
  CODL_ASSIGN_OR_RETURN(
      limits, checks_of(support ? &*support : nullptr, profile, options.partition.limits));
  llvm::append_range(limits, first.limits);
  if (llvm::Error error = expect_limits(limits, profile.name)) return error;
  result.report.plain_loops_warning = warning(plain_loops(first.candidate.schedule));
  result.report.assumed_kernels_warning =
      warning(assumed_kernels(graph, predictor, options.partition.strategy != "cpu"));
  if (llvm::Error error = explain_node(graph, predictor, first.candidate, options)) return error;
  if (!options.builds_plan) return result;
  CODL_ASSIGN_OR_RETURN(variants,
                        make_others(std::move(first), maker, profile.name, options, limits));
  std::vector<Schedule> schedules;
  for (MadeVariant& made : variants) {
    if (llvm::Error error = report_variant(graph, made, profile, maker, options, result.report))
      return error;
    schedules.push_back(std::move(made.candidate.schedule));
  }

  CODL_ASSIGN_OR_RETURN(weights, pack_weights(graph, schedules));
  result.report.weight_bytes = weights.data_bytes;
  result.report.model_weight_bytes = constant_bytes(graph);
  result.report.weight_limit_bytes =
      options.partition.limits.max_weights.bytes_for(result.report.model_weight_bytes);
  result.report.without_weight_limit = maker.without_weight_limit();
  if (const auto check = check_weights(weights.data_bytes, result.report.model_weight_bytes,
                                       options.partition.limits)) {
    if (llvm::Error error = expect_limits(*check, profile.name)) return error;
    limits.push_back(*check);
  }
  for (const Blob& blob : weights.blobs)
    if (kernels::winograd_outputs(blob.packing) != 0) result.report.winograd_bytes += blob.bytes;
  const PlanInfo info{profile.name, model_hash, to_hex(profile.hash),
                      static_cast<uint32_t>(profile.machine.cpu_threads), profile.worker_speeds()};
  std::optional<ir::Graph> reported;  // the plan takes the graph
  if (options.wants_report) reported = graph;
  CODL_ASSIGN_OR_RETURN(plan, build_plan(std::move(graph), schedules, weights, info));
  result.plan = std::move(plan);
  if (options.wants_report) {
    std::vector<PlannedVariant> planned;
    for (size_t i = 0; i < schedules.size(); ++i)
      planned.push_back({variants[i].candidate.partition, schedules[i]});
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
