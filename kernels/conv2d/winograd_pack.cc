#include "kernels/conv2d/winograd.h"
#include "schema/half.h"

namespace codl::kernels {

namespace {

// Computes line = G column, from three values `step` apart.
template <int kPairs>
void transform_filter(const double* column, int step, double* line) {
  const WinogradTransform<kPairs>& transform = kWinograd<kPairs>;
  const double first = column[0], second = column[step], third = column[2 * step];
  line[0] = first / transform.all[0];
  for (int i = 0; i < kPairs; ++i) {
    const double p = transform.points[i];
    const double even = (first + p * p * third) * transform.filter_scale[i];
    const double odd = p * second * transform.filter_scale[i];
    line[1 + 2 * i] = even + odd;
    line[2 + 2 * i] = even - odd;
  }
  line[2 * kPairs + 1] = third;
}

template <int kPairs, typename Element>
void pack_filters(const int32_t* dims, const float* src, Element* dst) {
  constexpr int kInputs = WinogradTransform<kPairs>::kInputs;
  const int64_t in_channels = dims[1];
  const int64_t position_elements = in_channels * kChannelPanel;
  for (int64_t oc = 0; oc < panel_channels(dims[0]); ++oc) {
    Element* panel = dst + oc / kChannelPanel * kInputs * kInputs * position_elements;
    for (int64_t ic = 0; ic < in_channels; ++ic) {
      Element* to = panel + ic * kChannelPanel + oc % kChannelPanel;
      double filter[9] = {};
      if (oc < dims[0])
        for (int i = 0; i < 9; ++i) filter[i] = src[(oc * in_channels + ic) * 9 + i];
      double columns[3][kInputs];
      for (int j = 0; j < 3; ++j) transform_filter<kPairs>(filter + j, 3, columns[j]);
      for (int i = 0; i < kInputs; ++i) {
        const double row[3] = {columns[0][i], columns[1][i], columns[2][i]};
        double line[kInputs];
        transform_filter<kPairs>(row, 1, line);
        for (int j = 0; j < kInputs; ++j)
          to[(i * kInputs + j) * position_elements] = static_cast<Element>(line[j]);
      }
    }
  }
}

}  // namespace

template <typename Element>
void winograd_pack(PackingKind packing, const int32_t* dims, const float* src, Element* dst) {
  if (winograd_outputs(packing) == 2)
    pack_filters<1>(dims, src, dst);
  else
    pack_filters<2>(dims, src, dst);
}

template void winograd_pack(PackingKind, const int32_t*, const float*, float*);
template void winograd_pack(PackingKind, const int32_t*, const float*, Half*);

}  // namespace codl::kernels
