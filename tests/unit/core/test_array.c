/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow. */
#include "core/array.h"

#include "core/cleanup.h"
#include "test.h"

#include <errno.h>

static void elements_survive_growth(void **state)
{
	IFP_CLEANUP_FREE uint64_t *squares = NULL;
	size_t capacity = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		assert_ok(IFP_ARRAY_RESERVE(squares, capacity, i, 1, "squares"));
		assert_true(capacity > i);
		squares[i] = i * i;
	}
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(squares[i], i * i);
}

static void room_doubles_and_is_used_before_it_grows(void **state)
{
	IFP_CLEANUP_FREE char *text = NULL;
	size_t capacity = 0, growths = 0, before;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		before = capacity;
		assert_ok(IFP_ARRAY_RESERVE(text, capacity, i, 1, "characters"));
		if (capacity == before)
			continue;
		assert_int_equal(before, i);
		assert_true(capacity >= 2 * before);
		growths++;
	}
	assert_int_equal(growths, 8); /* 8, 16, ... 1024 */
}

static void many_fit_at_once(void **state)
{
	IFP_CLEANUP_FREE uint32_t *numbers = NULL;
	size_t capacity = 0;

	(void)state;
	assert_ok(IFP_ARRAY_RESERVE(numbers, capacity, 0, 5000, "numbers"));
	assert_true(capacity >= 5000);
	numbers[4999] = 1;
}

static void a_failure_leaves_the_array_as_it_was(void **state)
{
	IFP_CLEANUP_FREE uint32_t *numbers = NULL;
	uint32_t *before;
	size_t capacity = 0, capacity_before;
	char text[256];

	(void)state;
	assert_ok(IFP_ARRAY_RESERVE(numbers, capacity, 0, 1, "numbers"));
	numbers[0] = 7;
	before = numbers;
	capacity_before = capacity;
	assert_int_equal(IFP_ARRAY_RESERVE(numbers, capacity, 1, SIZE_MAX / 2, "numbers"), -ENOMEM);
	assert_non_null(strstr(ifp_error_text(text, sizeof(text)), "numbers"));
	assert_ptr_equal(numbers, before);
	assert_int_equal(numbers[0], 7);
	assert_int_equal(capacity, capacity_before);
	ifp_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_survive_growth),
		cmocka_unit_test(room_doubles_and_is_used_before_it_grows),
		cmocka_unit_test(many_fit_at_once),
		cmocka_unit_test(a_failure_leaves_the_array_as_it_was),
	};

	return RUN_TESTS(tests);
}
