// Jobs of a tool in processes of their own: a job that fails, or is killed, does not lose the
// others, and what one reads, claims and prints does not mix with the next.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace codl::tools {

struct Job {
  std::string name;  // for messages
  // Returns the exit code. May throw as a tool's body may. `result`: bytes for who asked.
  std::function<int(std::string* result)> body;
};

struct JobResult {
  int exit_code = 0;
  std::string out;     // its stdout
  std::string errors;  // the lines of its messages
  std::string result;
};

// Runs all jobs, at most `max_processes` at a time; their results in the jobs' order, whatever the
// order in which they end. `on_end(index)`: called as each ends. The process must have one thread.
// An input error where the system gives no process or memory for one.
std::vector<JobResult> run_jobs(const char* tool, const std::vector<Job>& jobs,
                                size_t max_processes,
                                const std::function<void(size_t index)>& on_end);

// Messages of several jobs, lines "codlc: note: TEXT", as one text: a line that several jobs have
// appears once, with the names of all of them: "codlc: note: sd855, sd865: TEXT".
std::string merged_messages(const std::vector<Job>& jobs, const std::vector<JobResult>& results);

// Shows the progress of a long command: a bar on a terminal, else a line on stderr per step.
class Progress {
 public:
  Progress(std::string tool, size_t count);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void step(const std::string& name);

 private:
  const std::string tool_;
  const size_t count_;
  size_t done_ = 0;
  const bool is_terminal_;
};

}  // namespace codl::tools
