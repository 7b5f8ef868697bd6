// Gives the OpenCL C of all GPU kernels, which libcodl holds compressed to a fifth.
#pragma once

#include <cstddef>
#include <cstdint>

namespace codl::kernels {

// The texts are deflated, without a header (RFC 1951). An unpacked text ends with a one in place of
// the zero. cmake/codl_embed.cmake generates the file.
extern const uint8_t kPackedClTexts[];
extern const size_t kPackedClTextBytes;

// Unpacks deflated blocks with codes of their own, or a short last one without them, which is what
// is made of long texts. False if that is not what `packed` is, or not `out_bytes` come of it;
// never reads or writes beyond.
bool unpack(const uint8_t* packed, size_t packed_bytes, char* out, size_t out_bytes);

}  // namespace codl::kernels
