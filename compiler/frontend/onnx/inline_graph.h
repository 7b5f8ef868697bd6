// Copies graphs into other graphs: calls of the model's functions, bodies of If and Loop.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/frontend/onnx/onnx_model.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace codl::compiler {

// Holds names in a copy that are not made from the original's.
using Renaming = llvm::StringMap<std::string>;

class Inliner {
 public:
  using Predicate = std::function<bool(llvm::StringRef)>;
  // Keeps a reference to the model's functions. `is_taken` knows names outside the model that
  // copies must not get.
  explicit Inliner(const OnnxModel& model, Predicate is_taken = {});

  // Replaces each call of a function, in the list and in its expansions. Errors: Input (a function
  // that calls itself, or lacks operands), Unsupported (more nodes than a network has).
  llvm::Error expand_functions(std::vector<OnnxNode>& nodes);

  // Copies a body of `node`. Values that the body defines get unused names, made from the node's;
  // its inputs become `inputs`; names that it reads from around it stay. Errors: Input.
  llvm::Expected<OnnxGraph> instance_of(const OnnxNode& node, const OnnxGraph& body,
                                        llvm::ArrayRef<std::string> inputs);

 private:
  const OnnxFunction* function_of(const OnnxNode& node) const;
  llvm::Error expand(OnnxNode node, std::vector<OnnxNode>& into);
  llvm::Error expand_call(const OnnxNode& call, const OnnxFunction& function,
                          std::vector<OnnxNode>& into);
  std::string fresh_name(llvm::StringRef prefix, llvm::StringRef name);
  llvm::Error take_budget(llvm::StringRef where, int64_t nodes, int64_t bytes);

  const std::vector<OnnxFunction>& functions_;
  Predicate is_taken_;
  llvm::StringMap<const OnnxFunction*> function_by_key_;
  std::vector<const OnnxFunction*> active_;  // functions being expanded, outermost first
  llvm::StringSet<> names_;                  // names of every value and every copy
  llvm::StringMap<int> next_suffix_;
  int64_t nodes_left_;
  int64_t bytes_left_;
};

}  // namespace codl::compiler
