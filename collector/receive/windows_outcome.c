/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/windows_internal.h"
#include "trace/wire/document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool ifp_windows_part_good(const struct ifp_windows *w, uint32_t rank)
{
	const struct part_of_rank *part = &w->parts[rank];

	if (part->part != PART_DONE || !part->recorded || part->ended)
		return false;
	return w->of_time || (part->first_step == w->first_step && part->last_step == last_step(w));
}

char *ifp_windows_part_text(
	const struct ifp_windows *w, uint32_t rank, char *text, size_t size_bytes)
{
	const struct part_of_rank *part = &w->parts[rank];
	bool other_steps = part->part == PART_DONE && part->recorded && !w->of_time;

	if (other_steps)
		snprintf(text, size_bytes,
			"steps %" PRIu64 " to %" PRIu64 " were recorded instead of %" PRIu64
			" to %" PRIu64 "%s%s",
			part->first_step, part->last_step, w->first_step, last_step(w),
			part->ended ? ": " : "", part->ended ? part->reason : "");
	else
		snprintf(
			text, size_bytes, "%s", part->reason[0] ? part->reason : "no reason given");
	return text;
}

void ifp_windows_part_done(struct ifp_windows *w, uint32_t rank, const cJSON *document)
{
	struct part_of_rank *part = &w->parts[rank];
	const char *outcome = ifp_document_get_text(document, "outcome");
	const char *reason = ifp_document_get_text(document, "reason");

	part->part = PART_DONE;
	part->recorded = outcome && strcmp(outcome, "recorded") == 0;
	part->ended =
		(outcome && strcmp(outcome, "ended") == 0) || ifp_document_is_true(document, "cut");
	part->first_step = ifp_document_get_count(document, "first_step");
	part->last_step = ifp_document_get_count(document, "last_step");
	if (!reason || !*reason)
		reason = outcome ? outcome : "";
	snprintf(part->reason, sizeof(part->reason), "%s", reason);
}

void ifp_windows_part_rows(const struct ifp_windows *w)
{
	char text[400];

	for (uint32_t i = 0; i < w->pace.world; i++) {
		const struct part_of_rank *part = &w->parts[i];
		bool other_steps = part->part == PART_DONE && part->recorded;

		if (part->part == PART_NONE || ifp_windows_part_good(w, i))
			continue;
		ifp_outlet_ledger(w->outlet, i, other_steps ? "window-other-steps" : "window-lost",
			1, "window %" PRIu32 ": %s", w->window,
			ifp_windows_part_text(w, i, text, sizeof(text)));
	}
}
