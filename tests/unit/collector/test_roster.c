/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/roster.h"
#include "trace/archive/frame.h"

#include "outlet_record.h"

#include <errno.h>

#define S IFP_NS_PER_S

/* Says HELLO for an agent; pid tells agents apart. */
static int hello(
	struct ifp_roster *roster, const char *job, int rank, int world, int pid, int64_t now_ns)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();
	uint32_t admitted = 0;
	bool news;
	int err;

	cJSON_AddStringToObject(document, "job", job);
	cJSON_AddNumberToObject(document, "rank", rank);
	cJSON_AddNumberToObject(document, "world", world);
	cJSON_AddNumberToObject(document, "pid", pid);
	cJSON_AddStringToObject(document, "host", "node");
	ifp_document_add_int64(document, "started_realtime_ns", INT64_C(1800000000000000000) + pid);
	err = ifp_roster_hello(roster, document, now_ns, &admitted, &news);
	if (!err)
		assert_int_equal(admitted, rank);
	return err;
}

static const char *refusal(void)
{
	static char text[1024];

	ifp_error_text(text, sizeof(text));
	ifp_error_clear();
	return text;
}

static void roll_is_called_when_all_have_come(void **state)
{
	struct ifp_roster roster;

	(void)state;
	assert_ok(ifp_roster_init(&roster, "job", 2));
	assert_false(ifp_roster_roll_due(&roster, 100 * S));
	assert_ok(hello(&roster, "job", 1, 2, 11, 100 * S));
	assert_false(ifp_roster_roll_due(&roster, 101 * S));
	assert_ok(hello(&roster, "job", 0, 2, 10, 101 * S));
	assert_true(ifp_roster_roll_due(&roster, 101 * S));
	roster.called = true;
	assert_false(ifp_roster_roll_due(&roster, 200 * S));
	ifp_roster_free(&roster);
}

static void roll_does_not_wait_longer_than_15_s_for_the_rest(void **state)
{
	struct ifp_roster roster;

	(void)state;
	assert_ok(ifp_roster_init(&roster, "job", 2));
	assert_ok(hello(&roster, "job", 1, 2, 11, 100 * S));
	assert_false(ifp_roster_roll_due(&roster, 115 * S - 1));
	assert_true(ifp_roster_roll_due(&roster, 115 * S));
	ifp_roster_free(&roster);
}

static void first_hello_names_job_and_world_where_nothing_else_does(void **state)
{
	struct ifp_roster roster;

	(void)state;
	assert_ok(ifp_roster_init(&roster, NULL, 0));
	assert_ok(hello(&roster, "first", 0, 4, 10, S));
	assert_int_equal(roster.world, 4);
	assert_string_equal(roster.job, "first");
	assert_int_equal(hello(&roster, "second", 1, 4, 11, S), -EPROTO);
	assert_string_equal(refusal(), "this collector serves job first, not second");
	assert_int_equal(hello(&roster, "first", 1, 8, 11, S), -EPROTO);
	assert_string_equal(refusal(), "this job has 4 ranks, an agent says 8");
	assert_int_equal(hello(&roster, "first", 4, 4, 11, S), -EINVAL);
	assert_string_equal(refusal(), "HELLO with no rank below 4");
	assert_int_equal(roster.present, 1);
	ifp_roster_free(&roster);
}

static void second_agent_of_one_rank_is_refused_also_when_the_first_has_gone(void **state)
{
	struct ifp_roster roster;

	(void)state;
	assert_ok(ifp_roster_init(&roster, "job", 2));
	assert_ok(hello(&roster, "job", 1, 2, 11, S));
	assert_ok(hello(&roster, "job", 1, 2, 11, 2 * S)); /* the same one once more */
	assert_int_equal(hello(&roster, "job", 1, 2, 12, 3 * S), -EEXIST);
	assert_string_equal(refusal(), "rank 1 belongs to another agent (node, process 11): "
				       "two ranks claim one identity");
	ifp_roster_ended(&roster, 1);
	assert_int_equal(hello(&roster, "job", 1, 2, 12, 4 * S), -EEXIST);
	ifp_error_clear();
	ifp_roster_free(&roster);
}

