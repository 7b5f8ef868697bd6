#include <algorithm>

#include "compiler/frontend/rules/rules.h"

namespace codl::compiler {
namespace {

// Sorted by operator, then opset, whatever the groups are: --list-ops and the documents print it.
std::vector<ImportRow> all_rows() {
  std::vector<ImportRow> rows;
  for (const auto& group :
       {attention_rows, concat_rows,    constant_rows,    contrib_rows, control_rows,
        conv_rows,      einsum_rows,    elementwise_rows, gather_rows,  image_rows,
        loss_rows,      matmul_rows,    normalize_rows,   pad_rows,     pool_rows,
        quantize_rows,  recurrent_rows, reduce_rows,      resize_rows,  sample_rows,
        select_rows,    sequence_rows,  shape_rows,       signal_rows,  slice_rows})
    rows.insert(rows.end(), group().begin(), group().end());
  std::sort(rows.begin(), rows.end(), [](const ImportRow& a, const ImportRow& b) {
    return std::make_pair(a.name(), a.oldest_opset) < std::make_pair(b.name(), b.oldest_opset);
  });
  return rows;
}

}  // namespace

llvm::ArrayRef<ImportRow> import_table() {
  static const std::vector<ImportRow> kRows = all_rows();
  return kRows;
}

}  // namespace codl::compiler
