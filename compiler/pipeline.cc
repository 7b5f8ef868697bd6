// Runs every stage from the bytes of the ONNX file to those of the plan, in order: all from the
// graph on to the schedules for each entry, then those of the file. Nothing else decides what runs
// when.
#include "compiler/pipeline.h"

#include "compiler/emit/dump_plan.h"
#include "compiler/emit/pack_weights.h"
#include "compiler/emit/plan_builder.h"
#include "compiler/frontend/onnx/ep_context.h"
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

namespace {

// The network at one set of input shapes, on its way from the model to its schedules, with what the
// reports tell of it.
struct Entry {
  std::string name;
  ir::Graph graph;
  PassSavings savings;
  std::optional<LatencyPredictor> predictor = {};
  SupportReport support = {};
  std::vector<LimitCheck> checks = {};
  std::vector<MadeVariant> variants = {};
  std::vector<Schedule> schedules = {};
  CompileReport report = {};
};

llvm::Expected<std::vector<Entry>> import_entries(llvm::StringRef onnx, llvm::StringRef path,
                                                  const DeviceProfile& profile,
                                                  const CompileOptions& options) {
  std::vector<ImportOptions> imports;
  for (const EntryRequest& request : options.entries) {
    ImportOptions& import = imports.emplace_back(options.import);
    import.rounds_to_halves = options.precision == Precision::Fp32;
    for (const auto& shape : request.input_shapes)
      import.input_shapes[shape.getKey()] = shape.getValue();
    for (const auto& dim : request.dims) import.dims[dim.getKey()] = dim.getValue();
  }
  std::vector<std::string> notes;
  auto imported = import_each(onnx, path, imports, &notes);
  if (!imported) return print_refusal(imported.takeError(), options.prints);
  std::vector<Entry> entries;
  for (size_t i = 0; i < imported->size(); ++i)
    entries.push_back({options.entries[i].name, std::move((*imported)[i]), PassSavings(profile)});
  // A session has one list of outputs, with the counts of those whose size the data decides.
  const Entry& first = entries.front();
  for (const Entry& entry : entries)
    if (entry.graph.extents().size() != first.graph.extents().size())
      return print_refusal(
          unsupported_error(
              path,
              "expected shapes of which the data decides the size of the same outputs, "
              "found {0} such sizes in {1} and {2} in {3}",
              first.graph.extents().size(), first.name, entry.graph.extents().size(), entry.name),
          options.prints);
  entries.front().report.notes = std::move(notes);
  return entries;
}

// Returns the entries in the order in which they are planned: where weights are limited, those of
// the largest shapes save most time.
std::vector<Entry*> largest_first(std::vector<Entry>& entries) {
  std::vector<Entry*> order;
  for (Entry& entry : entries) order.push_back(&entry);
  const auto elements = [](const Entry* entry) {
    int64_t count = 0;
    for (ir::ValueId input : entry->graph.inputs())
      count += entry->graph.value(input).type.element_count();
    return count;
  };
  llvm::stable_sort(order,
                    [&](const Entry* a, const Entry* b) { return elements(a) > elements(b); });
  return order;
}

// Says of which entry an error is.
llvm::Error in_entry(const std::string& name, llvm::Error error) {
  if (name.empty()) return error;
  return llvm::handleErrors(std::move(error), [&](std::unique_ptr<CompileError> one) {
    return make_error(one->kind(), (one->where() + " (" + name + ")").str(), one->text().str());
  });
}

// Runs the stages from the imported graph to the schedules of all variants. `stored` are the
// weights of the entries that were planned before.
llvm::Error plan_entry(Entry& entry, const DeviceProfile& profile, const CompileOptions& options,
                       WeightsOfEntries& stored, CompileResult& result) {
  ir::Graph& graph = entry.graph;
  CompileReport& report = entry.report;
  report.entry = entry.name;
  const PlanLimits& limits = options.partition.limits;
  print_heading(entry.name, options.prints);
  PassOptions passes = {options.prints.dump, options.prints.to, options.skipped_passes};
  if (options.wants_report) passes.on_graph = entry.savings.recorder();
  if (llvm::Error error = run_passes(graph, fusion_passes(), passes)) return error;
  // A graph that cannot be written is refused before a search that takes hours.
  if (options.emits_onnx)
    if (llvm::Error error = check_onnx(graph)) return error;
  if (options.ep_context_plan)
    if (llvm::Error error = check_ep_context(graph)) return error;
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

  const LatencyPredictor& predictor = entry.predictor.emplace(profile, constant_mbytes(graph));
  VariantMaker maker(graph, predictor, options.partition, stored);
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
  if (!options.builds_plan) return llvm::Error::success();

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
  maker.stored().add_to(stored);
  entry.support = std::move(support);
  entry.checks = std::move(checks);
  entry.schedules = take_schedules(variants);
  entry.variants = std::move(variants);
  return llvm::Error::success();
}

// Writes the file and the reports. `largest` is the entry whose constants the limit on weights is
// of.
llvm::Error emit(std::vector<Entry>& entries, Entry& largest, const std::string& model_hash,
                 llvm::StringRef path, const DeviceProfile& profile, const CompileOptions& options,
                 CompileResult& result) {
  const PlanLimits& limits = options.partition.limits;
  std::vector<EntryToEmit> emitted;
  for (Entry& entry : entries) emitted.push_back({entry.name, &entry.graph, entry.schedules});
  CODL_ASSIGN_OR_RETURN(weights, pack_weights(emitted));
  std::vector<ir::Graph> reported;
  for (Entry& entry : entries) {
    CompileReport& report = entry.report;
    report_weights(largest.graph, weights, limits.max_weights, report);
    if (const auto check = check_weights(report.weight_bytes, report.model_weight_bytes, limits))
      entry.checks.push_back(*check);
    if (llvm::Error error = expect_limits(entry.checks, profile.name)) return error;
    if (options.wants_report) reported.push_back(entry.graph);
  }
  const PlanInfo info = {profile.name, model_hash, to_hex(profile.hash),
                         static_cast<uint32_t>(profile.machine.cpu_threads),
                         profile.worker_speeds()};
  CODL_ASSIGN_OR_RETURN(plan, build_plan(emitted, weights, info));
  result.plan = std::move(plan);
  if (options.ep_context_plan) {
    const auto* bytes = reinterpret_cast<const char*>(result.plan.data());
    CODL_ASSIGN_OR_RETURN(read, open_plan(bytes, result.plan.size(), "plan"));
    CODL_ASSIGN_OR_RETURN(
        model, write_ep_context(read, *options.ep_context_plan, {bytes, result.plan.size()}));
    result.ep_context = std::move(model);
  }
  std::vector<std::string> reports;
  for (size_t i = 0; i < reported.size(); ++i) {
    Entry& entry = entries[i];
    if (llvm::Error error =
            report_measured(options.measured, options.measured_path, entry.schedules, entry.report))
      return error;
    CODL_ASSIGN_OR_RETURN(
        json, report_json({reported[i], *entry.predictor, entry.report, entry.savings.costs(),
                           entry.support, entry.variants, entry.schedules, options.partition,
                           options.asked().name, entry.checks, options.measured,
                           options.measured_path, path, model_hash, result.plan.size()}));
    reports.push_back(std::move(json));
  }
  result.report_json = join_reports(reports);
  return llvm::Error::success();
}

}  // namespace

llvm::Expected<CompileResult> compile(llvm::StringRef onnx, llvm::StringRef path,
                                      const DeviceProfile& profile, const CompileOptions& options) {
  CompileResult result;
  if (llvm::Error error = check_objective(profile, options.partition)) return error;
  if (llvm::Error error = check_model_bytes(onnx.size(), path)) return error;  // before it is read
  const std::string model_hash = to_hex(hash_of(onnx));
  CODL_ASSIGN_OR_RETURN(entries, import_entries(onnx, path, profile, options));
  WeightsOfEntries stored;
  const std::vector<Entry*> planned = largest_first(entries);
  for (Entry* entry : planned)
    if (llvm::Error error = plan_entry(*entry, profile, options, stored, result))
      return in_entry(entry->name, std::move(error));
  if (options.builds_plan)
    if (llvm::Error error =
            emit(entries, *planned.front(), model_hash, path, profile, options, result))
      return error;
  for (Entry& entry : entries) result.reports.push_back(std::move(entry.report));
  return result;
}

}  // namespace codl::compiler
