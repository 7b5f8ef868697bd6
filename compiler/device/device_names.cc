#include "compiler/device/device_names.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "compiler/support/json_reader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "tools/nearest.h"

namespace codl::compiler {
namespace {

// Makers' names, which may be left out before a chip's or a phone's name.
constexpr const char* kMakers[] = {"qualcomm", "qti",   "mediatek",  "samsung",  "google", "huawei",
                                   "xiaomi",   "honor", "hisilicon", "rockchip", "sony",   "asus"};

constexpr size_t kShownDevices = 6;

// Keeps letters and digits alone, in lower case: "8+ Gen 1" is "8plusgen1". Empty if the text is
// longer than any name.
std::string plain(llvm::StringRef name) {
  std::string text;
  for (const char c : name)
    if (llvm::isAlnum(c))
      text += llvm::toLower(c);
    else if (c == '+')
      text += "plus";
    else if (!llvm::StringRef(" -_.()").contains(c))
      return "";
  return text;
}

// Keeps letters and digits alone, in lower case: "Adreno (TM) 640" is "adreno640".
std::string letters_and_digits(llvm::StringRef name) {
  std::string text;
  while (!name.empty()) {
    if (name.consume_front("(TM)")) continue;
    if (llvm::isAlnum(name.front())) text += llvm::toLower(name.front());
    name = name.drop_front();
  }
  return text;
}

bool has_digit(llvm::StringRef text) { return llvm::any_of(text, llvm::isDigit); }

// Returns the words up to the first with a number: "Mali-G76" of "Mali-G76 MC16". What follows a
// comma is a detail that codl-profile adds.
llvm::StringRef model_of(llvm::StringRef gpu_name) {
  const llvm::StringRef name = gpu_name.split(',').first;
  for (size_t end = name.find(' '); end < name.size(); end = name.find(' ', end + 1))
    if (has_digit(name.take_front(end))) return name.take_front(end);
  return name;
}

struct KnownDevice {
  std::string profile;
  std::vector<std::string> names;
  bool is_phone = false;
  int64_t chip_year = 0;
};

// If a profile cannot be read, only its own name is known; whoever loads it gets the error. Files
// read here do not count as the tool's inputs, because a plan depends only on the profile that is
// found.
KnownDevice read_names(const std::string& profile) {
  KnownDevice device{profile, {profile}, false, 0};
  const std::string path = profile_path(profile);
  const auto text = llvm::MemoryBuffer::getFile(path);
  if (!text) return device;
  auto document = JsonDocument::parse((*text)->getBuffer(), path);
  if (!document) {
    llvm::consumeError(document.takeError());
    return device;
  }
  const JsonValue root = (*document)->root();
  if (const JsonValue names = root.optional_member("names"))
    for (const JsonValue& name : names.member("values").elements())
      device.names.push_back(name.as_string());
  if (const JsonValue kind = root.optional_member("kind"))
    device.is_phone = kind.as_string() == "phone";
  if (const JsonValue year = root.optional_member("chip_year"))
    device.chip_year = year.as_integer(0, INT32_MAX);
  return device;
}

std::vector<KnownDevice> known_devices() {
  std::vector<KnownDevice> devices;
  for (const std::string& profile : list_devices()) devices.push_back(read_names(profile));
  return devices;
}

// Returns nothing for a phone that is sold with several chips.
std::string find(const std::vector<KnownDevice>& devices, llvm::StringRef text) {
  std::string found;
  for (const KnownDevice& device : devices)
    if (llvm::any_of(device.names, [&](const std::string& name) { return plain(name) == text; })) {
      if (!found.empty()) return "";
      found = device.profile;
    }
  return found;
}

std::string digits_of(llvm::StringRef text) {
  std::string digits;
  llvm::copy_if(text, std::back_inserter(digits), llvm::isDigit);
  return digits;
}

// Returns the newest phones: "sd8elite, sd8gen3 ...".
std::string some_of(std::vector<KnownDevice> devices) {
  llvm::erase_if(devices, [](const KnownDevice& device) { return !device.is_phone; });
  std::stable_sort(devices.begin(), devices.end(), [](const KnownDevice& a, const KnownDevice& b) {
    return a.chip_year > b.chip_year;
  });
  std::string text;
  for (size_t i = 0; i < std::min(devices.size(), kShownDevices); ++i)
    text += (i == 0 ? "" : ", ") + devices[i].profile;
  return text;
}

}  // namespace

std::string find_device(llvm::StringRef name) {
  const std::string text = plain(name);
  if (text.empty()) return "";
  if (llvm::is_contained(list_devices(), name)) return name.str();
  const std::vector<KnownDevice> devices = known_devices();
  std::string found = find(devices, text);
  for (llvm::StringRef maker : kMakers) {
    llvm::StringRef rest = text;
    if (found.empty() && rest.consume_front(maker)) found = find(devices, rest);
  }
  // Drops the bin of a chip: "SM8650-AC". A phone may be called "5G" or not.
  const llvm::StringRef start = llvm::StringRef(text).drop_back(std::min<size_t>(2, text.size()));
  const bool has_bin = text.size() == 8 && start.startswith("sm");
  if (found.empty() && (has_bin || llvm::StringRef(text).endswith("5g")))
    found = find(devices, start);
  return found;
}

std::string expected_device(llvm::StringRef name) {
  const std::vector<KnownDevice> devices = known_devices();
  const std::string text = plain(name);
  std::vector<std::string> names;
  for (const KnownDevice& device : devices)
    for (const std::string& known : device.names)
      if (!llvm::is_contained(names, plain(known))) names.push_back(plain(known));
  std::string same, meant, others;
  size_t shown = 0;
  for (const std::string& near : tools::all_nearest(text, names))
    for (const KnownDevice& device : devices) {
      const auto known = llvm::find_if(
          device.names, [&](const std::string& other) { return plain(other) == near; });
      if (known == device.names.end() || ++shown > kShownDevices) continue;
      // Another digit makes another chip or phone, not a typo.
      const bool is_typo = digits_of(near) == digits_of(text);
      std::string& list = near == text ? same : is_typo ? meant : others;
      list += (list.empty() ? "" : ", ") + *known +
              (*known == device.profile ? "" : " (" + device.profile + ")");
    }
  const std::string found =
      llvm::formatv("FILE.json or a device of --list-devices, found \"{0}\"", name).str();
  if (!same.empty()) return found + ", which has several chips: " + same;
  if (!meant.empty()) return found + " (did you mean " + meant + "?)";
  return found + ", which has no profile; others have, like " +
         (others.empty() ? some_of(devices) : others) +
         "; codl-profile on the device itself makes one";
}

bool is_gpu_of(const DeviceProfile& profile, llvm::StringRef reported) {
  if (profile.kind == DeviceKind::Template) return true;
  const std::string found = letters_and_digits(reported);
  std::string wanted = letters_and_digits(model_of(profile.gpu_name));
  if (!has_digit(found)) wanted = llvm::StringRef(wanted).take_until(llvm::isDigit).str();
  const size_t at = wanted.empty() ? std::string::npos : found.find(wanted);
  if (at == std::string::npos) return false;
  const size_t end = at + wanted.size();
  return end == found.size() || !llvm::isDigit(found[end]);
}

}  // namespace codl::compiler
