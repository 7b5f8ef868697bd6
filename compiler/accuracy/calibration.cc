#include "compiler/accuracy/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/ops/multiply_adds.h"
#include "compiler/support/error.h"
#include "compiler/support/hash.h"
#include "compiler/support/input_file.h"
#include "compiler/support/parallel.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "tools/tool_error.h"

namespace codl::compiler {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 32;
// An array in Fortran order is put in C order in memory.
constexpr uint64_t kMaxFortranBytes = uint64_t{1} << 28;
// Data is read to be checked in pieces of so many bytes; a multiple of every element's bytes.
constexpr uint64_t kPieceBytes = 1 << 20;
// Inputs of this many samples are in memory at a time.
constexpr size_t kInputsAtOnce = 16;
// Kernels of the CPU take a second for 1e10 multiply-adds, and as long to pass over 1e9 elements.
constexpr double kAffordableWork = 2e10;
constexpr double kPassWork = 10;
constexpr double kMaxAffordable = 512;
constexpr char kLabels[] = "labels.npy";

// Returns what `parse` gives; an input error that it throws becomes ours.
template <typename Parse>
auto parsed(Parse parse) -> llvm::Expected<decltype(parse())> {
  try {
    return parse();
  } catch (const tools::ToolError& error) {
    return llvm::make_error<CompileError>(error);
  }
}

// Returns the paths of the folder's .npy files except the labels, by name.
llvm::Expected<std::vector<std::string>> npy_files(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (llvm::sys::path::extension(entry->path()) == ".npy" &&
        llvm::sys::path::filename(entry->path()) != kLabels)
      paths.push_back(entry->path());
  if (error)
    return input_error(folder, "expected a folder with .npy files, found {0}", error.message());
  llvm::sort(paths);
  return paths;
}

// Returns the dims of one sample, without a leading 1 that stands for the batch.
std::vector<int64_t> sample_dims(const ir::TensorType& type) {
  std::vector<int64_t> dims(type.dims.begin(), type.dims.end());
  if (!dims.empty() && dims[0] == 1) dims.erase(dims.begin());
  return dims;
}

bool is_finite(codl_dtype_t dtype, llvm::StringRef elements) {
  const size_t bytes = tools::element_bytes(dtype);
  for (size_t i = 0; i + bytes <= elements.size(); i += bytes)
    if (!std::isfinite(tools::read_element(dtype, elements.data() + i))) return false;
  return true;
}

llvm::Error check_count(const std::string& path, size_t samples) {
  if (samples <= kMaxSamples) return llvm::Error::success();
  return input_error(path, "expected {0} samples or fewer, found {1}", kMaxSamples, samples);
}

// Returns how many samples of the input the array has.
llvm::Expected<size_t> checked_samples(const std::string& path, const tools::NpyHeader& npy,
                                       const ir::Value& input) {
  const std::vector<int64_t> dims = sample_dims(input.type);
  const bool has_dims = npy.dims.size() == dims.size() + 1 &&
                        std::equal(dims.begin(), dims.end(), npy.dims.begin() + 1);
  if (npy.dtype != dtype_in_file(input.type.dtype) || !has_dims) {
    std::vector<int64_t> any = dims;
    any.insert(any.begin(), 0);
    std::string expected = tools::describe_tensor(dtype_in_file(input.type.dtype), any);
    expected.replace(expected.find("[0") + 1, 1, "samples");
    return input_error(path, "expected {0} for input {1}, found {2}", expected, input.name,
                       tools::describe_tensor(npy.dtype, npy.dims));
  }
  const auto samples = static_cast<size_t>(npy.dims[0]);
  if (llvm::Error error = check_count(path, samples)) return error;
  return samples;
}

// Exact: a double has 53 bits.
int64_t read_label(const tools::Npy& npy, size_t i) {
  const auto* bytes = npy.data.data() + i * tools::element_bytes(npy.dtype);
  if (npy.dtype != CODL_INT64) return static_cast<int64_t>(tools::read_element(npy.dtype, bytes));
  int64_t label;
  std::memcpy(&label, bytes, sizeof(label));
  return label;
}

// `classes` counts the elements of the output that a label is an index of.
llvm::Expected<std::vector<int64_t>> read_labels(const std::string& path, size_t count,
                                                 int64_t classes) {
  CODL_ASSIGN_OR_RETURN(
      file, read_input(path, kMaxSamples * sizeof(int64_t) + tools::kMaxNpyHeaderBytes));
  CODL_ASSIGN_OR_RETURN(npy, parsed([&] { return tools::parse_npy(path, file); }));
  const bool is_integer = npy.dtype == CODL_INT64 || npy.dtype == CODL_INT32 ||
                          npy.dtype == CODL_INT16 || npy.dtype == CODL_INT8 ||
                          npy.dtype == CODL_UINT8;
  if (!is_integer || npy.dims.size() != 1 || static_cast<size_t>(npy.dims[0]) != count)
    return input_error(path, "expected int64[{0}], a label a sample, found {1}", count,
                       tools::describe_tensor(npy.dtype, npy.dims));
  std::vector<int64_t> labels;
  for (size_t i = 0; i < count; ++i) {
    labels.push_back(read_label(npy, i));
    if (labels[i] < 0 || labels[i] >= classes)
      return input_error(path,
                         "expected labels from 0 to {0}, indices of the first output's elements, "
                         "found {1}",
                         classes - 1, labels[i]);
  }
  return labels;
}

}  // namespace

