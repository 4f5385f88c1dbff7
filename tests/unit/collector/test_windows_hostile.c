/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: numbers in documents that no agent of ours would send. */
#include "collector/receive/windows.h"
#include "core/segment.h"
#include "core/time.h"

#include "outlet_record.h"

#define REALTIME_NS INT64_C(1800000000000000000)
#define INFERS (IFP_HOOK_LOADED | IFP_HOOK_TORCH | IFP_HOOK_ARMED | IFP_HOOK_FORWARD)

/* The end of a window must stay within 64 bits of nanoseconds. */
static void a_window_lasts_a_day_at_most(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *hello = document_from(
		"{'windows':[{'first':0,'count':5}],'duration_ms':'9223372036854775807'}");
	IFP_CLEANUP_DOCUMENT cJSON *yes =
		document_from("{'window':0,'attempt':0,'accepted':true,'steps':0}");
	struct ifp_heartbeat heartbeat = {.hook = INFERS, .running = true};
	struct ifp_moment now = {1000 * IFP_NS_PER_S, REALTIME_NS};
	struct ifp_windows *windows = NULL;
	struct record record;
	const cJSON *plan;

	(void)state;
	record_init(&record);
	assert_ok(ifp_windows_new(&record.outlet, 1, &windows));
	assert_ok(ifp_windows_wish(windows, hello));
	ifp_windows_heartbeat(windows, 0, &heartbeat, now.raw_ns);
	now.raw_ns += 60 * IFP_NS_PER_S;
	ifp_windows_tick(windows, now);
	plan = record_message(&record, IFP_MSG_WINDOW_PLAN, 0);
	assert_non_null(plan);
	assert_int_equal(ifp_document_get_count(plan, "duration_ms"), 24 * 3600 * 1000);
	ifp_windows_ack(windows, 0, yes);
	ifp_windows_tick(windows, now);
	assert_non_null(record_message(&record, IFP_MSG_WINDOW_GO, 0));
	ifp_windows_tick(windows, now);
	ifp_windows_free(&windows);
	record_free(&record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_lasts_a_day_at_most),
	};

	return RUN_TESTS(tests);
}
