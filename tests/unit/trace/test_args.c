/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/event.h"

#include "test.h"

#include <stdlib.h>

static const char args[] =
	"{\"External id\":4099,\"Input Dims\":[[32,196],[]],\"name\":\"a, \\\"b\\\":1\","
	"\"nested\":{\"depth\":2},\"depth\":-7,\"f\":1.5,\"last\":true}";

static void finds_values_of_every_type(void **state)
{
	struct ifp_str value = {0};

	(void)state;
	assert_true(ifp_args_find(ifp_str(args), "External id", &value));
	assert_str(value, "4099");
	assert_true(ifp_args_find(ifp_str(args), "Input Dims", &value));
	assert_str(value, "[[32,196],[]]");
	assert_true(ifp_args_find(ifp_str(args), "name", &value));
	assert_str(value, "\"a, \\\"b\\\":1\"");
	assert_true(ifp_args_find(ifp_str(args), "last", &value));
	assert_str(value, "true");
}

/* A key inside of a nested object or a string is not a key of the args. */
static void looks_at_the_top_level_only(void **state)
{
	struct ifp_str value = ifp_str("untouched");
	int64_t number = 0;

	(void)state;
	assert_true(ifp_args_find_int(ifp_str(args), "depth", &number));
	assert_int_equal(number, -7);
	assert_false(ifp_args_find(ifp_str(args), "b\\\"", &value));
	assert_str(value, "untouched");
}

static void integers_are_exact_or_refused(void **state)
{
	int64_t number = 5;

	(void)state;
	assert_true(ifp_args_find_int(ifp_str("{\"a\":9223372036854775807}"), "a", &number));
	assert_int_equal(number, INT64_MAX);
	assert_true(ifp_args_find_int(ifp_str("{\"a\":-9223372036854775808}"), "a", &number));
	assert_int_equal(number, INT64_MIN);
	assert_false(ifp_args_find_int(ifp_str("{\"a\":9223372036854775808}"), "a", &number));
	assert_false(ifp_args_find_int(ifp_str("{\"a\":1.5}"), "a", &number));
	assert_false(ifp_args_find_int(ifp_str("{\"a\":\"1\"}"), "a", &number));
	assert_false(ifp_args_find_int(ifp_str("{\"a\":-}"), "a", &number));
	assert_int_equal(number, INT64_MIN);
}

/* Also by itself, as a walk through the members finds it. */
static void a_value_is_told_from_an_integer(void **state)
{
	int64_t number = 5;

	(void)state;
	assert_false(ifp_args_int((struct ifp_str){0}, &number));
	assert_false(ifp_args_int(ifp_str("12a"), &number));
	assert_int_equal(number, 5);
	assert_true(ifp_args_int(ifp_str("-12"), &number));
	assert_int_equal(number, -12);
}

static void accepts_spaces_between_tokens(void **state)
{
	int64_t number = 0;

	(void)state;
	assert_true(ifp_args_find_int(ifp_str(" { \"a\" : 1 , \"b\" : 2 } "), "b", &number));
	assert_int_equal(number, 2);
}

static void members_come_one_after_the_other(void **state)
{
	struct ifp_str text = ifp_str("{\"a\":1,\"b\":\"x,}\",\"c\":{\"d\":[2]}}"), key, value;
	const char *const expected[][2] = {{"a", "1"}, {"b", "\"x,}\""}, {"c", "{\"d\":[2]}"}};
	uint32_t at = 0;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_true(ifp_args_next(text, &at, &key, &value));
		assert_str(key, expected[i][0]);
		assert_str(value, expected[i][1]);
	}
	assert_false(ifp_args_next(text, &at, &key, &value));
	assert_false(ifp_args_next(text, &at, &key, &value));
	at = 0;
	assert_false(ifp_args_next(ifp_str("{}"), &at, &key, &value));
	assert_false(ifp_args_next((struct ifp_str){0}, &at, &key, &value));
}

static void elements_come_one_after_the_other(void **state)
{
	struct ifp_str text = ifp_str("[1, \"],\" ,[2,[]],{\"a\":[3]}]"), value;
	const char *const expected[] = {"1", "\"],\"", "[2,[]]", "{\"a\":[3]}"};
	uint32_t at = 0;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_true(ifp_args_next_element(text, &at, &value));
		assert_str(value, expected[i]);
	}
	assert_false(ifp_args_next_element(text, &at, &value));
	at = 0;
	assert_false(ifp_args_next_element(ifp_str("[]"), &at, &value));
	assert_false(ifp_args_next_element(ifp_str("{\"a\":1}"), &at, &value));
	assert_false(ifp_args_next_element((struct ifp_str){0}, &at, &value));
}

/* Every prefix of a valid text: nothing is read beyond its end, and the last key is not found. */
static void cut_texts_are_safe(void **state)
{
	(void)state;
	for (uint32_t len = 0; len < sizeof(args) - 2; len++) {
		char *exact = malloc(len ? len : 1); /* its end is guarded by AddressSanitizer */
		struct ifp_str value;

		memcpy(exact, args, len);
		assert_false(ifp_args_find((struct ifp_str){exact, len}, "absent", &value));
		free(exact);
	}
	assert_false(ifp_args_find((struct ifp_str){0}, "a", &(struct ifp_str){0}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_values_of_every_type),
		cmocka_unit_test(looks_at_the_top_level_only),
		cmocka_unit_test(integers_are_exact_or_refused),
		cmocka_unit_test(a_value_is_told_from_an_integer),
		cmocka_unit_test(accepts_spaces_between_tokens),
		cmocka_unit_test(members_come_one_after_the_other),
		cmocka_unit_test(elements_come_one_after_the_other),
		cmocka_unit_test(cut_texts_are_safe),
	};

	return RUN_TESTS(tests);
}
