/* codl runtime: maps a plan that codlc wrote and replays it on CPU threads and one OpenCL queue.
 *
 * This is the whole public API, for C11 and C++; no other header is needed.
 *
 *   codl_plan_open_file -> codl_session_create -> codl_session_run, run, run ... -> destroy, close
 *
 * Errors: every call that can fail returns a status that must be looked at; `diag`, if given,
 * receives one line of text. On failure out-parameters are null and nothing is held. Null where
 * none is allowed, an unknown enumerator, a flag other than 0 and 1 and an index out of range are
 * CODL_INVALID_ARGUMENT; calls without a status return "", 0 or null for them. Pointers that lead
 * nowhere, and handles that were closed, cannot be noticed.
 * Option structs start with `struct_size`, to be set to sizeof; null options mean the defaults.
 *
 * Threads: every function of a plan may be called from any thread at any time between its open and
 * its close, also while sessions of it are created, run and destroyed in other threads. Sessions
 * share the plan, which nobody changes, the OpenCL library and the processors; nothing else, so
 * different sessions may run at the same time. One session runs in one thread at a time: a
 * codl_session_run that finds another in it returns CODL_INVALID_ARGUMENT at once and leaves the
 * other as it is. Beside a run codl_session_get_info, codl_session_variant,
 * codl_session_set_variant and codl_session_cancel may be called; codl_session_set_shapes,
 * codl_session_get_output_dims and codl_session_timeline, which tell of the last run, refuse;
 * codl_session_destroy must not be called.
 *
 * Fork: the child of a fork may use the parent's open plans and create sessions of its own (with a
 * GPU only if the parent had created no session with one: OpenCL does not survive a fork). Sessions
 * of the parent must neither be run nor destroyed in the child: it has none of their threads.
 */
#ifndef CODL_CODL_H_
#define CODL_CODL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define CODL_API
#else
#define CODL_API __attribute__((visibility("default")))
#endif
#define CODL_CHECKED CODL_API __attribute__((warn_unused_result))

/* schema/status.def has the values and their texts; a test keeps the two equal. */
typedef enum codl_status {
  CODL_OK = 0,
  CODL_INVALID_ARGUMENT = 1,
  CODL_NOT_FOUND = 2,
  CODL_IO_ERROR = 3,
  CODL_CORRUPT_PLAN = 4,
  CODL_UNSUPPORTED_VERSION = 5,
  CODL_OUT_OF_MEMORY = 6,
  CODL_NO_DEVICE = 7,
  CODL_DEVICE_ERROR = 8,
  CODL_WRONG_RESULT = 9, /* see check_every of codl_session_options_t */
  CODL_CANCELLED = 10
} codl_status_t;

CODL_API const char* codl_status_text(codl_status_t status);

/* These return the version of this library, as "major.minor.patch", and the newest plan format
 * version that it reads. */
CODL_API const char* codl_version(void);
CODL_API uint32_t codl_plan_format_version(void);

typedef struct codl_diag {
  char message[256]; /* zero-terminated; empty when there is nothing to say */
} codl_diag_t;

/* Gives memory to plans and sessions. `allocate` returns null when there is none; alignment is a
 * power of two. Both are required. Only create, open, destroy and close call them, never run, on
 * the thread that calls these. */
typedef struct codl_allocator {
  void* context;
  void* (*allocate)(void* context, size_t size, size_t alignment);
  void (*release)(void* context, void* memory, size_t size, size_t alignment);
} codl_allocator_t;

/* Elements are little endian. CODL_BOOL is one byte, 0 or 1; CODL_FLOAT16 and CODL_BFLOAT16 are
 * 16-bit words. */
typedef enum codl_dtype {
  CODL_FLOAT32 = 1,
  CODL_INT64 = 2,
  CODL_BOOL = 3,
  CODL_INT8 = 4,
  CODL_UINT8 = 5,
  CODL_INT16 = 6,
  CODL_UINT16 = 7,
  CODL_INT32 = 8,
  CODL_UINT32 = 9,
  CODL_UINT64 = 10,
  CODL_FLOAT64 = 11,
  CODL_FLOAT16 = 12,
  CODL_BFLOAT16 = 13
} codl_dtype_t;

#define CODL_MAX_RANK 8
#define CODL_MAX_THREADS 64 /* CPU workers of a session */

