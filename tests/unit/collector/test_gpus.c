/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs whose times contradict their host's: what is found of it, and what is moved. */
#include "collector/store/run.h"

#include "core/cleanup.h"

#include "make_archive.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)

static char path[64];
static struct archive_maker maker;

static int setup(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/infprof-gpus-XXXXXX");
	fd = mkstemp(path);
	archive_maker_open(&maker, path, 1);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	ifp_error_clear();
	return unlink(path);
}

static void add(enum ifp_event_kind kind, struct ifp_lane lane, const char *category,
	const char *name, uint64_t correlation, int64_t start_ns, int64_t dur_ns, const char *args)
{
	archive_maker_event(&maker, 0,
		&(struct ifp_event){.kind = kind,
			.source = IFP_SOURCE_KINETO,
			.clock = IFP_CLOCK_REALTIME,
			.start = start_ns,
			.dur = dur_ns,
			.correlation = correlation,
			.lane = lane,
			.name = ifp_str(name),
			.category = ifp_str(category),
			.args = ifp_str(args)});
}

static void call(const char *name, uint64_t correlation, int64_t start_ns, int64_t dur_ns)
{
	add(IFP_EVENT_SLICE, (struct ifp_lane){.pid = 1000, .tid = 1000}, "cuda_runtime", name,
		correlation, start_ns, dur_ns, "");
}

static void on_gpu(int64_t device, int64_t stream, const char *category, const char *name,
	uint64_t correlation, int64_t start_ns, int64_t dur_ns, const char *args)
{
	add(IFP_EVENT_SLICE,
		(struct ifp_lane){.kind = IFP_LANE_STREAM, .pid = device, .tid = stream}, category,
		name, correlation, start_ns, dur_ns, args);
}

/* A kernel of 50 us on stream 7 of GPU 0, launched at a moment; it is stamped as begun when? */
static void launch(uint64_t correlation, int64_t launched_ns, int64_t begins_ns)
{
	call("cudaLaunchKernel", correlation, launched_ns, 5 * US);
	on_gpu(0, 7, "kernel", "gemm", correlation, begins_ns, 50 * US, "");
}

static struct ifp_run *open_run(void)
{
	struct ifp_run *run = NULL;

	archive_maker_close(&maker);
	assert_ok(ifp_run_open(path, &run));
	return run;
}

static const struct ifp_gpu *only_gpu(struct ifp_run *run)
{
	uint32_t count;
	const struct ifp_gpu *gpus;

	assert_ok(ifp_run_look_for_gpus(run, 0));
	gpus = ifp_run_gpus(run, 0, &count);
	assert_int_equal(count, 1);
	return gpus;
}

static const struct ifp_ledger_row *find_row(const struct ifp_run *run, const char *what)
{
	for (uint32_t i = 0; i < ifp_run_ledger_count(run); i++)
		if (!strcmp(ifp_run_ledger(run, i)->what, what))
			return ifp_run_ledger(run, i);
	return NULL;
}

static const struct ifp_timed_event *find(
	const struct ifp_rank_events *events, const char *name, uint64_t correlation)
{
	for (uint64_t i = 0; i < events->count; i++) {
		const struct ifp_event *event = &events->events[i].event;

		if (ifp_str_is(event->name, name) && event->correlation == correlation)
			return &events->events[i];
	}
	fail_msg("there is no %s of correlation %" PRIu64, name, correlation);
	return NULL;
}

/* Two kernels begin 8 and 3 us before their launch: all of the GPU moves by 8 us. */
static void make_early_gpu(void)
{
	launch(1, 1 * MS, 1 * MS - 8 * US);
	launch(2, 2 * MS, 2 * MS - 3 * US);
	launch(3, 3 * MS, 3 * MS + 40 * US);
	on_gpu(0, 7, "gpu_user_annotation", "forward", 0, 1 * MS - 8 * US, 4 * MS, "");
	add(IFP_EVENT_FLOW_START, (struct ifp_lane){.pid = 1000, .tid = 1000}, "ac2g", "ac2g", 1,
		1 * MS, 0, "");
	add(IFP_EVENT_FLOW_END, (struct ifp_lane){.pid = 0, .tid = 7}, "ac2g", "ac2g", 1,
		1 * MS - 8 * US, 0, "");
	/* Returns 30 us after the last kernel's recorded end: 22 us after its true one. */
	call("cudaDeviceSynchronize", 4, 3 * MS + 10 * US, 110 * US);
}

