/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/imported.h"
#include "clocksync/estimate/measured.h"
#include "clocksync/estimate/repair.h"
#include "clocksync/estimate/world_calls.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* Two tuples of an unaligned rank give a rate only when they lie that far apart. */
#define UNALIGNED_RATE_NS IFP_NS_PER_S

static int make_lines(struct ifp_clock_solution *solution, const struct ifp_clock_rank *ranks)
{
	solution->reference = NONE;
	for (uint32_t i = 0; i < solution->rank_count; i++) {
		int err = ifp_lines_make(ranks[i].samples, &solution->maps[i].lines);

		if (err == -ENOMEM)
			return err;
		if (!err && solution->reference == NONE)
			solution->reference = i;
	}
	return 0;
}

/* Ranks in order of their clocks; those of one clock by index. */
struct reader {
	const struct ifp_clock_identity *identity;
	uint32_t index;
};

static int compare_readers(const void *a, const void *b)
{
	const struct reader *x = a, *y = b;
	int order =
		strncmp(x->identity->boot_id, y->identity->boot_id, sizeof(x->identity->boot_id));

	if (!order)
		order = (x->identity->time_namespace > y->identity->time_namespace) -
			(x->identity->time_namespace < y->identity->time_namespace);
	return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* For every rank the first one that reads its clock. */
static int find_first_readers(
	const struct ifp_clock_rank *ranks, uint32_t count, uint32_t *first_reader)
{
	IFP_CLEANUP_FREE struct reader *readers = calloc(count, sizeof(*readers));

	if (!readers)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		readers[i] = (struct reader){&ranks[i].identity, i};
	qsort(readers, count, sizeof(*readers), compare_readers);
	for (uint32_t i = 0; i < count; i++) {
		bool shared =
			i && ifp_clock_identity_same(readers[i].identity, readers[i - 1].identity);

		first_reader[readers[i].index] =
			shared ? first_reader[readers[i - 1].index] : readers[i].index;
	}
	return 0;
}

static uint32_t add_node(
	struct ifp_clock_solution *solution, const struct ifp_clock_identity *identity)
{
	solution->nodes[solution->node_count] =
		(struct ifp_clock_node){.identity = identity, .first_rank = NONE};
	return solution->node_count++;
}

/* Nodes in order of the first ranks that read them; the reference's is node 0. */
static int group_ranks(struct ifp_clock_solution *solution, const struct ifp_clock_rank *ranks)
{
	uint32_t *node_of_rank = solution->node_of_rank;
	IFP_CLEANUP_FREE uint32_t *first = calloc(solution->rank_count, sizeof(*first));
	uint32_t reference;

	if (!first || find_first_readers(ranks, solution->rank_count, first))
		return -ENOMEM;
	reference = first[solution->reference];
	node_of_rank[reference] = add_node(solution, &ranks[reference].identity);
	for (uint32_t i = 0; i < solution->rank_count; i++) {
		if (first[i] != i)
			node_of_rank[i] = node_of_rank[first[i]];
		else if (i != reference)
			node_of_rank[i] = add_node(solution, &ranks[i].identity);
		if (solution->nodes[node_of_rank[i]].first_rank == NONE &&
			solution->maps[i].lines.realtime.count)
			solution->nodes[node_of_rank[i]].first_rank = i;
	}
	return 0;
}

/* A point of an unaligned node's track: its tuple's REALTIME is the reference's REALTIME. */
static void place_by_realtime(const struct ifp_lines *reference, const struct ifp_line_knot *knot,
	struct ifp_track *track)
{
	int64_t global_ns =
		ifp_moment_limited(ifp_lines_raw(reference, IFP_CLOCK_REALTIME, knot->stamp));
	int64_t offset_ns;

	if (!__builtin_sub_overflow(knot->raw_ns, global_ns, &offset_ns))
		ifp_track_add(track,
			&(struct ifp_track_point){.global_ns = global_ns, .offset_ns = offset_ns});
}

static void place_unaligned(struct ifp_clock_solution *solution)
{
	const struct ifp_lines *reference = &solution->maps[solution->reference].lines;

	for (uint32_t i = 1; i < solution->node_count; i++) {
		struct ifp_clock_node *node = solution->nodes + i;
		const struct ifp_line *line;
		const struct ifp_line_knot *last;

		if (node->method != IFP_CLOCK_UNALIGNED || node->first_rank == NONE)
			continue;
		line = &solution->maps[node->first_rank].lines.realtime;
		last = line->knots + line->count - 1;
		place_by_realtime(reference, line->knots, &node->track);
		/* a step of either REALTIME would look like a rate */
		if (line->piece_count == 1 && reference->realtime.piece_count == 1 &&
			(__int128)last->raw_ns - line->knots->raw_ns > UNALIGNED_RATE_NS)
			place_by_realtime(reference, last, &node->track);
		ifp_track_join(&node->track);
	}
}

/*
 * Clocks of which nothing was measured are aligned by what their ranks did together. Where that
 * aligns none with the reference, the reference is not aligned either.
 */
static int solve_unmeasured(struct ifp_clock_solution *solution, const struct ifp_clock_rank *ranks,
	struct ifp_instances *instances)
{
	if (solution->node_count < 2 || !ranks[solution->reference].unmeasured)
		return 0;
	solution->nodes[0].method = IFP_CLOCK_UNALIGNED;
	return ifp_imported_solve(solution, ranks, instances);
}

static int64_t job_time(const struct ifp_track *track, int64_t raw_ns)
{
	int64_t local_ns = ifp_moment_limited(raw_ns);

	return ifp_moment_limited(local_ns - ifp_track_offset(track, local_ns));
}

/* The largest bound and sigma while the rank was running. */
static void summarise_run(struct ifp_clock_map *map)
{
	const struct ifp_lines *lines = &map->lines;
	const struct ifp_track *track = map->track;
	int64_t first_ns = job_time(track, lines->first_raw_ns);
	int64_t last_ns = job_time(track, lines->last_raw_ns);

	if (__builtin_add_overflow(ifp_track_bound_max(track, first_ns, last_ns),
		    ifp_clock_map_doubt(map, last_ns, last_ns).doubt_ns, &map->summary.bound_ns))
		map->summary.bound_ns = INT64_MAX;
	map->summary.sigma_ns = ifp_track_sigma_max(track, first_ns, last_ns);
}

static int64_t moved(const struct ifp_track *track, int64_t line_ns)
{
	return line_ns + ifp_moves_at(&track->moves, line_ns);
}

/* The clock of a trace itself: from its first collective to its last, its steps left out. */
static void summarise_straightened(struct ifp_clock_map *map, const struct ifp_clock_node *node)
{
	const struct ifp_track *track = map->track;
	const struct ifp_line *line = &map->lines.realtime;
	ifp_global_ns first = {track->points[0].global_ns};
	double run_ns = 0, gained_ns = 0;

	for (uint32_t i = 0, piece = 0; i + 1 < line->count; i++) {
		const struct ifp_line_knot *k = line->knots + i;

		if (piece + 1 < line->piece_count && line->pieces[piece + 1] == i + 1) {
			piece++;
			continue;
		}
		run_ns += (double)(k[1].raw_ns - k[0].raw_ns);
		gained_ns += (double)((k[1].stamp - k[0].stamp) - (k[1].raw_ns - k[0].raw_ns));
	}
	map->summary.offset_ns = ifp_clock_map_at(map, first).offset_ns;
	map->summary.bound_ns = 0;
	map->summary.sigma_ns = 0;
	for (uint32_t i = 0; i < node->quiet_count; i++) {
		int64_t from_ns = moved(track, node->quiet[i].from_ns);
		int64_t to_ns = moved(track, node->quiet[i].to_ns);
		int64_t bound_ns = ifp_track_bound_max(track, from_ns, to_ns);
		double sigma_ns = ifp_track_sigma_max(track, from_ns, to_ns);

		map->summary.bound_ns =
			bound_ns > map->summary.bound_ns ? bound_ns : map->summary.bound_ns;
		map->summary.sigma_ns = fmax(sigma_ns, map->summary.sigma_ns);
	}
	map->summary.rate_ppm += run_ns > 0 ? gained_ns / run_ns * 1e6 : 0;
}

static void summarise(struct ifp_clock_map *map, const struct ifp_clock_node *node)
{
	map->track = &node->track;
	map->exchanges = node->exchanges;
	map->exchange_count = node->exchange_count;
	map->summary = (struct ifp_clock_summary){
		.method = node->method,
		.over_mpi = node->over_mpi,
		.epochs = node->epochs,
		.calls = node->exchanges ? node->track.count - node->exchange_count : 0,
		.offset_ns = node->track.count ? node->track.points[0].offset_ns : 0,
		.rate_ppm = ifp_track_rate(&node->track) * 1e6,
		.bound_ns = INT64_MAX,
		.sigma_ns = INFINITY,
		.calls_left_out = node->calls,
		.realtime_steps = map->lines.realtime.piece_count - 1,
	};
	if (node->method != IFP_CLOCK_UNALIGNED)
		summarise_run(map);
	if (node->method == IFP_CLOCK_COLLECTIVES)
		summarise_straightened(map, node);
}

static int solution_alloc(uint32_t count, struct ifp_clock_solution *solution)
{
	solution->maps = calloc(count + 1, sizeof(*solution->maps));
	solution->node_of_rank = calloc(count + 1, sizeof(*solution->node_of_rank));
	solution->nodes = calloc(count + 1, sizeof(*solution->nodes));
	solution->rank_count = count;
	solution->drift_ppm = IFP_CLOCK_DRIFT_PPM;
	return solution->maps && solution->node_of_rank && solution->nodes ? 0 : -ENOMEM;
}

static int solve(const struct ifp_clock_rank *ranks, struct ifp_clock_solution *solution)
{
	IFP_CLEANUP_FREE struct ifp_epoch_edge *edges = NULL;
	IFP_CLEANUP(ifp_instances_free) struct ifp_instances instances = {0};
	uint32_t edge_count;

	if (make_lines(solution, ranks))
		return -ENOMEM;
	if (solution->reference == NONE) /* nobody has read a clock: there is nothing to place */
		return 0;
	if (group_ranks(solution, ranks) ||
		ifp_measured_collect(ranks, solution, &edges, &edge_count) ||
		ifp_measured_solve(solution, edges, edge_count))
		return -ENOMEM;
	if (ifp_world_calls_narrow(solution, ranks) ||
		solve_unmeasured(solution, ranks, &instances))
		return -ENOMEM;
	place_unaligned(solution);
	if (ifp_repair_solution(solution, ranks, &instances))
		return -ENOMEM;
	for (uint32_t i = 0; i < solution->rank_count; i++) {
		if (solution->gaps) {
			solution->maps[i].gaps = &solution->gaps[i];
			solution->maps[i].reference_gaps = &solution->gaps[solution->reference];
		}
		if (solution->maps[i].lines.realtime.count)
			summarise(solution->maps + i, solution->nodes + solution->node_of_rank[i]);
	}
	return 0;
}

int ifp_clock_solve(
	const struct ifp_clock_rank *ranks, uint32_t count, struct ifp_clock_solution **out)
{
	IFP_CLEANUP(ifp_clock_solution_free)
	struct ifp_clock_solution *solution = calloc(1, sizeof(*solution));
	IFP_CLEANUP(ifp_straight_ranks_free) struct ifp_straight_ranks straight = {0};

	if (!solution || solution_alloc(count, solution) || ifp_straighten(ranks, count, &straight))
		return ifp_fail(-ENOMEM, "solve the clocks of %u ranks: out of memory", count);
	solution->gaps = IFP_TAKE_PTR(straight.gaps);
	if (solve(straight.ranks, solution))
		return ifp_fail(-ENOMEM, "solve the clocks of %u ranks: out of memory", count);
	for (uint32_t i = 0; i < solution->node_count; i++)
		solution->nodes[i].identity = NULL; /* was borrowed */
	*out = IFP_TAKE_PTR(solution);
	return 0;
}

void ifp_clock_solution_free(struct ifp_clock_solution **solution)
{
	struct ifp_clock_solution *s = *solution;

	if (!s)
		return;
	for (uint32_t i = 0; s->maps && i < s->rank_count; i++)
		ifp_lines_free(&s->maps[i].lines);
	for (uint32_t i = 0; s->nodes && i < s->node_count; i++) {
		free(s->nodes[i].track.points);
		ifp_moves_free(&s->nodes[i].track.moves);
		free(s->nodes[i].exchanges);
		free(s->nodes[i].quiet);
	}
	ifp_clock_gaps_free(s->gaps, s->rank_count);
	free(s->maps);
	free(s->node_of_rank);
	free(s->nodes);
	free(s);
	*solution = NULL;
}
