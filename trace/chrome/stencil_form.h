/* SPDX-License-Identifier: Apache-2.0 */
/* One stencil: made by stencil_form.c, looked up by stencil.c. */
#pragma once

#include "core/arena.h"
#include "core/buf.h"
#include "trace/chrome/digits.h"
#include "trace/chrome/stencil.h"

#define IFP_STENCIL_MAX_SLOTS 1024u
#define IFP_STENCIL_MAX_BYTES (16u * 1024u)
#define IFP_STENCIL_NO_VALUE UINT16_MAX
#define IFP_STENCIL_PIECE_BYTES 16u /* texts are compared, and so read, by so many */

/*
 * A hole, and the text before it. Most numbers are what they were the last time: so the 8 bytes
 * that stood here then are kept, as far as the number and the byte behind it go.
 */
struct ifp_stencil_slot {
	uint32_t literal_bytes; /* between the slot before and this one */
	uint16_t value;		/* of the args' numbers, or IFP_STENCIL_NO_VALUE */
	uint8_t field;		/* enum ifp_element_field; IFP_FIELD_COUNT: of no field */
	uint8_t digits;		/* of the number kept; 0 = none is */
	uint64_t kept, mask;
};

struct ifp_stencil {
	uint16_t next;		 /* stencil in the same bucket; 0 = the last */
	uint32_t text_bytes;	 /* the most of a text that is looked at to fit it */
	uint32_t tail_bytes;	 /* of the text behind the last slot */
	uint32_t constant_bytes; /* of the args' text, without the digits of slots */
	uint32_t slot_count;
	struct ifp_stencil_slot *slots;
	bool has_time;			    /* ts has a slot */
	uint8_t *literals;		    /* one after the other, and a piece to spare */
	uint64_t *values;		    /* of args: those in strings stay as they are */
	struct ifp_event event;		    /* texts are the stencil's own */
	struct ifp_element_numbers numbers; /* slots are filled in */
	struct ifp_args_split args;
};

/* What is used again for each stencil that is made; {0} is a valid start. */
struct ifp_stencil_scratch {
	struct ifp_buf literals;
	struct ifp_buf form;
	uint64_t values[IFP_STENCIL_MAX_SLOTS];
	struct ifp_stencil_slot slots[IFP_STENCIL_MAX_SLOTS];
};

/*
 * The stencil of the element from text to text_end, in memory of the arena. NULL when it has
 * something that a stencil cannot hold, or there is no memory.
 */
struct ifp_stencil *ifp_stencil_make(struct ifp_arena *arena, struct ifp_stencil_scratch *scratch,
	const uint8_t *text, const uint8_t *text_end, const struct ifp_event *event,
	const struct ifp_element_numbers *numbers);

/* As ifp_stencils_fit(), for this one. */
const uint8_t *ifp_stencil_fit(struct ifp_stencil *stencil, const uint8_t *text, const uint8_t *end,
	int64_t base_ns, struct ifp_event *event, struct ifp_args_split *args);
