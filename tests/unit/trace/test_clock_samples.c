/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/clock_samples.h"

#include "test.h"

#include <errno.h>

static struct ifp_clock_tuple tuples[] = {
	{.raw_ns = 5000,
		.realtime_ns = INT64_C(1700000000000000000),
		.tsc_ticks = 1,
		.width_ns = 90},
	{.raw_ns = INT64_MAX, .realtime_ns = INT64_MIN, .tsc_ticks = UINT64_MAX, .width_ns = 0},
	{.raw_ns = INT64_MIN, .realtime_ns = INT64_MAX, .tsc_ticks = 0, .width_ns = INT64_MAX},
};
static struct ifp_clock_edge edges[] = {
	{.epoch = 1,
		.client = 2,
		.server = 3,
		.round_trips = 64,
		.low_ns = -70,
		.high_ns = 80,
		.best_t1_ns = 100,
		.best_t2_ns = 200,
		.best_t3_ns = 300,
		.best_t4_ns = INT64_MAX,
		.over_mpi = 1},
};
static const struct ifp_clock_samples samples = {
	.tuples = tuples, .tuple_count = 3, .edges = edges, .edge_count = 1};

static void samples_come_back(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_clock_samples out;

	(void)state;
	ifp_clock_samples_encode(&samples, &buf);
	assert_ok(ifp_clock_samples_decode(buf.data, buf.len_bytes, &out));
	assert_int_equal(out.tuple_count, 3);
	assert_memory_equal(out.tuples, tuples, sizeof(tuples));
	assert_int_equal(out.edge_count, 1);
	assert_memory_equal(out.edges, edges, sizeof(edges));
	ifp_clock_samples_free(&out);
}

static struct ifp_clock_collective collectives[] = {
	{.enter_ns = INT64_C(1700000000000000000),
		.exit_ns = INT64_C(1700000000000014000),
		.group = 0xfeedface,
		.kind = UINT64_MAX,
		.step = 7,
		.members = 2},
	{.enter_ns = INT64_C(1700000000000020000),
		.exit_ns = INT64_C(1700000000000020000),
		.group = 0xfeedface,
		.kind = UINT64_MAX,
		.step = INT64_MIN,
		.members = 2},
	{.enter_ns = INT64_MIN, .exit_ns = INT64_MAX, .step = INT64_MAX, .members = UINT32_MAX},
};

static void collectives_come_back(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_clock_samples all = samples, out;

	(void)state;
	all.collectives = collectives;
	all.collective_count = 3;
	all.collectives_left_out = 5;
	ifp_clock_samples_encode(&all, &buf);
	assert_int_equal(buf.data[0], 2);
	assert_ok(ifp_clock_samples_decode(buf.data, buf.len_bytes, &out));
	assert_memory_equal(out.tuples, tuples, sizeof(tuples));
	assert_int_equal(out.edge_count, 1);
	assert_int_equal(out.collective_count, 3);
	assert_memory_equal(out.collectives, collectives, sizeof(collectives));
	assert_int_equal(out.collectives_left_out, 5);
	ifp_clock_samples_free(&out);
	for (size_t len = 0; len < buf.len_bytes; len++)
		assert_int_equal(ifp_clock_samples_decode(buf.data, len, &out), -EBADMSG);
	ifp_error_clear();
}

