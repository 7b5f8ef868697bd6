// Reads and writes the tools' files.
//
// All tools promise this: an input is a regular file whose size is known and within its format's
// limit before it is read. An output is a regular file, /dev/null or "-" (stdout); it is none of
// the inputs, under whichever name, and no other output. It appears whole or not at all.
//
// Inputs and outputs are kept for the whole process. Not thread-safe: only the main thread may call
// it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace codl::tools {

// Limit of an input that is text and parsed as a whole: profiles and replays have some 100 KB.
constexpr uint64_t kMaxTextBytes = 64 << 20;

// ---- inputs ----

// Describes a fault of a file; there is none if `expected` is empty.
struct [[nodiscard]] FileFault {
  std::string expected;
  std::string found;
  bool ok() const { return expected.empty(); }
};

// Holds an open input. From open() on, no output may be this file.
class InputFile {
 public:
  InputFile() = default;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  // Call it once per object. Returns a fault if it is no regular file, has more than `max_bytes`,
  // or is an output.
  FileFault open(const std::string& path, uint64_t max_bytes);

  uint64_t bytes() const { return bytes_; }
  // Reads bytes [offset, offset + count). Returns a fault if reading fails or the file has become
  // shorter. Throws std::bad_alloc.
  FileFault read(uint64_t offset, uint64_t count, std::string* contents) const;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  uint64_t bytes_ = 0;
};

// Returns the whole file; an input error names the path.
std::string read_file(const std::string& path, uint64_t max_bytes);

// Returns the paths of all inputs so far, in order.
const std::vector<std::string>& inputs_read();

// Notes an input that other code opens (libcodl). Its input errors are InputFile::open()'s.
void note_input(const std::string& path);

// ---- outputs ----

// Call it for each output, before long work and before anything is printed: write_file() will
// accept the path. Input error if it cannot, or if the path is claimed already.
void claim_output(const std::string& path);

// Protects results that took long to make: throws an input error if write_file() would replace a
// file there. `expected` says how else to go on: "no such file, or --force to replace it".
void refuse_to_replace(const std::string& path, const std::string& expected);

// Returns the stream for text that is no output: stdout, or stderr if "-" is claimed.
std::FILE* text_stream();

// Writes under a temporary name in the same folder, syncs and renames, so that nobody sees half a
// file. A file with these bytes already is left untouched, so that a build system sees no change.
// On failure nothing is left behind; if the tool is killed, at most the temporary. An existing file
// is replaced; of a link the link itself, not its target. Input errors name the path.
void write_file(const std::string& path, std::string_view contents);

// For data that need not stay in memory: returns the descriptor of a file without a name, in the
// folder TMPDIR or /var/tmp, with `bytes` reserved bytes (on a full disk, a mapping would end the
// process). The input error names the folder.
int open_scratch_file(uint64_t bytes);

// A file that grows while a tool runs, for results that took long to measure: appended lines stay
// when the tool fails.
class LogFile {
 public:
  LogFile() = default;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile();

  // Call it before long work: create() will accept the path. Input error if it is no regular file,
  // an output, or, unless it `continues` one, an input.
  static void check(const std::string& path, bool continues);
  // Call it once per object. The file begins with `contents`, written as by write_file(), but to no
  // device or stdout. `continues`: the file may be an input, and `contents` is the part of it that
  // stays.
  void create(const std::string& path, std::string_view contents, bool continues);
  void append(std::string_view text);

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace codl::tools
