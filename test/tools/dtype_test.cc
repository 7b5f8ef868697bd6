#include "tools/dtype.h"

#include <cmath>
#include <cstring>

#include "test/support/catch.h"

namespace codl::tools {
namespace {

uint16_t word_of(codl_dtype_t dtype, double value) {
  uint16_t word = 0;
  write_element(dtype, value, &word);
  return word;
}

TEST_CASE("every 16-bit float survives a way there and back") {
  for (codl_dtype_t dtype : {CODL_FLOAT16, CODL_BFLOAT16}) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const auto word = static_cast<uint16_t>(bits);
      const double value = read_element(dtype, &word);
      if (std::isnan(value)) {
        const uint16_t written = word_of(dtype, value);
        CHECK(std::isnan(read_element(dtype, &written)));
      } else if (word_of(dtype, value) != word) {
        FAIL("word " << word << " is written as " << word_of(dtype, value));
      }
    }
  }
}

TEST_CASE("16-bit floats round to nearest, ties to even") {
  CHECK(word_of(CODL_FLOAT16, 1) == 0x3c00);
  CHECK(word_of(CODL_FLOAT16, 1 + 0x1p-11) == 0x3c00);  // halfway to 1 + 2^-10: to even
  CHECK(word_of(CODL_FLOAT16, 1 + 0x3p-11) == 0x3c02);  // halfway: to even, upwards
  CHECK(word_of(CODL_FLOAT16, 2 - 0x1p-12) == 0x4000);  // a carry into the exponent
  CHECK(word_of(CODL_FLOAT16, 0x1p-24) == 0x0001);
  CHECK(word_of(CODL_FLOAT16, 0x1p-25) == 0x0000);
  CHECK(word_of(CODL_FLOAT16, 65519) == 0x7bff);
  CHECK(word_of(CODL_FLOAT16, -65520) == 0xfc00);
  CHECK(word_of(CODL_BFLOAT16, 1) == 0x3f80);
  CHECK(word_of(CODL_BFLOAT16, 1 + 0x1p-8) == 0x3f80);
  CHECK(word_of(CODL_BFLOAT16, 1 + 0x3p-8) == 0x3f82);
  CHECK(word_of(CODL_BFLOAT16, -HUGE_VAL) == 0xff80);
}

TEST_CASE("elements convert one by one") {
  const float values[] = {1, -2.5f, 0};
  const std::string words = convert_elements(
      CODL_FLOAT32, CODL_BFLOAT16, {reinterpret_cast<const char*>(values), sizeof(values)});
  REQUIRE(words.size() == 6);
  const std::string back = convert_elements(CODL_BFLOAT16, CODL_FLOAT32, words);
  REQUIRE(back.size() == sizeof(values));
  CHECK(std::memcmp(back.data(), values, sizeof(values)) == 0);
}

}  // namespace
}  // namespace codl::tools
