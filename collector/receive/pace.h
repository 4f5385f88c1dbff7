/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the ranks move: their step counters and speeds from the heartbeats, and from them when a
 * window can be planned and where it has to start.
 */
#pragma once

#include "core/time.h"

#include <stdbool.h>
#include <stdint.h>

/* A rank is known to step when it has counted this many steps: see the start of windows.h. */
#define IFP_PACE_COUNTED_STEPS 3u
/* How long ranks that are ready wait for those that may become so. */
#define IFP_PACE_PATIENCE_NS (10 * IFP_NS_PER_S)
/* A program that calls a model forward, but makes no step for so long, is one of inference. */
#define IFP_PACE_INFERENCE_NS (5 * IFP_NS_PER_S)

/* What a heartbeat says (docs/protocol.md). */
struct ifp_heartbeat {
	uint64_t steps;
	uint32_t hook; /* enum ifp_hook_bits */
	bool running;
};

struct ifp_pace_rank {
	bool reported; /* a heartbeat has come */
	bool gone;     /* its program has ended, or the rank is lost */
	uint64_t steps;
	uint32_t hook;
	uint64_t base_steps; /* counter and time from which the speed is measured */
	int64_t base_ns;
	uint64_t millisteps_per_s; /* the highest speed seen; 0 = not measured yet */
};

struct ifp_pace {
	struct ifp_pace_rank *ranks;
	uint32_t world;
	int64_t stepping_since_ns; /* since a rank could record steps; 0 = none can */
	int64_t forward_since_ns;  /* since a rank was armed by a forward call; 0 = none is */
};

int ifp_pace_init(struct ifp_pace *pace, uint32_t world);
void ifp_pace_free(struct ifp_pace *pace);

void ifp_pace_heartbeat(struct ifp_pace *pace, uint32_t rank, const struct ifp_heartbeat *heartbeat,
	int64_t now_ns);
/* A counter that came with another message. */
void ifp_pace_counted(struct ifp_pace *pace, uint32_t rank, uint64_t steps);
void ifp_pace_gone(struct ifp_pace *pace, uint32_t rank);

/* Whether a rank can record a window of steps, of time. */
bool ifp_pace_can_step(const struct ifp_pace *pace, uint32_t rank);
bool ifp_pace_can_time(const struct ifp_pace *pace, uint32_t rank);

/* Whether the ranks that can record should be asked now, because no others will join them. */
bool ifp_pace_steps_ready(const struct ifp_pace *pace, int64_t now_ns);
bool ifp_pace_time_ready(const struct ifp_pace *pace, int64_t now_ns);

uint64_t ifp_pace_largest(const struct ifp_pace *pace);

/* Steps that the fastest rank makes in duration_ns, rounded up. */
uint64_t ifp_pace_steps_in(const struct ifp_pace *pace, int64_t duration_ns);
