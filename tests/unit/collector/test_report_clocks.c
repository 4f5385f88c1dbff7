/* SPDX-License-Identifier: Apache-2.0 */
/* What infprof clock says, of archives whose clocks are known exactly. */
#include "collector/report/clocks.h"

#include "core/cleanup.h"
#include "core/time.h"

#include "make_archive.h"
#include "test.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Ranks 0 and 1 share a clock; 2 is 137 s ahead, known to a microsecond; 3 was never compared. */
#define AHEAD_NS (137 * IFP_NS_PER_S + 12345)
#define HALF_NS 1000
#define RUN_NS (20 * IFP_NS_PER_S) /* and a second until the last exchange */

struct fixture {
	char path[64];
	struct ifp_run *run;
	struct ifp_buf out;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct archive_maker maker;
	int fd;

	if (!f)
		return -1;
	strcpy(f->path, "/tmp/infprof-clock-XXXXXX");
	fd = mkstemp(f->path);
	if (fd < 0)
		return -1;
	close(fd);
	archive_maker_open(&maker, f->path, 4);
	maker.ranks[2].host = "far <away>";
	maker.ranks[2].raw_offset_ns = AHEAD_NS;
	maker.ranks[2].edge_ns = HALF_NS;
	maker.ranks[3].host = "alone";
	archive_maker_steps(&maker, 1, RUN_NS);
	archive_maker_close(&maker);
	assert_ok(ifp_run_open(f->path, &f->run));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ifp_run_close(&f->run);
	ifp_buf_free(&f->out);
	unlink(f->path);
	free(f);
	return 0;
}

static const char *text(struct fixture *f)
{
	ifp_buf_append_u8(&f->out, 0);
	assert_ok(ifp_buf_status(&f->out));
	return (const char *)f->out.data;
}

static void assert_holds(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void the_table_has_a_line_for_every_rank(void **state)
{
	struct fixture *f = *state;
	const char *table;

	ifp_clocks_text(f->run, IFP_CLOCKS_PLAIN, false, &f->out);
	table = text(f);
	assert_holds(table, "\n   0  host0             reference\n");
	assert_holds(table, "\n   1  host0             shared\n");
	assert_holds(table,
		"\n   2  far <away>        ZeroMQ               2        +137.000012345 "
		"s     +0.0000");
	assert_holds(table,
		"\n   3  alone             NOT ALIGNED          -                       -  ");
	assert_holds(table, "as long as no clock\n        drifts by more than 50 ppm\n");
	assert_holds(table, "shared: reads the reference's clock");
	assert_holds(table, "Of two ranks: add their bounds");
	assert_null(strstr(table, "\033"));
}

static void what_is_not_aligned_is_red_on_a_terminal(void **state)
{
	struct fixture *f = *state;

	ifp_clocks_text(f->run, IFP_CLOCKS_TERMINAL, false, &f->out);
	assert_holds(text(f), "\n   3  alone             \033[1;31mNOT ALIGNED\033[0m ");
}

static void with_epochs_each_exchange_of_a_clock_has_a_line(void **state)
{
	struct fixture *f = *state;
	const char *epochs;

	ifp_clocks_text(f->run, IFP_CLOCKS_PLAIN, true, &f->out);
	epochs = strstr(text(f), "\nClock of rank 2\n");
	assert_non_null(epochs);
	assert_holds(epochs, "\n     0.000 s        +137.000012345 s");
	assert_holds(epochs, "\n    21.000 s        +137.000012345 s");
	assert_holds(epochs, "   1.00 us  -1.00 us to +1.00 us\n");
	assert_null(strstr(epochs, "Clock of rank 3"));
}

static double number(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItem(object, name);

	assert_true(cJSON_IsNumber(item));
	return item->valuedouble;
}

static void json_tells_the_certain_range_of_every_exchange(void **state)
{
	struct fixture *f = *state;
	static const char *const unknown[] = {"offset_ns", "rate_ppm", "sigma_ns", "bound_ns"};
	const cJSON *ranks, *far, *epochs, *epoch;
	cJSON *root;

	ifp_clocks_json(f->run, &f->out);
	root = cJSON_Parse(text(f));
	ranks = cJSON_GetObjectItem(root, "ranks");
	assert_int_equal(number(root, "reference"), 0);
	assert_int_equal(number(root, "drift_assumed_ppm"), 50);
	assert_int_equal(cJSON_GetArraySize(ranks), 4);
	far = cJSON_GetArrayItem(ranks, 2);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(far, "host")), "far <away>");
	assert_true(number(far, "offset_ns") == AHEAD_NS);
	epochs = cJSON_GetObjectItem(far, "epochs");
	assert_int_equal(cJSON_GetArraySize(epochs), 2);
	cJSON_ArrayForEach(epoch, epochs)
	{
		assert_true(number(epoch, "low_ns") <= AHEAD_NS);
		assert_true(number(epoch, "high_ns") >= AHEAD_NS);
		assert_true(number(epoch, "high_ns") - number(epoch, "low_ns") <= 2 * HALF_NS + 4);
	}
	for (size_t i = 0; i < IFP_ARRAY_SIZE(unknown); i++)
		assert_true(cJSON_IsNull(
			cJSON_GetObjectItem(cJSON_GetArrayItem(ranks, 3), unknown[i])));
	cJSON_Delete(root);
}

static void the_page_plots_measured_clocks_and_marks_those_that_are_not(void **state)
{
	struct fixture *f = *state;
	const char *page;

	ifp_clocks_page(f->run, &f->out);
	page = text(f);
	assert_holds(page, "<h2>Clock of rank 2</h2>");
	assert_holds(page, "far &#60;away&#62;");
	assert_holds(page, "<b class=\"alarm\">NOT ALIGNED</b>");
	assert_holds(page, "<title>certified bound</title>");
	assert_holds(page, "blue band: +- sigma");
	assert_holds(page, ">time of the timeline</text>");
	assert_null(strstr(page, "there is no plot"));
	assert_null(strstr(page, "Clock of rank 1"));
	assert_null(strstr(page, "nan"));
	assert_null(strstr(page, "inf,"));
}

static void a_clock_is_told_with_all_who_read_it(void **state)
{
	struct fixture *f = *state;

	ifp_clocks_readers(f->run, 0, &f->out);
	assert_string_equal(text(f), "Clock of ranks 0, 1");
}

static void a_page_without_a_measured_clock_says_so(void **state)
{
	char path[] = "/tmp/infprof-clock-XXXXXX";
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	struct fixture f = {0};
	struct archive_maker maker;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	archive_maker_open(&maker, path, 2);
	archive_maker_steps(&maker, 1, RUN_NS);
	archive_maker_close(&maker);
	assert_ok(ifp_run_open(path, &run));
	unlink(path);
	ifp_clocks_page(run, &f.out);
	assert_holds(text(&f), "there is no plot");
	assert_null(strstr(text(&f), "blue band"));
	ifp_buf_free(&f.out);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_table_has_a_line_for_every_rank, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_is_not_aligned_is_red_on_a_terminal, setup, teardown),
		cmocka_unit_test_setup_teardown(
			with_epochs_each_exchange_of_a_clock_has_a_line, setup, teardown),
		cmocka_unit_test_setup_teardown(
			json_tells_the_certain_range_of_every_exchange, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_page_plots_measured_clocks_and_marks_those_that_are_not, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_clock_is_told_with_all_who_read_it, setup, teardown),
		cmocka_unit_test(a_page_without_a_measured_clock_says_so),
	};

	return RUN_TESTS(tests);
}
