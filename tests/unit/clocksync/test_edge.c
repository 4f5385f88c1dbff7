/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/edge.h"

#include "test.h"

/* A round trip that starts at start_ns and takes out_ns there, back_ns back; held for 100 ns. */
static struct ifp_round_trip trip(
	int64_t start_ns, int64_t offset_ns, int64_t out_ns, int64_t back_ns)
{
	int64_t arrival_ns = start_ns + out_ns;

	return (struct ifp_round_trip){start_ns, arrival_ns + offset_ns,
		arrival_ns + 100 + offset_ns, arrival_ns + 100 + back_ns};
}

/* One nanosecond for rounding, one for the drift within the trip. */
#define SLACK_NS 2

static void interval_is_as_wide_as_the_delays(void **state)
{
	struct ifp_round_trip t = trip(1000000, 777000, 300, 500);
	struct ifp_clock_edge edge = {.client = 0, .server = 1};

	(void)state;
	ifp_edge_start(&edge);
	assert_false(ifp_edge_usable(&edge));
	assert_true(ifp_edge_add(&edge, &t));
	assert_int_equal(edge.low_ns, 777000 - 500 - SLACK_NS);
	assert_int_equal(edge.high_ns, 777000 + 300 + SLACK_NS);
	assert_int_equal(edge.round_trips, 1);
	assert_int_equal(edge.best_t1_ns, 1000000);
	assert_int_equal(edge.best_t4_ns, 1000900);
	assert_true(ifp_edge_usable(&edge));
}

/* Fast on the way out once, fast on the way back once: both ends of the interval profit. */
static void directions_are_bounded_independently(void **state)
{
	struct ifp_round_trip first = trip(0, -5000, 200, 9000);
	struct ifp_round_trip second = trip(10000, -5000, 8000, 100);
	struct ifp_round_trip worse = trip(30000, -5000, 9000, 9000);
	struct ifp_clock_edge edge = {.client = 0, .server = 1};

	(void)state;
	ifp_edge_start(&edge);
	assert_true(ifp_edge_add(&edge, &first));
	assert_true(ifp_edge_add(&edge, &second));
	assert_false(ifp_edge_add(&edge, &worse));
	assert_int_equal(edge.round_trips, 3);
	assert_int_equal(edge.best_t1_ns, 10000);
	/* from the first trip: carried over at most 18.2 us, 1 ns at 50 ppm */
	assert_int_equal(edge.high_ns, -5000 + 200 + SLACK_NS + 1);
	assert_int_equal(edge.low_ns, -5000 - 100 - SLACK_NS);
}

/* What was learnt an hour before or after has no weight left: 50 ppm of 3600 s are 180 ms. */
static void far_knowledge_widens_with_the_drift(void **state)
{
	const struct {
		struct ifp_round_trip far; /* one direction of it took 10 ns, the other 500 us */
		bool first;
	} cases[] = {
		{trip(0, 0, 500 * IFP_NS_PER_US, 10), true},
		{trip(0, 0, 10, 500 * IFP_NS_PER_US), true},
		{trip(7200 * IFP_NS_PER_S, 0, 500 * IFP_NS_PER_US, 10), false},
		{trip(7200 * IFP_NS_PER_S, 0, 10, 500 * IFP_NS_PER_US), false},
	};
	struct ifp_round_trip best = trip(3600 * IFP_NS_PER_S, 0, 1000, 1000);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ifp_clock_edge edge = {.client = 0, .server = 1};

		ifp_edge_start(&edge);
		ifp_edge_add(&edge, cases[i].first ? &cases[i].far : &best);
		ifp_edge_add(&edge, cases[i].first ? &best : &cases[i].far);
		assert_int_equal(edge.best_t1_ns, 3600 * IFP_NS_PER_S);
		assert_int_equal(edge.high_ns, 1000 + SLACK_NS);
		assert_int_equal(edge.low_ns, -1000 - SLACK_NS);
	}
	assert_int_equal(
		ifp_drift_ns(3600 * IFP_NS_PER_S, IFP_CLOCK_DRIFT_PPM), 180 * IFP_NS_PER_MS);
	assert_int_equal(ifp_drift_ns(-1, IFP_CLOCK_DRIFT_PPM), 1);
}

static void impossible_trips_are_left_out(void **state)
{
	const struct ifp_round_trip impossible[] = {
		{100, 0, 0, 99},  /* the client's clock ran backwards */
		{0, 100, 99, 50}, /* the server's */
		{0, 0, 200, 100}, /* held longer than it lasted */
		{INT64_MIN, 0, 0, INT64_MAX},
	};
	struct ifp_clock_edge edge = {.client = 0, .server = 1};

	(void)state;
	ifp_edge_start(&edge);
	for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++)
		assert_false(ifp_edge_add(&edge, impossible + i));
	assert_int_equal(edge.round_trips, 0);
	assert_false(ifp_edge_usable(&edge));
}

/* Offsets that differ by more than delays and drift allow: the clock was set in between. */
static void crossing_interval_is_not_usable(void **state)
{
	struct ifp_round_trip before = trip(0, 0, 100, 100);
	struct ifp_round_trip after = trip(10000, 5000, 100, 100);
	struct ifp_clock_edge edge = {.client = 0, .server = 1};

	(void)state;
	ifp_edge_start(&edge);
	ifp_edge_add(&edge, &before);
	ifp_edge_add(&edge, &after);
	assert_true(edge.low_ns > edge.high_ns);
	assert_false(ifp_edge_usable(&edge));
}

static void edge_to_itself_is_not_usable(void **state)
{
	struct ifp_round_trip t = trip(0, 0, 100, 100);
	struct ifp_clock_edge edge = {.client = 3, .server = 3};

	(void)state;
	ifp_edge_start(&edge);
	ifp_edge_add(&edge, &t);
	assert_false(ifp_edge_usable(&edge));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interval_is_as_wide_as_the_delays),
		cmocka_unit_test(directions_are_bounded_independently),
		cmocka_unit_test(far_knowledge_widens_with_the_drift),
		cmocka_unit_test(impossible_trips_are_left_out),
		cmocka_unit_test(crossing_interval_is_not_usable),
		cmocka_unit_test(edge_to_itself_is_not_usable),
	};

	return RUN_TESTS(tests);
}
