#include "compiler/report/plan_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/ops/multiply_adds.h"
#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/value_tensors.h"
#include "compiler/report/memory_over_time.h"
#include "compiler/simulate/timing/simulate.h"
#include "compiler/support/hash.h"
#include "compiler/support/version.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "schema/plan_layout.h"
#include "tools/json_writer.h"

namespace codl::compiler {
namespace {

constexpr int kReportVersion = 1;
// Steps like those that were measured in a plan have this level, beside kLevelNames.
constexpr char kLearnedLevel[] = "learned";

class Writer {
 public:
  explicit Writer(const ReportedPlan& plan) : plan_(plan), profile_(plan.predictor.profile()) {}

  const std::string& text() const { return json_.text(); }

  llvm::Error write() {
    // Measurements of another entry stand in that one's report.
    bool is_used = llvm::none_of(plan_.measured, [&](const MeasuredSteps& measured) {
      return plan_.report.entry.empty() || measured.entry == plan_.report.entry;
    });
    llvm::Error error = llvm::Error::success();
    json_.object([&] {
      json_.key("format").string("codl-report");
      json_.key("format_version").integer(kReportVersion);
      if (!plan_.report.entry.empty()) text("entry", plan_.report.entry);
      write_made_from();
      json_.key("variants").array([&] {
        for (size_t i = 0; i < plan_.variants.size() && !error; ++i)
          json_.object([&] { error = write_variant(i, is_used); });
      });
      json_.key("operators").array([&] { write_operators(); });
      json_.key("precision").object([&] { write_precision(); });
      json_.key("support");
      write_json(plan_.support, json_);
      json_.key("passes").array([&] { write_passes(); });
      json_.key("limits").array([&] { write_limits(); });
      json_.key("notes").array([&] {
        for (const std::string& note : plan_.report.notes) text_value(note);
        for (const std::string& warning :
             {plan_.report.shrink.warning, plan_.report.precision_warning,
              plan_.report.assumed_kernels_warning, plan_.report.plain_loops_warning})
          if (!warning.empty()) text_value(warning);
      });
    });
    if (error) return error;
    if (!is_used)
      return input_error(plan_.measured_path,
                         "expected steps of a variant of this plan, found variant \"{0}\"",
                         plan_.measured.front().variant);
    return error;
  }

 private:
  // They are in the schedule's order, by node and kernel.
  using StepsOfParts =
      std::map<std::pair<ir::NodeId, const KernelInfo*>, llvm::SmallVector<StepId, 2>>;

  // Whole nanoseconds are as exact as predictions are, and short.
  void us(llvm::StringRef key, double value) { json_.key(key).number(rounded(value)); }
  static double rounded(double value) { return std::round(value * 1e3) / 1e3; }
  void share(llvm::StringRef key, double value) {
    json_.key(key).number(std::round(value * 1e6) / 1e6);
  }
  void number(llvm::StringRef key, uint64_t value) {
    json_.key(key).integer(static_cast<int64_t>(value));
  }
  void text(llvm::StringRef key, llvm::StringRef value) { json_.key(key).string(value); }
  void text_value(llvm::StringRef value) { json_.string(value); }

  void write_made_from() {
    json_.key("codlc_version").string(codlc_version());
    number("plan_format", kPlanVersion);
    json_.key("model").object([&] {
      text("name", llvm::sys::path::filename(plan_.model_path));
      text("hash", plan_.model_hash);
      number("node_count", plan_.graph.nodes().size());
    });
    json_.key("device").object([&] {
      text("name", profile_.name);
      text("description", profile_.description);
      text("profile_hash", to_hex(profile_.hash));
      text("cpu", profile_.cpu_name);
      number("cpu_threads", static_cast<uint64_t>(profile_.machine.cpu_threads));
      text("gpu", profile_.has_gpu ? profile_.gpu_name : "");
    });
    json_.key("plan").object([&] {
      number("bytes", plan_.plan_bytes);
      number("weight_bytes", plan_.report.weight_bytes);
      number("winograd_bytes", plan_.report.winograd_bytes);
      number("model_weight_bytes", plan_.report.model_weight_bytes);
      if (plan_.report.weight_limit_bytes)
        number("weight_limit_bytes", *plan_.report.weight_limit_bytes);
      if (const auto& free = plan_.report.without_weight_limit)
        json_.key("without_weight_limit").object([&] {
          us("predicted_us", free->figures.predicted_us);
          number("weight_bytes", free->weight_bytes);
        });
    });
    json_.key("options").object([&] {
      text("strategy", plan_.asked.strategy);
      text("objective", kObjectiveNames[static_cast<size_t>(plan_.asked.objective)]);
      text("precision", plan_.precision);
    });
  }

