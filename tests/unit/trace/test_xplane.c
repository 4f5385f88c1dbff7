/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/xplane/writer.h"

#include "core/buf.h"
#include "core/cleanup.h"

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A directory for one test, and the file in it. */
struct place {
	char directory[64];
	char path[80];
};

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	snprintf(place->directory, sizeof(place->directory), "/tmp/test_xplane.XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	snprintf(place->path, sizeof(place->path), "%s/a.xplane.pb", place->directory);
	*state = place;
	return 0;
}

static unsigned int files_in(const char *directory)
{
	IFP_CLEANUP_DIR DIR *dir = opendir(directory);
	unsigned int count = 0;
	const struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	return count;
}

static int remove_place(void **state)
{
	struct place *place = *state;

	unlink(place->path);
	assert_int_equal(rmdir(place->directory), 0);
	free(place);
	return 0;
}

static struct ifp_buf read_file(const char *path)
{
	IFP_CLEANUP_FILE FILE *file = fopen(path, "rb");
	struct ifp_buf buf = {0};
	uint8_t piece[4096];
	size_t got;

	assert_non_null(file);
	while ((got = fread(piece, 1, sizeof(piece), file)))
		ifp_buf_append(&buf, piece, got);
	assert_ok(ifp_buf_status(&buf));
	return buf;
}

static struct ifp_xplane_writer *open_file(const struct place *place, uint64_t limit_bytes)
{
	struct ifp_xplane_writer *writer = NULL;

	assert_ok(ifp_xplane_open(place->path, limit_bytes, &writer));
	return writer;
}

static void assert_file(const struct place *place, const uint8_t *expected, size_t len_bytes)
{
	IFP_CLEANUP_BUF struct ifp_buf got = read_file(place->path);

	for (size_t i = 0; i < len_bytes && i < got.len_bytes; i++)
		if (got.data[i] != expected[i])
			fail_msg("byte %zu is %02x, not %02x", i, got.data[i], expected[i]);
	assert_int_equal(got.len_bytes, len_bytes);
}

/* A plane with one event, byte by byte as xplane.proto and protobuf's encoding say. */
static const uint8_t golden[] = {
	0x0a, 94,					      /* planes */
	0x08, 3,					      /*   id */
	0x12, 9, '/', 'h', 'o', 's', 't', ':', 'C', 'P', 'U', /*   name */
	0x1a, 0x80 | 23, 0x80, 0x80, 0x80, 0x00,	      /*   lines: the length in 5 bytes */
	0x08, 7,					      /*     id */
	0x5a, 3, 't', ' ', '"',				      /*     display_name */
	0x22, 14,					      /*     events */
	0x08, 2,					      /*       metadata_id */
	0x10, 0xe8, 0x07,				      /*       offset_ps 1000 */
	0x18, 0xd0, 0x0f,				      /*       duration_ps 2000 */
	0x22, 4, 0x08, 1, 0x38, 2,			      /*       stats: 1, ref_value 2 */
	0x22, 28, 0x08, 2, 0x12, 24,			      /*   event_metadata: key, value */
	0x08, 2,					      /*     id */
	0x12, 10, 'a', 't', 'e', 'n', '/', 'm', 'm', ':', 'm', 'm', /* name */
	0x22, 8, 'a', 't', 'e', 'n', ':', ':', 'm', 'm',	    /* display_name */
	0x2a, 9, 0x08, 1, 0x12, 5, 0x08, 1, 0x12, 1, 'd', /*   stat_metadata: key, value */
	0x2a, 9, 0x08, 2, 0x12, 5, 0x08, 2, 0x12, 1, 'x', /*     with id and name */
};

static void a_file_is_these_bytes(void **state)
{
	const struct place *place = *state;
	struct ifp_xplane_writer *writer = open_file(place, IFP_XPLANE_MAX_BYTES);
	struct ifp_xplane_plane *plane = ifp_xplane_plane(writer, "/host:CPU", 3);
	uint32_t name = ifp_xplane_event_name(plane, ifp_str("aten::mm"), IFP_XPLANE_OPERATOR);
	uint32_t stat = ifp_xplane_stat_name(plane, ifp_str("d"));
	uint64_t bytes;

	ifp_xplane_line(plane, 7, ifp_str("t \\\""));
	ifp_xplane_event_begin(plane, name, 1, 2);
	ifp_xplane_stat_text(plane, stat, ifp_str("x"));
	assert_true(ifp_xplane_event_end(plane));
	assert_ok(ifp_xplane_close(&writer, &bytes));
	assert_null(writer);
	assert_int_equal(bytes, sizeof(golden));
	assert_file(place, golden, sizeof(golden));
	assert_int_equal(files_in(place->directory), 1);
}

