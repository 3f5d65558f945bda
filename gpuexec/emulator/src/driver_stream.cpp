// Streams and events. Steps are carried out as late as may be: when something waits for them.
#include <chrono>

#include "driver.h"

namespace driver {

static double now_ms() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

// Carries out steps of the record's stream until that has come to it, or has been destroyed with all its steps done.
static void reach(const Record &record) {
  while (!record.reached) {
    auto stream = record.stream.lock();
    if (!stream || stream->steps.empty()) break;
    stream->step();
  }
}

void Stream::step() {
  Step step = std::move(steps.front());
  steps.pop_front();
  if (step.until) reach(*step.until);
  if (step.work) step.work();
}

void Stream::drain() {
  while (!steps.empty()) step();
}

bool valid(CUctx_st &context, CUstream stream) { return !stream || context.streams.count(stream); }

void enqueue(CUctx_st &context, CUstream stream, Step step) {
  if (stream) {
    stream->state->steps.push_back(std::move(step));
    return;
  }
  for (auto &[handle, s] : context.streams)
    if (s->state->blocking) s->state->drain();
  context.null_stream.state->steps.push_back(std::move(step));
  context.null_stream.state->drain();
}

static Stream &stream_of(CUctx_st &context, CUstream stream) {
  return stream ? *stream->state : *context.null_stream.state;
}

} // namespace driver

using namespace driver;

void CUctx_st::drain() {
  for (auto &[handle, s] : streams) s->state->drain();
}

extern "C" {

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int) {
  WITH_CONTEXT
  auto made = std::make_unique<CUstream_st>();
  made->state = std::make_shared<Stream>();
  made->state->blocking = !(flags & CU_STREAM_NON_BLOCKING);
  *stream = made.get();
  context.streams[*stream] = std::move(made);
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  WITH_CONTEXT
  if (!stream || !valid(context, stream)) return CUDA_ERROR_INVALID_HANDLE;
  stream->state->drain();
  context.streams.erase(stream);
  return context.lost;
}

CUresult cuStreamSynchronize(CUstream stream) {
  WITH_CONTEXT
  if (!valid(context, stream)) return CUDA_ERROR_INVALID_HANDLE;
  stream_of(context, stream).drain();
  return context.lost;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  WITH_CONTEXT
  if (!valid(context, stream) || !context.events.count(event)) return CUDA_ERROR_INVALID_HANDLE;
  if (event->state->last) enqueue(context, stream, {nullptr, event->state->last});
  return context.lost;
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  WITH_CONTEXT
  auto made = std::make_unique<CUevent_st>();
  made->state = std::make_shared<Event>();
  made->state->timed = !(flags & CU_EVENT_DISABLE_TIMING);
  *event = made.get();
  context.events[*event] = std::move(made);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  WITH_CONTEXT
  return context.events.erase(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  WITH_CONTEXT
  if (!valid(context, stream) || !context.events.count(event)) return CUDA_ERROR_INVALID_HANDLE;
  auto record = event->state->last = std::make_shared<Record>();
  record->stream = stream ? stream->state : context.null_stream.state;
  enqueue(context, stream, {[=] {
                              record->reached = true;
                              record->at = now_ms();
                            },
                            nullptr});
  return context.lost;
}

CUresult cuEventQuery(CUevent event) {
  WITH_CONTEXT
  if (!context.events.count(event)) return CUDA_ERROR_INVALID_HANDLE;
  auto record = event->state->last;
  if (!record || record->reached) return CUDA_SUCCESS;
  if (auto s = record->stream.lock(); s && !s->steps.empty()) s->step();
  return context.lost ? context.lost : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent event) {
  WITH_CONTEXT
  if (!context.events.count(event)) return CUDA_ERROR_INVALID_HANDLE;
  if (auto record = event->state->last) reach(*record);
  return context.lost;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  WITH_CONTEXT
  if (!context.events.count(from) || !context.events.count(to)) return CUDA_ERROR_INVALID_HANDLE;
  const Event &a = *from->state, &b = *to->state;
  if (!a.timed || !b.timed || !a.last || !b.last) return CUDA_ERROR_INVALID_HANDLE;
  if (!a.last->reached || !b.last->reached) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(b.last->at - a.last->at);
  return CUDA_SUCCESS;
}
}
