/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number for each look of a rank's events: what is found out when the first of them comes, and
 * holds for all. 0 = not known yet.
 */
#pragma once

#include "collector/store/run.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

struct ifp_look_notes {
	uint32_t *items;
};

/* 0 or -ENOMEM. */
static inline int ifp_look_notes_begin(uint32_t look_count, struct ifp_look_notes *notes)
{
	notes->items = calloc(look_count + 1u, sizeof(*notes->items));
	return notes->items ? 0 : ifp_fail(-ENOMEM, "no memory for %u looks", look_count);
}

/* Where a look's number is. Look 0 has none: it is not known, whatever was noted. */
static inline uint32_t *ifp_look_note_at(const struct ifp_look_notes *notes, uint32_t look)
{
	if (!look)
		notes->items[0] = 0;
	return &notes->items[look];
}

static inline uint32_t *ifp_look_note(
	const struct ifp_look_notes *notes, const struct ifp_timed_event *timed)
{
	return ifp_look_note_at(notes, timed->look);
}

static inline void ifp_look_notes_free(struct ifp_look_notes *notes)
{
	free(notes->items);
}

#define IFP_CLEANUP_NOTES IFP_CLEANUP(ifp_look_notes_free)
