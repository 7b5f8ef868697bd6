#include "kernels/attention/attention.h"
#include "kernels/common/launch/cl_launch.h"

namespace codl::kernels {
namespace {

// clang-format off
// `lines` are those of a head of k, as AttentionWork has them; steps of the bias are in elements.
#define CODL_ARGS_AttentionBuffer(A, G, N)                                                              \
  A(int, lines) A(int, group) A(int, all_rows) A(int, rows) A(int, first_row) A(int, keys)              \
  A(int, depth) A(int, columns) A(float, scale)                                                         \
  A(int, bias_heads) A(int, bias_batch) A(int, bias_head) A(int, bias_row) A(int, bias_key)
// clang-format on
CODL_CL_ARGS(AttentionBuffer);

}  // namespace

void attention_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<AttentionParams>();
  const AttentionWork work = attention_work(step);
  const AttentionGroup group = attention_group(step);
  const AttentionBias bias =
      params.has_bias != 0 ? attention_bias(step.operands[3], step.operands[0], step.operands[1])
                           : AttentionBias{};
  out_launch->define("HAS_BIAS", params.has_bias != 0 ? 1 : 0);
  out_launch->define("ZERO_IF_HIDDEN", params.zero_if_hidden != 0 ? 1 : 0);
  out_launch->define("ROWS", group.rows);
  out_launch->define("ITEM_KEYS", group.item_keys);
  out_launch->define("ITEMS", group.items);
  out_launch->define("QUADS", static_cast<int32_t>(ceil_div(work.columns / 4, group.items)));
  out_launch->local[0] = static_cast<uint64_t>(group.group_items());
  out_launch->local[1] = out_launch->local[2] = 1;
  out_launch->global[0] =
      static_cast<uint64_t>(ceil_div(work.lines(), group.lines())) * out_launch->local[0];
  out_launch->global[1] = static_cast<uint64_t>(work.key_heads);
  out_launch->global[2] = 1;
  out_launch->local_bytes = static_cast<uint32_t>(group.local_floats()) * kClLocalNumberBytes;
  out_launch->add(AttentionBufferArgs{.lines = static_cast<int32_t>(work.lines()),
                                      .group = static_cast<int32_t>(work.group),
                                      .all_rows = static_cast<int32_t>(work.all_rows),
                                      .rows = work.rows.count(),
                                      .first_row = work.rows.begin,
                                      .keys = static_cast<int32_t>(work.keys),
                                      .depth = static_cast<int32_t>(work.depth),
                                      .columns = static_cast<int32_t>(work.columns),
                                      .scale = params.scale,
                                      .bias_heads = static_cast<int32_t>(bias.heads),
                                      .bias_batch = static_cast<int32_t>(bias.batch),
                                      .bias_head = static_cast<int32_t>(bias.head),
                                      .bias_row = static_cast<int32_t>(bias.row),
                                      .bias_key = static_cast<int32_t>(bias.key)});
}

}  // namespace codl::kernels
