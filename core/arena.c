/* SPDX-License-Identifier: Apache-2.0 */
#include "core/arena.h"

#include <stdint.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 * 1024)
#define ALIGN_BYTES ((size_t)16)

struct ifp_arena_chunk {
	struct ifp_arena_chunk *next;
	size_t used_bytes;
	size_t capacity_bytes;
	_Alignas(16) char data[];
};

static struct ifp_arena_chunk *chunk_new(struct ifp_arena *arena, size_t size_bytes)
{
	size_t capacity = size_bytes > CHUNK_BYTES ? size_bytes : CHUNK_BYTES;
	struct ifp_arena_chunk *chunk = malloc(sizeof(*chunk) + capacity);

	if (!chunk)
		return NULL;
	*chunk = (struct ifp_arena_chunk){.next = arena->chunks, .capacity_bytes = capacity};
	arena->chunks = chunk;
	arena->total_bytes += capacity;
	return chunk;
}

void *ifp_arena_alloc(struct ifp_arena *arena, size_t size_bytes)
{
	struct ifp_arena_chunk *chunk = arena->chunks;
	void *piece;

	if (size_bytes > SIZE_MAX / 2)
		return NULL;
	size_bytes = (size_bytes + ALIGN_BYTES - 1) & ~(ALIGN_BYTES - 1);
	if (!chunk || chunk->capacity_bytes - chunk->used_bytes < size_bytes)
		chunk = chunk_new(arena, size_bytes);
	if (!chunk)
		return NULL;
	piece = chunk->data + chunk->used_bytes;
	chunk->used_bytes += size_bytes;
	return piece;
}

struct ifp_str ifp_arena_copy(struct ifp_arena *arena, struct ifp_str text)
{
	char *copy = ifp_arena_alloc(arena, (size_t)text.len_bytes + 1);

	if (!copy)
		return (struct ifp_str){0};
	if (text.len_bytes)
		memcpy(copy, text.ptr, text.len_bytes);
	copy[text.len_bytes] = '\0';
	return (struct ifp_str){copy, text.len_bytes};
}

void ifp_arena_free(struct ifp_arena *arena)
{
	while (arena->chunks) {
		struct ifp_arena_chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		free(chunk);
	}
	arena->total_bytes = 0;
}
