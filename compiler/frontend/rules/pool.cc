// Imports pooling, and MaxUnpool. Max and Average of f32 over one or two axes become Pool2d, which
// has the fast kernels, and so does Max of 8-bit integers, which floats hold; all others become a
// PoolNd.
#include <algorithm>
#include <optional>

#include "compiler/frontend/graph/compose.h"
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/graph/spatial.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// Holds the operands and parameters of a pooling.
struct Pooling {
  llvm::SmallVector<int64_t, 4> x;
  DType dtype = DType::F32;
  int32_t kind = kPoolNdMax;  // a member of PoolNd
  int32_t p = 0;
  bool is_ceil = false;
  bool count_include_pad = false;
  SpatialAttributes window;

  llvm::ArrayRef<int64_t> map() const { return llvm::ArrayRef<int64_t>(x).drop_front(2); }
};

llvm::Expected<Pooling> read_pooling(const OnnxNode& node, const Importer& importer, int32_t kind) {
  Pooling pool;
  CODL_ASSIGN_OR_RETURN(x, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  if (x.size() < 3) return input_error(node.name, "expected rank >= 3, found {0}", x.size());
  if (kind == kPoolNdLp) {
    CODL_ASSIGN_OR_RETURN(p, node.int_or("p", 2));
    if (p < 1 || p > INT32_MAX)
      return input_error(node.name, "expected p of 1 or more, found {0}", p);
    pool.p = static_cast<int32_t>(p);
  }
  pool.x = x;
  pool.dtype = dtype;
  pool.kind = kind;
  return pool;
}

// Returns true if every window of Pool2d would have an element (Pool2d has no answer for others),
// and its kernels take the padding.
bool fits_pool2d(const Pooling& pool) {
  const llvm::ArrayRef<SpatialAxis> axes = pool.window.axes;
  const bool is_max_of_bytes =
      pool.kind == kPoolNdMax && (pool.dtype == DType::I8 || pool.dtype == DType::U8);
  if (axes.size() > 2 || (pool.dtype != DType::F32 && !is_max_of_bytes)) return false;
  if (pool.kind != kPoolNdMax && pool.kind != kPoolNdAverage) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const SpatialAxis& axis = axes[i];
    const WindowAxis window = {pool.map()[i], axis.kernel,    axis.stride,
                               axis.dilation, axis.pad_begin, axis.pad_end};
    if (axis.pad_begin >= window.extent()) return false;
    if (axis.pad_begin > 0 && axis.dilation > window.in) return false;
    if (window.first_tap(window_count(window, pool.is_ceil) - 1) >= window.in) return false;
  }
  return true;
}

ir::ValueId append_pool2d(Compose& c, const Pooling& pool, ir::ValueId x) {
  SpatialAttributes window = pool.window;
  const bool is_line = window.axes.size() == 1;
  if (is_line) {
    window.add_height();
    x = c.reshape(x, {pool.x[0], pool.x[1], 1, pool.x[2]});
  }
  Pool2dParams params;
  params.kind = pool.kind == kPoolNdMax ? kPool2dMax : kPool2dAverage;
  params.kernel_h = window.axes[0].kernel;
  params.kernel_w = window.axes[1].kernel;
  set_window_2d(params, window.axes);
  params.ceil_mode = pool.is_ceil;
  params.count_include_pad = pool.count_include_pad;
  const ir::ValueId y = c.node(OpKind::Pool2d, params, {x});
  if (!is_line || y == ir::kNoId) return y;
  return c.reshape(y, {pool.x[0], pool.x[1], c.dims(y)[3]});
}

ir::ValueId append_pool_nd(Compose& c, const Pooling& pool, ir::ValueId x,
                           bool is_column_major = false) {
  PoolNdParams params;
  params.kind = pool.kind;
  params.p = pool.p;
  params.ceil_mode = pool.is_ceil;
  params.count_include_pad = pool.count_include_pad;
  params.is_column_major = is_column_major;
  const llvm::ArrayRef<SpatialAxis> axes = pool.window.axes;
  params.kernel_0 = axes[0].kernel;
  params.kernel_1 = axes.size() > 1 ? axes[1].kernel : 1;
  params.kernel_2 = axes.size() > 2 ? axes[2].kernel : 1;
  set_window_nd(params, axes);
  return c.node(OpKind::PoolNd, params, {x});
}