/* Describes an input or output, which has ONNX's order and dtype and is dense and row-major. One
 * with a dim of 0 has no bytes. The dims of an output are the largest it may have: see
 * codl_session_get_output_dims. */
typedef struct codl_tensor_info {
  const char* name; /* borrowed from the plan */
  codl_dtype_t dtype;
  int32_t rank;
  int64_t dims[CODL_MAX_RANK];
  size_t bytes;
} codl_tensor_info_t;

/* ---- plan ------------------------------------------------------------------------------------ */

typedef struct codl_plan codl_plan_t;

typedef enum codl_verify {
  CODL_VERIFY_STRUCTURE = 0, /* no step can touch memory outside its arena or file (default) */
  CODL_VERIFY_ALL = 1        /* and the checksum of the file is right; reads every page */
} codl_verify_t;

typedef struct codl_plan_options {
  size_t struct_size;
  int32_t verify; /* a codl_verify_t; an integer, so that any value can be checked */
  const codl_allocator_t* allocator; /* null: malloc; must outlive the plan */
} codl_plan_options_t;

/* Opens a plan in memory. The bytes are borrowed, and must not change, until codl_plan_close. They
 * must be 4096-aligned for a GPU to use the weights in place (8-aligned at least). */
CODL_CHECKED codl_status_t codl_plan_open(const void* bytes, size_t size,
                                          const codl_plan_options_t* options,
                                          codl_plan_t** out_plan, codl_diag_t* diag);
/* Maps the file read-only. Its structure is read once into a private copy: that copy is verified
 * and used, whatever becomes of the file meanwhile and afterwards. The weights stay mapped. What is
 * written to them while the plan is open, after CODL_VERIFY_ALL too, gives other results and
 * touches no other memory; truncating the file then ends the process with SIGBUS. */
CODL_CHECKED codl_status_t codl_plan_open_file(const char* path, const codl_plan_options_t* options,
                                               codl_plan_t** out_plan, codl_diag_t* diag);
/* Does the same with `size` bytes from `offset` on of an open regular file, such as an asset of an
 * Android package (AAsset_openFileDescriptor64). The descriptor stays the caller's, who may close
 * it. The weights stay mapped where `offset` is a multiple of the page size; else all bytes are
 * copied to memory. UINT64_MAX as `size` means up to the file's end. */
CODL_CHECKED codl_status_t codl_plan_open_descriptor(int file, uint64_t offset, uint64_t size,
                                                     const codl_plan_options_t* options,
                                                     codl_plan_t** out_plan, codl_diag_t* diag);
CODL_API void codl_plan_close(codl_plan_t* plan); /* null is allowed; call it after its sessions */

/* These return "" and 0 for null. */
CODL_API const char* codl_plan_device(const codl_plan_t* plan);
CODL_API size_t codl_plan_input_count(const codl_plan_t* plan);
CODL_API size_t codl_plan_output_count(const codl_plan_t* plan);
CODL_CHECKED codl_status_t codl_plan_input(const codl_plan_t* plan, size_t index,
                                           codl_tensor_info_t* out_info);
CODL_CHECKED codl_status_t codl_plan_output(const codl_plan_t* plan, size_t index,
                                            codl_tensor_info_t* out_info);

/* A plan has the network at one or several sets of input shapes (codlc --dim): its entries, of
 * which sessions begin with the first. All have the same inputs and outputs but for their dims, and
 * share weights; a variant that one has, another may lack, where one processor alone is better. The
 * functions above and codl_plan_variant tell of the first entry, these of any;
 * codl_session_set_shapes changes to another. Counts of inputs and outputs are those of all. */
CODL_API size_t codl_plan_entry_count(const codl_plan_t* plan); /* 0 for null */
/* Returns what tells it from others, like "width=320"; "" for the only one. Borrowed. */
CODL_API const char* codl_plan_entry_name(const codl_plan_t* plan, size_t entry);
CODL_CHECKED codl_status_t codl_plan_entry_input(const codl_plan_t* plan, size_t entry,
                                                 size_t index, codl_tensor_info_t* out_info);
CODL_CHECKED codl_status_t codl_plan_entry_output(const codl_plan_t* plan, size_t entry,
                                                  size_t index, codl_tensor_info_t* out_info);
