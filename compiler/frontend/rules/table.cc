#include <algorithm>

#include "compiler/frontend/rules/rules.h"

namespace codl::compiler {
namespace {

// The entries are sorted by operator, then opset, whatever the groups are, because --list-ops and
// the documents print them.
std::vector<ImportEntry> all_entries() {
  std::vector<ImportEntry> entries;
  for (const auto& group :
       {cast_entries, concat_entries, constant_entries, elementwise_entries, gather_entries,
        pad_entries, reduce_entries, select_entries, shape_entries, slice_entries})
    entries.insert(entries.end(), group().begin(), group().end());
  for (ImportEntry& entry : entries) entry.computes_in_doubles = true;
  for (const auto& group : {attention_entries,
                            contrib_attention_entries,
                            contrib_entries,
                            contrib_quantize_entries,
                            contrib_query_group_entries,
                            control_entries,
                            conv_entries,
                            einsum_entries,
                            image_entries,
                            integer_product_entries,
                            loss_entries,
                            matmul_entries,
                            normalize_entries,
                            pool_entries,
                            quantize_entries,
                            random_entries,
                            recurrent_entries,
                            resize_entries,
                            sample_entries,
                            sequence_entries,
                            signal_entries})
    entries.insert(entries.end(), group().begin(), group().end());
  std::sort(entries.begin(), entries.end(), [](const ImportEntry& a, const ImportEntry& b) {
    return std::make_pair(a.name(), a.oldest_opset) < std::make_pair(b.name(), b.oldest_opset);
  });
  return entries;
}

}  // namespace

llvm::ArrayRef<ImportEntry> import_table() {
  static const std::vector<ImportEntry> kEntries = all_entries();
  return kEntries;
}

}  // namespace codl::compiler
