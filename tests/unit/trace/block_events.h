/* SPDX-License-Identifier: Apache-2.0 */
/* Events for tests of the block codec: made from a seed, and compared text by text. */
#pragma once

#include "core/arena.h"
#include "trace/archive/block.h"

#include <stdint.h>

/* A small generator with known output, so that a failing seed can be run again (splitmix64). */
struct random {
	uint64_t state;
};

uint64_t random_next(struct random *random);
uint64_t random_below(struct random *random, uint64_t limit);

/*
 * An event of any kind, source, clock and lane, with stamps up to the extremes and with args that
 * range from none over repeated shapes to bytes that are no JSON. Texts are of the arena.
 */
struct ifp_event random_event(struct random *random, struct ifp_arena *arena);

/* Fails the test unless all members are equal. */
void assert_events_equal(const struct ifp_event *got, const struct ifp_event *want);

/* Encodes the events as one block; all must fit. */
void encode_events(const struct ifp_event *events, uint32_t count, struct ifp_buf *payload);
