#include "tools/jobs.h"

#include <csignal>
#include <cstdio>

#include "test/support/catch.h"
#include "tools/messages.h"
#include "tools/tool_error.h"

namespace codl::tools {

TEST_CASE("results of jobs come in the jobs' order, and one that fails does not lose the others") {
  const std::vector<Job> jobs = {{"prints",
                                  [](std::string* result) {
                                    std::puts("text");
                                    *result = std::string(200000, 'r');
                                    return 0;
                                  }},
                                 {"fails", [](std::string*) -> int { fail_input("x", "1", "2"); }},
                                 {"dies", [](std::string*) { return std::raise(SIGKILL); }},
                                 {"warns", [](std::string*) {
                                    print_message("tool", Severity::Warning, "same");
                                    return 3;
                                  }}};
  for (const size_t processes : {1, 4}) {
    std::vector<bool> ended(jobs.size());
    const std::vector<JobResult> results =
        run_jobs("tool", jobs, processes, [&](size_t index) { ended[index] = true; });
    CHECK(ended == std::vector<bool>(jobs.size(), true));
    REQUIRE(results.size() == 4);
    CHECK(results[0].exit_code == 0);
    CHECK(results[0].out == "text\n");
    CHECK(results[0].result == std::string(200000, 'r'));
    CHECK(results[1].exit_code == 1);
    CHECK(results[1].errors == "tool: error: x: expected 1, found 2\n");
    CHECK(results[2].exit_code == 70);
    CHECK(results[2].errors.find("signal 9") != std::string::npos);
    CHECK(results[3].exit_code == 3);
  }
}

TEST_CASE("a message that several jobs have appears once, with their names") {
  const std::vector<Job> jobs = {{"a", nullptr}, {"b", nullptr}};
  const std::vector<JobResult> results = {{0, "", "t: note: same\nt: note: only a\n", ""},
                                          {0, "", "t: note: same\n", ""}};
  CHECK(merged_messages(jobs, results) == "t: note: a, b: same\nt: note: a: only a\n");
}

}  // namespace codl::tools
