// Reads and writes NumPy's .npy files: little endian, format versions 1.0 and 2.0; elements in
// either order are read, and written in C order. Raw 16-bit words ('|V2') are bfloat16.
// Source: NumPy Enhancement Proposal 1, "A Simple File Format for NumPy Arrays".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codl/codl.h"
#include "tools/dtype.h"

namespace codl::tools {

// No array's header is as long: NumPy reads none of over 10,000 bytes.
constexpr uint64_t kMaxNpyHeaderBytes = 1 << 20;

// A header that was checked against the file's size: the data are there.
struct NpyHeader {
  codl_dtype_t dtype = CODL_FLOAT32;
  std::vector<int64_t> dims;  // the product fits an int64_t, even of the dims that are not 0
  bool is_fortran = false;    // the first index varies fastest
  uint64_t data_offset_bytes = 0;
};

struct Npy {
  codl_dtype_t dtype = CODL_FLOAT32;
  std::vector<int64_t> dims;
  std::string data;  // elements, row-major; size() is the product of the dims times the element's
};

// Returns "float32[1,3,224,224]".
std::string describe_tensor(codl_dtype_t dtype, const std::vector<int64_t>& dims);

// `begin` has the first kMaxNpyHeaderBytes of a file of `file_bytes`, or all of it. Input error
// that names `path`, unless it is an array as above, of exactly the file's size.
NpyHeader parse_npy_header(const std::string& path, std::string_view begin, uint64_t file_bytes);

// Does the same for a whole file.
Npy parse_npy(const std::string& path, std::string_view file);

// Returns the names of the files for these tensors: "a/b:0" is "a_b_0.npy". Letters and digits of
// every script stay, and "_.-"; other ASCII characters become '_'; hidden ones and bytes that are
// no UTF-8 become their code. A long name is cut and ends in a hash of the whole; so does a name
// that another tensor before it has. Equal tensor names have equal files.
std::vector<std::string> npy_file_names(const std::vector<std::string>& tensor_names);

// Writes a file of version 1.0.
std::string format_npy(codl_dtype_t dtype, const std::vector<int64_t>& dims, std::string_view data);

}  // namespace codl::tools
