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

// The most bytes of an input that is text and parsed as a whole: profiles and replays, of some
// 100 KB each.
constexpr uint64_t kMaxTextBytes = 64 << 20;

// ---- inputs ----

// A fault of a file; none if `expected` is empty.
struct [[nodiscard]] FileFault {
  std::string expected;
  std::string found;
  bool ok() const { return expected.empty(); }
};

// An open input. From open() on, no output may be this file.
class InputFile {
 public:
  InputFile() = default;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  // Once per object. A fault: no regular file, more than `max_bytes`, or an output's file.
  FileFault open(const std::string& path, uint64_t max_bytes);

  uint64_t bytes() const { return bytes_; }
  // Bytes [offset, offset + count). A fault: an error, or the file has become shorter.
  // std::bad_alloc.
  FileFault read(uint64_t offset, uint64_t count, std::string* contents) const;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  uint64_t bytes_ = 0;
};

// All of a file; an input error names the path.
std::string read_file(const std::string& path, uint64_t max_bytes);

// Whether a file that begins so is an ONNX model: the first field, ir_version, is a small number.
bool is_onnx(std::string_view begin);

// The paths of all inputs so far, in order.
const std::vector<std::string>& inputs_read();

// For an input that other code opens (libcodl). An input error as of InputFile::open().
void note_input(const std::string& path);

// ---- outputs ----

// For each output, before long work and before anything is printed: write_file() will accept the
// path. An input error if it is not, or claimed already.
void claim_output(const std::string& path);

// For what took long to make: an input error if write_file() would replace a file there. `expected`
// says how else to go on: "no such file, or --force to replace it".
void refuse_to_replace(const std::string& path, const std::string& expected);

// Where text goes that is not an output's: stdout, or stderr if "-" is claimed.
std::FILE* text_stream();

// Written under a temporary name in the same folder, synced and renamed: nobody sees half a file. A
// file with these bytes already is left untouched, so that a build system sees no change.
// On failure nothing is left behind; if the tool is killed, at most the temporary. What is there is
// replaced: of a link the link itself, not what it leads to. Input errors, which name the path.
void write_file(const std::string& path, std::string_view contents);

// For what need not stay in memory: the descriptor of a file without a name, in the folder TMPDIR
// or /var/tmp, with `bytes` bytes that are reserved (of a full disk a mapping would end the
// process). An input error, which names the folder.
int open_scratch_file(uint64_t bytes);

// A file that grows while a tool runs, of what took long to measure: what has been appended stays
// when the tool fails.
class LogFile {
 public:
  LogFile() = default;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile();

  // Before long work: create() will accept the path. An input error if it is no regular file, an
  // output, or, unless it `continues` one, an input.
  static void check(const std::string& path, bool continues);
  // Once per object. Begins with `contents`, written as by write_file(), but to no device or
  // stdout. `continues`: the file may be an input, and `contents` is what of it is to stay.
  void create(const std::string& path, std::string_view contents, bool continues);
  void append(std::string_view text);

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace codl::tools