static void work_that_began_before_its_launch_moves_its_gpu(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	IFP_CLEANUP(ifp_rank_events_free) struct ifp_rank_events events = {0};
	const struct ifp_gpu *gpu;
	const struct ifp_ledger_row *row;

	(void)state;
	make_early_gpu();
	run = open_run();
	assert_ok(ifp_run_load_events(run, 0, &events));
	gpu = only_gpu(run);
	assert_int_equal(gpu->bias.shift_ns, 8 * US);
	assert_int_equal(gpu->bias.low_ns, 8 * US);
	assert_int_equal(gpu->bias.high_ns, 30 * US);
	assert_int_equal(gpu->bias.begins, 3);
	assert_int_equal(gpu->bias.ends, 1);
	assert_int_equal(gpu->bias.early, 2);
	assert_int_equal(ifp_run_gpu_doubt(run, 0), 10 * US); /* 22 us are more than usual */

	assert_int_equal(find(&events, "gemm", 1)->start_ns, 1 * MS);
	assert_int_equal(find(&events, "gemm", 1)->dur_ns, 50 * US);
	assert_int_equal(find(&events, "gemm", 2)->start_ns, 2 * MS + 5 * US);
	assert_int_equal(find(&events, "gemm", 3)->start_ns, 3 * MS + 48 * US);
	assert_int_equal(find(&events, "forward", 0)->start_ns, 1 * MS);
	assert_int_equal(find(&events, "forward", 0)->dur_ns, 4 * MS);
	assert_int_equal(find(&events, "cudaLaunchKernel", 1)->start_ns, 1 * MS);
	for (uint64_t i = 0; i < events.count; i++)
		if (events.events[i].event.kind == IFP_EVENT_FLOW_END)
			assert_int_equal(events.events[i].start_ns, 1 * MS);
	/* What was recorded is still there. */
	assert_int_equal(
		find(&events, "gemm", 1)->event.start, ARCHIVE_MAKER_REALTIME_NS + 1 * MS - 8 * US);

	row = find_row(run, "gpu-shifted");
	assert_non_null(row);
	assert_int_equal(row->count, 4); /* three kernels and the annotation */
	assert_int_equal(row->rank, 0);
	assert_non_null(strstr(row->why, "GPU 0 in window 0 of rank 0 are drawn +8.000 us"));
	assert_non_null(strstr(row->why, "(possible: +8.000 to +30.000 us)"));
	assert_non_null(strstr(row->why, "2 of 3 began before their launch"));
	assert_null(find_row(run, "gpu-contradicted"));
	assert_int_equal(ifp_run_ledger_count(run), 1);
	ifp_rank_events_free(&events);
	assert_ok(ifp_run_load_events(run, 0, &events));
	assert_int_equal(ifp_run_ledger_count(run), 1); /* it is said once */
}

static void an_export_has_what_was_recorded(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	IFP_CLEANUP(ifp_rank_events_free) struct ifp_rank_events events = {0};

	(void)state;
	make_early_gpu();
	run = open_run();
	ifp_run_keep_as_recorded(run);
	assert_ok(ifp_run_load_events(run, 0, &events));
	assert_int_equal(find(&events, "gemm", 1)->start_ns, 1 * MS - 8 * US);
	assert_int_equal(find(&events, "gemm", 3)->start_ns, 3 * MS + 40 * US);
	assert_int_equal(ifp_run_ledger_count(run), 0);
}

/* Kineto compares the clocks anew for each window. */
static void each_window_has_a_shift_of_its_own(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	IFP_CLEANUP(ifp_rank_events_free) struct ifp_rank_events events = {0};
	const struct ifp_gpu *gpus;
	char window[200];
	uint32_t count;

	(void)state;
	launch(1, 1 * MS, 1 * MS - 8 * US);
	launch(2, 900 * MS, 900 * MS + 30 * US);
	call("cudaDeviceSynchronize", 3, 900 * MS + 6 * US, 50 * US); /* returns 24 us too early */
	for (int i = 0; i < 2; i++) {
		int64_t start_ns = ARCHIVE_MAKER_REALTIME_NS + i * 899 * MS;

		snprintf(window, sizeof(window),
			"{\"window\":%d,\"outcome\":\"recorded\",\"start_realtime_ns\":\"%" PRId64
			"\",\"end_realtime_ns\":\"%" PRId64 "\"}",
			i, start_ns, start_ns + 2 * MS);
		archive_maker_document(&maker, IFP_FRAME_WINDOW, 0, window);
	}
	run = open_run();
	assert_ok(ifp_run_load_events(run, 0, &events));
	gpus = ifp_run_gpus(run, 0, &count);
	assert_int_equal(count, 2);
	assert_int_equal(gpus[0].window, 0);
	assert_int_equal(gpus[0].bias.shift_ns, 8 * US);
	assert_int_equal(gpus[1].window, 1);
	assert_int_equal(gpus[1].bias.shift_ns, -24 * US);
	assert_int_equal(gpus[1].bias.late, 1);
	assert_int_equal(find(&events, "gemm", 1)->start_ns, 1 * MS);
	assert_int_equal(find(&events, "gemm", 2)->start_ns, 900 * MS + 6 * US);
	assert_int_equal(ifp_run_ledger_count(run), 2);
}

