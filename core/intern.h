/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings to small numbers: equal text gets an equal id, ids count from 0 in order of first
 * appearance. Owned by one thread. Texts are copied and live as long as the interner.
 */
#pragma once

#include "core/arena.h"
#include "core/cleanup.h"
#include "core/str.h"

#include <stddef.h>
#include <stdint.h>

struct ifp_intern {
	struct ifp_arena arena;
	struct ifp_str *texts; /* by id */
	uint64_t *hashes;      /* by id */
	uint32_t count;
	uint32_t texts_capacity;
	uint32_t *slots; /* open addressing; id + 1, 0 = empty */
	uint32_t slots_capacity;
};

/* Stores the id of text in *id: 0, or -ENOMEM with *id untouched. */
int ifp_intern(struct ifp_intern *intern, struct ifp_str text, uint32_t *id);

/* The text of an id below count; valid until the interner is freed. */
static inline struct ifp_str ifp_intern_text(const struct ifp_intern *intern, uint32_t id)
{
	return intern->texts[id];
}

/* Forgets all texts and keeps the tables' memory. */
void ifp_intern_clear(struct ifp_intern *intern);

void ifp_intern_free(struct ifp_intern *intern);

#define IFP_CLEANUP_INTERN IFP_CLEANUP(ifp_intern_free)
