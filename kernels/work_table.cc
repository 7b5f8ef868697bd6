#include "kernels/work_table.h"

namespace codl::kernels {

// kConv2dWork, ...: each in kernels/<folder>/<folder>_work.cc. An operator without one fails to
// link.
#define CODL_OP_BEGIN(Op, id, folder) extern const OpWork k##Op##Work;
#include "schema/ops.def"

const OpWork& work_of(OpKind op) {
  switch (op) {
#define CODL_OP_BEGIN(Op, id, folder) \
  case OpKind::Op:                    \
    return k##Op##Work;
#include "schema/ops.def"
  }
  __builtin_unreachable();
}

void features_of(const StepShape& step, Features* out_features) {
  *out_features = {};
  work_of(step.row->op).features(step, out_features);
}

uint32_t choose_tile(const StepShape& step, const GpuFacts& gpu, int32_t* out_tile) {
  const OpWork& work = work_of(step.row->op);
  const uint32_t count = work.choose_tile == nullptr ? 0 : work.choose_tile(step, gpu, out_tile);
  const uint16_t* local_size = gpu.tiles.local_size_of(*step.row);
  if (local_size == nullptr || tile_kind_of(*step.row) != TileKind::Local) return count;
  for (uint32_t i = 0; i < 3; ++i) out_tile[i] = local_size[i];
  return count < 3 ? 3 : count;
}

TileKind tile_kind_of(const KernelRow& row) {
  const OpWork& work = work_of(row.op);
  if (row.processor != Processor::Gpu) return TileKind::Own;
  return work.tile_kind == nullptr ? TileKind::Local : work.tile_kind(row);
}

}  // namespace codl::kernels
