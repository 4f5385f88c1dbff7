/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/map.h"
#include "clocksync/estimate/median.h"
#include "clocksync/estimate/trend.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_MOST 5u /* readings on each side that are compared */
#define SIDE_LEAST 3u
#define LEAST_NS 20000.0 /* of a jump */
#define NOISE_SIGMAS 12.0

struct search {
	const struct ifp_trend_reading *readings;
	uint32_t count, side;
	double *level;	 /* by reading: offset without slope and jumps found so far */
	double *jumps;	 /* by reading: jumps found before it */
	double *scratch; /* by reading */
};

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double seconds(const struct search *s, uint32_t i)
{
	return (double)(s->readings[i].at_ns - s->readings[0].at_ns) / 1e9;
}

static double offset(const struct search *s, uint32_t i)
{
	return (double)(s->readings[i].offset_ns - s->readings[0].offset_ns) - s->jumps[i];
}

/* Takes the slope that most pairs of readings a quarter of all apart agree about. */
static void level(struct search *s)
{
	uint32_t apart = s->count / 4, n = 0;
	double slope;

	for (uint32_t i = 0; i + apart < s->count; i++) {
		double run = seconds(s, i + apart) - seconds(s, i);

		if (run > 0)
			s->scratch[n++] = (offset(s, i + apart) - offset(s, i)) / run;
	}
	slope = n ? ifp_select_median(s->scratch, n) : 0;
	for (uint32_t i = 0; i < s->count; i++)
		s->level[i] = offset(s, i) - slope * seconds(s, i);
}

static double median_of(const struct search *s, uint32_t first, uint32_t count)
{
	double values[2 * SIDE_MOST];

	memcpy(values, s->level + first, count * sizeof(*values));
	return ifp_select_median(values, count);
}

/* From the readings before reading i to those from it on. */
static double jump_at(const struct search *s, uint32_t i)
{
	return median_of(s, i, s->side) - median_of(s, i - s->side, s->side);
}

/* What a jump at reading i must exceed, for the noise and for the drift meanwhile. */
static double threshold(const struct search *s, double noise, uint32_t i)
{
	double span_ns = (seconds(s, i + s->side - 1) - seconds(s, i - s->side)) * 1e9;

	return fmax(LEAST_NS, NOISE_SIGMAS * noise) + span_ns * IFP_CLOCK_DRIFT_PPM * 1e-6;
}

/* How many standard deviations the share p of all values of a normal distribution stays below. */
static double sigmas_of(double p)
{
	return 1.2533 * (p + 0.2618 * p * p * p + 0.1439 * p * p * p * p * p);
}

/*
 * The standard deviation of jumps that are none, from the third quartile of those that a real one
 * leaves alone.
 */
static double typical_jump(struct search *s)
{
	uint32_t n = 0, touched = 2 * s->side - 1, at;

	for (uint32_t i = s->side; i + s->side <= s->count; i++)
		s->scratch[n++] = fabs(jump_at(s, i));
	qsort(s->scratch, n, sizeof(*s->scratch), compare_doubles);
	at = n > touched ? (n - touched) * 3 / 4 : 0;
	return s->scratch[at] / sigmas_of((at + 0.5) / n);
}

/* How well two levels, one up to reading i and one from it on, meet the readings in between. */
static double misfit(const struct search *s, uint32_t first, uint32_t i, uint32_t end)
{
	double before = median_of(s, first, i - first), after = median_of(s, i, end - i), sum = 0;

	for (uint32_t k = first; k < end; k++)
		sum += fabs(s->level[k] - (k < i ? before : after));
	return sum;
}

/* The jump is somewhere within the readings that made it visible: where it explains them best. */
static uint32_t locate(const struct search *s, uint32_t around)
{
	uint32_t first = around - s->side, end = around + s->side, best = around;
	double least = misfit(s, first, around, end);

	for (uint32_t i = first + 1; i < end; i++) {
		double sum = misfit(s, first, i, end);

		if (sum < least) {
			least = sum;
			best = i;
		}
	}
	return best;
}

/* The first reading behind the largest jump that is one; 0 when none is. */
static uint32_t find_largest(struct search *s)
{
	double noise, most = 0;
	uint32_t at = 0;

	level(s);
	noise = typical_jump(s);
	for (uint32_t i = s->side; i + s->side <= s->count; i++) {
		double size = fabs(jump_at(s, i));

		if (size > most && size > threshold(s, noise, i)) {
			most = size;
			at = i;
		}
	}
	return at ? locate(s, at) : 0;
}

static int compare_steps(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool is_known(const uint32_t *steps, uint32_t count, uint32_t step)
{
	for (uint32_t i = 0; i < count; i++) {
		if (steps[i] == step)
			return true;
	}
	return false;
}

int ifp_trend_find_steps(const struct ifp_trend_reading *readings, uint32_t count, uint32_t *steps)
{
	struct search s = {.readings = readings, .count = count};
	uint32_t found = 0;

	s.side = count / 4 > SIDE_MOST ? SIDE_MOST : count / 4;
	if (s.side < SIDE_LEAST)
		return 0;

	IFP_CLEANUP_FREE double *by_reading = calloc((size_t)count * 3, sizeof(*by_reading));

	if (!by_reading)
		return ifp_fail(-ENOMEM, "look for steps of a clock");
	s.level = by_reading;
	s.jumps = by_reading + count;
	s.scratch = by_reading + 2 * (size_t)count;
	while (found < IFP_TREND_STEPS_MAX) {
		uint32_t at = find_largest(&s);
		uint32_t before, after;
		double jump;

		if (!at || is_known(steps, found, at))
			break;
		before = at < s.side ? at : s.side;
		after = count - at < s.side ? count - at : s.side;
		jump = median_of(&s, at, after) - median_of(&s, at - before, before);
		steps[found++] = at;
		for (uint32_t i = at; i < count; i++)
			s.jumps[i] += jump;
	}
	if (found)
		qsort(steps, found, sizeof(*steps), compare_steps);
	return (int)found;
}
