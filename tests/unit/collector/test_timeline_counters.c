/* SPDX-License-Identifier: Apache-2.0 */
/* Values over time that are computed from events, and how they become few points. */
#include "collector/timeline/counters.h"
#include "collector/timeline/message.h"
#include "core/cleanup.h"
#include "test.h"

#define US INT64_C(1000)

static void assert_samples(
	const struct ifp_samples *samples, const struct ifp_sample *expected, uint32_t count)
{
	assert_int_equal(samples->count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(samples->items[i].at_ns, expected[i].at_ns);
		assert_int_equal(samples->items[i].value, expected[i].value);
	}
}

#define ASSERT_SAMPLES(samples, ...)                                                               \
	do {                                                                                       \
		const struct ifp_sample expected_[] = {__VA_ARGS__};                               \
		assert_samples(samples, expected_, IFP_ARRAY_SIZE(expected_));                     \
	} while (0)

static const struct ifp_samples *of(struct ifp_sample *items, uint32_t count)
{
	static struct ifp_samples samples;

	samples = (struct ifp_samples){.items = items, .count = count};
	return &samples;
}

#define OF(items) of(items, IFP_ARRAY_SIZE(items))

/* 250 ns of the first us, all of the next three, nothing, then half of one. */
static void busy_is_the_part_of_each_interval(void **state)
{
	const struct ifp_busy_span spans[] = {{750, 4 * US}, {10 * US + 300, 10 * US + 800}};
	IFP_CLEANUP_SAMPLES struct ifp_samples samples = {0};

	(void)state;
	assert_ok(ifp_samples_busy(spans, 2, 400, &samples));
	ASSERT_SAMPLES(&samples, {0, 25000}, {1 * US, 100000}, {4 * US, 0}, {10 * US, 50000},
		{11 * US, 0});
}

/* The 5 points of above are too many, as are those of 2 us: 62.5, 100, 0, 25 and 0 percent. */
static void fewer_points_make_longer_intervals(void **state)
{
	const struct ifp_busy_span spans[] = {{750, 4 * US}, {10 * US + 300, 10 * US + 800}};
	IFP_CLEANUP_SAMPLES struct ifp_samples samples = {0};

	(void)state;
	assert_ok(ifp_samples_busy(spans, 2, 4, &samples));
	ASSERT_SAMPLES(&samples, {0, 65000}, {5 * US, 0}, {10 * US, 10000}, {15 * US, 0});
}

static void intervals_begin_at_multiples_before_the_start_of_the_run_too(void **state)
{
	const struct ifp_busy_span spans[] = {{-1500, -500}};
	IFP_CLEANUP_SAMPLES struct ifp_samples samples = {0};

	(void)state;
	assert_ok(ifp_samples_busy(spans, 1, 400, &samples));
	ASSERT_SAMPLES(&samples, {-2 * US, 50000}, {0, 0});
}

static void parts_are_rounded_to_a_thousandth_of_a_percent(void **state)
{
	const struct ifp_busy_span spans[] = {{0, 1}, {3000000, 3000001}};
	IFP_CLEANUP_SAMPLES struct ifp_samples samples = {0};

	(void)state;
	assert_ok(ifp_samples_busy(spans, 2, 400, &samples));
	ASSERT_SAMPLES(&samples, {0, 100}, {1 * US, 0}, {3000 * US, 100}, {3001 * US, 0});
}

static void changes_at_one_moment_are_one(void **state)
{
	struct ifp_sample changes[] = {{50, -4}, {10, 4}, {20, 8}, {50, 2}, {60, -10}};
	struct ifp_samples sums = {.items = changes, .count = 5};

	(void)state;
	ifp_samples_sum(&sums);
	ASSERT_SAMPLES(&sums, {10, 4}, {20, 12}, {50, 10}, {60, 0});
}

static void what_fits_stays_as_it_is(void **state)
{
	struct ifp_sample steps[] = {{10, 4}, {20, 4}, {50, 10}, {60, 0}};
	IFP_CLEANUP_SAMPLES struct ifp_samples samples = {0};

	(void)state;
	assert_ok(ifp_samples_most(OF(steps), true, 4, &samples));
	ASSERT_SAMPLES(&samples, {10, 4}, {50, 10}, {60, 0});
}

/* 7 holds into the third us until its middle, and is more than what comes there. */
static void of_an_interval_the_most_is_told(void **state)
{
	struct ifp_sample steps[] = {
		{100, 1}, {200, 9}, {300, 2}, {900, 7}, {2500, 3}, {2600, 4}, {9000, 5}, {9100, 0}};
	IFP_CLEANUP_SAMPLES struct ifp_samples samples = {0};

	(void)state;
	assert_ok(ifp_samples_most(OF(steps), true, 6, &samples));
	ASSERT_SAMPLES(&samples, {0, 9}, {1 * US, 7}, {3 * US, 4}, {9 * US, 5}, {10 * US, 0});
}