/* A state is an output of the network that the session keeps as an input of its next run
 * (codlc --state). It is not among the inputs and outputs above. It is described as the input that
 * it is; the count is 0 for null. */
CODL_API size_t codl_plan_state_count(const codl_plan_t* plan);
CODL_CHECKED codl_status_t codl_plan_state(const codl_plan_t* plan, size_t index,
                                           codl_tensor_info_t* out_info);

typedef struct codl_variant_info {
  const char* name; /* "coexec", "cpu"; borrowed from the plan */
  int32_t needs_gpu;
  size_t step_count;
  float predicted_us;
} codl_variant_info_t;
/* Returns 0 for null. */
CODL_API size_t codl_plan_variant_count(const codl_plan_t* plan);
CODL_CHECKED codl_status_t codl_plan_variant(const codl_plan_t* plan, size_t index,
                                             codl_variant_info_t* out_info);
CODL_API size_t codl_plan_entry_variant_count(const codl_plan_t* plan, size_t entry);
CODL_CHECKED codl_status_t codl_plan_entry_variant(const codl_plan_t* plan, size_t entry,
                                                   size_t index, codl_variant_info_t* out_info);

/* ---- session --------------------------------------------------------------------------------- */

typedef struct codl_session codl_session_t;

/* Keeps built OpenCL programs between sessions: building one from its text takes 50 to 500 ms. A
 * key is a file name of less than 64 letters, digits and dashes that stands for the text, its
 * options, the device and the driver. Only codl_session_create calls it, on its thread. A kept
 * program has its key, its size and a checksum in front: a program that was damaged, that is
 * another's or that the driver no longer takes is built from its text and stored again. A forged
 * one is not told from a good one, and the driver trusts it: keep programs where only the
 * application writes. */
typedef struct codl_program_cache {
  void* context;
  /* Returns the size of the program kept under `key`, 0 if there is none, and copies it to `data`
   * if `capacity` is at least that. Both functions are required. */
  size_t (*load)(void* context, const char* key, void* data, size_t capacity);
  void (*store)(void* context, const char* key, const void* data, size_t size);
} codl_program_cache_t;

/* Keeps programs in a folder, which is made if there is none (its parent must exist): each has a
 * file, written whole or not at all, and read only if it is this user's. Returns CODL_IO_ERROR for
 * a folder that is not this user's or that others can write. Sessions, threads and processes may
 * share the folder, and anybody may empty it. What cannot be stored is built again next time.
 * Destroy it after the last codl_session_create that uses it; null and all zeros are allowed. */
CODL_CHECKED codl_status_t codl_dir_cache_create(const char* folder,
                                                 codl_program_cache_t* out_cache,
                                                 codl_diag_t* diag);
CODL_API void codl_dir_cache_destroy(codl_program_cache_t* cache);

/* Takes what the library says by itself: one line of text without its end, seldom more than once in
 * the life of a session. It is called on the thread that creates or runs the session and must not
 * call functions of that session. */
typedef struct codl_log {
  void* context;
  void (*write)(void* context, const char* line); /* required */
} codl_log_t;

/* Says how a run ends if a call of the OpenCL driver fails in it. */
typedef enum codl_fallback {
  CODL_FALLBACK_NEVER = 0,  /* it ends with CODL_DEVICE_ERROR (default) */
  CODL_FALLBACK_PER_RUN = 1 /* it is finished on the plan's CPU variant */
} codl_fallback_t;

/* As variant_count of codl_session_options_t, this means all variants of the plan. */
#define CODL_ALL_VARIANTS ((size_t)-1)

