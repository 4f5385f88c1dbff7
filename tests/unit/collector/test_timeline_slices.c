/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/slices.h"

#include "collector/timeline/rounding.h"
#include "test.h"

struct fixture {
	struct ifp_lanes lanes;
	struct ifp_slices slices;
	uint32_t lane;
};

static void begin(struct fixture *f)
{
	const struct ifp_lane lane = {.kind = IFP_LANE_THREAD, .pid = 1, .tid = 1};

	*f = (struct fixture){0};
	assert_ok(ifp_lanes_find(&f->lanes, &lane, &f->lane));
}

static void end(struct fixture *f)
{
	ifp_slices_free(&f->slices);
	ifp_lanes_free(&f->lanes);
}

static void add(struct fixture *f, int64_t start_ns, int64_t dur_ns)
{
	assert_ok(ifp_slices_add(&f->slices, &(struct ifp_slice){.start_ns = start_ns,
						     .dur_ns = dur_ns,
						     .lane = f->lane,
						     .event = f->slices.count}));
}

/* The slice that was added as the n-th. */
static const struct ifp_slice *nth(const struct fixture *f, uint32_t n)
{
	for (uint32_t i = 0; i < f->slices.count; i++)
		if (f->slices.items[i].event == n)
			return &f->slices.items[i];
	fail_msg("slice %u is gone", n);
	return NULL;
}

static void slices_that_nest_share_a_sublane(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, 0, 100);
	add(&f, 10, 50);
	add(&f, 60, 40); /* touches the one before, ends with the outer one */
	add(&f, 100, 5); /* begins where the outer one ends */
	assert_ok(ifp_slices_arrange(&f.slices, &f.lanes));
	assert_int_equal(f.lanes.rows[f.lane].sublanes, 1);
	assert_int_equal(nth(&f, 1)->parent, 0);
	assert_int_equal(nth(&f, 2)->parent, 0);
	assert_true(nth(&f, 3)->parent == IFP_SLICE_NONE);
	end(&f);
}

static void a_partial_overlap_goes_to_the_next_sublane(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, 0, 100);
	add(&f, 50, 100);  /* out of the first: second sub-lane */
	add(&f, 120, 100); /* out of the second, but the first is free again */
	add(&f, 130, 10);
	assert_ok(ifp_slices_arrange(&f.slices, &f.lanes));
	assert_int_equal(f.lanes.rows[f.lane].sublanes, 2);
	assert_int_equal(nth(&f, 0)->sublane, 0);
	assert_int_equal(nth(&f, 1)->sublane, 1);
	assert_int_equal(nth(&f, 2)->sublane, 0);
	assert_int_equal(nth(&f, 3)->sublane, 0);
	end(&f);
}

static void slices_without_length_nest(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, 5, 0);
	add(&f, 5, 0);
	add(&f, 5, 10);
	add(&f, 15, 0);
	assert_ok(ifp_slices_arrange(&f.slices, &f.lanes));
	assert_int_equal(f.lanes.rows[f.lane].sublanes, 1);
	end(&f);
}

static void a_step_goes_around_what_has_its_extent(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, 0, 10);
	assert_ok(ifp_slices_add(&f.slices,
		&(struct ifp_slice){.dur_ns = 10, .lane = f.lane, .event = IFP_SLICE_NONE}));
	assert_ok(ifp_slices_arrange(&f.slices, &f.lanes));
	assert_true(f.slices.items[0].event == IFP_SLICE_NONE);
	assert_int_equal(f.slices.items[1].parent, 0);
	end(&f);
}

static void what_finds_no_sublane_is_counted(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	for (int64_t i = 0; i < IFP_MAX_SUBLANES + 3; i++)
		add(&f, i, 1000);
	assert_ok(ifp_slices_arrange(&f.slices, &f.lanes));
	assert_int_equal(f.slices.crowded, 3);
	assert_int_equal(f.lanes.rows[f.lane].crowded, 3);
	assert_true(nth(&f, IFP_MAX_SUBLANES)->sublane == IFP_SLICE_NONE);
	assert_int_equal(f.lanes.rows[f.lane].sublanes, IFP_MAX_SUBLANES);
	end(&f);
}

static void the_innermost_open_slice_is_found(void **state)
{
	struct fixture f;
	const struct ifp_lane_row *row;

	(void)state;
	begin(&f);
	add(&f, 10, 100);
	add(&f, 20, 10);
	add(&f, 20, 5);
	assert_ok(ifp_slices_arrange(&f.slices, &f.lanes));
	row = &f.lanes.rows[f.lane];
	assert_true(ifp_slices_at(&f.slices, row, 9) == IFP_SLICE_NONE);
	assert_int_equal(ifp_slices_at(&f.slices, row, 10), 0);
	assert_int_equal(ifp_slices_at(&f.slices, row, 20), 2);
	assert_int_equal(ifp_slices_at(&f.slices, row, 26), 1);
	assert_int_equal(ifp_slices_at(&f.slices, row, 31), 0);
	assert_int_equal(ifp_slices_at(&f.slices, row, 110), 0);
	assert_true(ifp_slices_at(&f.slices, row, 111) == IFP_SLICE_NONE);
	end(&f);
}

