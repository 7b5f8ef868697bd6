/* The native half of codl.Network: a plan and a session behind a Java long. */
#include <codl/codl.h>
#include <jni.h>
#include <stdlib.h>

typedef struct network_t {
  codl_plan_t* plan;
  codl_session_t* session;
} network_t;

static network_t* network_of(jlong handle) { return (network_t*)(intptr_t)handle; }

/* An exception of the class; the method returns to Java then without calling more of JNI. */
static void throw_named(JNIEnv* env, const char* class_name, const char* message) {
  jclass type = (*env)->FindClass(env, class_name);
  if (type != NULL) (*env)->ThrowNew(env, type, message);
}

static void throw_status(JNIEnv* env, codl_status_t status, const char* message) {
  jclass type = (*env)->FindClass(env, "codl/CodlException");
  jmethodID init =
      type == NULL ? NULL : (*env)->GetMethodID(env, type, "<init>", "(ILjava/lang/String;)V");
  jstring text = init == NULL ? NULL
                              : (*env)->NewStringUTF(
                                    env, message[0] != 0 ? message : codl_status_text(status));
  jobject exception = text == NULL ? NULL : (*env)->NewObject(env, type, init, (jint)status, text);
  if (exception != NULL) (*env)->Throw(env, (jthrowable)exception);
}

static void close_network(network_t* network) {
  codl_session_destroy(network->session);
  codl_plan_close(network->plan);
  free(network);
}

/* ---- opening ---- */

/* The options as Java has them. Texts are to be released by release_options(). */
typedef struct options_t {
  codl_session_options_t session;
  jstring variant;
  jstring cache_folder;
  const char* variant_text;
  const char* cache_text;
} options_t;

static void release_options(JNIEnv* env, options_t* options) {
  if (options->variant_text != NULL)
    (*env)->ReleaseStringUTFChars(env, options->variant, options->variant_text);
  if (options->cache_text != NULL)
    (*env)->ReleaseStringUTFChars(env, options->cache_folder, options->cache_text);
}

/* 0: an exception is pending. Null options are the defaults. */
static int read_options(JNIEnv* env, jobject object, options_t* out) {
  *out = (options_t){.session = {.struct_size = sizeof(codl_session_options_t)}};
  if (object == NULL) return 1;
  jclass type = (*env)->GetObjectClass(env, object);
  jfieldID variant = (*env)->GetFieldID(env, type, "variant", "Ljava/lang/String;");
  jfieldID threads = variant == NULL ? NULL : (*env)->GetFieldID(env, type, "threads", "I");
  jfieldID require = threads == NULL ? NULL : (*env)->GetFieldID(env, type, "requireVariant", "Z");
  jfieldID fallback = require == NULL ? NULL : (*env)->GetFieldID(env, type, "fallback", "Z");
  jfieldID check = fallback == NULL ? NULL : (*env)->GetFieldID(env, type, "checkEvery", "I");
  jfieldID cache =
      check == NULL ? NULL : (*env)->GetFieldID(env, type, "programCache", "Ljava/lang/String;");
  jfieldID seed = cache == NULL ? NULL : (*env)->GetFieldID(env, type, "seed", "J");
  if (seed == NULL) return 0;
  out->session.thread_count = (*env)->GetIntField(env, object, threads);
  out->session.require_variant = (*env)->GetBooleanField(env, object, require);
  out->session.fallback =
      (*env)->GetBooleanField(env, object, fallback) ? CODL_FALLBACK_PER_RUN : CODL_FALLBACK_NEVER;
  out->session.seed = (uint64_t)(*env)->GetLongField(env, object, seed);
  out->session.check_every = (*env)->GetIntField(env, object, check);
  out->variant = (jstring)(*env)->GetObjectField(env, object, variant);
  out->cache_folder = (jstring)(*env)->GetObjectField(env, object, cache);
  if (out->variant != NULL) {
    out->variant_text = (*env)->GetStringUTFChars(env, out->variant, NULL);
    if (out->variant_text == NULL) return 0;
    out->session.variant = out->variant_text;
  }
  if (out->cache_folder != NULL) {
    out->cache_text = (*env)->GetStringUTFChars(env, out->cache_folder, NULL);
    if (out->cache_text == NULL) return 0;
  }
  return 1;
}

/* The session of a plan that was opened, or not; takes the plan. 0 with an exception pending. */
static jlong open_session(JNIEnv* env, codl_status_t status, codl_plan_t* plan, codl_diag_t* diag,
                          options_t* options) {
  network_t* network = status == CODL_OK ? calloc(1, sizeof(*network)) : NULL;
  codl_program_cache_t cache = {0};
  if (status == CODL_OK && network == NULL) {
    codl_plan_close(plan);
    status = CODL_OUT_OF_MEMORY;
  }
  if (network != NULL) network->plan = plan;
  if (status == CODL_OK && options->cache_text != NULL) {
    status = codl_dir_cache_create(options->cache_text, &cache, diag);
    options->session.program_cache = &cache;
  }
  if (status == CODL_OK)
    status = codl_session_create(plan, &options->session, &network->session, diag);
  codl_dir_cache_destroy(&cache);
  if (status == CODL_OK) return (jlong)(intptr_t)network;
  if (network != NULL) close_network(network);
  throw_status(env, status, diag->message);
  return 0;
}

