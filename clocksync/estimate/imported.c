/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/imported.h"

#include "clocksync/estimate/collectives.h"
#include "clocksync/estimate/edge.h"
#include "core/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A piece with one point gets a second knot, so far from it, for its rate. */
#define SECOND_KNOT_NS IFP_NS_PER_MS

static void add_knot(struct ifp_line *line, int64_t at_ns, int64_t offset_ns)
{
	line->knots[line->count++] = (struct ifp_line_knot){at_ns + offset_ns, at_ns};
}

static bool ends_piece(const struct ifp_trend *trend, uint32_t i)
{
	return i + 1 == trend->count || trend->points[i + 1].stepped;
}

/* Stamps of the trace to the RAW of its straightened clock. */
static int make_line(const struct ifp_trend *trend, struct ifp_line *out)
{
	struct ifp_line line = {.knots = calloc(2 * (size_t)trend->count, sizeof(*line.knots)),
		.pieces = calloc(trend->count, sizeof(*line.pieces))};

	if (!line.knots || !line.pieces) {
		free(line.knots);
		free(line.pieces);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < trend->count; i++) {
		const struct ifp_trend_point *p = &trend->points[i];
		bool begins = !i || p->stepped;

		if (begins)
			line.pieces[line.piece_count++] = line.count;
		if (begins && ends_piece(trend, i))
			add_knot(&line, p->at_ns - SECOND_KNOT_NS,
				p->offset_ns - llround(p->rate * SECOND_KNOT_NS));
		add_knot(&line, p->at_ns, p->offset_ns);
	}
	free(out->knots);
	free(out->pieces);
	*out = line;
	return 0;
}

/*
 * Between two points the clock was set, nobody knows when: what is there may be off by as much as
 * it was set by. Where it was set back its stamps show twice, for as long as that, and what has
 * such a stamp may have been placed before or behind: so far the doubt reaches to both sides. And
 * when the two points were is known within their limits.
 */
struct doubt {
	int64_t from_ns, to_ns, jump_ns;
};

static int64_t wider_of(const struct ifp_aligned_rank *aligned, uint32_t i)
{
	return aligned->high_ns[i] > -aligned->low_ns[i] ? aligned->high_ns[i]
							 : -aligned->low_ns[i];
}

/* About the step before point i. */
static struct doubt doubt_before(const struct ifp_aligned_rank *aligned, uint32_t i)
{
	const struct ifp_trend_point *after = &aligned->trend.points[i], *before = after - 1;
	double rate = (before->rate + after->rate) / 2;
	int64_t jump_ns = after->offset_ns - before->offset_ns -
			  llround(rate * (double)(after->at_ns - before->at_ns));
	int64_t left_ns = wider_of(aligned, i - 1), right_ns = wider_of(aligned, i);
	int64_t reach_ns = (left_ns > right_ns ? left_ns : right_ns) + 1;

	if (jump_ns < 0)
		reach_ns += ifp_drift_ns(jump_ns, 1000000 + aligned->drift_ppm);
	return (struct doubt){before->at_ns - reach_ns, after->at_ns + reach_ns, llabs(jump_ns)};
}

struct doubts {
	struct doubt items[IFP_TREND_STEPS_MAX];
	uint32_t count;
};

static struct doubts find_doubts(const struct ifp_aligned_rank *aligned)
{
	struct doubts doubts = {0};

	for (uint32_t i = 1; i < aligned->trend.count && doubts.count < IFP_TREND_STEPS_MAX; i++) {
		if (aligned->trend.points[i].stepped)
			doubts.items[doubts.count++] = doubt_before(aligned, i);
	}
	return doubts;
}

/*
 * The track at a moment of doubt: between the points around it, as wide as the wider of their
 * cones. points: those of the trend.
 */
