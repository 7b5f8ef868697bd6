#include "tools/npy.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <iterator>
#include <map>

#include "schema/mix_bits.h"
#include "tools/messages.h"
#include "tools/printable.h"
#include "tools/tool_error.h"

namespace codl::tools {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kVersionBytes = 2;
// NEP 1: in files that NumPy writes, the data starts at a multiple of 64.
constexpr size_t kDataAlignment = 64;

// The tensor's name gives at most so many bytes of a file's name. With the added ones, and in
// temporary names, they stay below the 255 bytes that Linux's file systems allow.
constexpr size_t kMaxNameBytes = 180;

uint64_t hash_of(const std::string& bytes) {
  uint64_t hash = kFnvStart;
  for (const char byte : bytes) hash = add_to_fnv(hash, byte);
  return hash;
}

std::string hash_suffix(const std::string& bytes) {
  return formatted("-%016llx", static_cast<unsigned long long>(hash_of(bytes)));
}

std::string file_stem(const std::string& tensor_name) {
  std::string stem = printable(tensor_name);
  const bool is_long = stem.size() > kMaxNameBytes;
  if (is_long) {
    size_t end = kMaxNameBytes;
    while (end > 0 && (stem[end] & 0xc0) == 0x80) --end;  // removes whole characters
    stem.resize(end);
  }
  for (char& character : stem) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x80 && !std::isalnum(byte) && std::strchr("_.-", byte) == nullptr) character = '_';
  }
  return is_long ? stem + hash_suffix(tensor_name) : stem;
}

// Returns "'<f4' (float32), '<i8' (int64) ... or '|V2' (bfloat16)".
std::string known_descrs() {
  std::string text;
  for (const DTypeFacts& facts : kDTypes) {
    if (!text.empty()) text += &facts == std::end(kDTypes) - 1 ? " or " : ", ";
    text += "'" + std::string(facts.descr) + "' (" + std::string(facts.name) + ")";
  }
  return text;
}

// Reads the header, a Python dict literal with the keys descr, fortran_order and shape.
class HeaderReader {
 public:
  HeaderReader(const std::string& path, std::string_view header) : path_(path), rest_(header) {}

  void read(NpyHeader* npy) {
    expect('{');
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !has_descr) {
        npy->dtype = dtype();
        has_descr = true;
      } else if (key == "fortran_order" && !has_order) {
        npy->is_fortran = boolean();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        npy->dims = shape();
        has_shape = true;
      } else {
        fail("the keys descr, fortran_order and shape once each");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape)
      fail("the keys descr, fortran_order and shape once each");
    skip_space();
    if (!rest_.empty()) fail("nothing behind the header's dict");
  }

 private:
  [[noreturn]] void fail(const std::string& expected) {
    fail_input(path_, "an .npy header with " + expected,
               rest_.empty() ? "its end" : "'" + std::string(rest_.substr(0, 24)) + "'");
  }

  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }

  bool accept(char character) {
    skip_space();
    if (rest_.empty() || rest_[0] != character) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char character) {
    if (!accept(character)) fail(std::string("'") + character + "'");
  }

  bool boolean() {
    skip_space();
    for (const std::string_view text : {"False", "True"}) {
      if (rest_.substr(0, text.size()) != text) continue;
      rest_.remove_prefix(text.size());
      return text == "True";
    }
    fail("fortran_order True or False");
  }

  std::string_view quoted() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    if (quote != '\'' && quote != '"') fail("a quoted key or value");
    const size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("a closing quote");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  codl_dtype_t dtype() {
    const std::string_view before = rest_;
    const std::string_view descr = quoted();
    for (const DTypeFacts& facts : kDTypes)
      if (descr == facts.descr) return facts.dtype;
    if (descr == "<V2") return CODL_BFLOAT16;  // NumPy saves arrays of ml_dtypes.bfloat16 so
    rest_ = before;
    fail("descr " + known_descrs());
  }

  // Reads a tuple: (), (3,), (1, 3).
  std::vector<int64_t> shape() {
    std::vector<int64_t> dims;
    expect('(');
    while (!accept(')')) {
      dims.push_back(dim());
      if (dims.size() > CODL_MAX_RANK) fail("a shape of at most 8 dims");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }

  int64_t dim() {
    skip_space();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) fail("a shape of dims of at least 0");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  const std::string& path_;
  std::string_view rest_;
};

