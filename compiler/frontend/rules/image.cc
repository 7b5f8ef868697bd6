// Composes formulas over images and matrices that have no kernel of their own: Col2Im, AffineGrid,
// Det.
#include <algorithm>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// ---- Col2Im ----

// Describes one axis of the image: blocks of `kernel` elements, `dilation` apart, at every
// `stride`.
struct BlockAxis {
  int64_t image = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;

  // Returns how many blocks fit; less than 1 if none does.
  int64_t positions() const {
    const int64_t left = image + pad_begin + pad_end - (dilation * (kernel - 1) + 1);
    return left < 0 ? 0 : left / stride + 1;
  }
};

int64_t position_count(llvm::ArrayRef<BlockAxis> axes) {
  int64_t count = 1;
  for (const BlockAxis& axis : axes)
    count = std::min(count * std::min<int64_t>(axis.positions(), kMaxDim), kMaxElements);
  return count;
}

// Returns for each element of a column (block element, then block position) its position in the
// flat image, or the number of the image's elements if it lies in the padding.
std::vector<int64_t> places_in_image(llvm::ArrayRef<BlockAxis> axes) {
  int64_t elements = 1;
  int64_t kernels = 1;
  for (const BlockAxis& axis : axes) {
    elements *= axis.image;
    kernels *= axis.kernel;
  }
  const int64_t positions = position_count(axes);
  std::vector<int64_t> places(kernels * positions);
  for (int64_t k = 0; k < kernels; ++k) {
    for (int64_t p = 0; p < positions; ++p) {
      int64_t place = 0;
      int64_t pitch = 1;
      int64_t k_left = k;
      int64_t p_left = p;
      bool is_inside = true;
      for (size_t i = axes.size(); i-- > 0;) {
        const BlockAxis& axis = axes[i];
        const int64_t blocks = std::max<int64_t>(1, axis.positions());
        const int64_t at =
            p_left % blocks * axis.stride - axis.pad_begin + k_left % axis.kernel * axis.dilation;
        p_left /= blocks;
        k_left /= axis.kernel;
        is_inside = is_inside && at >= 0 && at < axis.image;
        place += at * pitch;
        pitch *= axis.image;
      }
      places[k * positions + p] = is_inside ? place : elements;
    }
  }
  return places;
}

// Limits the entries in tables that a rule computes: 32 MiB of i64.
constexpr int64_t kMaxTable = int64_t{1} << 22;

// Limits the possible shapes of a block that is computed at run time: factorings of its size.
constexpr size_t kMaxBlocks = 16;

// Finds all ways to write `product` as kernels of the axes with `positions` blocks; at most one
// more than kMaxBlocks.
void find_kernels(std::vector<BlockAxis>& axes, size_t next, int64_t product, int64_t positions,
                  std::vector<std::vector<BlockAxis>>& found) {
  if (next == axes.size()) {
    if (product == 1 && position_count(axes) == positions) found.push_back(axes);
    return;
  }
  for (int64_t kernel = 1; kernel <= product && found.size() <= kMaxBlocks; ++kernel) {
    if (product % kernel != 0) continue;
    axes[next].kernel = kernel;
    if (axes[next].positions() > 0)
      find_kernels(axes, next + 1, product / kernel, positions, found);
  }
}

