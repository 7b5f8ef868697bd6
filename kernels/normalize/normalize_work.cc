#include "kernels/common/step_work.h"
#include "kernels/normalize/normalize.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  add_traffic(step, out_features);
  const OperandShape& x = step.operands[0];
  const int32_t innermost = x.layout == Layout::Plain ? x.rank - 1 : 1;
  const bool reduces_innermost =
      (step.params_as<NormalizeParams>().axes_mask >> innermost & 1) != 0;
  out_features->add(reduces_innermost ? "row_mbytes" : "column_mbytes", traffic_bytes(x) * 1e-6);
}

TileKind tile_kind(const KernelRow&) { return TileKind::Own; }

}  // namespace

extern const OpWork kNormalizeWork;
const OpWork kNormalizeWork = {features, nullptr, tile_kind};

}  // namespace codl::kernels