/* xorshift64: the same slices on every machine. */
static int64_t random_below(uint64_t *seed, uint64_t limit)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (int64_t)(*seed % limit);
}

static int64_t end_of(const struct ifp_slice *slice)
{
	return slice->start_ns + slice->dur_ns;
}

/* The naive way: the first sub-lane, of as many as it takes, on which nothing is crossed. */
static void assert_first_fit(const struct ifp_slices *slices)
{
	enum { MOST = 1000 };
	uint32_t top[MOST], count = 0;

	for (uint32_t i = 0; i < slices->count; i++) {
		const struct ifp_slice *slice = &slices->items[i];
		uint32_t k;

		for (k = 0; k < count; k++) {
			while (top[k] != IFP_SLICE_NONE &&
				end_of(&slices->items[top[k]]) <= slice->start_ns)
				top[k] = slices->items[top[k]].parent;
			if (top[k] == IFP_SLICE_NONE ||
				end_of(&slices->items[top[k]]) >= end_of(slice))
				break;
		}
		if (k == count)
			top[count++] = IFP_SLICE_NONE;
		assert_true(slice->parent == top[k]);
		assert_true(slice->sublane == (k < IFP_MAX_SUBLANES ? k : IFP_SLICE_NONE));
		top[k] = i;
	}
}

static void crowded_slices_are_in_what_is_around_them(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;

	(void)state;
	for (int round = 0; round < 30; round++) {
		struct fixture f;

		begin(&f);
		/* Those that begin later end later: as many cross as are open. Some lie inside. */
		for (int i = 0; i < 900; i++)
			add(&f, random_below(&seed, 2000),
				random_below(&seed, 4) ? 1000 + random_below(&seed, 50)
						       : random_below(&seed, 300));
		assert_ok(ifp_slices_arrange(&f.slices, &f.lanes));
		assert_true(f.slices.crowded > 200);
		assert_first_fit(&f.slices);
		end(&f);
	}
}

/* Every two slices of a sub-lane: apart, or one inside the other. */
static void assert_laid_out(const struct ifp_slices *slices)
{
	for (uint32_t i = 0; i < slices->count; i++) {
		for (uint32_t j = i + 1; j < slices->count; j++) {
			const struct ifp_slice *a = &slices->items[i], *b = &slices->items[j];

			if (a->sublane == b->sublane && a->sublane != IFP_SLICE_NONE)
				assert_true(end_of(a) <= b->start_ns || end_of(b) <= end_of(a));
		}
	}
}

static void any_slices_nest_on_their_sublanes(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct fixture f;

		begin(&f);
		for (int i = 0; i < 60; i++)
			add(&f, random_below(&seed, 200), random_below(&seed, 50));
		assert_ok(ifp_slices_arrange(&f.slices, &f.lanes));
		assert_laid_out(&f.slices);
		end(&f);
	}
}

static double end_us(const struct ifp_slice *slice)
{
	return (double)slice->start_ns / 1000.0 + (double)slice->dur_ns / 1000.0;
}

/* 0.1 us + 0.2 us is more than 0.3 us in doubles. */
static void ends_are_right_in_doubles_too(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	for (int64_t start_ns = 100; start_ns < 300000; start_ns += 200)
		add(&f, start_ns, 200);
	assert_ok(ifp_slices_arrange(&f.slices, &f.lanes));
	ifp_rounding_fit(&f.slices);
	for (uint32_t i = 0; i + 1 < f.slices.count; i++) {
		assert_true(end_us(&f.slices.items[i]) <=
			    (double)f.slices.items[i + 1].start_ns / 1000.0);
		assert_in_range(f.slices.items[i].dur_ns, 198, 200);
	}
	assert_int_equal(f.slices.items[0].dur_ns, 199);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_that_nest_share_a_sublane),
		cmocka_unit_test(a_partial_overlap_goes_to_the_next_sublane),
		cmocka_unit_test(slices_without_length_nest),
		cmocka_unit_test(a_step_goes_around_what_has_its_extent),
		cmocka_unit_test(what_finds_no_sublane_is_counted),
		cmocka_unit_test(the_innermost_open_slice_is_found),
		cmocka_unit_test(any_slices_nest_on_their_sublanes),
		cmocka_unit_test(crowded_slices_are_in_what_is_around_them),
		cmocka_unit_test(ends_are_right_in_doubles_too),
	};

	return RUN_TESTS(tests);
}
