// Expands ops.def to the table of OpSpecs. An operator without a file fails to link.
#include "compiler/ops/op_spec.h"

namespace codl::compiler {

#define CODL_OP_BEGIN(Op, id, folder) \
  namespace folder {                  \
  extern const OpSpec kSpec;          \
  }
#include "schema/ops.def"

namespace {
constexpr const OpSpec* kSpecs[] = {
#define CODL_OP_BEGIN(Op, id, folder) &folder::kSpec,
#include "schema/ops.def"
};
}  // namespace

llvm::ArrayRef<const OpSpec*> all_op_specs() { return kSpecs; }

const OpSpec& op_spec(OpKind op) {
  for (const OpSpec* spec : kSpecs)
    if (spec->kind == op) return *spec;
  __builtin_unreachable();
}

}  // namespace codl::compiler
