/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jones and Koenig (2012): at every fit point the master's offset to every rank is measured as the
 * median of what 10 messages say, less half of the mean round trip; a line through the fit points
 * by least squares. Round trips longer than 1.5 times the third quartile do not count.
 */
#include "clocksync/peers/peers.h"
#include "clocksync/peers/star.h"

#include <stdlib.h>

#define FIT_POINTS 100
#define PING_PONGS 10

struct ifp_aligner {
	struct ifp_aligner_wish *wishes;
	uint32_t nodes;
	struct ifp_star_line *lines; /* per node */
	/* Of the fit point that is being measured. */
	int64_t travel_ns[PING_PONGS], there_ns[PING_PONGS];
	uint32_t trips;
};

static void jk_free(struct ifp_aligner *aligner)
{
	free(aligner->wishes);
	free(aligner->lines);
	free(aligner);
}

static struct ifp_aligner *jk_new(uint32_t nodes)
{
	struct ifp_aligner *aligner = calloc(1, sizeof(*aligner));

	if (!aligner)
		return NULL;
	aligner->nodes = nodes;
	aligner->wishes = ifp_star_wishes(nodes, FIT_POINTS, PING_PONGS);
	aligner->lines = calloc(nodes, sizeof(*aligner->lines));
	if (!aligner->wishes || !aligner->lines) {
		jk_free(aligner);
		return NULL;
	}
	return aligner;
}

static uint32_t jk_wishes(struct ifp_aligner *aligner, const struct ifp_aligner_occasion *occasion,
	const struct ifp_aligner_wish **wishes)
{
	*wishes = aligner->wishes;
	return occasion->epoch == 0 ? (aligner->nodes - 1) * FIT_POINTS : 0;
}

static int compare_int64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Half of the mean of the usual round trips. */
static int64_t half_trip_ns(int64_t *travel_ns)
{
	int64_t limit_ns, sum_ns = 0, count = 0;

	qsort(travel_ns, PING_PONGS, sizeof(*travel_ns), compare_int64);
	limit_ns = travel_ns[PING_PONGS * 3 / 4] * 3 / 2;
	while (count < PING_PONGS && travel_ns[count] <= limit_ns)
		sum_ns += travel_ns[count++];
	return sum_ns / count / 2;
}

static bool jk_sample(struct ifp_aligner *aligner, uint32_t wish, const struct ifp_round_trip *trip)
{
	uint32_t node = 1 + wish % (aligner->nodes - 1);

	aligner->travel_ns[aligner->trips] = ifp_star_travel_ns(trip);
	aligner->there_ns[aligner->trips++] = trip->t2_ns - trip->t1_ns;
	if (aligner->trips == PING_PONGS) {
		qsort(aligner->there_ns, PING_PONGS, sizeof(int64_t), compare_int64);
		ifp_star_line_add(aligner->lines + node, trip->t2_ns,
			aligner->there_ns[PING_PONGS / 2] - half_trip_ns(aligner->travel_ns));
		aligner->trips = 0;
	}
	return true;
}

static int jk_settle(struct ifp_aligner *aligner)
{
	(void)aligner;
	return 0;
}

static ifp_global_ns jk_map(const struct ifp_aligner *aligner, uint32_t node, ifp_local_ns local)
{
	return (ifp_global_ns){local.ns - ifp_star_line_at(aligner->lines + node, local.ns)};
}

const struct ifp_aligner_ops ifp_peer_jones_koenig = {
	.name = "Jones-Koenig 100x10",
	.idea = "star, medians less half of the mean round trip, a line",
	.when = IFP_ALIGNED_ONCE,
	.new = jk_new,
	.free = jk_free,
	.wishes = jk_wishes,
	.sample = jk_sample,
	.settle = jk_settle,
	.map = jk_map,
};
