/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements that look like an earlier one but for their numbers. A trace of a hundred thousand
 * events has some hundred looks: the scanner has to understand each of them once, the others are
 * compared with what it understood, which is several times as fast.
 *
 * A stencil is the text of an element, white space and all, with holes for ts, dur, pid, tid, a
 * flow's id and the numbers of args outside strings. An element fits where its bytes are the same
 * between the holes, and each hole has a number of the kind that stood there; so it is valid JSON
 * for the same reason as the first one was, and gives the event that the scanner would give, the
 * numbers apart. What does not fit is left to the scanner: stencils never decide that something is
 * wrong. Belongs to one thread.
 */
#pragma once

#include "trace/archive/template.h"
#include "trace/chrome/element.h"

#include <stddef.h>
#include <stdint.h>

struct ifp_stencils;

/* NULL when there is no memory. */
struct ifp_stencils *ifp_stencils_new(void);
void ifp_stencils_free(struct ifp_stencils *stencils);

/*
 * Fits the element whose '{' is at text: the place behind its '}', with *event (args empty) and
 * *args, whose texts live until the next call; NULL when no stencil fits. Nothing from end on is
 * looked at.
 */
const uint8_t *ifp_stencils_fit(struct ifp_stencils *stencils, const uint8_t *text,
	const uint8_t *end, int64_t base_ns, struct ifp_event *event, struct ifp_args_split *args);

/*
 * Keeps the look of an element that the last call did not fit, when it is one that can come again.
 * text_end is behind its '}', end as above; event is what the scanner made of it, without any
 * repair, and numbers what it was made from.
 */
void ifp_stencils_learn(struct ifp_stencils *stencils, const uint8_t *text, const uint8_t *text_end,
	const uint8_t *end, int64_t base_ns, const struct ifp_event *event,
	const struct ifp_element_numbers *numbers);