static void roles_come_back(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_clock_collective directed[4];
	uint8_t one_look[] = {4, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 0,
		IFP_CLOCK_LOOSE, 0, 0};
	struct ifp_clock_samples all = {.collectives = directed, .collective_count = 4}, out;

	(void)state;
	for (int i = 0; i < 4; i++) {
		directed[i] = collectives[0];
		directed[i].role = (enum ifp_clock_role)i;
	}
	ifp_clock_samples_encode(&all, &buf);
	assert_int_equal(buf.data[0], 4);
	assert_ok(ifp_clock_samples_decode(buf.data, buf.len_bytes, &out));
	assert_int_equal(out.collective_count, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(out.collectives[i].role, i);
	ifp_clock_samples_free(&out);
	for (size_t len = 0; len < buf.len_bytes; len++)
		assert_int_equal(ifp_clock_samples_decode(buf.data, len, &out), -EBADMSG);
	assert_ok(ifp_clock_samples_decode(one_look, sizeof(one_look), &out));
	ifp_clock_samples_free(&out);
	one_look[sizeof(one_look) - 3]++; /* no role */
	assert_int_equal(ifp_clock_samples_decode(one_look, sizeof(one_look), &out), -EBADMSG);
	ifp_error_clear();
}

static struct ifp_clock_suspension suspensions[] = {
	{.after_raw_ns = 5000, .before_raw_ns = 6000, .low_ns = 100, .high_ns = 120},
	{.after_raw_ns = INT64_MIN, .before_raw_ns = INT64_MAX, .low_ns = -1, .high_ns = INT64_MIN},
};

static void suspensions_come_back(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_clock_samples all = samples, out;

	(void)state;
	all.suspensions = suspensions;
	all.suspension_count = 2;
	ifp_clock_samples_encode(&all, &buf);
	assert_int_equal(buf.data[0], 3);
	assert_ok(ifp_clock_samples_decode(buf.data, buf.len_bytes, &out));
	assert_int_equal(out.edge_count, 1);
	assert_int_equal(out.collective_count, 0);
	assert_int_equal(out.suspension_count, 2);
	assert_memory_equal(out.suspensions, suspensions, sizeof(suspensions));
	ifp_clock_samples_free(&out);
	assert_int_equal(ifp_clock_samples_decode(buf.data, buf.len_bytes - 1, &out), -EBADMSG);
	ifp_error_clear();
}

/* Archives without collectives are what they were before there were any. */
static void without_collectives_the_version_is_the_first(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	(void)state;
	ifp_clock_samples_encode(&samples, &buf);
	assert_int_equal(buf.data[0], 1);
}

static void no_samples_are_valid(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_clock_samples out;

	(void)state;
	ifp_clock_samples_encode(&(struct ifp_clock_samples){0}, &buf);
	assert_ok(ifp_clock_samples_decode(buf.data, buf.len_bytes, &out));
	assert_int_equal(out.tuple_count, 0);
	assert_int_equal(out.edge_count, 0);
	ifp_clock_samples_free(&out);
}

static void cut_longer_and_lying_payloads_are_refused(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	const uint8_t huge_count[] = {1, 0xff, 0xff, 0xff, 0xff, 0x0f};
	const uint8_t no_look[] = {2, 0, 0, 0, 0, 1, 0, 0, 0, 0}; /* a collective of look 0 */
	struct ifp_clock_samples out;

	(void)state;
	ifp_clock_samples_encode(&samples, &buf);
	for (size_t len = 0; len < buf.len_bytes; len++)
		assert_int_equal(ifp_clock_samples_decode(buf.data, len, &out), -EBADMSG);
	ifp_buf_append_u8(&buf, 0);
	assert_int_equal(ifp_clock_samples_decode(buf.data, buf.len_bytes, &out), -EBADMSG);
	assert_int_equal(ifp_clock_samples_decode(huge_count, sizeof(huge_count), &out), -EBADMSG);
	assert_int_equal(ifp_clock_samples_decode(no_look, sizeof(no_look), &out), -EBADMSG);
	ifp_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_come_back),
		cmocka_unit_test(collectives_come_back),
		cmocka_unit_test(suspensions_come_back),
		cmocka_unit_test(roles_come_back),
		cmocka_unit_test(without_collectives_the_version_is_the_first),
		cmocka_unit_test(no_samples_are_valid),
		cmocka_unit_test(cut_longer_and_lying_payloads_are_refused),
	};

	return RUN_TESTS(tests);
}