static struct ifp_track_point certain_at(
	const struct ifp_track_point *points, uint32_t count, int64_t at_ns, int64_t drift_ppm)
{
	struct ifp_track_point at = {.global_ns = at_ns, .low_ns = INT64_MAX, .high_ns = INT64_MIN};
	uint32_t next = 0;

	while (next < count && points[next].global_ns < at_ns)
		next++;
	for (uint32_t i = next ? next - 1 : 0; i <= next && i < count; i++) {
		const struct ifp_track_point *p = &points[i];
		int64_t limits[2] = {INT64_MIN, INT64_MAX};

		ifp_track_narrow(p, at_ns, drift_ppm, limits);
		at.offset_ns = p->offset_ns;
		at.low_ns = limits[0] < at.low_ns ? limits[0] : at.low_ns;
		at.high_ns = limits[1] > at.high_ns ? limits[1] : at.high_ns;
		at.sigma_ns = fmax(at.sigma_ns, p->sigma_ns);
		at.rate_sigma = fmax(at.rate_sigma, p->rate_sigma);
	}
	if (next && next < count)
		at.offset_ns = points[next - 1].offset_ns +
			       (points[next].offset_ns - points[next - 1].offset_ns) / 2;
	return at;
}

static void widen(struct ifp_track_point *point, const struct doubts *doubts)
{
	for (uint32_t i = 0; i < doubts->count; i++) {
		const struct doubt *doubt = &doubts->items[i];

		if (point->global_ns < doubt->from_ns || point->global_ns > doubt->to_ns)
			continue;
		point->low_ns -= doubt->jump_ns;
		point->high_ns += doubt->jump_ns;
		point->sigma_ns += (double)doubt->jump_ns;
	}
}

static int compare_points(const void *a, const void *b)
{
	const struct ifp_track_point *x = a, *y = b;

	return (x->global_ns > y->global_ns) - (x->global_ns < y->global_ns);
}

/* Each piece confined to its own limits: the clock was set in between. */
static void take_points(const struct ifp_aligned_rank *aligned, struct ifp_track_point *points)
{
	for (uint32_t i = 0; i < aligned->trend.count; i++) {
		const struct ifp_trend_point *p = &aligned->trend.points[i];

		points[i] = (struct ifp_track_point){.global_ns = p->at_ns,
			.low_ns = aligned->low_ns[i],
			.high_ns = aligned->high_ns[i],
			.sigma_ns = p->sigma_ns,
			.rate_sigma = p->rate_sigma * 1e9};
		if (ends_piece(&aligned->trend, i)) {
			struct ifp_track piece = {.points = points + p->piece_first,
				.count = i + 1 - p->piece_first,
				.drift_ppm = aligned->drift_ppm};

			ifp_track_confine(&piece);
		}
	}
}

/* Of the track only the two points nearest to a moment count: those of doubts hide the others, and
 * those beside doubts hide these. */
static int make_track(const struct ifp_aligned_rank *aligned, struct ifp_track *out)
{
	struct doubts doubts = find_doubts(aligned);
	struct ifp_track track = {.drift_ppm = aligned->drift_ppm};
	const struct ifp_trend *trend = &aligned->trend;
	size_t n = trend->count + 4 * (size_t)doubts.count, k = trend->count;
	IFP_CLEANUP_FREE struct ifp_track_point *points = calloc(n, sizeof(*points));

	track.points = calloc(n, sizeof(*track.points));
	if (!points || !track.points) {
		free(track.points);
		return -ENOMEM;
	}
	take_points(aligned, points);
	for (uint32_t i = 0; i < doubts.count; i++) {
		const struct doubt *doubt = &doubts.items[i];
		const int64_t moments[] = {
			doubt->from_ns - 1, doubt->from_ns, doubt->to_ns, doubt->to_ns + 1};

		for (size_t m = 0; m < IFP_ARRAY_SIZE(moments); m++)
			points[k++] = certain_at(points, trend->count, moments[m], track.drift_ppm);
	}
	qsort(points, n, sizeof(*points), compare_points);
	for (size_t i = 0; i < n; i++) {
		widen(&points[i], &doubts);
		ifp_track_add(&track, &points[i]);
	}
	free(out->points);
	*out = track;
	return 0;
}

