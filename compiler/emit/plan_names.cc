#include "compiler/emit/plan_names.h"

#include "llvm/ADT/StringExtras.h"

namespace codl::compiler {

namespace {

// "FineSvm" -> "fine_svm"
std::string snake_case(llvm::StringRef pascal_case) {
  std::string name;
  for (char c : pascal_case) {
    if (llvm::isAlpha(c) && llvm::toLower(c) != c && !name.empty()) name += '_';
    name += llvm::toLower(c);
  }
  return name;
}

}  // namespace

std::string name_of(plan::Storage storage) { return snake_case(plan::EnumNameStorage(storage)); }
std::string name_of(plan::Sharing sharing) { return snake_case(plan::EnumNameSharing(sharing)); }
std::string name_of(plan::Gate gate) { return snake_case(plan::EnumNameGate(gate)); }
std::string name_of(plan::Lane lane) { return snake_case(plan::EnumNameLane(lane)); }
std::string name_of(plan::StepKind kind) { return snake_case(plan::EnumNameStepKind(kind)); }
std::string name_of(plan::MapAccess access) { return snake_case(plan::EnumNameMapAccess(access)); }

std::string name_of(DType dtype) { return dtype_name(dtype); }

std::string name_of(Layout layout) {
  switch (layout) {
    case Layout::Plain:
      return "plain";
    case Layout::Nhwc:
      return "nhwc";
    case Layout::Image2d:
      return "image2d";
    case Layout::Packed:
      return "packed";
    case Layout::Any:
      return "any";
  }
  __builtin_unreachable();
}

std::string name_of(SplitDim dim) {
  switch (dim) {
    case SplitDim::None:
      return "none";
    case SplitDim::Height:
      return "height";
    case SplitDim::OutputChannel:
      return "output_channel";
  }
  __builtin_unreachable();
}

}  // namespace codl::compiler