typedef struct codl_session_options {
  size_t struct_size;
  const char* variant; /* to begin with; null: the plan's first, which "coexec" is, too, in a plan
                          without a variant of that name: one processor alone is better there */
  int32_t
      thread_count; /* CPU workers, the caller included; 0: the plan's, at most the cores allowed */
  const int32_t* cpu_cores; /* cores to pin the workers to, worker i to cpu_cores[i % count], the
                               fastest first; null: not pinned */
  size_t cpu_core_count;
  const int32_t*
      gpu_cores; /* cores for an OpenCL implementation that computes on the CPU; set before its
                    threads start, so it holds for the first session of a process, through
                    environment variables, which no other thread may read meanwhile; null: any */
  size_t gpu_core_count;
  const char* opencl_platform; /* part of a platform's name; null: the first with a device */
  const char*
      opencl_device;       /* part of a device's name; null: the first GPU, else the first device */
  int32_t require_variant; /* 0: fall back to a CPU variant when the GPU cannot be used; 1: fail */
  int32_t record_timeline; /* 1: codl_session_timeline has the times of the last run */
  const codl_allocator_t* allocator;         /* null: malloc; must outlive the session */
  const codl_program_cache_t* program_cache; /* null: none */
  const codl_log_t* log;                     /* copied; null: nothing is said */
  /* A codl_fallback_t. With CODL_FALLBACK_PER_RUN the session keeps the plan's CPU variant ready
   * beside the one with GPU steps, with memory of its own. It is used for runs that the device
   * fails in: the next run tries the device again, unless it failed in three runs one after the
   * other or cannot be brought back to where a run begins; then the session goes on with the CPU
   * variant. A plan without a CPU variant is CODL_INVALID_ARGUMENT. */
  int32_t fallback;
  /* N > 0: each N-th run computes all rows of one GPU step again on the CPU, from the same inputs,
   * and compares, one step after the other. So a step that is wrong in every run is found within
   * N x (GPU steps) runs, one that is wrong in one run of K after K times as many in the mean.
   * Where they differ by more than rounding the run ends with CODL_WRONG_RESULT (`diag` names step,
   * kernel and rows) and the next runs go on with the device; with CODL_FALLBACK_PER_RUN the run is
   * finished on the CPU variant and the session stays with that. 0: no checks. */
  int32_t check_every;
  /* The session makes the variants of these names ready to switch to, beside `variant`. Null with a
   * count of 0 means none, with CODL_ALL_VARIANTS all of the plan. They share workers, queues,
   * programs and weights. Memory is that of the largest of them by kind, not the sum, but for the
   * tables. Where the GPU cannot be used, those that need none are prepared. codl/policy.h chooses
   * among them by what runs take. */
  const char* const* variants;
  size_t variant_count;
  /* Milliseconds that any wait for the device may take, while the session is created and in runs;
   * 0: as long as it takes. A driver's first test of flags has four seconds at least. When they
   * have passed, the run ends with CODL_DEVICE_ERROR, and `diag` says what was waited for. The
   * session is then unusable, but for a CPU variant that CODL_FALLBACK_PER_RUN has ready, and what
   * the device may still write to is not given back; the plan must stay open, for it may read
   * weights. */
  int32_t deadline_ms;
  /* Decides the random numbers of the network (RandomNormal, RandomUniform ... without an own
   * seed). Equal seeds give equal numbers, in every run, variant and session. */
  uint64_t seed;
} codl_session_options_t;

CODL_CHECKED codl_status_t codl_session_create(const codl_plan_t* plan,
                                               const codl_session_options_t* options,
                                               codl_session_t** out_session, codl_diag_t* diag);
/* Waits for the device; null is allowed. If the driver no longer says that it is done, the memory
 * that it may still write to is not given back. */
CODL_API void codl_session_destroy(codl_session_t* session);

/* Ends the run that is in progress; any thread may call it. The run returns CODL_CANCELLED after
 * the step that the CPU computes and what the device has been given; outputs hold anything, and the
 * next run is as if there had been none. Does not wait. Without a run it does nothing, and a run
 * that begins while it is called may or may not be ended. */
CODL_API codl_status_t codl_session_cancel(codl_session_t* session);

/* Has the next run that begins use the variant of that name; any thread may call it, also during a
 * run. The variant must be among those prepared (CODL_INVALID_ARGUMENT says otherwise and names
 * them). Takes less than a microsecond; nothing is allocated or built. Results differ between
 * variants by rounding only. Holds for every entry of the plan; one that has no variant of that
 * name stays with its own. Returns CODL_DEVICE_ERROR once the session has given up the device, see
 * `fallback` of the options. */
CODL_CHECKED codl_status_t codl_session_set_variant(codl_session_t* session, const char* name,
                                                    codl_diag_t* diag);

/* Holds the dims of an input, in ONNX's order. */
typedef struct codl_shape {
  int32_t rank;
  int64_t dims[CODL_MAX_RANK];
} codl_shape_t;

