#include "compiler/frontend/suggestions.h"

#include "test/support/catch.h"

namespace codl::compiler {

TEST_CASE("a suggestion goes by the reason, then by the operator") {
  CHECK(suggestion_for("", "expected a static dim (give it with --input-shape)")
            .contains("--input-shape=NAME:DIMS"));
  CHECK(suggestion_for("com.example.Odd", "found domain 'com.example'").contains("ONNX domain"));
  CHECK(
      suggestion_for("com.microsoft.QAttention", "operator not imported").contains("float model"));
  CHECK(suggestion_for("Reshape", "expected a constant as input 1 ('s'), found a computed value")
            .contains("onnxsim"));
  CHECK(suggestion_for("MaxRoiPool", "operator not imported").contains("RoiAlign"));
  CHECK(suggestion_for("Pool", "operator not imported").empty());
}

}  // namespace codl::compiler