llvm::Expected<std::vector<BlockAxis>> block_axes(const OnnxNode& node,
                                                  llvm::ArrayRef<int64_t> image) {
  const size_t rank = image.size();
  CODL_ASSIGN_OR_RETURN(
      dilations, node.ints_or("dilations", std::vector<int64_t>(rank, 1), static_cast<int>(rank)));
  CODL_ASSIGN_OR_RETURN(
      strides, node.ints_or("strides", std::vector<int64_t>(rank, 1), static_cast<int>(rank)));
  CODL_ASSIGN_OR_RETURN(
      pads, node.ints_or("pads", std::vector<int64_t>(2 * rank, 0), static_cast<int>(2 * rank)));
  std::vector<BlockAxis> axes;
  for (size_t i = 0; i < rank; ++i) {
    const BlockAxis axis = {image[i], 1, strides[i], dilations[i], pads[i], pads[rank + i]};
    for (int64_t positive : {axis.image, axis.stride, axis.dilation})
      if (positive < 1 || positive > kMaxDim)
        return input_error(
            node.name, "expected dims, strides and dilations of 1 or more, found {0}", positive);
    for (int64_t pad : {axis.pad_begin, axis.pad_end})
      if (pad < 0 || pad > kMaxDim)
        return input_error(node.name, "expected pads of 0 or more, found {0}", pad);
    axes.push_back(axis);
  }
  return axes;
}

// Returns the image's shape: operand 1, or the model's declaration of the output.
llvm::Expected<std::vector<int64_t>> image_shape(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(image, known_ints(node, importer, 1));
  if (image) return *image;
  const auto declared = importer.declared_dims(node, 0);
  if (!declared || declared->size() < 3) return needs_constant(node, importer, 1, "image_shape");
  return std::vector<int64_t>(declared->begin() + 2, declared->end());
}

// Returns the shapes that the block can have: operand 2, or all that the declared dims allow.
llvm::Expected<std::vector<std::vector<BlockAxis>>> possible_blocks(const OnnxNode& node,
                                                                    Importer& importer,
                                                                    std::vector<BlockAxis> axes,
                                                                    llvm::ArrayRef<int64_t> dims) {
  CODL_ASSIGN_OR_RETURN(block, known_ints(node, importer, 2));
  std::vector<std::vector<BlockAxis>> found;
  if (block) {
    if (block->size() != axes.size())
      return input_error(node.name, "expected a block of {0} dims, found {1}", axes.size(),
                         block->size());
    for (size_t i = 0; i < axes.size(); ++i) axes[i].kernel = (*block)[i];
    found.push_back(std::move(axes));
    return found;
  }
  const auto declared = importer.declared_dims(node, 0);
  if (!declared || declared->size() != axes.size() + 2 || (*declared)[1] < 1 ||
      dims[1] % (*declared)[1] != 0)
    return needs_constant(node, importer, 2, "block_shape");
  find_kernels(axes, 0, dims[1] / (*declared)[1], dims[2], found);
  if (found.empty())
    return input_error(node.name, "expected dims that blocks of the image have, found others");
  if (found.size() > kMaxBlocks) return needs_constant(node, importer, 2, "block_shape");
  return found;
}

// Returns the number of elements in one block. Returns an Input error unless blocks of that shape
// give the dims of operand 0.
llvm::Expected<int64_t> block_elements(const OnnxNode& node, llvm::ArrayRef<BlockAxis> axes,
                                       llvm::ArrayRef<int64_t> dims) {
  int64_t elements = 1;
  for (const BlockAxis& axis : axes) {
    if (axis.kernel < 1 || axis.kernel > dims[1] || axis.positions() < 1)
      return input_error(node.name, "expected blocks that fit the image, found a dim of {0}",
                         axis.kernel);
    elements = std::min<int64_t>(elements * axis.kernel, kMaxElements);
  }
  if (dims[1] % elements != 0 || dims[2] != position_count(axes))
    return input_error(node.name, "expected [n, c * {0}, {1}], found {2} x {3}", elements,
                       position_count(axes), dims[1], dims[2]);
  return elements;
}

