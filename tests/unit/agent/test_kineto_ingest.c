/* SPDX-License-Identifier: Apache-2.0 */
/* What is odd in the file of a window: kept where it can be, counted in any case. */
#include "agent/capture/kineto_ingest.h"

#include "memory_file.h"
#include "test.h"

#define STEP                                                                                       \
	"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"Optimizer.step#SGD.step\","          \
	"\"pid\":7,\"tid\":7,\"ts\":200,\"dur\":10}"

static const char odd_elements[] =
	"{\"baseTimeNanoseconds\":1000000000,\"traceEvents\":[" STEP
	",{\"ph\":\"X\",\"pid\":7,\"tid\":7,\"ts\":202,\"dur\":1}," /* no name */
	"{\"ph\":\"i\",\"name\":\"no time\",\"pid\":7,\"tid\":7},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\tb\",\"pid\":7,\"tid\":7,\"ts\":203,"
	"\"dur\":1},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"back\",\"pid\":7,\"tid\":8,\"ts\":205,"
	"\"dur\":-150},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"behind the window\",\"pid\":7,\"tid\":8,"
	"\"ts\":300,\"dur\":-150}]}";

static int take(void *context, const struct ifp_event *event)
{
	int64_t *sum_ns = context;

	*sum_ns += event->dur;
	return 0;
}

static void read_all(int64_t cut_ns, struct ifp_kineto_ingest *ingest, int64_t *sum_ns)
{
	const struct ifp_sink sink = {.take = take, .context = sum_ns};
	struct memory_file file = memory_file_new();
	int more;

	memory_file_set(&file, odd_elements, sizeof(odd_elements) - 1);
	assert_ok(ifp_kineto_ingest_open(ingest, file.path, cut_ns));
	while ((more = ifp_kineto_ingest_some(ingest, &sink)) > 0)
		;
	assert_ok(more);
	memory_file_free(&file);
}

static void odd_elements_are_counted(void **state)
{
	struct ifp_kineto_ingest ingest;
	int64_t sum_ns = 0;

	(void)state;
	read_all(INT64_MAX, &ingest, &sum_ns);
	assert_int_equal(ingest.events, 4);
	assert_int_equal(ingest.left_out, 0);
	assert_int_equal(ingest.set_aside, 2);
	assert_int_equal(ingest.repaired, 1);
	assert_int_equal(ingest.negative, 2);
	/* They are handed on as they are. */
	assert_int_equal(sum_ns, 10000 + 1000 - 150000 - 150000);
	/* An end before its start is neither the beginning of the window nor its end. */
	assert_int_equal(ingest.start_realtime_ns, 1000200000);
	assert_int_equal(ingest.end_realtime_ns, 1000300000);
	ifp_kineto_ingest_close(&ingest);
}

/* The file is read twice where the window's end is known: all counts once. */
static void the_survey_counts_nothing(void **state)
{
	struct ifp_kineto_ingest ingest;
	int64_t sum_ns = 0;

	(void)state;
	read_all(1000210000, &ingest, &sum_ns);
	assert_int_equal(ingest.events, 3);
	assert_int_equal(ingest.left_out, 1);
	assert_int_equal(ingest.set_aside, 2);
	assert_int_equal(ingest.repaired, 1);
	assert_int_equal(ingest.negative, 1);
	assert_int_equal(ingest.end_realtime_ns, 1000210000);
	ifp_kineto_ingest_close(&ingest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(odd_elements_are_counted),
		cmocka_unit_test(the_survey_counts_nothing),
	};

	return RUN_TESTS(tests);
}