  llvm::Error write_variant(size_t index, bool& is_used) {
    const Schedule& schedule = plan_.schedules[index];
    const CompileReport::Variant& facts = plan_.report.variants[index];
    auto queue_steps = queue_steps_of(schedule, profile_);
    if (!queue_steps) return queue_steps.takeError();
    const Timeline timeline = run_queues(*queue_steps, profile_, {}, Clock::Wall);
    text("name", facts.name);
    us("predicted_us", facts.predicted_us);
    if (facts.speedup_over_cpu) us("speedup_over_cpu", *facts.speedup_over_cpu);
    if (facts.speedup_over_gpu) us("speedup_over_gpu", *facts.speedup_over_gpu);
    if (facts.energy_saved_over_cpu) share("energy_saved_over_cpu", *facts.energy_saved_over_cpu);
    if (facts.energy_saved_over_gpu) share("energy_saved_over_gpu", *facts.energy_saved_over_gpu);
    us("low_us", facts.uncertainty.low_us);
    us("high_us", facts.uncertainty.high_us);
    share("assumed_share", facts.uncertainty.assumed_share);
    share("gpu_mac_share", facts.gpu_mac_share);
    number("split_nodes", facts.split_nodes);
    number("chains", facts.chains);
    number("longest_chain", facts.longest_chain);
    number("evaluations", facts.evaluations);
    text("one_processor_reason", facts.one_processor_reason);
    if (!facts.exempt.empty()) text("exempt", facts.exempt);
    if (!facts.short_of_weights.empty()) text("short_of_weights", facts.short_of_weights);
    us("end_us", timeline.total_us);
    us("overlap_us", timeline.overlap_us);
    json_.key("busy_us").object([&] {
      for (size_t queue = 0; queue < kQueueCount; ++queue)
        us(kQueueNames[queue], timeline.busy_us[queue]);
    });
    share("gpu_share", facts.figures.gpu_share);
    us("longest_slice_us", facts.figures.longest_slice_us);
    us("max_ahead_us", schedule.max_ahead_us);
    number("syncs", facts.figures.syncs);
    number("arena_bytes", facts.figures.arena_bytes);
    number("weight_bytes", facts.figures.weight_bytes);
    if (facts.figures.energy_mj) {
      us("energy_mj", *facts.figures.energy_mj);
      text("power_origin", facts.power_origin);
    }
    json_.key("steps").array([&] { write_steps(schedule, *queue_steps, timeline); });
    write_memory(schedule, step_spans(schedule, *queue_steps, timeline));
    if (index == 0) json_.key("stands_on").array([&] { write_stands_on(schedule); });
    CODL_ASSIGN_OR_RETURN(measured, measured_steps_of(plan_.measured, plan_.measured_path,
                                                      plan_.report.entry, schedule));
    if (measured == nullptr) return llvm::Error::success();
    is_used = true;
    json_.key("measured").object([&] {
      us("median_us", measured->median_us);
      if (index == 0)
        for (const char* name : {"cpu", "gpu"})
          if (const auto speedup = plan_.report.measured_speedup_over(name))
            us(llvm::Twine("speedup_over_").concat(name).str(), *speedup);
      us("end_us", measured->end_us());
      json_.key("steps").array([&] {
        for (const MeasuredStep& step : measured->steps)
          json_.object([&] {
            us("start_us", step.start_us);
            us("end_us", step.end_us);
            us("median_us", step.median_us);
          });
      });
      std::vector<Timeline::Span> spans;
      for (const MeasuredStep& step : measured->steps)
        spans.push_back({step.start_us, step.end_us});
      write_memory(schedule, spans);
    });
    return llvm::Error::success();
  }

