/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/suspension.h"

#include "core/time.h"

#include <time.h>

/* The lead of BOOTTIME lies between low and high; a new low above the old high is certain. */
void ifp_suspension_take(
	struct ifp_suspension *suspension, int64_t before_ns, int64_t boottime_ns, int64_t after_ns)
{
	int64_t low_ns = boottime_ns - after_ns, high_ns = boottime_ns - before_ns;
	int64_t grown_ns = low_ns - suspension->high_ns;

	if (suspension->started && grown_ns >= IFP_SUSPENSION_LEAST_NS) {
		suspension->count++;
		suspension->total_ns += grown_ns;
		suspension->high_ns = high_ns;
	} else if (!suspension->started || high_ns < suspension->high_ns) {
		suspension->high_ns = high_ns;
	}
	suspension->started = true;
}

static int64_t read_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * IFP_NS_PER_S + t.tv_nsec;
}

void ifp_suspension_look(struct ifp_suspension *suspension)
{
	int64_t before_ns = read_ns(CLOCK_MONOTONIC);
	int64_t boottime_ns = read_ns(CLOCK_BOOTTIME);

	ifp_suspension_take(suspension, before_ns, boottime_ns, read_ns(CLOCK_MONOTONIC));
}
