// LeakSanitizer's settings for every program that is built with it, however it is started. Its
// options in the environment are read after these.

// Suppresses what others keep until the process ends: OpenCL implementations their compilers and
// kernels, and the C library the text of a failed dlopen, which it holds in thread-local storage.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libpocl\n"
         "leak:libLLVM\n"
         "leak:libclang\n"
         "leak:_dlerror_run\n"
         "leak:_dl_exception_create\n";
}

// Skips thread-local storage: the tracer dies (signal 11) if it follows that of threads which PoCL
// ends meanwhile.
extern "C" const char* __lsan_default_options() { return "print_suppressions=0:use_tls=0"; }