  // `spans` is indexed by step of the plan.
  void write_memory(const Schedule& schedule, llvm::ArrayRef<Timeline::Span> spans) {
    json_.key("memory_over_time").array([&] {
      for (const LiveBytes& live : memory_over_time(schedule, spans))
        json_.object([&] {
          us("us", live.us);
          number("arena_bytes", live.arena_bytes);
          number("image_bytes", live.image_bytes);
        });
    });
  }

  void write_steps(const Schedule& schedule, llvm::ArrayRef<QueueStep> steps,
                   const Timeline& timeline) {
    size_t next = 0;  // index in the plan's list
    for (size_t i = 0; i < steps.size(); ++i) {
      const QueueStep& queue_step = steps[i];
      const bool is_step = queue_step.called_queue == kNoQueue && next < schedule.steps.size();
      json_.object([&] {
        json_.key("queue").string(kQueueNames[queue_step.queue]);
        text("node", queue_step.name);
        us("start_us", timeline.spans[i].start_us);
        us("end_us", timeline.spans[i].end_us);
        json_.key("waits").array([&] {
          for (const QueueWait& wait : queue_step.waits)
            json_.integer(static_cast<int64_t>(wait.step));
        });
        if (is_step)
          write_step(schedule, next);
        else
          json_.key("kind").string(queue_step.called_queue == kNoQueue ? "wait" : "enqueue");
      });
      next += is_step;
    }
  }

  void write_step(const Schedule& schedule, size_t id) {
    const Step& step = schedule.steps[id];
    number("step", id);
    json_.key("kind").string(kStepKindNames[static_cast<size_t>(step.kind)]);
    us("predicted_us", step.predicted_us);
    if (step.part_dim != SplitDim::None && !step.part.empty())
      json_.key("part").object([&] {
        json_.key("dim").string(step.part_dim == SplitDim::Height ? "rows" : "channels");
        json_.key("begin").integer(step.part.begin);
        json_.key("end").integer(step.part.end);
      });
    if (step.kind != StepKind::Kernel) {
      number("bytes", static_cast<uint64_t>(moved_bytes(schedule, step)));
      return;
    }
    json_.key("kernel").string(step.kernel->symbol);
    write_calibration(*step.kernel, step.predicted_us, open_of(schedule, step));
  }

  // `open` is the share of what the profile leaves open; less than 1 where steps like it were
  // learned.
  void write_calibration(const KernelInfo& kernel, double predicted_us, double open) {
    const Calibration& known = profile_.calibration_of(kernel);
    json_.key("level").string(open < 1 ? kLearnedLevel
                                       : kLevelNames[static_cast<size_t>(known.level)]);
    json_.key("origin").string(name_of(open < 1 ? origin_of_learned(open) : known.origin));
    us("low_us", predicted_us * std::pow(known.interval_low, open));
    us("high_us", predicted_us * std::pow(known.interval_high, open));
  }

  static Origin origin_of_learned(double open) {
    return open <= LearnedSteps::kMinOpen ? Origin::Measured : Origin::Fitted;
  }

  double open_of(const Schedule& schedule, const Step& step) const {
    kernels::OperandShape shapes[kernels::kMaxOperands];
    return plan_.predictor.demand(schedule.shape_of(step, shapes)).open;
  }

  // Writes the time of kernels by what it stands on, the largest share first.
  void write_stands_on(const Schedule& schedule) {
    std::map<std::pair<std::string, std::string>, std::pair<double, std::string>> groups;
    double all_us = 0;
    for (const Step& step : schedule.steps) {
      all_us += step.predicted_us;
      if (step.kernel == nullptr) {
        groups[{"transfers", ""}].first += step.predicted_us;
        continue;
      }
      const Calibration& known = profile_.calibration_of(*step.kernel);
      if (const double open = open_of(schedule, step); open < 1) {
        auto& [learned_us, where] = groups[{kLearnedLevel, name_of(origin_of_learned(open))}];
        learned_us += step.predicted_us;
        where = "plans that ran on the device";
        continue;
      }
      auto& [group_us, source] = groups[{kLevelNames[static_cast<size_t>(known.level)],
                                         kOriginNames[static_cast<size_t>(known.origin)]}];
      group_us += step.predicted_us;
      source = known.source;
    }
    for (const auto& group : groups)
      json_.object([&] {
        text("level", group.first.first);
        text("origin", group.first.second);
        text("source", group.second.second);
        us("us", group.second.first);
        share("share", all_us > 0 ? group.second.first / all_us : 0);
      });
  }

