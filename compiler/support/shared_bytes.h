// Holds the immutable bytes of a constant, which values and tensors share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/support/large_bytes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"

namespace codl::compiler {

// Copying shares the bytes. They are LargeBytes, or a range of something larger (a mapped file, a
// protobuf string) that lives as long as any SharedBytes of it. So a model's weights are neither
// copied out of its files nor held once per initializer that names them.
class SharedBytes {
 public:
  SharedBytes() = default;
  // Vectors and ranges of bytes convert implicitly.
  SharedBytes(LargeBytes bytes) {  // NOLINT(google-explicit-constructor)
    auto owner = std::make_shared<const LargeBytes>(std::move(bytes));
    range_ = *owner;
    owner_ = std::move(owner);
  }
  SharedBytes(const std::vector<uint8_t>& bytes)  // NOLINT(google-explicit-constructor)
      : SharedBytes(LargeBytes(bytes.begin(), bytes.end())) {}
  // `range` must be valid for as long as `owner` lives.
  SharedBytes(llvm::ArrayRef<uint8_t> range, std::shared_ptr<const void> owner)
      : range_(range), owner_(std::move(owner)) {}

  // Returns true if somebody else holds them, too.
  bool is_shared() const { return owner_.use_count() > 1; }

  const uint8_t* data() const { return range_.data(); }
  size_t size() const { return range_.size(); }
  bool empty() const { return range_.empty(); }
  const uint8_t* begin() const { return range_.begin(); }
  const uint8_t* end() const { return range_.end(); }
  uint8_t operator[](size_t i) const { return range_[i]; }
  operator llvm::ArrayRef<uint8_t>() const {  // NOLINT(google-explicit-constructor)
    return range_;
  }
  friend bool operator==(const SharedBytes& x, const SharedBytes& y) {
    return x.range_ == y.range_;
  }

 private:
  llvm::ArrayRef<uint8_t> range_;
  std::shared_ptr<const void> owner_;
};

// Makes a constant's bytes from elements.
template <typename T>
LargeBytes bytes_of(llvm::ArrayRef<T> elements) {
  const auto* first = reinterpret_cast<const uint8_t*>(elements.data());
  return LargeBytes(first, first + elements.size() * sizeof(T));
}

// Counts bytes that several constants share only once.
class DistinctBytes {
 public:
  // `element_bytes` is the size of one element.
  void add(const SharedBytes& bytes, size_t element_bytes) {
    if (bytes.empty() || !seen_.insert({bytes.data(), bytes.size()}).second) return;
    count_ += bytes.size();
    as_floats_ += element_bytes < 4 ? bytes.size() / element_bytes * 4 : bytes.size();
  }
  int64_t count() const { return static_cast<int64_t>(count_); }
  // Returns the bytes if each element of fewer than four bytes becomes an f32.
  int64_t as_floats() const { return static_cast<int64_t>(as_floats_); }

 private:
  llvm::DenseSet<std::pair<const uint8_t*, size_t>> seen_;
  uint64_t count_ = 0;
  uint64_t as_floats_ = 0;
};

}  // namespace codl::compiler
