/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/halves.h"

#include "test.h"

#include <inttypes.h>
#include <stdio.h>

#define MAX_EVENTS 12

/* An event as a trace has it: of process 1 and thread 1 unless they are told. */
struct half {
	char phase;
	int64_t start_ns;
	const char *name;
	const char *extra;
	int64_t pid, tid;
	const char *args;
	int64_t dur_ns;
	const char *category;
};

struct joined {
	const char *what;
	struct half events[MAX_EVENTS];
	const char *drawn; /* in order: phase, name, start, duration, of slices also args */
};

#define ID(id) "{\"id\":" id "}"
#define HALF(ph, at, called, ...)                                                                  \
	{                                                                                          \
		.phase = ph, .start_ns = at, .name = called, ##__VA_ARGS__                         \
	}

static const struct joined cases[] = {
	{"one inside of the other",
		{HALF('B', 1, "a"), HALF('B', 2, "b"), HALF('E', 3, "b"), HALF('E', 5, "a")},
		"X a 1+4 X b 2+1"},
	{"ends need no name",
		{HALF('B', 1, "a"), HALF('B', 2, "b"), HALF('E', 3, ""), HALF('E', 5, "")},
		"X a 1+4 X b 2+1"},
	{"the end adds its args",
		{HALF('B', 1, "a", .args = "{\"x\":1}"), HALF('E', 2, "a", .args = "{\"y\":2}")},
		"X a 1+1{\"x\":1,\"y\":2}"},
	{"only the end has args", {HALF('B', 1, "a"), HALF('E', 2, "a", .args = "{\"y\":2}")},
		"X a 1+1{\"y\":2}"},
	{"threads do not mix",
		{HALF('B', 1, "a", .tid = 2), HALF('B', 2, "a", .tid = 3),
			HALF('E', 3, "a", .tid = 2), HALF('E', 9, "a", .tid = 3)},
		"X a 1+2 X a 2+7"},
	{"an end without a beginning", {HALF('E', 1, "a"), HALF('B', 2, "a"), HALF('E', 3, "a")},
		"E a 1+0 X a 2+1"},
	{"a beginning without an end", {HALF('B', 1, "a"), HALF('B', 2, "b"), HALF('E', 3, "a")},
		"X a 1+2 B b 2+0"},
	{"an end of something else", {HALF('B', 1, "a"), HALF('E', 2, "b"), HALF('E', 3, "a")},
		"X a 1+2 E b 2+0"},
	{"nothing at all in between", {HALF('B', 1, "a"), HALF('E', 1, "a")}, "X a 1+0"},
	{"longer ones stay first",
		{HALF('X', 1, "x", .dur_ns = 2), HALF('B', 1, "a"), HALF('E', 9, "a")},
		"X a 1+8 X x 1+2"},
	{"operations overlap",
		{HALF('b', 1, "a", .extra = ID("1")), HALF('b', 2, "a", .extra = ID("2")),
			HALF('e', 3, "a", .extra = ID("1")), HALF('e', 5, "a", .extra = ID("2"))},
		"X a 1+2 X a 2+3"},
	{"operations end on another thread",
		{HALF('b', 1, "a", .extra = ID("1"), .tid = 4),
			HALF('e', 3, "a", .extra = ID("1"), .tid = 5)},
		"X a 1+2"},
	{"ids are of one process",
		{HALF('b', 1, "a", .extra = ID("1"), .pid = 4),
			HALF('e', 3, "a", .extra = ID("1"), .pid = 5)},
		"b a 1+0 e a 3+0"},
	{"unless they are global",
		{HALF('b', 1, "a", .extra = "{\"id2\":{\"global\":\"0x1\"}}", .pid = 4),
			HALF('e', 3, "a", .extra = "{\"id2\":{\"global\":\"0x1\"}}", .pid = 5)},
		"X a 1+2"},
	{"ids are of one category",
		{HALF('b', 1, "a", .extra = ID("1"), .category = "c"),
			HALF('e', 3, "a", .extra = ID("1"), .category = "d")},
		"b a 1+0 e a 3+0"},
	/* NCCL's example plug-in counts the ids of two kinds of one category apart. */
	{"two names with one id",
		{HALF('b', 1, "a", .extra = ID("0")), HALF('b', 2, "b", .extra = ID("0")),
			HALF('e', 3, "a", .extra = ID("0")), HALF('b', 3, "c", .extra = ID("0")),
			HALF('e', 4, "c", .extra = ID("0")), HALF('e', 5, "b", .extra = ID("0"))},
		"X a 1+2 X b 2+3 X c 3+1"},
	{"moments of operations",
		{HALF('b', 1, "a", .extra = ID("1")), HALF('n', 2, "m", .extra = ID("1")),
			HALF('e', 3, "a", .extra = ID("1"))},
		"X a 1+2 i m 2+0"},
	{"older traces",
		{HALF('?', 1, "a", .extra = "{\"id\":1,\"ph\":\"S\"}"),
			HALF('?', 2, "a", .extra = "{\"id\":1,\"ph\":\"T\"}"),
			HALF('?', 3, "a", .extra = "{\"id\":1,\"ph\":\"F\"}"),
			HALF('?', 4, "r", .extra = "{\"ph\":\"R\"}"),
			HALF('?', 5, "o", .extra = "{\"id\":1,\"ph\":\"N\"}")},
		"X a 1+2 i a 2+0 i r 4+0 ? o 5+0"},
};

