/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated GPUs whose times are off by a known shift: it lies in the interval, and what is moved
 * by the estimate contradicts no launch and no wait.
 */
#include "clocksync/estimate/gpu_bias.h"
#include "core/error.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define NOW_NS (INT64_C(1780000000) * S)

#define TRIALS 2000
#define MOST_WORK 400

/* Work that was launched, began later by some delay, and was waited for now and then. */
struct gpu {
	struct ifp_gpu_pair begins[MOST_WORK], ends[MOST_WORK];
	struct ifp_gpu_constraints constraints;
	int64_t shift_ns; /* true: host's time = GPU's + shift + drift x since NOW_NS */
	double drift;
	uint64_t random;
};

static int64_t below(struct gpu *gpu, int64_t limit)
{
	gpu->random ^= gpu->random << 13;
	gpu->random ^= gpu->random >> 7;
	gpu->random ^= gpu->random << 17;
	return (int64_t)(gpu->random % (uint64_t)limit);
}

/* What the GPU's events are stamped with that happened at this moment of the host. */
static int64_t stamp(const struct gpu *gpu, int64_t host_ns)
{
	return host_ns - gpu->shift_ns - (int64_t)((double)(host_ns - NOW_NS) * gpu->drift);
}

static void run_gpu(struct gpu *gpu, uint32_t count, uint32_t waits_one_in)
{
	int64_t now_ns = NOW_NS;

	gpu->constraints = (struct ifp_gpu_constraints){.begins = gpu->begins, .ends = gpu->ends};
	for (uint32_t i = 0; i < count; i++) {
		int64_t begins_ns = now_ns + 1 + below(gpu, 200 * US);
		int64_t ends_ns = begins_ns + below(gpu, 500 * US);

		gpu->begins[gpu->constraints.begin_count++] =
			(struct ifp_gpu_pair){stamp(gpu, begins_ns), now_ns};
		now_ns += 1 * MS;
		if (!below(gpu, waits_one_in))
			gpu->ends[gpu->constraints.end_count++] = (struct ifp_gpu_pair){
				stamp(gpu, ends_ns), ends_ns + 1 + below(gpu, 50 * US)};
	}
}

static uint32_t contradictions(const struct gpu *gpu, const struct ifp_gpu_bias *bias)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < gpu->constraints.begin_count; i++) {
		int64_t at = gpu->begins[i].gpu_ns;

		found += at + ifp_gpu_bias_shift(bias, at) < gpu->begins[i].host_ns;
	}
	for (uint32_t i = 0; i < gpu->constraints.end_count; i++) {
		int64_t at = gpu->ends[i].gpu_ns;

		found += at + ifp_gpu_bias_shift(bias, at) > gpu->ends[i].host_ns;
	}
	return found;
}

static struct ifp_gpu_bias estimate(struct gpu *gpu)
{
	struct ifp_gpu_bias bias;

	assert_ok(ifp_gpu_bias_estimate(&gpu->constraints, &bias));
	return bias;
}

static void the_true_shift_is_always_in_the_interval(void **state)
{
	(void)state;
	for (uint32_t trial = 0; trial < TRIALS; trial++) {
		struct gpu gpu = {.random = trial + 1};
		struct ifp_gpu_bias bias;

		gpu.shift_ns = below(&gpu, 200 * US) - 100 * US;
		run_gpu(&gpu, 2 + (uint32_t)below(&gpu, MOST_WORK - 2), 10);
		bias = estimate(&gpu);
		assert_int_equal(bias.fit, IFP_GPU_SHIFT);
		assert_true(bias.low_ns <= gpu.shift_ns && gpu.shift_ns <= bias.high_ns);
		assert_true(bias.low_ns <= bias.shift_ns && bias.shift_ns <= bias.high_ns);
		assert_int_equal(contradictions(&gpu, &bias), 0);
		assert_int_equal(bias.begins_left_out + bias.ends_left_out, 0);
		/* Nothing is moved farther than causality asks for. */
		if (bias.shift_ns)
			assert_true(bias.shift_ns == bias.low_ns || bias.shift_ns == bias.high_ns);
		else
			assert_true(!bias.early && !bias.late);
	}
}

static void times_that_contradict_nothing_stay(void **state)
{
	struct gpu gpu = {.random = 1,
		.begins = {{100 * US, 91 * US}, {300 * US, 200 * US}},
		.ends = {{400 * US, 404500}}};
	struct ifp_gpu_bias bias;

	(void)state;
	gpu.constraints = (struct ifp_gpu_constraints){gpu.begins, 2, gpu.ends, 1};
	bias = estimate(&gpu);
	assert_int_equal(bias.shift_ns, 0);
	assert_false(ifp_gpu_bias_moves(&bias));
	assert_int_equal(bias.low_ns, -9 * US);
	assert_int_equal(bias.high_ns, 4500);
	assert_int_equal(bias.doubt_ns, 9 * US);
	assert_int_equal(bias.begins, 2);
	assert_int_equal(bias.ends, 1);
}

