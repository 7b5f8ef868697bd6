#include "compiler/tools/shape_flags.h"

#include <set>
#include <string>

#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// Reads "160|320|640", one number of 0 or more for each entry. Returns no numbers for other text.
std::vector<int64_t> parse_extents(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 4> words;
  text.split(words, '|');
  std::vector<int64_t> extents;
  for (llvm::StringRef word : words)
    if (word.getAsInteger(10, extents.emplace_back()) || extents.back() < 0) return {};
  return extents;
}

// Makes room for so many entries, if that is what other flags ask for, too. One shape stands for
// each of several entries.
llvm::Error make_entries(llvm::StringRef flag, size_t count, std::vector<EntryRequest>& entries) {
  if (count == 1 || count == entries.size()) return llvm::Error::success();
  if (count > kMaxEntries)
    return input_error(flag, "expected at most {0} shapes, found {1}", kMaxEntries, count);
  if (entries.size() > 1)
    return input_error(flag,
                       "expected {0} numbers with | between, as many as the other flags have: the "
                       "first of each are a shape, then the second ones; found {1}",
                       entries.size(), count);
  entries.resize(count, entries.front());
  return llvm::Error::success();
}

// Adds "NAME=VALUE" to the name of an entry, which has what flags with lists say of it.
void add_to_name(EntryRequest& entry, llvm::StringRef name, const std::string& value) {
  entry.name += (entry.name.empty() ? "" : ",") + name.str() + "=" + value;
}

}  // namespace

llvm::Error parse_input_shape(llvm::StringRef text, std::vector<EntryRequest>& entries) {
  const auto [name, dims_text] = text.rsplit(':');
  const bool is_pair = !name.empty() && name.size() < text.size();
  llvm::SmallVector<llvm::StringRef, 4> words;
  if (!dims_text.empty()) dims_text.split(words, 'x');
  std::vector<std::vector<int64_t>> dims;
  for (llvm::StringRef word : words) dims.push_back(parse_extents(word));
  if (!is_pair || llvm::any_of(dims, [](const auto& extents) { return extents.empty(); }))
    return input_error("--input-shape",
                       "expected NAME:DIMS like input:1x3x224x224 or input:1x3x48x160|320, found "
                       "\"{0}\"",
                       text);
  for (const std::vector<int64_t>& extents : dims)
    if (llvm::Error error = make_entries("--input-shape", extents.size(), entries)) return error;
  for (size_t i = 0; i < entries.size(); ++i) {
    std::vector<int64_t> shape;
    for (const std::vector<int64_t>& extents : dims)
      shape.push_back(extents.size() == 1 ? extents.front() : extents[i]);
    const auto words_of = llvm::map_range(shape, [](int64_t dim) { return std::to_string(dim); });
    if (llvm::any_of(dims, [](const auto& extents) { return extents.size() > 1; }))
      add_to_name(entries[i], name, llvm::join(words_of, "x"));
    if (!entries[i].input_shapes.try_emplace(name, std::move(shape)).second)
      return input_error("--input-shape", "expected each input once, found \"{0}\" again", name);
  }
  return llvm::Error::success();
}

llvm::Error parse_dim(llvm::StringRef text, std::vector<EntryRequest>& entries) {
  const auto [name, extents_text] = text.rsplit(':');
  const std::vector<int64_t> extents = parse_extents(extents_text);
  if (name.empty() || name.size() == text.size() || extents.empty())
    return input_error("--dim", "expected NAME:N like width:320, or NAME:N|N, found \"{0}\"", text);
  if (llvm::Error error = make_entries("--dim", extents.size(), entries)) return error;
  for (size_t i = 0; i < entries.size(); ++i) {
    const int64_t extent = extents.size() == 1 ? extents.front() : extents[i];
    if (extents.size() > 1) add_to_name(entries[i], name, std::to_string(extent));
    if (!entries[i].dims.try_emplace(name, extent).second)
      return input_error("--dim", "expected each dim once, found \"{0}\" again", name);
  }
  return llvm::Error::success();
}

llvm::Error expect_other_shapes(llvm::ArrayRef<EntryRequest> entries) {
  std::set<std::string> names;
  for (const EntryRequest& entry : entries)
    if (entry.name.size() > kMaxNameBytes)
      return input_error("--dim", "expected a name of at most {0} bytes for each entry, found {1}",
                         kMaxNameBytes, entry.name);
  for (const EntryRequest& entry : entries)
    if (!names.insert(entry.name).second)
      return input_error("--dim", "expected other shapes in each entry, found {0} twice",
                         entry.name);
  return llvm::Error::success();
}

}  // namespace codl::compiler