/* Has the next runs use the entry of the plan whose inputs have these dims, given in the plan's
 * order. Buffers, output dims and variants are those of that entry from then on. Takes less than a
 * microsecond for each entry that there is; nothing is allocated or built, because the session has
 * everything ready for all entries, in memory of the largest by kind. Returns
 * CODL_INVALID_ARGUMENT, and changes nothing, where no entry has these dims (`diag` lists those
 * that there are) and while the session runs. */
CODL_CHECKED codl_status_t codl_session_set_shapes(codl_session_t* session,
                                                   const codl_shape_t* inputs, size_t input_count,
                                                   codl_diag_t* diag);

typedef struct codl_buffer {
  void* data; /* aligned to 4 and to its elements; null allowed for 0 bytes; inputs are only read */
  size_t bytes;
} codl_buffer_t;

/* Runs once. Buffers are in the order of the plan's inputs and outputs; sizes must be equal to
 * those of the plan's entry in use. Allocates nothing, compiles nothing, searches nothing. An
 * output whose extent the data decides has the largest in the plan: see
 * codl_session_get_output_dims.
 *
 * Buffers are the caller's, need to live for the call only, and may be others in each run. Inputs
 * may share memory with each other; an output shares none with an input or another output, which
 * CODL_INVALID_ARGUMENT says otherwise.
 *
 * A run that fails leaves inputs as they are. With CODL_INVALID_ARGUMENT nothing has been written
 * and the session is as before. With CODL_DEVICE_ERROR (never where `fallback` of the options
 * allows the CPU variant) outputs hold anything and the device has stopped using buffers; the next
 * run tries anew; so with CODL_WRONG_RESULT. Where the driver did not even let the run be taken
 * back, every later run returns the same, and all that is left to do is to destroy the session.
 * Other sessions and the plan are not affected by codl. */
CODL_CHECKED codl_status_t codl_session_run(codl_session_t* session, const codl_buffer_t* inputs,
                                            size_t input_count, const codl_buffer_t* outputs,
                                            size_t output_count, codl_diag_t* diag);

/* States are zero when a session begins; each run that returns CODL_OK leaves them as it computed
 * them, and any other run as they were. These copy one between two runs: `bytes` is that of
 * codl_plan_state. CODL_INVALID_ARGUMENT while the session runs. */
CODL_CHECKED codl_status_t codl_session_read_state(codl_session_t* session, size_t index,
                                                   void* data, size_t bytes, codl_diag_t* diag);
CODL_CHECKED codl_status_t codl_session_write_state(codl_session_t* session, size_t index,
                                                    const void* data, size_t bytes,
                                                    codl_diag_t* diag);
/* Sets all states to zero. */
CODL_CHECKED codl_status_t codl_session_reset_states(codl_session_t* session, codl_diag_t* diag);

/* Holds the self-test's result for one GPU step. It is borrowed for the call. */
typedef struct codl_step_result {
  const char* name;    /* the node's */
  const char* kernel;  /* symbol of its OpenCL kernel */
  const int32_t* tile; /* constants of the kernel that codlc chose; null: the kernel's own */
  size_t tile_count;
  int32_t output_rank;
  int32_t output_dims[CODL_MAX_RANK];
  int32_t is_wrong;    /* 1: the CPU computes something else */
  const char* message; /* says what is wrong and where; empty if nothing is */
} codl_step_result_t;
typedef void (*codl_step_report_t)(void* context, const codl_step_result_t* result);

/* Runs every GPU step by itself on inputs of its own (numbers in [-1, 1], larger ones, zeros,
 * infinities, NaN), and the CPU kernel of the same operator on the same inputs, and compares. Takes
 * as long as some runs on the CPU. Needs a session with `check_every` and `require_variant`. Calls
 * `report` (null allowed) for each step, on this thread. CODL_OK: all are right; CODL_WRONG_RESULT:
 * one is not, `diag` tells of the first. */
CODL_CHECKED codl_status_t codl_session_self_test(codl_session_t* session,
                                                  codl_step_report_t report, void* context,
                                                  codl_diag_t* diag);