// Reads a little-endian number of `count` bytes.
size_t read_length(std::string_view bytes, size_t count) {
  size_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

void check_data_bytes(const std::string& path, const NpyHeader& npy, uint64_t found) {
  auto bytes = static_cast<int64_t>(element_bytes(npy.dtype));  // counts a dim of 0 as 1
  bool is_empty = false;
  for (const int64_t dim : npy.dims) {
    is_empty = is_empty || dim == 0;
    if (dim != 0 && __builtin_mul_overflow(bytes, dim, &bytes))
      fail_input(path, "dims with a product of bytes below 2^63",
                 describe_tensor(npy.dtype, npy.dims));
  }
  if ((is_empty ? 0 : static_cast<uint64_t>(bytes)) != found)
    fail_input(path, "the data of " + describe_tensor(npy.dtype, npy.dims),
               std::to_string(found) + " bytes of data");
}

// Reorders elements so that the last index varies fastest instead of the first.
std::string to_c_order(const NpyHeader& npy, std::string_view data) {
  const size_t size = element_bytes(npy.dtype);
  const size_t rank = npy.dims.size();
  std::vector<int64_t> index(rank, 0);
  std::vector<size_t> stride(rank, size);
  for (size_t i = 1; i < rank; ++i)
    stride[i] = stride[i - 1] * static_cast<size_t>(npy.dims[i - 1]);
  std::string ordered;
  ordered.reserve(data.size());
  while (ordered.size() < data.size()) {
    size_t at = 0;
    for (size_t i = 0; i < rank; ++i) at += static_cast<size_t>(index[i]) * stride[i];
    ordered.append(data.substr(at, size));
    for (size_t i = rank; i-- > 0 && ++index[i] == npy.dims[i];) index[i] = 0;
  }
  return ordered;
}

}  // namespace

std::string describe_tensor(codl_dtype_t dtype, const std::vector<int64_t>& dims) {
  std::string text = std::string(dtype_facts(dtype).name) + "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

NpyHeader parse_npy_header(const std::string& path, std::string_view file, uint64_t file_bytes) {
  if (file.substr(0, kMagic.size()) != kMagic || file.size() < kMagic.size() + kVersionBytes)
    fail_input(path, "an .npy file", "other bytes at its start");
  const int major = static_cast<unsigned char>(file[kMagic.size()]);
  const int minor = static_cast<unsigned char>(file[kMagic.size() + 1]);
  if ((major != 1 && major != 2) || minor != 0)
    fail_input(path, "an .npy file of version 1.0 or 2.0",
               std::to_string(major) + "." + std::to_string(minor));
  std::string_view rest = file.substr(kMagic.size() + kVersionBytes);
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t header_bytes = rest.size() < length_bytes ? 0 : read_length(rest, length_bytes);
  if (rest.size() < length_bytes || rest.size() - length_bytes < header_bytes)
    fail_input(path, "a whole .npy header", "the end of the file");
  NpyHeader npy;
  HeaderReader(path, rest.substr(length_bytes, header_bytes)).read(&npy);
  npy.data_offset_bytes = file.size() - rest.size() + length_bytes + header_bytes;
  check_data_bytes(path, npy, file_bytes - npy.data_offset_bytes);
  return npy;
}

Npy parse_npy(const std::string& path, std::string_view file) {
  const NpyHeader header = parse_npy_header(path, file, file.size());
  const std::string_view data = file.substr(header.data_offset_bytes);
  return {.dtype = header.dtype,
          .dims = header.dims,
          .data = header.is_fortran ? to_c_order(header, data) : std::string(data)};
}

std::vector<std::string> npy_file_names(const std::vector<std::string>& tensor_names) {
  std::map<std::string, std::string> tensor_of_file;
  std::vector<std::string> files;
  for (const std::string& tensor : tensor_names) {
    std::string file = file_stem(tensor) + ".npy";
    for (auto known = tensor_of_file.find(file);
         known != tensor_of_file.end() && known->second != tensor;
         known = tensor_of_file.find(file))
      file = file_stem(tensor) + hash_suffix(file + tensor) + ".npy";
    tensor_of_file[file] = tensor;
    files.push_back(file);
  }
  return files;
}

std::string format_npy(codl_dtype_t dtype, const std::vector<int64_t>& dims,
                       std::string_view data) {
  std::string header = "{'descr': '" + std::string(dtype_facts(dtype).descr) +
                       "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < dims.size(); ++i)
    header += (i > 0 ? " " : "") + std::to_string(dims[i]) + ",";
  if (dims.size() > 1) header.pop_back();  // writes (1, 3), but (3,)
  header += "), }";
  const size_t prefix_bytes = kMagic.size() + kVersionBytes + 2;
  const size_t unpadded = prefix_bytes + header.size() + 1;
  const size_t padded = (unpadded + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
  header += std::string(padded - unpadded, ' ') + '\n';

  std::string file(kMagic);
  file += '\x01';
  file += '\x00';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  file += data;
  return file;
}

}  // namespace codl::tools