static const char phases[] = {[IFP_EVENT_SLICE] = 'X',
	[IFP_EVENT_INSTANT] = 'i',
	[IFP_EVENT_BEGIN] = 'B',
	[IFP_EVENT_END] = 'E',
	[IFP_EVENT_ASYNC_BEGIN] = 'b',
	[IFP_EVENT_ASYNC_INSTANT] = 'n',
	[IFP_EVENT_ASYNC_END] = 'e',
	[IFP_EVENT_OTHER] = '?'};

static struct ifp_timed_event timed_of(const struct half *half)
{
	struct ifp_timed_event timed = {.start_ns = half->start_ns, .dur_ns = half->dur_ns};

	while (phases[timed.event.kind] != half->phase)
		timed.event.kind++;
	timed.event.source = IFP_SOURCE_KINETO;
	timed.event.start = half->start_ns;
	timed.event.dur = half->dur_ns;
	timed.event.lane.pid = half->pid ? half->pid : 1;
	timed.event.lane.tid = half->tid ? half->tid : 1;
	timed.event.name = ifp_str(half->name);
	timed.event.category = ifp_str(half->category);
	timed.event.args = ifp_str(half->args);
	timed.event.extra = ifp_str(half->extra);
	return timed;
}

static void load(struct ifp_rank_events *events, const struct half *halves)
{
	*events = (struct ifp_rank_events){.events = calloc(MAX_EVENTS, sizeof(*events->events))};
	assert_non_null(events->events);
	for (; events->count < MAX_EVENTS && halves[events->count].phase; events->count++)
		events->events[events->count] = timed_of(&halves[events->count]);
}

static void describe(const struct ifp_rank_events *events, char *text, size_t size_bytes)
{
	size_t used = 0;

	for (uint64_t i = 0; i < events->count; i++) {
		const struct ifp_timed_event *timed = &events->events[i];
		struct ifp_str phase;

		if (phases[timed->event.kind] != '?')
			assert_false(ifp_args_find(timed->event.extra, "ph", &phase));
		used += (size_t)snprintf(text + used, size_bytes - used,
			"%s%c " IFP_STR_FORMAT " %" PRId64 "+%" PRId64 IFP_STR_FORMAT, i ? " " : "",
			phases[timed->event.kind], IFP_STR_ARGS(timed->event.name), timed->start_ns,
			timed->dur_ns, IFP_STR_ARGS(timed->event.args));
	}
}

static void halves_become_slices(void **state)
{
	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		IFP_CLEANUP_ARENA struct ifp_arena texts = {0};
		struct ifp_rank_events events;
		char drawn[512] = "";

		load(&events, cases[i].events);
		assert_ok(ifp_halves_join(&events, &texts));
		describe(&events, drawn, sizeof(drawn));
		if (strcmp(drawn, cases[i].drawn))
			fail_msg("%s: \"%s\" instead of \"%s\"", cases[i].what, drawn,
				cases[i].drawn);
		ifp_rank_events_free(&events);
	}
}

/* A million beginnings whose ends were lost: looked through in time that grows with their number.
 */
static void beginnings_alone_do_not_hang(void **state)
{
	const uint64_t count = 1000000;
	IFP_CLEANUP_ARENA struct ifp_arena texts = {0};
	struct ifp_rank_events events = {.events = calloc(count, sizeof(*events.events))};

	(void)state;
	assert_non_null(events.events);
	for (; events.count < count; events.count++) {
		bool first = events.count < count / 2;
		struct half half = {.phase = first ? 'B' : 'E',
			.start_ns = (int64_t)events.count,
			.name = first ? "a" : "b"};

		events.events[events.count] = timed_of(&half);
	}
	assert_ok(ifp_halves_join(&events, &texts));
	assert_int_equal(events.count, count);
	ifp_rank_events_free(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_become_slices),
		cmocka_unit_test(beginnings_alone_do_not_hang),
	};

	return RUN_TESTS(tests);
}
