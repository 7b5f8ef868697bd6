// Reads CalibrationData, a network's inputs from .npy files.
#pragma once

#include <string>
#include <vector>

#include "compiler/interp/interpreter.h"
#include "tools/files.h"
#include "tools/npy.h"

namespace codl::compiler {

// Fewer tell nothing: every other sample is for measuring only.
inline constexpr size_t kMinSamples = 16;
// More take days, and a file of a few bytes could say so: a sample may have no elements, and a file
// may be a hole. ImageNet's validation set has 50,000 images.
inline constexpr size_t kMaxSamples = 1 << 16;

// Returns so many samples as the network runs on in some seconds; between kMinSamples, as far as
// there are, and some hundreds, beyond which more say little.
size_t affordable_samples(const ir::Graph& graph);

// Returns a dtype as arrays in files have it.
static_assert(static_cast<int>(DType::F32) == CODL_FLOAT32);
inline codl_dtype_t dtype_in_file(DType dtype) { return static_cast<codl_dtype_t>(dtype); }

// Reads samples from a folder with a file INPUT.npy for each input of the network (or any .npy
// files, in the order of their names, if it has one input). Dims are [samples, dims of the input];
// an input's own leading dim of 1 is the one of the samples. labels.npy holds an integer for each
// sample; it is optional.
//
// open() checks all of it, piece by piece. Samples are read when they are asked for; only arrays in
// Fortran order are kept in memory whole, one at a time.
class CalibrationData {
 public:
  // Returns an Input error that names the file for: no such folder, another dtype or dims than the
  // network's input, NaN or infinity, inputs or labels of other numbers of samples, labels that are
  // no index of the first output's elements, fewer samples than kMinSamples or more than
  // kMaxSamples.
  static llvm::Expected<CalibrationData> open(const std::string& folder, const ir::Graph& graph);

  size_t count() const { return count_; }
  uint64_t hash() const { return hash_; }  // over the files, in order
  bool has_labels() const { return !labels_.empty(); }
  int64_t label(size_t sample) const { return labels_[sample]; }
  // Returns at most `most` of the samples `first`, `first` + 2, ..., spread over all of these: a
  // network is fitted to those from 0 on, and measured on those from 1 on.
  std::vector<size_t> some_of(size_t first, size_t most) const;
  // They are in the graph's order of inputs.
  llvm::Expected<std::vector<Bytes>> inputs(size_t sample);
  // Calls `work` with each sample's place in `samples` and its inputs, several at a time, in
  // threads. Returns the error of the first that fails.
  llvm::Error for_each(
      llvm::ArrayRef<size_t> samples,
      llvm::function_ref<llvm::Error(size_t place, llvm::ArrayRef<Bytes> inputs)> work);

 private:
  // Holds an .npy file that is open.
  struct Array {
    tools::InputFile file;
    tools::NpyHeader header;
    std::string in_c_order;  // all data of an array in Fortran order

    // Returns an Input error if there is no array, or the file has become shorter.
    static llvm::Expected<std::unique_ptr<Array>> open(const std::string& path);
    // Reads bytes [offset, offset + count) of the data in C order.
    llvm::Error read(const std::string& path, uint64_t offset, uint64_t count,
                     std::string* bytes) const;
  };
  struct File {
    std::string path;
    size_t samples = 0;
    std::unique_ptr<Array> array;  // holds the last one that was asked for, else null
  };
  struct Input {
    size_t sample_bytes = 0;
    std::vector<File> files;
  };
  // Reads all of it: the number of samples; the hash is added to.
  static llvm::Expected<size_t> check(const std::string& path, const ir::Value& input,
                                      uint64_t* hash);

  std::vector<Input> inputs_;
  std::vector<int64_t> labels_;
  size_t count_ = 0;
  uint64_t hash_ = 0;
};

}  // namespace codl::compiler
