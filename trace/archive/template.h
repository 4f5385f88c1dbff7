/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that differ only in their numbers: a template, which is the text with a '1' in place of
 * every number, and the numbers. A number is a run of 1 to 18 digits without a leading zero, or
 * a lone 0; zeros that lead a run stay in the template. So no other digit than 0 is ever left
 * there, every '1' of a template is a slot, and any bytes at all come back as they were.
 */
#pragma once

#include "core/buf.h"
#include "core/str.h"

#include <stddef.h>
#include <stdint.h>

/* The most digits of a slot, and so the most bytes that it becomes. */
#define IFP_TEMPLATE_SLOT_DIGITS 18u

/* The first byte of a form, which is what a block's table of templates holds. */
#define IFP_TEMPLATE_PLAIN 0u /* the args themselves follow */
#define IFP_TEMPLATE_SPLIT 1u /* a template follows */

/*
 * An event's args that are split already, instead of their text. Borrowed from whoever read the
 * event, for as long as the event's texts are.
 */
struct ifp_args_split {
	struct ifp_str form; /* IFP_TEMPLATE_SPLIT and the template; empty: these are none */
	const uint64_t *values;
	uint32_t count;	     /* of values */
	uint32_t text_bytes; /* of the args as text */
	/*
	 * Whatever has the same number, not 0, in this process has the same form, and belongs to
	 * events with the same name, category and extra: they need be looked up only once.
	 */
	uint64_t look;
};

/*
 * Appends the template of text to *form and stores its numbers in values, max_slots at most.
 * Returns how many there are, or UINT32_MAX when they are more (*form is of no use then).
 */
uint32_t ifp_template_split(
	struct ifp_str text, struct ifp_buf *form, uint64_t *values, uint32_t max_slots);

/* Number of slots of a template. */
uint32_t ifp_template_slots(struct ifp_str form);

/* Stores the place of each slot. */
void ifp_template_find_slots(struct ifp_str form, uint32_t *slot_at);

/* Appends the text. values holds one number per slot. */
void ifp_template_join(struct ifp_str form, const uint64_t *values, struct ifp_buf *text);
