#include "compiler/ops/channel_links.h"

namespace codl::compiler {
namespace {

using Dim = ChannelLinks::Dim;
constexpr uint32_t kResult = ChannelLinks::kResult;

// Ties the same places in each of `groups` runs of the dim.
void tie_groups(ChannelLinks& links, Dim dim, int32_t extent, int32_t groups) {
  const int32_t run = extent / groups;
  for (int32_t i = run; i < extent; ++i) links.tie(dim, i % run, dim, i);
}

}  // namespace

void link_same_dims(const ir::NodeView& node, ChannelLinks& links, uint32_t but) {
  const ir::Dims& result = node.output().dims;
  for (uint32_t slot = 0; slot < node.input_count(); ++slot) {
    const ir::Dims& dims = node.input(slot).dims;
    if (dims.size() > result.size()) continue;
    const auto shift = static_cast<int32_t>(result.size() - dims.size());
    for (int32_t d = 0; d < static_cast<int32_t>(dims.size()); ++d)
      if ((but >> (d + shift) & 1) == 0 && dims[d] == result[d + shift])
        links.tie(Dim{slot, d}, Dim{kResult, d + shift}, dims[d]);
  }
}

void link_all_dims(const ir::NodeView& node, ChannelLinks& links) {
  link_same_dims(node, links, 0);
}

void link_channels(const ir::NodeView& node, ChannelLinks& links) {
  links.tie(Dim{0, 1}, Dim{kResult, 1}, node.output().dims[1]);
}

void link_convolution(const ir::NodeView& node, ChannelLinks& links, int32_t groups) {
  constexpr uint32_t kX = 0, kW = 1, kBias = 2, kResidual = 3;
  const int32_t in = node.input(kX).dims[1];
  const int32_t out = node.output().dims[1];
  const int32_t in_group = node.input(kW).dims[1];
  for (int32_t i = 0; i < in; ++i) links.tie(Dim{kX, 1}, i, Dim{kW, 1}, i % in_group);
  links.tie(Dim{kW, 0}, Dim{kResult, 1}, out);
  links.makes(Dim{kW, 0});
  if (groups > 1) tie_groups(links, Dim{kW, 0}, out, groups);
  if (node.input_count() > kBias) links.tie(Dim{kBias, 0}, Dim{kResult, 1}, out);
  if (node.input_count() > kResidual) links.tie(Dim{kResidual, 1}, Dim{kResult, 1}, out);
}

void link_depthwise(const ir::NodeView& node, ChannelLinks& links) {
  const int32_t channels = node.output().dims[1];
  for (const Dim operand : {Dim{0, 1}, Dim{1, 0}, Dim{2, 0}})
    links.tie(operand, Dim{kResult, 1}, channels);
  if (node.input_count() > 3) links.tie(Dim{3, 1}, Dim{kResult, 1}, channels);
}

}  // namespace codl::compiler
