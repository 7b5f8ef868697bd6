// Steps on maps that compute one output row at a time: Resize and Pad.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"

namespace codl::kernels {

// A step of the f32 kernels falls into pieces: (batch, output row) pairs.
struct RowWork {
  Range rows;
  Range channels;  // up to the padded count where the part has the last channel
  int64_t units;
  int32_t task_count;
};

constexpr RowWork row_work(SplitDim part_dim, Range part, const OperandShape& y) {
  RowWork work = {};
  work.rows = rows_of_part(part_dim, part, y);
  work.channels = channels_of_part(part_dim, part, y);
  if (work.channels.end == y.dims[1]) work.channels.end = padded_channels(y);
  work.units = int64_t{y.dims[0]} * work.rows.count();
  work.task_count = task_count_for(work.units, work.units * y.dims[3] * work.channels.count());
  return work;
}

}  // namespace codl::kernels
