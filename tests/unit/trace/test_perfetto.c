/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of Perfetto, byte for byte: what test_perfetto.py does not see, because no job that is
 * drawn brings it about.
 */
#include "trace/perfetto/writer.h"

#include "core/cleanup.h"
#include "core/intern.h"
#include "test.h"
#include "trace/perfetto/annotations.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ZERO_NS INT64_C(1000)

static char folder[] = "/tmp/ifp-perfetto-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/a.pftrace", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder); /* fails when the writer has left a temporary file */
}

/* What the file holds behind the bytes of one that was closed at once. */
static void assert_behind_opening(const uint8_t *expected, size_t expected_bytes)
{
	uint8_t bytes[4096];
	IFP_CLEANUP_FILE FILE *file = fopen(path, "r");
	size_t len_bytes;

	assert_non_null(file);
	len_bytes = fread(bytes, 1, sizeof(bytes), file);
	assert_true(len_bytes >= expected_bytes);
	assert_memory_equal(bytes + len_bytes - expected_bytes, expected, expected_bytes);
}

static struct ifp_perfetto_writer *open_writer(void)
{
	struct ifp_perfetto_writer *writer;

	assert_ok(ifp_perfetto_open(path, ZERO_NS, &writer));
	return writer;
}

static void add_instant(struct ifp_perfetto_writer *writer, int64_t at_ns)
{
	ifp_perfetto_event(writer, &(struct ifp_perfetto_event){
					   .type = IFP_PERFETTO_INSTANT,
					   .track = 9,
					   .at_ns = at_ns,
					   .name = ifp_perfetto_name(writer, ifp_str("n")),
				   });
}

static void times_are_distances_and_names_are_written_once(void **state)
{
	/* clang-format off */
	static const uint8_t expected[] = {
		/* the first packet of sequence 1: flags, the clock to use, clocks at 1000 + 50 */
		0x0a, 27, 0x50, 1, 0x68, 1, 0xda, 3, 3, 0xd0, 3, 64,
		0x32, 15, 0x0a, 5, 8, 6, 0x10, 0x9a, 8, 0x0a, 6, 8, 64, 0x10, 0, 0x18, 1,
		/* an instant there, with its name */
		0x0a, 23, 0x40, 0, 0x50, 1, 0x68, 2, 0x62, 7, 0x12, 5, 8, 1, 0x12, 1, 'n',
		0x5a, 6, 0x48, 3, 0x58, 9, 0x50, 1,
		/* another one, 300 ns later */
		0x0a, 15, 0x40, 0xac, 2, 0x50, 1, 0x68, 2, 0x5a, 6, 0x48, 3, 0x58, 9, 0x50, 1,
		/* and one before both, at 1000 + 40 by the trace's own clock */
		0x0a, 18, 0x40, 0x90, 8, 0xd0, 3, 6, 0x50, 1, 0x68, 2,
		0x5a, 6, 0x48, 3, 0x58, 9, 0x50, 1};
	/* clang-format on */
	struct ifp_perfetto_writer *writer = open_writer();

	(void)state;
	ifp_perfetto_sequence(writer);
	add_instant(writer, 50);
	add_instant(writer, 350);
	add_instant(writer, 40);
	assert_ok(ifp_perfetto_close(&writer));
	assert_behind_opening(expected, sizeof(expected));
}

static void ends_of_arrows_stand_alone(void **state)
{
	/* clang-format off */
	static const uint8_t expected[] = {
		/* 's' at 50 */
		0x0a, 18, 0x40, 0, 0x50, 1, 0x68, 2,
		0x5a, 10, 0x58, 9, 0x32, 6, 0x10, 's', 0x30, 7, 0x60, 1,
		/* 'f' at 60 */
		0x0a, 18, 0x40, 10, 0x50, 1, 0x68, 2,
		0x5a, 10, 0x58, 8, 0x32, 6, 0x10, 'f', 0x30, 7, 0x60, 1};
	/* clang-format on */
	struct ifp_perfetto_writer *writer = open_writer();
	struct ifp_perfetto_arrow_end end = {.track = 9, .at_ns = 50, .id = 7, .start = true};

	(void)state;
	ifp_perfetto_sequence(writer);
	ifp_perfetto_arrow_end(writer, &end);
	end = (struct ifp_perfetto_arrow_end){.track = 8, .at_ns = 60, .id = 7};
	ifp_perfetto_arrow_end(writer, &end);
	assert_ok(ifp_perfetto_close(&writer));
	assert_behind_opening(expected, sizeof(expected));
}

/* Archives may be written to do harm: whatever stands for args, nothing is read beyond its end. */
static void texts_that_are_no_json_do_no_harm(void **state)
{
	static const char *const texts[] = {"{\"a\":[[[[1,2],{\"b\":\"c\\\\\"}]],-,+,1e,1e999]}",
		"{\"a\":\"", "{\"a\":}", "{\"\":-}", "[1]", "{\"a\":[,]}", "{\"a\":{\"b\"}}",
		"{\"a\":99999999999999999999999999999999999999999999999999}"};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(texts); i++) {
		for (uint32_t len = 0; len <= strlen(texts[i]); len++) {
			IFP_CLEANUP_INTERN struct ifp_intern names = {0};
			IFP_CLEANUP_BUF struct ifp_buf out = {0};
			char *exact = malloc(len ? len : 1); /* guarded by AddressSanitizer */

			memcpy(exact, texts[i], len);
			ifp_perfetto_annotate(&out, &names, (struct ifp_str){exact, len});
			assert_ok(ifp_buf_status(&out));
			free(exact);
		}
	}
}

static void deep_args_end_in_a_text(void **state)
{
	IFP_CLEANUP_INTERN struct ifp_intern names = {0};
	IFP_CLEANUP_BUF struct ifp_buf out = {0}, args = {0};
	const int depth = 100000;

	(void)state;
	ifp_buf_append_text(&args, "{\"a\":");
	for (int i = 0; i < depth; i++)
		ifp_buf_append_u8(&args, '[');
	ifp_buf_append_u8(&args, '1');
	for (int i = 0; i < depth; i++)
		ifp_buf_append_u8(&args, ']');
	ifp_buf_append_u8(&args, '}');
	ifp_perfetto_annotate(
		&out, &names, (struct ifp_str){(const char *)args.data, (uint32_t)args.len_bytes});
	assert_ok(ifp_buf_status(&out));
	/* 16 arrays, then the rest as it stands */
	assert_non_null(memmem(out.data, out.len_bytes, "[[[1]]]", 7));
}

static void a_file_that_cannot_be_written_is_told_at_the_end(void **state)
{
	struct ifp_perfetto_writer *writer;

	(void)state;
	assert_int_equal(ifp_perfetto_open("/nonexistent/a.pftrace", 0, &writer), -ENOENT);
	ifp_error_clear();
	assert_ok(ifp_perfetto_open("/dev/full", 0, &writer));
	ifp_perfetto_sequence(writer);
	add_instant(writer, 0);
	assert_int_equal(ifp_perfetto_close(&writer), -ENOSPC);
	ifp_error_clear();
	writer = open_writer();
	ifp_perfetto_abandon(&writer);
	assert_null(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_distances_and_names_are_written_once),
		cmocka_unit_test(ends_of_arrows_stand_alone),
		cmocka_unit_test(texts_that_are_no_json_do_no_harm),
		cmocka_unit_test(deep_args_end_in_a_text),
		cmocka_unit_test(a_file_that_cannot_be_written_is_told_at_the_end),
	};

	return cmocka_run_group_tests_name(__FILE__, tests, make_folder, remove_folder);
}
