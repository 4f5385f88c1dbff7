/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that no program makes, drawn within every budget: steps with the largest numbers, hundreds
 * of slices inside of each other, durations whose sum no number holds. What counts is that nothing
 * overflows (the sanitizers see that) and that what is drawn is whole.
 */
#include "collector/timeline/fold.h"
#include "collector/timeline/picture.h"
#include "collector/timeline/sink_chrome.h"
#include "collector/timeline/sink_perfetto.h"

#include "make_archive.h"
#include "test.h"
#include "trace/chrome/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define YEAR_NS (365 * INT64_C(86400000000000))
#define LONG_NS INT64_C(1000000000)
#define LONG_SLICES 400u
#define SHORT_SLICES 500u

static char folder[] = "/tmp/infprof-test-XXXXXX";
static char archive[64], drawing[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(archive, sizeof(archive), "%s/run.ifp", folder);
	snprintf(drawing, sizeof(drawing), "%s/drawn.json", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(archive);
	unlink(drawing);
	return rmdir(folder);
}

static void make_run(void)
{
	static const uint64_t numbers[] = {0, INT64_MAX - 1, INT64_MAX, (uint64_t)INT64_MAX + 1,
		(uint64_t)INT64_MAX + 2, UINT64_MAX - 1, UINT64_MAX};
	struct archive_maker maker;

	unlink(archive); /* of the test before */
	archive_maker_open(&maker, archive, 1);
	for (uint32_t i = 0; i < IFP_ARRAY_SIZE(numbers); i++)
		archive_maker_step(&maker, 0, numbers[i], (i + 1) * INT64_C(1000000));
	for (uint32_t i = 0; i < SHORT_SLICES; i++)
		archive_maker_slice(&maker, 0, "cpu_op", "aten::mm", 2, i * INT64_C(20000), 7);
	for (uint32_t i = 0; i < LONG_SLICES; i++)
		archive_maker_slice(&maker, 0, "cpu_op", "aten::mm", 1, 1000 + i, LONG_NS - 2 * i);
	archive_maker_close(&maker);
}

/* Slices of the file, folds counted by the events that they stand for; steps are none. */
static int64_t count_drawn(void)
{
	struct ifp_chrome_reader *reader = NULL;
	struct ifp_event event;
	int64_t count = 0, events;
	int more;

	assert_ok(ifp_chrome_reader_open(drawing, &reader));
	while ((more = ifp_chrome_reader_next(reader, &event)) > 0) {
		if (event.kind != IFP_EVENT_SLICE)
			continue;
		if (ifp_str_is(event.category, "op"))
			count++;
		if (!ifp_str_is(event.category, "fold"))
			continue;
		assert_true(ifp_args_find_int(event.args, "events", &events));
		count += events;
	}
	assert_int_equal(more, 0);
	ifp_chrome_reader_close(&reader);
	return count;
}

/* ifp_sink_chrome_open(), or ifp_sink_perfetto_open() with its arguments in that order. */
typedef int open_sink(const char *path, const struct ifp_run *run, const struct ifp_budget *budget,
	struct ifp_sink **out);

static int open_perfetto(const char *path, const struct ifp_run *run,
	const struct ifp_budget *budget, struct ifp_sink **out)
{
	return ifp_sink_perfetto_open(run, path, budget, out);
}

static int draw(open_sink *open, uint64_t budget_bytes, struct ifp_timeline_result *result)
{
	struct ifp_run *run = NULL;
	struct ifp_sink *sink;
	int err;

	assert_ok(ifp_run_open(archive, &run));
	assert_ok(open(drawing, run, &(struct ifp_budget){.bytes = budget_bytes}, &sink));
	err = ifp_picture_draw(run, sink);
	if (err)
		sink->ops->abandon(sink);
	else
		assert_ok(sink->ops->close(sink, result));
	ifp_run_close(&run);
	return err;
}

static void nothing_overflows_and_all_is_counted(void **state)
{
	uint64_t drawn = 0;

	(void)state;
	make_run();
	for (uint64_t budget = 1000; budget < 1000000; budget += budget / 2) {
		struct ifp_timeline_result result = {0};
		int err = draw(ifp_sink_chrome_open, budget, &result);

		if (err) {
			assert_int_equal(err, -E2BIG);
			assert_int_equal(drawn, 0); /* once there is enough, more is as well */
			ifp_error_clear();
			continue;
		}
		drawn++;
		assert_true(result.files[0].json_bytes <= budget);
		assert_int_equal(count_drawn(), SHORT_SLICES + LONG_SLICES);
		ifp_timeline_result_free(&result);
	}
	assert_true(drawn >= 5);
}

/* What is in such a file, test_perfetto_budget.py sees, of runs that are like real ones. */
static void a_file_for_perfetto_is_never_larger_than_told(void **state)
{
	uint64_t drawn = 0, before = 0;

	(void)state;
	make_run();
	for (uint64_t budget = 1000; budget < 1000000; budget += budget / 4) {
		struct ifp_timeline_result result = {0};
		int err = draw(open_perfetto, budget, &result);

		if (err) {
			assert_int_equal(err, -E2BIG);
			assert_int_equal(drawn, 0);
			ifp_error_clear();
			continue;
		}
		drawn++;
		assert_true(result.files[0].json_bytes <= budget);
		assert_true(result.files[0].shown.events >= before);
		before = result.files[0].shown.events;
		ifp_timeline_result_free(&result);
	}
	assert_true(drawn >= 5);
	assert_int_equal(before, SHORT_SLICES + LONG_SLICES);
}

static void a_fold_of_many_years_says_so(void **state)
{
	struct ifp_rank_category category = {ifp_str("cpu_op"), IFP_SUBJECT_OPERATOR};
	const struct ifp_rank_categories categories = {.items = &category, .count = 1};
	const struct ifp_node node = {.subject = IFP_SUBJECT_OPERATOR};
	struct ifp_slice slice = {.dur_ns = YEAR_NS};
	struct ifp_fold fold = {0};
	uint32_t name;

	(void)state;
	ifp_fold_begin(&fold, &categories);
	assert_ok(ifp_fold_name(&fold, ifp_str("sleep"), &name));
	for (uint32_t i = 0; i < LONG_SLICES; i++)
		ifp_fold_open(&fold, &node, &slice, name);
	for (uint32_t i = 0; i < LONG_SLICES; i++)
		ifp_fold_close(&fold, &node);
	ifp_fold_write(&fold);
	ifp_buf_append_u8(&fold.args, 0);
	assert_string_equal(fold.args.data,
		"{\"events\":400,\"by category\":{\"cpu_op\":{\"events\":400,"
		"\"busy_us\":31536000000000.000}},\"longest\":[\"sleep 400x 9223372036 s\"]}");
	ifp_fold_free(&fold);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_overflows_and_all_is_counted),
		cmocka_unit_test(a_file_for_perfetto_is_never_larger_than_told),
		cmocka_unit_test(a_fold_of_many_years_says_so),
	};

	return cmocka_run_group_tests_name(__FILE__, tests, make_folder, remove_folder);
}
