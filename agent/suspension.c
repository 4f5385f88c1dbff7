/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/suspension.h"

#include "core/time.h"

#include <time.h>

#define LOOK_TRIES 8

/* The lead of BOOTTIME lies between low and high; a new low above the old high is certain. */
bool ifp_suspension_take(
	struct ifp_suspension *suspension, int64_t before_ns, int64_t boottime_ns, int64_t after_ns)
{
	int64_t low_ns = boottime_ns - after_ns, high_ns = boottime_ns - before_ns;
	int64_t grown_ns = low_ns - suspension->high_ns;

	bool grown = suspension->started && grown_ns >= IFP_SUSPENSION_LEAST_NS;

	if (grown) {
		suspension->count++;
		suspension->last_low_ns = grown_ns;
		suspension->last_high_ns = high_ns - suspension->low_ns;
	}
	if (grown || !suspension->started || high_ns < suspension->high_ns)
		suspension->high_ns = high_ns;
	if (grown || !suspension->started || low_ns > suspension->low_ns)
		suspension->low_ns = low_ns;
	suspension->started = true;
	return grown;
}

static int64_t read_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * IFP_NS_PER_S + t.tv_nsec;
}

bool ifp_suspension_look(struct ifp_suspension *suspension)
{
	int64_t best[3] = {0, 0, INT64_MAX};

	for (int i = 0; i < LOOK_TRIES; i++) {
		int64_t before_ns = read_ns(CLOCK_MONOTONIC);
		int64_t boottime_ns = read_ns(CLOCK_BOOTTIME);
		int64_t after_ns = read_ns(CLOCK_MONOTONIC);

		if (after_ns - before_ns < best[2] - best[0]) {
			best[0] = before_ns;
			best[1] = boottime_ns;
			best[2] = after_ns;
		}
	}
	return ifp_suspension_take(suspension, best[0], best[1], best[2]);
}
