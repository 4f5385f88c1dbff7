/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/tuples.h"

#include "core/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A reading may take this many times the median, and always WIDTH_FLOOR_NS. */
#define WIDTH_FACTOR 4
#define WIDTH_FLOOR_NS 500

/*
 * NTP's discipline slews REALTIME by 500 ppm at most: twice that is a step wherever it is seen. A
 * deviation above ISOLATED_PPM is one when the rates before and after agree with each other.
 */
#define STEP_PPM 1000
#define ISOLATED_PPM 50

/* Differences of smaller numbers fit 64 bits. */
#define NEAR_LIMIT (INT64_C(1) << 61)

/* ns between two tuples from which on quotients by them fit a double with room to spare. */
#define LEAST_RUN (INT64_C(1) << 20)

static int compare_int64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The width up to which tuples are used; negative errno when memory is short. */
static int64_t width_limit(const struct ifp_clock_samples *samples)
{
	IFP_CLEANUP_FREE int64_t *widths = malloc(samples->tuple_count * sizeof(*widths));
	int64_t median;

	if (!widths)
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->tuple_count; i++)
		widths[i] = samples->tuples[i].width_ns < 0 ? 0 : samples->tuples[i].width_ns;
	qsort(widths, samples->tuple_count, sizeof(*widths), compare_int64);
	median = widths[(samples->tuple_count - 1) / 2];
	if (median > INT64_MAX / WIDTH_FACTOR)
		return INT64_MAX;
	return median * WIDTH_FACTOR > WIDTH_FLOOR_NS ? median * WIDTH_FACTOR : WIDTH_FLOOR_NS;
}

static bool line_alloc(struct ifp_line *line, uint32_t capacity)
{
	line->knots = calloc(capacity, sizeof(*line->knots));
	line->pieces = calloc(capacity, sizeof(*line->pieces));
	return line->knots && line->pieces;
}

static void line_add(struct ifp_line *line, int64_t stamp, int64_t raw_ns)
{
	line->knots[line->count++] = (struct ifp_line_knot){stamp, raw_ns};
}

/* How much more than RAW the stamps have advanced between knot i and knot i + 1. */
static __int128 advance(const struct ifp_line *line, uint32_t i)
{
	const struct ifp_line_knot *k = line->knots + i;

	return ((__int128)k[1].stamp - k[0].stamp) - ((__int128)k[1].raw_ns - k[0].raw_ns);
}

static __int128 span(const struct ifp_line *line, uint32_t i)
{
	return (__int128)line->knots[i + 1].raw_ns - line->knots[i].raw_ns;
}

static __int128 magnitude(__int128 x)
{
	return x < 0 ? -x : x;
}

/* What the gap between knots i and i + 1 would have advanced by, had it been as long as length. */
static __int128 pace(const struct ifp_line *line, uint32_t i, __int128 length)
{
	return advance(line, i) * length / span(line, i);
}

/*
 * Whether the gaps around gap i go on at one pace: two on each side, as far as there are. In a slew
 * that begins and ends within seconds the next ones agree, those beyond do not.
 */
static bool is_calm_around(const struct ifp_line *line, uint32_t i, __int128 limit)
{
	__int128 length = span(line, i);
	__int128 before = pace(line, i - 1, length), after = pace(line, i + 1, length);

	if (magnitude(before - after) >= limit)
		return false;
	if (i >= 2 && magnitude(pace(line, i - 2, length) - before) >= limit)
		return false;
	return i + 3 >= line->count || magnitude(pace(line, i + 2, length) - after) < limit;
}

static bool is_step(const struct ifp_line *line, uint32_t i, int64_t tolerance_ns)
{
	__int128 length = span(line, i);
	__int128 limit = tolerance_ns + length * ISOLATED_PPM / 1000000;
	__int128 around;

	if (magnitude(advance(line, i)) > tolerance_ns + length * STEP_PPM / 1000000)
		return true;
	if (i == 0 || i + 2 >= line->count || !is_calm_around(line, i, limit))
		return false;
	around = (pace(line, i - 1, length) + pace(line, i + 1, length)) / 2;
	return magnitude(advance(line, i) - around) > limit;
}

static void find_pieces(struct ifp_line *line, int64_t tolerance_ns)
{
	if (line->count)
		line->pieces[line->piece_count++] = 0;
	for (uint32_t i = 0; i + 1 < line->count; i++) {
		if (is_step(line, i, tolerance_ns))
			line->pieces[line->piece_count++] = i + 1;
	}
}

static void add_tuple(struct ifp_lines *lines, const struct ifp_clock_tuple *tuple)
{
	struct ifp_line *tsc = &lines->tsc;

	line_add(&lines->realtime, tuple->realtime_ns, tuple->raw_ns);
	if (tuple->tsc_ticks == 0 || tuple->tsc_ticks > INT64_MAX)
		return;
	if (!tsc->count || (int64_t)tuple->tsc_ticks > tsc->knots[tsc->count - 1].stamp)
		line_add(tsc, (int64_t)tuple->tsc_ticks, tuple->raw_ns);
}