/* What is usual is all that is known where nobody has waited. */
static void without_waits_one_side_is_open(void **state)
{
	struct gpu gpu = {.begins = {{100 * US, 120 * US}}};
	struct ifp_gpu_bias bias;

	(void)state;
	gpu.constraints = (struct ifp_gpu_constraints){gpu.begins, 1, gpu.ends, 0};
	bias = estimate(&gpu);
	assert_int_equal(bias.shift_ns, 20 * US);
	assert_int_equal(bias.early, 1);
	assert_true(bias.high_ns == INT64_MAX);
	assert_int_equal(bias.doubt_ns, IFP_GPU_BIAS_USUAL_NS);

	gpu.constraints.begin_count = 0;
	bias = estimate(&gpu);
	assert_int_equal(bias.fit, IFP_GPU_FREE);
	assert_int_equal(bias.shift_ns, 0);
	assert_int_equal(bias.doubt_ns, IFP_GPU_BIAS_USUAL_NS);
}

static void a_drift_that_no_shift_explains_is_a_line(void **state)
{
	uint32_t lines = 0;

	(void)state;
	for (uint32_t trial = 0; trial < TRIALS; trial++) {
		struct gpu gpu = {.random = trial + 1, .drift = trial % 2 ? 150e-6 : -150e-6};
		struct ifp_gpu_bias bias;

		/* 150 ppm of 400 ms are 60 us: more than a single shift has room for, mostly. */
		gpu.shift_ns = below(&gpu, 20 * US);
		run_gpu(&gpu, MOST_WORK, 2);
		bias = estimate(&gpu);
		assert_int_equal(
			contradictions(&gpu, &bias), bias.begins_left_out + bias.ends_left_out);
		if (bias.fit == IFP_GPU_LINE) {
			lines++;
			assert_int_equal(contradictions(&gpu, &bias), 0);
			assert_true(bias.drift_ppm * gpu.drift > 0);
			/* The least steep line: the true one may be steeper, by the room there is.
			 */
			assert_true(fabs(bias.drift_ppm) <= 151);
		}
	}
	assert_true(lines > TRIALS * 9 / 10);
}

/* One record in some hundred is damaged: begins at 0, or long before its launch. */
static void strays_do_not_decide(void **state)
{
	(void)state;
	for (uint32_t trial = 0; trial < TRIALS; trial++) {
		struct gpu gpu = {.random = trial + 1, .shift_ns = 30 * US};
		struct ifp_gpu_bias bias, honest;
		uint32_t strays = 1 + (uint32_t)below(&gpu, 3);

		run_gpu(&gpu, MOST_WORK - 4, 4);
		honest = estimate(&gpu);
		for (uint32_t i = 0; i < strays; i++)
			gpu.begins[gpu.constraints.begin_count++] = (struct ifp_gpu_pair){
				below(&gpu, 2) ? 0 : NOW_NS - below(&gpu, S) - 10 * MS,
				NOW_NS + below(&gpu, 100 * MS)};
		bias = estimate(&gpu);
		assert_int_equal(bias.fit, IFP_GPU_SHIFT);
		assert_int_equal(bias.begins_left_out, strays);
		assert_int_equal(bias.ends_left_out, 0);
		assert_true(bias.low_ns == honest.low_ns && bias.high_ns == honest.high_ns);
		assert_int_equal(bias.shift_ns, honest.shift_ns);
		assert_int_equal(contradictions(&gpu, &bias), strays);
	}
}

/* No clock does that: half of the waits return before what they have waited for. */
static void contradictions_that_no_line_explains_are_counted(void **state)
{
	struct gpu gpu = {.random = 7};
	struct ifp_gpu_bias bias;

	(void)state;
	run_gpu(&gpu, MOST_WORK, 2);
	for (uint32_t i = 0; i < gpu.constraints.end_count; i += 3)
		gpu.ends[i].host_ns -= 5 * MS;
	bias = estimate(&gpu);
	assert_int_equal(bias.fit, IFP_GPU_CONTRADICTED);
	assert_int_equal(bias.shift_ns, 0);
	assert_int_equal(bias.begins_left_out, 0);
	assert_int_equal(bias.ends_left_out, (gpu.constraints.end_count + 2) / 3);
	assert_int_equal(bias.late, bias.ends_left_out);
	assert_int_equal(bias.doubt_ns, IFP_GPU_BIAS_USUAL_NS);
}

static void no_numbers_are_too_large(void **state)
{
	struct gpu gpu = {.begins = {{INT64_MIN, INT64_MAX}, {INT64_MAX, INT64_MIN}, {0, 0}},
		.ends = {{INT64_MAX, INT64_MIN}, {INT64_MIN, INT64_MAX}, {1, 1}}};
	struct ifp_gpu_bias bias;

	(void)state;
	gpu.constraints = (struct ifp_gpu_constraints){gpu.begins, 3, gpu.ends, 3};
	bias = estimate(&gpu);
	assert_int_equal(bias.begins, 3);
	assert_int_equal(bias.ends, 3);
	assert_int_equal(bias.fit, IFP_GPU_CONTRADICTED);
	assert_int_equal(bias.shift_ns, 0);
	assert_int_equal(bias.begins_left_out + bias.ends_left_out, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_true_shift_is_always_in_the_interval),
		cmocka_unit_test(times_that_contradict_nothing_stay),
		cmocka_unit_test(without_waits_one_side_is_open),
		cmocka_unit_test(a_drift_that_no_shift_explains_is_a_line),
		cmocka_unit_test(strays_do_not_decide),
		cmocka_unit_test(contradictions_that_no_line_explains_are_counted),
		cmocka_unit_test(no_numbers_are_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
