#include "kernels/common/launch/cl_texts.h"

#include "kernels/kernel_table.h"

namespace codl::kernels {
namespace {

constexpr int kMaxCodeBits = 15;
constexpr int kMaxSymbols = 288;
constexpr int kEndOfBlock = 256;
constexpr int kLongest = 285;  // symbol of the longest length, which has no bits of its own

class Bits {
 public:
  Bits(const uint8_t* next, size_t count) : next_(next), end_(next + count) {}

  // The lowest bit comes first. Behind the end there are zeros, and is_over().
  int take(int count) {
    int value = 0;
    for (int i = 0; i < count; ++i) value |= take_one() << i;
    return value;
  }
  int take_one() {
    if (left_ == 0) {
      is_over_ = is_over_ || next_ == end_;
      held_ = is_over_ ? 0 : *next_++;
      left_ = 8;
    }
    const int bit = held_ & 1;
    held_ >>= 1;
    --left_;
    return bit;
  }
  bool is_over() const { return is_over_; }

 private:
  const uint8_t* next_;
  const uint8_t* end_;
  int held_ = 0;
  int left_ = 0;  // bits left in held_
  bool is_over_ = false;
};

// Orders symbols by their codes: shorter codes come first, and equal lengths go by number.
struct Code {
  uint16_t counts[kMaxCodeBits + 1];  // number of codes by length
  uint16_t symbols[kMaxSymbols];

  void assign(const uint8_t* lengths, int count) {
    *this = {};
    int found = 0;
    for (int bits = 1; bits <= kMaxCodeBits; ++bits)
      for (int symbol = 0; symbol < count; ++symbol)
        if (lengths[symbol] == bits) {
          ++counts[bits];
          symbols[found++] = static_cast<uint16_t>(symbol);
        }
  }

  // Returns -1 if there is no such code. Codes of one length are consecutive numbers, and `code` is
  // counted from the first of them.
  int read(Bits& bits) const {
    int code = 0;
    int first = 0;  // place of its symbol
    for (int length = 1; length <= kMaxCodeBits; ++length) {
      code = 2 * code + bits.take_one();
      if (code < counts[length]) return symbols[first + code];
      code -= counts[length];
      first += counts[length];
    }
    return -1;
  }
};

// Lengths and distances are groups of 2^kBits symbols; from the second on, each group has one bit
// more that follows than the one before.
template <int kBits>
size_t value_of(int symbol, Bits& bits) {
  const int group = symbol >> kBits;
  if (group == 0) return static_cast<size_t>(symbol);
  const int in_group = (symbol & ((1 << kBits) - 1)) + (1 << kBits);
  return static_cast<size_t>((in_group << (group - 1)) + bits.take(group - 1));
}

// Reads the two codes of a block, which are themselves coded.
bool read_codes(Bits& bits, Code& literals, Code& distances) {
  constexpr uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  const int literal_count = 257 + bits.take(5);
  const int count = literal_count + 1 + bits.take(5);
  const int order_count = 4 + bits.take(4);
  uint8_t lengths[kMaxSymbols + 32] = {};
  for (int i = 0; i < order_count; ++i) lengths[kOrder[i]] = static_cast<uint8_t>(bits.take(3));
  if (literal_count > kMaxSymbols) return false;
  literals.assign(lengths, 19);
  for (int i = 0; i < count;) {
    const int symbol = literals.read(bits);
    if (symbol < 0) return false;
    int repeats = 1;
    uint8_t length = static_cast<uint8_t>(symbol);
    if (symbol == 16) {  // repeats the one before
      if (i == 0) return false;
      length = lengths[i - 1];
      repeats = 3 + bits.take(2);
    } else if (symbol > 16) {
      length = 0;
      repeats = symbol == 17 ? 3 + bits.take(3) : 11 + bits.take(7);
    }
    if (repeats > count - i) return false;
    for (; repeats != 0; --repeats) lengths[i++] = length;
  }
  literals.assign(lengths, literal_count);
  distances.assign(lengths + literal_count, count - literal_count);
  return true;
}

// Sets the codes that a block has without saying so.
void set_codes(Code& literals, Code& distances) {
  uint8_t lengths[kMaxSymbols];
  for (int i = 0; i < kMaxSymbols; ++i)
    lengths[i] = i < 144 ? 8 : i < kEndOfBlock ? 9 : i < 280 ? 7 : 8;
  literals.assign(lengths, kMaxSymbols);
  for (int i = 0; i < 30; ++i) lengths[i] = 5;
  distances.assign(lengths, 30);
}

}  // namespace

bool unpack(const uint8_t* packed, size_t packed_bytes, char* out, size_t out_bytes) {
  Bits bits(packed, packed_bytes);
  Code literals, distances;
  size_t done = 0;
  for (bool is_last = false; !is_last;) {
    is_last = bits.take_one() != 0;
    const int type = bits.take(2);
    if (type == 1) set_codes(literals, distances);
    if (type != 1 && (type != 2 || !read_codes(bits, literals, distances))) return false;
    for (int symbol; (symbol = literals.read(bits)) != kEndOfBlock;) {
      if (symbol < 0 || symbol > kLongest || bits.is_over() || done == out_bytes) return false;
      if (symbol < kEndOfBlock) {
        out[done++] = static_cast<char>(symbol);
        continue;
      }
      size_t length = symbol == kLongest ? 258 : 3 + value_of<2>(symbol - kEndOfBlock - 1, bits);
      const int far = distances.read(bits);
      if (far < 0) return false;
      const size_t distance = 1 + value_of<1>(far, bits);
      if (distance > done || length > out_bytes - done) return false;
      for (; length != 0; --length, ++done) out[done] = out[done - distance];
    }
  }
  return done == out_bytes && !bits.is_over();
}

bool unpack_cl_texts(char* out) {
  if (!unpack(kPackedClTexts, kPackedClTextBytes, out, kClTextBytes)) return false;
  for (size_t i = 0; i < kClTextBytes; ++i)
    if (out[i] == 1) out[i] = 0;
  return true;
}

}  // namespace codl::kernels
