/* SPDX-License-Identifier: Apache-2.0 */
/* Traces packed with gzip and zstd, whole and damaged. */
#include "trace/chrome/reader.h"

#include "chrome_fixture.h"

#include <zlib.h>
#include <zstd.h>

static size_t gzip(char *text, uint8_t *out, size_t size_bytes)
{
	z_stream stream = {0};
	size_t used;

	assert_int_equal(
		deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = (Bytef *)text;
	stream.avail_in = (uInt)strlen(text);
	stream.next_out = out;
	stream.avail_out = (uInt)size_bytes;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	used = stream.total_out;
	deflateEnd(&stream);
	return used;
}

#define HALF_1 "{\"traceEvents\":[" OP "\"ts\":1,\"dur\":1},"
#define HALF_2 OP "\"ts\":2,\"dur\":1}]}"

static void gzip_is_told_by_its_first_bytes_and_may_have_members(void **state)
{
	uint8_t packed[1024] = {0};
	size_t used = gzip((char[]){HALF_1}, packed, sizeof(packed));
	struct fixture f;

	(void)state;
	used += gzip((char[]){HALF_2}, packed + used, sizeof(packed) - used);
	open_bytes(&f, packed, used + 100); /* zeros behind the end are padding */
	next_event(&f);
	next_event(&f);
	assert_int_equal(f.event.start, 2000);
	no_more_events(&f);
	assert_int_equal(ifp_chrome_reader_counts(f.reader).bytes, strlen(HALF_1 HALF_2));
	close_all(&f);
}

static void a_gzip_file_that_is_cut_off_gives_what_it_holds(void **state)
{
	uint8_t packed[1024];
	size_t used = gzip((char[]){HALF_1 HALF_2}, packed, sizeof(packed));
	struct fixture f;

	(void)state;
	/* Without the trailer (8 bytes) all the text is there, but nothing says that it is right.
	 */
	open_bytes(&f, packed, used - 8);
	next_event(&f);
	next_event(&f);
	damaged_at(&f, "the gzip stream is cut off");
	close_all(&f);

	packed[used - 8] ^= 1; /* the checksum */
	open_bytes(&f, packed, used);
	next_event(&f);
	next_event(&f);
	damaged_at(&f, "the gzip stream is damaged");
	close_all(&f);
}

static void a_damaged_gzip_stream_gives_what_stands_before(void **state)
{
	uint8_t packed[1024];
	size_t first = gzip((char[]){HALF_1}, packed, sizeof(packed));
	size_t second = gzip((char[]){HALF_2}, packed + first, sizeof(packed) - first);
	struct fixture f;

	(void)state;
	packed[first + 10] = 0xff; /* a block of a type that does not exist */
	open_bytes(&f, packed, first + second);
	next_event(&f);
	assert_int_equal(f.event.start, 1000);
	damaged_at(&f, "the gzip stream is damaged");
	close_all(&f);
}

/* Each member is unpacked from its very first byte, wherever the window of the file ends. */
static void gzip_members_may_lie_across_the_windows_end(void **state)
{
	enum { WINDOW = 65536 };
	static uint8_t packed[WINDOW + 2048];
	uint8_t half_1[256], half_2[256];
	size_t size_1 = gzip((char[]){HALF_1}, half_1, sizeof(half_1));
	size_t size_2 = gzip((char[]){HALF_2}, half_2, sizeof(half_2));

	(void)state;
	for (size_t start = WINDOW - size_1 - size_2; start <= WINDOW; start++) {
		struct fixture f;

		/* Zeros between members are padding. */
		memset(packed, 0, sizeof(packed));
		memcpy(packed, half_1, size_1);
		memcpy(packed + start, half_2, size_2);
		open_bytes(&f, packed, start + size_2);
		next_event(&f);
		next_event(&f);
		assert_int_equal(f.event.start, 2000);
		no_more_events(&f);
		assert_int_equal(ifp_chrome_reader_counts(f.reader).file_bytes, start + size_2);
		close_all(&f);
	}
}

static void zstd_is_told_by_its_first_bytes_and_may_have_frames(void **state)
{
	uint8_t packed[2048];
	size_t used = ZSTD_compress(packed, sizeof(packed), HALF_1, strlen(HALF_1), 3);
	struct fixture f;

	(void)state;
	used += ZSTD_compress(packed + used, sizeof(packed) - used, HALF_2, strlen(HALF_2), 3);
	open_bytes(&f, packed, used);
	next_event(&f);
	next_event(&f);
	assert_int_equal(f.event.start, 2000);
	no_more_events(&f);
	close_all(&f);

	open_bytes(&f, packed, used - 1);
	next_event(&f);
	damaged_at(&f, "the zstd stream is cut off");
	close_all(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gzip_is_told_by_its_first_bytes_and_may_have_members),
		cmocka_unit_test(a_gzip_file_that_is_cut_off_gives_what_it_holds),
		cmocka_unit_test(a_damaged_gzip_stream_gives_what_stands_before),
		cmocka_unit_test(gzip_members_may_lie_across_the_windows_end),
		cmocka_unit_test(zstd_is_told_by_its_first_bytes_and_may_have_frames),
	};

	return RUN_TESTS(tests);
}