  void write_precision() {
    json_.key("choices").array([&] {
      for (const PrecisionChoice& choice : plan_.report.precisions)
        json_.object([&] {
          text("precision", choice.name);
          json_.key("is_chosen").boolean(choice.is_chosen);
          us("predicted_us", choice.predicted_us);
          number("weight_bytes", choice.weight_bytes);
          if (!choice.deviation) return;
          share("loss", choice.deviation->loss());
          number("samples", choice.deviation->samples);
        });
    });
    number("value_count", plan_.report.allowed_forms.value_count);
    json_.key("floats").array([&] {
      for (const AllowedForms::Float& kept : plan_.report.allowed_forms.floats)
        json_.object([&] {
          text("node", kept.node);
          text("reason", kept.reason);
        });
    });
    json_.key("bytes").array([&] {
      for (const ShrinkReport::ByteNode& node : plan_.report.shrink.byte_nodes)
        json_.object([&] {
          text("node", node.node);
          json_.key("is_in_bytes").boolean(node.reason.empty());
          share("loss_alone", node.loss_alone);
          if (!node.reason.empty()) text("reason", node.reason);
        });
    });
  }

  // Writes, for the first variant, the choice, and the time of each kernel that could run the whole
  // node.
  void write_operators() {
    if (plan_.variants.empty()) return;
    const TensorPlacer placer(plan_.graph, profile_);
    const Schedule& schedule = plan_.schedules[0];
    StepsOfParts steps;
    for (StepId id = 0; id < schedule.steps.size(); ++id)
      if (schedule.nodes[id] != ir::kNoId)
        steps[{schedule.nodes[id], schedule.steps[id].kernel}].push_back(id);
    for (const NodePartition& node_partition :
         plan_.variants[0].candidate.partition.node_partitions) {
      const ir::Node& node = plan_.graph.node(node_partition.node);
      json_.object([&] {
        text("node", node.name);
        text("op", std::string(op_info(node.op).name));
        json_.key("macs").integer(std::llround(multiply_adds({plan_.graph, node})));
        json_.key("chain").integer(node_partition.chain);
        json_.key("split").string(node_partition.dim == SplitDim::None     ? "none"
                                  : node_partition.dim == SplitDim::Height ? "rows"
                                                                           : "channels");
        json_.key("parts").array([&] {
          const ir::ValueId value = node.output;
          write_parts(
              node_partition, steps,
              placer.place(value, placer.use_of(plan_.variants[0].candidate.partition, value)));
        });
        write_alternatives(node, node_partition);
      });
    }
  }

  // `value_tensors` are those of what the node makes.
  void write_parts(const NodePartition& node_partition, const StepsOfParts& steps,
                   const ValueTensors& value_tensors) {
    double owned = 0;
    for (const Part& part : node_partition.parts) owned += part.owned.count();
    for (const Part& part : node_partition.parts)
      json_.object([&] {
        json_.key("processor").string(part.processor == Processor::Cpu ? "cpu" : "gpu");
        json_.key("kernel").string(part.kernel->symbol);
        share("share", part.owned.count() / owned);
        json_.key("begin").integer(part.owned.begin);
        json_.key("end").integer(part.owned.end);
        if (const Range first = value_tensors.boundary[index_of(part.processor)].rows;
            !first.empty())
          json_.key("boundary").object([&] {
            json_.key("begin").integer(first.begin);
            json_.key("end").integer(first.end);
          });
        const auto of_part = steps.find({node_partition.node, part.kernel});
        const auto [predicted_us, open] =
            of_part == steps.end() ? std::pair(part.predicted_us, 1.0)
                                   : time_of(part, of_part->second, node_partition.is_split());
        us("predicted_us", predicted_us);
        write_calibration(*part.kernel, predicted_us, open);
      });
  }

