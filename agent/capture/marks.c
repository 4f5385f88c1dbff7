/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/marks.h"

#include "agent/capture/mark_emit.h"
#include "agent/capture/mark_open.h"
#include "agent/capture/mark_segment.h"
#include "agent/capture/mark_stack.h"
#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How often rings are looked at for writers that have died without closing them. */
#define CHECK_INTERVAL_NS IFP_NS_PER_S

struct ring_reader {
	bool known; /* the thread's identity has been read */
	struct ifp_mark_thread thread;
};

struct ifp_marks {
	struct ifp_mark_segment segment;
	struct ring_reader reader[IFP_SEGMENT_RINGS];
	struct ifp_mark_open open;
	struct ifp_mark_emitter emitter;
	struct ifp_mark_thread_counters counters;
	uint64_t dropped_by_closed; /* rings that are free again */
	uint64_t damaged;
	uint64_t last_stamp; /* of any thread */
	uint64_t no_ring_seen;
	struct ifp_mpi_series mpi_calls;
	uint32_t rank, world;
	int64_t next_check_ns;
};

int ifp_marks_new(struct ifp_marks **out)
{
	IFP_CLEANUP_FREE struct ifp_marks *marks = calloc(1, sizeof(*marks));
	int result;

	if (!marks)
		return ifp_fail(-ENOMEM, "no memory for the source of marks");
	result = ifp_mark_segment_make(&marks->segment);
	if (result != 0)
		return result;
	marks->emitter.clock = marks->segment.header->stamp_is_tsc ? IFP_CLOCK_TSC : IFP_CLOCK_RAW;
	*out = IFP_TAKE_PTR(marks);
	return 0;
}

void ifp_marks_free(struct ifp_marks **marks)
{
	struct ifp_marks *m = IFP_TAKE_PTR(*marks);

	if (!m)
		return;
	for (uint32_t i = 0; i < IFP_SEGMENT_RINGS; i++)
		ifp_mark_thread_free(&m->reader[i].thread);
	ifp_mark_open_free(&m->open);
	ifp_mark_emitter_free(&m->emitter);
	ifp_mark_segment_free(&m->segment);
	free(m);
}

int ifp_marks_environment(
	struct ifp_marks *marks, struct ifp_environment *environment, const char *library_path)
{
	char path[64];
	int result;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), marks->segment.fd);
	result = ifp_environment_set(environment, IFP_SEGMENT_ENVIRONMENT, path);
	if (result == 0)
		result = ifp_environment_set(environment, "INFPROF_LIBRARY", library_path);
	if (result == 0)
		result =
			ifp_environment_default(environment, "NVTX_INJECTION64_PATH", library_path);
	return result;
}

/* Sanitizers insist on being the first library, unless they are told that this one is harmless. */
#define ASAN_LETS_US "verify_asan_link_order=0"

int ifp_marks_environment_mpi(struct ifp_environment *environment, const char *library_path)
{
	int result;

	if (strpbrk(library_path, ": \t"))
		return ifp_fail(-EINVAL,
			"MPI calls are not recorded: LD_PRELOAD cannot hold the path %s",
			library_path);
	result = ifp_environment_prepend(environment, "LD_PRELOAD", library_path);
	if (result == 0)
		result = ifp_environment_prepend(environment, "ASAN_OPTIONS", ASAN_LETS_US);
	return result;
}

struct ifp_segment_header *ifp_marks_segment(struct ifp_marks *marks)
{
	return marks->segment.header;
}

static void take_mpi(struct ifp_marks *marks, const struct ifp_mark_thread *thread,
	const struct ifp_mark_record *record, struct ifp_str payload)
{
	struct ifp_mpi_record call;

	if (payload.len_bytes != sizeof(call) || record->value >= IFP_MPI_CALL_COUNT) {
		marks->damaged++;
		return;
	}
	memcpy(&call, payload.ptr, sizeof(call));
	ifp_mark_emit_mpi(&marks->emitter, &thread->lane, record, &call,
		atomic_load(&marks->segment.header->mpi_size));
	ifp_mpi_series_add(
		&marks->mpi_calls, (enum ifp_mpi_call)record->value, &call, record->stamp);
}

