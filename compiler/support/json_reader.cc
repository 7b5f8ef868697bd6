#include "compiler/support/json_reader.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/support/error.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {

namespace {

// The order is kept, because keys are reported, and models read, in the file's order.
using Json = nlohmann::ordered_json;

// Finds the error of a text that is no JSON, an object with one key twice, which a DOM would hide,
// and one with too many keys, which would take long to build.
class SyntaxCheck : public nlohmann::json_sax<Json> {
 public:
  explicit SyntaxCheck(std::size_t text_bytes) : text_bytes_(text_bytes) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool key(string_t& key) override {
    if (keys_.back().size() == JsonDocument::kMaxKeys) {
      expected =
          "expected at most " + std::to_string(JsonDocument::kMaxKeys) + " keys of an object";
      found = "more";
      return false;
    }
    if (keys_.back().insert(key).second) return true;
    expected = "expected each key once";
    found = "key \"" + key + "\" twice";
    return false;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception&) override {
    position_bytes = position;
    expected = "expected JSON";
    found = position > text_bytes_ ? "the end of the file" : "'" + token + "'";
    return false;
  }

  std::string expected, found;
  std::size_t position_bytes =
      0;  // bytes read up to the error, counting the end as one; 0: unknown

 private:
  std::size_t text_bytes_;
  std::vector<std::set<std::string>> keys_;  // keys of the objects that are open
};

// Returns a key as a token of a JSON pointer (RFC 6901, section 3).
std::string pointer_token(llvm::StringRef key) {
  std::string token;
  for (char c : key) {
    if (c == '~')
      token += "~0";
    else if (c == '/')
      token += "~1";
    else
      token += c;
  }
  return token;
}

std::string in_quotes(llvm::StringRef text) { return ("\"" + text + "\"").str(); }

// Returns "a", "b" or "c".
std::string choice_list(llvm::ArrayRef<std::string> items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " or " : ", ") + in_quotes(items[i]);
  return text;
}

// Returns the value as a message shows it: scalars themselves, cut to one short line.
std::string shown(const Json& json) {
  if (json.is_object()) return "an object";
  if (json.is_array()) return "an array";
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr size_t kMaxShown = 60;
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

}  // namespace

struct JsonDocument::State {
  std::string file;
  Json json;
  std::string error_pointer;
  std::string error_message;  // empty: no error so far
  // Lists the keys that were asked of an object, in that order.
  struct Asked {
    std::string pointer;
    std::vector<std::string> keys;
  };
  llvm::MapVector<const Json*, Asked> asked;

  void fail(const std::string& pointer, std::string message) {
    if (!error_message.empty()) return;
    error_pointer = pointer;
    error_message = std::move(message);
  }
};

JsonDocument::JsonDocument() : state_(std::make_unique<State>()) {}
JsonDocument::~JsonDocument() = default;

llvm::Expected<std::unique_ptr<JsonDocument>> JsonDocument::parse(llvm::StringRef text,
                                                                  llvm::StringRef file) {
  SyntaxCheck check(text.size());
  if (!Json::sax_parse(text.begin(), text.end(), &check)) {
    std::string where = file.str();
    if (check.position_bytes > 0)
      where +=
          ": line " + std::to_string(text.take_front(check.position_bytes - 1).count('\n') + 1);
    return input_error(where, "{0}, found {1}", check.expected, check.found);
  }
  std::unique_ptr<JsonDocument> document(new JsonDocument);
  document->state_->file = file.str();
  document->state_->json =
      Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  return document;
}

JsonValue JsonDocument::root() {
  JsonValue root;
  root.document_ = this;
  root.json_ = &state_->json;
  return root;
}

bool JsonDocument::has_error() const { return !state_->error_message.empty(); }

void JsonDocument::inherit(const JsonDocument& base) {
  Json& own = state_->json;
  if (!own.is_object() || !base.state_->json.is_object()) return;
  for (const auto& [key, value] : base.state_->json.items()) {
    const auto found = own.find(key);
    if (found == own.end()) {
      own[key] = value;
    } else if (found->is_null()) {
      own.erase(found);
    } else if (found->is_object() && value.is_object()) {
      for (const auto& [inner_key, inner_value] : value.items()) {
        const auto inner = found->find(inner_key);
        if (inner == found->end())
          (*found)[inner_key] = inner_value;
        else if (inner->is_null())
          found->erase(inner);
      }
    }
  }
}

