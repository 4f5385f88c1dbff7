/* SPDX-License-Identifier: Apache-2.0 */
#include "core/intern.h"

#include "core/checksum.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 256

/* The slot that holds text, or the empty one where it belongs. Slots are never all full. */
static uint32_t find_slot(const struct ifp_intern *intern, struct ifp_str text, uint64_t hash)
{
	uint32_t mask = intern->slots_capacity - 1;
	uint32_t slot = (uint32_t)hash & mask;

	for (;; slot = (slot + 1) & mask) {
		uint32_t entry = intern->slots[slot];

		if (!entry || (intern->hashes[entry - 1] == hash &&
				      ifp_str_equal(intern->texts[entry - 1], text)))
			return slot;
	}
}

static int grow_slots(struct ifp_intern *intern)
{
	uint32_t capacity = intern->slots_capacity ? intern->slots_capacity * 2 : FIRST_SLOTS;
	uint32_t *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return ifp_fail(-ENOMEM, "grow a string table to %u entries", capacity);
	free(intern->slots);
	intern->slots = slots;
	intern->slots_capacity = capacity;
	for (uint32_t id = 0; id < intern->count; id++)
		slots[find_slot(intern, intern->texts[id], intern->hashes[id])] = id + 1;
	return 0;
}

static int grow_texts(struct ifp_intern *intern)
{
	uint32_t capacity = intern->texts_capacity ? intern->texts_capacity * 2 : FIRST_SLOTS;
	struct ifp_str *texts = realloc(intern->texts, capacity * sizeof(*texts));
	uint64_t *hashes;

	if (texts)
		intern->texts = texts;
	hashes = realloc(intern->hashes, capacity * sizeof(*hashes));
	if (hashes)
		intern->hashes = hashes;
	if (!texts || !hashes)
		return ifp_fail(-ENOMEM, "grow a string table to %u texts", capacity);
	intern->texts_capacity = capacity;
	return 0;
}

int ifp_intern(struct ifp_intern *intern, struct ifp_str text, uint32_t *id)
{
	uint64_t hash = ifp_checksum(text.ptr, text.len_bytes);
	struct ifp_str copy;
	uint32_t slot;
	int err = 0;

	if (intern->count >= intern->slots_capacity / 2)
		err = grow_slots(intern);
	if (!err && intern->count == intern->texts_capacity)
		err = grow_texts(intern);
	if (err)
		return err;
	slot = find_slot(intern, text, hash);
	if (!intern->slots[slot]) {
		copy = ifp_arena_copy(&intern->arena, text);
		if (!copy.ptr)
			return ifp_fail(-ENOMEM, "copy a string of %u bytes", text.len_bytes);
		intern->texts[intern->count] = copy;
		intern->hashes[intern->count] = hash;
		intern->slots[slot] = ++intern->count;
	}
	*id = intern->slots[slot] - 1;
	return 0;
}

void ifp_intern_clear(struct ifp_intern *intern)
{
	ifp_arena_free(&intern->arena);
	if (intern->slots)
		memset(intern->slots, 0, intern->slots_capacity * sizeof(*intern->slots));
	intern->count = 0;
}

void ifp_intern_free(struct ifp_intern *intern)
{
	ifp_arena_free(&intern->arena);
	free(intern->texts);
	free(intern->hashes);
	free(intern->slots);
	*intern = (struct ifp_intern){0};
}
