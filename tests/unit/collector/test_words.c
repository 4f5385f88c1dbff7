/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/words.h"

#include "core/cleanup.h"

#include "test.h"

static void durations_have_three_digits_that_mean_something(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {{0, "0"}, {17, "17 ns"}, {1234, "1.23 us"}, {45210, "45.2 us"},
		{312400000, "312 ms"}, {1250000000, "1.25 s"}, {-5000000, "-5.00 ms"},
		{99960000, "100 ms"}, {9996000, "10.0 ms"}, {125000000000, "125 s"}};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		IFP_CLEANUP_BUF struct ifp_buf out = {0};

		ifp_words_duration(&out, cases[i].ns);
		ifp_buf_append_u8(&out, 0);
		assert_string_equal((const char *)out.data, cases[i].text);
	}
}

static void offsets_are_exact(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {{0, "+0 ns"}, {-318, "-318 ns"}, {999999, "+999999 ns"},
		{-1000000, "-0.001000000 s"}, {137000012345, "+137.000012345 s"},
		{INT64_MIN, "-9223372036.854775808 s"}};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		IFP_CLEANUP_BUF struct ifp_buf out = {0};

		ifp_words_offset(&out, cases[i].ns);
		ifp_buf_append_u8(&out, 0);
		assert_string_equal((const char *)out.data, cases[i].text);
	}
}

static void a_range_has_the_unit_of_its_larger_end(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf out = {0};

	(void)state;
	ifp_words_range(&out, 30200000, 115000000);
	ifp_buf_append_text(&out, "; ");
	ifp_words_range(&out, 900000, 2100000);
	ifp_buf_append_u8(&out, 0);
	assert_string_equal((const char *)out.data, "30.2 to 115 ms; 0.90 to 2.10 ms");
}

static void one_has_no_plural(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf out = {0};

	(void)state;
	ifp_words_count(&out, 1, "step");
	ifp_words_count(&out, 2, " rank");
	ifp_buf_append_u8(&out, 0);
	assert_string_equal((const char *)out.data, "1 step2  ranks");
}

static bool in_text(const void *context, uint32_t rank)
{
	return ((const char *)context)[rank] == 'x';
}

static void ranks_are_listed_as_ranges(void **state)
{
	static const struct {
		const char *members;
		const char *text;
	} cases[] = {{"...x", "rank 3"}, {"xxx..x", "ranks 0 to 2, 5"}, {".xx.", "ranks 1, 2"},
		{"xxxxxxxx", "ranks 0 to 7"}};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		IFP_CLEANUP_BUF struct ifp_buf out = {0};

		ifp_words_ranks(
			&out, (uint32_t)strlen(cases[i].members), in_text, cases[i].members);
		ifp_buf_append_u8(&out, 0);
		assert_string_equal((const char *)out.data, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_have_three_digits_that_mean_something),
		cmocka_unit_test(offsets_are_exact),
		cmocka_unit_test(a_range_has_the_unit_of_its_larger_end),
		cmocka_unit_test(one_has_no_plural),
		cmocka_unit_test(ranks_are_listed_as_ranges),
	};

	return RUN_TESTS(tests);
}
