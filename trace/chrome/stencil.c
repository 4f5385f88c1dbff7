/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/stencil.h"

#include "core/checksum.h"
#include "trace/chrome/stencil_form.h"
#include "trace/chrome/text.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Events come in sequences: what came last time behind the same so many is tried first. */
#define GUESS_EVENTS 5u
#define GUESS_BITS 13u

#define NUMBER_BITS 12u
#define STENCILS_MAX ((1u << NUMBER_BITS) - 1) /* numbered from 1 */
#define ARENA_MAX_BYTES (2u * 1024u * 1024u)
#define BUCKETS 1024u
#define BUCKET_TRIES 16u
#define BEGINNING_MAX_BYTES 2048u

/* Learning costs more than scanning: it must pay, in a trace in which nothing comes again, too. */
#define LEARN_FREELY 1024u
#define FITS_PER_STENCIL 4u

struct ifp_stencils {
	struct ifp_arena arena;
	uint32_t count;
	uint64_t first_look; /* of the ones that are here now; numbers are not used again */
	uint64_t learnt, fitted;
	uint64_t history;   /* the numbers of the last GUESS_EVENTS stencils; 0 = none fitted */
	uint32_t beginning; /* of the element that nothing has fitted: its bucket */
	uint16_t guesses[1u << GUESS_BITS]; /* by history */
	uint16_t buckets[BUCKETS];	    /* by beginning; the one used last comes first */
	struct ifp_stencil *stencils[STENCILS_MAX + 1];
	struct ifp_stencil_scratch scratch;
};

struct ifp_stencils *ifp_stencils_new(void)
{
	static _Atomic uint64_t made; /* looks have numbers of their own in the whole process */
	struct ifp_stencils *stencils = calloc(1, sizeof(*stencils));

	if (stencils)
		stencils->first_look = (atomic_fetch_add(&made, 1) + 1) << 32;
	return stencils;
}

void ifp_stencils_free(struct ifp_stencils *stencils)
{
	if (!stencils)
		return;
	ifp_arena_free(&stencils->arena);
	ifp_buf_free(&stencils->scratch.literals);
	ifp_buf_free(&stencils->scratch.form);
	free(stencils);
}

/* Begins anew when it is full: what comes often is learnt again soon. */
static void clear(struct ifp_stencils *stencils)
{
	ifp_arena_free(&stencils->arena);
	stencils->first_look += stencils->count;
	stencils->count = 0;
	stencils->history = 0;
	memset(stencils->guesses, 0, sizeof(stencils->guesses));
	memset(stencils->buckets, 0, sizeof(stencils->buckets));
}

static uint16_t *guess(struct ifp_stencils *stencils)
{
	uint64_t hash = stencils->history * UINT64_C(0x9e3779b97f4a7c15);

	return &stencils->guesses[hash >> (64 - GUESS_BITS)];
}

/* Remembers what came: number 0 for an element that the scanner has to read. */
static void step(struct ifp_stencils *stencils, uint16_t *guessed, uint32_t number)
{
	*guessed = (uint16_t)number;
	stencils->history = (stencils->history << NUMBER_BITS | number) &
			    ((UINT64_C(1) << NUMBER_BITS * GUESS_EVENTS) - 1);
}

/*
 * The bucket of an element: by its text up to the first digit outside strings, which with all
 * profilers is the pid or the time, behind the name.
 */
static uint32_t find_beginning(const uint8_t *text, const uint8_t *end)
{
	const uint8_t *next = text;

	if (end - text > (ptrdiff_t)BEGINNING_MAX_BYTES)
		end = text + BEGINNING_MAX_BYTES;
	while (next < end && !(*next >= '0' && *next <= '9')) {
		if (*next++ != '"')
			continue;
		next += ifp_text_plain_length(next, (size_t)(end - next));
		while (next < end && *next != '"')
			next += *next == '\\' && end - next > 1 ? 2 : 1;
		next += next < end;
	}
	return (uint32_t)(ifp_checksum(text, (size_t)(next - text)) % BUCKETS);
}

static const uint8_t *fit(struct ifp_stencils *stencils, uint32_t number, const uint8_t *text,
	const uint8_t *end, int64_t base_ns, struct ifp_event *event, struct ifp_args_split *args)
{
	return ifp_stencil_fit(stencils->stencils[number], text, end, base_ns, event, args);
}

/* Looks through the bucket, and brings what fits to its front: its number, or 0. */
static uint32_t fit_bucket(struct ifp_stencils *stencils, const uint8_t **text, const uint8_t *end,
	int64_t base_ns, struct ifp_event *event, struct ifp_args_split *args)
{
	uint16_t *bucket = &stencils->buckets[find_beginning(*text, end)], *link = bucket;

	stencils->beginning = (uint32_t)(bucket - stencils->buckets);
	for (unsigned int tries = 0; *link && tries < BUCKET_TRIES; tries++) {
		uint16_t number = *link;
		struct ifp_stencil *stencil = stencils->stencils[number];
		const uint8_t *behind = fit(stencils, number, *text, end, base_ns, event, args);

		if (behind) {
			*link = stencil->next;
			stencil->next = *bucket;
			*bucket = number;
			*text = behind;
			return number;
		}
		link = &stencil->next;
	}
	return 0;
}

const uint8_t *ifp_stencils_fit(struct ifp_stencils *stencils, const uint8_t *text,
	const uint8_t *end, int64_t base_ns, struct ifp_event *event, struct ifp_args_split *args)
{
	uint16_t *guessed = guess(stencils);
	uint32_t number = *guessed;
	const uint8_t *behind =
		number ? fit(stencils, number, text, end, base_ns, event, args) : NULL;

	if (!behind) {
		behind = text;
		number = fit_bucket(stencils, &behind, end, base_ns, event, args);
	}
	step(stencils, guessed, number);
	if (!number)
		return NULL;
	stencils->fitted++;
	args->look = stencils->first_look + number;
	return behind;
}

/* Whether a stencil's event has the very numbers of the one that it was made from. */
static bool is_same(const struct ifp_event *a, const struct ifp_event *b)
{
	return a->start == b->start && a->dur == b->dur && a->correlation == b->correlation &&
	       a->lane.pid == b->lane.pid && a->lane.tid == b->lane.tid;
}

void ifp_stencils_learn(struct ifp_stencils *stencils, const uint8_t *text, const uint8_t *text_end,
	const uint8_t *end, int64_t base_ns, const struct ifp_event *event,
	const struct ifp_element_numbers *numbers)
{
	struct ifp_stencil *stencil;
	struct ifp_event again;
	struct ifp_args_split args;

	if (stencils->learnt >= LEARN_FREELY + stencils->fitted / FITS_PER_STENCIL)
		return;
	if (stencils->count == STENCILS_MAX || stencils->arena.total_bytes >= ARENA_MAX_BYTES)
		clear(stencils);
	stencils->learnt++;
	stencil = ifp_stencil_make(
		&stencils->arena, &stencils->scratch, text, text_end, event, numbers);
	if (!stencil || ifp_stencil_fit(stencil, text, end, base_ns, &again, &args) != text_end ||
		!is_same(&again, event) || args.text_bytes != event->args.len_bytes)
		return;
	stencils->stencils[++stencils->count] = stencil;
	stencil->next = stencils->buckets[stencils->beginning];
	stencils->buckets[stencils->beginning] = (uint16_t)stencils->count;
}
