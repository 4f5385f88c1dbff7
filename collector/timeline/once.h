/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that a format writes once for each rank, whatever number of elements have them: which of
 * them a rank has from which level on. Belongs to one thread.
 */
#pragma once

#include "collector/timeline/plan.h"
#include "core/cleanup.h"
#include "core/intern.h"
#include "core/str.h"

#include <stddef.h>
#include <stdint.h>

/* Tables of a format: a text counts once in each. */
#define IFP_ONCE_TABLES 4u

struct ifp_once_text {
	uint64_t bytes;
	uint16_t level; /* the first one */
};

/* {0} is empty. */
struct ifp_once {
	uint16_t level; /* of the element at hand: whoever measures it sets it */
	struct ifp_once_table {
		struct ifp_intern texts;
		struct ifp_once_text *items; /* by id */
		size_t capacity;
	} tables[IFP_ONCE_TABLES];
	int err; /* first lack of memory */
};

/* The element at hand has the text, which takes so many bytes wherever it is. */
void ifp_once_take(struct ifp_once *once, unsigned int table, struct ifp_str text, uint64_t bytes);

/* Adds what they take to the plan. -ENOMEM when some text was not taken. */
int ifp_once_add(const struct ifp_once *once, struct ifp_plan *plan);

void ifp_once_free(struct ifp_once *once);

#define IFP_CLEANUP_ONCE IFP_CLEANUP(ifp_once_free)