static void take_record(struct ifp_marks *marks, struct ifp_mark_thread *thread,
	const struct ifp_mark_record *record, struct ifp_str name)
{
	thread->last_stamp = record->stamp;
	if (record->stamp > marks->last_stamp)
		marks->last_stamp = record->stamp;
	switch (record->kind) {
	case IFP_MARK_PUSH:
	case IFP_MARK_POP:
	case IFP_MARK_STEP_BEGIN:
	case IFP_MARK_STEP_END:
		ifp_mark_thread_take(thread, record, name, &marks->emitter, &marks->counters);
		break;
	case IFP_MARK_START:
	case IFP_MARK_END:
		ifp_mark_open_take(&marks->open, &thread->lane, record, name, &marks->emitter,
			&marks->counters);
		break;
	case IFP_MARK_INSTANT:
	case IFP_MARK_COUNTER:
	case IFP_MARK_STEP:
	case IFP_MARK_THREAD_NAME:
		ifp_mark_emit_record(&marks->emitter, &thread->lane, record, name);
		break;
	case IFP_MARK_MPI:
		take_mpi(marks, thread, record, name);
		break;
	default:
		marks->damaged++;
		break;
	}
}

/*
 * Copies the record at data, of which limit_bytes are written, into *record; false when it is none.
 * The program could write anything here: nothing of it is believed before it is checked, and it is
 * copied first because it could change in between.
 */
static bool read_record(
	const unsigned char *data, uint64_t limit_bytes, struct ifp_mark_record *record)
{
	*record = (struct ifp_mark_record){0};
	if (limit_bytes < 8)
		return false;
	memcpy(record, data, limit_bytes < sizeof(*record) ? 8 : sizeof(*record));
	if (record->size_bytes < 8 || record->size_bytes % 8 || record->size_bytes > limit_bytes)
		return false;
	if (record->kind == IFP_MARK_PAD)
		return true;
	return record->size_bytes >= sizeof(*record) &&
	       record->name_bytes <= record->size_bytes - sizeof(*record);
}

static void read_ring(struct ifp_marks *marks, uint32_t index)
{
	struct ifp_ring_header *ring = &marks->segment.header->ring[index];
	const unsigned char *data = ifp_segment_ring_data(marks->segment.header, index);
	uint64_t head = atomic_load_explicit(&ring->head_bytes, memory_order_acquire);
	uint64_t tail = atomic_load_explicit(&ring->tail_bytes, memory_order_relaxed);

	if (head == tail)
		return;
	while (head - tail <= IFP_RING_BYTES && head != tail) {
		uint64_t place = tail % IFP_RING_BYTES;
		uint64_t to_end_bytes = IFP_RING_BYTES - place;
		struct ifp_mark_record record;
		struct ifp_str name;

		if (!read_record(data + place,
			    head - tail < to_end_bytes ? head - tail : to_end_bytes, &record))
			break;
		name = (struct ifp_str){
			(const char *)data + place + sizeof(record), record.name_bytes};
		if (record.kind != IFP_MARK_PAD)
			take_record(marks, &marks->reader[index].thread, &record, name);
		tail += record.size_bytes;
	}
	marks->damaged += head != tail;
	atomic_store_explicit(&ring->tail_bytes, head, memory_order_release);
}

/* Whether the thread is no more. Zombies still are, until they are reaped. */
static bool writer_is_gone(const struct ifp_ring_header *ring)
{
	return syscall(SYS_tgkill, (pid_t)ring->pid, (pid_t)ring->tid, 0) != 0 && errno == ESRCH;
}

/*
 * Whether the process died between claiming the ring and being ready to write. Only its pid can be
 * relied on, and 0 means that not even that is there yet.
 */
static bool claimer_is_gone(const struct ifp_ring_header *ring)
{
	return ring->pid && kill((pid_t)ring->pid, 0) != 0 && errno == ESRCH;
}

static void set_free(struct ifp_marks *marks, uint32_t index)
{
	struct ifp_ring_header *ring = &marks->segment.header->ring[index];

	ifp_mark_thread_end(&marks->reader[index].thread, &marks->emitter, &marks->counters);
	marks->reader[index].known = false;
	marks->dropped_by_closed += atomic_load_explicit(&ring->dropped, memory_order_relaxed);
	atomic_store_explicit(&ring->dropped, 0, memory_order_relaxed);
	ring->pid = 0;
	atomic_store_explicit(&ring->state, IFP_RING_FREE, memory_order_release);
}

/* Looked for before the ring is read: nothing can be written behind what is read then. */
static bool is_abandoned(const struct ifp_ring_header *ring, uint32_t state, bool check)
{
	return state == IFP_RING_CLOSED || (check && writer_is_gone(ring));
}

