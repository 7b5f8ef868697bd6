// Strict reading of JSON. The only code that sees nlohmann/json.
//
// The document keeps the first error, and what cannot be read is empty, so a reader is written
// straight down and asks finish() at its end:
//
//   CODL_ASSIGN_OR_RETURN(document, JsonDocument::parse(text, path));
//   const JsonValue root = document->root();
//   profile.name = root.member("name").as_string();
//   if (llvm::Error error = document->finish()) return error;
//
// Errors (kind Input) name the file and the JSON pointer:
//   profiles/x.json: /gpu/sharing: expected "fine_svm", "sub_buffer" or "separate", found "foo"
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

class JsonDocument;

// One value of a document, or nothing (after an error, or an optional member that is not there).
// Borrowed from the document.
class JsonValue {
 public:
  // False for an optional member that is absent.
  explicit operator bool() const { return json_ != nullptr; }
  const std::string& pointer() const { return pointer_; }

  // Members of an object. A key that nothing asked for is an error of finish(), in every object
  // that was looked into.
  JsonValue member(llvm::StringRef key) const;
  JsonValue optional_member(llvm::StringRef key) const;
  // Without asking for it.
  bool has_member(llvm::StringRef key) const;
  // All keys of an object in the file's order; asks for each of them.
  std::vector<std::string> keys() const;
  // Elements of an array.
  std::vector<JsonValue> elements() const;

  std::string as_string() const;
  // A number from 0 to 10^`power`: nothing a profile holds is negative, and what is larger is a
  // slip.
  double as_number(int power = 12) const;
  // A whole number in [least, most].
  int64_t as_integer(int64_t least, int64_t most) const;
  // The index of the string in `choices`; 0 after an error.
  size_t as_choice(llvm::ArrayRef<llvm::StringRef> choices) const;

  // Records `expected ..., found <this value>` as the document's error unless it has one.
  void expected(const std::string& what) const;

 private:
  friend class JsonDocument;
  JsonValue() = default;
  JsonDocument* document_ = nullptr;
  const void* json_ = nullptr;  // nlohmann::ordered_json
  std::string pointer_;
};

class JsonDocument {
 public:
  // The most keys of an object, among which each is looked up one by one. A profile's largest
  // object has one for each kernel; fewer than a hundred.
  static constexpr size_t kMaxKeys = 256;

  // Input error: no JSON, with the line and the unexpected token, a key that an object has twice,
  // or more than kMaxKeys. `file` is for messages.
  static llvm::Expected<std::unique_ptr<JsonDocument>> parse(llvm::StringRef text,
                                                             llvm::StringRef file);
  ~JsonDocument();
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonValue root();
  bool has_error() const;
  // Takes over what the root lacks and `base` has; where both have an object, its members that are
  // lacking here. What is deeper is one thing: it is of one of the two. A null in place of either
  // says that what `base` has under its key is not taken over.
  void inherit(const JsonDocument& base);
  // The first error, or that a key was never asked for.
  llvm::Error finish();

 private:
  friend class JsonValue;
  struct State;
  JsonDocument();
  std::unique_ptr<State> state_;
};

}  // namespace codl::compiler
