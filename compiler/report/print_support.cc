#include <cmath>

#include "compiler/frontend/suggestions.h"
#include "compiler/report/support_report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "tools/json_writer.h"
#include "tools/printable.h"

namespace codl::compiler {
namespace {

llvm::StringRef name_of(OpKind op) { return {op_info(op).name.data(), op_info(op).name.size()}; }

// Returns the dims along which every node of the operator can be split, such as "h,oc"; in brackets
// if only some can.
std::string split_dims(const OperatorSupport& support) {
  std::string dims;
  const auto add = [&](const char* dim, size_t count) {
    if (count == 0) return;
    dims += dims.empty() ? "" : ",";
    dims += count == support.node_count ? dim : "(" + std::string(dim) + ")";
  };
  add("h", support.height_split_count);
  add("oc", support.channel_split_count);
  return dims.empty() ? "-" : dims;
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string placement(const OperatorSupport& support) {
  return llvm::formatv("{0}/{1}/{2}", support.cpu_placed, support.gpu_placed, support.split_placed)
      .str();
}

void print_kernels(tools::JsonWriter& json, llvm::StringRef key,
                   const std::vector<std::string>& symbols) {
  json.key(key).array([&] {
    for (const std::string& symbol : symbols) json.string(symbol);
  });
}

void print_number(tools::JsonWriter& json, llvm::StringRef key, size_t number) {
  json.key(key).integer(static_cast<int64_t>(number));
}

// Nodes that take less of a run share a line.
constexpr double kListedShare = 0.001;

void print_text(const PlainLoops& loops, llvm::StringRef variant, llvm::raw_ostream& os) {
  if (loops.nodes.empty()) {
    os << "every node has a fast kernel\n";
    return;
  }
  os << llvm::formatv(
      "on plain loops, without a fast kernel (nodes: {0}): {1:f1} % of the predicted time of "
      "variant {2}\n",
      loops.nodes.size(), 100 * loops.share, variant);
  size_t short_count = 0;
  double short_us = 0;
  for (const PlainNode& node : loops.nodes) {  // sorted, the longest first
    if (node.share < kListedShare) {
      ++short_count;
      short_us += node.predicted_us;
      continue;
    }
    os << llvm::formatv("  {0,5:f1} % {1,9:f3} ms  {2} {3}: {4}\n", 100 * node.share,
                        node.predicted_us / 1e3, name_of(node.op), dtype_name(node.dtype),
                        tools::printable(node.name));
  }
  if (short_count > 0)
    os << llvm::formatv("  others of less than {0:f1} % each (nodes: {1}): {2:f3} ms\n",
                        100 * kListedShare, short_count, short_us / 1e3);
}

void print_json(tools::JsonWriter& json, const PlainLoops& loops) {
  json.key("plain_loops").object([&] {
    json.key("predicted_us").number(loops.predicted_us);
    json.key("share").number(loops.share);
    json.key("nodes").array([&] {
      for (const PlainNode& node : loops.nodes)
        json.object([&] {
          json.key("name").string(node.name);
          json.key("op").string(name_of(node.op));
          json.key("dtype").string(dtype_name(node.dtype));
          json.key("predicted_us").number(node.predicted_us);
          json.key("share").number(node.share);
        });
    });
  });
}

}  // namespace

void print_text(const SupportReport& report, llvm::raw_ostream& os) {
  constexpr const char* kRow = "{0,-18} {1,6} {2,7} {3,5} {4,5}  {5,-8} {6,-14} {7,9}  {8}\n";
  os << llvm::formatv(kRow, "operator", "nodes", "MACs %", "CPU", "GPU", "splits", "cpu/gpu/split",
                      "synchronisations", "GPU kernels");
  for (const OperatorSupport& support : report.operators)
    os << llvm::formatv(kRow, name_of(support.op), support.node_count,
                        llvm::formatv("{0:f1}", percent(support.macs, report.macs)).str(),
                        support.node_count, support.gpu_count, split_dims(support),
                        placement(support), support.syncs,
                        support.gpu_kernels.empty() ? "-" : llvm::join(support.gpu_kernels, ", "));
  os << "CPU, GPU: nodes with a kernel on " << tools::printable(report.device)
     << "; cpu/gpu/split: nodes by place in variant " << report.variant
     << "; synchronisations: waits between CPU and GPU beside what only the CPU can run\n";
  print_text(report.plain_loops, report.variant, os);
  if (!report.has_gpu) {
    os << "this device has no GPU\n";
    return;
  }
  os << llvm::formatv("{0:f1} % of the {1} have no GPU kernel here\n", 100 * report.fallback_share,
                      report.macs > 0 ? "multiply-adds" : "nodes")
     << llvm::formatv(
            "{0} synchronisations in a run of variant {1}; {2} where the GPU runs all that it "
            "can\n",
            report.syncs, report.variant, report.gpu_syncs);
}

void write_json(const SupportReport& report, tools::JsonWriter& json) {
  json.object([&] {
    json.key("device").string(report.device);
    json.key("has_gpu").boolean(report.has_gpu);
    json.key("variant").string(report.variant);
    json.key("predicted_us").number(report.predicted_us);
    json.key("macs").integer(std::llround(report.macs));
    json.key("fallback_share").number(report.fallback_share);
    print_number(json, "syncs", report.syncs);
    print_number(json, "gpu_syncs", report.gpu_syncs);
    print_json(json, report.plain_loops);
    json.key("operators").array([&] {
      for (const OperatorSupport& support : report.operators)
        json.object([&] {
          json.key("op").string(name_of(support.op));
          print_number(json, "node_count", support.node_count);
          json.key("macs").integer(std::llround(support.macs));
          print_number(json, "gpu_count", support.gpu_count);
          print_number(json, "height_split_count", support.height_split_count);
          print_number(json, "channel_split_count", support.channel_split_count);
          print_kernels(json, "cpu_kernels", support.cpu_kernels);
          print_kernels(json, "gpu_kernels", support.gpu_kernels);
          print_number(json, "cpu_placed", support.cpu_placed);
          print_number(json, "gpu_placed", support.gpu_placed);
          print_number(json, "split_placed", support.split_placed);
          print_number(json, "syncs", support.syncs);
        });
    });
  });
}

void print_json(const SupportReport& report, llvm::raw_ostream& os) {
  tools::JsonWriter json;
  write_json(report, json);
  os << json.text() << "\n";
}

void print_text(const ImportError& error, llvm::raw_ostream& os) {
  const auto shown = [](llvm::StringRef text) {
    return tools::printable({text.data(), text.size()});
  };
  os << shown(error.where()) << " is refused:\n";
  for (const ImportProblem& problem : error.problems()) {
    os << "- " << shown(problem.what()) << ", " << shown(llvm::join(problem.nodes, ", ")) << ": "
       << shown(problem.reason) << "\n";
    if (const llvm::StringRef text = suggestion_for(problem.op_type, problem.reason); !text.empty())
      os << "  suggestion: " << text << "\n";
  }
}

void print_json(const ImportError& error, llvm::raw_ostream& os) {
  tools::JsonWriter json;
  // Names come from the model and may be any bytes.
  const auto text = [&](llvm::StringRef key, llvm::StringRef value) {
    json.key(key).string(value);
  };
  json.object([&] {
    json.key("refused").array([&] {
      for (const ImportProblem& problem : error.problems())
        json.object([&] {
          text("operator", problem.op_type);
          json.key("opset").integer(problem.opset);
          json.key("nodes").array([&] {
            for (const std::string& node : problem.nodes) json.string(node);
          });
          text("reason", problem.reason);
          text("suggestion", suggestion_for(problem.op_type, problem.reason));
        });
    });
  });
  os << json.text() << "\n";
}

void print(const SupportReport& report, const Printouts& prints) {
  if (prints.to == nullptr) return;
  if (prints.support == SupportFormat::Text) print_text(report, *prints.to);
  if (prints.support == SupportFormat::Json) print_json(report, *prints.to);
}

llvm::Error print_refusal(llvm::Error error, const Printouts& prints) {
  return llvm::handleErrors(std::move(error), [&](std::unique_ptr<ImportError> refusal) {
    if (prints.to != nullptr && prints.support == SupportFormat::Text)
      print_text(*refusal, *prints.to);
    if (prints.to != nullptr && prints.support == SupportFormat::Json)
      print_json(*refusal, *prints.to);
    return llvm::Error(std::move(refusal));
  });
}

}  // namespace codl::compiler
