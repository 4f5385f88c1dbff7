/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/analyse/activity.h"

#include "core/cleanup.h"

#include "test.h"

static struct ifp_timed_event slice(
	const char *category, const char *name, int64_t start_ns, uint64_t correlation)
{
	return (struct ifp_timed_event){.event = {.kind = IFP_EVENT_SLICE,
						.source = IFP_SOURCE_KINETO,
						.correlation = correlation,
						.name = ifp_str(name),
						.category = ifp_str(category)},
		.start_ns = start_ns,
		.dur_ns = 10};
}

static struct ifp_timed_event mark(uint64_t step, int64_t end_ns)
{
	return (struct ifp_timed_event){.event = {.kind = IFP_EVENT_INSTANT,
						.source = IFP_SOURCE_STEP,
						.correlation = step,
						.name = ifp_str("step"),
						.category = ifp_str("step")},
		.start_ns = end_ns};
}

static struct ifp_str name_of(const struct ifp_activity *activity, struct ifp_collective c)
{
	return ifp_intern_text(&activity->names, c.name);
}

/* A mark ends its step: what starts until then belongs to it; behind the last there is no step. */
static void a_collective_belongs_to_the_step_whose_end_comes_next(void **state)
{
	const struct ifp_timed_event events[] = {
		slice("user_annotation", "gloo:all_reduce", 50, 0),
		mark(4, 100),
		slice("user_annotation", "gloo:broadcast", 101, 0),
		slice("user_annotation", "gloo:all_reduce", 150, 0),
		mark(5, 200),
		slice("user_annotation", "gloo:all_reduce", 250, 0),
	};
	IFP_CLEANUP_ACTIVITY struct ifp_activity activity = {0};
	struct ifp_rank_activity rank = {0};

	(void)state;
	assert_ok(ifp_activity_take(&activity, events, IFP_ARRAY_SIZE(events), &rank));
	assert_int_equal(rank.mark_count, 2);
	assert_int_equal(rank.host_count, 3);
	assert_int_equal(rank.without_step, 1);
	assert_int_equal(rank.host[0].step, 4);
	assert_int_equal(rank.host[0].start_ns, 50);
	assert_int_equal(rank.host[1].step, 5);
	assert_str(name_of(&activity, rank.host[1]), "broadcast");
	assert_int_equal(rank.host[2].step, 5);
	assert_int_equal(rank.host[2].name, rank.host[0].name);
}

static struct ifp_timed_event own_step(uint64_t number, int64_t start_ns, int64_t dur_ns)
{
	return (struct ifp_timed_event){.event = {.kind = IFP_EVENT_SLICE,
						.source = IFP_SOURCE_MARK,
						.correlation = number,
						.name = ifp_str("step"),
						.category = ifp_str("step")},
		.start_ns = start_ns,
		.dur_ns = dur_ns};
}

static void steps_that_a_program_names_itself_count_where_no_optimizer_does(void **state)
{
	const struct ifp_timed_event events[] = {
		own_step(1, 0, 100),
		own_step(2, 100, 50),
		mark(7, 160),
	};
	IFP_CLEANUP_ACTIVITY struct ifp_activity activity = {0};
	struct ifp_rank_activity rank = {0};

	(void)state;
	assert_ok(ifp_activity_take(&activity, events, 2, &rank));
	assert_int_equal(rank.mark_count, 2);
	assert_int_equal(rank.marks[0].end_ns, 100);
	assert_int_equal(rank.marks[1].step, 2);
	assert_int_equal(rank.marks[1].end_ns, 150);

	assert_ok(ifp_activity_take(&activity, events, 3, &rank));
	assert_int_equal(rank.mark_count, 1);
	assert_int_equal(rank.marks[0].step, 7);
}

static void only_collectives_of_the_host_are_taken_as_such(void **state)
{
	const struct ifp_timed_event events[] = {
		slice("cpu_op", "nccl:all_gather", 1, 0),
		slice("gpu_user_annotation", "nccl:all_gather", 2, 0),
		slice("cpu_op", "c10d::allreduce_", 3, 0),
		slice("user_annotation", "nccl:send 0->1", 4, 0),
		slice("user_annotation", "gloo:recv", 5, 0),
		slice("cpu_op", "aten::add", 6, 0),
		mark(1, 100),
	};
	IFP_CLEANUP_ACTIVITY struct ifp_activity activity = {0};
	struct ifp_rank_activity rank = {0};

	(void)state;
	assert_ok(ifp_activity_take(&activity, events, IFP_ARRAY_SIZE(events), &rank));
	assert_int_equal(rank.host_count, 1);
	assert_str(name_of(&activity, rank.host[0]), "all_gather");
}