// Selects the row of places_in_image() for the block that the operand has when the network runs.
ir::ValueId block_places(Compose& c, llvm::ArrayRef<std::vector<BlockAxis>> blocks) {
  const auto table = [&](llvm::ArrayRef<BlockAxis> axes) {
    const std::vector<int64_t> places = places_in_image(axes);
    return c.ints(places, {1, static_cast<int64_t>(places.size())});
  };
  ir::ValueId places = table(blocks.front());
  for (const std::vector<BlockAxis>& axes : blocks.drop_front()) {
    std::vector<int64_t> kernels;
    for (const BlockAxis& axis : axes) kernels.push_back(axis.kernel);
    const ir::ValueId is_same = c.binary(kBinaryEqual, c.operand_as(2, DType::I64),
                                         c.ints(kernels, {static_cast<int64_t>(kernels.size())}));
    const ir::ValueId same = c.reduce(kReduceSum, c.cast(is_same, DType::I64), {0}, false);
    const ir::ValueId is_all =
        c.binary(kBinaryEqual, same, int_scalar(c, static_cast<int64_t>(kernels.size())));
    places = c.where(is_all, table(axes), places);
  }
  return places;
}

// Adds up overlapping blocks in an image with one element more, which takes those in the padding.
llvm::Error import_col2im(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  CODL_ASSIGN_OR_RETURN(image, image_shape(node, importer));
  if (image.empty() || image.size() + 2 > kMaxRank)
    return unsupported_error(node.name, "expected images of 1 to {0} axes, found {1}", kMaxRank - 2,
                             image.size());
  CODL_ASSIGN_OR_RETURN(axes, block_axes(node, image));
  if (dims.size() != 3 || element_count(dims) == 0)
    return input_error(node.name, "expected columns of rank 3, found rank {0}", dims.size());
  CODL_ASSIGN_OR_RETURN(blocks, possible_blocks(node, importer, axes, dims));
  CODL_ASSIGN_OR_RETURN(elements_per_block, block_elements(node, blocks.front(), dims));

  Dims64 result = {dims[0], dims[1] / elements_per_block};
  result.append(image.begin(), image.end());
  if (llvm::Error error = check_dims(node, result)) return error;
  const int64_t maps = result[0] * result[1];
  const int64_t columns = elements_per_block * dims[2];
  const int64_t elements = element_count(image);
  if (columns * static_cast<int64_t>(blocks.size()) > kMaxTable)
    return unsupported_error(node.name,
                             "expected blocks of at most {0} elements together, found {1}",
                             kMaxTable, columns);
  Compose c(node, importer);
  const ir::ValueId updates = c.reshape(c.operand(0), {maps, columns});
  const ir::ValueId places = c.expand(block_places(c, blocks), {maps, columns});
  const ScatterElementsParams params = {.axis = 1, .reduction = kScatterElementsAdd};
  const ir::ValueId sums = c.node(OpKind::ScatterElements, params,
                                  {c.filled(dtype, 0, {maps, elements + 1}), places, updates});
  return c.bind(c.reshape(c.slice(sums, 1, 0, elements), result));
}

// ---- AffineGrid ----

// Returns the coordinate in [-1, 1] of element `i` of `count`: of the elements' middles, or, with
// align_corners, with the first and the last at the ends.
float grid_coordinate(int64_t i, int64_t count, bool aligns_corners) {
  const double n = static_cast<double>(count);
  const double place = static_cast<double>(i);
  if (!aligns_corners) return static_cast<float>((2 * place + 1) / n - 1);
  return count == 1 ? -1.0f : static_cast<float>(2 * place / (n - 1) - 1);
}

