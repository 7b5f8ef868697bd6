/* Chooses which variant a session uses, by the times of its runs. It is a library of its own,
 * libcodl_policy, which asks of a session nothing but what codl.h has.
 *
 *   codl_session_create (variant_count = CODL_ALL_VARIANTS) -> codl_policy_create
 *     -> codl_policy_run, run, run ... -> codl_policy_destroy -> codl_session_destroy
 *
 * Errors and null are handled as in codl.h. One thread at a time uses a policy, but for
 * codl_policy_hint, which any thread may call at any time.
 */
#ifndef CODL_POLICY_H_
#define CODL_POLICY_H_

#include "codl/codl.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct codl_policy codl_policy_t;

/* Makes a policy for the variants that the session has prepared; it begins with the one in use. The
 * plan has one entry (CODL_INVALID_ARGUMENT): times at other shapes would look like load. Memory
 * comes from malloc. The session must outlive the policy. */
CODL_CHECKED codl_status_t codl_policy_create(codl_session_t* session, codl_policy_t** out_policy,
                                              codl_diag_t* diag);
CODL_API void codl_policy_destroy(codl_policy_t* policy); /* null is allowed */

/* Calls codl_session_run on the variant that is expected to be the fastest now; now and then on one
 * that may be faster. The time that tries lose is bounded: for each other variant, that of a few
 * runs per change of load, and 0.2 % of all runs. Allocates nothing. Each run sets the session's
 * variant: what codl_session_set_variant was told before does not count. */
CODL_CHECKED codl_status_t codl_policy_run(codl_policy_t* policy, const codl_buffer_t* inputs,
                                           size_t input_count, const codl_buffer_t* outputs,
                                           size_t output_count, codl_diag_t* diag);

/* Names other uses of the device, as far as the application knows of them. */
typedef enum codl_load {
  CODL_LOAD_UNKNOWN = 0,     /* the policy chooses again */
  CODL_LOAD_IDLE = 1,        /* nothing: the variant that the policy began with */
  CODL_LOAD_INTERACTIVE = 2, /* frames are drawn, which need the GPU: "gpuNN", the lowest NN */
  CODL_LOAD_BACKGROUND = 3   /* other programs compute: "busy" */
} codl_load_t;

/* Has runs that begin use the variant that is for such a load, until the next hint. If none has
 * that name they use one without GPU steps; if there is not even that, the policy chooses. `load`
 * is a codl_load_t. */
CODL_CHECKED codl_status_t codl_policy_hint(codl_policy_t* policy, int32_t load);

/* Returns the time that a run of a variant is expected to take now; 0 if it is not known, for null,
 * and for an index that there is not. `index` is as in codl_session_variant. */
CODL_API float codl_policy_expected_us(const codl_policy_t* policy, size_t index);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* CODL_POLICY_H_ */
