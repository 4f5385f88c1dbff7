/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/clock_samples.h"

#include "core/error.h"
#include "core/intern.h"

#include <errno.h>
#include <stdlib.h>

#define SAMPLES_VERSION 1
#define COLLECTIVES_VERSION 2 /* the same, and collectives behind it */
#define SUSPENSIONS_VERSION 3 /* the same, and suspensions behind these */
#define ROLES_VERSION 4	      /* the same, and looks have roles */
#define TUPLE_MIN_BYTES 4u
#define EDGE_MIN_BYTES 11u
#define LOOK_MIN_BYTES 17u
#define COLLECTIVE_MIN_BYTES 4u
#define SUSPENSION_MIN_BYTES 4u

/* Stamps are stored as differences to the tuple before; wrapping, so that any value is possible. */
static int64_t minus(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b);
}

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* What many collectives have in common. */
struct look {
	uint64_t group, kind;
	uint64_t members, role;
};

/* The number of each collective's look, in order of their first use. */
static int find_looks(
	const struct ifp_clock_samples *samples, struct ifp_intern *looks, uint32_t *look_of)
{
	int err = 0;

	for (uint32_t i = 0; i < samples->collective_count && !err; i++) {
		const struct ifp_clock_collective *c = &samples->collectives[i];
		struct look look = {c->group, c->kind, c->members, c->role};

		err = ifp_intern(
			looks, (struct ifp_str){(const char *)&look, sizeof(look)}, &look_of[i]);
	}
	return err;
}

static void encode_collectives(
	const struct ifp_clock_samples *samples, bool roles, struct ifp_buf *payload)
{
	IFP_CLEANUP_INTERN struct ifp_intern looks = {0};
	IFP_CLEANUP_FREE uint32_t *look_of =
		calloc(samples->collective_count + 1u, sizeof(*look_of));
	struct ifp_clock_collective last = {0};

	if (!look_of || find_looks(samples, &looks, look_of)) {
		payload->failed = true;
		return;
	}
	ifp_buf_append_varint(payload, samples->collectives_left_out);
	ifp_buf_append_varint(payload, looks.count);
	for (uint32_t i = 0; i < looks.count; i++) {
		struct look look;

		memcpy(&look, ifp_intern_text(&looks, i).ptr, sizeof(look));
		ifp_buf_append_u64(payload, look.group);
		ifp_buf_append_u64(payload, look.kind);
		ifp_buf_append_varint(payload, look.members);
		if (roles)
			ifp_buf_append_varint(payload, look.role);
	}
	ifp_buf_append_varint(payload, samples->collective_count);
	for (uint32_t i = 0; i < samples->collective_count; i++) {
		const struct ifp_clock_collective *c = &samples->collectives[i];

		ifp_buf_append_varint(payload, look_of[i]);
		ifp_buf_append_svarint(
			payload, minus((uint64_t)c->enter_ns, (uint64_t)last.enter_ns));
		ifp_buf_append_svarint(payload, minus((uint64_t)c->exit_ns, (uint64_t)c->enter_ns));
		ifp_buf_append_svarint(payload, minus((uint64_t)c->step, (uint64_t)last.step));
		last = *c;
	}
}

