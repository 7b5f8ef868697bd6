#include "compiler/report/operator_table.h"

#include <algorithm>

#include "test/support/catch.h"

namespace codl::compiler {
namespace {

OperatorRow row_of(const std::string& onnx_type) {
  for (const OperatorRow& row : operator_table())
    if (row.onnx_type == onnx_type) return row;
  FAIL("no row of " << onnx_type);
  return {};
}

}  // namespace

TEST_CASE("the operator table has each ONNX operator once, by name, that says how it runs") {
  const std::vector<OperatorRow> rows = operator_table();
  CHECK(rows.size() > 100);
  for (size_t i = 0; i < rows.size(); ++i) {
    INFO(rows[i].onnx_type);
    CHECK((i == 0 || rows[i - 1].onnx_type < rows[i].onnx_type));
    CHECK(rows[i].oldest_opset <= rows[i].newest_opset);
    CHECK((rows[i].cpu == "-") == rows[i].becomes.empty());
  }
}

TEST_CASE("kernels and splits are those of the operators that an ONNX operator becomes") {
  const OperatorRow relu = row_of("Relu");
  CHECK(relu.becomes == "Unary");
  CHECK(relu.cpu == "fast");
  CHECK(relu.gpu == "buffer,image");
  CHECK(relu.splits == "h,oc");
  const OperatorRow shape = row_of("Shape");
  CHECK(shape.becomes == "");
  CHECK(shape.gpu == "-");
  CHECK(row_of("NonZero").gpu == "-");
  CHECK(row_of("NonZero").cpu == "plain");
  CHECK(row_of("And").gpu == "-");  // it takes bools
  CHECK(row_of("And").cpu == "plain");
  CHECK(row_of("BitShift").gpu == "-");
  CHECK(row_of("Conv").gpu == "buffer,image by parts");
  CHECK(row_of("Conv").cpu == "fast by parts");  // not the general ConvNd
}

TEST_CASE("the table is printed as text and as markdown") {
  const std::vector<OperatorRow> rows = {
      {"A", 7, 28, "Unary Binary", "fast", "buffer by parts", "h"},
      {"B", 13, 28, "", "-", "-", "-"}};
  std::string text, markdown;
  llvm::raw_string_ostream text_os(text), markdown_os(markdown);
  print_text(rows, text_os);
  print_markdown(rows, markdown_os);
  CHECK(std::count(text_os.str().begin(), text_os.str().end(), '\n') == 3);
  CHECK(markdown_os.str() ==
        "| operator | opsets | becomes | CPU | GPU | splits |\n"
        "|---|---|---|---|---|---|\n"
        "| A | 7-28 | Unary Binary | fast | buffer by parts | h |\n"
        "| B | 13-28 |  | - | - | - |\n");
}

}  // namespace codl::compiler