JNIEXPORT jlong JNICALL Java_codl_Network_openFile(JNIEnv* env, jclass type, jstring path,
                                                   jobject java_options) {
  (void)type;
  if (path == NULL) {
    throw_named(env, "java/lang/NullPointerException", "expected a path, found null");
    return 0;
  }
  jlong handle = 0;
  options_t options;
  const char* text = NULL;
  if (read_options(env, java_options, &options) &&
      (text = (*env)->GetStringUTFChars(env, path, NULL)) != NULL) {
    codl_diag_t diag = {{0}};
    codl_plan_t* plan = NULL;
    const codl_status_t status = codl_plan_open_file(text, NULL, &plan, &diag);
    (*env)->ReleaseStringUTFChars(env, path, text);
    handle = open_session(env, status, plan, &diag, &options);
  }
  release_options(env, &options);
  return handle;
}

JNIEXPORT jlong JNICALL Java_codl_Network_openDescriptor(JNIEnv* env, jclass type, jint descriptor,
                                                         jlong offset, jlong size,
                                                         jobject java_options) {
  (void)type;
  jlong handle = 0;
  options_t options;
  if (read_options(env, java_options, &options)) {
    codl_diag_t diag = {{0}};
    codl_plan_t* plan = NULL;
    const codl_status_t status =
        codl_plan_open_descriptor(descriptor, (uint64_t)offset, (uint64_t)size, NULL, &plan, &diag);
    handle = open_session(env, status, plan, &diag, &options);
  }
  release_options(env, &options);
  return handle;
}

JNIEXPORT void JNICALL Java_codl_Network_close(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  close_network(network_of(handle));
}

/* ---- what it is ---- */

JNIEXPORT jint JNICALL Java_codl_Network_inputCount(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  return (jint)codl_plan_input_count(network_of(handle)->plan);
}

JNIEXPORT jint JNICALL Java_codl_Network_outputCount(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  return (jint)codl_plan_output_count(network_of(handle)->plan);
}

JNIEXPORT jint JNICALL Java_codl_Network_entryCount(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  return (jint)codl_plan_entry_count(network_of(handle)->plan);
}

JNIEXPORT jint JNICALL Java_codl_Network_entry(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  codl_session_info_t info = {.struct_size = sizeof(info)};
  const codl_status_t status = codl_session_get_info(network_of(handle)->session, &info);
  if (status != CODL_OK) throw_status(env, status, "");
  return (jint)info.entry;
}

/* 0: an exception is pending. */
static int read_info(JNIEnv* env, jlong handle, jint entry, jint index, jboolean is_output,
                     codl_tensor_info_t* out_info) {
  const codl_plan_t* plan = network_of(handle)->plan;
  const size_t of = (size_t)entry;
  const codl_status_t status = entry < 0 || index < 0 ? CODL_INVALID_ARGUMENT
                               : is_output
                                   ? codl_plan_entry_output(plan, of, (size_t)index, out_info)
                                   : codl_plan_entry_input(plan, of, (size_t)index, out_info);
  if (status != CODL_OK)
    throw_named(env, "java/lang/IndexOutOfBoundsException",
                "expected the index of an input or output, found another");
  return status == CODL_OK;
}

JNIEXPORT jstring JNICALL Java_codl_Network_name(JNIEnv* env, jclass type, jlong handle, jint index,
                                                 jboolean is_output) {
  (void)type;
  codl_tensor_info_t info;
  return read_info(env, handle, 0, index, is_output, &info) ? (*env)->NewStringUTF(env, info.name)
                                                            : NULL;
}

JNIEXPORT jlongArray JNICALL Java_codl_Network_dims(JNIEnv* env, jclass type, jlong handle,
                                                    jint entry, jint index, jboolean is_output) {
  (void)type;
  codl_tensor_info_t info;
  if (!read_info(env, handle, entry, index, is_output, &info)) return NULL;
  jlongArray dims = (*env)->NewLongArray(env, info.rank);
  if (dims == NULL) return NULL;
  jlong values[CODL_MAX_RANK];
  for (int32_t i = 0; i < info.rank; ++i) values[i] = info.dims[i];
  (*env)->SetLongArrayRegion(env, dims, 0, info.rank, values);
  return dims;
}

JNIEXPORT jlong JNICALL Java_codl_Network_bytes(JNIEnv* env, jclass type, jlong handle, jint entry,
                                                jint index, jboolean is_output) {
  (void)type;
  codl_tensor_info_t info;
  return read_info(env, handle, entry, index, is_output, &info) ? (jlong)info.bytes : 0;
}

JNIEXPORT jstring JNICALL Java_codl_Network_variant(JNIEnv* env, jclass type, jlong handle,
                                                    jboolean is_reason) {
  (void)type;
  codl_session_info_t info = {.struct_size = sizeof(info)};
  const codl_status_t status = codl_session_get_info(network_of(handle)->session, &info);
  if (status != CODL_OK) {
    throw_status(env, status, "");
    return NULL;
  }
  return (*env)->NewStringUTF(env, is_reason ? info.fallback_reason : info.variant);
}

