/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/imported.h"

#include "clocksync/estimate/collectives.h"
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
 * Between the two points the clock was set, nobody knows when: what is there may be off by as much
 * as it was set by. Of the track only its two nearest points count, so these hide the others.
 */
static void add_gap(const struct ifp_aligned_rank *aligned, uint32_t i, struct ifp_track *track)
{
	const struct ifp_trend_point *before = &aligned->trend.points[i - 1], *after = before + 1;
	double rate = (before->rate + after->rate) / 2;
	int64_t jump_ns = llabs(after->offset_ns - before->offset_ns -
				llround(rate * (double)(after->at_ns - before->at_ns)));
	struct ifp_track_point point = track->points[track->count - 1];

	point.low_ns = aligned->low_ns[i] < point.low_ns ? aligned->low_ns[i] : point.low_ns;
	point.high_ns = aligned->high_ns[i] > point.high_ns ? aligned->high_ns[i] : point.high_ns;
	point.low_ns -= jump_ns;
	point.high_ns += jump_ns;
	point.sigma_ns += (double)jump_ns;
	point.global_ns = before->at_ns + 1;
	ifp_track_add(track, &point);
	point.global_ns = after->at_ns - 1;
	ifp_track_add(track, &point);
}

static int make_track(const struct ifp_aligned_rank *aligned, struct ifp_track *out)
{
	struct ifp_track track = {.drift_ppm = aligned->drift_ppm};

	track.points = calloc(3 * (size_t)aligned->trend.count, sizeof(*track.points));
	if (!track.points)
		return -ENOMEM;
	for (uint32_t i = 0; i < aligned->trend.count; i++) {
		const struct ifp_trend_point *p = &aligned->trend.points[i];

		if (i && p->stepped)
			add_gap(aligned, i, &track);
		ifp_track_add(&track, &(struct ifp_track_point){.global_ns = p->at_ns,
					      .low_ns = aligned->low_ns[i],
					      .high_ns = aligned->high_ns[i],
					      .sigma_ns = p->sigma_ns,
					      .rate_sigma = p->rate_sigma * 1e9});
	}
	ifp_track_confine(&track);
	free(out->points);
	*out = track;
	return 0;
}

/* The pieces, of which the first and the last reach to the ends of what is drawn. */
static int find_quiet(
	const struct ifp_trend *trend, int64_t from_ns, int64_t to_ns, struct ifp_clock_node *node)
{
	struct ifp_clock_stretch *quiet = calloc(trend->count, sizeof(*quiet));
	int64_t first_ns = from_ns;

	if (!quiet)
		return -ENOMEM;
	for (uint32_t i = 0; i < trend->count; i++) {
		int64_t end_ns = i + 1 == trend->count ? to_ns : trend->points[i].at_ns;

		if (!ends_piece(trend, i))
			continue;
		quiet[node->quiet_count++] = (struct ifp_clock_stretch){first_ns, end_ns};
		first_ns = i + 1 < trend->count ? trend->points[i + 1].at_ns : 0;
	}
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
	if (find_quiet(&aligned->trend,
		    ifp_lines_raw(lines, IFP_CLOCK_REALTIME, drawn_first_ns),
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
