/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace Compass, after Duda et al. (1987): all messages between two hosts bound their offset from
 * both sides over the whole trace. Of all lines that run between the two hulls the steepest and
 * the flattest are taken, and their mean. Where no line fits any more, the last one stays. Pairs
 * are put together along a spanning tree.
 *
 * It gets the messages of the same ping-pongs as ours, on the edges of a spanning tree of it; per
 * exchange the tightest one in each direction, which is what the hulls consist of.
 */
#include "clocksync/peers/peers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PING_PONGS 32
#define PATIENCE 8

/* The child's offset at a reading of its clock is not above, or not below. */
struct bound {
	int64_t local_ns, offset_ns;
};

struct pair {
	uint32_t parent;
	struct bound *above, *below; /* a pair of them per exchange */
	uint32_t count, room;
	bool begun;	    /* the running exchange has bounds, at index count */
	double least, most; /* slopes that fit all bounds so far */
	/* The line that fitted last. */
	int64_t origin_ns, base_ns;
	double icpt, slope;
	bool failed;
};

struct ifp_aligner {
	struct ifp_aligner_wish *wishes;
	uint32_t nodes;
	struct pair *pairs; /* per node, with its parent */
};

static void hull_free(struct ifp_aligner *aligner)
{
	for (uint32_t i = 0; aligner->pairs && i < aligner->nodes; i++) {
		free(aligner->pairs[i].above);
		free(aligner->pairs[i].below);
	}
	free(aligner->wishes);
	free(aligner->pairs);
	free(aligner);
}

static struct ifp_aligner *hull_new(uint32_t nodes)
{
	struct ifp_aligner *aligner = calloc(1, sizeof(*aligner));

	if (!aligner)
		return NULL;
	aligner->nodes = nodes;
	aligner->wishes = calloc(nodes, sizeof(*aligner->wishes));
	aligner->pairs = calloc(nodes, sizeof(*aligner->pairs));
	if (!aligner->wishes || !aligner->pairs) {
		hull_free(aligner);
		return NULL;
	}
	for (uint32_t i = 1; i < nodes; i++) {
		uint32_t highest = 1;

		while (highest <= i / 2)
			highest *= 2;
		aligner->pairs[i].parent = i - highest;
		aligner->pairs[i].least = -HUGE_VAL;
		aligner->pairs[i].most = HUGE_VAL;
		aligner->wishes[i - 1] =
			(struct ifp_aligner_wish){i - highest, i, PING_PONGS, PATIENCE};
	}
	return aligner;
}

static uint32_t hull_wishes(struct ifp_aligner *aligner,
	const struct ifp_aligner_occasion *occasion, const struct ifp_aligner_wish **wishes)
{
	(void)occasion;
	*wishes = aligner->wishes;
	return aligner->nodes - 1;
}

static bool make_room(struct pair *pair)
{
	uint32_t room = pair->room ? 2 * pair->room : 64;
	struct bound *above, *below;

	if (pair->count < pair->room)
		return true;
	above = realloc(pair->above, room * sizeof(*above));
	pair->above = above ? above : pair->above;
	below = realloc(pair->below, room * sizeof(*below));
	pair->below = below ? below : pair->below;
	pair->room = above && below ? room : pair->room;
	return above && below;
}

static bool hull_sample(
	struct ifp_aligner *aligner, uint32_t wish, const struct ifp_round_trip *trip)
{
	struct pair *pair = aligner->pairs + wish + 1;
	struct bound above = {trip->t2_ns, trip->t2_ns - trip->t1_ns};
	struct bound below = {trip->t3_ns, trip->t3_ns - trip->t4_ns};
	bool gained = false;

	if (!make_room(pair))
		return false;
	if (!pair->begun || above.offset_ns < pair->above[pair->count].offset_ns) {
		pair->above[pair->count] = above;
		gained = true;
	}
	if (!pair->begun || below.offset_ns > pair->below[pair->count].offset_ns) {
		pair->below[pair->count] = below;
		gained = true;
	}
	pair->begun = true;
	return gained;
}

/* A line below one bound and above another: what that says of its slope. */
static void limit_slope(struct pair *pair, const struct bound *above, const struct bound *below)
{
	double run = (double)(above->local_ns - below->local_ns);
	double slope = (double)(above->offset_ns - below->offset_ns) / run;

	if (run > 0)
		pair->most = fmin(pair->most, slope);
	if (run < 0)
		pair->least = fmax(pair->least, slope);
}

/* The middle of the room that is left for a line of that slope. */
static double intercept(const struct pair *pair, double slope)
{
	double low = -HUGE_VAL, high = HUGE_VAL;

	for (uint32_t k = 0; k < pair->count; k++) {
		const struct bound *above = pair->above + k, *below = pair->below + k;

		high = fmin(high, (double)(above->offset_ns - pair->base_ns) -
					  slope * (double)(above->local_ns - pair->origin_ns));
		low = fmax(low, (double)(below->offset_ns - pair->base_ns) -
					slope * (double)(below->local_ns - pair->origin_ns));
	}
	return (low + high) / 2;
}

static void draw(struct pair *pair)
{
	uint32_t last = pair->count - 1;

	pair->origin_ns = pair->above[0].local_ns;
	pair->base_ns = pair->above[0].offset_ns;
	for (uint32_t k = 0; k < pair->count; k++) {
		limit_slope(pair, pair->above + last, pair->below + k);
		limit_slope(pair, pair->above + k, pair->below + last);
	}
	pair->failed = pair->failed || pair->least > pair->most;
	if (pair->failed)
		return;
	if (pair->count == 1) { /* one exchange tells no drift */
		pair->slope = 0;
		pair->icpt = intercept(pair, 0);
		return;
	}
	pair->slope = (pair->least + pair->most) / 2;
	pair->icpt = (intercept(pair, pair->least) + intercept(pair, pair->most)) / 2;
}

static int hull_settle(struct ifp_aligner *aligner)
{
	for (uint32_t i = 1; i < aligner->nodes; i++) {
		struct pair *pair = aligner->pairs + i;

		if (!pair->begun)
			return -ENOMEM;
		pair->count++;
		pair->begun = false;
		draw(pair);
	}
	return 0;
}

static ifp_global_ns hull_map(const struct ifp_aligner *aligner, uint32_t node, ifp_local_ns local)
{
	int64_t now_ns = local.ns;

	while (node) {
		const struct pair *pair = aligner->pairs + node;

		now_ns -= pair->base_ns +
			  llround(pair->icpt + pair->slope * (double)(now_ns - pair->origin_ns));
		node = pair->parent;
	}
	return (ifp_global_ns){now_ns};
}

const struct ifp_aligner_ops ifp_peer_trace_compass = {
	.name = "Trace Compass hull",
	.idea = "convex hulls over the whole trace, one line, spanning tree",
	.when = IFP_ALIGNED_AFTERWARDS,
	.new = hull_new,
	.free = hull_free,
	.wishes = hull_wishes,
	.sample = hull_sample,
	.settle = hull_settle,
	.map = hull_map,
};
