/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/repair.h"

#include "clocksync/estimate/causality.h"
#include "clocksync/estimate/world_calls.h"
#include "core/array.h"
#include "core/cleanup.h"

#include <errno.h>
#include <stdlib.h>

struct gathering {
	struct ifp_clock_solution *solution;
	struct ifp_causality_clock *clocks; /* by node */
	struct ifp_causality_operations operations;
	size_t item_capacity, part_capacity;
};

static bool is_placed(const struct ifp_clock_node *node)
{
	return node->method != IFP_CLOCK_UNALIGNED && node->first_rank != UINT32_MAX;
}

static bool is_far(int64_t ns)
{
	return ns <= -IFP_MOMENT_LIMIT_NS || ns >= IFP_MOMENT_LIMIT_NS;
}

/* A part of the operation that is being gathered, by RAW of its clock. */
static int add_part(struct gathering *g, const struct ifp_causality_part *raw)
{
	const struct ifp_clock_node *node = &g->solution->nodes[raw->clock];
	struct ifp_causality_part part = *raw;
	int err;

	if (!is_placed(node) || is_far(raw->enter_ns) || is_far(raw->exit_ns))
		return 0;
	if (raw->exit_ns < raw->enter_ns) {
		/* one clock says so: of two ranks that read it, one left before the other came */
		struct ifp_clock_repairs *repairs = &g->clocks[raw->clock].repairs;
		int64_t early_ns = raw->enter_ns - raw->exit_ns;

		repairs->exits++;
		repairs->left++;
		if (early_ns > repairs->largest_left_ns)
			repairs->largest_left_ns = early_ns;
		return 0;
	}
	err = IFP_ARRAY_RESERVE(g->operations.parts, g->part_capacity, g->operations.part_count, 1,
		"parts of operations");
	if (err)
		return err;
	part.enter_ns -= ifp_track_line(&node->track, raw->enter_ns);
	part.exit_ns -= ifp_track_line(&node->track, raw->exit_ns);
	g->operations.parts[g->operations.part_count++] = part;
	return 0;
}

/* The parts since first are one operation; of one clock alone there is nothing to say. */
static int end_operation(struct gathering *g, size_t first)
{
	struct ifp_causality_operations *operations = &g->operations;
	uint32_t count = (uint32_t)(operations->part_count - first);
	int err;

	if (count < 2) {
		operations->part_count = first;
		return 0;
	}
	err = IFP_ARRAY_RESERVE(
		operations->items, g->item_capacity, operations->count, 1, "operations");
	if (!err)
		operations->items[operations->count++] =
			(struct ifp_causality_operation){first, count};
	return err;
}

/* Imported ranks have a clock each; their stamps are those of their traces. */
static int add_instances(struct gathering *g, const struct ifp_instances *instances)
{
	const struct ifp_clock_solution *solution = g->solution;
	int err = 0;

	for (uint32_t k = 0; k < instances->count && !err; k++) {
		const struct ifp_instance *instance = &instances->items[k];
		size_t first = g->operations.part_count;

		for (size_t i = instance->first; i < instance->first + instance->count && !err;
			i++) {
			const struct ifp_instance_part *p = &instances->parts[i];
			const struct ifp_lines *lines = &solution->maps[p->rank].lines;

			err = add_part(g, &(struct ifp_causality_part){
						  .clock = solution->node_of_rank[p->rank],
						  .awaited = p->awaited,
						  .waits = p->waits,
						  .enter_ns = ifp_lines_raw(
							  lines, IFP_CLOCK_REALTIME, p->enter_ns),
						  .exit_ns = ifp_lines_raw(
							  lines, IFP_CLOCK_REALTIME, p->exit_ns)});
		}
		if (!err)
			err = end_operation(g, first);
	}
	return err;
}

/* What is left of the nodes' lists. */
struct cursor {
	const struct ifp_world_call *next, *end;
};

/* The call of the least number that is left; NULL = none. */
static const struct ifp_world_call *first_call(const struct cursor *cursors, uint32_t count)
{
	const struct ifp_world_call *first = NULL;

	for (uint32_t n = 0; n < count; n++) {
		const struct cursor *c = &cursors[n];

		if (c->next < c->end && (!first || c->next->number < first->number))
			first = c->next;
	}
	return first;
}

/* Takes that call from all lists; nodes that have counted otherwise are not in it. */
static int add_call(struct gathering *g, struct cursor *cursors, const struct ifp_world_call *call)
{
	size_t first = g->operations.part_count;
	int err = 0;

	for (uint32_t n = 0; n < g->solution->node_count && !err; n++) {
		const struct ifp_world_call *own = cursors[n].next;

		if (own == cursors[n].end || own->number != call->number)
			continue;
		cursors[n].next++;
		if (own->order == call->order)
			err = add_part(g, &(struct ifp_causality_part){.clock = n,
						  .awaited = true,
						  .waits = true,
						  .enter_ns = own->enter_ns,
						  .exit_ns = own->exit_ns});
	}
	return err ? err : end_operation(g, first);
}

static int add_calls(struct gathering *g, const struct ifp_clock_rank *ranks)
{
	uint32_t count = g->solution->node_count;
	IFP_CLEANUP_FREE struct cursor *cursors = calloc(count, sizeof(*cursors));
	struct ifp_world_calls *lists = calloc(count, sizeof(*lists)); /* owned, like theirs */
	const struct ifp_world_call *call;
	int err = cursors && lists ? 0 : -ENOMEM;

	for (uint32_t n = 0; n < count && !err; n++) {
		if (g->solution->nodes[n].calls.contradicting) /* none of its calls is believed */
			continue;
		err = ifp_world_calls_list(g->solution, ranks, n, &lists[n]);
		cursors[n] = (struct cursor){lists[n].items, lists[n].items + lists[n].count};
	}
	while (!err && (call = first_call(cursors, count)))
		err = add_call(g, cursors, call);
	for (uint32_t n = 0; lists && n < count; n++)
		ifp_world_calls_free(&lists[n]);
	free(lists);
	return err;
}

static void gathering_free(struct gathering *g)
{
	for (uint32_t n = 0; g->clocks && n < g->solution->node_count; n++)
		ifp_moves_free(&g->clocks[n].moves);
	free(g->clocks);
	ifp_causality_operations_free(&g->operations);
}

int ifp_repair_solution(struct ifp_clock_solution *solution, const struct ifp_clock_rank *ranks,
	const struct ifp_instances *instances)
{
	IFP_CLEANUP(gathering_free) struct gathering g = {.solution = solution};
	int err;

	if (solution->node_count < 2)
		return 0;
	g.clocks = calloc(solution->node_count, sizeof(*g.clocks));
	if (!g.clocks)
		return -ENOMEM;
	for (uint32_t n = 0; n < solution->node_count; n++)
		g.clocks[n].track = &solution->nodes[n].track;
	err = add_instances(&g, instances);
	if (!err)
		err = add_calls(&g, ranks);
	if (!err)
		err = ifp_causality_repair(&g.operations, g.clocks, solution->node_count);
	for (uint32_t n = 0; n < solution->node_count && !err; n++) {
		struct ifp_clock_node *node = &solution->nodes[n];

		node->track.moves = g.clocks[n].moves;
		g.clocks[n].moves = (struct ifp_moves){0};
		if (node->first_rank != UINT32_MAX)
			solution->maps[node->first_rank].repairs = g.clocks[n].repairs;
	}
	return err;
}