/* On three streams; the call of each test waits for one of them. */
static int64_t limit_after(void (*wait)(void))
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;

	for (uint64_t i = 1; i <= 3; i++) {
		call("cudaLaunchKernel", i, (int64_t)i * MS, 5 * US);
		on_gpu(0, (int64_t)i, "kernel", "gemm", i, (int64_t)i * MS + 20 * US,
			(int64_t)(10 * (4 - i)) * MS, "");
	}
	wait();
	run = open_run();
	return only_gpu(run)->bias.high_ns;
}

static void wait_without_note(void)
{
	call("cudaStreamSynchronize", 9, 4 * MS, 19 * MS);
	call("cudaEventSynchronize", 10, 4 * MS, 19 * MS);
}

static void wait_for_stream(void)
{
	wait_without_note();
	on_gpu(0, 2, "cuda_sync", "Stream Sync", 9, 4 * MS, 19 * MS, "{\"stream\":2,\"device\":0}");
}

static void wait_for_event(void)
{
	call("cudaEventRecord", 8, 3500 * US, US);
	wait_without_note();
	on_gpu(0, -1, "cuda_sync", "Event Sync", 10, 4 * MS, 19 * MS,
		"{\"wait_on_stream\":2,\"wait_on_cuda_event_record_corr_id\":8,\"device\":0}");
}

/* The record stands before the launch: this event says nothing of the kernel. */
static void wait_for_earlier_event(void)
{
	call("cudaEventRecord", 8, 1500 * US, US);
	wait_without_note();
	on_gpu(0, -1, "cuda_sync", "Event Sync", 10, 4 * MS, 19 * MS,
		"{\"wait_on_stream\":2,\"wait_on_cuda_event_record_corr_id\":8,\"device\":0}");
}

static void wait_on_the_gpu(void)
{
	call("cudaStreamWaitEvent", 9, 4 * MS, 1 * MS);
	on_gpu(0, 2, "cuda_sync", "Stream Wait Event", 9, 4 * MS, 19 * MS, "{\"stream\":2}");
}

static void wait_for_all(void)
{
	call("cudaDeviceSynchronize", 9, 4 * MS, 28 * MS);
}

/* What waits is used where it is known what for. */
static void a_call_that_waits_for_a_stream_needs_a_note(void **state)
{
	(void)state;
	assert_true(limit_after(wait_without_note) == INT64_MAX);
}

static void a_wait_for_a_stream_is_of_its_work_alone(void **state)
{
	(void)state;
	assert_int_equal(limit_after(wait_for_stream), 23 * MS - 22020 * US);
}

static void a_wait_for_an_event_is_of_what_was_launched_before(void **state)
{
	(void)state;
	assert_int_equal(limit_after(wait_for_event), 23 * MS - 22020 * US);
}

static void an_event_that_was_recorded_earlier_says_nothing(void **state)
{
	(void)state;
	assert_true(limit_after(wait_for_earlier_event) == INT64_MAX);
}

static void a_stream_that_waits_says_nothing_of_the_host(void **state)
{
	(void)state;
	assert_true(limit_after(wait_on_the_gpu) == INT64_MAX);
}

static void a_wait_for_the_device_is_of_all_its_work(void **state)
{
	(void)state;
	assert_int_equal(limit_after(wait_for_all), 32 * MS - 31020 * US);
}

