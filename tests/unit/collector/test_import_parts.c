/* SPDX-License-Identifier: Apache-2.0 */
/* What the import of a trace finds out about its times and its pairs. */
#include "collector/import/pairs.h"
#include "collector/import/span.h"
#include "core/time.h"

#include "test.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(span_of_one_job),
		cmocka_unit_test(span_without_zero_and_garbage),
		cmocka_unit_test(span_of_a_job_over_days),
		cmocka_unit_test(span_of_nothing),
		cmocka_unit_test(pairs_and_halves),
		cmocka_unit_test(pairs_are_bounded),
	};

	return RUN_TESTS(tests);
}
