/* SPDX-License-Identifier: Apache-2.0 */
/* What the import of a trace finds out about its times and its pairs. */
#include "collector/import/overlaps.h"
#include "collector/import/pairs.h"
#include "collector/import/span.h"
#include "core/time.h"

#include "test.h"

#include <string.h>

#define DAY_NS (86400 * IFP_NS_PER_S)
#define JOB_NS INT64_C(1796000000000000000)

static void span_of_one_job(void **state)
{
	struct ifp_import_span span = {0};
	int64_t first_ns, last_ns;

	(void)state;
	ifp_import_span_add(&span, JOB_NS + 50, JOB_NS + 60);
	ifp_import_span_add(&span, JOB_NS, JOB_NS + 100);
	assert_int_equal(ifp_import_span_find(&span, &first_ns, &last_ns), 0);
	assert_int_equal(first_ns, JOB_NS);
	assert_int_equal(last_ns, JOB_NS + 100);
}

static void span_without_zero_and_garbage(void **state)
{
	struct ifp_import_span span = {0};
	int64_t first_ns, last_ns;

	(void)state;
	ifp_import_span_add(&span, 0, 1);
	ifp_import_span_add(&span, INT64_MAX - 1, INT64_MAX);
	ifp_import_span_add(&span, INT64_MIN, INT64_MIN);
	ifp_import_span_add(&span, JOB_NS - 60 * DAY_NS, JOB_NS - 60 * DAY_NS);
	ifp_import_span_add(&span, JOB_NS, JOB_NS + 1);
	ifp_import_span_add(&span, JOB_NS + 2, JOB_NS + 3);
	assert_int_equal(ifp_import_span_find(&span, &first_ns, &last_ns), 4);
	assert_int_equal(first_ns, JOB_NS);
	assert_int_equal(last_ns, JOB_NS + 3);
}

static void span_of_a_job_over_days(void **state)
{
	struct ifp_import_span span = {0};
	int64_t first_ns, last_ns;

	(void)state;
	for (int64_t i = 0; i < 20; i++)
		ifp_import_span_add(&span, JOB_NS + i * DAY_NS / 2, JOB_NS + i * DAY_NS / 2 + 1);
	assert_int_equal(ifp_import_span_find(&span, &first_ns, &last_ns), 0);
	assert_int_equal(first_ns, JOB_NS);
	assert_int_equal(last_ns, JOB_NS + 19 * DAY_NS / 2 + 1);
}

/* A slice of a month among others of milliseconds: its end is no end of the job. */
static void span_without_ends_that_cannot_be(void **state)
{
	struct ifp_import_span span = {0};
	int64_t first_ns, last_ns;

	(void)state;
	ifp_import_span_add(&span, JOB_NS, JOB_NS + 5);
	ifp_import_span_add(&span, JOB_NS + 1, JOB_NS + 30 * DAY_NS);
	ifp_import_span_add(&span, JOB_NS + 1, INT64_MAX);
	ifp_import_span_add(&span, JOB_NS + 2, JOB_NS - 30 * DAY_NS); /* has no length */
	/* This start cannot be, whatever the end: counted once. */
	ifp_import_span_add(&span, 0, JOB_NS + 7);
	assert_int_equal(ifp_import_span_find(&span, &first_ns, &last_ns), 3);
	assert_int_equal(first_ns, JOB_NS);
	assert_int_equal(last_ns, JOB_NS + 5);
}

/* Where the job itself goes on for days, a slice may, too. */
static void span_with_slices_of_days(void **state)
{
	struct ifp_import_span span = {0};
	int64_t first_ns, last_ns;

	(void)state;
	ifp_import_span_add(&span, JOB_NS, JOB_NS + 10 * DAY_NS + 7);
	for (int64_t i = 0; i <= 20; i++)
		ifp_import_span_add(&span, JOB_NS + i * DAY_NS / 2, JOB_NS + i * DAY_NS / 2 + 1);
	assert_int_equal(ifp_import_span_find(&span, &first_ns, &last_ns), 0);
	assert_int_equal(first_ns, JOB_NS);
	assert_int_equal(last_ns, JOB_NS + 10 * DAY_NS + 7);
}

static void span_with_long_slices_without_end(void **state)
{
	struct ifp_import_span span = {0};
	int64_t first_ns, last_ns;

	(void)state;
	for (int64_t i = 0; i < 2 * IFP_IMPORT_SPAN_LONGS; i++)
		ifp_import_span_add(&span, JOB_NS, JOB_NS + (i + 2) * DAY_NS);
	ifp_import_span_add(&span, JOB_NS, JOB_NS + 1);
	assert_int_equal(
		ifp_import_span_find(&span, &first_ns, &last_ns), 2 * IFP_IMPORT_SPAN_LONGS);
	assert_int_equal(last_ns, JOB_NS + 1);
}

