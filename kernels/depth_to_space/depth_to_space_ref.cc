#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/common/reference/ref_index.h"
#include "kernels/depth_to_space/depth_to_space.h"

namespace codl::kernels {

void depth_to_space_ref(const KernelArgs& args) {
  const auto& params = args.params_as<DepthToSpaceParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const size_t bytes = dtype_bytes(y.shape.dtype);
  for_each_output(args, [&](const int32_t* index) {
    const int64_t row = int64_t{index[2]} + params.crop_top;
    const int64_t column = int64_t{index[3]} + params.crop_left;
    const int64_t i = row / params.block_h;
    const int64_t j = column / params.block_w;
    const int64_t to = offset_of(y, index);
    const DepthChannels channels =
        depth_channels(params, y.shape.dims[1], static_cast<int32_t>(row % params.block_h),
                       static_cast<int32_t>(column % params.block_w));
    const int32_t from[4] = {index[0], channels.first + index[1] * channels.step,
                             static_cast<int32_t>(i), static_cast<int32_t>(j)};
    std::memcpy(y.as<char>() + to * static_cast<int64_t>(bytes),
                x.as<const char>() + offset_of(x, from) * static_cast<int64_t>(bytes), bytes);
  });
  if (y.shape.dtype == DType::F32) zero_pad_lanes(args);
}

CODL_CPU_KERNEL_PLAIN(depth_to_space_any_cpu, depth_to_space_ref);

}  // namespace codl::kernels
