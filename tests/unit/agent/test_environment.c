/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "agent/launch/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void test_copy_has_every_variable_of_the_agent(void **state)
{
	struct ifp_environment environment = {0};
	size_t count = 0;

	(void)state;
	assert_int_equal(setenv("INFPROF_TEST_COPY", "a=b", 1), 0);
	while (environ[count])
		count++;
	assert_ok(ifp_environment_copy(&environment));
	assert_int_equal(environment.count, count);
	assert_null(environment.variables[count]);
	assert_string_equal(ifp_environment_get(&environment, "INFPROF_TEST_COPY"), "a=b");
	ifp_environment_free(&environment);
	assert_int_equal(environment.count, 0);
}

static void test_set_changes_the_copy_only(void **state)
{
	struct ifp_environment environment = {0};

	(void)state;
	assert_int_equal(setenv("INFPROF_TEST_SET", "outside", 1), 0);
	assert_ok(ifp_environment_copy(&environment));
	assert_ok(ifp_environment_set(&environment, "INFPROF_TEST_SET", "inside"));
	assert_string_equal(ifp_environment_get(&environment, "INFPROF_TEST_SET"), "inside");
	assert_string_equal(getenv("INFPROF_TEST_SET"), "outside");
	ifp_environment_free(&environment);
}

static void test_names_are_compared_whole(void **state)
{
	struct ifp_environment environment = {0};

	(void)state;
	assert_ok(ifp_environment_set(&environment, "RANK_OLD", "7"));
	assert_null(ifp_environment_get(&environment, "RANK"));
	assert_ok(ifp_environment_set(&environment, "RANK", "1"));
	assert_string_equal(ifp_environment_get(&environment, "RANK_OLD"), "7");
	assert_int_equal(environment.count, 2);
	ifp_environment_free(&environment);
}

static void test_default_leaves_what_the_user_has_set(void **state)
{
	struct ifp_environment environment = {0};

	(void)state;
	assert_ok(ifp_environment_set(&environment, "LEVEL", ""));
	assert_ok(ifp_environment_default(&environment, "LEVEL", "5"));
	assert_string_equal(ifp_environment_get(&environment, "LEVEL"), "");
	assert_ok(ifp_environment_default(&environment, "OTHER", "5"));
	assert_string_equal(ifp_environment_get(&environment, "OTHER"), "5");
	ifp_environment_free(&environment);
}

static void test_prepend_makes_no_empty_element(void **state)
{
	struct ifp_environment environment = {0};

	(void)state;
	assert_ok(ifp_environment_prepend(&environment, "PATHS", "/first"));
	assert_string_equal(ifp_environment_get(&environment, "PATHS"), "/first");
	assert_ok(ifp_environment_prepend(&environment, "PATHS", "/second"));
	assert_string_equal(ifp_environment_get(&environment, "PATHS"), "/second:/first");
	assert_ok(ifp_environment_set(&environment, "PATHS", ""));
	assert_ok(ifp_environment_prepend(&environment, "PATHS", "/third"));
	assert_string_equal(ifp_environment_get(&environment, "PATHS"), "/third");
	ifp_environment_free(&environment);
}

static void test_grows_beyond_its_first_size(void **state)
{
	struct ifp_environment environment = {0};
	char name[32];

	(void)state;
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "N%d", i);
		assert_ok(ifp_environment_set(&environment, name, "x"));
	}
	assert_int_equal(environment.count, 300);
	assert_null(environment.variables[300]);
	assert_string_equal(ifp_environment_get(&environment, "N299"), "x");
	ifp_environment_free(&environment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy_has_every_variable_of_the_agent),
		cmocka_unit_test(test_set_changes_the_copy_only),
		cmocka_unit_test(test_names_are_compared_whole),
		cmocka_unit_test(test_default_leaves_what_the_user_has_set),
		cmocka_unit_test(test_prepend_makes_no_empty_element),
		cmocka_unit_test(test_grows_beyond_its_first_size),
	};

	return RUN_TESTS(tests);
}