int ifp_lines_make(const struct ifp_clock_samples *samples, struct ifp_lines *out)
{
	struct ifp_lines lines = {0};
	int64_t limit_ns;

	if (!samples || !samples->tuple_count)
		return -ENODATA;
	limit_ns = width_limit(samples);
	if (limit_ns < 0 || !line_alloc(&lines.realtime, samples->tuple_count) ||
		!line_alloc(&lines.tsc, samples->tuple_count)) {
		ifp_lines_free(&lines);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < samples->tuple_count; i++) {
		const struct ifp_clock_tuple *tuple = samples->tuples + i;
		uint32_t n = lines.realtime.count;

		if (tuple->width_ns > limit_ns)
			continue;
		if (!n || tuple->raw_ns > lines.realtime.knots[n - 1].raw_ns)
			add_tuple(&lines, tuple);
	}
	find_pieces(&lines.realtime, limit_ns);
	if (lines.tsc.count)
		lines.tsc.pieces[lines.tsc.piece_count++] = 0;
	lines.first_raw_ns = lines.realtime.knots[0].raw_ns;
	lines.last_raw_ns = lines.realtime.knots[lines.realtime.count - 1].raw_ns;
	*out = lines;
	return 0;
}

void ifp_lines_free(struct ifp_lines *lines)
{
	free(lines->realtime.knots);
	free(lines->realtime.pieces);
	free(lines->tsc.knots);
	free(lines->tsc.pieces);
	*lines = (struct ifp_lines){0};
}

static uint32_t piece_end(const struct ifp_line *line, uint32_t piece)
{
	return piece + 1 < line->piece_count ? line->pieces[piece + 1] : line->count;
}

/*
 * The piece of a stamp. A step happened somewhere between two tuples: each piece is taken to reach
 * half of that gap beyond its knots, which errs by half a gap at most.
 */
static uint32_t piece_of_stamp(const struct ifp_line *line, int64_t stamp)
{
	uint32_t nearest = 0;
	__int128 nearest_distance = 0;

	if (line->piece_count == 1)
		return 0;
	for (uint32_t i = 0; i < line->piece_count; i++) {
		uint32_t first = line->pieces[i], last = piece_end(line, i) - 1;
		__int128 reach_before = i ? span(line, first - 1) / 2 : 0;
		__int128 reach_after = last + 1 < line->count ? span(line, last) / 2 : 0;
		__int128 low = line->knots[first].stamp - reach_before;
		__int128 high = line->knots[last].stamp + reach_after;
		__int128 distance = stamp < low ? low - stamp : stamp > high ? stamp - high : 0;

		if (i == 0 || distance < nearest_distance) {
			nearest = i;
			nearest_distance = distance;
		}
		if (distance == 0)
			break;
	}
	return nearest;
}

static int64_t clamp(__int128 x)
{
	return x > INT64_MAX ? INT64_MAX : x < INT64_MIN ? INT64_MIN : (int64_t)x;
}

/* y at x on the line through (x0, y0) and (x1, y1), rounded to nearest; slope 1 when x0 = x1. */
static int64_t interpolate(__int128 x, const __int128 p0[2], const __int128 p1[2])
{
	__int128 run = p1[0] - p0[0], rise = p1[1] - p0[1], product;

	if (run <= 0)
		return clamp(p0[1] + (x - p0[0]));
	if (__builtin_mul_overflow(x - p0[0], rise, &product))
		return x < p0[0] ? INT64_MIN : INT64_MAX;
	product += product < 0 ? -run / 2 : run / 2;
	return clamp(p0[1] + product / run);
}

/* The knot's coordinates: {stamp, raw}, or {raw, stamp} for the way back. */
static void coordinates(const struct ifp_line_knot *knot, bool back, __int128 out[2])
{
	out[0] = back ? knot->raw_ns : knot->stamp;
	out[1] = back ? knot->stamp : knot->raw_ns;
}

/*
 * Between two knots by these two; outside by the first and the last of the piece, because the
 * slope of two tuples that lie close together must not be drawn out far.
 */
static int64_t piece_at(const struct ifp_line *line, uint32_t piece, bool back, int64_t x)
{
	uint32_t first = line->pieces[piece], last = piece_end(line, piece) - 1;
	uint32_t low = first, high = last;
	__int128 p0[2], p1[2];

	coordinates(line->knots + first, back, p0);
	coordinates(line->knots + last, back, p1);
	if (x >= p0[0] && x <= p1[0]) {
		while (high - low > 1) {
			uint32_t middle = low + (high - low) / 2;

			coordinates(line->knots + middle, back, p0);
			if (p0[0] <= x)
				low = middle;
			else
				high = middle;
		}
		coordinates(line->knots + low, back, p0);
		coordinates(line->knots + high, back, p1);
	} else if (x > p1[0]) {
		/* anchored at the nearer end */
		__int128 shift[2] = {2 * p1[0] - p0[0], 2 * p1[1] - p0[1]};

		return interpolate(x, p1, shift);
	}
	return interpolate(x, p0, p1);
}