llvm::Expected<std::unique_ptr<CalibrationData::Array>> CalibrationData::Array::open(
    const std::string& path) {
  auto array = std::make_unique<Array>();
  std::string begin;
  if (llvm::Error error = to_error(path, array->file.open(path, kMaxFileBytes))) return error;
  const uint64_t file_bytes = array->file.bytes();
  const uint64_t begin_bytes = std::min(file_bytes, tools::kMaxNpyHeaderBytes);
  if (llvm::Error error = to_error(path, array->file.read(0, begin_bytes, &begin))) return error;
  CODL_ASSIGN_OR_RETURN(header,
                        parsed([&] { return tools::parse_npy_header(path, begin, file_bytes); }));
  array->header = std::move(header);
  if (!array->header.is_fortran) return array;
  if (file_bytes > kMaxFortranBytes)
    return input_error(path,
                       "expected an array in C order (numpy.ascontiguousarray) in a file of more "
                       "than {0} bytes, found Fortran order",
                       kMaxFortranBytes);
  std::string all;
  if (llvm::Error error = to_error(path, array->file.read(0, file_bytes, &all))) return error;
  CODL_ASSIGN_OR_RETURN(npy, parsed([&] { return tools::parse_npy(path, all); }));
  array->in_c_order = std::move(npy.data);
  return array;
}

llvm::Error CalibrationData::Array::read(const std::string& path, uint64_t offset, uint64_t count,
                                         std::string* bytes) const {
  if (!header.is_fortran)
    return to_error(path, file.read(header.data_offset_bytes + offset, count, bytes));
  *bytes = in_c_order.substr(offset, count);
  return llvm::Error::success();
}

llvm::Expected<size_t> CalibrationData::check(const std::string& path, const ir::Value& input,
                                              uint64_t* hash) {
  CODL_ASSIGN_OR_RETURN(array, Array::open(path));
  CODL_ASSIGN_OR_RETURN(samples, checked_samples(path, array->header, input));
  const uint64_t data_bytes = array->file.bytes() - array->header.data_offset_bytes;
  std::string piece;
  for (uint64_t at = 0; at < data_bytes; at += piece.size()) {
    const uint64_t count = std::min(kPieceBytes, data_bytes - at);
    if (llvm::Error error = array->read(path, at, count, &piece)) return error;
    if (!is_finite(array->header.dtype, piece))
      return input_error(path, "expected finite numbers, found NaN or infinity");
    *hash = hash_of(to_hex(*hash) + to_hex(hash_of(piece)));
  }
  return samples;
}