static void encode_edge(const struct ifp_clock_edge *e, struct ifp_buf *payload)
{
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

static void encode_suspensions(const struct ifp_clock_samples *samples, struct ifp_buf *payload)
{
	ifp_buf_append_varint(payload, samples->suspension_count);
	for (uint32_t i = 0; i < samples->suspension_count; i++) {
		const struct ifp_clock_suspension *s = &samples->suspensions[i];

		ifp_buf_append_svarint(payload, s->after_raw_ns);
		ifp_buf_append_svarint(
			payload, minus((uint64_t)s->before_raw_ns, (uint64_t)s->after_raw_ns));
		ifp_buf_append_svarint(payload, s->low_ns);
		ifp_buf_append_svarint(payload, minus((uint64_t)s->high_ns, (uint64_t)s->low_ns));
	}
}

/* The first that has all that there is. */
static uint8_t version_of(const struct ifp_clock_samples *samples)
{
	for (uint32_t i = 0; i < samples->collective_count; i++) {
		if (samples->collectives[i].role != IFP_CLOCK_WITH_ALL)
			return ROLES_VERSION;
	}
	if (samples->suspension_count)
		return SUSPENSIONS_VERSION;
	return samples->collective_count || samples->collectives_left_out ? COLLECTIVES_VERSION
									  : SAMPLES_VERSION;
}

void ifp_clock_samples_encode(const struct ifp_clock_samples *samples, struct ifp_buf *payload)
{
	struct ifp_clock_tuple last = {0};
	uint8_t version = version_of(samples);

	ifp_buf_append_u8(payload, version);
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
	for (uint32_t i = 0; i < samples->edge_count; i++)
		encode_edge(&samples->edges[i], payload);
	if (version >= COLLECTIVES_VERSION)
		encode_collectives(samples, version >= ROLES_VERSION, payload);
	if (version >= SUSPENSIONS_VERSION)
		encode_suspensions(samples, payload);
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

static struct look *read_looks(struct ifp_cursor *cursor, bool roles, uint32_t *count)
{
	struct look *looks;

	*count = read_count(cursor, LOOK_MIN_BYTES);
	looks = calloc((size_t)*count + 1, sizeof(*looks));
	for (uint32_t i = 0; looks && i < *count; i++) {
		looks[i].group = ifp_cursor_u64(cursor);
		looks[i].kind = ifp_cursor_u64(cursor);
		looks[i].members = read_u32(cursor);
		looks[i].role = roles ? read_u32(cursor) : IFP_CLOCK_WITH_ALL;
		if (looks[i].role > IFP_CLOCK_LOOSE)
			cursor->failed = true;
	}
	return looks;
}

static int read_collectives(
	struct ifp_cursor *cursor, bool roles, struct ifp_clock_samples *samples)
{
	IFP_CLEANUP_FREE struct look *looks = NULL;
	struct ifp_clock_collective last = {0};
	uint32_t look_count;

	samples->collectives_left_out = ifp_cursor_varint(cursor);
	looks = read_looks(cursor, roles, &look_count);
	samples->collective_count = read_count(cursor, COLLECTIVE_MIN_BYTES);
	samples->collectives =
		calloc((size_t)samples->collective_count + 1, sizeof(*samples->collectives));
	if (!looks || !samples->collectives)
		return ifp_fail(-ENOMEM, "read %u collectives", samples->collective_count);
	for (uint32_t i = 0; i < samples->collective_count; i++) {
		struct ifp_clock_collective *c = &samples->collectives[i];
		uint32_t look = read_u32(cursor);

		if (look >= look_count) {
			cursor->failed = true;
			return 0;
		}
		c->group = looks[look].group;
		c->kind = looks[look].kind;
		c->members = (uint32_t)looks[look].members;
		c->role = (enum ifp_clock_role)looks[look].role;
		c->enter_ns = plus(last.enter_ns, ifp_cursor_svarint(cursor));
		c->exit_ns = plus(c->enter_ns, ifp_cursor_svarint(cursor));
		c->step = plus(last.step, ifp_cursor_svarint(cursor));
		last = *c;
	}
	return 0;
}

static int read_suspensions(struct ifp_cursor *cursor, struct ifp_clock_samples *samples)
{
	samples->suspension_count = read_count(cursor, SUSPENSION_MIN_BYTES);
	samples->suspensions =
		calloc((size_t)samples->suspension_count + 1, sizeof(*samples->suspensions));
	if (!samples->suspensions)
		return ifp_fail(-ENOMEM, "read %u suspensions", samples->suspension_count);
	for (uint32_t i = 0; i < samples->suspension_count; i++) {
		struct ifp_clock_suspension *s = &samples->suspensions[i];

		s->after_raw_ns = ifp_cursor_svarint(cursor);
		s->before_raw_ns = plus(s->after_raw_ns, ifp_cursor_svarint(cursor));
		s->low_ns = ifp_cursor_svarint(cursor);
		s->high_ns = plus(s->low_ns, ifp_cursor_svarint(cursor));
	}
	return 0;
}

int ifp_clock_samples_decode(const void *payload, size_t len_bytes, struct ifp_clock_samples *out)
{
	IFP_CLEANUP(ifp_clock_samples_free) struct ifp_clock_samples samples = {0};
	struct ifp_cursor cursor = ifp_cursor(payload, len_bytes);
	uint8_t version = ifp_cursor_u8(&cursor);

	if (!cursor.failed && (version < SAMPLES_VERSION || version > ROLES_VERSION))
		return ifp_fail(-EBADMSG, "clock samples of version %u, not %u to %u", version,
			SAMPLES_VERSION, ROLES_VERSION);
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
	if (version >= COLLECTIVES_VERSION &&
		read_collectives(&cursor, version >= ROLES_VERSION, &samples))
		return -ENOMEM;
	if (version >= SUSPENSIONS_VERSION && read_suspensions(&cursor, &samples))
		return -ENOMEM;
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
	free(samples->collectives);
	free(samples->suspensions);
	*samples = (struct ifp_clock_samples){0};
}
