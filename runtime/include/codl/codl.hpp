// Wraps codl.h in C++17: plans and sessions have owners, and calls that can fail return a result.
// It is header only and throws no exceptions. Everything the wrapper does not name is in codl.h.
#ifndef CODL_CODL_HPP_
#define CODL_CODL_HPP_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "codl/codl.h"

namespace codl {

// Says whether a call did its work, with one line of text if it did not.
class [[nodiscard]] Status {
 public:
  bool ok() const { return code_ == CODL_OK; }
  codl_status_t code() const { return code_; }
  const char* message() const {
    return diag_.message[0] != '\0' ? diag_.message : codl_status_text(code_);
  }

  // Runs `call`, a function from codl_diag_t* to codl_status_t.
  template <typename Call>
  static Status of(Call call) {
    Status status;
    status.code_ = call(&status.diag_);
    return status;
  }

 private:
  codl_status_t code_ = CODL_OK;
  codl_diag_t diag_ = {};
};

// Holds a value if status().ok(), else an empty one.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(Status status, T value) : status_(status), value_(std::move(value)) {}
  explicit operator bool() const { return status_.ok(); }
  const Status& status() const { return status_; }
  T& operator*() { return value_; }
  T* operator->() { return &value_; }

 private:
  Status status_;
  T value_;
};

// Return option structs with struct_size set and every other member at its default.
inline codl_plan_options_t plan_options() {
  codl_plan_options_t options = {};
  options.struct_size = sizeof(options);
  return options;
}
inline codl_session_options_t session_options() {
  codl_session_options_t options = {};
  options.struct_size = sizeof(options);
  return options;
}

// Owns an open plan, or nothing. Must outlive its sessions.
class Plan {
 public:
  Plan() = default;

  // Borrows the bytes until the plan is gone; they are aligned as for codl_plan_open.
  static Result<Plan> open(const void* bytes, std::size_t size,
                           const codl_plan_options_t& options = plan_options()) {
    codl_plan_t* plan = nullptr;
    Status status = Status::of(
        [&](codl_diag_t* diag) { return codl_plan_open(bytes, size, &options, &plan, diag); });
    return {status, Plan(plan)};
  }
  static Result<Plan> open_file(const char* path,
                                const codl_plan_options_t& options = plan_options()) {
    codl_plan_t* plan = nullptr;
    Status status = Status::of(
        [&](codl_diag_t* diag) { return codl_plan_open_file(path, &options, &plan, diag); });
    return {status, Plan(plan)};
  }

  static Result<Plan> open_descriptor(int file, std::uint64_t offset, std::uint64_t size,
                                      const codl_plan_options_t& options = plan_options()) {
    codl_plan_t* plan = nullptr;
    Status status = Status::of([&](codl_diag_t* diag) {
      return codl_plan_open_descriptor(file, offset, size, &options, &plan, diag);
    });
    return {status, Plan(plan)};
  }

  codl_plan_t* get() const { return plan_.get(); }
  explicit operator bool() const { return plan_ != nullptr; }

  const char* device() const { return codl_plan_device(get()); }
  std::size_t input_count() const { return codl_plan_input_count(get()); }
  std::size_t output_count() const { return codl_plan_output_count(get()); }
  std::size_t entry_count() const { return codl_plan_entry_count(get()); }
  const char* entry_name(std::size_t entry) const { return codl_plan_entry_name(get(), entry); }
  std::size_t variant_count(std::size_t entry = 0) const {
    return codl_plan_entry_variant_count(get(), entry);
  }

  // All zero for an index or an entry that there is not.
  codl_tensor_info_t input(std::size_t index, std::size_t entry = 0) const {
    return info_of<codl_tensor_info_t>(codl_plan_entry_input, entry, index);
  }
  codl_tensor_info_t output(std::size_t index, std::size_t entry = 0) const {
    return info_of<codl_tensor_info_t>(codl_plan_entry_output, entry, index);
  }
  // A session keeps these from run to run; they are not among inputs and outputs.
  std::size_t state_count() const { return codl_plan_state_count(get()); }
  codl_tensor_info_t state(std::size_t index) const {
    codl_tensor_info_t info = {};
    if (codl_plan_state(get(), index, &info) != CODL_OK) info = {};
    return info;
  }
  codl_variant_info_t variant(std::size_t index, std::size_t entry = 0) const {
    return info_of<codl_variant_info_t>(codl_plan_entry_variant, entry, index);
  }

 private:
  struct Close {
    void operator()(codl_plan_t* plan) const { codl_plan_close(plan); }
  };

  explicit Plan(codl_plan_t* plan) : plan_(plan) {}

  template <typename Info>
  Info info_of(codl_status_t (*get_info)(const codl_plan_t*, std::size_t, std::size_t, Info*),
               std::size_t entry, std::size_t index) const {
    Info info = {};
    if (get_info(get(), entry, index, &info) != CODL_OK) info = {};
    return info;
  }

