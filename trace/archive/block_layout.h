/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the encoder and the decoder of blocks share: numbers of the format, and the predictions
 * from which both sides take differences. docs/format-archive.md describes the layout.
 *
 * Events are held as references into tables: a lane, a track (lane, kind, source, clock), a
 * variant (template of the args and those of its numbers that seldom change), a shape (track,
 * category, name, variant, extra). What is left per event are its shape, which is mostly what
 * followed the shapes before it the last time, and differences to predicted numbers.
 */
#pragma once

#include "core/arena.h"
#include "core/error.h"
#include "trace/archive/block.h"
#include "trace/archive/pack.h"
#include "trace/archive/template.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define IFP_BLOCK_VERSION 1u

/* Bytes of all sections together before compression; a full block needs less than 7 MiB. */
#define IFP_BLOCK_MAX_SECTION_BYTES (8u * 1024u * 1024u)

/*
 * Limits of numbers cut out of args, which bound a decoder's memory: per block, per block's
 * templates together, and per args. Args with more are kept whole.
 */
#define IFP_BLOCK_MAX_VALUES (1024u * 1024u)
#define IFP_BLOCK_MAX_SLOTS (256u * 1024u)
#define IFP_ARGS_MAX_SLOTS 4096u

/* Sections in the order of the payload. Packed series have two: tokens, then bits (pack.h). */
enum ifp_block_section {
	IFP_SECTION_TEXT_LENGTHS,
	IFP_SECTION_TEXTS,
	IFP_SECTION_TABLES,
	IFP_SECTION_VARIANTS,
	IFP_SECTION_SHAPES = IFP_SECTION_VARIANTS + 2,
	IFP_SECTION_SEQUENCE = IFP_SECTION_SHAPES + 2,
	IFP_SECTION_STARTS = IFP_SECTION_SEQUENCE + 2,
	IFP_SECTION_DURATIONS = IFP_SECTION_STARTS + 2,
	IFP_SECTION_CORRELATIONS = IFP_SECTION_DURATIONS + 2,
	IFP_SECTION_ARGS = IFP_SECTION_CORRELATIONS + 2,
	IFP_SECTION_COUNT = IFP_SECTION_ARGS + 2,
};

/* How many entries the tables of a block have, in the order of the payload's head. */
enum ifp_block_table {
	IFP_TABLE_EVENTS,
	IFP_TABLE_TEXTS, /* names, categories, extras, texts of lanes */
	IFP_TABLE_LANES,
	IFP_TABLE_TRACKS,
	IFP_TABLE_TEMPLATES, /* their texts follow those of IFP_TABLE_TEXTS */
	IFP_TABLE_VARIANTS,
	IFP_TABLE_SHAPES,
	IFP_TABLE_KEYS, /* distinct keys of args' columns */
	IFP_TABLE_COUNT,
};

/* From what the start of a track's events is predicted; likewise below. Numbers of the format. */
enum ifp_start_mode {
	IFP_START_GLOBAL = 0,	/* start of the event before */
	IFP_START_LANE = 1,	/* start of the event before on this lane */
	IFP_START_LANE_END = 2, /* ... its end */
	IFP_START_TRACK = 3,	/* start of the event before on this track */
	IFP_START_MODES = 4,
};

enum ifp_duration_mode {
	IFP_DURATION_PLAIN = 0, /* from 0 */
	IFP_DURATION_SHAPE = 1, /* the event before of this shape */
	IFP_DURATION_MODES = 2,
};

enum ifp_correlation_mode {
	IFP_CORRELATION_PLAIN = 0,
	IFP_CORRELATION_GLOBAL = 1, /* the event before that has one */
	IFP_CORRELATION_TRACK = 2,  /* the event before on this track */
	IFP_CORRELATION_MODES = 3,
};

enum ifp_column_mode {
	IFP_COLUMN_PLAIN = 0,
	IFP_COLUMN_DELTA = 1,	    /* this column's value before */
	IFP_COLUMN_KEY = 2,	    /* the value before of any column with this key */
	IFP_COLUMN_CORRELATION = 3, /* the event's correlation */
	IFP_COLUMN_NEIGHBOUR = 4,   /* the slot before in the same args */
	IFP_COLUMN_MODES = 5,
};

/* In the tables, a slot is written as 0 (its value belongs to the variant) or 1 + its mode. */
#define IFP_SLOT_OF_VARIANT 0u

struct ifp_block_track {
	uint32_t lane;
	enum ifp_event_kind kind;
	enum ifp_event_source source;
	enum ifp_clock_domain clock;
	enum ifp_start_mode start_mode;
	enum ifp_duration_mode duration_mode;
	enum ifp_correlation_mode correlation_mode;
};

struct ifp_block_shape {
	uint32_t track, category, name, variant, extra;
};

/* A slot of a template whose values stand in a column of their own. */
struct ifp_block_column {
	uint32_t key;
	enum ifp_column_mode mode;
	uint64_t *values; /* residuals; as many as events with the template */
	uint32_t next;	  /* of values: to be written or read next */
	uint64_t last;
};

/* Zeroed memory of an arena, NULL when there is none. */
static inline void *ifp_arena_zeroed(struct ifp_arena *arena, size_t count, size_t size_bytes)
{
	void *piece = ifp_arena_alloc(arena, count * size_bytes + 1);

	return piece ? memset(piece, 0, count * size_bytes) : NULL;
}

/* Sets p to a zeroed array of the arena; where there is none, the function returns an error. */
#define IFP_TAKE_ZEROED(arena, p, count)                                                           \
	do {                                                                                       \
		(p) = ifp_arena_zeroed((arena), (count), sizeof(*(p)));                            \
		if (!(p))                                                                          \
			return ifp_fail(-ENOMEM, "no memory for the tables of a block");           \
	} while (0)

