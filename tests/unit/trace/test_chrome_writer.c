/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/writer.h"

#include "core/buf.h"
#include "core/cleanup.h"
#include "test.h"
#include "trace/chrome/reader.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static char folder[] = "/tmp/ifp-writer-XXXXXX";
static char path[64], packed_path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/a.json", folder);
	snprintf(packed_path, sizeof(packed_path), "%s/a.json.gz", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	unlink(packed_path);
	return rmdir(folder); /* fails when the writer has left a temporary file */
}

static void assert_file(const char *expected)
{
	char text[4096] = {0};
	IFP_CLEANUP_FILE FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	assert_string_equal(text, expected);
}

static const struct ifp_chrome_element slice = {
	.phase = 'X',
	.name = {"a\\nb", 4},
	.category = {"op", 2},
	.pid = 1000,
	.tid = 1,
	.start_ns = 1234567,
	.dur_ns = 5,
	.args = {"{\"k\":1}", 7},
};

static void elements_are_written_as_the_plug_in_needs_them(void **state)
{
	struct ifp_chrome_writer *writer = NULL;
	struct ifp_chrome_element flow = {.phase = 'f',
		.name = ifp_str("x"),
		.pid = -1,
		.tid_text = ifp_str("\"t\""),
		.start_ns = -1500,
		.has_id = true,
		.id = UINT64_MAX,
		.extra = ifp_str("{\"bp\":\"e\"}")};

	(void)state;
	assert_ok(ifp_chrome_writer_open(path, 6, ifp_str("\"schemaVersion\":1"), &writer));
	ifp_chrome_writer_add(writer, &slice);
	ifp_chrome_writer_add(writer, &flow);
	assert_ok(ifp_chrome_writer_close(&writer));
	assert_null(writer);
	assert_file("{\"schemaVersion\":1,\n\"traceEvents\":[\n"
		    "{\"ph\":\"X\",\"cat\":\"op\",\"name\":\"a\\nb\",\"pid\":1000,\"tid\":1,"
		    "\"ts\":1234.567,\"dur\":0.005,\"args\":{\"k\":1}},\n"
		    "{\"ph\":\"f\",\"name\":\"x\",\"pid\":-1,\"tid\":\"t\",\"ts\":-1.500,"
		    "\"id\":18446744073709551615,\"bp\":\"e\"}\n]}\n");
}

static void extreme_times_are_written_exactly(void **state)
{
	struct ifp_chrome_writer *writer = NULL;
	struct ifp_chrome_element element = {
		.phase = 'X', .name = ifp_str("x"), .start_ns = INT64_MIN, .dur_ns = INT64_MAX};

	(void)state;
	assert_ok(ifp_chrome_writer_open(path, 6, ifp_str(""), &writer));
	ifp_chrome_writer_add(writer, &element);
	assert_ok(ifp_chrome_writer_close(&writer));
	assert_file("{\"traceEvents\":[\n{\"ph\":\"X\",\"name\":\"x\",\"pid\":0,\"tid\":0,"
		    "\"ts\":-9223372036854775.808,\"dur\":9223372036854775.807}\n]}\n");
}

/* More than one chunk, so that the file is written in several pieces. */
static void a_packed_file_is_read_back(void **state)
{
	struct ifp_chrome_writer *writer = NULL;
	struct ifp_chrome_reader *reader = NULL;
	struct ifp_event event;
	const int64_t count = 5000;
	uint64_t bytes;

	(void)state;
	assert_ok(ifp_chrome_writer_open(packed_path, 6, ifp_str(""), &writer));
	for (int64_t i = 0; i < count; i++) {
		struct ifp_chrome_element element = slice;

		element.start_ns = i;
		ifp_chrome_writer_add(writer, &element);
	}
	bytes = ifp_chrome_writer_bytes(writer);
	assert_ok(ifp_chrome_writer_close(&writer));

	assert_ok(ifp_chrome_reader_open(packed_path, &reader));
	for (int64_t i = 0; i < count; i++) {
		assert_int_equal(ifp_chrome_reader_next(reader, &event), 1);
		assert_int_equal(event.start, i);
	}
	assert_ok(ifp_chrome_reader_next(reader, &event));
	assert_int_equal(ifp_chrome_reader_counts(reader).bytes, bytes + strlen("\n]}\n"));
	ifp_chrome_reader_close(&reader);
}

