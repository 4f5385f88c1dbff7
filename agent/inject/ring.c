/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/inject/ring.h"

#include "core/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

_Static_assert((IFP_RING_BYTES & (IFP_RING_BYTES - 1)) == 0, "places in a ring are masked");

#define RECORD_MAX_BYTES (sizeof(struct ifp_mark_record) + IFP_MARK_NAME_MAX_BYTES)
_Static_assert(RECORD_MAX_BYTES % 8 == 0 && RECORD_MAX_BYTES <= UINT16_MAX, "size_bytes");

/* A thread that found no free ring looks again at every 64th mark only. */
#define MISSES_BETWEEN_CLAIMS 64u

/* What a thread knows about its ring. Zero = no ring yet. */
struct writer {
	struct ifp_ring_header *ring;
	unsigned char *data;
	uint64_t head_bytes;
	uint64_t tail_seen_bytes; /* the reader's tail, as last looked at */
	uint32_t misses;	  /* marks since the last vain search for a ring */
	bool stamp_is_tsc;
	bool busy; /* between the start and the end of a put: seen true by signal handlers only */
	uint16_t depth[IFP_STACKS_TRACKED];
};

/*
 * initial-exec: reached without a call that may allocate, also in a library that was loaded late.
 * Such memory is scarce, so the struct stays small.
 */
static __thread struct writer writer __attribute__((tls_model("initial-exec")));
_Static_assert(sizeof(struct writer) <= 96, "static TLS is scarce");

static pthread_key_t thread_end_key;
static bool thread_end_key_made;
static uint32_t process_id;

static void close_ring(struct writer *w)
{
	if (w->ring)
		atomic_store_explicit(&w->ring->state, IFP_RING_CLOSED, memory_order_release);
	w->ring = NULL;
}

static void on_thread_end(void *unused)
{
	(void)unused;
	close_ring(&writer);
}

/* The parent's thread goes on writing to its ring: the child must not touch it. */
static void on_fork_in_child(void)
{
	writer = (struct writer){0};
	process_id = (uint32_t)getpid();
	if (thread_end_key_made)
		pthread_setspecific(thread_end_key, NULL);
}

__attribute__((constructor)) static void on_load(void)
{
	process_id = (uint32_t)getpid();
	thread_end_key_made = pthread_key_create(&thread_end_key, on_thread_end) == 0;
	pthread_atfork(NULL, NULL, on_fork_in_child);
}

uint32_t ifp_inject_pid(void)
{
	return process_id;
}

static struct ifp_ring_header *claim_free_ring(struct ifp_segment_header *segment, uint32_t *index)
{
	for (uint32_t i = 0; i < IFP_SEGMENT_RINGS; i++) {
		struct ifp_ring_header *ring = &segment->ring[i];
		uint32_t expected = IFP_RING_FREE;

		if (atomic_load_explicit(&ring->state, memory_order_relaxed) != IFP_RING_FREE)
			continue;
		if (atomic_compare_exchange_strong(&ring->state, &expected, IFP_RING_CLAIMED)) {
			*index = i;
			return ring;
		}
	}
	return NULL;
}

/*
 * Without the key, the thread's end would go unnoticed until the agent looks for dead threads:
 * late, but nothing is lost.
 */
static bool claim(struct writer *w)
{
	struct ifp_segment_header *segment = ifp_inject_segment();
	struct ifp_ring_header *ring;
	uint32_t index;

	if (!segment)
		return false;
	ring = claim_free_ring(segment, &index);
	if (!ring)
		return false;
	ring->pid = process_id;
	ring->tid = (uint32_t)gettid();
	atomic_store_explicit(&ring->head_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->tail_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->dropped, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->state, IFP_RING_LIVE, memory_order_release);
	if (thread_end_key_made)
		pthread_setspecific(thread_end_key, ring);
	w->data = ifp_segment_ring_data(segment, index);
	w->head_bytes = 0;
	w->tail_seen_bytes = 0;
	w->stamp_is_tsc = segment->stamp_is_tsc != 0;
	w->ring = ring;
	return true;
}

static void count_dropped(struct writer *w)
{
	uint64_t dropped = atomic_load_explicit(&w->ring->dropped, memory_order_relaxed);

	/* One writer: no read-modify-write needed. */
	atomic_store_explicit(&w->ring->dropped, dropped + 1, memory_order_relaxed);
}

/* Room for size_bytes in one piece, the end of the ring filled where needed; NULL when full. */
static struct ifp_mark_record *reserve(struct writer *w, size_t size_bytes)
{
	uint64_t place = w->head_bytes & (IFP_RING_BYTES - 1);
	uint64_t to_end_bytes = IFP_RING_BYTES - place;
	uint64_t need_bytes = size_bytes <= to_end_bytes ? size_bytes : to_end_bytes + size_bytes;
	struct ifp_mark_record *record = (void *)(w->data + place);

	if (w->head_bytes + need_bytes - w->tail_seen_bytes > IFP_RING_BYTES) {
		w->tail_seen_bytes =
			atomic_load_explicit(&w->ring->tail_bytes, memory_order_acquire);
		if (w->head_bytes + need_bytes - w->tail_seen_bytes > IFP_RING_BYTES)
			return NULL;
	}
	if (size_bytes > to_end_bytes) {
		record->size_bytes = (uint16_t)to_end_bytes;
		record->kind = IFP_MARK_PAD;
		w->head_bytes += to_end_bytes;
		record = (void *)w->data;
	}
	return record;
}