/* The GPU runs behind: the kernel starts in step 2 but was launched in step 1, so it is of 1. */
static void a_kernel_belongs_to_the_step_of_its_launch(void **state)
{
	const char *kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)";
	const struct ifp_timed_event events[] = {
		slice("cuda_runtime", "cudaLaunchKernelExC", 10, 77),
		slice("cuda_runtime", "cudaLaunchKernelExC", 20, 78),
		mark(1, 100),
		slice("kernel", kernel, 130, 77),
		slice("kernel", "ampere_sgemm", 150, 78),
		slice("kernel", kernel, 160, 99), /* its launch was not recorded */
		slice("kernel", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage)", 170, 78),
		mark(2, 200),
	};
	IFP_CLEANUP_ACTIVITY struct ifp_activity activity = {0};
	struct ifp_rank_activity rank = {0};

	(void)state;
	assert_ok(ifp_activity_take(&activity, events, IFP_ARRAY_SIZE(events), &rank));
	assert_int_equal(rank.device_count, 1);
	assert_int_equal(rank.device[0].step, 1);
	assert_int_equal(rank.device[0].start_ns, 130);
	assert_str(name_of(&activity, rank.device[0]), "AllReduce");
}

static void step_times_come_from_marks_that_follow_each_other(void **state)
{
	/* 3 is missing: 2 to 4 took 500 for two steps */
	const struct ifp_timed_event events[] = {mark(1, 100), mark(2, 300), mark(4, 800),
		mark(5, 900), mark(5, 950) /* counts no further: left out */};
	IFP_CLEANUP_ACTIVITY struct ifp_activity activity = {0};
	struct ifp_rank_activity rank = {0}, none = {0};
	struct ifp_step_times times;

	(void)state;
	assert_ok(ifp_activity_take(&activity, events, IFP_ARRAY_SIZE(events), &rank));
	times = ifp_activity_step_times(&rank);
	assert_int_equal(times.steps, 4);
	assert_int_equal(times.mean_ns, 200);
	assert_int_equal(times.max_ns, 200);
	assert_int_equal(ifp_activity_step_times(&none).mean_ns, 0);
}

static struct ifp_timed_event mpi_call(const char *name, int64_t start_ns, const char *args)
{
	struct ifp_timed_event call = slice("mpi", name, start_ns, 0);

	call.event.source = IFP_SOURCE_MARK;
	call.event.args = ifp_str(args);
	return call;
}

/* On any other communicator than the world nobody knows who meets whom. */
static void calls_of_mpi_are_collectives_on_the_world(void **state)
{
	const char *world = "{\"Process Group Name\":\"MPI_COMM_WORLD\",\"Group size\":4}";
	struct ifp_timed_event marked = mpi_call("mpi:MPI_Reduce", 40, world);
	const struct ifp_timed_event events[] = {
		mpi_call("mpi:MPI_Allreduce", 50, world),
		mpi_call("mpi:MPI_Barrier", 60, "{\"bytes\":4}"),
		(marked.event.category = ifp_str("mark"), marked),
		mark(1, 100),
	};
	IFP_CLEANUP_ACTIVITY struct ifp_activity activity = {0};
	struct ifp_rank_activity rank = {0};

	(void)state;
	assert_ok(ifp_activity_take(&activity, events, IFP_ARRAY_SIZE(events), &rank));
	assert_int_equal(rank.host_count + rank.device_count, 0);
	assert_int_equal(rank.mpi_count, 1);
	assert_int_equal(rank.mpi[0].start_ns, 50);
	assert_str(name_of(&activity, rank.mpi[0]), "MPI_Allreduce");
	assert_str(ifp_intern_text(&activity.groups, rank.mpi[0].group), "4 \"MPI_COMM_WORLD\" ");
}

/* What process groups tell counts before MPI: a rank without the former is not compared by it. */
static void one_kind_of_collectives_is_compared(void **state)
{
	struct ifp_collective some[3] = {0};
	struct ifp_rank_activity ranks[2] = {{.mpi = some, .mpi_count = 3}, {.mpi = some}};
	const struct ifp_activity activity = {.ranks = ranks, .rank_count = 2};
	size_t count;

	(void)state;
	assert_int_equal(ifp_activity_kind(&activity), IFP_ACTIVITY_MPI);
	assert_ptr_equal(ifp_activity_list(&ranks[0], IFP_ACTIVITY_MPI, &count), some);
	assert_int_equal(count, 3);
	ranks[1].device_count = 2;
	assert_int_equal(ifp_activity_kind(&activity), IFP_ACTIVITY_DEVICE);
	ranks[0].host_count = 1;
	assert_int_equal(ifp_activity_kind(&activity), IFP_ACTIVITY_HOST);
	ifp_activity_list(&ranks[1], IFP_ACTIVITY_HOST, &count);
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_collective_belongs_to_the_step_whose_end_comes_next),
		cmocka_unit_test(steps_that_a_program_names_itself_count_where_no_optimizer_does),
		cmocka_unit_test(only_collectives_of_the_host_are_taken_as_such),
		cmocka_unit_test(a_kernel_belongs_to_the_step_of_its_launch),
		cmocka_unit_test(calls_of_mpi_are_collectives_on_the_world),
		cmocka_unit_test(one_kind_of_collectives_is_compared),
		cmocka_unit_test(step_times_come_from_marks_that_follow_each_other),
	};

	return RUN_TESTS(tests);
}
