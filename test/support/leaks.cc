// LeakSanitizer's settings of every program that is built with it, however it is started. Its
// options in the environment are read after these.

// Leaks of OpenCL implementations, which keep compilers and kernels until the process ends; not
// ours.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libpocl\n"
         "leak:libLLVM\n"
         "leak:libclang\n";
}

// Without thread-local storage: its tracer dies (signal 11) where it follows that of threads which
// PoCL ends meanwhile.
extern "C" const char* __lsan_default_options() { return "print_suppressions=0:use_tls=0"; }