/* Cuts a name that is too long, between two characters of UTF-8. */
__attribute__((cold, noinline)) static size_t cut(const char *name, size_t max_bytes)
{
	struct ifp_segment_header *segment = ifp_inject_segment();
	size_t len_bytes = max_bytes;

	while (len_bytes && ((unsigned char)name[len_bytes] & 0xc0) == 0x80)
		len_bytes--;
	if (segment)
		atomic_fetch_add_explicit(&segment->names_cut, 1, memory_order_relaxed);
	return len_bytes;
}

static uint64_t stamp(const struct writer *w)
{
	return w->stamp_is_tsc ? ifp_clock_tsc() : (uint64_t)ifp_clock_raw_ns();
}

static bool put(struct writer *w, const struct ifp_mark *mark)
{
	size_t max_bytes = IFP_MARK_NAME_MAX_BYTES - mark->prefix_bytes;
	size_t len_bytes = mark->name ? strnlen(mark->name, max_bytes + 1) : 0;
	struct ifp_mark_record *record;
	size_t size_bytes;
	char *name;

	if (len_bytes > max_bytes)
		len_bytes = cut(mark->name, max_bytes);
	size_bytes = (sizeof(*record) + mark->prefix_bytes + len_bytes + 7) & ~(size_t)7;
	record = reserve(w, size_bytes);
	if (!record) {
		count_dropped(w);
		return false;
	}
	name = (char *)(record + 1);
	if (mark->prefix_bytes)
		memcpy(name, mark->prefix, mark->prefix_bytes);
	if (len_bytes)
		memcpy(name + mark->prefix_bytes, mark->name, len_bytes);
	*record = (struct ifp_mark_record){
		.size_bytes = (uint16_t)size_bytes,
		.kind = mark->kind,
		.origin = mark->origin,
		.name_bytes = (uint16_t)(mark->prefix_bytes + len_bytes),
		.stack = mark->stack,
		.stamp = mark->stamp ? mark->stamp : stamp(w),
		.value = mark->value,
	};
	w->head_bytes += size_bytes;
	atomic_store_explicit(&w->ring->head_bytes, w->head_bytes, memory_order_release);
	return true;
}

static void put_thread_name(struct writer *w)
{
	char name[16] = "";

	if (prctl(PR_GET_NAME, name, 0, 0, 0) == 0 && name[0])
		put(w, &(struct ifp_mark){.kind = IFP_MARK_THREAD_NAME, .name = name});
}

__attribute__((cold, noinline)) static bool find_ring(struct writer *w)
{
	struct ifp_segment_header *segment;
	int saved_errno = errno;

	if (w->misses % MISSES_BETWEEN_CLAIMS == 0 && claim(w)) {
		w->misses = 0;
		put_thread_name(w);
	} else {
		segment = ifp_inject_segment();
		w->misses++;
		if (segment)
			atomic_fetch_add_explicit(
				&segment->no_ring_dropped, 1, memory_order_relaxed);
	}
	errno = saved_errno;
	return w->ring;
}

uint64_t ifp_ring_now(void)
{
	const struct ifp_segment_header *segment;

	if (__builtin_expect(writer.ring != NULL, 1))
		return stamp(&writer);
	segment = ifp_inject_segment();
	if (!segment)
		return 0;
	return stamp(&(struct writer){.stamp_is_tsc = segment->stamp_is_tsc != 0});
}

/* A signal handler has interrupted a put of its own thread. */
__attribute__((cold, noinline)) static bool drop_nested(struct writer *w)
{
	struct ifp_segment_header *segment = ifp_inject_segment();

	if (segment && !w->ring)
		atomic_fetch_add_explicit(&segment->no_ring_dropped, 1, memory_order_relaxed);
	else if (w->ring)
		count_dropped(w);
	return false;
}

bool ifp_ring_put(const struct ifp_mark *mark)
{
	struct writer *w = &writer;
	bool written;

	if (__builtin_expect(w->busy, 0))
		return drop_nested(w);
	w->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	written = (__builtin_expect(w->ring != NULL, 1) || find_ring(w)) && put(w, mark);
	atomic_signal_fence(memory_order_seq_cst);
	w->busy = false;
	return written;
}

/* A push or a pop of which no depth is known, to whoever made it and to the reader. */
static int put_without_depth(struct ifp_mark *mark, uint64_t why)
{
	mark->value = why;
	ifp_ring_put(mark);
	return -1;
}

int ifp_ring_push(struct ifp_mark *mark)
{
	uint16_t *depth;

	if (mark->stack >= IFP_STACKS_TRACKED)
		return put_without_depth(mark, IFP_MARK_DEPTH_UNKNOWN);
	depth = &writer.depth[mark->stack];
	mark->value = *depth;
	if (*depth < UINT16_MAX)
		++*depth;
	ifp_ring_put(mark);
	return (int)mark->value;
}

int ifp_ring_pop(struct ifp_mark *mark)
{
	uint16_t *depth;

	if (mark->stack >= IFP_STACKS_TRACKED)
		return put_without_depth(mark, IFP_MARK_DEPTH_UNKNOWN);
	depth = &writer.depth[mark->stack];
	if (!*depth)
		return put_without_depth(mark, IFP_MARK_DEPTH_NONE);
	mark->value = --*depth;
	ifp_ring_put(mark);
	return (int)mark->value;
}

uint64_t ifp_ring_start(struct ifp_mark *mark)
{
	struct ifp_segment_header *segment = ifp_inject_segment();
	uint32_t id = 0;

	/* 0 means "none" and is skipped when the counter comes round. */
	while (segment && !id)
		id = atomic_fetch_add_explicit(&segment->next_range_id, 1, memory_order_relaxed);
	mark->value = id;
	return id && ifp_ring_put(mark) ? id : 0;
}
