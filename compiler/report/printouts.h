// Printouts say what codlc prints while it makes a plan.
#pragma once

#include <optional>
#include <string>

#include "llvm/Support/raw_ostream.h"
#include "tools/printable.h"

namespace codl::compiler {

enum class SupportFormat { None, Text, Json };

struct Printouts {
  // Names graph, partition, schedule or memory, or a pass, which stands for the graph after it;
  // empty for nothing.
  std::string dump;
  // Explains why the steps of this node of the first variant take what is predicted; empty stands
  // for all nodes.
  std::optional<std::string> explained_node;
  // Says how to print what runs on which processor of the device.
  SupportFormat support = SupportFormat::None;
  llvm::raw_ostream* to = nullptr;  // null: nothing is printed

  bool dumps(llvm::StringRef stage) const { return to != nullptr && dump == stage; }
};

// Prints which entry all that follows is of, where anything is printed. An only one has no name.
inline void print_heading(const std::string& entry, const Printouts& prints) {
  if (entry.empty() || prints.to == nullptr) return;
  if (!prints.dump.empty() || prints.explained_node || prints.support == SupportFormat::Text)
    *prints.to << "entry " << tools::printable(entry) << "\n";
}

}  // namespace codl::compiler