/* rounded(dx * rise / run), where a product of 64 bits tells. All are 0 at least, run more. */
static bool scale(int64_t dx, int64_t rise, int64_t run, int64_t *out)
{
	int64_t product, quotient, rest;

	if (rise == run) {
		*out = dx;
		return true;
	}
	if (run < LEAST_RUN || __builtin_mul_overflow(dx, rise - run, &product) ||
		__builtin_add_overflow(product, run / 2, &product))
		return false;
	/* Right but for one: the quotient is far below what a double holds. */
	quotient = (int64_t)((double)product / (double)run);
	rest = product - quotient * run;
	*out = dx + quotient - (rest < 0) + (rest >= run);
	return true;
}

/*
 * piece_at() for clocks that hardly differ and moments within NEAR_LIMIT, as almost all
 * are; false for others.
 */
static bool piece_at_near(
	const struct ifp_line *line, uint32_t first, uint32_t last, int64_t x, int64_t *out)
{
	const struct ifp_line_knot *from = line->knots + first, *to = line->knots + last;
	const struct ifp_line_knot *anchor;
	int64_t scaled;

	if (from->stamp < -NEAR_LIMIT || to->stamp > NEAR_LIMIT || from->raw_ns < -NEAR_LIMIT ||
		to->raw_ns > NEAR_LIMIT || x > NEAR_LIMIT || x < from->stamp)
		return false;
	if (first == last) {
		*out = from->raw_ns + (x - from->stamp);
		return true;
	}
	if (x > to->stamp) {
		anchor = to;
	} else {
		while (to - from > 1) {
			const struct ifp_line_knot *middle = from + (to - from) / 2;

			if (middle->stamp <= x)
				from = middle;
			else
				to = middle;
		}
		anchor = from;
	}
	if (to->stamp <= from->stamp || to->raw_ns < from->raw_ns ||
		!scale(x - anchor->stamp, to->raw_ns - from->raw_ns, to->stamp - from->stamp,
			&scaled))
		return false;
	*out = anchor->raw_ns + scaled;
	return true;
}

int64_t ifp_lines_raw(const struct ifp_lines *lines, enum ifp_clock_domain domain, int64_t stamp)
{
	const struct ifp_line *line = domain == IFP_CLOCK_REALTIME ? &lines->realtime
				      : domain == IFP_CLOCK_TSC	   ? &lines->tsc
								   : NULL;
	int64_t raw_ns;

	if (!line || !line->count)
		return stamp;
	if (line->piece_count == 1 && piece_at_near(line, 0, line->count - 1, stamp, &raw_ns))
		return raw_ns;
	return piece_at(line, piece_of_stamp(line, stamp), false, stamp);
}

static uint32_t piece_of_raw(const struct ifp_line *line, int64_t raw_ns)
{
	uint32_t piece = 0;

	while (piece + 1 < line->piece_count) {
		uint32_t next = line->pieces[piece + 1];

		if (raw_ns < line->knots[next].raw_ns - (int64_t)(span(line, next - 1) / 2))
			break;
		piece++;
	}
	return piece;
}

double ifp_lines_rate(const struct ifp_lines *lines, int64_t raw_ns)
{
	const struct ifp_line *line = &lines->realtime;
	const struct ifp_line_knot *knots = line->knots;
	uint32_t piece, first, last, end;
	__int128 length_ns, half_ns = IFP_NS_PER_S / 2;

	if (line->count < 2)
		return 0;
	piece = piece_of_raw(line, raw_ns);
	end = piece_end(line, piece);
	first = line->pieces[piece];
	while (first + 2 < end && knots[first + 1].raw_ns <= raw_ns)
		first++;
	if (first + 1 >= end)
		return 0;
	last = first + 1;
	while (last + 1 < end && (__int128)knots[last].raw_ns - raw_ns < half_ns)
		last++;
	while (first > line->pieces[piece] && (__int128)raw_ns - knots[first].raw_ns < half_ns)
		first--;
	length_ns = (__int128)knots[last].raw_ns - knots[first].raw_ns;
	return (double)((__int128)knots[last].stamp - knots[first].stamp - length_ns) /
	       (double)length_ns;
}

int64_t ifp_lines_realtime(const struct ifp_lines *lines, int64_t raw_ns)
{
	const struct ifp_line *line = &lines->realtime;

	return piece_at(line, piece_of_raw(line, raw_ns), true, raw_ns);
}
