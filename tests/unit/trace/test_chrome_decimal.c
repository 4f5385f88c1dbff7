/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/decimal.h"

#include "core/cleanup.h"
#include "test.h"

struct decimal_case {
	const char *text;
	int64_t ns;
};

static void microseconds_become_exact_nanoseconds(void **state)
{
	static const struct decimal_case cases[] = {
		{"0", 0},
		{"-0", 0},
		{"1", 1000},
		{"0.001", 1},
		{"1.5", 1500},
		{"-1.5", -1500},
		{"5224531827980.067", INT64_C(5224531827980067)},
		/* A double would be off by 64 ns here. */
		{"1790857026000000.123", INT64_C(1790857026000000123)},
		{"9223372036854775.807", INT64_MAX},
		{"-9223372036854775.808", INT64_MIN},
		{"0.0000000000000000000000000000000000000000001", 0},
		{"1.0004999999", 1000},
		{"1.0005", 1001},
		{"-1.0005", -1001},
		{"1e3", 1000000},
		{"1E+3", 1000000},
		{"12.34e-2", 123},
		{"12.36e-2", 124},
		{"5e-4", 1},
		{"4e-4", 0},
		{"9e-5", 0},
		{"0e999999999999999999999", 0},
		{"1e-999999999999999999999", 0},
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		int64_t ns = 77;

		if (!ifp_decimal_us_to_ns(ifp_str(cases[i].text), &ns) || ns != cases[i].ns)
			fail_msg("%s us gives %lld ns", cases[i].text, (long long)ns);
	}
}

static void what_does_not_fit_or_is_no_number_is_refused(void **state)
{
	static const char *const texts[] = {"9223372036854775.808", "-9223372036854775.809",
		"9223372036854775.8079", "1e16", "1e999999999999", "", "-", "\"1\"", "null", "1e",
		"1e+", "1x", "[1]"};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(texts); i++) {
		int64_t ns = 77;

		if (ifp_decimal_us_to_ns(ifp_str(texts[i]), &ns))
			fail_msg("%s us is taken as %lld ns", texts[i], (long long)ns);
		assert_int_equal(ns, 77);
	}
}

static void integers_are_read_to_their_last_value(void **state)
{
	int64_t value = 0;

	(void)state;
	assert_true(ifp_decimal_int(ifp_str("9223372036854775807"), &value));
	assert_true(value == INT64_MAX);
	assert_true(ifp_decimal_int(ifp_str("-9223372036854775808"), &value));
	assert_true(value == INT64_MIN);
	assert_true(ifp_decimal_int(ifp_str("-1"), &value));
	assert_int_equal(value, -1);
	assert_false(ifp_decimal_int(ifp_str("9223372036854775808"), &value));
	assert_false(ifp_decimal_int(ifp_str("1.0"), &value));
	assert_false(ifp_decimal_int(ifp_str("1e3"), &value));
	assert_false(ifp_decimal_int(ifp_str("\"1\""), &value));
	assert_false(ifp_decimal_int(ifp_str(""), &value));
	assert_int_equal(value, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(microseconds_become_exact_nanoseconds),
		cmocka_unit_test(what_does_not_fit_or_is_no_number_is_refused),
		cmocka_unit_test(integers_are_read_to_their_last_value),
	};

	return RUN_TESTS(tests);
}