static void stats_of_every_kind_and_of_planes(void **state)
{
	const struct place *place = *state;
	struct ifp_xplane_writer *writer = open_file(place, IFP_XPLANE_MAX_BYTES);
	struct ifp_xplane_plane *plane = ifp_xplane_plane(writer, "P", 0);
	uint64_t bytes;
	const uint8_t expected[] = {
		0x0a, 92, 0x08, 0, 0x12, 1, 'P', 0x1a, 0x80 | 53, 0x80, 0x80, 0x80,
		0x00,							    /* lines */
		0x12, 10, '_', 'c', 'o', 'u', 'n', 't', 'e', 'r', 's', '_', /* name */
		0x22, 39, 0x08, 1, 0x10, 0, /* an event without length */
		0x22, 13, 0x08, 1, 0x20,    /* int64_value -2 */
		0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x22, 5, 0x08, 1, 0x18,
		0x96, 0x01,					       /* uint64_value 150 */
		0x22, 11, 0x08, 1, 0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, /* double_value 1.5 */
		0x22, 9, 0x08, 1, 0x12, 5, 0x08, 1, 0x12, 1, 'e',      /* event_metadata */
		0x2a, 9, 0x08, 1, 0x12, 5, 0x08, 1, 0x12, 1, 's',      /* stat_metadata */
		0x32, 4, 0x08, 1, 0x18, 9,			       /* stats */
	};

	ifp_xplane_stat_uint(plane, ifp_xplane_stat_name(plane, ifp_str("s")), 9);
	ifp_xplane_line_of_counters(plane);
	ifp_xplane_event_begin(
		plane, ifp_xplane_event_name(plane, ifp_str("e"), IFP_XPLANE_PLAIN), 0, 0);
	ifp_xplane_stat_int(plane, 1, -2);
	ifp_xplane_stat_uint(plane, 1, 150);
	ifp_xplane_stat_double(plane, 1, 1.5);
	assert_true(ifp_xplane_event_end(plane));
	assert_ok(ifp_xplane_close(&writer, &bytes));
	assert_file(place, expected, sizeof(expected));
}

/* What a field of wire type 2 holds; the cursor is behind it then. */
static struct ifp_cursor take_field(struct ifp_cursor *in, uint8_t tag)
{
	uint64_t len_bytes;

	assert_int_equal(ifp_cursor_u8(in), tag);
	len_bytes = ifp_cursor_varint(in);
	return ifp_cursor(ifp_cursor_bytes(in, len_bytes), len_bytes);
}

/* Lines longer than what is kept in memory, of two planes in turn. */
static void long_lines_keep_their_bytes_and_lengths(void **state)
{
	const struct place *place = *state;
	struct ifp_xplane_writer *writer = open_file(place, IFP_XPLANE_MAX_BYTES);
	struct ifp_xplane_plane *planes[2] = {
		ifp_xplane_plane(writer, "A", 0), ifp_xplane_plane(writer, "B", 0)};
	const uint64_t events = 150000; /* of 9 to 14 bytes each */
	IFP_CLEANUP_BUF struct ifp_buf got = {0};
	struct ifp_cursor in;
	uint64_t bytes;

	for (uint64_t line = 0; line < 3; line++) {
		for (int k = 0; k < 2; k++)
			ifp_xplane_line(planes[k], (int64_t)line + 1, ifp_str(""));
		for (uint64_t i = 0; i < events; i++) {
			ifp_xplane_event_begin(planes[i % 2], 1, (int64_t)(i * 1000), 5);
			assert_true(ifp_xplane_event_end(planes[i % 2]));
		}
	}
	assert_int_equal(files_in(place->directory), 0); /* nothing has a name yet */
	assert_ok(ifp_xplane_close(&writer, &bytes));
	got = read_file(place->path);
	assert_int_equal(got.len_bytes, bytes);
	in = ifp_cursor(got.data, got.len_bytes);
	for (uint64_t k = 0; k < 2; k++) {
		struct ifp_cursor plane = take_field(&in, 0x0a);

		ifp_cursor_bytes(&plane, 5);
		for (uint64_t line = 0; line < 3; line++) {
			struct ifp_cursor held = take_field(&plane, 0x1a);

			assert_int_equal(ifp_cursor_u8(&held), 0x08);
			assert_int_equal(ifp_cursor_u8(&held), line + 1);
			take_field(&held, 0x5a);
			for (uint64_t i = k; i < events; i += 2) {
				struct ifp_cursor event = take_field(&held, 0x22);

				ifp_cursor_bytes(&event, 3);
				assert_int_equal(ifp_cursor_varint(&event), i * 1000 * 1000);
			}
			assert_int_equal(held.position_bytes, held.len_bytes);
		}
		assert_int_equal(plane.position_bytes, plane.len_bytes);
	}
	assert_int_equal(in.position_bytes, in.len_bytes);
}

static void a_file_never_becomes_larger_than_its_limit(void **state)
{
	const struct place *place = *state;
	const uint64_t limit_bytes = 2000;
	struct ifp_xplane_writer *writer = open_file(place, limit_bytes);
	struct ifp_xplane_plane *plane = ifp_xplane_plane(writer, "A", 0);
	uint64_t bytes, written = 0;

	ifp_xplane_line(plane, 1, ifp_str(""));
	for (unsigned int i = 0; i < 500; i++) {
		char text[16];

		snprintf(text, sizeof(text), "name %u", i % 7);
		ifp_xplane_event_begin(
			plane, ifp_xplane_event_name(plane, ifp_str(text), IFP_XPLANE_PLAIN), i, 1);
		written += ifp_xplane_event_end(plane);
	}
	assert_ok(ifp_xplane_close(&writer, &bytes));
	assert_in_range(bytes, limit_bytes / 2, limit_bytes);
	assert_in_range(written, 90, 499);
}

