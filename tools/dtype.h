// Names element types, as the tools show, read and write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "codl/codl.h"

namespace codl::tools {

struct DTypeFacts {
  codl_dtype_t dtype;
  std::string_view name;   // NumPy's name
  std::string_view descr;  // as an .npy header has it
  size_t bytes;
};
// All codl_dtype_t. bfloat16, which NumPy lacks, has the descr that its raw words are saved with.
inline constexpr DTypeFacts kDTypes[] = {
    {CODL_FLOAT32, "float32", "<f4", 4},   {CODL_INT64, "int64", "<i8", 8},
    {CODL_BOOL, "bool", "|b1", 1},         {CODL_INT8, "int8", "|i1", 1},
    {CODL_UINT8, "uint8", "|u1", 1},       {CODL_INT16, "int16", "<i2", 2},
    {CODL_UINT16, "uint16", "<u2", 2},     {CODL_INT32, "int32", "<i4", 4},
    {CODL_UINT32, "uint32", "<u4", 4},     {CODL_UINT64, "uint64", "<u8", 8},
    {CODL_FLOAT64, "float64", "<f8", 8},   {CODL_FLOAT16, "float16", "<f2", 2},
    {CODL_BFLOAT16, "bfloat16", "|V2", 2},
};

const DTypeFacts& dtype_facts(codl_dtype_t dtype);
inline size_t element_bytes(codl_dtype_t dtype) { return dtype_facts(dtype).bytes; }

// Returns the element at `bytes` as a number; exact except for integers beyond 2^53.
double read_element(codl_dtype_t dtype, const void* bytes);

// Stores a number that the type can hold; float16 and bfloat16 round to nearest, ties to even.
void write_element(codl_dtype_t dtype, double value, void* bytes);

// Converts elements, as they lie in memory, from one type to another.
std::string convert_elements(codl_dtype_t from, codl_dtype_t to, std::string_view data);

}  // namespace codl::tools
