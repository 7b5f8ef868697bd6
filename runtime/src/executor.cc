#include "runtime/src/executor.h"

#include "runtime/src/diag.h"
#include "schema/tables.h"

namespace codl::rt {

namespace {

const char* kernel_name(const plan::StepDef& step) {
  return kind_of(step) == StepKind::Kernel ? find_kernel(step.kernel())->symbol
                                           : name_of(kind_of(step));
}

const char* enqueue_name(StepKind kind) {
  switch (kind) {
    case StepKind::Kernel:
      return "clEnqueueNDRangeKernel";
    case StepKind::Map:
      return "clEnqueueMapBuffer";
    case StepKind::Unmap:
      return "clEnqueueUnmapMemObject";
    case StepKind::Upload:
      return "clEnqueueWriteBuffer";
    case StepKind::Download:
      return "clEnqueueReadBuffer";
  }
  return "";
}

}  // namespace

codl_status_t Executor::create(const codl_allocator_t& allocator, Gate gate, StepList& steps,
                               CpuPool& pool, const CpuScratch& scratch, GpuQueue* gpu,
                               bool record_timeline, codl_diag_t* diag) {
  steps_ = &steps;
  pool_ = &pool;
  scratch_ = scratch;
  gpu_ = gpu;
  is_timed_ = record_timeline;
  has_user_events_ = gpu != nullptr && gate == Gate::UserEvent;
  const size_t step_count = steps.steps().count();
  if (!events_.allocate(allocator, gpu != nullptr ? step_count : 0) ||
      !timeline_.allocate(allocator, record_timeline ? step_count : 0)) {
    set_diag(diag, "no memory for the events of %zu steps", step_count);
    return CODL_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < timeline_.count(); ++i) {
    const Step& step = steps.steps()[i];
    timeline_[i].name = step.def->name()->c_str();
    timeline_[i].kernel = kernel_name(*step.def);
    timeline_[i].queue = static_cast<int32_t>(step.queue);
    timeline_[i].predicted_us = step.def->predicted_us();
  }
  return CODL_OK;
}

bool Executor::record(const codl_allocator_t& allocator, GpuRecorder& recorder,
                      codl_diag_t* out_reason) {
  const Array<Step>& steps = steps_->steps();
  if (!recordings_.allocate(allocator, steps.count())) {
    set_diag(out_reason, "no memory for the recordings of %zu steps", steps.count());
    return false;
  }
  recorder_ = &recorder;
  for (uint32_t i = 0; i < steps.count(); ++i) {
    if (steps[i].recorded_end == 0) continue;
    const cl_int error = record_steps(i, &recordings_[i]);
    if (error == CL_SUCCESS) continue;
    set_diag(out_reason, "step %u (%s): a recording from it on: OpenCL error %d", i,
             steps[i].def->name()->c_str(), static_cast<int>(error));
    release_recordings();
    recorder_ = nullptr;
    return false;
  }
  return true;
}

cl_int Executor::record_steps(uint32_t begin, Recorded* out) {
  const Array<Step>& steps = steps_->steps();
  const uint32_t last = steps[begin].recorded_end - 1;
  cl_int error = recorder_->begin(&out->recording);
  const auto add = [&](const GpuKernel& kernel) {
    if (error == CL_SUCCESS) error = recorder_->add(out->recording, kernel);
  };
  GpuKernel flag;
  if (error == CL_SUCCESS && steps[begin].waits_by_flag) {
    error = flags_->make_wait(steps[begin].cpu_wait + 1, &flag);
    out->wait = flag.kernel;
    add(flag);
  }
  for (uint32_t i = begin; i <= last; ++i) add(steps[i].gpu_kernel);
  if (error == CL_SUCCESS && steps[last].sets_flag) {
    error = flags_->make_set(last + 1, &flag);
    out->set = flag.kernel;
    add(flag);
  }
  return error == CL_SUCCESS ? recorder_->end(out->recording) : error;
}

void Executor::release_recordings() {
  for (Recorded& one : recordings_) {
    // A late device keeps what it was given.
    if (gpu_->is_late()) break;
    if (one.recording != nullptr) recorder_->release(one.recording);
    for (const cl_kernel kernel : {one.wait, one.set})
      if (kernel != nullptr) gpu_->api().clReleaseKernel(kernel);
    one = {};
  }
}

codl_status_t Executor::run(codl_diag_t* diag) {
  codl_status_t status = CODL_OK;
  if (gpu_ != nullptr && gpu_->is_lost()) {
    status = CODL_DEVICE_ERROR;
    if (failure_.message[0] == 0)
      set_diag(&failure_, "the device did not come back from a run of another variant");
  } else {
    AffinityScope caller;
    pool_->enter(&caller);
    cpu_ns_ = 0;
    given_end_ = 0;
    checked_step_ = checker_ != nullptr ? checker_->begin_run() : kNoStep;
    if (flags_ != nullptr) flags_->begin_run();
    // A step whose operands are looked at runs between those before and those behind it.
    const bool is_ahead = has_user_events_ || flags_ != nullptr;
    status = is_ahead && checked_step_ == kNoStep ? run_ahead(&failure_) : run_in_order(&failure_);
    if (gpu_ != nullptr) {
      if (status == CODL_OK) status = wait_for_queues(&failure_);
      if (status == CODL_OK && timeline_.count() != 0) read_gpu_times();
      if (status != CODL_OK && (!abandon() || check_flags(nullptr) != CODL_OK)) gpu_->set_lost();
      release_events();
    }
  }
  if (status != CODL_OK) set_diag(diag, "%s", failure_.message);
  return status;
}

codl_status_t Executor::check_cancel(codl_diag_t* diag) const {
  if (cancel_ == nullptr || !cancel_->load(std::memory_order_relaxed)) return CODL_OK;
  set_diag(diag, "codl_session_cancel was called");
  return CODL_CANCELLED;
}

// HostEnqueue: a GPU step goes into its queue once the CPU steps before it are done.
codl_status_t Executor::run_in_order(codl_diag_t* diag) {
  const Array<Step>& steps = steps_->steps();
  for (uint32_t i = 0; i < steps.count(); ++i) {
    codl_status_t status = check_cancel(diag);
    if (status != CODL_OK) return status;
    status = steps[i].is_cpu()    ? run_cpu_step(i, diag)
             : i == checked_step_ ? run_checked(i, diag)
                                  : enqueue(i, diag);
    if (status != CODL_OK) return status;
  }
  return CODL_OK;
}

codl_status_t Executor::run_checked(uint32_t index, codl_diag_t* diag) {
  codl_status_t status = enqueue(index, diag);
  for (uint32_t q = 0; q < kQueueCount && status == CODL_OK; ++q)
    if (gpu_->queue(q) != nullptr) status = gpu_->finish(q, diag);
  return status == CODL_OK ? checker_->check(diag) : status;
}

// GPU steps go into their queues as early as they may: with user events and flags all at once, for
// CPU steps open the gates in the queues.
codl_status_t Executor::run_ahead(codl_diag_t* diag) {
  const Array<Step>& steps = steps_->steps();
  const auto count = static_cast<uint32_t>(steps.count());
  codl_status_t status = CODL_OK;
  uint32_t next = 0;
  for (uint32_t i = 0; i < count && status == CODL_OK; ++i) {
    if (!steps[i].is_cpu()) continue;
    status = enqueue_before(i, &next, diag);
    if (status == CODL_OK) status = check_cancel(diag);
    if (status == CODL_OK) status = run_cpu_step(i, diag);
    if (status == CODL_OK && steps[i].is_gate) status = open_gate(i, diag);
  }
  return status == CODL_OK ? enqueue_before(count, &next, diag) : status;
}

// Enqueues what need not wait for `cpu_step` or a later one to be done.
codl_status_t Executor::enqueue_before(uint32_t cpu_step, uint32_t* next, codl_diag_t* diag) {
  const Array<Step>& steps = steps_->steps();
  for (; *next < steps.count(); ++*next) {
    const Step& step = steps[*next];
    codl_status_t status = CODL_OK;
    if (!step.is_cpu()) {
      if (step.host_wait != kNoStep && step.host_wait >= cpu_step) return CODL_OK;
      status = enqueue(*next, diag);
    } else if (step.is_gate) {
      cl_int error = CL_SUCCESS;
      events_[*next] = gpu_->api().clCreateUserEvent(gpu_->context(), &error);
      if (events_[*next] == nullptr) status = cl_fault(diag, "clCreateUserEvent", error);
    }
    if (status != CODL_OK) return status;
  }
  return CODL_OK;
}

codl_status_t Executor::open_gate(uint32_t index, codl_diag_t* diag) {
  const cl_int error = gpu_->api().clSetUserEventStatus(events_[index], CL_COMPLETE);
  return error == CL_SUCCESS ? CODL_OK : cl_fault(diag, "clSetUserEventStatus", error);
}

codl_status_t Executor::enqueue(uint32_t index, codl_diag_t* diag) {
  if (index < given_end_) return CODL_OK;
  const Step& step = steps_->steps()[index];
  // A step that is checked is given alone.
  const GpuRecording recording =
      recorder_ != nullptr && checked_step_ == kNoStep ? recordings_[index].recording : nullptr;
  cl_event waits[kQueueCount + 1];
  cl_uint wait_count = 0;
  if (step.room_wait != kNoStep) {
    codl_status_t status = gpu_->flush_all(diag);
    if (status == CODL_OK) status = wait_for(step.room_wait, false, diag);
    if (status != CODL_OK) return status;
  }
  for (uint32_t q = 0; q < kQueueCount; ++q) {
    if (step.queue_waits[q] == kNoStep) continue;
    // A queue that waits for another's command never starts it by itself.
    const codl_status_t status = gpu_->flush(q, diag);
    if (status != CODL_OK) return status;
    waits[wait_count++] = events_[step.queue_waits[q]];
  }
  if (step.waits_by_flag) {
    const cl_int error =
        recording != nullptr ? CL_SUCCESS : flags_->enqueue_wait(step.cpu_wait + 1);
    if (error != CL_SUCCESS) return cl_fault(diag, "a wait for a flag", error);
  } else if (step.cpu_wait != kNoStep && events_[step.cpu_wait] != nullptr) {
    // No event: this run is in order, and the CPU step is done.
    waits[wait_count++] = events_[step.cpu_wait];
  }
  if (timeline_.count() != 0) {
    codl_step_time_t& time = timeline_[index];
    time.enqueued_ns = time.start_ns = time.end_ns = now_ns();
  }
  if (recording != nullptr) {
    given_end_ = step.recorded_end;
    const Step& last = steps_->steps()[given_end_ - 1];
    const cl_int error =
        recorder_->enqueue(recording, wait_count, wait_count != 0 ? waits : nullptr,
                           last.needs_event ? &events_[given_end_ - 1] : nullptr);
    if (error != CL_SUCCESS) return cl_fault(diag, "a recording", error);
    return last.is_flushed ? gpu_->flush(kComputeQueue, diag) : CODL_OK;
  }
  codl_status_t status = submit(index, wait_count, wait_count != 0 ? waits : nullptr,
                                step.needs_event ? &events_[index] : nullptr, diag);
  if (status == CODL_OK && step.sets_flag) {
    const cl_int error = flags_->enqueue_set(index + 1);
    if (error != CL_SUCCESS) status = cl_fault(diag, "a flag", error);
  }
  // Drivers may give the device all up to a flush as one batch, and signal its events together.
  return status == CODL_OK && step.is_flushed ? gpu_->flush(step.cl_queue(), diag) : status;
}

codl_status_t Executor::submit(uint32_t index, cl_uint wait_count, const cl_event* waits,
                               cl_event* out_event, codl_diag_t* diag) {
  const Step& step = steps_->steps()[index];
  cl_int error = CL_SUCCESS;
  if (step.kind != StepKind::Kernel)
    gpu_->note_enqueue(step.cl_queue());  // enqueue() notes its own
  switch (step.kind) {
    case StepKind::Kernel:
      error = step.is_in_place ? mark(step, wait_count, waits, out_event)
                               : step.gpu_kernel.enqueue(*gpu_, wait_count, waits, out_event);
      break;
    case StepKind::Map:
      return map(index, wait_count, waits, out_event, diag);
    case StepKind::Unmap:
      error = gpu_->api().clEnqueueUnmapMemObject(gpu_->queue(kComputeQueue), step.memory,
                                                  steps_->mapped(step.map_step), wait_count, waits,
                                                  out_event);
      if (error == CL_SUCCESS) steps_->set_unmapped(step.map_step);
      break;
    case StepKind::Upload:
    case StepKind::Download:
      error = transfer(step, wait_count, waits, out_event);
      break;
  }
  if (error == CL_SUCCESS) return CODL_OK;
  const char* const call =
      step.is_in_place ? "clEnqueueMarkerWithWaitList" : enqueue_name(step.kind);
  return cl_fault(diag, call, error);
}

// In place of a kernel that has nothing to do: who waits for it waits for what is before it, and
// what is behind it for what it waits for.
cl_int Executor::mark(const Step& step, cl_uint wait_count, const cl_event* waits,
                      cl_event* out_event) {
  if (wait_count == 0 && out_event == nullptr) return CL_SUCCESS;
  gpu_->note_enqueue(step.cl_queue());
  return gpu_->api().clEnqueueMarkerWithWaitList(gpu_->queue(step.cl_queue()), wait_count, waits,
                                                 out_event);
}

// The address is known at once, the bytes are the host's when the command is complete.
codl_status_t Executor::map(uint32_t index, cl_uint wait_count, const cl_event* waits,
                            cl_event* out_event, codl_diag_t* diag) {
  const Step& step = steps_->steps()[index];
  cl_int error = CL_SUCCESS;
  void* mapped = gpu_->api().clEnqueueMapBuffer(gpu_->queue(kComputeQueue), step.memory, CL_FALSE,
                                                step.map_flags, 0, step.map_bytes, wait_count,
                                                waits, out_event, &error);
  if (mapped == nullptr) return cl_fault(diag, enqueue_name(step.kind), error);
  steps_->set_mapped(index, mapped);
  return CODL_OK;
}

cl_int Executor::transfer(const Step& step, cl_uint wait_count, const cl_event* waits,
                          cl_event* out_event) {
  const ClApi& api = gpu_->api();
  const cl_command_queue queue = gpu_->queue(kTransferQueue);
  const TransferBox& box = step.box;
  const bool is_upload = step.kind == StepKind::Upload;
  if (box.row_count == 1) {
    uint8_t* host = step.host + box.host_origin_bytes;
    return is_upload
               ? api.clEnqueueWriteBuffer(queue, step.memory, CL_FALSE, box.device_origin_bytes,
                                          box.row_bytes, host, wait_count, waits, out_event)
               : api.clEnqueueReadBuffer(queue, step.memory, CL_FALSE, box.device_origin_bytes,
                                         box.row_bytes, host, wait_count, waits, out_event);
  }
  const size_t device_origin[3] = {box.device_origin_bytes, 0, 0};
  const size_t host_origin[3] = {box.host_origin_bytes, 0, 0};
  const size_t region[3] = {box.row_bytes, box.row_count, 1};
  return is_upload
             ? api.clEnqueueWriteBufferRect(queue, step.memory, CL_FALSE, device_origin,
                                            host_origin, region, box.device_pitch_bytes, 0,
                                            box.host_pitch_bytes, 0, step.host, wait_count, waits,
                                            out_event)
             : api.clEnqueueReadBufferRect(queue, step.memory, CL_FALSE, device_origin, host_origin,
                                           region, box.device_pitch_bytes, 0, box.host_pitch_bytes,
                                           0, step.host, wait_count, waits, out_event);
}

codl_status_t Executor::run_cpu_step(uint32_t index, codl_diag_t* diag) {
  const Step& step = steps_->steps()[index];
  if (gpu_ != nullptr) {
    // The commands in the queues run while this thread waits or computes.
    codl_status_t status = gpu_->flush_all(diag);
    for (uint32_t q = 0; q < kQueueCount && status == CODL_OK; ++q)
      if (step.queue_waits[q] != kNoStep)
        status = wait_for(step.queue_waits[q], step.waits_by_flag && q == kComputeQueue, diag);
    if (status != CODL_OK) return status;
  }
  for (uint32_t i = 0; i < step.args.operand_count; ++i) step.views[i].data = *step.sources[i];
  const int64_t start_ns = is_timed_ ? now_ns() : 0;
  run_cpu_kernel(*pool_, step.function, step.args, step.task_count, step.phase_count, scratch_);
  if (step.sets_flag) flags_->set(index + 1);
  if (!is_timed_) return CODL_OK;
  const int64_t end_ns = now_ns();
  cpu_ns_ += end_ns - start_ns;
  if (timeline_.count() != 0) {
    timeline_[index].start_ns = start_ns;
    timeline_[index].end_ns = end_ns;
  }
  return CODL_OK;
}

// Waits for a step in a queue that has been flushed.
codl_status_t Executor::wait_for(uint32_t index, bool by_flag, codl_diag_t* diag) {
  // A flag that takes long is not waited for in vain if a command has failed: the event says so.
  if (by_flag && flags_->wait(index + 1, kPollNs)) return check_flags(diag);
  const codl_status_t status = gpu_->wait(events_[index], diag);
  const int64_t deadline_ns = gpu_->deadline_ns();
  const int64_t most_ns =
      deadline_ns != 0 ? std::min(deadline_ns, GpuFlags::kPatienceNs) : GpuFlags::kPatienceNs;
  if (status == CODL_OK && by_flag && !flags_->wait(index + 1, most_ns)) {
    // It would come in the next run, and stand for that one's.
    set_diag(diag, "a flag did not come behind its step");
    return CODL_DEVICE_ERROR;
  }
  if (status == CODL_OK) return check_flags(diag);
  if (gpu_->is_late()) {
    const codl_diag_t reason = *diag;
    const plan::StepDef& step = *steps_->steps()[index].def;
    set_diag(diag, "%s (%s): %s", step.name()->c_str(), kernel_name(step), reason.message);
  }
  return status;
}

// A GPU step that has not seen the CPU's flag has computed nonsense.
codl_status_t Executor::check_flags(codl_diag_t* diag) const {
  const uint32_t number = flags_ != nullptr ? flags_->failed_number() : 0;
  if (number == 0) return CODL_OK;
  set_diag(diag, "step %u (%s): its flag did not come to the GPU within its patience", number - 1,
           steps_->steps()[number - 1].def->name()->c_str());
  return CODL_DEVICE_ERROR;
}

codl_status_t Executor::wait_for_queues(codl_diag_t* diag) {
  codl_status_t status = gpu_->flush_all(diag);
  for (uint32_t q = 0; q < kQueueCount && status == CODL_OK; ++q)
    if (steps_->final_waits()[q] != kNoStep)
      status = wait_for(steps_->final_waits()[q], false, diag);
  return status;
}

// Moves the device's times to the host's clock. No command was queued before enqueue() noted the
// host's time; the least shift for which that holds of all is off by the quickest call only. A
// command whose times the driver does not have keeps that note.
void Executor::read_gpu_times() {
  const Array<Step>& steps = steps_->steps();
  const auto read = [&](uint32_t i, cl_profiling_info info, int64_t* out_ns) {
    return !steps[i].is_cpu() &&
           gpu_->api().clGetEventProfilingInfo(events_[i], info, sizeof(*out_ns), out_ns,
                                               nullptr) == CL_SUCCESS;
  };
  int64_t shift_ns = INT64_MIN;
  for (uint32_t i = 0; i < steps.count(); ++i) {
    int64_t queued_ns = 0;
    if (read(i, CL_PROFILING_COMMAND_QUEUED, &queued_ns))
      shift_ns = std::max(shift_ns, timeline_[i].start_ns - queued_ns);
  }
  for (uint32_t i = 0; i < steps.count(); ++i) {
    int64_t start_ns = 0, end_ns = 0;
    if (!read(i, CL_PROFILING_COMMAND_START, &start_ns) ||
        !read(i, CL_PROFILING_COMMAND_END, &end_ns) || shift_ns == INT64_MIN)
      continue;
    timeline_[i].start_ns = start_ns + shift_ns;
    timeline_[i].end_ns = end_ns + shift_ns;
  }
}

// Called after an error: nothing may stay in the queues, where it would wait for gates that never
// open or write to memory that is released.
//
// Gates are opened, not failed. The steps behind them then compute nonsense in memory of this
// session, which nobody reads. A negative status would end them without running, but it makes PoCL
// 3.1 crash if a second command waits for the first one so ended.
//
// Returns false if the driver does not do even this: then nothing is known of the device.
bool Executor::abandon() {
  const Array<Step>& steps = steps_->steps();
  const ClApi& api = gpu_->api();
  // A gate that is open already refuses, and that is all.
  for (uint32_t i = 0; i < steps.count(); ++i)
    if (steps[i].is_gate && events_[i] != nullptr)
      api.clSetUserEventStatus(events_[i], CL_COMPLETE);
  if (flags_ != nullptr) flags_->open_all();
  // This comes before memory is unmapped: GpuQueue::takes_early_unmap().
  bool is_clean = gpu_->drain();
  if (gpu_->is_late()) return false;
  for (uint32_t i = 0; i < steps.count(); ++i) {
    if (!steps_->needs_unmap(i)) continue;
    is_clean = api.clEnqueueUnmapMemObject(gpu_->queue(kComputeQueue), steps[i].memory,
                                           steps_->mapped(i), 0, nullptr, nullptr) == CL_SUCCESS &&
               is_clean;
    steps_->set_unmapped(i);
  }
  return gpu_->drain() && is_clean;
}

void Executor::release_events() {
  for (cl_event& event : events_) {
    if (event != nullptr) gpu_->api().clReleaseEvent(event);
    event = nullptr;
  }
}

}  // namespace codl::rt