static void silent_rank_is_overdue_after_30_s(void **state)
{
	struct ifp_roster roster;

	(void)state;
	assert_ok(ifp_roster_init(&roster, "job", 3));
	for (int rank = 0; rank < 3; rank++)
		assert_ok(hello(&roster, "job", rank, 3, 10 + rank, 100 * S));
	ifp_roster_seen(&roster, 0, 120 * S);
	ifp_roster_ended(&roster, 1);
	assert_int_equal(ifp_roster_overdue(&roster, 130 * S - 1), IFP_FRAME_NO_RANK);
	assert_int_equal(ifp_roster_overdue(&roster, 130 * S), 2);
	ifp_roster_lost(&roster, 2);
	assert_int_equal(ifp_roster_overdue(&roster, 130 * S), IFP_FRAME_NO_RANK);
	assert_int_equal(roster.present, 1);
	ifp_roster_returned(&roster, 2);
	assert_int_equal(roster.present, 2);
	ifp_roster_free(&roster);
}

static void closed_connection_counts_after_5_s_where_it_means_a_dead_process(void **state)
{
	struct ifp_roster roster;

	(void)state;
	assert_ok(ifp_roster_init(&roster, "job", 1));
	assert_ok(hello(&roster, "job", 0, 1, 10, 100 * S));
	roster.members[0].connected = false;
	assert_int_equal(ifp_roster_overdue(&roster, 129 * S), IFP_FRAME_NO_RANK);
	roster.disconnected_is_dead = true;
	assert_int_equal(ifp_roster_overdue(&roster, 104 * S), IFP_FRAME_NO_RANK);
	assert_int_equal(ifp_roster_overdue(&roster, 105 * S), 0);
	ifp_roster_seen(&roster, 0, 105 * S); /* has come back */
	assert_int_equal(ifp_roster_overdue(&roster, 111 * S), IFP_FRAME_NO_RANK);
	ifp_roster_free(&roster);
}

static void collector_in_its_second_life_waits_15_s_for_those_at_the_roll_call(void **state)
{
	struct ifp_roster roster;

	(void)state;
	assert_ok(ifp_roster_init(&roster, "job", 2));
	roster.called = true;
	assert_true(ifp_roster_is_deserted(&roster, 100 * S));
	/* as after a restart before any RANK document was stored */
	roster.restored_ns = 100 * S;
	assert_false(ifp_roster_is_deserted(&roster, 115 * S - 1));
	assert_true(ifp_roster_is_deserted(&roster, 115 * S));
	assert_ok(hello(&roster, "job", 0, 2, 10, 114 * S));
	assert_false(ifp_roster_is_deserted(&roster, 200 * S));
	ifp_roster_free(&roster);
}

static void closed_connection_counts_later_in_a_second_life(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();
	struct ifp_roster roster;

	(void)state;
	assert_ok(ifp_roster_init(&roster, "job", 1));
	roster.disconnected_is_dead = true;
	roster.restored_ns = 100 * S;
	assert_ok(ifp_roster_restore(&roster, 0, document, 100 * S));
	assert_int_equal(ifp_roster_overdue(&roster, 115 * S - 1), IFP_FRAME_NO_RANK);
	assert_int_equal(ifp_roster_overdue(&roster, 115 * S), 0);
	ifp_roster_free(&roster);
}

static void hello_without_identity_is_refused(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *document =
		document_from("{'job':'job','rank':0,'world':1,'host':'node','pid':4}");
	struct ifp_roster roster;
	uint32_t rank;
	bool news;

	(void)state;
	assert_ok(ifp_roster_init(&roster, "job", 1));
	assert_int_equal(ifp_roster_hello(&roster, document, S, &rank, &news), -EINVAL);
	assert_string_equal(refusal(), "HELLO without host, pid and time of start");
	assert_int_equal(roster.present, 0);
	ifp_roster_free(&roster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roll_is_called_when_all_have_come),
		cmocka_unit_test(roll_does_not_wait_longer_than_15_s_for_the_rest),
		cmocka_unit_test(first_hello_names_job_and_world_where_nothing_else_does),
		cmocka_unit_test(second_agent_of_one_rank_is_refused_also_when_the_first_has_gone),
		cmocka_unit_test(silent_rank_is_overdue_after_30_s),
		cmocka_unit_test(closed_connection_counts_after_5_s_where_it_means_a_dead_process),
		cmocka_unit_test(
			collector_in_its_second_life_waits_15_s_for_those_at_the_roll_call),
		cmocka_unit_test(closed_connection_counts_later_in_a_second_life),
		cmocka_unit_test(hello_without_identity_is_refused),
	};

	return RUN_TESTS(tests);
}
