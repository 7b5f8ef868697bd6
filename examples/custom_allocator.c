/* Gives codl its memory from an allocator of one's own, here one that counts, and shows that a run
 * asks for none.
 *
 *   custom_allocator PLAN.codl
 */
#include <codl/codl.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes held now and at most, and calls of allocate. Open and create call from one thread. */
typedef struct counter {
  size_t held_bytes;
  size_t peak_bytes;
  size_t calls;
} counter_t;

/* C11 asks for a size that is a multiple of the alignment. */
static size_t padded(size_t size, size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

static void* counting_allocate(void* context, size_t size, size_t alignment) {
  counter_t* counter = context;
  void* memory = aligned_alloc(alignment, padded(size, alignment));
  if (memory == NULL) return NULL;
  ++counter->calls;
  counter->held_bytes += size;
  if (counter->held_bytes > counter->peak_bytes) counter->peak_bytes = counter->held_bytes;
  return memory;
}

static void counting_release(void* context, void* memory, size_t size, size_t alignment) {
  counter_t* counter = context;
  (void)alignment;
  counter->held_bytes -= size;
  free(memory);
}

static int fail(codl_status_t status, const codl_diag_t* diag) {
  fprintf(stderr, "%s: %s\n", codl_status_text(status), diag->message);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  counter_t counter = {0, 0, 0};
  const codl_allocator_t allocator = {&counter, counting_allocate, counting_release};
  codl_plan_options_t plan_options = {sizeof(plan_options), CODL_VERIFY_ALL, &allocator};
  codl_session_options_t session_options = {0};
  session_options.struct_size = sizeof(session_options);
  session_options.allocator = &allocator;

  codl_diag_t diag;
  codl_plan_t* plan;
  codl_session_t* session;
  codl_tensor_info_t input, output;
  codl_status_t status = codl_plan_open_file(argv[1], &plan_options, &plan, &diag);
  if (status != CODL_OK) return fail(status, &diag);
  status = codl_session_create(plan, &session_options, &session, &diag);
  if (status == CODL_OK) status = codl_plan_input(plan, 0, &input);
  if (status == CODL_OK) status = codl_plan_output(plan, 0, &output);
  if (status != CODL_OK) return fail(status, &diag);

  const codl_buffer_t x = {calloc(1, input.bytes), input.bytes};
  const codl_buffer_t y = {calloc(1, output.bytes), output.bytes};
  const size_t calls_before_run = counter.calls;
  status = codl_session_run(session, &x, 1, &y, 1, &diag);
  if (status != CODL_OK) return fail(status, &diag);
  printf("open and create: %zu allocations, at most %zu bytes; run: %zu allocations\n",
         calls_before_run, counter.peak_bytes, counter.calls - calls_before_run);

  codl_session_destroy(session);
  codl_plan_close(plan);
  printf("held at the end: %zu bytes\n", counter.held_bytes);
  free(x.data);
  free(y.data);
  return counter.held_bytes == 0 && counter.calls == calls_before_run ? 0 : 1;
}
