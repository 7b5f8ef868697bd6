// Reads "gpu.tiles" of a device profile: the best tiles found there, by kernel.
// kernels::choose_tile() gives them to every step of the kernel, so they are checked as strictly as
// a plan's.
#include <limits>

#include "compiler/device/profile_parts.h"
#include "kernels/common/gemm/gemm_tile.h"
#include "kernels/work_table.h"
#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {
namespace {

// Reads so many whole numbers of 1 to 1024 that `check` accepts; false after an error.
template <size_t kCount, typename Check>
bool read_numbers(const JsonValue& json, int32_t (&out)[kCount], const Check& check) {
  const std::vector<JsonValue> numbers = json.elements();
  if (numbers.size() != kCount) {
    json.expected(llvm::formatv("{0} whole numbers", kCount).str());
    return false;
  }
  for (size_t i = 0; i < kCount; ++i)
    out[i] = static_cast<int32_t>(numbers[i].as_integer(1, kernels::kClMaxGroupItems));
  const char* expected = check(out);
  if (expected != nullptr) json.expected(expected);
  return expected == nullptr;
}

// Returns true if a work-group of this size fits; else reports the limit that it exceeds.
bool has_room(const JsonValue& json, int64_t items, int64_t local_bytes,
              const kernels::GpuFacts& gpu) {
  if (items > gpu.max_group_items)
    json.expected(
        llvm::formatv("at most gpu.facts.max_work_group, {0} work-items", gpu.max_group_items)
            .str());
  else if (static_cast<double>(local_bytes) > gpu.max_group_local_bytes)
    json.expected(llvm::formatv("at most gpu.machine.local_kb, {0} bytes of local memory",
                                llvm::format("%.0f", gpu.max_group_local_bytes))
                      .str());
  else
    return true;
  return false;
}

// Reads the kernel's tile and returns a description of it for people.
std::string read_local(const JsonValue& json, const KernelInfo& info, kernels::GpuFacts& gpu) {
  int32_t sizes[3];
  if (!read_numbers(json, sizes, kernels::check_cl_local_sizes) ||
      !has_room(json, int64_t{sizes[0]} * sizes[1] * sizes[2], 0, gpu))
    return {};
  gpu.tiles.set_local_size(info, sizes);
  return llvm::formatv("{0} x {1} x {2}", sizes[0], sizes[1], sizes[2]).str();
}

// `most_macs_per_ns` is the rate of a unit with all its lanes at work.
bool read_timed_tile(const JsonValue& json, double most_macs_per_ns, const kernels::GpuFacts& gpu,
                     kernels::TimedTile& timed) {
  constexpr double kMaxRate = 1e9;
  constexpr double kMeasured = 1.1;  // a measured clock may be too low by this factor
  const auto positive = [&](const char* key) {
    const JsonValue number = json.member(key);
    const double value = number.as_number();
    if (!(value >= 1 / kMaxRate && value <= kMaxRate))
      number.expected("a number from 10^-9 to 10^9");
    return value;
  };
  int32_t numbers[kernels::kGemmTileInts] = {};
  kernels::GemmTile& tile = timed.tile;
  const bool is_legal = read_numbers(json.member("tile"), numbers, [&](const int32_t* n) {
    tile = {n[0], n[1], n[2], n[3], n[4], n[5]};
    return kernels::check_gemm_tile(tile);
  });
  timed.macs_per_ns = positive("macs_per_ns");
  if (timed.macs_per_ns > kMeasured * most_macs_per_ns)
    json.member("macs_per_ns")
        .expected(llvm::formatv("no more than the machine's fma_per_cycle x ghz, {0}",
                                llvm::format("%.6g", most_macs_per_ns))
                      .str());
  timed.step_ns = positive("step_ns");
  timed.residents = static_cast<int32_t>(json.member("residents").as_integer(1, 64));
  if (!is_legal ||
      !has_room(json.member("tile"), tile.items(), kernels::gemm_local_bytes(tile), gpu))
    return false;
  const int64_t registers = kernels::gemm_item_registers(tile);
  if (gpu.has_registers(static_cast<double>(registers))) return true;
  json.member("tile").expected(
      llvm::formatv("a tile whose {0} registers for sums and factors, and {1} others, fit "
                    "gpu.machine.thread_registers, {2}",
                    registers, kernels::kOtherItemRegisters, gpu.thread_registers)
          .str());
  return false;
}

std::string read_table(const JsonValue& json, const KernelInfo& info, double most_macs_per_ns,
                       kernels::GpuFacts& gpu) {
  kernels::TimedTiles table = {.kernel_id = info.id};
  const std::vector<JsonValue> elements = json.elements();
  if (elements.empty() || elements.size() > kernels::TimedTiles::kMaxCount) {
    json.expected("1 to 8 tiles");
    return {};
  }
  static_assert(kernels::TimedTiles::kMaxCount == 8, "said in the message");
  std::string text;
  for (const JsonValue& element : elements) {
    kernels::TimedTile& timed = table.tiles[table.count++];
    if (!read_timed_tile(element, most_macs_per_ns, gpu, timed)) return {};
    if (!text.empty()) text += ", ";
    text += llvm::formatv("{0} x {1}", timed.tile.m, timed.tile.n).str();
  }
  if (!gpu.tiles.set_table(table)) json.expected("tables of at most 8 kernels");
  static_assert(kernels::GpuTiles::kMaxTables == 8, "said in the message");
  return "of " + text;
}

}  // namespace

void read_tiles(const JsonValue& json, const Sources& sources, DeviceProfile& profile) {
  kernels::GpuFacts& facts = profile.gpu_facts;
  // On a processor that runs OpenCL no tile is timed, because its tables would have a GPU's rates.
  const GpuMachine& gpu = profile.machine.gpu;
  const double most_macs_per_ns = profile.machine.is_gpu_a_processor
                                      ? std::numeric_limits<double>::infinity()
                                      : gpu.ghz * gpu.fma_per_cycle;
  for (const std::string& symbol : json.keys()) {
    const JsonValue tile = json.member(symbol);
    const KernelInfo* info = find_symbol(symbol);
    if (info == nullptr || info->processor != Processor::Gpu) {
      tile.expected("the key to be the symbol of a GPU kernel (codlc --list-ops)");
      continue;
    }
    std::string text;
    switch (kernels::tile_kind_of(*info)) {
      case kernels::TileKind::Own:
        tile.expected("the key to be a kernel whose tile a profile may choose");
        continue;
      case kernels::TileKind::Local:
        text = read_local(tile.member("local"), *info, facts);
        break;
      case kernels::TileKind::Gemm:
        text = read_table(tile.member("gemm"), *info, most_macs_per_ns, facts);
        break;
    }
    text += llvm::formatv(", {0}", name_of(read_origin(tile, sources).origin)).str();
    // The number is for people.
    if (const JsonValue gain = tile.optional_member("gain_percent"))
      text += llvm::formatv(", {0:f0} % faster than the default", gain.as_number()).str();
    profile.tiles.push_back({symbol, text});
  }
}

}  // namespace codl::compiler