/* Without holding, an interval without any has no point. */
static void single_values_do_not_last(void **state)
{
	struct ifp_sample values[] = {{100, 1}, {200, 9}, {900, 7}, {2500, 3}, {9000, 5}};
	IFP_CLEANUP_SAMPLES struct ifp_samples samples = {0};

	(void)state;
	assert_ok(ifp_samples_most(OF(values), false, 4, &samples));
	ASSERT_SAMPLES(&samples, {0, 9}, {2 * US, 3}, {9 * US, 5});
}

/* Any run of any length stays within the limit. */
static void there_are_never_more_points_than_asked_for(void **state)
{
	enum { COUNT = 5000 };
	static struct ifp_busy_span spans[COUNT];
	static struct ifp_sample steps[COUNT];
	int64_t at_ns = -77777;

	(void)state;
	for (int64_t i = 0; i < COUNT; i++) {
		at_ns += 1 + i * 7919 % 100003;
		spans[i] = (struct ifp_busy_span){at_ns, at_ns + 1 + i * 31 % 1000};
		steps[i] = (struct ifp_sample){at_ns, i * 17 % 101};
		at_ns = spans[i].end_ns + 1;
	}
	for (uint32_t most = 4; most < 500; most += 31) {
		IFP_CLEANUP_SAMPLES struct ifp_samples busy = {0};
		IFP_CLEANUP_SAMPLES struct ifp_samples levels = {0};
		IFP_CLEANUP_SAMPLES struct ifp_samples values = {0};

		assert_ok(ifp_samples_busy(spans, COUNT, most, &busy));
		assert_ok(ifp_samples_most(OF(steps), true, most, &levels));
		assert_ok(ifp_samples_most(OF(steps), false, most, &values));
		assert_in_range(busy.count, most / 8, most);
		assert_in_range(levels.count, 1, most);
		assert_in_range(values.count, 1, most);
	}
	assert_int_equal(ifp_counters_most_points(1), 400);
	assert_int_equal(ifp_counters_most_points(128), 400);
	assert_int_equal(ifp_counters_most_points(512), 100);
	assert_int_equal(ifp_counters_most_points(4096), 50);
}

static void a_message_is_known_by_its_count_or_its_tensors(void **state)
{
	static const struct {
		const char *args;
		int64_t bytes; /* -1 = not known */
	} cases[] = {
		{"{\"In msg nelems\":294912,\"dtype\":\"Float\"}", 4 * 294912},
		{"{\"In msg nelems\":3,\"dtype\":\"BFloat16\",\"Input Dims\":[[9]],"
		 "\"Input type\":[\"float\"]}",
			6},
		{"{\"In msg nelems\":0,\"dtype\":\"Byte\"}", 0},
		{"{\"Process Group Name\":\"MPI_COMM_WORLD\",\"number\":7,\"bytes\":4096}", 4096},
		{"{\"bytes\":-1}", -1},
		{"{\"In msg nelems\":3,\"dtype\":\"Quaternion\"}", -1},
		{"{\"In msg nelems\":3}", -1},
		{"{\"In msg nelems\":4611686018427387904,\"dtype\":\"Long\"}", -1},
		{"{\"In msg nelems\":-3,\"dtype\":\"Float\"}", -1},
		{"{\"Input Dims\":[[4,8],[2],[]],\"Input type\":[\"float\",\"c10::BFloat16\","
		 "\"double\"]}",
			4 * 32 + 2 * 2 + 8},
		{"{\"Input Dims\":[[10],[],[]],\"Input type\":[\"long int\",\"\",\"Scalar\"]}", 80},
		{"{\"Input Dims\":[[[1],[2]]],\"Input type\":[\"TensorList\"]}", -1},
		{"{\"Input Dims\":[[10]],\"Input type\":[\"float\",\"float\"]}", -1},
		{"{\"Input Dims\":[[10.5e300]],\"Input type\":[\"float\"]}", -1},
		{"{\"Input Dims\":[],\"Input type\":[]}", -1},
		{"{\"Input Dims\":[[10]]}", -1},
		{"", -1},
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		int64_t bytes = -1;

		assert_int_equal(
			ifp_message_bytes(ifp_str(cases[i].args), &bytes), cases[i].bytes >= 0);
		assert_int_equal(bytes, cases[i].bytes);
	}
}

static struct ifp_timed_event kernel(
	const char *name, int64_t device, int64_t start_ns, int64_t dur_ns, const char *args)
{
	return (struct ifp_timed_event){
		.event = {.kind = IFP_EVENT_SLICE,
			.source = IFP_SOURCE_KINETO,
			.lane = {.kind = IFP_LANE_STREAM, .pid = device, .tid = start_ns % 3},
			.name = ifp_str(name),
			.category = ifp_str("kernel"),
			.args = ifp_str(args)},
		.start_ns = start_ns,
		.dur_ns = dur_ns};
}

