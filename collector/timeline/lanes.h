/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes of one rank: every place that its events name, with what is drawn there. Texts are
 * borrowed from the events.
 */
#pragma once

#include "core/buf.h"
#include "core/intern.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IFP_LANES_RECENT 16u
/* Rows that a lane may have for slices that overlap partly; what finds none is crowded. */
#define IFP_MAX_SUBLANES 64u

struct ifp_lane_row {
	struct ifp_lane lane;
	struct ifp_str title; /* as the trace names it, the inside of a JSON string; may be empty */
	bool of_steps;	      /* made for the step marks */
	bool main_thread;     /* where the steps are counted */

	/* Set when the slices are arranged. */
	uint32_t first_slice, slice_count;
	uint32_t sublanes;
	uint32_t crowded; /* of the slices: they find no sub-lane */

	uint32_t first_tid; /* in the output; one for each sub-lane, and for folds of the crowded */
};

/* How many numbers the row takes in a picture. */
static inline uint32_t ifp_lane_row_places(const struct ifp_lane_row *row)
{
	return row->sublanes + (row->crowded != 0);
}

struct ifp_lanes {
	struct ifp_intern keys;
	struct ifp_buf key;
	struct ifp_lane_row *rows;
	uint32_t count;
	size_t capacity;
	/* Rows that were found lately: events of a few lanes take turns. */
	struct {
		bool used;
		struct ifp_lane lane;
		uint32_t row;
	} recent[IFP_LANES_RECENT];
};

/* The row of a lane, made when it is not there: 0 and *row, or -ENOMEM. */
int ifp_lanes_find(struct ifp_lanes *lanes, const struct ifp_lane *lane, uint32_t *row);

/*
 * The rows in the order in which they are drawn: steps, the main thread, the other threads of
 * process main_pid, other processes, streams, all else. *order has lanes->count entries; free it.
 */
int ifp_lanes_order(const struct ifp_lanes *lanes, int64_t main_pid, uint32_t **order);

/*
 * What the row of a sub-lane is called, as the inside of a JSON string, in *out, which is emptied.
 * IFP_MAX_SUBLANES is that of the crowded. brief: a recorded name is cut as those of events are.
 */
void ifp_lanes_title(
	const struct ifp_lane_row *row, uint32_t sublane, bool brief, struct ifp_buf *out);

void ifp_lanes_free(struct ifp_lanes *lanes);