typedef struct codl_session_info {
  size_t struct_size;
  const char* variant;         /* the one in use */
  const char* fallback_reason; /* why variants with GPU steps that were asked for are not there;
                                  empty when they are */
  const char* opencl_platform; /* empty when no GPU is in use */
  const char* opencl_device;
  int32_t thread_count;
  /* The session holds this memory, by kind. What the OpenCL driver takes for itself, which only it
   * knows, and the stacks of threads are not counted. */
  size_t host_bytes;        /* arena of tensors that the CPU touches */
  size_t shared_bytes;      /* arena of tensors that CPU and GPU touch */
  size_t device_bytes;      /* arena of tensors that the GPU touches, in buffers */
  double load_us;           /* codl_session_create: wall time, of which */
  double program_us;        /* building OpenCL programs */
  size_t scratch_bytes;     /* for CPU kernels, all workers */
  size_t image_bytes;       /* images, with what the driver pads them by */
  size_t weight_bytes;      /* weights of the variants, whole pages; all sessions of the plan share
                               them, in its file's pages (which the system can read again) or where
                               codl_plan_open was told */
  size_t weight_copy_bytes; /* the driver's copies, where a GPU cannot read the plan's */
  size_t table_bytes;       /* the plan's structure, once for all its sessions, and what a session
                               keeps of its steps, tensors and workers */
  /* With several variants prepared, this is the memory of all of them, a variant to fall back to
   * and checks included. When the device failed so often that a session goes on with the CPU
   * variant, `variant` and `fallback_reason` tell of that. */
  uint64_t failed_runs;    /* runs in which a driver call failed or a check, however they ended */
  const char* run_failure; /* which call failed in the first of them; empty: none */
  size_t variant_count;    /* prepared, see codl_session_variant */
  int32_t wanted_thread_count; /* more than thread_count: the system granted no more threads */
  const char* flag_refusal; /* why waits that the plan has by flag are by event here; empty: none */
  size_t state_bytes;       /* two buffers for each state */
  size_t entry;             /* the plan's entry in use, which `variant` and variant_count are of */
  size_t entry_count;       /* entries of the plan; all are ready */
  /* why GPU steps that the plan has recorded are enqueued one by one here; empty: none is */
  const char* recording_refusal;
} codl_session_info_t;
CODL_CHECKED codl_status_t codl_session_get_info(const codl_session_t* session,
                                                 codl_session_info_t* out_info);

/* Describes a variant that a session has prepared. */
typedef struct codl_variant_state {
  const char* name; /* borrowed from the plan */
  uint64_t run_count;
  float predicted_us; /* for a device that does nothing else; 0: nothing was predicted */
  float cpu_us;       /* its CPU steps in its last run; 0 without `variants` in the options */
  int32_t needs_gpu;
} codl_variant_state_t;
/* Any thread may call it, also during a run. `index` is below the info's variant_count. */
CODL_CHECKED codl_status_t codl_session_variant(const codl_session_t* session, size_t index,
                                                codl_variant_state_t* out_variant);

/* Writes the dims of an output in the last run. They are the plan's, but if the data decides the
 * extent along a dim (of NonZero, NonMaxSuppression, Compress ...), it is the number of elements
 * found, 0 to the plan's. Elements lie in the buffer with the strides of the plan's dims; what lies
 * behind those found is not defined. `capacity` is the room in out_dims: the output's rank or more
 * (CODL_MAX_RANK is always enough). Before the first run and after one that failed the extents
 * found are not defined. Returns CODL_INVALID_ARGUMENT while the session runs. */
CODL_CHECKED codl_status_t codl_session_get_output_dims(const codl_session_t* session, size_t index,
                                                        int64_t* out_dims, size_t capacity,
                                                        int32_t* out_rank);

/* Describes one step of the last run. Times are nanoseconds on the host's monotonic clock; a GPU
 * step's come from its OpenCL event, moved to the host's clock. */
typedef struct codl_step_time {
  const char* name;   /* the node's; borrowed from the plan */
  const char* kernel; /* symbol, or "map", "unmap", "upload", "download" */
  int32_t queue;      /* 0 CPU, 1 GPU, 2 transfer */
  int64_t start_ns;
  int64_t end_ns;
  float predicted_us;  /* launch included, nothing else running; 0: nothing was predicted */
  int64_t enqueued_ns; /* when the host enqueued a GPU or transfer step; 0 for CPU steps */
} codl_step_time_t;
/* The times are borrowed until the next run. The count is 0 unless record_timeline was set, and
 * while the session runs. */
CODL_API const codl_step_time_t* codl_session_timeline(const codl_session_t* session,
                                                       size_t* out_count);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* CODL_CODL_H_ */