static void a_plane_is_found_again_by_its_name(void **state)
{
	const struct place *place = *state;
	struct ifp_xplane_writer *writer = open_file(place, IFP_XPLANE_MAX_BYTES);
	struct ifp_xplane_plane *plane = ifp_xplane_plane(writer, "/device:GPU:1", 1);

	assert_ptr_not_equal(ifp_xplane_plane(writer, "/device:GPU:11", 11), plane);
	assert_ptr_equal(ifp_xplane_plane(writer, "/device:GPU:1", 1), plane);
	ifp_xplane_abandon(&writer);
	assert_null(writer);
	assert_int_equal(files_in(place->directory), 0);
}

static void a_file_that_cannot_be_written_leaves_nothing(void **state)
{
	const struct place *place = *state;
	struct ifp_xplane_writer *writer = NULL;
	char path[120];
	uint64_t bytes = 7;

	snprintf(path, sizeof(path), "%s/missing/a.xplane.pb", place->directory);
	assert_ok(ifp_xplane_open(path, IFP_XPLANE_MAX_BYTES, &writer));
	assert_int_equal(ifp_xplane_close(&writer, &bytes), -ENOENT);
	assert_non_null(strstr(ifp_error_cause(0), path));
	assert_null(writer);
	assert_int_equal(bytes, 7);
	assert_int_equal(files_in(place->directory), 0);
	ifp_error_clear();
}

static void assert_name(const char *shown, enum ifp_xplane_style style, const char *analysed)
{
	IFP_CLEANUP_BUF struct ifp_buf out = {0};

	ifp_xplane_name(&out, ifp_str(shown), style);
	assert_str(((struct ifp_str){(const char *)out.data, (uint32_t)out.len_bytes}), analysed);
}

static void names_of_operators_are_what_xprof_takes_for_some(void **state)
{
	(void)state;
	assert_name("aten::mm", IFP_XPLANE_OPERATOR, "aten/mm:mm");
	assert_name("aten::add_", IFP_XPLANE_OPERATOR, "aten/add_:add_");
	assert_name("aten::_foreach_add_", IFP_XPLANE_OPERATOR, "aten/_foreach_add_:_foreach_add_");
	assert_name("AddmmBackward0", IFP_XPLANE_OPERATOR, "AddmmBackward0:AddmmBackward0");
	assert_name("aten::sum_dim_IntList", IFP_XPLANE_OPERATOR,
		"aten/sum_dim_IntList:Sum_dim_IntList");
	assert_name("autograd::engine::evaluate_function: MmBackward0", IFP_XPLANE_OPERATOR,
		"autograd/engine/evaluate_function__MmBackward0:MmBackward0");
	assert_name("aten::2x", IFP_XPLANE_OPERATOR, "aten::2x");	      /* no type */
	assert_name("[pl][profile]x", IFP_XPLANE_OPERATOR, "[pl][profile]x"); /* no name */
	assert_name("a (b)", IFP_XPLANE_OPERATOR, "a (b)");
	assert_name("", IFP_XPLANE_OPERATOR, "");
	assert_name("aten::mm", IFP_XPLANE_PLAIN, "aten::mm");
}

static void names_of_copies_lose_their_blank(void **state)
{
	(void)state;
	assert_name("Memcpy HtoD (Pageable -> Device)", IFP_XPLANE_COPY,
		"MemcpyHtoD (Pageable -> Device)");
	assert_name("Memset (Device)", IFP_XPLANE_COPY, "Memset (Device)");
}

static void some_names_claim_to_be_the_step(void **state)
{
	(void)state;
	assert_true(ifp_xplane_claims_step(ifp_str("train_step")));
	assert_true(ifp_xplane_claims_step(ifp_str("test.py(3): main")));
	assert_false(ifp_xplane_claims_step(ifp_str("train/forward")));
	assert_false(ifp_xplane_claims_step(ifp_str("forward train")));
	assert_false(ifp_xplane_claims_step(ifp_str("")));
}

#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST(a_file_is_these_bytes),
		FILE_TEST(stats_of_every_kind_and_of_planes),
		FILE_TEST(long_lines_keep_their_bytes_and_lengths),
		FILE_TEST(a_file_never_becomes_larger_than_its_limit),
		FILE_TEST(a_plane_is_found_again_by_its_name),
		FILE_TEST(a_file_that_cannot_be_written_leaves_nothing),
		cmocka_unit_test(names_of_operators_are_what_xprof_takes_for_some),
		cmocka_unit_test(names_of_copies_lose_their_blank),
		cmocka_unit_test(some_names_claim_to_be_the_step),
	};

	return RUN_TESTS(tests);
}
