/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/clock_schedule.h"

#include "core/time.h"

/* What no clock exchange over a network can see (one way, switches, interrupts). */
#define FLOOR_NS 1000

/* Longer than any run that somebody will look at. */
#define LONGEST_NS (1000000 * IFP_NS_PER_S)

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The straight line through the past at a moment, relative to the last point's offset. */
static double predict(const struct ifp_clock_past *past, int64_t at_ns)
{
	uint32_t last = past->count - 1;
	double t = 0, y = 0, tt = 0, ty = 0, n = past->count, spread;

	for (uint32_t i = 0; i < past->count; i++) {
		double ti = (double)(past->at_ns[i] - past->at_ns[last]);
		double yi = (double)(past->offset_ns[i] - past->offset_ns[last]);

		t += ti;
		y += yi;
		tt += ti * ti;
		ty += ti * yi;
	}
	spread = tt - t * t / n;
	if (spread <= 0)
		return y / n;
	return y / n + (ty - t * y / n) / spread * ((double)(at_ns - past->at_ns[last]) - t / n);
}

static void keep(struct ifp_clock_past *past, int64_t at_ns, int64_t offset_ns)
{
	if (past->count == IFP_CLOCK_PAST_POINTS) {
		for (uint32_t i = 1; i < past->count; i++) {
			past->at_ns[i - 1] = past->at_ns[i];
			past->offset_ns[i - 1] = past->offset_ns[i];
		}
		past->count--;
	}
	past->at_ns[past->count] = at_ns;
	past->offset_ns[past->count++] = offset_ns;
}

double ifp_clock_past_add(struct ifp_clock_past *past, const struct ifp_clock_edge *edge)
{
	int64_t at_ns = edge->best_t1_ns + (edge->best_t4_ns - edge->best_t1_ns) / 2;
	int64_t width_ns = edge->high_ns - edge->low_ns;
	int64_t offset_ns = edge->low_ns + width_ns / 2;
	double surprise = -1;

	if (past->count >= 2) {
		double error = (double)(offset_ns - past->offset_ns[past->count - 1]) -
			       predict(past, at_ns);

		surprise = (error < 0 ? -error : error) / (FLOOR_NS + (double)width_ns);
	}
	if (surprise > 1)
		past->count = 0;
	keep(past, at_ns, offset_ns);
	return surprise;
}

void ifp_clock_schedule_init(struct ifp_clock_schedule *schedule, int64_t longest_ns)
{
	*schedule = (struct ifp_clock_schedule){.due_ns = INT64_MAX};
	if (longest_ns > 0) {
		schedule->longest_ns = max64(longest_ns, IFP_CLOCK_SCHEDULE_SHORTEST_NS);
		schedule->shortest_ns = min64(IFP_CLOCK_SCHEDULE_FIRST_NS, schedule->longest_ns);
		schedule->interval_ns = schedule->shortest_ns;
	}
}

/* What the size of the job and the length of the run allow. */
static int64_t shortest(const struct ifp_clock_schedule *schedule, uint32_t edges)
{
	int64_t ns = max64(min64(IFP_CLOCK_SCHEDULE_FIRST_NS, schedule->longest_ns),
		edges * (IFP_NS_PER_S / IFP_CLOCK_SCHEDULE_EDGES_PER_S));

	for (uint64_t n = schedule->edges / IFP_CLOCK_SCHEDULE_EDGES; n && ns < LONGEST_NS; n--)
		ns *= 2;
	return ns;
}

void ifp_clock_schedule_made(struct ifp_clock_schedule *schedule, double surprise, uint32_t edges,
	int64_t began_ns, int64_t now_ns)
{
	if (!schedule->longest_ns)
		return;
	schedule->edges += edges;
	schedule->shortest_ns = shortest(schedule, edges);
	if (surprise > 1)
		schedule->interval_ns /= 2;
	else if (surprise >= 0 && surprise < 0.25)
		schedule->interval_ns *= 2;
	schedule->interval_ns =
		max64(schedule->shortest_ns, min64(schedule->interval_ns, schedule->longest_ns));
	/* an exchange that took long is no reason to begin the next one at once */
	schedule->due_ns =
		max64(began_ns + schedule->interval_ns, now_ns + schedule->interval_ns / 2);
}

void ifp_clock_schedule_hurry(struct ifp_clock_schedule *schedule, int64_t now_ns)
{
	if (!schedule->longest_ns || schedule->due_ns == INT64_MAX)
		return;
	schedule->interval_ns = schedule->shortest_ns;
	schedule->due_ns = min64(schedule->due_ns, now_ns + schedule->interval_ns);
}