static void span_of_nothing(void **state)
{
	struct ifp_import_span span = {0};
	int64_t first_ns = 1, last_ns = 1;

	(void)state;
	assert_int_equal(ifp_import_span_find(&span, &first_ns, &last_ns), 0);
	assert_int_equal(first_ns, 0);
	assert_int_equal(last_ns, 0);
}

static void pairs_and_halves(void **state)
{
	struct ifp_import_pairs pairs = {0};

	(void)state;
	for (uint64_t id = 0; id < 10000; id++)
		assert_ok(ifp_import_pairs_add(&pairs, id, IFP_IMPORT_SIDE_FIRST));
	for (uint64_t id = 9000; id < 10500; id++)
		assert_ok(ifp_import_pairs_add(&pairs, id, IFP_IMPORT_SIDE_SECOND));
	assert_int_equal(ifp_import_pairs_count(&pairs, IFP_IMPORT_SIDE_FIRST), 9000);
	assert_int_equal(ifp_import_pairs_count(&pairs, IFP_IMPORT_SIDE_SECOND), 500);
	assert_int_equal(
		ifp_import_pairs_count(&pairs, IFP_IMPORT_SIDE_FIRST | IFP_IMPORT_SIDE_SECOND),
		1000);
	assert_false(pairs.full);
	ifp_import_pairs_free(&pairs);
}

static void pairs_are_bounded(void **state)
{
	struct ifp_import_pairs pairs = {0};

	(void)state;
	for (uint64_t id = 0; id <= IFP_IMPORT_PAIRS_MAX; id++)
		assert_ok(ifp_import_pairs_add(&pairs, id, IFP_IMPORT_SIDE_FIRST));
	assert_true(pairs.full);
	assert_int_equal(pairs.count, IFP_IMPORT_PAIRS_MAX);
	assert_true(pairs.capacity <= 2 * IFP_IMPORT_PAIRS_MAX);
	/* the ids that are known go on to be paired */
	assert_ok(ifp_import_pairs_add(&pairs, 7, IFP_IMPORT_SIDE_SECOND));
	assert_int_equal(
		ifp_import_pairs_count(&pairs, IFP_IMPORT_SIDE_FIRST), IFP_IMPORT_PAIRS_MAX - 1);
	ifp_import_pairs_free(&pairs);
}

static void add_slice(struct ifp_import_overlaps *overlaps, const struct ifp_lane *lane,
	int64_t start_ns, int64_t end_ns)
{
	assert_ok(ifp_import_overlaps_add(overlaps,
		&(struct ifp_event){.lane = *lane, .start = start_ns, .dur = end_ns - start_ns}));
}

struct extents {
	const char *what;
	int64_t ends[6][2]; /* start and end; 0, 0 = no more */
	uint64_t found;
};

static const struct extents of_one_lane[] = {
	{"apart", {{10, 20}, {20, 30}, {40, 50}}, 0},
	{"within", {{10, 50}, {10, 20}, {20, 50}, {30, 40}}, 0},
	{"the same twice", {{10, 20}, {10, 20}}, 0},
	{"partly", {{10, 20}, {15, 25}}, 1},
	{"by one ns", {{10, 20}, {19, 21}}, 1},
	{"the later one first in the file", {{15, 25}, {10, 20}}, 1},
	{"beginning together, the shorter one first", {{10, 20}, {10, 25}}, 0},
	{"a staircase", {{10, 20}, {11, 21}, {12, 22}, {13, 23}}, 3},
	{"over a boundary of an inner one", {{10, 50}, {12, 20}, {15, 30}, {25, 40}}, 2},
	{"behind one that was partly over", {{10, 20}, {15, 25}, {20, 25}, {21, 22}}, 1},
	{"without length", {{10, 20}, {15, 15}, {20, 20}, {10, 10}}, 0},
	{"with an end before the start", {{10, 20}, {15, 5}, {12, -70}}, 0},
	{"inside the end of a longer one", {{10, 100}, {20, 90}, {30, 95}, {40, 110}}, 2},
};

