// Lists the layers of the networks that profiler/context.h runs.
#pragma once

#include <vector>

#include "profiler/measure/step_case.h"

namespace codl::profiler {

// Streams are products whose weights no cache holds.
enum class ContextKind { Pointwise, Depthwise, Window, Join, Product, Stream };

// Describes a network of equal layers.
struct ContextNetwork {
  const char* name;
  ContextKind kind;
  int32_t layers;
  int32_t side;  // side of the map; 1 for products and streams
  int32_t in;    // channels
  int32_t out;
};

// Each takes a core of 2020 half a millisecond to two.
inline constexpr ContextNetwork kContextNetworks[] = {
    {"pointwise", ContextKind::Pointwise, 8, 56, 96, 96},
    {"depthwise", ContextKind::Depthwise, 8, 56, 144, 144},
    {"3x3", ContextKind::Window, 6, 28, 128, 128},
    {"concat", ContextKind::Join, 8, 56, 96, 192},
    {"product", ContextKind::Product, 4, 1, 1280, 1000},
    {"stream", ContextKind::Stream, 4, 1, 4096, 4096},
};

// A layer cut between both processors: the CPU has the first rows or channels.
struct ContextLayer {
  const KernelInfo* cpu_row;
  const KernelInfo* gpu_row;
  StepCase cpu;
  StepCase gpu;
  // A stream's processors read so many bytes from memory.
  double cpu_memory_bytes = 0;
  double gpu_memory_bytes = 0;
};

std::vector<ContextLayer> layers_of(const ContextNetwork& network, double gpu_share);

}  // namespace codl::profiler