llvm::Error JsonDocument::finish() {
  if (state_->error_message.empty()) {
    for (const auto& [object, asked] : state_->asked)
      for (const auto& [key, value] : object->items())
        if (!llvm::is_contained(asked.keys, key))
          state_->fail(asked.pointer, "expected a key of " + choice_list(asked.keys) + ", found " +
                                          in_quotes(key));
    if (state_->error_message.empty()) return llvm::Error::success();
  }
  std::string where = state_->file;
  if (!state_->error_pointer.empty()) where += ": " + state_->error_pointer;
  return input_error(where, "{0}", state_->error_message);
}

void JsonValue::expected(const std::string& what) const {
  if (json_ == nullptr) return;
  document_->state_->fail(
      pointer_, "expected " + what + ", found " + shown(*static_cast<const Json*>(json_)));
}

bool JsonValue::has_member(llvm::StringRef key) const {
  return json_ != nullptr && static_cast<const Json*>(json_)->contains(key.str());
}

JsonValue JsonValue::optional_member(llvm::StringRef key) const {
  JsonValue member;
  if (json_ == nullptr) return member;
  const Json& json = *static_cast<const Json*>(json_);
  if (!json.is_object()) {
    expected("an object");
    return member;
  }
  JsonDocument::State::Asked& asked = document_->state_->asked[&json];
  asked.pointer = pointer_;
  if (!llvm::is_contained(asked.keys, key)) asked.keys.push_back(key.str());
  const auto found = json.find(key.str());
  if (found == json.end()) return member;
  member.document_ = document_;
  member.json_ = &*found;
  member.pointer_ = pointer_ + "/" + pointer_token(key);
  return member;
}

JsonValue JsonValue::member(llvm::StringRef key) const {
  JsonValue found = optional_member(key);
  if (!found && json_ != nullptr)
    document_->state_->fail(pointer_, "expected the key " + in_quotes(key) + ", found none");
  return found;
}

std::vector<std::string> JsonValue::keys() const {
  std::vector<std::string> keys;
  if (json_ == nullptr) return keys;
  const Json& json = *static_cast<const Json*>(json_);
  if (!json.is_object()) {
    expected("an object");
    return keys;
  }
  for (const auto& [key, value] : json.items()) {
    keys.push_back(key);
    optional_member(key);
  }
  return keys;
}

std::vector<JsonValue> JsonValue::elements() const {
  std::vector<JsonValue> elements;
  if (json_ == nullptr) return elements;
  const Json& json = *static_cast<const Json*>(json_);
  if (!json.is_array()) {
    expected("an array");
    return elements;
  }
  for (const Json& element : json) {
    JsonValue& added = elements.emplace_back(JsonValue());
    added.document_ = document_;
    added.json_ = &element;
    added.pointer_ = pointer_ + "/" + std::to_string(elements.size() - 1);
  }
  return elements;
}

std::string JsonValue::as_string() const {
  if (json_ == nullptr) return {};
  const Json& json = *static_cast<const Json*>(json_);
  if (json.is_string()) return json.get<std::string>();
  expected("a string");
  return {};
}

double JsonValue::as_number(int power) const {
  if (json_ == nullptr) return 0;
  const Json& json = *static_cast<const Json*>(json_);
  // The parser has refused infinite numbers already.
  double most = 1;
  for (int i = 0; i < power; ++i) most *= 10;
  if (json.is_number() && json.get<double>() >= 0 && json.get<double>() <= most)
    return json.get<double>();
  expected("a number from 0 to 10^" + std::to_string(power));
  return 0;
}

int64_t JsonValue::as_integer(int64_t least, int64_t most) const {
  if (json_ == nullptr) return least;
  const Json& json = *static_cast<const Json*>(json_);
  // Compares as double first, because an unsigned value over INT64_MAX would wrap.
  if (json.is_number_integer() && json.get<double>() >= static_cast<double>(least) &&
      json.get<double>() <= static_cast<double>(most))
    return json.get<int64_t>();
  expected("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return least;
}

size_t JsonValue::as_choice(llvm::ArrayRef<llvm::StringRef> choices) const {
  if (json_ == nullptr) return 0;
  const Json& json = *static_cast<const Json*>(json_);
  std::vector<std::string> names;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (json.is_string() && json.get<std::string>() == choices[i]) return i;
    names.push_back(choices[i].str());
  }
  expected(choice_list(names));
  return 0;
}

}  // namespace codl::compiler
