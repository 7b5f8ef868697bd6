#include <cmath>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/roi_align/roi_align.h"

namespace codl::kernels {
namespace {

// Describes one side of a region.
struct Side {
  float start;
  float bin;  // pixels
  int32_t samples;
  int32_t extent;  // extent of the map
};

// Says where a sample lies between two pixels; weights are 0 outside the map.
struct Between {
  int32_t low = 0;
  int32_t high = 0;
  float low_weight = 0.0f;
  float high_weight = 0.0f;
};

Side side_of(float begin, float end, const RoiAlignParams& params, int32_t bins, int32_t extent) {
  const float offset = params.is_half_pixel != 0 ? 0.5f : 0.0f;
  Side side;
  side.start = begin * params.spatial_scale - offset;
  float length = end * params.spatial_scale - offset - side.start;
  if (params.is_half_pixel == 0) length = std::fmax(length, 1.0f);
  side.bin = length / static_cast<float>(bins);
  side.extent = extent;
  side.samples = params.sampling_ratio;
  if (side.samples == 0) {
    const int32_t most = roi_align_max_samples(extent);
    const float samples = std::ceil(side.bin);
    // A region turned inside out, or no number, has none.
    if (!(samples > 0.0f))
      side.samples = 0;
    else
      side.samples = samples < static_cast<float>(most) ? static_cast<int32_t>(samples) : most;
  }
  return side;
}

Between sample_at(const Side& side, int32_t bin, int32_t sample) {
  const float p = side.start + static_cast<float>(bin) * side.bin +
                  (static_cast<float>(sample) + 0.5f) * side.bin / static_cast<float>(side.samples);
  Between between;
  if (!(p >= -1.0f && p <= static_cast<float>(side.extent))) return between;
  const float inside = p > 0.0f ? p : 0.0f;
  between.low = static_cast<int32_t>(inside);
  if (between.low >= side.extent - 1) {
    between.low = between.high = side.extent - 1;
    between.low_weight = 1.0f;
    return between;
  }
  between.high = between.low + 1;
  between.high_weight = inside - static_cast<float>(between.low);
  between.low_weight = 1.0f - between.high_weight;
  return between;
}

float bin_value(const float* map, const Side& h, const Side& w, int32_t bin_h, int32_t bin_w,
                bool is_max) {
  float sum = 0.0f;
  float maximum = 0.0f;
  bool is_first = true;
  for (int32_t i = 0; i < h.samples; ++i) {
    const Between row = sample_at(h, bin_h, i);
    const float* low = map + int64_t{row.low} * w.extent;
    const float* high = map + int64_t{row.high} * w.extent;
    for (int32_t j = 0; j < w.samples; ++j) {
      const Between column = sample_at(w, bin_w, j);
      const float parts[4] = {row.low_weight * column.low_weight * low[column.low],
                              row.low_weight * column.high_weight * low[column.high],
                              row.high_weight * column.low_weight * high[column.low],
                              row.high_weight * column.high_weight * high[column.high]};
      sum += parts[0] + parts[1] + parts[2] + parts[3];
      for (float part : parts) {
        if (is_first || part > maximum || part != part) maximum = part;  // a NaN stays
        is_first = false;
      }
    }
  }
  if (is_max) return maximum;
  const int64_t count = int64_t{h.samples} * w.samples;
  return count > 0 ? sum / static_cast<float>(count) : 0.0f;
}

}  // namespace

void roi_align_ref(const KernelArgs& args) {
  const auto& params = args.params_as<RoiAlignParams>();
  const TensorView& x = args.operands[0];
  const float* rois = args.operands[1].as<const float>();
  const int64_t* indices = args.operands[2].as<const int64_t>();
  const TensorView& y = args.output();
  float* bin = y.as<float>();
  for (int32_t r = 0; r < y.shape.dims[0]; ++r, rois += 4) {
    const int64_t last = x.shape.dims[0] - 1;
    const int64_t n = indices[r] < 0 ? 0 : indices[r] < last ? indices[r] : last;
    const Side w = side_of(rois[0], rois[2], params, params.output_w, x.shape.dims[3]);
    const Side h = side_of(rois[1], rois[3], params, params.output_h, x.shape.dims[2]);
    for (int32_t c = 0; c < y.shape.dims[1]; ++c) {
      const float* map = x.as<const float>() + n * x.strides[0] + c * x.strides[1];
      for (int32_t i = 0; i < params.output_h; ++i)
        for (int32_t j = 0; j < params.output_w; ++j)
          *bin++ = bin_value(map, h, w, i, j, params.is_max != 0);
    }
  }
}

CODL_CPU_KERNEL_PLAIN(roi_align_any_cpu, roi_align_ref);

}  // namespace codl::kernels
