/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/ends.h"

#include "outlet_record.h"

static void every_rank_gets_one_end_document_and_closed(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *end = document_from("{'how':'exited','status':0}");
	struct record record;
	struct ifp_ends ends;

	(void)state;
	record_init(&record);
	assert_ok(ifp_ends_init(&ends, &record.outlet, 2));
	ifp_ends_bye(&ends, 0, end);
	ifp_ends_bye(&ends, 0, end); /* repeated each second until CLOSED */
	assert_null(record_message(&record, IFP_MSG_CLOSED, 0));
	assert_false(ifp_ends_all(&ends));
	ifp_ends_release(&ends);
	assert_non_null(record_message(&record, IFP_MSG_CLOSED, 0));
	assert_null(record_message(&record, IFP_MSG_CLOSED, 1));
	ifp_ends_bye(&ends, 0, end); /* CLOSED has been lost: it is said again */
	assert_non_null(record_message(&record, IFP_MSG_CLOSED, 0));
	ifp_ends_bye(&ends, 1, end);
	assert_true(ifp_ends_all(&ends));
	assert_false(ends.failure);
	assert_int_equal(record_frames(&record, IFP_FRAME_END, 0), 1);
	assert_int_equal(record_frames(&record, IFP_FRAME_END, 1), 1);
	ifp_ends_free(&ends);
	record_free(&record);
}

static void failure_makes_the_others_flush_once(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *well = document_from("{'how':'exited','status':0}");
	IFP_CLEANUP_DOCUMENT cJSON *badly = document_from("{'how':'exited','status':3}");
	struct record record;
	struct ifp_ends ends;

	(void)state;
	record_init(&record);
	assert_ok(ifp_ends_init(&ends, &record.outlet, 4));
	ifp_ends_bye(&ends, 3, well);
	ifp_ends_failing(&ends, 1, badly);
	ifp_ends_failing(&ends, 1, badly);
	ifp_ends_failing(&ends, 2, badly); /* follows from the first */
	assert_non_null(record_message(&record, IFP_MSG_FLUSH, 0));
	assert_null(record_message(&record, IFP_MSG_FLUSH, 0));
	assert_null(record_message(&record, IFP_MSG_FLUSH, 1));
	assert_non_null(record_message(&record, IFP_MSG_FLUSH, 2));
	assert_null(record_message(&record, IFP_MSG_FLUSH, 3));
	ifp_ends_bye(&ends, 1, badly);
	assert_int_equal(record_rows(&record, 1, "rank-failed"), 1);
	assert_true(ends.failure);
	ifp_ends_free(&ends);
	record_free(&record);
}

static void lost_rank_gets_its_document_from_the_collector(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *end = document_from("{'how':'exited','status':0}");
	struct record record;
	struct ifp_ends ends;
	const cJSON *document;

	(void)state;
	record_init(&record);
	assert_ok(ifp_ends_init(&ends, &record.outlet, 1));
	ifp_ends_lost(&ends, 0, "lost", 17, INT64_C(1800000000000000001), "silent for 30 s");
	assert_true(ifp_ends_all(&ends));
	document = record.entries[0].document;
	assert_int_equal(record.entries[0].frame, IFP_FRAME_END);
	assert_string_equal(ifp_document_get_text(document, "how"), "lost");
	assert_string_equal(
		ifp_document_get_text(document, "ended_realtime_ns"), "1800000000000000001");
	assert_int_equal(ifp_document_get_count(document, "steps"), 17);
	assert_int_equal(record_rows(&record, 0, "rank-lost"), 1);
	ifp_ends_returned(&ends, 0);
	assert_false(ifp_ends_all(&ends));
	ifp_ends_bye(&ends, 0, end);
	assert_int_equal(record_frames(&record, IFP_FRAME_END, 0), 2);
	ifp_ends_free(&ends);
	record_free(&record);
}

static void ends_of_an_earlier_life_are_not_written_again(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *own = document_from("{'how':'exited','status':0}");
	IFP_CLEANUP_DOCUMENT cJSON *lost = document_from("{'how':'lost'}");
	struct record record;
	struct ifp_ends ends;

	(void)state;
	record_init(&record);
	assert_ok(ifp_ends_init(&ends, &record.outlet, 2));
	ifp_ends_restore(&ends, 0, own);
	ifp_ends_restore(&ends, 1, lost);
	assert_true(ifp_ends_all(&ends));
	ifp_ends_bye(&ends, 0, own);
	assert_int_equal(record_frames(&record, IFP_FRAME_END, 0), 0);
	ifp_ends_bye(&ends, 1, own); /* it was there after all */
	assert_int_equal(record_frames(&record, IFP_FRAME_END, 1), 1);
	ifp_ends_free(&ends);
	record_free(&record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rank_gets_one_end_document_and_closed),
		cmocka_unit_test(failure_makes_the_others_flush_once),
		cmocka_unit_test(lost_rank_gets_its_document_from_the_collector),
		cmocka_unit_test(ends_of_an_earlier_life_are_not_written_again),
	};

	return RUN_TESTS(tests);
}
