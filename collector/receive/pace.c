/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/pace.h"

#include "core/error.h"
#include "core/segment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Shorter stretches say little: a heartbeat comes once a second, and a step may take as long. */
#define SPEED_MIN_NS (800 * IFP_NS_PER_MS)

/* The hook has found that Kineto cannot be armed: nothing to wait for. */
#define NEVER_ARMED (IFP_HOOK_PROFILER_BEFORE | IFP_HOOK_NO_SYMBOL | IFP_HOOK_ERROR)

int ifp_pace_init(struct ifp_pace *pace, uint32_t world)
{
	*pace = (struct ifp_pace){.world = world};
	pace->ranks = calloc(world, sizeof(*pace->ranks));
	return pace->ranks ? 0 : ifp_fail(-ENOMEM, "out of memory for %" PRIu32 " ranks", world);
}

void ifp_pace_free(struct ifp_pace *pace)
{
	free(pace->ranks);
	*pace = (struct ifp_pace){0};
}

static void measure_speed(struct ifp_pace_rank *rank, uint64_t steps, int64_t now_ns)
{
	int64_t passed_ns = now_ns - rank->base_ns;
	uint64_t millisteps_per_s;

	if (!rank->base_ns || steps < rank->base_steps) {
		/* The time before the first step says nothing about the speed of steps. */
		rank->base_ns = steps ? now_ns : 0;
		rank->base_steps = steps;
		return;
	}
	if (passed_ns < SPEED_MIN_NS || steps == rank->base_steps)
		return;
	millisteps_per_s =
		(steps - rank->base_steps) * 1000000u / (uint64_t)(passed_ns / IFP_NS_PER_MS);
	if (!millisteps_per_s)
		millisteps_per_s = 1;
	if (millisteps_per_s > rank->millisteps_per_s)
		rank->millisteps_per_s = millisteps_per_s;
	rank->base_ns = now_ns;
	rank->base_steps = steps;
}

void ifp_pace_heartbeat(
	struct ifp_pace *pace, uint32_t rank, const struct ifp_heartbeat *heartbeat, int64_t now_ns)
{
	struct ifp_pace_rank *r = &pace->ranks[rank];

	r->reported = true;
	r->hook |= heartbeat->hook;
	if (!heartbeat->running)
		r->gone = true;
	measure_speed(r, heartbeat->steps, now_ns);
	ifp_pace_counted(pace, rank, heartbeat->steps);
	if (!pace->stepping_since_ns && ifp_pace_can_step(pace, rank))
		pace->stepping_since_ns = now_ns;
	if (!pace->forward_since_ns && ifp_pace_can_time(pace, rank))
		pace->forward_since_ns = now_ns;
}

void ifp_pace_counted(struct ifp_pace *pace, uint32_t rank, uint64_t steps)
{
	if (steps > pace->ranks[rank].steps)
		pace->ranks[rank].steps = steps;
}

void ifp_pace_gone(struct ifp_pace *pace, uint32_t rank)
{
	pace->ranks[rank].gone = true;
}

bool ifp_pace_can_step(const struct ifp_pace *pace, uint32_t rank)
{
	const struct ifp_pace_rank *r = &pace->ranks[rank];

	return !r->gone && (r->hook & IFP_HOOK_ARMED) && r->steps >= IFP_PACE_COUNTED_STEPS &&
	       r->millisteps_per_s;
}

bool ifp_pace_can_time(const struct ifp_pace *pace, uint32_t rank)
{
	const struct ifp_pace_rank *r = &pace->ranks[rank];

	return !r->gone && (r->hook & IFP_HOOK_ARMED) && (r->hook & IFP_HOOK_FORWARD);
}

/*
 * Waits for the ranks whose interpreter runs the hook: the others are no PyTorch programs, or run
 * with -I. Ranks that synchronise their steps get there within a step of each other.
 */
static bool ready(const struct ifp_pace *pace, int64_t since_ns, int64_t now_ns,
	bool (*can)(const struct ifp_pace *, uint32_t))
{
	bool anybody = false, waiting = false;

	for (uint32_t i = 0; i < pace->world; i++) {
		const struct ifp_pace_rank *r = &pace->ranks[i];

		if (can(pace, i))
			anybody = true;
		else if (r->reported && !r->gone && (r->hook & IFP_HOOK_LOADED) &&
			 !(r->hook & NEVER_ARMED))
			waiting = true;
	}
	return anybody && (!waiting || now_ns - since_ns >= IFP_PACE_PATIENCE_NS);
}

bool ifp_pace_steps_ready(const struct ifp_pace *pace, int64_t now_ns)
{
	return pace->stepping_since_ns &&
	       ready(pace, pace->stepping_since_ns, now_ns, ifp_pace_can_step);
}

bool ifp_pace_time_ready(const struct ifp_pace *pace, int64_t now_ns)
{
	if (!pace->forward_since_ns || ifp_pace_largest(pace) ||
		now_ns - pace->forward_since_ns < IFP_PACE_INFERENCE_NS)
		return false;
	return ready(pace, pace->forward_since_ns, now_ns, ifp_pace_can_time);
}

uint64_t ifp_pace_largest(const struct ifp_pace *pace)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < pace->world; i++)
		if (!pace->ranks[i].gone && pace->ranks[i].steps > largest)
			largest = pace->ranks[i].steps;
	return largest;
}

uint64_t ifp_pace_steps_in(const struct ifp_pace *pace, int64_t duration_ns)
{
	uint64_t fastest = 0;

	for (uint32_t i = 0; i < pace->world; i++)
		if (!pace->ranks[i].gone && pace->ranks[i].millisteps_per_s > fastest)
			fastest = pace->ranks[i].millisteps_per_s;
	return (fastest * (uint64_t)(duration_ns / IFP_NS_PER_MS) + 999999) / 1000000;
}