  // Returns a part's time, and the uncertain part of it. A part has several steps if its boundary
  // is computed first, its launches are bounded or its maps tiled.
  std::pair<double, double> time_of(const Part& part, llvm::ArrayRef<StepId> steps,
                                    bool is_split) const {
    const Schedule& schedule = plan_.schedules[0];
    if (steps.size() == 1)
      return {part.predicted_us, open_of(schedule, schedule.steps[steps.front()])};
    double sum_us = 0, open_us = 0;
    for (StepId id : steps) {
      const Step& step = schedule.steps[id];
      kernels::OperandShape shapes[kernels::kMaxOperands];
      const kernels::StepShape shape = schedule.shape_of(step, shapes);
      const double step_us =
          plan_.predictor.predict_us(shape, is_split) + plan_.predictor.launch_us(shape);
      sum_us += step_us;
      open_us += step_us * open_of(schedule, step);
    }
    return {sum_us, sum_us > 0 ? open_us / sum_us : 1};
  }

  // Writes the whole node on one processor, the fastest first; "next_best" is the first that is not
  // what the plan does.
  void write_alternatives(const ir::Node& node, const NodePartition& node_partition) {
    struct Alternative {
      double predicted_us;
      const KernelInfo* kernel;
    };
    std::vector<Alternative> all;
    for (const Processor processor : {Processor::Cpu, Processor::Gpu})
      if (processor == Processor::Cpu || profile_.has_gpu)
        each_kernel({plan_.graph, node}, processor, plan_.predictor,
                    [&](const kernels::StepShape& step) {
                      const double step_us =
                          plan_.predictor.predict_us(step, false) + plan_.predictor.launch_us(step);
                      for (Alternative& known : all)
                        if (known.kernel == step.kernel) {
                          known.predicted_us = std::min(known.predicted_us, step_us);
                          return;
                        }
                      all.push_back({step_us, step.kernel});
                    });
    std::stable_sort(all.begin(), all.end(), [](const Alternative& a, const Alternative& b) {
      return a.predicted_us < b.predicted_us;
    });
    json_.key("alternatives").array([&] {
      for (const Alternative& alternative : all)
        json_.object([&] {
          json_.key("processor")
              .string(alternative.kernel->processor == Processor::Cpu ? "cpu" : "gpu");
          json_.key("kernel").string(alternative.kernel->symbol);
          us("predicted_us", alternative.predicted_us);
        });
    });
    for (size_t i = 0; i < all.size(); ++i)
      if (node_partition.is_split() || all[i].kernel != node_partition.parts[0].kernel) {
        json_.key("next_best").integer(static_cast<int64_t>(i));
        return;
      }
  }

  void write_passes() {
    for (size_t i = 1; i < plan_.passes.size(); ++i) {
      const GraphCost& after = plan_.passes[i].second;
      const GraphCost& before = plan_.passes[i - 1].second;
      json_.object([&] {
        text("name", plan_.passes[i].first);
        number("nodes_before", before.nodes);
        number("nodes_after", after.nodes);
        json_.key("saved_bytes").integer(std::llround(before.bytes - after.bytes));
        us("saved_cpu_us", before.predicted_us - after.predicted_us);
      });
    }
  }

  void write_limits() {
    for (const LimitCheck& limit : plan_.limits)
      json_.object([&] {
        json_.key("flag").string(limit.flag);
        if (!limit.variant.empty()) text("variant", limit.variant);
        json_.key("most").number(rounded(limit.most));
        json_.key("found").number(rounded(limit.found));
      });
  }

  const ReportedPlan& plan_;
  const DeviceProfile& profile_;
  tools::JsonWriter json_;
};

}  // namespace

llvm::Expected<std::string> report_json(const ReportedPlan& plan) {
  Writer writer(plan);
  if (llvm::Error error = writer.write()) return error;
  return writer.text() + "\n";
}

std::string join_reports(llvm::ArrayRef<std::string> reports) {
  if (reports.size() == 1) return reports.front();
  std::string text = llvm::formatv(
      "{{\"format\":\"codl-report\",\"format_version\":{0},\"entries\":[", kReportVersion);
  for (size_t i = 0; i < reports.size(); ++i)
    text += (i == 0 ? "" : ",") + llvm::StringRef(reports[i]).rtrim().str();
  return text + "]}\n";
}

}  // namespace codl::compiler
