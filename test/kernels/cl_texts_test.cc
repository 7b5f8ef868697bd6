#include "kernels/common/launch/cl_texts.h"

#include <string>
#include <vector>

#include "kernels/kernel_table.h"
#include "test/support/catch.h"

namespace codl::kernels {
namespace {

std::vector<uint8_t> packed_texts() {
  return {kPackedClTexts, kPackedClTexts + kPackedClTextBytes};
}

// Uses vectors of exact sizes, so that AddressSanitizer sees a byte beyond.
bool unpacks(const std::vector<uint8_t>& packed, size_t bytes = kClTextBytes) {
  std::vector<char> out(bytes);
  return unpack(packed.data(), packed.size(), out.data(), out.size());
}

TEST_CASE("the texts unpack to as many bytes as there are, and no others") {
  CHECK(unpacks(packed_texts()));
  CHECK_FALSE(unpacks(packed_texts(), kClTextBytes - 1));
  CHECK_FALSE(unpacks(packed_texts(), kClTextBytes + 1));
  CHECK_FALSE(unpacks(packed_texts(), 0));
}

TEST_CASE("a short block has no codes of its own") {
  // These are gzip's for "a" and for 64 of them.
  const std::vector<uint8_t> one = {0x4b, 0x04, 0x00};
  CHECK(unpacks(one, 1));
  CHECK(unpacks({0x4b, 0x4c, 0xa4, 0x0c, 0x00, 0x00}, 64));
  char letter = 0;
  CHECK(unpack(one.data(), one.size(), &letter, 1));
  CHECK(letter == 'a');
}

TEST_CASE("texts that are cut off do not unpack") {
  for (size_t bytes = 0; bytes < kPackedClTextBytes - 1; bytes += 1 + bytes / 8)
    CHECK_FALSE(unpacks({kPackedClTexts, kPackedClTexts + bytes}));
}

// The result is not checked, because there is no checksum.
TEST_CASE("damaged texts write nothing beyond") {
  for (size_t bit = 0; bit < 8 * kPackedClTextBytes; bit += 1 + bit / 16) {
    std::vector<uint8_t> packed = packed_texts();
    packed[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    unpacks(packed);
  }
  for (int type : {0, 3}) {  // block types that are not expected
    std::vector<uint8_t> packed = packed_texts();
    packed[0] = static_cast<uint8_t>((packed[0] & ~6) | type << 1);
    CHECK_FALSE(unpacks(packed));
  }
}

TEST_CASE("texts have no comments, no indentation and nothing but ASCII") {
  std::string texts(kClTextBytes, '\0');
  REQUIRE(unpack_cl_texts(texts.data()));
  CHECK(texts.find("//") == std::string::npos);
  CHECK(texts.find("\n ") == std::string::npos);
  CHECK(texts.back() == '\0');
  bool is_ascii = true;
  for (char letter : texts)
    is_ascii = is_ascii && (letter == 0 || letter == '\n' || (letter >= ' ' && letter <= '~'));
  CHECK(is_ascii);
}

}  // namespace
}  // namespace codl::kernels
