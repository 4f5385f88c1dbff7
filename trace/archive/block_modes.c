/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two walks over the events of a block: the first adds up what each mode of prediction would cost
 * the first events of each track and column, the second takes the differences under the cheapest
 * ones.
 */
#include "trace/archive/block_plan.h"

#include "core/error.h"

/* About what a token costs beyond the bits that stand behind it. */
#define TOKEN_BITS 2u

/* A track or column is judged by so many events: further ones are seldom of another kind. */
#define WEIGHED_EVENTS 128u

/* Estimated bits of a series under each mode. A repetition costs nothing: zstd sees to that. */
struct cost {
	uint64_t bits[IFP_COLUMN_MODES];
	uint64_t last[IFP_COLUMN_MODES];
	uint32_t events; /* that have been weighed; counted for tracks by their starts alone */
};

struct walk {
	struct ifp_block_plan *plan;
	struct ifp_block_state state;
	struct cost *start_costs, *duration_costs, *correlation_costs; /* by track */
	struct cost *column_costs;				       /* by column */
	bool choosing;
	struct ifp_arena arena;
};

static void walk_free(struct walk *walk)
{
	ifp_arena_free(&walk->arena);
}

static void note(struct cost *cost, unsigned int mode, uint64_t difference)
{
	if (difference != cost->last[mode])
		cost->bits[mode] += TOKEN_BITS + ifp_bit_length(difference);
	cost->last[mode] = difference;
}

static unsigned int cheapest(const struct cost *cost, unsigned int modes)
{
	unsigned int best = 0;

	for (unsigned int mode = 1; mode < modes; mode++)
		if (cost->bits[mode] < cost->bits[best])
			best = mode;
	return best;
}

/* What each mode would cost for an event's times and correlation. */
static void weigh_times(struct walk *walk, uint32_t i)
{
	const struct ifp_block_plan *plan = walk->plan;
	const struct ifp_block_entry *event = &plan->builder->entries[i];
	uint32_t t = plan->track[i], shape = plan->shape[i];
	const struct ifp_block_track *track = &plan->track_modes[t];
	const struct ifp_block_state *state = &walk->state;

	if (walk->start_costs[t].events == WEIGHED_EVENTS)
		return;
	walk->start_costs[t].events++;
	for (unsigned int mode = 0; mode < IFP_START_MODES; mode++)
		note(&walk->start_costs[t], mode,
			ifp_zigzag((uint64_t)event->start,
				ifp_predict_start(
					state, (enum ifp_start_mode)mode, track->lane, t)));
	for (unsigned int mode = 0; mode < IFP_DURATION_MODES; mode++)
		note(&walk->duration_costs[t], mode,
			ifp_zigzag((uint64_t)event->dur,
				ifp_predict_duration(state, (enum ifp_duration_mode)mode, shape)));
	for (unsigned int mode = 0; mode < IFP_CORRELATION_MODES; mode++)
		note(&walk->correlation_costs[t], mode,
			ifp_zigzag(
				event->correlation, ifp_predict_correlation(state,
							    (enum ifp_correlation_mode)mode, t)));
}

static void take_times(struct walk *walk, uint32_t i)
{
	struct ifp_block_plan *plan = walk->plan;
	const struct ifp_block_entry *event = &plan->builder->entries[i];
	uint32_t t = plan->track[i], shape = plan->shape[i];
	const struct ifp_block_track *track = &plan->track_modes[t];
	const struct ifp_block_state *state = &walk->state;

	plan->starts[i] = ifp_zigzag((uint64_t)event->start,
		ifp_predict_start(state, track->start_mode, track->lane, t));
	plan->durations[i] = ifp_zigzag(
		(uint64_t)event->dur, ifp_predict_duration(state, track->duration_mode, shape));
	plan->correlations[i] = ifp_zigzag(
		event->correlation, ifp_predict_correlation(state, track->correlation_mode, t));
}

static void weigh_column(struct walk *walk, const struct ifp_block_column *column, uint64_t value,
	uint64_t correlation, uint64_t neighbour)
{
	struct cost *cost = &walk->column_costs[column - walk->plan->columns];

	if (cost->events == WEIGHED_EVENTS)
		return;
	cost->events++;
	for (unsigned int mode = 0; mode < IFP_COLUMN_MODES; mode++)
		note(cost, mode,
			ifp_zigzag(value,
				ifp_predict_column(&walk->state, column, (enum ifp_column_mode)mode,
					correlation, neighbour)));
}

