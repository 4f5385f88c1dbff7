/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls of MPI are kept for clocks: the same ones on all ranks, without asking. */
#include "agent/capture/mpi_series.h"

#include "test.h"

static const struct ifp_mpi_record barrier = {.bytes = IFP_MPI_BYTES_UNKNOWN};

static void add(struct ifp_mpi_series *series, uint64_t first, uint64_t last)
{
	struct ifp_mpi_record call = barrier;

	for (uint64_t n = first; n <= last; n++) {
		call.number = n;
		call.order = 1000 + n;
		call.start = 10 * n;
		ifp_mpi_series_add(series, IFP_MPI_BARRIER, &call, 10 * n + 5);
	}
}

static void all_are_kept_while_there_is_room(void **state)
{
	struct ifp_mpi_series series = {.room = 8};

	(void)state;
	add(&series, 101, 108);
	assert_int_equal(series.count, 8);
	assert_int_equal(series.items[7].number, 108);
	assert_int_equal(series.items[7].order, 1108);
	assert_int_equal(series.items[7].start, 1080);
	assert_int_equal(series.items[7].end, 1085);
}

static void beyond_it_the_multiples_of_a_power_of_two_are(void **state)
{
	struct ifp_mpi_series series = {.room = 8};

	(void)state;
	add(&series, 1, 1000);
	assert_in_range(series.count, 4, 8);
	for (uint32_t i = 0; i < series.count; i++)
		assert_int_equal(series.items[i].number, (i + 1) * 128);
	ifp_mpi_series_clear(&series);
	add(&series, 1001, 1002);
	assert_int_equal(series.count, 2);
}

/* A stretch of time has other numbers on each rank: what two chose meets in the larger stride. */
static void ranks_out_of_step_choose_common_ones(void **state)
{
	struct ifp_mpi_series one = {.room = 8}, other = {.room = 8};
	uint32_t common = 0;

	(void)state;
	add(&one, 1000, 1900);
	add(&other, 1300, 2700);
	for (uint32_t i = 0; i < one.count; i++)
		for (uint32_t k = 0; k < other.count; k++)
			common += one.items[i].number == other.items[k].number;
	assert_in_range(common, 2, 8);
}

static void a_room_of_one_has_the_last_power_that_was_met(void **state)
{
	struct ifp_mpi_series series = {.room = 1};

	(void)state;
	add(&series, 1, 100);
	assert_int_equal(series.count, 1);
	assert_int_equal(series.items[0].number, 64);
}

static void what_waits_for_nobody_is_left_out(void **state)
{
	static const struct {
		enum ifp_mpi_call which;
		struct ifp_mpi_record call;
		uint32_t kept;
	} cases[] = {
		{IFP_MPI_ALLREDUCE, {.number = 1, .bytes = 8}, 1},
		{IFP_MPI_ALLREDUCE, {.number = 1, .bytes = 0}, 0},
		{IFP_MPI_ALLREDUCE, {.number = 1, .bytes = IFP_MPI_BYTES_UNKNOWN}, 0},
		{IFP_MPI_ALLTOALL, {.number = 1, .bytes = 8}, 1},
		{IFP_MPI_ALLGATHER, {.number = 1, .bytes = 8}, 1},
		{IFP_MPI_ALLGATHERV, {.number = 1, .bytes = 8}, 0},
		{IFP_MPI_REDUCE_SCATTER_BLOCK, {.number = 1, .bytes = 8}, 1},
		{IFP_MPI_REDUCE_SCATTER, {.number = 1, .bytes = 8}, 0},
		{IFP_MPI_BCAST, {.number = 1, .bytes = 8}, 0},
		{IFP_MPI_REDUCE, {.number = 1, .bytes = 8}, 0},
		{IFP_MPI_BARRIER, {.number = 1, .result = 5}, 0},
		{IFP_MPI_BARRIER, {.number = 0}, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ifp_mpi_series series = {.room = 8};

		ifp_mpi_series_add(&series, cases[i].which, &cases[i].call, 9);
		assert_int_equal(series.count, cases[i].kept);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_kept_while_there_is_room),
		cmocka_unit_test(beyond_it_the_multiples_of_a_power_of_two_are),
		cmocka_unit_test(ranks_out_of_step_choose_common_ones),
		cmocka_unit_test(a_room_of_one_has_the_last_power_that_was_met),
		cmocka_unit_test(what_waits_for_nobody_is_left_out),
	};

	return RUN_TESTS(tests);
}
