// Removes channels of a network: which go together, how much they matter, a network without some,
// and the rest of the weights fitted again.
//
// A channel is a set of places (ops/channel_links.h): an index of some dims of values, weights
// among them, that can only be removed together. Channels whose places lie in the same dims are a
// group: all maps of a residual branch, what a depthwise convolution passes on, a concatenated
// operand.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/accuracy/calibration.h"
#include "compiler/ir/graph.h"
#include "llvm/ADT/BitVector.h"

namespace codl::compiler {

struct DimOfValue {
  ir::ValueId value = ir::kNoId;
  int32_t dim = 0;
  friend bool operator<(const DimOfValue& a, const DimOfValue& b) {
    return std::pair(a.value, a.dim) < std::pair(b.value, b.dim);
  }
};

struct Place {
  DimOfValue dim;
  int32_t index = 0;
};

struct Channel {
  std::vector<Place> places;
};

struct ChannelGroup {
  std::string name;                // name of the first node whose weights make it
  std::vector<Channel> channels;   // in the order of the weights
  std::vector<DimOfValue> makers;  // dims of the weights that make the channels
};

// Names channels that no pass can remove, and what holds them.
struct HeldChannels {
  std::string name;  // name of the node that makes them
  int32_t count = 0;
  std::string reason;  // such as "the output y of the network" or "Softmax p"
};

struct ChannelGroups {
  std::vector<ChannelGroup> groups;
  std::vector<HeldChannels> held;
};

// Returns the graph with a constant of its own wherever several nodes read the same vector (at most
// one dim beyond 1: a bias, a scale). Exporters write equal biases once, although the channels they
// belong to are unrelated. Constants of more dims that several nodes read are weights that are
// meant to be one. The plan holds equal bytes once all the same.
ir::Graph with_own_vectors(ir::Graph graph);

// Requires a plain graph. Every dim of the graph's inputs and outputs stays, and so do all that the
// operators' rules keep.
ChannelGroups find_channel_groups(const ir::Graph& graph);

// Returns the graph without the channels. Each dim must keep one place at least. Returns an
// Internal error if the rest is no graph.
llvm::Expected<ir::Graph> without_channels(const ir::Graph& graph,
                                           llvm::ArrayRef<const Channel*> channels);

// Holds moments of the maps and vectors that weights sum up, from calibration data. Per value they
// are sums of products of its channels over samples and pixels, with a constant 1 after the
// channels.
struct Moments {
  int64_t rows = 0;
  std::vector<double> products;  // [channels + 1, channels + 1]
};

class ActivationMoments {
 public:
  // Sums over `samples` in turn, and over at most kPixelsPerSample pixels of a map each. It leaves
  // out values of more than kMaxChannels, and what exceeds kMaxBytes of sums.
  static llvm::Expected<ActivationMoments> collect(const ir::Graph& graph,
                                                   CalibrationData& calibration,
                                                   llvm::ArrayRef<size_t> samples);
  const Moments* find(ir::ValueId value) const {
    const auto found = moments_.find(value);
    return found == moments_.end() ? nullptr : &found->second;
  }

 private:
  std::map<ir::ValueId, Moments> moments_;
};

// Returns the importance of each channel, indexed by group; larger matters more. It is the
// channel's place in the order of elimination_ranks(); if there is none, or `moments` is null, the
// sum of the squares of the weights that make it.
std::vector<std::vector<double>> importances(const ir::Graph& graph, const ChannelGroups& groups,
                                             const ActivationMoments* moments);

inline constexpr int64_t kMaxRankBytes = int64_t{1} << 28;

// Returns, indexed by group and channel, the place in the order in which channels go; the first has
// 0. They go one after the other: each time the one whose removal changes the sums that read the
// group least, after the remaining channels have taken over (least squares on the moments) for all
// removed ones. Empty for groups without any known sum. At most `max_bytes` are taken at a time,
// besides the moments and the matrices of one value: a few groups are ranked at a time, and if a
// group alone takes more, the values that come first in the graph count.
std::vector<std::vector<double>> elimination_ranks(const ir::Graph& graph,
                                                   const ChannelGroups& groups,
                                                   const ActivationMoments& moments,
                                                   int64_t max_bytes = kMaxRankBytes);

// Returns how many of `count` channels are kept if `ratio` of them may be removed: panels of 16
// where there are many, of 4 where there are few, because kernels compute whole ones.
int32_t kept_channels(int32_t count, double ratio);

// Returns the graph without the channels. The weights that read them are changed so that the kept
// channels stand in for the removed ones, by least squares on the moments. Weights whose moments
// are not known stay as they are.
llvm::Expected<ir::Graph> pruned_and_repaired(const ir::Graph& graph,
                                              llvm::ArrayRef<const Channel*> channels,
                                              const ActivationMoments* moments);

// Returns a pruned network whose convolutions and MatMuls have their weights and bias fitted by
// least squares: on what they read now, they should give the sums that they gave before. Layers are
// fitted one after the other, each on what those before it give with their new weights, over as
// many samples as kMaxFitBytes of values hold. Returns `pruned` if the outputs come no nearer to
// the untouched ones. `pruned` has the nodes of `untouched`, in its order.
llvm::Expected<ir::Graph> refitted(const ir::Graph& untouched, const ir::Graph& pruned,
                                   llvm::ArrayRef<const Channel*> removed,
                                   CalibrationData& calibration, llvm::ArrayRef<size_t> samples);

}  // namespace codl::compiler
