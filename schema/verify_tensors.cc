// Checks tensors of a plan: shape, layout and place in memory.
#include <float.h>

#include "schema/plan_check.h"
#include "schema/step_shape.h"

namespace codl {

using kernels::OperandShape;
using plan::TensorDef;
using plan::VariantDef;

namespace {

// Multiplies *product, at most kMaxElements, by a factor of at most kMaxDim, so that nothing
// overflows. Returns false if the product is over the limit.
constexpr bool multiply_within_limit(int64_t factor, int64_t* product) {
  *product *= factor;
  return *product <= kMaxElements;
}

bool is_layout_of(Storage storage, Layout layout) {
  switch (storage) {
    case Storage::Input:
    case Storage::Output:
      return layout == Layout::Plain;
    case Storage::Image:
      return layout == Layout::Image2d;
    case Storage::Weights:
      return layout != Layout::Image2d;
    default:
      return layout == Layout::Plain || layout == Layout::Nhwc;
  }
}

// Kernels of this build know one scale for all elements, and the bytes of arenas. Packed weights
// have theirs among their elements.
bool check_scales(PlanCheck& c, const TensorDef& tensor) {
  const size_t scales = count_of(tensor.scales());
  const size_t zero_points = count_of(tensor.zero_points());
  if (!c.expect(scales <= 1, "at most one scale", scales, PlanFault::Version) ||
      !c.expect(zero_points <= scales, "at most one zero point for each scale", zero_points,
                PlanFault::Version) ||
      !c.expect(tensor.scale_dim() == 0, "scale_dim 0", tensor.scale_dim(), PlanFault::Version))
    return false;
  if (scales == 0) return true;
  const float scale = tensor.scales()->Get(0);
  return c.expect(scale > 0 && scale <= FLT_MAX, "a scale that is positive and finite", 0) &&
         c.expect(zero_points == 0 ||
                      (tensor.zero_points()->Get(0) >= -128 && tensor.zero_points()->Get(0) <= 127),
                  "a zero point in [-128, 127]", zero_points) &&
         c.expect(static_cast<DType>(tensor.dtype()) == DType::I8, "elements of I8 with a scale",
                  tensor.dtype()) &&
         c.expect(is_arena(storage_of(tensor)) || storage_of(tensor) == Storage::Image,
                  "elements with a scale in an arena or an image", tensor.storage());
}

// A window of channels lies inside the wider map: in the host arena whole panels, which begin where
// the window is placed; in memory of the GPU alone whole texels, and the map is placed.
bool check_window(PlanCheck& c, const TensorDef& tensor) {
  const Storage storage = storage_of(tensor);
  const int32_t channels = tensor.dims()->Get(1);
  const int32_t first = tensor.first_channel();
  const int32_t stride = tensor.pixel_stride();
  if (stride == 0) return c.expect(first == 0, "first_channel 0 without a window", first);
  const bool is_on_host = storage == Storage::Host;
  return c.expect(is_on_host || storage == Storage::Device || storage == Storage::Image,
                  "a window of channels in the host arena or memory of the GPU alone", stride) &&
         c.expect(channels % (is_on_host ? kChannelPanel : kChannelPad) == 0,
                  "a window of whole panels of 16, of whole texels in memory of the GPU",
                  channels) &&
         c.expect(stride % kChannelPad == 0 && stride <= kMaxDim && stride >= channels,
                  "pixel_stride 0, or a multiple of 4, the window's channels or more", stride) &&
         c.expect(is_on_host ? first == 0
                             : first >= 0 && first % kChannelPad == 0 && first <= stride - channels,
                  "first_channel 0 in the host arena, else a multiple of 4, the window in the map",
                  first);
}

// Checks rank, dims, rows and the elements stored, pad lanes included.
bool check_tensor_shape(PlanCheck& c, const TensorDef& tensor) {
  if (!check_dims(c, tensor.dims())) return false;
  const int32_t row_begin = tensor.row_begin();
  const int32_t row_end = tensor.row_end();
  if (!has_rows(static_cast<Layout>(tensor.layout())))
    return c.expect(row_begin == 0 && row_end == 0, "row_begin and row_end 0 in this layout",
                    row_end) &&
           c.expect((tensor.pixel_stride() | tensor.first_channel()) == 0,
                    "pixel_stride and first_channel 0 in this layout", tensor.pixel_stride());
  if (!c.expect(tensor.dims()->size() == 4, "rank 4 in this layout", tensor.dims()->size()))
    return false;
  const int32_t rows = tensor.dims()->Get(2);
  if (!c.expect(row_begin >= 0 && row_begin < row_end && row_end <= rows,
                "rows [row_begin, row_end) inside the value", row_end))
    return false;
  if (!check_window(c, tensor)) return false;
  int64_t elements = kernels::pixel_elements(operand_shape_of(tensor));
  return c.expect(multiply_within_limit(tensor.dims()->Get(0), &elements) &&
                      multiply_within_limit(row_end - row_begin, &elements) &&
                      multiply_within_limit(tensor.dims()->Get(3), &elements),
                  "at most 2^30 elements, pad lanes included", elements);
}

// Returns the bytes of a tensor in memory whose shape has been checked; 0 for an image.
uint64_t stored_bytes(const TensorDef& tensor) {
  const OperandShape shape = operand_shape_of(tensor);
  if (shape.layout == Layout::Image2d) return 0;
  return kernels::stored_bytes(shape);
}

bool check_io_place(PlanCheck& c, const TensorDef& tensor,
                    const flatbuffers::Vector<flatbuffers::Offset<plan::IoDef>>& ios) {
  if (!c.expect(tensor.index() < ios.size(), "index of an input or output of the plan",
                tensor.index()))
    return false;
  const plan::IoDef& io = *ios.Get(tensor.index());
  if (!c.expect(tensor.dtype() == io.dtype(), "dtype of the input or output", tensor.dtype()) ||
      !c.expect(tensor.dims()->size() == io.dims()->size(), "rank of the input or output",
                tensor.dims()->size()))
    return false;
  for (uint32_t i = 0; i < io.dims()->size(); ++i)
    if (!c.expect(tensor.dims()->Get(i) == io.dims()->Get(i), "dims of the input or output",
                  tensor.dims()->Get(i)))
      return false;
  return true;
}

bool check_arena_place(PlanCheck& c, const TensorDef& tensor, uint64_t arena_bytes,
                       uint64_t alignment) {
  return c.expect(tensor.index() == 0, "index 0 in an arena", tensor.index()) &&
         c.expect(tensor.offset_bytes() % alignment == 0,
                  "offset_bytes a multiple of the arena's alignment (host 64, else 1024)",
                  as_found(tensor.offset_bytes())) &&
         c.expect(tensor.offset_bytes() <= arena_bytes &&
                      tensor.bytes() <= arena_bytes - tensor.offset_bytes(),
                  "offset_bytes + bytes inside the arena", as_found(tensor.offset_bytes()));
}

bool check_image_place(PlanCheck& c, const VariantDef& variant, const TensorDef& tensor) {
  if (!c.expect(tensor.index() < variant.images()->size(), "index of an image of the variant",
                tensor.index()))
    return false;
  const plan::ImageDef& image = *variant.images()->Get(tensor.index());
  if (!c.expect(tensor.dtype() == image.dtype(), "the dtype of the image", tensor.dtype()))
    return false;
  const OperandShape shape = operand_shape_of(tensor);
  return c.expect(kernels::image_width(shape) <= image.width(), "an image at least as wide",
                  image.width()) &&
         c.expect(kernels::image_height(shape) <= image.height(), "an image at least as high",
                  image.height());
}

bool check_weights_place(PlanCheck& c, const TensorDef& tensor) {
  return c.expect(tensor.index() < c.plan->blobs()->size(), "index of a blob of the plan",
                  tensor.index()) &&
         c.expect(tensor.bytes() == c.plan->blobs()->Get(tensor.index())->bytes(),
                  "bytes equal to the blob's", as_found(tensor.bytes()));
}

bool check_tensor_place(PlanCheck& c, const VariantDef& variant, const TensorDef& tensor) {
  switch (storage_of(tensor)) {
    case Storage::Input:
      return check_io_place(c, tensor, *c.entry->inputs());
    case Storage::Output:
      return check_io_place(c, tensor, *c.entry->outputs());
    case Storage::Host:
      return check_arena_place(c, tensor, variant.host_bytes(), kHostAlignment);
    case Storage::Shared:
      return check_arena_place(c, tensor, variant.shared_bytes(), kDeviceAlignment);
    case Storage::Device:
      return check_arena_place(c, tensor, variant.device_bytes(), kDeviceAlignment);
    case Storage::Image:
      return check_image_place(c, variant, tensor);
    case Storage::Weights:
      return check_weights_place(c, tensor);
  }
  return false;
}

bool check_tensor(PlanCheck& c, const VariantDef& variant, const TensorDef& tensor) {
  if (!c.expect(tensor.name() != nullptr, "a name", 0) ||
      !c.expect(is_known_dtype(tensor.dtype()), "a dtype of types.h", tensor.dtype()) ||
      !c.expect(is_known(static_cast<Layout>(tensor.layout())), "a known layout",
                tensor.layout()) ||
      !c.expect(is_known(storage_of(tensor)), "a known storage", tensor.storage()) ||
      !c.expect(is_layout_of(storage_of(tensor), static_cast<Layout>(tensor.layout())),
                "a layout that its storage can hold", tensor.layout()) ||
      !check_scales(c, tensor) || !check_tensor_shape(c, tensor))
    return false;
  // A packed blob's size is known to the contract of its operator, which sees it in the step.
  const bool is_packed = tensor.layout() == static_cast<uint8_t>(Layout::Packed);
  if (!is_packed &&
      !c.expect(tensor.bytes() == stored_bytes(tensor),
                "bytes equal to the elements stored (0 in an image)", as_found(tensor.bytes())))
    return false;
  return c.expect(is_arena(storage_of(tensor)) || tensor.offset_bytes() == 0,
                  "offset_bytes 0 outside an arena", as_found(tensor.offset_bytes())) &&
         check_tensor_place(c, variant, tensor);
}

}  // namespace

bool check_dims(PlanCheck& c, const flatbuffers::Vector<int32_t>* dims, int32_t least) {
  if (!c.expect(dims != nullptr, "dims present", 0) ||
      !c.expect(dims->size() <= static_cast<uint32_t>(kMaxRank), "rank of at most 8", dims->size()))
    return false;
  int64_t elements = 1;
  for (int32_t dim : *dims) {
    if (!c.expect(dim >= least && dim <= kMaxDim,
                  least == 0 ? "dims between 0 and 2^24" : "dims between 1 and 2^24", dim))
      return false;
    if (!c.expect(multiply_within_limit(dim, &elements), "at most 2^30 elements", elements))
      return false;
  }
  return true;
}

bool check_tensors(PlanCheck& c, const VariantDef& variant) {
  c.tensor_count += variant.tensors()->size();
  c.at("variant", -1);
  if (!c.expect(c.tensor_count <= kMaxTensors, "at most 2^20 tensors in all variants",
                as_found(c.tensor_count)))
    return false;
  for (uint32_t i = 0; i < variant.tensors()->size(); ++i) {
    c.at("tensor", i);
    if (!check_tensor(c, variant, *variant.tensors()->Get(i))) return false;
  }
  return true;
}

// Returns true for windows of other channels of one map, whose pixels lie between each other's. Not
// in an image, which a kernel may not read and write.
static bool are_apart(const TensorDef& a, const TensorDef& b) {
  if (a.pixel_stride() == 0 || a.pixel_stride() != b.pixel_stride() || a.dtype() != b.dtype())
    return false;
  if (storage_of(a) == Storage::Device)
    return a.offset_bytes() == b.offset_bytes() &&
           (a.first_channel() + a.dims()->Get(1) <= b.first_channel() ||
            b.first_channel() + b.dims()->Get(1) <= a.first_channel());
  const auto bytes_of = [&](int32_t elements) {
    return static_cast<uint64_t>(elements) * dtype_bytes(static_cast<DType>(a.dtype()));
  };
  const TensorDef& first = a.offset_bytes() <= b.offset_bytes() ? a : b;
  const TensorDef& other = &first == &a ? b : a;
  const uint64_t pixel = bytes_of(a.pixel_stride());
  const uint64_t behind = (other.offset_bytes() - first.offset_bytes()) % pixel;
  return behind >= bytes_of(first.dims()->Get(1)) &&
         behind + bytes_of(other.dims()->Get(1)) <= pixel;
}

bool share_bytes(const TensorDef& a, const TensorDef& b) {
  if (storage_of(a) != storage_of(b) || are_apart(a, b)) return false;
  switch (storage_of(a)) {
    case Storage::Input:
    case Storage::Output:
    case Storage::Image:
    case Storage::Weights:
      return a.index() == b.index();
    default:
      return a.offset_bytes() < b.offset_bytes() + b.bytes() &&
             b.offset_bytes() < a.offset_bytes() + a.bytes();
  }
}

}  // namespace codl