ir::ValueId append_pool(Compose& c, const Pooling& pool, ir::ValueId x) {
  if (!fits_pool2d(pool)) return append_pool_nd(c, pool, x);
  return c.cast(append_pool2d(c, pool, c.cast(x, DType::F32)), pool.dtype);
}

llvm::Error import_window_pool(const OnnxNode& node, Importer& importer, int32_t kind) {
  CODL_ASSIGN_OR_RETURN(pool, read_pooling(node, importer, kind));
  if (pool.x.size() > 5)
    return unsupported_error(node.name, "expected 1 to 3 spatial axes, found {0}",
                             pool.x.size() - 2);
  CODL_ASSIGN_OR_RETURN(window, read_spatial_attributes(node, pool.map(), std::nullopt));
  CODL_ASSIGN_OR_RETURN(ceil_mode, node.int_or("ceil_mode", 0));
  CODL_ASSIGN_OR_RETURN(count_include_pad, node.int_or("count_include_pad", 0));
  CODL_ASSIGN_OR_RETURN(storage_order, node.int_or("storage_order", 0));
  pool.window = window;
  // auto_pad alone decides the number of windows.
  pool.is_ceil = ceil_mode != 0 && !window.has_automatic_pads;
  pool.count_include_pad = kind == kPoolNdAverage && count_include_pad != 0;
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  if (llvm::Error error = c.bind(append_pool(c, pool, x))) return error;
  if (kind != kPoolNdMax || !c.has_output(1)) return llvm::Error::success();
  pool.kind = kPoolNdMaxIndex;
  return c.bind(append_pool_nd(c, pool, x, storage_order != 0), 1);
}

// The window is as large as the map, which is treated as one line unless it has two axes.
llvm::Error import_global_pool(const OnnxNode& node, Importer& importer, int32_t kind) {
  CODL_ASSIGN_OR_RETURN(pool, read_pooling(node, importer, kind));
  llvm::SmallVector<int64_t, 4> ones(pool.x.size(), 1);
  ones[0] = pool.x[0];
  ones[1] = pool.x[1];
  if (pool.x.size() != 4) {
    int64_t elements = 1;
    for (int64_t extent : pool.map()) elements *= extent;
    pool.x = {pool.x[0], pool.x[1], elements};
  }
  for (int64_t extent : pool.map()) {
    SpatialAxis axis;
    axis.kernel = static_cast<int32_t>(extent);
    pool.window.axes.push_back(axis);
  }
  Compose c(node, importer);
  return c.bind(c.reshape(append_pool(c, pool, c.reshape(c.operand(0), pool.x)), ones));
}