/* ---- running ---- */

JNIEXPORT void JNICALL Java_codl_Network_setShapes(JNIEnv* env, jclass type, jlong handle,
                                                   jobjectArray dims) {
  (void)type;
  const jsize count = (*env)->GetArrayLength(env, dims);
  codl_shape_t* shapes = calloc((size_t)count + 1, sizeof(*shapes));
  if (shapes == NULL) {
    throw_named(env, "java/lang/OutOfMemoryError", "no memory for a list of shapes");
    return;
  }
  for (jsize i = 0; i < count; ++i) {
    jlongArray one = (jlongArray)(*env)->GetObjectArrayElement(env, dims, i);
    jlong values[CODL_MAX_RANK];
    shapes[i].rank = one == NULL ? -1 : (*env)->GetArrayLength(env, one); /* no input has -1 */
    const int32_t rank = shapes[i].rank <= CODL_MAX_RANK ? shapes[i].rank : CODL_MAX_RANK;
    if (rank > 0) (*env)->GetLongArrayRegion(env, one, 0, rank, values);
    for (int32_t k = 0; k < rank; ++k) shapes[i].dims[k] = values[k];
    (*env)->DeleteLocalRef(env, one);
  }
  codl_diag_t diag = {{0}};
  const codl_status_t status =
      codl_session_set_shapes(network_of(handle)->session, shapes, (size_t)count, &diag);
  free(shapes);
  if (status != CODL_OK) throw_status(env, status, diag.message);
}

/* Null with an exception pending. */
static codl_buffer_t* read_buffers(JNIEnv* env, jobjectArray array, size_t* out_count) {
  const jsize count = (*env)->GetArrayLength(env, array);
  codl_buffer_t* buffers = calloc((size_t)count + 1, sizeof(*buffers));
  if (buffers == NULL) {
    throw_named(env, "java/lang/OutOfMemoryError", "no memory for a list of buffers");
    return NULL;
  }
  for (jsize i = 0; i < count; ++i) {
    jobject buffer = (*env)->GetObjectArrayElement(env, array, i);
    const jlong bytes = buffer == NULL ? -1 : (*env)->GetDirectBufferCapacity(env, buffer);
    if (bytes < 0) {
      free(buffers);
      throw_named(env, "java/lang/IllegalArgumentException",
                  "expected direct buffers, found another");
      return NULL;
    }
    buffers[i].data = (*env)->GetDirectBufferAddress(env, buffer);
    buffers[i].bytes = (size_t)bytes;
    (*env)->DeleteLocalRef(env, buffer); /* the array keeps it */
  }
  *out_count = (size_t)count;
  return buffers;
}

JNIEXPORT void JNICALL Java_codl_Network_run(JNIEnv* env, jclass type, jlong handle,
                                             jobjectArray inputs, jobjectArray outputs) {
  (void)type;
  size_t input_count = 0;
  size_t output_count = 0;
  codl_buffer_t* from = read_buffers(env, inputs, &input_count);
  codl_buffer_t* to = from == NULL ? NULL : read_buffers(env, outputs, &output_count);
  if (to != NULL) {
    codl_diag_t diag = {{0}};
    const codl_status_t status =
        codl_session_run(network_of(handle)->session, from, input_count, to, output_count, &diag);
    if (status != CODL_OK) throw_status(env, status, diag.message);
  }
  free(from);
  free(to);
}

JNIEXPORT jint JNICALL Java_codl_Network_stateCount(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  return (jint)codl_plan_state_count(network_of(handle)->plan);
}

JNIEXPORT void JNICALL Java_codl_Network_moveState(JNIEnv* env, jclass type, jlong handle,
                                                   jint index, jobject buffer, jboolean is_write) {
  (void)type;
  void* data = buffer == NULL ? NULL : (*env)->GetDirectBufferAddress(env, buffer);
  if (data == NULL) {
    throw_named(env, "java/lang/IllegalArgumentException",
                "expected a direct buffer, found another");
    return;
  }
  const size_t bytes = (size_t)(*env)->GetDirectBufferCapacity(env, buffer);
  /* A negative index is as wrong as one that is too large. */
  const size_t state = index < 0 ? SIZE_MAX : (size_t)index;
  codl_session_t* session = network_of(handle)->session;
  codl_diag_t diag = {{0}};
  const codl_status_t status = is_write
                                   ? codl_session_write_state(session, state, data, bytes, &diag)
                                   : codl_session_read_state(session, state, data, bytes, &diag);
  if (status != CODL_OK) throw_status(env, status, diag.message);
}

JNIEXPORT void JNICALL Java_codl_Network_resetStates(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  codl_diag_t diag = {{0}};
  const codl_status_t status = codl_session_reset_states(network_of(handle)->session, &diag);
  if (status != CODL_OK) throw_status(env, status, diag.message);
}

JNIEXPORT void JNICALL Java_codl_Network_cancel(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  codl_session_cancel(network_of(handle)->session);
}