static struct ifp_timed_event range(
	const char *category, const char *name, int64_t start_ns, const char *args)
{
	struct ifp_timed_event timed = kernel(name, 0, start_ns, 500, args);

	timed.event.category = ifp_str(category);
	timed.event.lane.kind = IFP_LANE_THREAD;
	return timed;
}

static struct ifp_timed_event memory(int64_t at_ns, const char *args)
{
	struct ifp_timed_event timed = range("", "[memory]", at_ns, args);

	timed.event.kind = IFP_EVENT_INSTANT;
	timed.dur_ns = 0;
	return timed;
}

#define FLOATS(count) "{\"In msg nelems\":" count ",\"dtype\":\"Float\"}"
#define MEMORY(type, id, bytes)                                                                    \
	"{\"Total Allocated\":" bytes ",\"Device Type\":" type ",\"Device Id\":" id "}"

static void a_rank_has_a_track_for_each_device_and_thing(void **state)
{
	struct ifp_timed_event events[] = {
		range("cpu_op", "nccl:all_reduce", 100, FLOATS("1000000")),
		memory(150, MEMORY("1", "1", "512")),
		memory(160, MEMORY("0", "-1", "64")),
		memory(170, "{\"Bytes\":5}"),
		kernel("gemm", 1, 1000, 3000, ""),
		kernel("ncclDevKernel_AllReduce_Sum_f32", 1, 2000, 4000, FLOATS("10")),
		memory(2500, MEMORY("1", "1", "1024")),
		kernel("ncclDevKernel_AllGather_RING_LL", 1, 3000, 1000, FLOATS("100")),
		kernel("ncclDevKernel_Broadcast_RING_LL", 1, 3500, 1000, "{}"),
		kernel("gemm", 0, 3500, 500, ""),
		range("gpu_memcpy", "Memcpy", 9000, ""),
	};
	const struct ifp_rank_events all = {.events = events, .count = IFP_ARRAY_SIZE(events)};
	IFP_CLEANUP_COUNTERS struct ifp_counters counters = {0};

	(void)state;
	assert_ok(ifp_counters_compute(&all, 400, &counters));
	assert_int_equal(counters.count, 5);
	assert_string_equal(counters.items[0].name, "GPU 0 busy");
	ASSERT_SAMPLES(&counters.items[0].samples, {3 * US, 50000}, {4 * US, 0});
	assert_string_equal(counters.items[1].name, "GPU 1 busy");
	ASSERT_SAMPLES(&counters.items[1].samples, {1 * US, 100000}, {6 * US, 0});
	assert_string_equal(counters.items[2].name, "collectives in flight");
	ASSERT_SAMPLES(&counters.items[2].samples, {2000, 40}, {3000, 440}, {4000, 40}, {6000, 0});
	assert_string_equal(counters.items[3].name, "CPU memory");
	ASSERT_SAMPLES(&counters.items[3].samples, {160, 64});
	assert_string_equal(counters.items[4].name, "GPU 1 memory");
	ASSERT_SAMPLES(&counters.items[4].samples, {150, 512}, {2500, 1024});
}

static void without_kernels_the_host_tells_what_is_in_flight(void **state)
{
	struct ifp_timed_event events[] = {
		range("user_annotation", "gloo:all_reduce", 100,
			"{\"Input Dims\":[[639104]],\"Input type\":[\"float\"]}"),
		range("user_annotation", "gloo:send", 150,
			"{\"Input Dims\":[[10]],\"Input type\":[\"float\"]}"),
	};
	const struct ifp_rank_events all = {.events = events, .count = IFP_ARRAY_SIZE(events)};
	IFP_CLEANUP_COUNTERS struct ifp_counters counters = {0};

	(void)state;
	assert_ok(ifp_counters_compute(&all, 400, &counters));
	assert_int_equal(counters.count, 1);
	ASSERT_SAMPLES(&counters.items[0].samples, {100, 4 * 639104}, {600, 0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_is_the_part_of_each_interval),
		cmocka_unit_test(fewer_points_make_longer_intervals),
		cmocka_unit_test(intervals_begin_at_multiples_before_the_start_of_the_run_too),
		cmocka_unit_test(parts_are_rounded_to_a_thousandth_of_a_percent),
		cmocka_unit_test(changes_at_one_moment_are_one),
		cmocka_unit_test(what_fits_stays_as_it_is),
		cmocka_unit_test(of_an_interval_the_most_is_told),
		cmocka_unit_test(single_values_do_not_last),
		cmocka_unit_test(there_are_never_more_points_than_asked_for),
		cmocka_unit_test(a_message_is_known_by_its_count_or_its_tensors),
		cmocka_unit_test(a_rank_has_a_track_for_each_device_and_thing),
		cmocka_unit_test(without_kernels_the_host_tells_what_is_in_flight),
	};

	return RUN_TESTS(tests);
}
