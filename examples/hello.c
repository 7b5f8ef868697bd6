/* Runs a plan with one input and one output once on zeros and prints the largest element.
 *   hello PLAN.codl */
#include <codl/codl.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(codl_status_t status, const codl_diag_t* diag) {
  fprintf(stderr, "%s: %s\n", codl_status_text(status), diag->message);
  return 1;
}

int main(int argc, char** argv) {
  codl_diag_t diag;
  codl_plan_t* plan;
  codl_session_t* session;
  codl_tensor_info_t input, output;
  if (argc != 2) {
    fprintf(stderr, "usage: hello PLAN.codl\n");
    return 1;
  }

  codl_status_t status = codl_plan_open_file(argv[1], NULL, &plan, &diag);
  if (status == CODL_OK) status = codl_session_create(plan, NULL, &session, &diag);
  if (status != CODL_OK) return fail(status, &diag);
  if (codl_plan_input_count(plan) != 1 || codl_plan_input(plan, 0, &input) != CODL_OK ||
      codl_plan_output_count(plan) != 1 || codl_plan_output(plan, 0, &output) != CODL_OK ||
      output.dtype != CODL_FLOAT32 || output.bytes == 0) {
    fprintf(stderr, "%s: expected one input and one float32 output, found others\n", argv[1]);
    return 1;
  }

  codl_buffer_t x = {calloc(1, input.bytes), input.bytes};
  codl_buffer_t y = {calloc(1, output.bytes), output.bytes};
  status = codl_session_run(session, &x, 1, &y, 1, &diag);
  if (status != CODL_OK) return fail(status, &diag);

  const float* values = y.data;
  size_t best = 0;
  for (size_t i = 1; i < y.bytes / sizeof(float); ++i)
    if (values[i] > values[best]) best = i;
  printf("%s[%zu] = %g\n", output.name, best, values[best]);
  codl_session_destroy(session);
  codl_plan_close(plan);
  return 0;
}
