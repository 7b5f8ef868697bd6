// Says which bytes an Upload or Download moves: a box of the host tensor and the same box of the
// device's, as clEnqueueWriteBufferRect takes it.
#pragma once

#include <cstddef>

#include "schema/step_shape.h"

namespace codl::rt {

struct TransferBox {
  size_t row_bytes = 0;
  size_t row_count = 1;
  size_t host_origin_bytes = 0;  // where the first row begins, from the tensor's first byte
  size_t host_pitch_bytes = 0;   // from row to row
  size_t device_origin_bytes = 0;
  size_t device_pitch_bytes = 0;
};

// Both tensors hold the part (verify_plan checks this). They differ at most in the rows they hold,
// and only if the part is along Height.
//   Height         the part's rows: one box row per batch image (Plain: per channel of it)
//   OutputChannel  the part's channels, the pad lanes with the last: one box row per pixel
//                  (Plain: per batch image)
//   None           everything held: one box row
TransferBox transfer_box(const kernels::OperandShape& host, const kernels::OperandShape& device,
                         SplitDim part_dim, Range part);

}  // namespace codl::rt
