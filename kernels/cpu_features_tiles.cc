// Features of the CPU kernels that compute tiles of pixels and panels of channels.
#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/common/panel_tile.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd.h"
#include "kernels/cpu_feature_counts.h"
#include "kernels/matmul/matmul.h"

namespace codl::kernels {
namespace {

// The largest tile of panel_tile-inl.h by the lanes of a vector.
struct TileSize {
  int64_t pixels;
  bool has_pairs;      // of panels
  double pass_mbytes;  // of weights that a pass over the pixels uses again and again

  int32_t panels() const { return has_pairs ? 2 : 1; }
};

TileSize largest_tile(int32_t vector_lanes) {
  if (vector_lanes == 16) return {14, true, 2e-6 * kPanelPassBytes};
  return {vector_lanes == 8 ? 6 : 4, false, 1e-6 * kPanelPassBytes};
}

// Pixels of a tile whose inputs are so many elements apart: tile_pixels_for().
int64_t tile_pixels(const TileSize& largest, int64_t stride) {
  return largest.pixels > 6 && stride % 1024 == 0 ? 6 : largest.pixels;
}

// Products of a step by the micro-kernel of panel_tile-inl.h.
struct PanelProducts {
  double images;  // runs of `pixels` that tiles are cut from
  int64_t pixels;
  double panels;  // of one run
  bool has_pairs;
  double depth;  // multiply-adds of an element
  int64_t tile_pixels;
  double row_panels = 1;  // at once where there are no pairs
};

struct PanelTiles {
  double count;  // of pixels
  double calls;  // times panels or pairs of them
};

// Tiles are of about equal size; those of pairs are computed as if they had an even number of
// pixels.
PanelTiles add_products(CpuFeatures& out, const PanelProducts& products) {
  const int64_t tiles = ceil_div(products.pixels, products.tile_pixels);
  const int64_t count = products.pixels / tiles;
  const int64_t longer = products.pixels % tiles;
  const TileSize largest = largest_tile(out.vector_lanes());
  const auto even = [&](int64_t size) {
    return size == 1 || !largest.has_pairs ? size : round_up(size, int64_t{2});
  };
  const auto computed =
      static_cast<double>(longer * even(count + 1) + (tiles - longer) * even(count));
  const double pairs =
      products.has_pairs && largest.has_pairs ? std::floor(products.panels / 2) : 0;
  const double singles = products.panels - 2 * pairs;
  const double macs = products.images * computed * products.depth * kChannelPanel;
  out.millions("pair_mmacs", macs * 2 * pairs);
  out.millions("single_mmacs", macs * singles);
  const double groups = std::floor(singles / products.row_panels);
  const double single_calls = singles - groups * (products.row_panels - 1);
  const PanelTiles sum = {products.images * static_cast<double>(tiles),
                          products.images * static_cast<double>(tiles) * (pairs + single_calls)};
  out.millions("tile_msteps", sum.calls * products.depth);
  out.thousands("ktiles", sum.calls);
  return sum;
}

// Of a worker's weights those that are not fetched ahead: of the first pass, and of later ones what
// is left by `tiles` tiles of pixels, of which each fetches a half of what a panel has. In million
// bytes, as `mbytes`, all of them, and `panel_mbytes`.
double late_mbytes(const TileSize& largest, double mbytes, double panel_mbytes, double tiles) {
  const double call_mbytes = largest.panels() * panel_mbytes;
  const double pass_mbytes =
      std::max(std::floor(largest.pass_mbytes / call_mbytes), 1.0) * call_mbytes;
  const double left = std::max(1 - tiles / (2 * largest.panels()), 0.0);
  return std::min(mbytes, pass_mbytes) + left * std::max(mbytes - pass_mbytes, 0.0);
}

// Weights of `panels` panels of `depth` rows, from memory: their time shows where there are few
// pixels to compute meanwhile, no more than two of the largest tiles have. A tile of all panels
// takes several calls, each with as many streams side by side as it has panels. None goes on where
// one before has ended, so what fetches ahead begins anew in each call, and is ahead some pages on.
void add_weights(CpuFeatures& out, int64_t pixels, double panels, double depth,
                 const PanelTiles& tiles, const PanelBlocks& blocks) {
  constexpr int64_t kFewPixels = 28;
  constexpr double kBegunRows = 200;  // three pages
  struct Names {
    const char* mbytes;
    const char* begun_mbytes;
    const char* calls;
  };
  const Names names =
      pixels == 1            ? Names{"stream_weight_mbytes", "stream_begun_mbytes", "stream_kruns"}
      : pixels <= kFewPixels ? Names{"shown_weight_mbytes", "shown_begun_mbytes", "shown_kruns"}
                             : Names{nullptr, "read_begun_mbytes", nullptr};
  const double sharers = out.sharers(static_cast<double>(blocks.panel_blocks));
  const double row_mbytes = kChannelPanel * sizeof(float) * 1e-6;
  const double mbytes = panels * depth * row_mbytes;
  if (names.mbytes != nullptr) out.once(names.mbytes, mbytes * sharers);
  out.once(names.begun_mbytes, panels * std::min(depth, kBegunRows) * row_mbytes * sharers);
  if (names.calls != nullptr) out.once(names.calls, tiles.calls / tiles.count * 1e-3 * sharers);
  out.once("late_weight_mbytes",
           late_mbytes(largest_tile(out.vector_lanes()), mbytes, depth * row_mbytes, tiles.count) *
               sharers);
}

// What ends the elements of a last panel that is not whole.
void add_last_panel(CpuFeatures& out, double pixels, int32_t channels, bool is_map) {
  const StepShape& step = out.step();
  const bool has_last =
      step.part_dim != SplitDim::OutputChannel || step.part.end == step.output().dims[1];
  if (channels % kChannelPanel == 0 || !has_last) return;
  const bool is_padded = is_map && channels % kChannelPad != 0;
  out.thousands(is_padded ? "padded_kpixels" : "ragged_kpixels", pixels);
  const CurveNames curve = curve_names(activation_of(out.step()));
  if (curve.elements == nullptr) return;
  const bool is_hard = curve.step == nullptr;
  if (out.vector_lanes() != 16 || winograd_outputs(step.row->packing) != 0) {
    out.thousands(is_hard ? "ragged_hard_kpixels" : "ragged_curve_kpixels", pixels);
  } else if (!is_padded && channels == step.output().dims[1] &&
             channels < kPanelTileMaxPanels * kChannelPanel) {
    // A masked store covers what the next pixel begins with, which is loaded for its curve only
    // when the store is through: where one call has all channels.
    out.thousands(is_hard ? "chained_hard_kpixels" : "chained_curve_kpixels", pixels);
  }
}

// The weights of the next pair of panels are fetched ahead by as many calls as it has panels: one
// call for all tiles of a block leaves half of them. `panel_rows`: of weights.
void add_late_weights(CpuFeatures& out, const WinogradWork& work, double panel_rows) {
  // Of the first the time hides in that of the tiles. Not measured: with fewer, rows that make one
  // tile more, and so one call more, may be predicted to take less time.
  constexpr double kShownBytes = 65536;
  const TileSize largest = largest_tile(out.vector_lanes());
  if (!largest.has_pairs || ceil_div(work.tiles, work.tile_blocks) > largest.pixels) return;
  const double pairs = std::floor(work.panels.count() / 2.0);
  out.millions("late_weight_mbytes",
               std::max(pairs * panel_rows * kChannelPanel * sizeof(float) - kShownBytes, 0.0));
}

void count_winograd(CpuFeatures& out, int32_t outputs) {
  const StepShape& step = out.step();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const WinogradWork work = winograd_work(outputs, x, y, step.part_dim, step.part);
  const double positions = (outputs + 2) * (outputs + 2);
  const double panels = work.panels.count();
  add_products(out, {positions * static_cast<double>(work.tile_blocks),
                     ceil_div(work.tiles, work.tile_blocks), panels, panels > 1,
                     static_cast<double>(x.dims[1]), largest_tile(out.vector_lanes()).pixels});
  add_late_weights(out, work, positions * x.dims[1]);
  // A worker transforms the inputs of the blocks of tiles that it has tasks of.
  int64_t transformed = 0;
  out.each_share([&](int32_t begin, int32_t end) {
    transformed += (end - 1) / work.panel_blocks - begin / work.panel_blocks + 1;
  });
  const double tiles = static_cast<double>(work.tiles) / static_cast<double>(work.tile_blocks);
  const double block_elements = tiles * positions * round_up(x.dims[1], kChannelPanel);
  out.millions("transformed_melements", static_cast<double>(transformed) * block_elements);
  // What of a block's inputs a second-level cache of 1 or 2 MiB does not hold, each time that they
  // are read: by the blocks of panels.
  for (const auto& [name, mbytes] : {std::pair{"spilled1_mbytes", 1}, {"spilled2_mbytes", 2}}) {
    const double spilled = std::max(block_elements * sizeof(float) * 1e-6 - mbytes, 0.0);
    out.millions(name, spilled * 1e6 * static_cast<double>(work.task_count));
  }
  // Of inputs and products, what it does not hold beside the weights that stream past.
  for (const auto& [name, mbytes] :
       {std::pair{"squeezed0.5_mbytes", 0.5}, {"squeezed0.75_mbytes", 0.75}}) {
    const double squeezed = std::max(static_cast<double>(work.scratch_bytes) * 1e-6 - mbytes, 0.0);
    out.millions(name, squeezed * 1e6 * static_cast<double>(work.task_count));
  }
  out.thousands("transformed_ktiles", static_cast<double>(transformed) * tiles);
  out.millions("product_melements",
               static_cast<double>(work.tiles) * positions * panels * kChannelPanel);
  const double pixels = static_cast<double>(y.dims[0]) * work.rows.count() * y.dims[3];
  add_last_panel(out, pixels, y.dims[1], true);
  // Parts of vectors, masked.
  const int32_t lanes = out.vector_lanes();
  if (out.is_unaligned(x)) out.thousands("narrow_ktiles", static_cast<double>(transformed) * tiles);
  if (y.dims[1] % lanes != 0) out.thousands("narrow_kpixels", pixels);
  out.millions("written_mbytes", pixels * panels * kChannelPanel * sizeof(float));
  // A panel is a line of each pixel: of wide pixels the lines of a tile are on pages of their own,
  // and what fetches ahead sees no order.
  constexpr double kWidePixel = 256;  // channels
  out.millions("scattered_mbytes", pixels * panels * kChannelPanel * sizeof(float) *
                                       std::min(y.dims[1] / kWidePixel, 1.0));
  if (step.params_as<Conv2dParams>().has_residual != 0)
    out.millions("residual_mbytes", pixels * panels * kChannelPanel * sizeof(float));
}

// Of `input_bytes`, those that another worker, which has other panels, reads, too. `images`: that
// pixels are cut into blocks of.
void add_shared(CpuFeatures& out, double input_bytes, const PanelBlocks& blocks, int64_t images) {
  const int64_t all_blocks = images * blocks.pixel_blocks;
  int64_t read_blocks = 0;  // by all workers
  out.each_share([&](int32_t begin, int32_t end) {
    read_blocks += std::min(int64_t{end} - begin, all_blocks);
  });
  out.millions(
      "shared_mbytes",
      input_bytes * (static_cast<double>(read_blocks) / static_cast<double>(all_blocks) - 1));
}

}  // namespace

void count_conv2d(CpuFeatures& out) {
  const StepShape& step = out.step();
  if (const int32_t outputs = winograd_outputs(step.row->packing))
    return count_winograd(out, outputs);
  const auto& params = step.params_as<Conv2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  // Tiles are the same for all filters.
  for (const char* filter : {"mmacs_1x1", "mmacs_3x3_s1", "mmacs_3x3_s2", "mmacs_other"})
    out.leave_out(filter);
  out.apart();
  const Conv2dWork work = conv2d_work(params, x, w, y, step.part_dim, step.part);
  const double taps = static_cast<double>(w.dims[2]) * w.dims[3];
  const auto images = static_cast<double>(work.images);
  const double pixels = images * static_cast<double>(work.pixels);
  const auto groups = static_cast<double>(params.groups);
  const double panels = work.panels.count();
  const double computed = conv2d_computed_share(params, x, w, y);
  const TileSize largest = largest_tile(out.vector_lanes());
  const PanelTiles tiles = add_products(
      out, {images, work.pixels, panels, panels / groups > 1, w.dims[1] * taps * computed,
            tile_pixels(largest, work.has_copies ? 1 : x.dims[1] * int64_t{params.stride_w})});
  // That of every group where tiles cannot store a part of a panel.
  const double group_panels =
      static_cast<double>(ceil_div(y.dims[1] / params.groups, kChannelPanel));
  const double ends = out.vector_lanes() == 16 ? 1 : std::ceil(panels / group_panels);
  add_last_panel(out, pixels * ends, y.dims[1] / params.groups, true);
  const double map_pixels = static_cast<double>(y.dims[0]) * y.dims[2] * y.dims[3];
  add_shared(out, traffic_bytes(x) * pixels / map_pixels, work.blocks, work.images);
  // Input pointers of every tile; of every tap where some lie in the padding.
  out.thousands("kpixels", pixels);
  const double border = params.pad_left + params.pad_right;
  if (border + params.pad_top + params.pad_bottom > 0) {
    const double tile = pixels / tiles.count;
    const double of_row = std::min((border + tile - 1) / tile, y.dims[3] / tile);
    const double rows = pixels / y.dims[3];
    const double edge_rows = std::min<double>(params.pad_top + params.pad_bottom, rows);
    const double edge_tiles = (rows - edge_rows) * of_row + edge_rows * y.dims[3] / tile;
    out.thousands("border_kentries", std::min(edge_tiles, tiles.count) * tile * taps);
  }
  const double channels = channels_of_part(step.part_dim, step.part, y).count();
  if (params.has_residual != 0) out.millions("residual_mbytes", pixels * channels * sizeof(float));
  // Behind a part's channels the lines of others are fetched ahead, up to so many bytes. (AMD's
  // processors do not.)
  const double ahead = out.vector_lanes() == 16 ? 64 : 0;
  out.millions("written_mbytes",
               pixels * std::min<double>(y.dims[1], channels + ahead) * sizeof(float));
  // Workers that share the pixels read the same weights.
  add_weights(out, work.pixels, panels, w.dims[1] * taps, tiles, work.blocks);
}

void count_matmul(CpuFeatures& out) {
  const StepShape& step = out.step();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const MatMulWork work = matmul_work(x, y, step.part_dim, step.part);
  const double panels = work.panels.count();
  const double depth = x.dims[1];
  const PanelTiles tiles =
      add_products(out, {1, work.rows, panels, panels > 1, depth,
                         tile_pixels(largest_tile(out.vector_lanes()), x.dims[1]),
                         y.dims[0] == 1 && out.vector_lanes() == 8 ? 4.0 : 1.0});
  out.leave_out("mmacs");
  out.millions("written_mbytes", count_of(step) * sizeof(float));
  // A block of panels writes its part of each row, on a page of its own where the rows are long.
  constexpr double kPageBytes = 4096;
  const auto rows = static_cast<double>(work.rows);
  out.thousands("page_krows",
                rows * static_cast<double>(work.blocks.panel_blocks) *
                    std::min(static_cast<double>(y.dims[1]) * sizeof(float) / kPageBytes, 1.0));
  add_shared(out, rows * depth * sizeof(float), work.blocks, 1);
  add_last_panel(out, rows, y.dims[1], false);
  add_weights(out, work.rows, panels, depth, tiles, work.blocks);
}

void count_batch_matmul(CpuFeatures& out) {
  const StepShape& step = out.step();
  const BatchMatMulWork work = batch_matmul_work(step.params_as<BatchMatMulParams>(),
                                                 step.operands[0], step.operands[1], step.output());
  const BatchMatMulUnits units = batch_matmul_units(work);
  const auto batches = static_cast<double>(work.batch_count);
  const auto depth = static_cast<double>(work.k);
  const double panels = static_cast<double>(ceil_div(work.n, kChannelPanel));
  const int64_t tile =
      tile_pixels(largest_tile(out.vector_lanes()), work.a_depth == 1 ? work.a_row : 1);
  out.first_bytes();
  add_products(out, {batches * static_cast<double>(units.row_blocks),
                     ceil_div(work.m, units.row_blocks), panels, panels > 1, depth, tile});
  for (const char* name : {"mmacs", "tile_msteps"}) out.leave_out(name);
  // A piece of a worker's packs the columns of its first unit, and where others begin; where k goes
  // in blocks every unit does.
  int64_t packs = work.k > kBatchMatMulDepth ? units.count : 0;
  if (packs == 0)
    out.each_piece([&](int32_t begin, int32_t end) {
      const Units piece = units_of_tasks(units.count, units.task_count, begin, end);
      packs += (piece.end - 1) / units.row_blocks - piece.begin / units.row_blocks + 1;
    });
  const double packed =
      static_cast<double>(packs * work.k) / static_cast<double>(units.column_blocks);
  if (work.b_column == 1) {
    out.millions("packed_row_melements", packed * panels * kChannelPanel);
  } else {
    const double columns = static_cast<double>(work.n);
    out.millions("packed_column_melements", packed * columns);
  }
  // Rows of a that another worker, which has other columns, reads, too. Every unit of a row block
  // does, and products have their units one behind the other.
  const int64_t product_units = units.row_blocks * units.column_blocks;
  int64_t read_blocks = 0;  // of rows, by all workers
  out.each_share([&](int32_t begin, int32_t end) {
    const Units share = units_of_tasks(units.count, units.task_count, begin, end);
    for (int64_t unit = share.begin; unit < share.end;) {
      const int64_t next = std::min((unit / product_units + 1) * product_units, share.end);
      read_blocks += std::min(next - unit, units.row_blocks);
      unit = next;
    }
  });
  const auto blocks = static_cast<double>(work.batch_count * units.row_blocks);
  const double row_count = batches * static_cast<double>(work.m);
  out.millions("shared_mbytes",
               sizeof(float) * row_count * depth * (static_cast<double>(read_blocks) / blocks - 1));
  out.begins();
  // A unit's part of each row of results is on a page of its own where the rows are long.
  constexpr double kPageBytes = 4096;
  out.thousands("page_krows",
                row_count * static_cast<double>(units.column_blocks) *
                    std::min(static_cast<double>(work.n) * sizeof(float) / kPageBytes, 1.0));
  // Results that units write in runs among those of other units' columns.
  out.millions("strided_mbytes", 4.0 * batches * static_cast<double>(work.m * work.n) *
                                     (1 - 1 / static_cast<double>(units.column_blocks)));
  add_last_panel(out, batches * static_cast<double>(work.m), static_cast<int32_t>(work.n % 16),
                 false);
  // Vectors of a row that two lines have parts of.
  if (work.n % kChannelPanel != 0)
    out.thousands("unaligned_kvectors", batches * static_cast<double>(work.m) * panels);
}

}  // namespace codl::kernels
