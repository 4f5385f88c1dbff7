/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/clock_samples.h"

#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

#define SAMPLES_VERSION 1
#define TUPLE_MIN_BYTES 4u
#define EDGE_MIN_BYTES 11u

/* Stamps are stored as differences to the tuple before; wrapping, so that any value is possible. */
static int64_t minus(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b);
}

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

void ifp_clock_samples_encode(const struct ifp_clock_samples *samples, struct ifp_buf *payload)
{
	struct ifp_clock_tuple last = {0};

	ifp_buf_append_u8(payload, SAMPLES_VERSION);
	ifp_buf_append_varint(payload, samples->tuple_count);
	for (uint32_t i = 0; i < samples->tuple_count; i++) {
		const struct ifp_clock_tuple *t = &samples->tuples[i];

		ifp_buf_append_svarint(payload, minus((uint64_t)t->raw_ns, (uint64_t)last.raw_ns));
		ifp_buf_append_svarint(
			payload, minus((uint64_t)t->realtime_ns, (uint64_t)last.realtime_ns));
		ifp_buf_append_svarint(payload, minus(t->tsc_ticks, last.tsc_ticks));
		ifp_buf_append_svarint(payload, t->width_ns);
		last = *t;
	}
	ifp_buf_append_varint(payload, samples->edge_count);
	for (uint32_t i = 0; i < samples->edge_count; i++) {
		const struct ifp_clock_edge *e = &samples->edges[i];

		ifp_buf_append_varint(payload, e->epoch);
		ifp_buf_append_varint(payload, e->client);
		ifp_buf_append_varint(payload, e->server);
		ifp_buf_append_varint(payload, e->round_trips);
		ifp_buf_append_svarint(payload, e->low_ns);
		ifp_buf_append_svarint(payload, e->high_ns);
		ifp_buf_append_svarint(payload, e->best_t1_ns);
		ifp_buf_append_svarint(payload, e->best_t2_ns);
		ifp_buf_append_svarint(payload, e->best_t3_ns);
		ifp_buf_append_svarint(payload, e->best_t4_ns);
		ifp_buf_append_varint(payload, e->over_mpi);
	}
}

/* A number of elements that the bytes left can hold, so that it is safe to allocate for them. */
static uint32_t read_count(struct ifp_cursor *cursor, size_t element_min_bytes)
{
	uint64_t count = ifp_cursor_varint(cursor);

	if (count > (cursor->len_bytes - cursor->position_bytes) / element_min_bytes) {
		cursor->failed = true;
		return 0;
	}
	return (uint32_t)count;
}

static uint32_t read_u32(struct ifp_cursor *cursor)
{
	uint64_t value = ifp_cursor_varint(cursor);

	if (value > UINT32_MAX)
		cursor->failed = true;
	return (uint32_t)value;
}

static void read_tuples(struct ifp_cursor *cursor, struct ifp_clock_samples *samples)
{
	struct ifp_clock_tuple last = {0};

	for (uint32_t i = 0; i < samples->tuple_count; i++) {
		struct ifp_clock_tuple *t = &samples->tuples[i];

		t->raw_ns = plus(last.raw_ns, ifp_cursor_svarint(cursor));
		t->realtime_ns = plus(last.realtime_ns, ifp_cursor_svarint(cursor));
		t->tsc_ticks = last.tsc_ticks + (uint64_t)ifp_cursor_svarint(cursor);
		t->width_ns = ifp_cursor_svarint(cursor);
		last = *t;
	}
}

static void read_edges(struct ifp_cursor *cursor, struct ifp_clock_samples *samples)
{
	for (uint32_t i = 0; i < samples->edge_count; i++) {
		struct ifp_clock_edge *e = &samples->edges[i];

		e->epoch = read_u32(cursor);
		e->client = read_u32(cursor);
		e->server = read_u32(cursor);
		e->round_trips = read_u32(cursor);
		e->low_ns = ifp_cursor_svarint(cursor);
		e->high_ns = ifp_cursor_svarint(cursor);
		e->best_t1_ns = ifp_cursor_svarint(cursor);
		e->best_t2_ns = ifp_cursor_svarint(cursor);
		e->best_t3_ns = ifp_cursor_svarint(cursor);
		e->best_t4_ns = ifp_cursor_svarint(cursor);
		e->over_mpi = read_u32(cursor);
	}
}

int ifp_clock_samples_decode(const void *payload, size_t len_bytes, struct ifp_clock_samples *out)
{
	IFP_CLEANUP(ifp_clock_samples_free) struct ifp_clock_samples samples = {0};
	struct ifp_cursor cursor = ifp_cursor(payload, len_bytes);
	uint8_t version = ifp_cursor_u8(&cursor);

	if (!cursor.failed && version != SAMPLES_VERSION)
		return ifp_fail(
			-EBADMSG, "clock samples of version %u, not %u", version, SAMPLES_VERSION);
	samples.tuple_count = read_count(&cursor, TUPLE_MIN_BYTES);
	samples.tuples = calloc((size_t)samples.tuple_count + 1, sizeof(*samples.tuples));
	if (!samples.tuples)
		return ifp_fail(-ENOMEM, "read %u clock tuples", samples.tuple_count);
	read_tuples(&cursor, &samples);
	samples.edge_count = read_count(&cursor, EDGE_MIN_BYTES);
	samples.edges = calloc((size_t)samples.edge_count + 1, sizeof(*samples.edges));
	if (!samples.edges)
		return ifp_fail(-ENOMEM, "read %u clock edges", samples.edge_count);
	read_edges(&cursor, &samples);
	if (cursor.failed || cursor.position_bytes != len_bytes)
		return ifp_fail(-EBADMSG, "clock samples are malformed near byte %zu of %zu",
			cursor.position_bytes, len_bytes);
	*out = samples;
	samples = (struct ifp_clock_samples){0};
	return 0;
}

void ifp_clock_samples_free(struct ifp_clock_samples *samples)
{
	free(samples->tuples);
	free(samples->edges);
	*samples = (struct ifp_clock_samples){0};
}