static void drain_ring(struct ifp_marks *marks, uint32_t index, bool check)
{
	struct ifp_ring_header *ring = &marks->segment.header->ring[index];
	struct ring_reader *reader = &marks->reader[index];
	uint32_t state = atomic_load_explicit(&ring->state, memory_order_acquire);
	bool abandoned;

	if (state == IFP_RING_CLAIMED && check && claimer_is_gone(ring))
		set_free(marks, index);
	if (state != IFP_RING_LIVE && state != IFP_RING_CLOSED)
		return;
	abandoned = is_abandoned(ring, state, check);
	if (!reader->known) {
		reader->thread.lane = (struct ifp_lane){
			.kind = IFP_LANE_THREAD, .pid = ring->pid, .tid = ring->tid};
		reader->known = true;
	}
	read_ring(marks, index);
	if (abandoned)
		set_free(marks, index);
}

/* Now and then, and at once when threads could use the rings of dead ones. */
static bool check_is_due(struct ifp_marks *marks)
{
	uint64_t no_ring =
		atomic_load_explicit(&marks->segment.header->no_ring_dropped, memory_order_relaxed);
	int64_t now_ns = ifp_clock_raw_ns();

	if (now_ns < marks->next_check_ns && no_ring == marks->no_ring_seen)
		return false;
	marks->next_check_ns = now_ns + CHECK_INTERVAL_NS;
	marks->no_ring_seen = no_ring;
	return true;
}

static int drain(struct ifp_marks *marks, const struct ifp_sink *sink, bool check)
{
	marks->emitter.sink = sink;
	marks->emitter.result = 0;
	for (uint32_t i = 0; i < IFP_SEGMENT_RINGS; i++)
		drain_ring(marks, i, check);
	if (marks->open.count)
		ifp_mark_open_age(&marks->open, &marks->counters);
	return marks->emitter.result;
}

int ifp_marks_drain(struct ifp_marks *marks, const struct ifp_sink *sink)
{
	return drain(marks, sink, check_is_due(marks));
}

int ifp_marks_finish(struct ifp_marks *marks, const struct ifp_sink *sink)
{
	int result = drain(marks, sink, true);

	for (uint32_t i = 0; i < IFP_SEGMENT_RINGS; i++) {
		if (marks->reader[i].known)
			ifp_mark_thread_end(
				&marks->reader[i].thread, &marks->emitter, &marks->counters);
		marks->reader[i].known = false;
	}
	ifp_mark_open_end(&marks->open, marks->last_stamp, &marks->emitter, &marks->counters);
	return result != 0 ? result : marks->emitter.result;
}

/* The more ranks there are, the fewer calls of each: what they say together is stored and solved. */
#define CALLS_OF_ALL 256u

void ifp_marks_set_rank(struct ifp_marks *marks, uint32_t rank, uint32_t world)
{
	uint32_t room = world ? CALLS_OF_ALL / world : 1;

	marks->rank = rank;
	marks->world = world;
	marks->mpi_calls.room = room < 1		   ? 1
				: room > IFP_MPI_SERIES_MAX ? IFP_MPI_SERIES_MAX
							    : room;
}

const struct ifp_mpi_series *ifp_marks_mpi_calls(const struct ifp_marks *marks)
{
	const struct ifp_segment_header *header = marks->segment.header;

	if (!marks->mpi_calls.count || atomic_load(&header->mpi_rank) != marks->rank ||
		atomic_load(&header->mpi_size) != marks->world)
		return NULL;
	return &marks->mpi_calls;
}

void ifp_marks_clear_mpi_calls(struct ifp_marks *marks)
{
	ifp_mpi_series_clear(&marks->mpi_calls);
}

enum ifp_clock_domain ifp_marks_domain(const struct ifp_marks *marks)
{
	return marks->emitter.clock;
}

struct ifp_marks_counters ifp_marks_counters(const struct ifp_marks *marks)
{
	const struct ifp_segment_header *header = marks->segment.header;
	struct ifp_marks_counters counters = {
		.events = marks->emitter.events,
		.dropped_full = marks->dropped_by_closed,
		.dropped_no_ring = atomic_load(&header->no_ring_dropped),
		.names_cut = atomic_load(&header->names_cut),
		.ranges_open = marks->counters.unfinished,
		.pops_unmatched = marks->counters.pops_unmatched,
		.ranges_too_deep = marks->counters.too_deep,
		.damaged = marks->damaged,
	};

	for (uint32_t i = 0; i < IFP_SEGMENT_RINGS; i++)
		counters.dropped_full += atomic_load(&header->ring[i].dropped);
	return counters;
}
