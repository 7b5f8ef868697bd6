#include "tools/jobs.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "tools/files.h"
#include "tools/messages.h"
#include "tools/tool_error.h"

namespace codl::tools {
namespace {

[[noreturn]] void fail_process() {
  fail_input("processes", "one more for a job", std::strerror(errno));
}

// Holds a nameless file in memory that both processes share.
class SharedText {
 public:
  SharedText() : descriptor_(memfd_create("codl-job", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail_process();
  }
  SharedText(SharedText&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  SharedText(const SharedText&) = delete;
  SharedText& operator=(const SharedText&) = delete;
  SharedText& operator=(SharedText&&) = delete;
  ~SharedText() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int descriptor() const { return descriptor_; }

  std::string text() const {
    std::string all;
    char block[65536];
    ssize_t count;
    while ((count = pread(descriptor_, block, sizeof(block), static_cast<off_t>(all.size()))) > 0)
      all.append(block, static_cast<size_t>(count));
    return all;
  }

 private:
  int descriptor_;
};

struct Running {
  size_t index;
  SharedText out, errors, result;
};

// Runs in the job's process; never returns.
[[noreturn]] void run_job(const char* tool, const Job& job, const Running& running) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody would read the result
  dup2(running.out.descriptor(), STDOUT_FILENO);
  dup2(running.errors.descriptor(), STDERR_FILENO);
  std::string result;
  int code = run_guarded(tool, [&] { return job.body(&result); });
  std::fflush(stderr);
  for (std::string_view rest = result; !rest.empty();) {
    const ssize_t count = write(running.result.descriptor(), rest.data(), rest.size());
    if (count < 0) {
      code = static_cast<int>(ExitCode::Internal);
      break;
    }
    rest.remove_prefix(static_cast<size_t>(count));
  }
  _exit(code);
}

JobResult result_of(const char* tool, const Running& running, int status) {
  JobResult result{0, running.out.text(), running.errors.text(), running.result.text()};
  if (WIFEXITED(status)) {
    result.exit_code = WEXITSTATUS(status);
  } else {
    result.exit_code = static_cast<int>(ExitCode::Internal);
    result.errors += std::string(tool) + ": error: internal error: the job was ended by signal " +
                     std::to_string(WTERMSIG(status)) + "\n";
  }
  return result;
}

}  // namespace

std::vector<JobResult> run_jobs(const char* tool, const std::vector<Job>& jobs,
                                size_t max_processes,
                                const std::function<void(size_t index)>& on_end) {
  std::vector<JobResult> results(jobs.size());
  std::map<pid_t, Running> running;
  size_t next = 0;
  while (next < jobs.size() || !running.empty()) {
    if (next < jobs.size() && running.size() < std::max<size_t>(max_processes, 1)) {
      std::fflush(nullptr);  // otherwise both processes would write the buffered text
      Running job{next, {}, {}, {}};
      const pid_t process = fork();
      if (process < 0) fail_process();
      if (process == 0) run_job(tool, jobs[next], job);
      running.emplace(process, std::move(job));
      ++next;
      continue;
    }
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) fail_process();
    const auto found = running.find(ended);
    if (found == running.end()) continue;
    const size_t index = found->second.index;
    results[index] = result_of(tool, found->second, status);
    running.erase(found);
    on_end(index);
  }
  return results;
}

std::string merged_messages(const std::vector<Job>& jobs, const std::vector<JobResult>& results) {
  std::vector<std::pair<std::string, std::string>> lines;  // line, names
  for (size_t i = 0; i < results.size(); ++i) {
    std::string_view rest = results[i].errors;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const std::string line(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const auto found = std::find_if(lines.begin(), lines.end(),
                                      [&](const auto& known) { return known.first == line; });
      if (found == lines.end())
        lines.emplace_back(line, jobs[i].name);
      else
        found->second += ", " + jobs[i].name;
    }
  }
  std::string text;
  for (auto& [line, names] : lines) {
    // The message begins after "tool: kind: ".
    size_t at = line.find(": ");
    if (at != std::string::npos) at = line.find(": ", at + 2);
    line.insert(at == std::string::npos ? 0 : at + 2, names + ": ");
    text += line + "\n";
  }
  return text;
}

Progress::Progress(std::string tool, size_t count)
    : tool_(std::move(tool)), count_(count), is_terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::step(const std::string& name) {
  ++done_;
  if (!is_terminal_) {
    print_message(tool_, Severity::Note,
                  std::to_string(done_) + " of " + std::to_string(count_) + ": " + name);
    return;
  }
  constexpr size_t kWidth = 30;
  std::string bar(kWidth * done_ / count_, '#');
  bar.resize(kWidth, '.');
  std::fprintf(stderr, "\r[%s] %zu of %zu: %.30s\x1b[K", bar.c_str(), done_, count_, name.c_str());
}

Progress::~Progress() {
  if (is_terminal_ && done_ > 0) std::fputs("\r\x1b[K", stderr);
}

}  // namespace codl::tools