/* Which one of two was waited for is not known. */
static void a_wait_of_a_rank_with_two_gpus_says_nothing(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	const struct ifp_gpu *gpus;
	uint32_t count;

	(void)state;
	launch(1, 1 * MS, 1 * MS + 10 * US);
	call("cudaLaunchKernel", 2, 1 * MS, 5 * US);
	on_gpu(1, 7, "kernel", "gemm", 2, 1 * MS - 4 * US, 50 * US, "");
	call("cudaDeviceSynchronize", 3, 2 * MS, 1 * US);
	run = open_run();
	assert_ok(ifp_run_look_for_gpus(run, 0));
	gpus = ifp_run_gpus(run, 0, &count);
	assert_int_equal(count, 2);
	assert_int_equal(gpus[0].bias.ends + gpus[1].bias.ends, 0);
	for (uint32_t g = 0; g < count; g++)
		assert_int_equal(gpus[g].bias.shift_ns, gpus[g].device == 1 ? 4 * US : 0);
}

static void only_copies_that_certainly_block_are_waits(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	const struct ifp_gpu *gpu;

	(void)state;
	call("cudaMemcpyAsync", 1, 1 * MS, 20 * US);
	on_gpu(0, 7, "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 1, 1 * MS + 5 * US, 90 * US,
		"");
	call("cudaMemcpy", 2, 2 * MS, 20 * US);
	on_gpu(0, 7, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 2, 2 * MS + 5 * US, 90 * US,
		"");
	call("cudaMemcpy", 3, 3 * MS, 20 * US);
	on_gpu(0, 7, "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 3, 3 * MS + 5 * US, 12 * US,
		"");
	run = open_run();
	gpu = only_gpu(run);
	assert_int_equal(gpu->bias.ends, 1);
	assert_int_equal(gpu->bias.high_ns, 3 * US);
	assert_int_equal(gpu->bias.begins, 3);
	assert_int_equal(gpu->bias.low_ns, -5 * US);
	assert_int_equal(gpu->bias.doubt_ns, 5 * US);
}

/* Of 200 kernels one claims to have begun a second before its launch. */
static void a_single_contradiction_is_counted_and_moves_nothing(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	IFP_CLEANUP(ifp_rank_events_free) struct ifp_rank_events events = {0};
	const struct ifp_ledger_row *row;

	(void)state;
	for (uint64_t i = 1; i <= 200; i++)
		launch(i, 2000 * MS + (int64_t)i * MS,
			2000 * MS + (int64_t)i * MS + (i == 70 ? -1000 * MS : 10 * US));
	call("cudaDeviceSynchronize", 300, 2201 * MS, 1 * MS);
	run = open_run();
	assert_ok(ifp_run_load_events(run, 0, &events));
	assert_int_equal(only_gpu(run)->bias.shift_ns, 0);
	assert_int_equal(find(&events, "gemm", 70)->start_ns, 1070 * MS);
	assert_null(find_row(run, "gpu-shifted"));
	row = find_row(run, "gpu-contradicted");
	assert_non_null(row);
	assert_int_equal(row->count, 1);
	assert_non_null(strstr(row->why, "1 pieces of work begin before their launch"));
}

static void a_rank_without_gpus_has_none(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	uint32_t count = 7;

	(void)state;
	archive_maker_slice(&maker, 0, "cpu_op", "aten::mm", 1, 500, 10);
	call("cudaDeviceSynchronize", 1, 1 * MS, 1 * US);
	run = open_run();
	assert_ok(ifp_run_look_for_gpus(run, 0));
	assert_null(ifp_run_gpus(run, 0, &count));
	assert_int_equal(count, 0);
	assert_int_equal(ifp_run_gpu_doubt(run, 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(work_that_began_before_its_launch_moves_its_gpu),
		TEST(an_export_has_what_was_recorded),
		TEST(each_window_has_a_shift_of_its_own),
		TEST(a_call_that_waits_for_a_stream_needs_a_note),
		TEST(a_wait_for_a_stream_is_of_its_work_alone),
		TEST(a_wait_for_an_event_is_of_what_was_launched_before),
		TEST(an_event_that_was_recorded_earlier_says_nothing),
		TEST(a_stream_that_waits_says_nothing_of_the_host),
		TEST(a_wait_for_the_device_is_of_all_its_work),
		TEST(a_wait_of_a_rank_with_two_gpus_says_nothing),
		TEST(only_copies_that_certainly_block_are_waits),
		TEST(a_single_contradiction_is_counted_and_moves_nothing),
		TEST(a_rank_without_gpus_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