  std::unique_ptr<codl_plan_t, Close> plan_;
};

// Holds the dims that an output had in a run.
struct OutputDims {
  std::int32_t rank = 0;
  std::int64_t dims[CODL_MAX_RANK] = {};
};

// Owns the memory, threads and device programs to run a plan, or nothing. One thread at a time may
// use it.
class Session {
 public:
  Session() = default;

  static Result<Session> create(const Plan& plan,
                                const codl_session_options_t& options = session_options()) {
    codl_session_t* session = nullptr;
    Status status = Status::of([&](codl_diag_t* diag) {
      return codl_session_create(plan.get(), &options, &session, diag);
    });
    return {status, Session(session)};
  }

  codl_session_t* get() const { return session_.get(); }
  explicit operator bool() const { return session_ != nullptr; }

  // Inputs and Outputs are containers of codl_buffer_t with data() and size(), in the plan's order.
  template <typename Inputs, typename Outputs>
  Status run(const Inputs& inputs, const Outputs& outputs) {
    return Status::of([&](codl_diag_t* diag) {
      return codl_session_run(get(), std::data(inputs), std::size(inputs), std::data(outputs),
                              std::size(outputs), diag);
    });
  }

  // These call codl_session_read_state(), codl_session_write_state() and
  // codl_session_reset_states().
  Status read_state(std::size_t index, const codl_buffer_t& to) {
    return Status::of([&](codl_diag_t* diag) {
      return codl_session_read_state(get(), index, to.data, to.bytes, diag);
    });
  }
  Status write_state(std::size_t index, const codl_buffer_t& from) {
    return Status::of([&](codl_diag_t* diag) {
      return codl_session_write_state(get(), index, from.data, from.bytes, diag);
    });
  }
  Status reset_states() {
    return Status::of([&](codl_diag_t* diag) { return codl_session_reset_states(get(), diag); });
  }

  // Calls codl_session_cancel(), from any thread.
  void cancel() { (void)codl_session_cancel(get()); }

  // Calls codl_session_set_variant; any thread may do so.
  Status set_variant(const char* name) {
    return Status::of(
        [&](codl_diag_t* diag) { return codl_session_set_variant(get(), name, diag); });
  }

  // Calls codl_session_set_shapes. Shapes is a container of codl_shape_t, one for each input.
  template <typename Shapes>
  Status set_shapes(const Shapes& shapes) {
    return Status::of([&](codl_diag_t* diag) {
      return codl_session_set_shapes(get(), std::data(shapes), std::size(shapes), diag);
    });
  }

  // Calls codl_session_self_test().
  Status self_test(codl_step_report_t report, void* context) {
    return Status::of(
        [&](codl_diag_t* diag) { return codl_session_self_test(get(), report, context, diag); });
  }

  // Returns the dims that codl_session_get_output_dims() gives for the last run; rank 0 if there is
  // no such index.
  OutputDims output_dims(std::size_t index) const {
    OutputDims result;
    if (codl_session_get_output_dims(get(), index, result.dims, CODL_MAX_RANK, &result.rank) !=
        CODL_OK)
      result = {};
    return result;
  }

  codl_session_info_t info() const {
    codl_session_info_t info = {};
    info.struct_size = sizeof(info);
    if (codl_session_get_info(get(), &info) != CODL_OK) info = {};
    return info;
  }

  // One of info().variant_count that are prepared; all zero for an index that there is not.
  codl_variant_state_t variant(std::size_t index) const {
    codl_variant_state_t state = {};
    if (codl_session_variant(get(), index, &state) != CODL_OK) state = {};
    return state;
  }

  // Returns the steps of the last run, borrowed until the next one. None unless record_timeline was
  // set.
  const codl_step_time_t* timeline(std::size_t* out_count) const {
    return codl_session_timeline(get(), out_count);
  }

 private:
  struct Destroy {
    void operator()(codl_session_t* session) const { codl_session_destroy(session); }
  };

  explicit Session(codl_session_t* session) : session_(session) {}

  std::unique_ptr<codl_session_t, Destroy> session_;
};

// Returns the shape of an input of the plan, for Session::set_shapes().
inline codl_shape_t shape_of(const codl_tensor_info_t& info) {
  codl_shape_t shape = {};
  shape.rank = info.rank;
  for (std::int32_t i = 0; i < info.rank; ++i) shape.dims[i] = info.dims[i];
  return shape;
}

// Returns a buffer over the elements of a container with data() and size(), which keeps the memory.
template <typename Container>
codl_buffer_t buffer_of(Container& elements) {
  return {std::data(elements), std::size(elements) * sizeof(*std::data(elements))};
}

}  // namespace codl

#endif  // CODL_CODL_HPP_
