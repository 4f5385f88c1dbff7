/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of numbers as people write them. */
#include "core/ranges.h"

#include "test.h"

#include <errno.h>

static void assert_printed(const struct ifp_ranges *ranges, const char *expected)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};

	ifp_ranges_print(ranges, &text);
	assert_str(((struct ifp_str){(const char *)text.data, (uint32_t)text.len_bytes}), expected);
}

static void numbers_and_ranges_are_read(void **state)
{
	IFP_CLEANUP_RANGES struct ifp_ranges ranges = {0};

	(void)state;
	assert_ok(ifp_ranges_parse("0,3-5,9223372036854775807", "--ranks", &ranges));
	assert_printed(&ranges, "0, 3-5, 9223372036854775807");
	for (int64_t n = -1; n < 8; n++)
		assert_int_equal(ifp_ranges_hold(&ranges, n), n == 0 || (n >= 3 && n <= 5));
	assert_true(ifp_ranges_hold(&ranges, INT64_MAX));
}

static void anything_else_is_refused_by_name(void **state)
{
	static const char *const bad[] = {"", ",", "1,", ",1", "a", "1-", "-1", "5-3", "1 ", " 1",
		"1-2-3", "0x1", "1;2", "9223372036854775808", "+1"};
	char text[256];

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(bad); i++) {
		struct ifp_ranges ranges = {0};

		assert_int_equal(ifp_ranges_parse(bad[i], "--ranks", &ranges), -EINVAL);
		assert_ptr_equal(ranges.items, NULL);
		ifp_error_text(text, sizeof(text));
		assert_non_null(strstr(text, "--ranks"));
		assert_non_null(strstr(text, bad[i]));
		ifp_error_clear();
	}
}

static void neighbours_become_one_range(void **state)
{
	static const int64_t numbers[] = {1, 1, 2, 3, 7, 9, 9, 10};
	IFP_CLEANUP_RANGES struct ifp_ranges ranges = {0};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(numbers); i++)
		assert_ok(ifp_ranges_add(&ranges, numbers[i]));
	assert_printed(&ranges, "1-3, 7, 9-10");
}

static void the_first_missing_number_is_named(void **state)
{
	static const struct {
		const char *wanted;
		int64_t missing; /* -1 = none */
	} cases[] = {
		{"1-3", -1},
		{"7,2", -1},
		{"1-10", 4},
		{"0-3", 0},
		{"5-6,2", 5},
		{"9-9223372036854775807", 11},
	};
	IFP_CLEANUP_RANGES struct ifp_ranges ranges = {0};

	(void)state;
	assert_ok(ifp_ranges_parse("1-2,3,7,9-10", "there", &ranges));
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		IFP_CLEANUP_RANGES struct ifp_ranges wanted = {0};
		int64_t missing = -1;

		assert_ok(ifp_ranges_parse(cases[i].wanted, "wanted", &wanted));
		assert_int_equal(
			ifp_ranges_lack(&ranges, &wanted, &missing), cases[i].missing >= 0);
		assert_int_equal(missing, cases[i].missing);
	}
}

static void of_very_many_the_first_are_printed(void **state)
{
	IFP_CLEANUP_RANGES struct ifp_ranges ranges = {0};

	(void)state;
	for (int64_t n = 0; n < 1000; n += 2)
		assert_ok(ifp_ranges_add(&ranges, n));
	assert_printed(&ranges, "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, ...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_ranges_are_read),
		cmocka_unit_test(anything_else_is_refused_by_name),
		cmocka_unit_test(neighbours_become_one_range),
		cmocka_unit_test(the_first_missing_number_is_named),
		cmocka_unit_test(of_very_many_the_first_are_printed),
	};

	return RUN_TESTS(tests);
}