static void overlaps_of_one_lane(void **state)
{
	const struct ifp_lane lane = {.pid = 1, .tid = 2};

	(void)state;
	for (size_t i = 0; i < sizeof(of_one_lane) / sizeof(of_one_lane[0]); i++) {
		struct ifp_import_overlaps overlaps = {0};
		const struct extents *it = &of_one_lane[i];

		for (size_t k = 0; k < 6 && it->ends[k][0]; k++)
			add_slice(&overlaps, &lane, it->ends[k][0], it->ends[k][1]);
		assert_ok(ifp_import_overlaps_settle(&overlaps));
		if (overlaps.found != it->found)
			fail_msg("%s: %llu instead of %llu", it->what,
				(unsigned long long)overlaps.found, (unsigned long long)it->found);
		assert_false(overlaps.partial);
		ifp_import_overlaps_free(&overlaps);
	}
}

/* One slice over the end of another in each case, on lanes that differ in one thing. */
static void overlaps_are_of_one_lane(void **state)
{
	const struct ifp_lane lanes[] = {{.pid = 1, .tid = 2}, {.pid = 2, .tid = 2},
		{.pid = 1, .tid = 1}, {.pid = 1, .tid = 2, .kind = IFP_LANE_STREAM},
		{.pid = 1, .tid = 2, .pid_text = ifp_str("\"a\"")},
		{.pid = 1, .tid = 2, .tid_text = ifp_str("\"a\"")}};
	struct ifp_import_overlaps overlaps = {0};

	(void)state;
	for (int64_t i = 0; i < 6; i++)
		add_slice(&overlaps, &lanes[i], 10 + i, 20 + i);
	assert_ok(ifp_import_overlaps_settle(&overlaps));
	assert_int_equal(overlaps.found, 0);
	for (int64_t i = 0; i < 6; i++) {
		add_slice(&overlaps, &lanes[i], 10, 20);
		add_slice(&overlaps, &lanes[i], 15, 25);
	}
	assert_ok(ifp_import_overlaps_settle(&overlaps));
	assert_int_equal(overlaps.found, 6);
	ifp_import_overlaps_free(&overlaps);
}

/* Against the definition itself, pair by pair. */
static void overlaps_at_random(void **state)
{
	const struct ifp_lane lane = {.pid = 1, .tid = 2};
	uint64_t seed = 0x9e3779b97f4a7c15;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct ifp_import_overlaps overlaps = {0};
		int64_t starts[60], ends[60];
		uint64_t found = 0;

		for (size_t i = 0; i < 60; i++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			starts[i] = (int64_t)(seed % 100);
			ends[i] = starts[i] + (int64_t)(seed >> 32) % 20;
			add_slice(&overlaps, &lane, starts[i], ends[i]);
		}
		for (size_t i = 0; i < 60; i++) {
			bool partly = false;

			for (size_t k = 0; k < 60; k++)
				partly |= starts[k] < starts[i] && starts[i] < ends[k] &&
					  ends[k] < ends[i];
			found += partly;
		}
		assert_ok(ifp_import_overlaps_settle(&overlaps));
		assert_int_equal(overlaps.found, found);
		ifp_import_overlaps_free(&overlaps);
	}
}

static void overlaps_are_bounded(void **state)
{
	struct ifp_import_overlaps overlaps = {0};
	struct ifp_lane lane = {.pid = 1};

	(void)state;
	for (int64_t i = 0; i <= IFP_IMPORT_OVERLAPS_MAX_SLICES; i++)
		add_slice(&overlaps, &lane, i, i + 2);
	assert_true(overlaps.partial);
	assert_int_equal(overlaps.held, 1);
	assert_int_equal(overlaps.found, IFP_IMPORT_OVERLAPS_MAX_SLICES - 1);
	ifp_import_overlaps_free(&overlaps);
	for (lane.tid = 0; lane.tid <= IFP_IMPORT_OVERLAPS_MAX_LANES; lane.tid++)
		add_slice(&overlaps, &lane, 1, 2);
	assert_true(overlaps.partial);
	assert_int_equal(overlaps.lane_count, IFP_IMPORT_OVERLAPS_MAX_LANES);
	ifp_import_overlaps_free(&overlaps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(span_of_one_job),
		cmocka_unit_test(span_without_zero_and_garbage),
		cmocka_unit_test(span_of_a_job_over_days),
		cmocka_unit_test(span_without_ends_that_cannot_be),
		cmocka_unit_test(span_with_slices_of_days),
		cmocka_unit_test(span_with_long_slices_without_end),
		cmocka_unit_test(span_of_nothing),
		cmocka_unit_test(pairs_and_halves),
		cmocka_unit_test(pairs_are_bounded),
		cmocka_unit_test(overlaps_of_one_lane),
		cmocka_unit_test(overlaps_are_of_one_lane),
		cmocka_unit_test(overlaps_at_random),
		cmocka_unit_test(overlaps_are_bounded),
	};

	return RUN_TESTS(tests);
}