// Returns the dims of the map that was pooled, if its windows did not overhang its end.
llvm::Expected<Dims64> unpooled_dims(const OnnxNode& node, llvm::ArrayRef<int64_t> pooled) {
  const size_t axes = pooled.size() - 2;
  CODL_ASSIGN_OR_RETURN(kernel, node.ints_or("kernel_shape", {}));
  if (kernel.size() != axes)
    return input_error(node.name, "expected kernel_shape of {0} axes, found {1}", axes,
                       kernel.size());
  CODL_ASSIGN_OR_RETURN(
      strides, node.ints_or("strides", std::vector<int64_t>(axes, 1), static_cast<int>(axes)));
  CODL_ASSIGN_OR_RETURN(
      pads, node.ints_or("pads", std::vector<int64_t>(2 * axes, 0), static_cast<int>(2 * axes)));
  Dims64 dims(pooled.begin(), pooled.begin() + 2);
  for (size_t i = 0; i < axes; ++i) {
    for (int64_t extent : {kernel[i], strides[i], pads[i], pads[axes + i]})
      if (extent < 0 || extent > kMaxDim)
        return input_error(node.name, "expected kernels, strides and pads in [0, {0}], found {1}",
                           kMaxDim, extent);
    dims.push_back((pooled[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[axes + i]);
  }
  return dims;
}

// Returns the dims of the map whose elements the indices count: the input of the MaxPool that found
// them, or nothing if there is none.
std::optional<Dims64> counted_map(Importer& importer, ir::ValueId indices) {
  for (;;) {
    const ir::NodeId producer = importer.graph().value(indices).producer;
    if (producer == ir::kNoId) return std::nullopt;
    const ir::NodeView view{importer.graph(), importer.graph().node(producer)};
    if (view.node.op == OpKind::PoolNd && view.params<PoolNdParams>().kind == kPoolNdMaxIndex) {
      const ir::Dims& map = view.input(0).dims;
      return Dims64(map.begin(), map.end());
    }
    if (view.node.op != OpKind::Reshape && view.node.op != OpKind::Cast) return std::nullopt;
    indices = view.node.inputs[0];
  }
}

// Puts every element back where MaxPool found it, at an index over all batches and channels, with
// zeros elsewhere. With output_shape the indices count in the map that was pooled. If that is not
// known they count in the map without output_shape, as in ONNX's node test, and zeros are added
// after each axis.
llvm::Error import_max_unpool(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(pooled, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(index_dims, importer.dims_of(node, 1));
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 0));
  if (pooled.size() < 3 || pooled != index_dims)
    return input_error(node.name, "expected elements of rank 3 or more and as many indices");
  CODL_ASSIGN_OR_RETURN(map, unpooled_dims(node, pooled));
  if (llvm::Error error = check_dims(node, map)) return error;
  Dims64 result = map;
  Compose c(node, importer);
  if (is_given(node, importer, 2)) {
    CODL_ASSIGN_OR_RETURN(known, known_ints(node, importer, 2));
    const auto declared = importer.declared_dims(node, 0);
    if (!known && !declared) return needs_constant(node, importer, 2, "output shape");
    result = known ? Dims64(known->begin(), known->end()) : *declared;
    if (llvm::Error error = check_dims(node, result)) return error;
    if (const auto counted = counted_map(importer, c.operand(1))) map = *counted;
  }
  if (result.size() != map.size())
    return input_error(node.name, "expected an output of rank {0}, found {1}", map.size(),
                       result.size());
  if (llvm::Error error = expect_indices(node, importer, 1, {element_count(map)})) return error;
  const int64_t count = element_count(pooled);
  const ir::ValueId flat = c.node(
      OpKind::ScatterElements, ScatterElementsParams{.axis = 0, .reduction = kScatterElementsNone},
      {c.filled(dtype, 0, {element_count(map)}), c.reshape(c.operand_as(1, DType::I64), {count}),
       c.reshape(c.operand(0), {count})});
  ir::ValueId y = c.reshape(flat, map);
  Dims64 behind;
  for (size_t i = 0; i < map.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    if (result[i] < map[i]) y = c.slice(y, axis, 0, result[i]);
    behind.push_back(std::max<int64_t>(result[i] - map[i], 0));
  }
  return c.bind(c.pad(y, Dims64(map.size(), 0), behind));
}

llvm::Error import_max_pool(const OnnxNode& node, Importer& importer) {
  return import_window_pool(node, importer, kPoolNdMax);
}
llvm::Error import_average_pool(const OnnxNode& node, Importer& importer) {
  return import_window_pool(node, importer, kPoolNdAverage);
}
llvm::Error import_lp_pool(const OnnxNode& node, Importer& importer) {
  return import_window_pool(node, importer, kPoolNdLp);
}
llvm::Error import_global_max_pool(const OnnxNode& node, Importer& importer) {
  return import_global_pool(node, importer, kPoolNdMax);
}
llvm::Error import_global_average_pool(const OnnxNode& node, Importer& importer) {
  return import_global_pool(node, importer, kPoolNdAverage);
}
llvm::Error import_global_lp_pool(const OnnxNode& node, Importer& importer) {
  return import_global_pool(node, importer, kPoolNdLp);
}

}  // namespace

llvm::ArrayRef<ImportEntry> pool_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"AveragePool", 7, kNewestOpset, import_average_pool},
      {"GlobalAveragePool", 1, kNewestOpset, import_global_average_pool},
      {"GlobalLpPool", 2, kNewestOpset, import_global_lp_pool},
      {"GlobalMaxPool", 1, kNewestOpset, import_global_max_pool},
      {"LpPool", 2, kNewestOpset, import_lp_pool},
      {"MaxPool", 1, kNewestOpset, import_max_pool},
      {"MaxUnpool", 9, kNewestOpset, import_max_unpool},
  };
  return kEntries;
}

}  // namespace codl::compiler
