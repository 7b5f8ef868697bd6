#include "compiler/ir/types.h"

#include "llvm/Support/raw_ostream.h"

namespace codl::ir {

std::string to_string(const TensorType& type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << dtype_name(type.dtype) << '[';
  for (size_t i = 0; i < type.dims.size(); ++i) os << (i == 0 ? "" : ",") << type.dims[i];
  os << ']';
  switch (type.layout) {
    case Layout::Plain:
      break;
    case Layout::Nhwc:
      os << " nhwc";
      break;
    case Layout::Image2d:
      os << " image2d";
      break;
    case Layout::Packed:
      os << " packed";
      break;
    case Layout::Any:
      os << " any";
      break;
  }
  return text;
}

}  // namespace codl::ir