llvm::Expected<CalibrationData> CalibrationData::open(const std::string& folder,
                                                      const ir::Graph& graph) {
  CODL_ASSIGN_OR_RETURN(all_files, npy_files(folder));
  CalibrationData calibration;
  std::vector<std::string> names;
  for (ir::ValueId id : graph.inputs()) names.push_back(graph.value(id).name);
  const std::vector<std::string> input_files = tools::npy_file_names(names);
  for (size_t i = 0; i < names.size(); ++i) {
    const ir::Value& value = graph.value(graph.inputs()[i]);
    Input input;
    input.sample_bytes =
        static_cast<size_t>(value.type.element_count()) * dtype_bytes(value.type.dtype);
    std::vector<std::string> paths = all_files;
    if (names.size() > 1) paths = {folder + "/" + input_files[i]};
    if (paths.empty())
      return input_error(folder, "expected .npy files of input {0}, found none", value.name);
    size_t count = 0;
    for (const std::string& path : paths) {
      CODL_ASSIGN_OR_RETURN(samples, check(path, value, &calibration.hash_));
      input.files.push_back({path, samples, nullptr});
      count += samples;
      if (llvm::Error error = check_count(path, count)) return error;
    }
    if (calibration.inputs_.empty()) calibration.count_ = count;
    if (count != calibration.count_)
      return input_error(paths.back(), "expected {0} samples, as of the other inputs, found {1}",
                         calibration.count_, count);
    if (count < kMinSamples)
      return input_error(paths.back(), "expected {0} samples or more, found {1}", kMinSamples,
                         count);
    calibration.inputs_.push_back(std::move(input));
  }
  const std::string labels = folder + "/" + kLabels;
  if (llvm::sys::fs::exists(labels)) {
    const int64_t classes = graph.value(graph.outputs()[0]).type.element_count();
    CODL_ASSIGN_OR_RETURN(read, read_labels(labels, calibration.count_, classes));
    calibration.labels_ = std::move(read);
    for (int64_t label : calibration.labels_)
      calibration.hash_ = hash_of(to_hex(calibration.hash_) + std::to_string(label));
  }
  return calibration;
}

std::vector<size_t> CalibrationData::some_of(size_t first, size_t most) const {
  const size_t step = 2 * std::max<size_t>(count_ / (2 * most), 1);
  std::vector<size_t> samples;
  for (size_t i = first; i < count_ && samples.size() < most; i += step) samples.push_back(i);
  return samples;
}

llvm::Expected<std::vector<Bytes>> CalibrationData::inputs(size_t sample) {
  std::vector<Bytes> result;
  for (Input& input : inputs_) {
    size_t at = sample;
    auto file = input.files.begin();
    while (at >= file->samples) at -= file++->samples;
    if (file->array == nullptr) {
      for (File& other : input.files) other.array.reset();
      CODL_ASSIGN_OR_RETURN(array, Array::open(file->path));
      if (array->file.bytes() - array->header.data_offset_bytes !=
          file->samples * input.sample_bytes)
        return input_error(file->path, "expected the {0} samples it had, found others",
                           file->samples);
      file->array = std::move(array);
    }
    std::string bytes;
    if (llvm::Error error =
            file->array->read(file->path, at * input.sample_bytes, input.sample_bytes, &bytes))
      return error;
    result.emplace_back(bytes.begin(), bytes.end());
  }
  return result;
}

llvm::Error CalibrationData::for_each(
    llvm::ArrayRef<size_t> samples,
    llvm::function_ref<llvm::Error(size_t place, llvm::ArrayRef<Bytes> inputs)> work) {
  for (size_t first = 0; first < samples.size(); first += kInputsAtOnce) {
    std::vector<std::vector<Bytes>> read;
    for (size_t sample : samples.drop_front(first).take_front(kInputsAtOnce)) {
      CODL_ASSIGN_OR_RETURN(found, inputs(sample));
      read.push_back(std::move(found));
    }
    if (llvm::Error error =
            for_each_at_once(read.size(), [&](size_t i) { return work(first + i, read[i]); }))
      return error;
  }
  return llvm::Error::success();
}

size_t affordable_samples(const ir::Graph& graph) {
  double work = 1;
  for (const ir::Node& node : graph.nodes()) {
    const ir::NodeView view{graph, node};
    work += multiply_adds(view) + kPassWork * static_cast<double>(view.output().element_count());
  }
  return static_cast<size_t>(
      std::clamp(kAffordableWork / work, double{kMinSamples}, kMaxAffordable));
}

}  // namespace codl::compiler
