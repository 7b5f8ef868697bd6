#include "profiler/fit/tiles.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <sstream>

#include "kernels/common/gemm/gemm_tile.h"
#include "kernels/work_table.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

constexpr char kTileMark[] = "#tile,";

// Reads numbers with spaces between, and nothing else.
template <typename Number>
bool read_numbers(const std::string& text, size_t count, std::vector<Number>* out) {
  std::istringstream numbers(text);
  Number number = 0;
  while (numbers >> number) out->push_back(number);
  return numbers.eof() && out->size() == count;
}

bool read_timed_tile(const std::string& text, kernels::TimedTile* out) {
  std::vector<double> n;
  if (!read_numbers(text, kernels::kGemmTileInts + 3, &n)) return false;
  // This also catches values that are no int32, or no tile.
  if (std::any_of(n.begin(), n.end(), [](double value) { return !(value > 0 && value <= 1e9); }))
    return false;
  const auto whole = [&](size_t i) { return static_cast<int32_t>(n[i]); };
  out->tile = {whole(0), whole(1), whole(2), whole(3), whole(4), whole(5)};
  out->macs_per_ns = n[6];
  out->step_ns = n[7];
  out->residents = whole(8);
  return out->residents >= 1 && kernels::check_gemm_tile(out->tile) == nullptr;
}

const KernelInfo* kernel_of_symbol(const std::string& symbol) {
  for (const KernelInfo& kernel : kKernelInfos)
    if (symbol == kernel.symbol) return &kernel;
  return nullptr;
}

// The kernel is null if this build lacks it. Returns nothing if it is no such line.
std::optional<FoundTile> parse_tile(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream text(line);
  for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
  FoundTile found;
  std::vector<int32_t> revision;
  std::vector<double> gain;
  if (fields.size() < 5 || !read_numbers(fields[2], 1, &revision) ||
      !read_numbers(fields[3], 1, &gain) || !(gain[0] >= 0 && gain[0] <= 1e6))
    return {};
  found.gain_percent = gain[0];
  const std::string& kind = fields[4];
  if (kind == "local") {
    if (fields.size() != 6 || !read_numbers(fields[5], 3, &found.local) ||
        kernels::check_cl_local_sizes(found.local.data()) != nullptr)
      return {};
  } else if (kind == "gemm") {
    if (fields.size() < 6 || fields.size() > 5 + kernels::TimedTiles::kMaxCount) return {};
    for (size_t i = 5; i < fields.size(); ++i)
      if (!read_timed_tile(fields[i], &found.table.tiles[found.table.count++])) return {};
  } else if (kind != "default" || fields.size() != 5) {
    return {};
  }
  const KernelInfo* kernel = kernel_of_symbol(fields[1]);
  if (kernel == nullptr || kernel->revision != revision[0]) return found;
  const kernels::TileKind tile_kind = kernels::tile_kind_of(*kernel);
  if ((kind == "local" && tile_kind != kernels::TileKind::Local) ||
      (kind == "gemm" && tile_kind != kernels::TileKind::Gemm))
    return {};
  found.kernel = kernel;
  found.table.kernel_id = kernel->id;
  return found;
}

}  // namespace

double rounded(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10.0, digits - 1 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

std::string name_of(const FoundTile& tile) {
  std::string text;
  for (int32_t size : tile.local) text += (text.empty() ? "" : " x ") + std::to_string(size);
  for (uint32_t i = 0; i < tile.table.count; ++i) {
    const kernels::GemmTile& one = tile.table.tiles[i].tile;
    text += (text.empty() ? "" : ", ") + std::to_string(one.m) + " x " + std::to_string(one.n);
  }
  return text.empty() ? "the default" : text;
}

std::string to_line(const FoundTile& tile) {
  char text[160];
  std::snprintf(text, sizeof(text), "%s%s,%d,%.3g,", kTileMark, tile.kernel->symbol,
                tile.kernel->revision, tile.gain_percent);
  std::string line = text;
  if (tile.is_default()) return line + "default";
  if (!tile.local.empty()) {
    line += "local,";
    for (size_t i = 0; i < 3; ++i) line += (i == 0 ? "" : " ") + std::to_string(tile.local[i]);
    return line;
  }
  line += "gemm";
  for (uint32_t i = 0; i < tile.table.count; ++i) {
    const kernels::TimedTile& timed = tile.table.tiles[i];
    const kernels::GemmTile& one = timed.tile;
    std::snprintf(text, sizeof(text), ",%d %d %d %d %d %d %.4g %.4g %d", one.m, one.n, one.k,
                  one.item_m, one.item_n, one.slices, timed.macs_per_ns, timed.step_ns,
                  timed.residents);
    line += text;
  }
  return line;
}

std::vector<FoundTile> read_found_tiles(std::string_view text, const std::string& path) {
  std::vector<FoundTile> tiles;
  std::istringstream lines{std::string(text)};
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.starts_with(kTileMark)) continue;
    std::optional<FoundTile> found = parse_tile(line);
    if (!found)
      tools::fail_input(path + ": line " + std::to_string(number), "a tile", line.substr(0, 60));
    if (found->kernel == nullptr) continue;
    std::erase_if(tiles, [&](const FoundTile& other) { return other.kernel == found->kernel; });
    tiles.push_back(std::move(*found));
  }
  return tiles;
}

kernels::GpuTiles gpu_tiles_of(const std::vector<FoundTile>& tiles) {
  kernels::GpuTiles known;
  for (const FoundTile& tile : tiles) {
    if (!tile.local.empty()) known.set_local_size(*tile.kernel, tile.local.data());
    if (tile.table.count != 0) known.set_table(tile.table);
  }
  return known;
}

}  // namespace codl::profiler
