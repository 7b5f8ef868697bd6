// Runs jobs of a tool in processes of their own. A job that fails, or is killed, does not lose the
// others, and their inputs, outputs and messages do not mix.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace codl::tools {

struct Job {
  std::string name;  // for messages
  // Returns the exit code. May throw as a tool's body may. `result`: bytes for the caller of
  // run_jobs().
  std::function<int(std::string* result)> body;
};

struct JobResult {
  int exit_code = 0;
  std::string out;     // its stdout
  std::string errors;  // the lines of its messages (stderr)
  std::string result;
};

// Runs all jobs, at most `max_processes` at a time. Results are in the jobs' order, whatever the
// order in which they end. `on_end(index)` is called as each ends. The process must have one
// thread. Input error if the system gives no process or memory for one.
std::vector<JobResult> run_jobs(const char* tool, const std::vector<Job>& jobs,
                                size_t max_processes,
                                const std::function<void(size_t index)>& on_end);

// Joins the messages of several jobs, lines "codlc: note: TEXT". A line that several jobs have
// appears once, with all their names: "codlc: note: sd855, sd865: TEXT".
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