static void an_abandoned_file_leaves_nothing(void **state)
{
	struct ifp_chrome_writer *writer = NULL;

	(void)state;
	unlink(path);
	assert_ok(ifp_chrome_writer_open(path, 6, ifp_str(""), &writer));
	ifp_chrome_writer_add(writer, &slice);
	ifp_chrome_writer_abandon(&writer);
	assert_null(writer);
	assert_int_equal(access(path, F_OK), -1);
}

/* A limit on the size of files fails like a full disk, somewhere in the middle. */
static void a_write_that_fails_leaves_nothing(void **state)
{
	struct ifp_chrome_writer *writer = NULL;
	struct rlimit before, limit;

	(void)state;
	unlink(path);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){.rlim_cur = 300000, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_ok(ifp_chrome_writer_open(path, 6, ifp_str(""), &writer));
	for (int i = 0; i < 10000; i++)
		ifp_chrome_writer_add(writer, &slice);
	assert_int_equal(ifp_chrome_writer_close(&writer), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_null(writer);
	assert_int_equal(access(path, F_OK), -1);
	ifp_error_clear();
}

static void no_link_leads_elsewhere(void **state)
{
	struct ifp_chrome_writer *writer = NULL;
	char partial[80];

	(void)state;
	snprintf(partial, sizeof(partial), "%s.partial", path);
	assert_int_equal(symlink("/dev/null", partial), 0);
	assert_int_equal(ifp_chrome_writer_open(path, 6, ifp_str(""), &writer), -ELOOP);
	assert_null(writer);
	ifp_error_clear();
	unlink(partial);
}

static void a_folder_that_is_missing_is_an_error(void **state)
{
	struct ifp_chrome_writer *writer = NULL;

	(void)state;
	assert_int_equal(
		ifp_chrome_writer_open("/nonexistent/a.json", 6, ifp_str(""), &writer), -ENOENT);
	assert_null(writer);
	ifp_error_clear();
}

static void the_size_of_an_element_is_known_before_it_is_written(void **state)
{
	(void)state;
	const struct ifp_chrome_element elements[] = {
		{.phase = 'X',
			.name = ifp_str("a"),
			.category = ifp_str("op"),
			.pid = 1000,
			.tid = 7,
			.start_ns = 1234567,
			.dur_ns = 89,
			.args = ifp_str("{\"a\":1}")},
		{.phase = 'X', .start_ns = -1, .dur_ns = INT64_MAX, .pid = -5, .tid = INT64_MIN},
		{.phase = 'X', .start_ns = INT64_MIN, .zero_ns = INT64_MAX},
		{.phase = 'i', .start_ns = -999, .extra = ifp_str("{\"s\":\"t\"}")},
		{.phase = 'f', .has_id = true, .id = UINT64_MAX, .extra = ifp_str("{}")},
		{.phase = 'M', .pid_text = ifp_str("\"Spans\""), .tid_text = ifp_str("\"x\"")},
	};

	for (size_t i = 0; i < IFP_ARRAY_SIZE(elements); i++) {
		IFP_CLEANUP_BUF struct ifp_buf text = {0};

		ifp_chrome_element_append(&text, &elements[i]);
		/* The comma and the line feed in front of it count as well. */
		assert_int_equal(ifp_chrome_element_bytes(&elements[i]), text.len_bytes + 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_are_written_as_the_plug_in_needs_them),
		cmocka_unit_test(extreme_times_are_written_exactly),
		cmocka_unit_test(the_size_of_an_element_is_known_before_it_is_written),
		cmocka_unit_test(a_packed_file_is_read_back),
		cmocka_unit_test(an_abandoned_file_leaves_nothing),
		cmocka_unit_test(a_write_that_fails_leaves_nothing),
		cmocka_unit_test(no_link_leads_elsewhere),
		cmocka_unit_test(a_folder_that_is_missing_is_an_error),
	};

	return cmocka_run_group_tests_name(__FILE__, tests, make_folder, remove_folder);
}
