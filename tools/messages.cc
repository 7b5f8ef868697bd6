#include "tools/messages.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "tools/files.h"
#include "tools/printable.h"
#include "tools/tool_error.h"

namespace codl::tools {
namespace {

[[noreturn]] void fail_stdout() { fail_input("stdout", "space to write to", std::strerror(errno)); }

constexpr char kNoMemory[] = "expected enough memory, found none left";

// Opens closed standard streams. Otherwise files would get their numbers, and printed text would go
// into the files. They are not opened for writing, so that printing on a closed stream fails.
void open_standard_streams() {
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO)
    descriptor = open("/dev/null", O_RDONLY);  // gets the lowest free number
  if (descriptor > STDERR_FILENO) close(descriptor);
}

const char* tool_name = "";

// Handles exceptions that cannot be caught: memory may run out in a destructor of another library.
[[noreturn]] void terminate() {
  const char* text = "internal error: an exception that nobody caught";
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    text = kNoMemory;
  } catch (...) {
  }
  std::fprintf(stderr, "%s: error: %s\n", tool_name, text);
  std::_Exit(static_cast<int>(ExitCode::Internal));
}

}  // namespace

void print(std::string_view text) {
  const std::string shown = printable_lines(text);
  std::FILE* const stream = text_stream();
  if (std::fwrite(shown.data(), 1, shown.size(), stream) != shown.size() && stream == stdout)
    fail_stdout();
}

void print_to(const std::string& path, std::string_view text) {
  if (path.empty())
    print(text);
  else
    write_file(path, printable_lines(text));
}

std::string formatted(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::va_list again;
  va_copy(again, arguments);
  const int count = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  // Has room for the zero that vsnprintf appends.
  std::string text(static_cast<size_t>(count < 0 ? 0 : count) + 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  text.pop_back();
  return text;
}

std::string counted(int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

void print_message(std::string_view tool, Severity severity, std::string_view text) {
  const char* const kind = severity == Severity::Note      ? "note"
                           : severity == Severity::Warning ? "warning"
                                                           : "error";
  std::string line(tool);
  line.append(": ").append(kind).append(": ").append(printable(text)).append("\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int run_tool(const char* tool, int argc, char** argv,
             int (*body)(const std::vector<std::string>& arguments)) {
  open_standard_streams();
  tool_name = tool;
  std::set_terminate(terminate);
  // So a limit on the size of files is an error of write(), with a message, and does not end the
  // process.
  std::signal(SIGXFSZ, SIG_IGN);
  return run_guarded(
      tool, [&] { return body(std::vector<std::string>(argv + (argc > 0), argv + argc)); });
}

int run_guarded(const char* tool, const std::function<int()>& body) {
  try {
    const int code = body();
    // Reports output that could not be written, at the latest here.
    if (std::fflush(stdout) != 0) fail_stdout();
    return code;
  } catch (const ToolError& error) {
    print_message(tool, Severity::Error, error.what());
    return static_cast<int>(error.code);
  } catch (const std::bad_alloc&) {
    print_message(tool, Severity::Error, kNoMemory);
  } catch (const std::exception& error) {
    print_message(tool, Severity::Error, std::string("internal error: ") + error.what());
  }
  return static_cast<int>(ExitCode::Internal);
}

}  // namespace codl::tools
