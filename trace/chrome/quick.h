/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quick way through JSON that lies whole in the window and has nothing unusual in it. What is
 * refused here need not be wrong: the careful way (pull.c) begins again at the same byte, repairs,
 * crosses the end of the window, and says what is wrong. Both give the same text.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* More room than the text taken: blocks of this size are written whole. */
#define IFP_QUICK_SLACK_BYTES 16u

struct ifp_quick {
	const uint8_t *end; /* of the window */
	uint8_t *out;	    /* room for end - next + IFP_QUICK_SLACK_BYTES */
	unsigned int depth; /* of nesting that is still allowed */
};

/* Copies the value at next as compact text and moves out: the place behind it, or NULL. */
const uint8_t *ifp_quick_value(struct ifp_quick *quick, const uint8_t *next);

/*
 * Steps over a member's name, which must be plain, and its colon: the place behind it, or NULL.
 * The inside of the name begins at *name and has *name_bytes.
 */
const uint8_t *ifp_quick_name(
	const uint8_t *next, const uint8_t *end, const uint8_t **name, size_t *name_bytes);
