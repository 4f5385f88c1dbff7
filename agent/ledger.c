/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/ledger.h"

#include "core/segment.h"

#include <cjson/cJSON.h>
#include <stdio.h>

static void add_row(cJSON *rows, const char *what, uint64_t count, const char *why)
{
	cJSON *row = cJSON_CreateObject();

	cJSON_AddStringToObject(row, "what", what);
	cJSON_AddNumberToObject(row, "count", (double)count);
	cJSON_AddStringToObject(row, "why", why);
	cJSON_AddItemToArray(rows, row);
}

static void add_counted(cJSON *rows, const char *what, uint64_t count, const char *why)
{
	if (count)
		add_row(rows, what, count, why);
}

static void add_marks(cJSON *rows, const struct ifp_marks_counters *marks)
{
	add_counted(rows, "marks-dropped", marks->dropped_full,
		"a thread made marks faster than they could be read");
	add_counted(rows, "marks-no-ring", marks->dropped_no_ring,
		"more threads made marks than infprof has rings");
	add_counted(rows, "names-cut", marks->names_cut, "names of marks were too long");
	add_counted(rows, "ranges-open", marks->ranges_open,
		"the program ended inside these ranges: infprof has closed them");
	add_counted(rows, "marks-unmatched", marks->pops_unmatched,
		"ends of ranges whose begin was not recorded");
	add_counted(rows, "marks-too-deep", marks->ranges_too_deep,
		"more than a thousand ranges were open at once on one thread");
	add_counted(rows, "marks-damaged", marks->damaged,
		"the program has overwritten memory that holds marks");
}

/*
 * Why there was no window of PyTorch operators on this rank: the first thing on the way to one
 * that did not happen.
 */
static void add_windows(cJSON *rows, const struct ifp_ledger_facts *facts)
{
	const uint32_t hook = facts->hook;

	if (!facts->windows_wanted || facts->windows_tried || facts->not_found)
		return;
	/* Nothing of Python was there. */
	if (!(hook & IFP_HOOK_LOADED) && !facts->python)
		return;
	if (!(hook & IFP_HOOK_LOADED))
		add_row(rows, "hook-off", 0,
			"Python did not run infprof's start-up hook (options -I, -E and -S switch "
			"it off): no steps and no PyTorch operators");
	else if (!(hook & IFP_HOOK_TORCH))
		add_row(rows, "no-torch", 0,
			"the program has not used PyTorch's optimizers: no PyTorch operators");
	else if (hook & IFP_HOOK_PROFILER_BEFORE)
		add_row(rows, "not-armed", 0,
			"the program uses torch.profiler itself: no PyTorch operators");
	else if (hook & IFP_HOOK_NO_SYMBOL)
		add_row(rows, "not-armed", 0,
			"this PyTorch cannot be asked for a window at run time: no PyTorch "
			"operators");
	else if (!(hook & (IFP_HOOK_STEPPED | IFP_HOOK_FORWARD)))
		add_row(rows, "no-steps", 0,
			"the program made no optimizer step and no forward call: no PyTorch "
			"operators");
	else if (!(hook & IFP_HOOK_ARMED))
		add_row(rows, "not-armed", 0,
			"PyTorch's profiler could not be armed: no PyTorch operators");
	else if (!facts->polled)
		add_row(rows, "not-armed", 0,
			"PyTorch's profiler never asked for a window: no PyTorch operators");
	else
		add_row(rows, "window-lost", facts->steps,
			"the program ended before a window could be agreed on: --warmup 0 and "
			"fewer --steps let it begin and end earlier");
}

/* Whatever the program is: its marks are lost, too. */
static void add_not_found(cJSON *rows, const char *name)
{
	char why[160];

	if (!name)
		return;
	snprintf(why, sizeof(why),
		"%s is missing where infprof is installed: no marks, no steps and no PyTorch "
		"operators",
		name);
	add_row(rows, "hook-off", 0, why);
}

char *ifp_ledger_document(const struct ifp_ledger_facts *facts)
{
	cJSON *json = cJSON_CreateObject();
	cJSON *rows = cJSON_AddArrayToObject(json, "rows");
	char *text = NULL;

	add_marks(rows, &facts->marks);
	add_counted(rows, "spool-full", facts->events_lost,
		"memory and spool could not hold what the collector was too slow for");
	if (facts->collector_lost)
		add_row(rows, "collector-lost", 1, "the collector was gone for a time");
	add_counted(rows, "clock-suspended", facts->suspensions,
		"the machine was suspended while the program ran: times before and after are moved "
		"apart by as long, those of the second around it are uncertain by that");
	add_counted(rows, "window-cut", facts->events_cut,
		"PyTorch's profiler recorded longer than asked: events behind the window's last "
		"step were left out");
	add_counted(rows, "window-left-out", facts->events_set_aside,
		"what PyTorch's profiler wrote without a name, a kind or times that can be");
	add_counted(rows, "window-repaired", facts->events_repaired,
		"what PyTorch's profiler wrote with control characters, bad escapes, bytes that "
		"are "
		"no UTF-8, NaN, or no duration");
	add_counted(rows, "window-negative", facts->slices_negative,
		"slices of PyTorch's profiler end before they begin: drawn without length");
	add_not_found(rows, facts->not_found);
	add_windows(rows, facts);
	if (cJSON_GetArraySize(rows))
		text = cJSON_PrintUnformatted(json);
	cJSON_Delete(json);
	return text;
}