static void walk_args(struct walk *walk, uint32_t i)
{
	struct ifp_block_plan *plan = walk->plan;
	const struct ifp_block_entry *entry = &plan->builder->entries[i];
	const uint64_t *values = plan->builder->values + entry->first_value;
	const uint32_t *order = plan->slot_order + plan->template_first[entry->template];
	struct ifp_block_column **slots = plan->slots + plan->template_first[entry->template];

	for (uint32_t k = plan->template_of_variant[entry->template]; k < entry->slots; k++) {
		uint32_t slot = order[k];
		struct ifp_block_column *column = slots[slot];
		uint64_t neighbour = slot ? values[slot - 1] : 0;

		if (walk->choosing)
			weigh_column(walk, column, values[slot], entry->correlation, neighbour);
		else
			column->values[column->next++] = ifp_zigzag(
				values[slot], ifp_predict_column(&walk->state, column, column->mode,
						      entry->correlation, neighbour));
		column->last = values[slot];
		walk->state.key_last[column->key] = values[slot];
	}
}

static int walk_events(struct walk *walk, bool choosing)
{
	struct ifp_block_plan *plan = walk->plan;
	int err = ifp_block_state_init(&walk->state, &walk->arena,
		(struct ifp_block_state_sizes){.lanes = plan->builder->lanes.count,
			.tracks = plan->tracks.count,
			.shapes = plan->shapes.count,
			.keys = plan->keys.count});

	if (err)
		return err;
	for (uint32_t i = 0; i < plan->column_count; i++)
		plan->columns[i].last = 0;
	walk->choosing = choosing;
	for (uint32_t i = 0; i < plan->builder->count; i++) {
		const struct ifp_block_entry *entry = &plan->builder->entries[i];
		uint32_t track = plan->track[i];

		if (choosing)
			weigh_times(walk, i);
		else
			take_times(walk, i);
		walk_args(walk, i);
		ifp_block_state_update(&walk->state,
			(struct ifp_block_numbers){
				(uint64_t)entry->start, (uint64_t)entry->dur, entry->correlation},
			plan->track_modes[track].lane, track, plan->shape[i]);
	}
	return 0;
}

static void choose_modes(const struct walk *walk)
{
	struct ifp_block_plan *plan = walk->plan;

	for (uint32_t t = 0; t < plan->tracks.count; t++) {
		struct ifp_block_track *track = &plan->track_modes[t];

		track->start_mode =
			(enum ifp_start_mode)cheapest(&walk->start_costs[t], IFP_START_MODES);
		track->duration_mode = (enum ifp_duration_mode)cheapest(
			&walk->duration_costs[t], IFP_DURATION_MODES);
		track->correlation_mode = (enum ifp_correlation_mode)cheapest(
			&walk->correlation_costs[t], IFP_CORRELATION_MODES);
	}
	for (uint32_t i = 0; i < plan->column_count; i++)
		plan->columns[i].mode =
			(enum ifp_column_mode)cheapest(&walk->column_costs[i], IFP_COLUMN_MODES);
}

int ifp_block_plan_modes(struct ifp_block_plan *plan)
{
	IFP_CLEANUP(walk_free) struct walk walk = {.plan = plan};
	uint32_t tracks = plan->tracks.count;
	int err;

	IFP_TAKE_ZEROED(&walk.arena, walk.start_costs, tracks);
	IFP_TAKE_ZEROED(&walk.arena, walk.duration_costs, tracks);
	IFP_TAKE_ZEROED(&walk.arena, walk.correlation_costs, tracks);
	IFP_TAKE_ZEROED(&walk.arena, walk.column_costs, plan->column_count);
	IFP_TAKE_ZEROED(&plan->arena, plan->starts, plan->builder->count);
	IFP_TAKE_ZEROED(&plan->arena, plan->durations, plan->builder->count);
	IFP_TAKE_ZEROED(&plan->arena, plan->correlations, plan->builder->count);
	err = walk_events(&walk, true);
	if (err)
		return err;
	choose_modes(&walk);
	return walk_events(&walk, false);
}
