// Reads JSON strictly. This is the only code that sees nlohmann/json.
//
// The document keeps the first error, and whatever cannot be read is empty. So a reader is written
// straight down and calls finish() at its end:
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

// Refers to one value of a document, or to nothing (after an error, or for an absent optional
// member). It is borrowed from the document.
class JsonValue {
 public:
  // Returns false for an optional member that is absent.
  explicit operator bool() const { return json_ != nullptr; }
  const std::string& pointer() const { return pointer_; }

  // Returns a member of an object. In every object that was read, a key that nobody asked for is an
  // error of finish().
  JsonValue member(llvm::StringRef key) const;
  JsonValue optional_member(llvm::StringRef key) const;
  // Does not count as asking for the key.
  bool has_member(llvm::StringRef key) const;
  // Returns all keys of an object in the file's order; counts as asking for each of them.
  std::vector<std::string> keys() const;
  // Returns the elements of an array.
  std::vector<JsonValue> elements() const;

  std::string as_string() const;
  // Returns a number from 0 to 10^`power`: nothing in a profile is negative, and a larger number is
  // a slip.
  double as_number(int power = 12) const;
  // Returns a whole number in [least, most].
  int64_t as_integer(int64_t least, int64_t most) const;
  // Returns the index of the string in `choices`; 0 after an error.
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
  // Limits an object's keys, which are searched one by one. A profile's largest object has one for
  // each kernel; fewer than a hundred.
  static constexpr size_t kMaxKeys = 256;

  // Returns an Input error if the text is no JSON (with the line and the unexpected token), an
  // object has a key twice, or more than kMaxKeys. `file` is for messages.
  static llvm::Expected<std::unique_ptr<JsonDocument>> parse(llvm::StringRef text,
                                                             llvm::StringRef file);
  ~JsonDocument();
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonValue root();
  bool has_error() const;
  // Copies members from `base` that the root lacks; where both have an object, the members that
  // this one lacks. Nothing deeper is merged. A null in either place keeps `base`'s value out.
  void inherit(const JsonDocument& base);
  // Returns the first error, or an error about a key that was never asked for.
  llvm::Error finish();

 private:
  friend class JsonValue;
  struct State;
  JsonDocument();
  std::unique_ptr<State> state_;
};

}  // namespace codl::compiler