/* The same without zeros, for what is filled at once. */
#define IFP_TAKE_ARRAY(arena, p, count)                                                            \
	do {                                                                                       \
		(p) = ifp_arena_alloc((arena), (size_t)(count) * sizeof(*(p)) + 1);                \
		if (!(p))                                                                          \
			return ifp_fail(-ENOMEM, "no memory for the tables of a block");           \
	} while (0)

/* What has been seen so far, the same on both sides. */
struct ifp_block_state {
	uint64_t start, correlation;
	uint64_t *lane_start, *lane_end;
	uint64_t *track_start, *track_correlation;
	uint64_t *shape_duration;
	uint64_t *key_last;
};

struct ifp_block_state_sizes {
	uint32_t lanes, tracks, shapes, keys;
};

/* Everything is 0 at first. */
static inline int ifp_block_state_init(
	struct ifp_block_state *state, struct ifp_arena *arena, struct ifp_block_state_sizes sizes)
{
	*state = (struct ifp_block_state){0};
	IFP_TAKE_ZEROED(arena, state->lane_start, sizes.lanes);
	IFP_TAKE_ZEROED(arena, state->lane_end, sizes.lanes);
	IFP_TAKE_ZEROED(arena, state->track_start, sizes.tracks);
	IFP_TAKE_ZEROED(arena, state->track_correlation, sizes.tracks);
	IFP_TAKE_ZEROED(arena, state->shape_duration, sizes.shapes);
	IFP_TAKE_ZEROED(arena, state->key_last, sizes.keys);
	return 0;
}

static inline uint64_t ifp_predict_start(const struct ifp_block_state *state,
	enum ifp_start_mode mode, uint32_t lane, uint32_t track)
{
	switch (mode) {
	case IFP_START_LANE:
		return state->lane_start[lane];
	case IFP_START_LANE_END:
		return state->lane_end[lane];
	case IFP_START_TRACK:
		return state->track_start[track];
	default:
		return state->start;
	}
}

static inline uint64_t ifp_predict_correlation(
	const struct ifp_block_state *state, enum ifp_correlation_mode mode, uint32_t track)
{
	if (mode == IFP_CORRELATION_GLOBAL)
		return state->correlation;
	return mode == IFP_CORRELATION_TRACK ? state->track_correlation[track] : 0;
}

static inline uint64_t ifp_predict_duration(
	const struct ifp_block_state *state, enum ifp_duration_mode mode, uint32_t shape)
{
	return mode == IFP_DURATION_SHAPE ? state->shape_duration[shape] : 0;
}

static inline uint64_t ifp_predict_column(const struct ifp_block_state *state,
	const struct ifp_block_column *column, enum ifp_column_mode mode, uint64_t correlation,
	uint64_t neighbour)
{
	switch (mode) {
	case IFP_COLUMN_DELTA:
		return column->last;
	case IFP_COLUMN_KEY:
		return state->key_last[column->key];
	case IFP_COLUMN_CORRELATION:
		return correlation;
	case IFP_COLUMN_NEIGHBOUR:
		return neighbour;
	default:
		return 0;
	}
}

/* An event's own numbers. */
struct ifp_block_numbers {
	uint64_t start, dur, correlation;
};

/* Call when all of an event's numbers have been predicted. */
static inline void ifp_block_state_update(struct ifp_block_state *state,
	struct ifp_block_numbers event, uint32_t lane, uint32_t track, uint32_t shape)
{
	state->start = event.start;
	state->lane_start[lane] = event.start;
	state->lane_end[lane] = event.start + event.dur;
	state->track_start[track] = event.start;
	state->track_correlation[track] = event.correlation;
	state->shape_duration[shape] = event.dur;
	if (event.correlation)
		state->correlation = event.correlation;
}

/*
 * Which shape comes next: the one that followed the last two shapes the last time. A slot may be
 * shared by several pairs; then the guess is worse and nothing else.
 */
#define IFP_SEQUENCE_SLOTS 16384u

struct ifp_block_sequence {
	uint32_t before, last;		    /* the last two shapes */
	uint32_t next_fresh;		    /* shapes are numbered in order of appearance */
	uint32_t guess[IFP_SEQUENCE_SLOTS]; /* shape + 1; 0 = none */
};

static inline uint32_t *ifp_sequence_slot(struct ifp_block_sequence *sequence)
{
	uint32_t hash = (sequence->before * 0x9e3779b1u ^ sequence->last) * 0x85ebca6bu;

	return &sequence->guess[hash >> 18];
}

static inline void ifp_sequence_step(struct ifp_block_sequence *sequence, uint32_t shape)
{
	*ifp_sequence_slot(sequence) = shape + 1;
	sequence->before = sequence->last;
	sequence->last = shape;
	if (shape == sequence->next_fresh)
		sequence->next_fresh++;
}

/* Ids that mostly are new ones, counted up: 0 = the next new one, else id + 1. */
static inline uint64_t ifp_fresh_code(uint32_t id, uint32_t *next_fresh)
{
	if (id != *next_fresh)
		return (uint64_t)id + 1;
	++*next_fresh;
	return 0;
}

static inline uint64_t ifp_fresh_id(uint64_t code, uint32_t *next_fresh)
{
	return code ? code - 1 : (uint64_t)(*next_fresh)++;
}

/*
 * Lists the numbers 0 to count - 1 group by group, in ascending order within each. first has
 * groups + 1 zeroed entries and gets the place of each group in order, and the end of the last.
 */
void ifp_group(const uint32_t *group_of, uint32_t count, uint32_t groups, uint32_t *first,
	uint32_t *order);
