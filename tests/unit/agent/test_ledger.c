/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "agent/ledger.h"
#include "core/cleanup.h"

#include <cjson/cJSON.h>

/* The words of all rows, joined by ' '. */
static const char *words(const struct ifp_ledger_facts *facts)
{
	static char text[256];
	char *document = ifp_ledger_document(facts);
	cJSON *json = cJSON_Parse(document);
	const cJSON *row;

	text[0] = '\0';
	cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "rows"))
	{
		assert_true(strlen(cJSON_GetObjectItem(row, "why")->valuestring) > 10);
		if (text[0])
			strcat(text, " ");
		strcat(text, cJSON_GetObjectItem(row, "what")->valuestring);
	}
	cJSON_Delete(json);
	cJSON_free(document);
	return text;
}

static void test_a_rank_that_lost_nothing_has_no_rows(void **state)
{
	const struct ifp_ledger_facts facts = {.windows_wanted = true, .windows_tried = 1};

	(void)state;
	assert_null(ifp_ledger_document(&facts));
}

static void test_what_was_lost_is_counted(void **state)
{
	const struct ifp_ledger_facts facts = {.marks = {.dropped_full = 1,
						       .dropped_no_ring = 2,
						       .names_cut = 3,
						       .ranges_open = 4},
		.events_lost = 5,
		.events_cut = 6,
		.events_set_aside = 7,
		.events_repaired = 8,
		.slices_negative = 9,
		.suspensions = 1,
		.collector_lost = true};

	(void)state;
	assert_string_equal(words(&facts), "marks-dropped marks-no-ring names-cut ranges-open "
					   "spool-full collector-lost clock-suspended "
					   "window-cut "
					   "window-left-out window-repaired window-negative");
}

static const struct {
	uint32_t hook;
	bool python, polled;
	const char *what;
} reasons[] = {
	{0, true, false, "hook-off"},
	/* A program in C, of which nobody expects operators. */
	{0, false, false, NULL},
	{IFP_HOOK_LOADED, true, false, "no-torch"},
	{IFP_HOOK_LOADED | IFP_HOOK_TORCH, true, false, "no-steps"},
	{IFP_HOOK_LOADED | IFP_HOOK_TORCH | IFP_HOOK_STEPPED, true, false, "not-armed"},
	{IFP_HOOK_LOADED | IFP_HOOK_TORCH | IFP_HOOK_STEPPED | IFP_HOOK_PROFILER_BEFORE, true,
		false, "not-armed"},
	{IFP_HOOK_LOADED | IFP_HOOK_TORCH | IFP_HOOK_NO_SYMBOL, true, false, "not-armed"},
	{IFP_HOOK_LOADED | IFP_HOOK_TORCH | IFP_HOOK_STEPPED | IFP_HOOK_ARMED, true, false,
		"not-armed"},
	{IFP_HOOK_LOADED | IFP_HOOK_TORCH | IFP_HOOK_STEPPED | IFP_HOOK_ARMED, true, true,
		"window-lost"},
	{IFP_HOOK_LOADED | IFP_HOOK_TORCH | IFP_HOOK_FORWARD | IFP_HOOK_ARMED, true, true,
		"window-lost"},
};

static void test_the_first_thing_that_was_missing_for_a_window_is_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		struct ifp_ledger_facts facts = {.windows_wanted = true,
			.hook = reasons[i].hook,
			.python = reasons[i].python,
			.polled = reasons[i].polled};

		if (reasons[i].what)
			assert_string_equal(words(&facts), reasons[i].what);
		else
			assert_null(ifp_ledger_document(&facts));
		facts.windows_wanted = false;
		assert_null(ifp_ledger_document(&facts));
	}
}

static void test_a_missing_part_of_the_installation_is_named(void **state)
{
	const struct ifp_ledger_facts facts = {
		.windows_wanted = true, .python = true, .not_found = "lib/infprof/libinfprof.so"};
	IFP_CLEANUP_FREE char *document = ifp_ledger_document(&facts);

	(void)state;
	assert_string_equal(words(&facts), "hook-off");
	assert_non_null(strstr(document, "\"lib/infprof/libinfprof.so is missing where infprof is "
					 "installed: no marks"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_rank_that_lost_nothing_has_no_rows),
		cmocka_unit_test(test_what_was_lost_is_counted),
		cmocka_unit_test(test_the_first_thing_that_was_missing_for_a_window_is_the_reason),
		cmocka_unit_test(test_a_missing_part_of_the_installation_is_named),
	};

	return RUN_TESTS(tests);
}
