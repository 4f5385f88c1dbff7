/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/kineto_client.h"

#include "test.h"

#define SECONDS(n) ((n)*IFP_NS_PER_S)

static const struct ifp_window steps_20_to_24 = {
	.kind = IFP_WINDOW_STEPS, .first_step = 20, .count = 5};
static const struct ifp_window two_seconds = {
	.kind = IFP_WINDOW_TIME, .start_realtime_ms = 1000000, .duration_ms = 2000};

static void the_first_process_that_asks_is_the_client_until_it_falls_silent(void **state)
{
	struct ifp_kineto_client client = {0};

	(void)state;
	assert_false(ifp_kineto_client_polling(&client, SECONDS(1)));
	assert_true(ifp_kineto_client_asks(&client, 7, SECONDS(1)));
	assert_true(ifp_kineto_client_polling(&client, SECONDS(6)));
	assert_false(ifp_kineto_client_asks(&client, 8, SECONDS(6)));
	assert_false(ifp_kineto_client_polling(&client, SECONDS(6) + 1));
	assert_true(ifp_kineto_client_asks(&client, 8, SECONDS(6) + 1));
	assert_int_equal(client.pid, 8);
}

static void the_process_learns_of_its_window(void **state)
{
	struct ifp_segment_header segment = {0};
	struct ifp_kineto_client client = {.segment = &segment, .pid = 7};

	(void)state;
	assert_true(ifp_kineto_client_hold(&client, &steps_20_to_24));
	assert_int_equal(segment.window_pid, 7);
	assert_int_equal(segment.window_first_step, 20);
	assert_int_equal(segment.window_last_step, 24);
	ifp_kineto_client_release(&client);
	assert_int_equal(segment.window_pid, 0);
}

static void a_window_of_time_has_no_steps(void **state)
{
	struct ifp_segment_header segment = {.window_first_step = 20, .window_last_step = 24};
	struct ifp_kineto_client client = {.segment = &segment, .pid = 7};

	(void)state;
	assert_true(ifp_kineto_client_hold(&client, &two_seconds));
	assert_int_equal(segment.window_first_step, 0);
	assert_int_equal(segment.window_last_step, 0);
}

static void a_process_that_ends_is_handed_no_window(void **state)
{
	struct ifp_segment_header segment = {.leaving_pid = 7};
	struct ifp_kineto_client client = {.segment = &segment, .pid = 7};

	(void)state;
	assert_true(ifp_kineto_client_leaving(&client));
	assert_false(ifp_kineto_client_hold(&client, &steps_20_to_24));
	assert_int_equal(segment.window_pid, 0);
	/* Another process of the rank has ended: nothing to the client. */
	segment.leaving_pid = 8;
	assert_false(ifp_kineto_client_leaving(&client));
	assert_true(ifp_kineto_client_hold(&client, &steps_20_to_24));
}

static void nobody_waits_for_a_process_that_has_fallen_silent(void **state)
{
	struct ifp_segment_header segment = {0};
	struct ifp_kineto_client client = {.segment = &segment};

	(void)state;
	assert_true(ifp_kineto_client_asks(&client, 7, SECONDS(1)));
	assert_true(ifp_kineto_client_hold(&client, &steps_20_to_24));
	assert_false(ifp_kineto_client_asks(&client, 8, SECONDS(2)));
	assert_int_equal(segment.window_pid, 7);
	assert_true(ifp_kineto_client_asks(&client, 8, SECONDS(7)));
	assert_int_equal(segment.window_pid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_process_that_asks_is_the_client_until_it_falls_silent),
		cmocka_unit_test(the_process_learns_of_its_window),
		cmocka_unit_test(a_window_of_time_has_no_steps),
		cmocka_unit_test(a_process_that_ends_is_handed_no_window),
		cmocka_unit_test(nobody_waits_for_a_process_that_has_fallen_silent),
	};

	return RUN_TESTS(tests);
}
