// Runs of a session.
#include "runtime/src/session.h"

#include <algorithm>
#include <cstdio>

#include "runtime/src/diag.h"
#include "schema/plan_layout.h"
#include "schema/verify_plan.h"

namespace codl::rt {
namespace {

// `is_state(i)`: ios[i] is the session's, not the application's.
template <typename IsState>
codl_status_t check_buffers(const char* kind,
                            const flatbuffers::Vector<flatbuffers::Offset<plan::IoDef>>& ios,
                            IsState is_state, size_t expected_count, const codl_buffer_t* buffers,
                            size_t count, codl_diag_t* diag) {
  if (count != expected_count || (buffers == nullptr && count != 0)) {
    set_diag(diag, "%ss: expected %zu, found %zu", kind, expected_count,
             buffers == nullptr ? 0 : count);
    return CODL_INVALID_ARGUMENT;
  }
  const codl_buffer_t* buffer = buffers;
  for (uint32_t i = 0; buffer != buffers + count; ++i) {
    if (is_state(i)) continue;
    const plan::IoDef& io = *ios.Get(i);
    const auto [data, bytes] = *buffer++;
    if (bytes != io.bytes()) {
      set_diag(diag, "%s %s: expected %llu bytes, found %zu", kind, io.name()->c_str(),
               static_cast<unsigned long long>(io.bytes()), bytes);
      return CODL_INVALID_ARGUMENT;
    }
    if (bytes == 0) continue;
    const size_t alignment = std::max<size_t>(4, dtype_bytes(static_cast<DType>(io.dtype())));
    if (data == nullptr || reinterpret_cast<uintptr_t>(data) % alignment != 0) {
      set_diag(diag, "%s %s: expected data aligned to %zu, found %p", kind, io.name()->c_str(),
               alignment, data);
      return CODL_INVALID_ARGUMENT;
    }
  }
  return CODL_OK;
}

bool overlap(const codl_buffer_t& a, const codl_buffer_t& b) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a.data);
  const auto b_begin = reinterpret_cast<uintptr_t>(b.data);
  return a.bytes != 0 && b.bytes != 0 && a_begin < b_begin + b.bytes && b_begin < a_begin + a.bytes;
}

// The queues read inputs and write outputs in the plan's order, which a caller does not know.
codl_status_t check_overlaps(const plan::EntryDef& entry, const codl_buffer_t* inputs,
                             size_t input_count, const codl_buffer_t* outputs, size_t output_count,
                             codl_diag_t* diag) {
  const plan::IoDef* other = nullptr;
  for (uint32_t i = 0; i < output_count; ++i) {
    for (uint32_t k = 0; k < input_count && other == nullptr; ++k)
      if (overlap(outputs[i], inputs[k])) other = entry.inputs()->Get(application_input(entry, k));
    for (uint32_t k = 0; k < i && other == nullptr; ++k)
      if (overlap(outputs[i], outputs[k]))
        other = entry.outputs()->Get(application_output(entry, k));
    if (other == nullptr) continue;
    set_diag(diag, "output %s: expected memory of its own, found some of %s",
             entry.outputs()->Get(application_output(entry, i))->name()->c_str(),
             other->name()->c_str());
    return CODL_INVALID_ARGUMENT;
  }
  return CODL_OK;
}

// The run's steps, on the variant in use; what the device fails at is finished on the spare one.
codl_status_t run_steps(codl_session& session, PreparedVariant* used, codl_diag_t* diag) {
  RunRecord& record = session.record;
  PreparedVariant* const spare = used->entry->spare;
  session.last = used;
  if (!record.has_given_up()) {
    codl_diag_t reason = {};
    codl_status_t status = CODL_DEVICE_ERROR;
    // A lost device may still write to memory that variants without GPU steps use, too.
    if (session.gpu.is_lost() && !used->has_gpu() && used != spare)
      set_diag(&reason, "%s", record.first_failure());
    else
      status = used->executor.run(&reason);
    if (status == CODL_OK) {
      used->cpu_us.store(static_cast<float>(used->executor.cpu_ns()) / 1000,
                         std::memory_order_relaxed);
      used->run_count.fetch_add(1, std::memory_order_relaxed);
      record.note_success();
      return status;
    }
    if (status == CODL_CANCELLED) {
      set_diag(diag, "%s", reason.message);
      return status;
    }
    const char* end = status == CODL_WRONG_RESULT ? "it computed a wrong result"
                      : session.gpu.is_lost()     ? "it does not come back from a failed run"
                                                  : nullptr;
    record.note_failure(reason, spare != nullptr, end);
    if (spare == nullptr) {
      set_diag(diag, "%s", reason.message);
      return status;
    }
    session.last = spare;
  }
  const codl_status_t status = spare->executor.run(diag);
  if (status == CODL_OK) spare->run_count.fetch_add(1, std::memory_order_relaxed);
  return status;
}

// Lists shapes like "1x3x48x160", as far as there is room.
struct ShapeText {
  char text[100] = "";
  size_t length = 0;

  void add(const char* format, long long number = 0) {
    const int added = std::snprintf(text + length, sizeof(text) - length, format, number);
    length = std::min(length + static_cast<size_t>(added), sizeof(text) - 1);
  }
  void add(const plan::EntryDef& entry) {
    bool is_first = true;
    for (uint32_t i = 0; i < entry.inputs()->size(); ++i) {
      if (state_of_input(entry, i) != state_count(entry)) continue;
      const auto& dims = *entry.inputs()->Get(i)->dims();
      if (!is_first) add(",");
      is_first = false;
      for (uint32_t k = 0; k < dims.size(); ++k) add(k == 0 ? "%lld" : "x%lld", dims.Get(k));
    }
  }
  void add(const codl_shape_t* shapes, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (i != 0) add(",");
      for (int32_t k = 0; k < std::min(shapes[i].rank, CODL_MAX_RANK); ++k)
        add(k == 0 ? "%lld" : "x%lld", shapes[i].dims[k]);
    }
  }
};