/* Outside of doubts; the first stretch and the last reach to the ends of what is drawn. */
static int find_quiet(const struct ifp_aligned_rank *aligned, int64_t from_ns, int64_t to_ns,
	struct ifp_clock_node *node)
{
	struct doubts doubts = find_doubts(aligned);
	struct ifp_clock_stretch *quiet = calloc(doubts.count + 1u, sizeof(*quiet));
	int64_t first_ns = from_ns;

	if (!quiet)
		return -ENOMEM;
	for (uint32_t i = 0; i <= doubts.count; i++) {
		int64_t end_ns = i < doubts.count ? doubts.items[i].from_ns - 1 : to_ns;

		if (first_ns <= end_ns)
			quiet[node->quiet_count++] = (struct ifp_clock_stretch){first_ns, end_ns};
		if (i < doubts.count && doubts.items[i].to_ns + 1 > first_ns)
			first_ns = doubts.items[i].to_ns + 1;
	}
	if (!node->quiet_count) /* all is in doubt */
		quiet[node->quiet_count++] = (struct ifp_clock_stretch){from_ns, to_ns};
	node->quiet = quiet;
	return 0;
}

/* Limits that nothing has narrowed on one side are no certificate. */
static bool is_certified(const struct ifp_aligned_rank *aligned)
{
	for (uint32_t i = 0; i < aligned->trend.count; i++) {
		if (aligned->high_ns[i] > INT64_MAX / 4 || aligned->low_ns[i] < -INT64_MAX / 4)
			return false;
	}
	return aligned->trend.count > 0;
}

static int place(struct ifp_clock_solution *solution, const struct ifp_aligned_rank *aligned,
	const struct ifp_clock_rank *ranks, uint32_t rank)
{
	int64_t drawn_first_ns = ranks[rank].drawn_first_ns;
	int64_t drawn_last_ns = ranks[rank].drawn_last_ns;
	struct ifp_clock_node *node = &solution->nodes[solution->node_of_rank[rank]];
	struct ifp_lines *lines = &solution->maps[rank].lines;

	if (!drawn_first_ns && !drawn_last_ns) {
		drawn_first_ns = lines->first_raw_ns;
		drawn_last_ns = lines->last_raw_ns;
	}
	if (make_track(aligned, &node->track) || make_line(&aligned->trend, &lines->realtime))
		return -ENOMEM;
	/* until now these were stamps of the trace */
	lines->first_raw_ns = ifp_lines_raw(lines, IFP_CLOCK_REALTIME, lines->first_raw_ns);
	lines->last_raw_ns = ifp_lines_raw(lines, IFP_CLOCK_REALTIME, lines->last_raw_ns);
	if (find_quiet(aligned, ifp_lines_raw(lines, IFP_CLOCK_REALTIME, drawn_first_ns),
		    ifp_lines_raw(lines, IFP_CLOCK_REALTIME, drawn_last_ns), node))
		return -ENOMEM;
	node->method = IFP_CLOCK_COLLECTIVES;
	node->epochs = aligned->instances;
	solution->nodes[0].method = IFP_CLOCK_SHARED;
	if (solution->drift_ppm < aligned->drift_ppm)
		solution->drift_ppm = aligned->drift_ppm;
	return 0;
}

int ifp_imported_solve(struct ifp_clock_solution *solution, const struct ifp_clock_rank *ranks,
	struct ifp_instances *instances)
{
	struct ifp_aligned_rank *aligned = calloc(solution->rank_count, sizeof(*aligned));
	int err = aligned ? ifp_instances_match(ranks, solution->rank_count, instances) : -ENOMEM;

	if (!err)
		err = ifp_collectives_align(
			instances, solution->rank_count, solution->reference, aligned);
	for (uint32_t r = 0; r < solution->rank_count && !err; r++) {
		if (aligned[r].aligned && is_certified(&aligned[r]))
			err = place(solution, &aligned[r], ranks, r);
	}
	ifp_aligned_ranks_free(aligned, solution->rank_count);
	return err;
}
