/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An excerpt: every event that an archive holds of a stretch of time, of some ranks or of all.
 * Nothing is folded, shortened or left out for its size. The axis and the lanes are those of the
 * merged timeline, so that what was seen there is found again.
 *
 * In it are: slices that reach into the stretch, whole; instants and counters inside it; the steps
 * that reach into it; arrows between two slices that are in it; and, in formats that can hold them
 * as they are, events that have no picture of their own. One rank is in memory at a time.
 */
#pragma once

#include "collector/timeline/sink.h"
#include "collector/timeline/stretch.h"

#include <stdint.h>

struct ifp_excerpt {
	const struct ifp_ranges *ranks; /* NULL = all */
	struct ifp_stretch stretch;
};

/* Why an event of the stretch has no place in the format. */
enum ifp_excerpt_cause {
	IFP_EXCERPT_ARROW,     /* half an arrow, or a step of one, that joins nothing */
	IFP_EXCERPT_CROWDED,   /* no sub-lane is left for it, or for a slice that the arrow joins */
	IFP_EXCERPT_HALF,      /* half a slice alone, or of a kind without a picture */
	IFP_EXCERPT_MISPLACED, /* its time cannot be */
	IFP_EXCERPT_CAUSES
};

struct ifp_excerpt_result {
	uint64_t events;      /* of the archive that were drawn; an arrow is two,
			       * a slice that was two halves one */
	uint64_t operators;   /* of the events, those that PyTorch's profiler recorded */
	uint32_t ranks;	      /* that have some */
	uint32_t unaligned;   /* ranks of whose clock nothing is known: not drawn */
	uint64_t leading_out; /* arrows of which one end is in the excerpt: not drawn */
	uint64_t left_out[IFP_EXCERPT_CAUSES]; /* events that have no place */
	struct ifp_stretch of; /* what the ranks have at all; empty when they have nothing */
};

uint64_t ifp_excerpt_left_out(const struct ifp_excerpt_result *result);

/* Appends "3 events have no place in this format and are left out: 3 halves of arrows". */
void ifp_excerpt_left_out_text(const struct ifp_excerpt_result *result, struct ifp_buf *out);

/* Draws it into the sink, which the caller closes, or abandons on failure or when it is empty. */
int ifp_excerpt_draw(struct ifp_run *run, const struct ifp_excerpt *excerpt, struct ifp_sink *sink,
	struct ifp_excerpt_result *result);