bool are_shapes_of(const plan::EntryDef& entry, const codl_shape_t* shapes) {
  for (uint32_t i = 0; i < entry.inputs()->size(); ++i) {
    if (state_of_input(entry, i) != state_count(entry)) continue;
    const auto& dims = *entry.inputs()->Get(i)->dims();
    const codl_shape_t& shape = *shapes++;
    if (shape.rank < 0 || static_cast<uint32_t>(shape.rank) != dims.size() ||
        !std::equal(dims.begin(), dims.end(), shape.dims))
      return false;
  }
  return true;
}

}  // namespace

codl_status_t refuse_second_run(codl_diag_t* diag) {
  set_diag(diag, "session: expected one run at a time, found another thread in a run");
  return CODL_INVALID_ARGUMENT;
}

}  // namespace codl::rt

codl_status_t codl_session_run(codl_session_t* session, const codl_buffer_t* inputs,
                               size_t input_count, const codl_buffer_t* outputs,
                               size_t output_count, codl_diag_t* diag) {
  codl::rt::clear_diag(diag);
  if (session == nullptr) return codl::rt::refuse_null("a session", diag);
  const codl::rt::RunScope scope(*session);
  if (!scope.is_entered()) return codl::rt::refuse_second_run(diag);
  codl::rt::States& states = session->states;
  const codl::rt::PreparedEntry& prepared = *session->entry.load();
  const codl::plan::EntryDef& entry = *prepared.def;
  codl_status_t status = codl::rt::check_buffers(
      "input", *entry.inputs(), [&](size_t i) { return states.of_input(i) != states.count(); },
      codl_plan_input_count(session->plan), inputs, input_count, diag);
  if (status == CODL_OK)
    status = codl::rt::check_buffers(
        "output", *entry.outputs(), [&](size_t i) { return states.of_output(i) != states.count(); },
        codl_plan_output_count(session->plan), outputs, output_count, diag);
  if (status == CODL_OK)
    status = codl::rt::check_overlaps(entry, inputs, input_count, outputs, output_count, diag);
  if (status != CODL_OK) return status;
  session->is_cancelled = false;
  const auto bind = [&](codl::rt::StepList& steps) {
    const codl_buffer_t* input = inputs;
    for (size_t i = 0; i < entry.inputs()->size(); ++i) {
      const uint32_t state = states.of_input(i);
      steps.set_io(i, state == states.count() ? input++->data : states.input(state));
    }
    const codl_buffer_t* output = outputs;
    for (size_t i = 0; i < codl::visible_output_count(entry); ++i) {
      const uint32_t state = states.of_output(i);
      steps.set_io(entry.inputs()->size() + i,
                   state == states.count() ? output++->data : states.output(state));
    }
  };
  codl::rt::PreparedVariant* used =
      session->record.has_given_up() ? prepared.spare : prepared.current.load();
  bind(used->steps);
  if (prepared.spare != nullptr && prepared.spare != used) bind(prepared.spare->steps);
  status = codl::rt::run_steps(*session, used, diag);
  if (status == CODL_OK) states.turn();
  return status;
}

codl_status_t codl_session_set_shapes(codl_session_t* session, const codl_shape_t* inputs,
                                      size_t input_count, codl_diag_t* diag) {
  codl::rt::clear_diag(diag);
  if (session == nullptr) return codl::rt::refuse_null("a session", diag);
  const size_t expected_count = codl_plan_input_count(session->plan);
  if (input_count != expected_count || (inputs == nullptr && input_count != 0)) {
    codl::rt::set_diag(diag, "inputs: expected %zu shapes, found %zu", expected_count,
                       inputs == nullptr ? 0 : input_count);
    return CODL_INVALID_ARGUMENT;
  }
  const codl::rt::RunScope scope(*session);
  if (!scope.is_entered()) return codl::rt::refuse_second_run(diag);
  codl::rt::ShapeText there_are;
  for (codl::rt::PreparedEntry& entry : session->entries) {
    if (codl::rt::are_shapes_of(*entry.def, inputs)) {
      session->entry = &entry;
      return CODL_OK;
    }
    if (&entry != session->entries.begin()) there_are.add(" or ");
    there_are.add(*entry.def);
  }
  codl::rt::ShapeText found;
  found.add(inputs, input_count);
  codl::rt::set_diag(diag, "input shapes: expected %s, found %s", there_are.text, found.text);
  return CODL_INVALID_ARGUMENT;
}

codl_status_t codl_session_cancel(codl_session_t* session) {
  if (session == nullptr) return CODL_INVALID_ARGUMENT;
  session->is_cancelled = true;
  return CODL_OK;
}

codl_status_t codl_session_self_test(codl_session_t* session, codl_step_report_t report,
                                     void* context, codl_diag_t* diag) {
  codl::rt::clear_diag(diag);
  if (session == nullptr) return codl::rt::refuse_null("a session", diag);
  const codl::rt::RunScope scope(*session);
  const codl::rt::PreparedVariant& used = *session->current();
  if (!scope.is_entered() || used.checker == nullptr) {
    codl::rt::set_diag(diag, used.checker == nullptr
                                 ? "session: expected GPU steps and check_every, found none"
                                 : "session: expected one run at a time, found another thread");
    return CODL_INVALID_ARGUMENT;
  }
  return used.checker->test_all(used.steps, report, context, diag);
}
