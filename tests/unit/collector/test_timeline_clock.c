/* SPDX-License-Identifier: Apache-2.0 */
/* The tracks that tell how sure a clock is. */
#include "collector/timeline/clock_counters.h"

#include "core/cleanup.h"
#include "core/time.h"

#include "make_archive.h"
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

/* Ranks 1 and 2 share a clock that was compared at 0 and at 20 s, to a microsecond. */
#define HALF_NS 1000
#define END_NS	(20 * IFP_NS_PER_S)

/* Between two exchanges 20 s apart, 50 ppm to each side. */
#define PEAK_NS (END_NS / 2 * 50 / 1000000)

static struct ifp_run *run;

static int setup(void **state)
{
	static char path[] = "/tmp/infprof-clock-XXXXXX";
	struct archive_maker maker;
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0)
		return -1;
	close(fd);
	archive_maker_open(&maker, path, 4);
	for (uint32_t rank = 1; rank < 3; rank++) {
		maker.ranks[rank].host = "far";
		maker.ranks[rank].raw_offset_ns = 137 * IFP_NS_PER_S;
		maker.ranks[rank].edge_ns = HALF_NS;
	}
	maker.ranks[3].host = "alone";
	archive_maker_steps(&maker, 1, END_NS - IFP_NS_PER_S);
	archive_maker_close(&maker);
	assert_ok(ifp_run_open(path, &run));
	unlink(path);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ifp_run_close(&run);
	return 0;
}

static void the_first_rank_of_a_measured_clock_has_its_tracks(void **state)
{
	IFP_CLEANUP_COUNTERS struct ifp_counters counters = {0};

	(void)state;
	for (uint32_t rank = 0; rank < 4; rank++) {
		assert_ok(ifp_counters_add_clock(run, rank, 0, END_NS, 400, &counters));
		assert_int_equal(counters.count, rank ? 2 : 0);
	}
	assert_string_equal(counters.items[0].name, "clock bound");
	assert_string_equal(counters.items[1].name, "clock sigma");
}

static void the_bound_peaks_between_two_exchanges(void **state)
{
	IFP_CLEANUP_COUNTERS struct ifp_counters counters = {0};
	const struct ifp_samples *bound;
	int64_t most = 0;

	(void)state;
	assert_ok(ifp_counters_add_clock(run, 1, 0, END_NS, 400, &counters));
	bound = &counters.items[0].samples;
	/* the first of 100 intervals ends 0.2 s after the exchange: 10 us of drift */
	assert_int_equal(bound->items[0].at_ns, 0);
	assert_in_range(bound->items[0].value, 10000 + HALF_NS, 10000 + HALF_NS + 5);
	for (uint32_t k = 0; k < bound->count; k++)
		most = bound->items[k].value > most ? bound->items[k].value : most;
	/* and by as much as the estimate is beside the middle */
	assert_in_range(most, PEAK_NS + HALF_NS, PEAK_NS + HALF_NS + 100);
}

static void points_are_no_more_than_may_be(void **state)
{
	IFP_CLEANUP_COUNTERS struct ifp_counters counters = {0};

	(void)state;
	assert_ok(ifp_counters_add_clock(run, 1, 0, END_NS, 50, &counters));
	assert_in_range(counters.items[0].samples.count, 45, 50);
	assert_in_range(counters.items[1].samples.count, 1, 50);
}

static void an_empty_stretch_has_no_tracks(void **state)
{
	IFP_CLEANUP_COUNTERS struct ifp_counters counters = {0};

	(void)state;
	assert_ok(ifp_counters_add_clock(run, 1, 7, 7, 400, &counters));
	assert_int_equal(counters.count, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_rank_of_a_measured_clock_has_its_tracks),
		cmocka_unit_test(the_bound_peaks_between_two_exchanges),
		cmocka_unit_test(points_are_no_more_than_may_be),
		cmocka_unit_test(an_empty_stretch_has_no_tracks),
	};

	return cmocka_run_group_tests_name(__FILE__, tests, setup, teardown);
}
