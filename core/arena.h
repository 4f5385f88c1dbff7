/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is given back all at once: many small pieces with one lifetime. Owned by one
 * thread; {0} is a valid empty arena. Pieces are aligned to 16 bytes and stay where they are.
 */
#pragma once

#include "core/cleanup.h"
#include "core/str.h"

#include <stddef.h>

struct ifp_arena_chunk;

struct ifp_arena {
	struct ifp_arena_chunk *chunks; /* newest first */
	size_t total_bytes;
};

/* NULL when out of memory. The memory is not initialised. */
void *ifp_arena_alloc(struct ifp_arena *arena, size_t size_bytes);

/* A copy of the text, NUL-terminated behind its length; ptr is NULL when out of memory. */
struct ifp_str ifp_arena_copy(struct ifp_arena *arena, struct ifp_str text);

/* Gives every piece back; the arena is empty and usable afterwards. */
void ifp_arena_free(struct ifp_arena *arena);

#define IFP_CLEANUP_ARENA IFP_CLEANUP(ifp_arena_free)