// Multiplies theta with the coordinates (x, y, [z,] 1) of every element.
llvm::Error import_affine_grid(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(align_corners, node.int_or("align_corners", 0));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(size, known_ints(node, importer, 1));
  std::vector<int64_t> map;  // [depth,] height, width
  if (size) {
    map.assign(size->begin() + std::min<size_t>(2, size->size()), size->end());
  } else {
    const auto declared = importer.declared_dims(node, 0);
    if (!declared || declared->size() < 4) return needs_constant(node, importer, 1, "size");
    map.assign(declared->begin() + 1, declared->end() - 1);
  }
  const int64_t axes = static_cast<int64_t>(map.size());
  if (axes < 2 || axes > 3)
    return input_error(node.name, "expected a size of 4 or 5 dims, found {0}", axes + 2);
  if (dims.size() != 3 || dims[1] != axes || dims[2] != axes + 1)
    return input_error(node.name, "expected theta [n, {0}, {1}], found other dims", axes, axes + 1);
  Dims64 result = {dims[0]};
  result.append(map.begin(), map.end());
  result.push_back(axes);
  if (llvm::Error error = check_dims(node, result)) return error;
  if (element_count(result) == 0) return bind_empty(node, importer, DType::F32, result);

  if (llvm::any_of(map, [](int64_t dim) { return dim > kMaxTable; }))
    return unsupported_error(node.name, "expected a grid of at most {0} points a side, found more",
                             kMaxTable);
  Compose c(node, importer);
  Dims64 column(map.begin(), map.end());  // one coordinate of every point
  column.push_back(1);
  std::vector<ir::ValueId> columns;
  for (int64_t axis = axes; axis-- > 0;) {  // the last axis is x
    std::vector<float> coordinates;
    for (int64_t i = 0; i < map[axis]; ++i)
      coordinates.push_back(grid_coordinate(i, map[axis], align_corners != 0));
    const ir::ValueId vector = c.floats(coordinates, {map[axis]});
    columns.push_back(c.expand(along(c, vector, axis, column.size()), column));
  }
  columns.push_back(c.filled(DType::F32, 1, column));
  const ir::ValueId points = c.reshape(c.concat(columns, axes), {1, element_count(map), axes + 1});
  const ir::ValueId grid = c.matmul(points, c.transpose(c.operand(0), {0, 2, 1}));
  return c.bind(c.reshape(grid, result));
}

// ---- Det ----

// Returns the determinant of the rows from `row` on and the columns in `columns`, expanded along
// the first row.
ir::ValueId determinant(Compose& c, const std::vector<std::vector<ir::ValueId>>& element,
                        size_t row, llvm::ArrayRef<size_t> columns) {
  if (columns.size() == 1) return element[row][columns[0]];
  ir::ValueId sum = ir::kNoId;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<size_t> others(columns.begin(), columns.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const ir::ValueId term =
        c.mul(element[row][columns[i]], determinant(c, element, row + 1, others));
    if (sum == ir::kNoId)
      sum = term;
    else
      sum = i % 2 == 0 ? c.add(sum, term) : c.sub(sum, term);
  }
  return sum;
}

// Limits the matrices' side: the number of products grows with the factorial.
constexpr int64_t kMaxMatrix = 4;

llvm::Error import_det(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  const size_t rank = dims.size();
  if (rank < 2 || dims[rank - 1] != dims[rank - 2])
    return input_error(node.name, "expected square matrices, found other dims");
  const int64_t n = dims.back();
  if (n < 1 || n > kMaxMatrix || element_count(dims) == 0)
    return unsupported_error(node.name, "expected matrices of 1 to {0} rows, found {1}", kMaxMatrix,
                             n);
  const Dims64 result(dims.begin(), dims.end() - 2);
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  std::vector<std::vector<ir::ValueId>> element(n);
  std::vector<size_t> columns;
  for (int64_t i = 0; i < n; ++i) {
    columns.push_back(static_cast<size_t>(i));
    const ir::ValueId row = c.slice(x, -2, i, 1);
    for (int64_t j = 0; j < n; ++j) element[i].push_back(c.reshape(c.slice(row, -1, j, 1), result));
  }
  return c.bind(determinant(c, element, 0, columns));
}

}  // namespace

llvm::ArrayRef<ImportEntry> image_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"AffineGrid", 20, kNewestOpset, import_affine_grid},
      {"Col2Im", 18, kNewestOpset, import_col2im},
      {"Det", 11, kNewestOpset, import_det},
  };
  return kEntries;
}

}  // namespace codl::compiler
