// Runs every stage from the bytes of the ONNX file to those of the plan, in order. Nothing else
// decides what runs when.
#include "compiler/pipeline.h"

#include "compiler/emit/pack_weights.h"
#include "compiler/emit/plan_builder.h"
#include "compiler/frontend/onnx/onnx_model.h"
#include "compiler/frontend/onnx/onnx_writer.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/pass_order.h"
#include "compiler/passes/passes.h"
#include "compiler/report/assumed_kernels.h"
#include "compiler/report/explain.h"
#include "compiler/report/pass_savings.h"
#include "compiler/report/plain_loops.h"
#include "compiler/report/plan_report.h"
#include "compiler/report/support_report.h"
#include "compiler/support/error.h"
#include "compiler/support/hash.h"
#include "compiler/variants/precision_choices.h"
#include "compiler/variants/shrink_for_plan.h"

namespace codl::compiler {

llvm::Expected<CompileResult> compile(llvm::StringRef onnx, llvm::StringRef path,
                                      const DeviceProfile& profile, const CompileOptions& options) {
  CompileResult result;
  CompileReport& report = result.report;
  const PlanLimits& limits = options.partition.limits;
  if (llvm::Error error = check_objective(profile, options.partition)) return error;
  if (llvm::Error error = check_model_bytes(onnx.size(), path)) return error;  // before it is read
  const std::string model_hash = to_hex(hash_of(onnx));
  ImportOptions import = options.import;
  import.rounds_to_halves = options.precision == Precision::Fp32;
  auto imported = import_onnx(onnx, path, import, &report.notes);
  if (!imported) return print_refusal(imported.takeError(), options.prints);
  ir::Graph graph = std::move(*imported);

  PassSavings savings(profile);
  PassOptions passes = {options.prints.dump, options.prints.to, options.skipped_passes};
  if (options.wants_report) passes.on_graph = savings.recorder();
  if (llvm::Error error = run_passes(graph, fusion_passes(), passes)) return error;
  // A graph that cannot be written is refused before a search that takes hours.
  if (options.emits_onnx)
    if (llvm::Error error = check_onnx(graph)) return error;
  CODL_ASSIGN_OR_RETURN(shrunk, shrink_for_plan(graph, options.shrink, profile, options.precision,
                                                options.partition));
  report.shrink = std::move(shrunk);
  const bool is_in_bytes = report.shrink.floats.has_value();
  if (options.emits_onnx) {
    ir::Graph on_grids = graph;
    if (llvm::Error error = find_grids(on_grids)) return error;
    CODL_ASSIGN_OR_RETURN(text, write_onnx(on_grids));
    result.onnx = std::move(text);
  }
  std::optional<ir::Graph> other = report.shrink.floats;
  if (options.compares_precisions && !is_in_bytes) {
    CODL_ASSIGN_OR_RETURN(in_bytes, all_in_bytes(graph, options.shrink.calibration));
    other = std::move(in_bytes);
  }
  if (llvm::Error error = run_passes(graph, layout_passes(), passes)) return error;
  if (other)
    if (llvm::Error error = run_passes(*other, layout_passes(), {"", nullptr, passes.skipped}))
      return error;
  std::optional<HalvesJudge> halves;
  if (options.precision != Precision::Fp32 || options.compares_precisions) {
    CODL_ASSIGN_OR_RETURN(judge,
                          HalvesJudge::make(graph, is_in_bytes ? *report.shrink.floats : graph,
                                            options.shrink.calibration, options.shrink.budget));
    halves = std::move(judge);
    CODL_ASSIGN_OR_RETURN(allowed, halves->allow(graph, options.precision));
    report.allowed_forms = std::move(allowed);
  }
  if (options.prints.dumps("graph")) *options.prints.to << ir::print(graph);

  const LatencyPredictor predictor(profile, constant_mbytes(graph));
  VariantMaker maker(graph, predictor, options.partition);
  CODL_ASSIGN_OR_RETURN(first, maker.make(options.variants[0]));
  CODL_ASSIGN_OR_RETURN(support, support_report(graph, predictor, first.candidate, maker));
  print(support, options.prints);
  CODL_ASSIGN_OR_RETURN(checks, check_support(support, profile, limits));
  llvm::append_range(checks, first.limits);
  if (llvm::Error error = expect_limits(checks, profile.name)) return error;
  report.plain_loops_warning = warning(plain_loops(first.candidate.schedule));
  report.assumed_kernels_warning =
      warning(assumed_kernels(graph, predictor, options.partition.strategy != "cpu"));
  if (llvm::Error error =
          print_explanation(graph, first.candidate, predictor, limits, options.prints))
    return error;
  if (!options.builds_plan) return result;

  CODL_ASSIGN_OR_RETURN(variants, maker.make_all(std::move(first), options.variants, checks));
  if (llvm::Error error = report_variants(graph, variants, profile, maker, options.prints, report))
    return error;
  if (options.compares_precisions) {
    CODL_ASSIGN_OR_RETURN(
        compared,
        compare_precisions(graph, *halves, is_in_bytes, *other, predictor, options.partition,
                           options.shrink, options.asked(), variants[0].candidate.figures));
    report_precisions(std::move(compared), options.shrink.budget, report);
  }
  const std::vector<Schedule> schedules = take_schedules(variants);
  CODL_ASSIGN_OR_RETURN(weights, pack_weights(graph, schedules));
  report_weights(graph, weights, limits.max_weights, report);
  if (const auto check = check_weights(report.weight_bytes, report.model_weight_bytes, limits))
    checks.push_back(*check);
  if (llvm::Error error = expect_limits(checks, profile.name)) return error;

  const std::optional<ir::Graph> reported =
      options.wants_report ? std::optional(graph) : std::nullopt;
  const PlanInfo info = {profile.name, model_hash, to_hex(profile.hash),
                         static_cast<uint32_t>(profile.machine.cpu_threads),
                         profile.worker_speeds()};
  CODL_ASSIGN_OR_RETURN(plan, build_plan(std::move(graph), schedules, weights, info));
  result.plan = std::move(plan);
  if (!options.wants_report) return result;
  if (llvm::Error error =
          report_measured(options.measured, options.measured_path, schedules, report))
    return error;
  CODL_ASSIGN_OR_RETURN(
      json,
      report_json({*reported, predictor, report, savings.costs(), support, variants, schedules,
                   options.partition, options.asked().name, checks, options.measured,
                   options.measured_path, path, model_hash, result.plan.size()}));
  result.report_json = std::move(json);
  return result;
}

}  // namespace codl::compiler
