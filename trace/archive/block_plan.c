/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/block_plan.h"

#include "core/error.h"
#include "trace/archive/template.h"

/* A number belongs to variants when at most one in so many events of its template has a new one. */
#define EVENTS_PER_VARIANT 8u

#define DISTINCT_SLOTS 8192u /* more than twice the distinct values that are ever counted */

/* A set of numbers that is emptied by a new stamp. */
struct distinct {
	uint64_t values[DISTINCT_SLOTS];
	uint32_t stamps[DISTINCT_SLOTS]; /* the slot is in use when it has the current stamp */
	uint32_t stamp;
	uint32_t count;
};

struct planner {
	struct ifp_block_plan *plan;
	struct ifp_arena arena;
	struct ifp_buf scratch;
	struct distinct *distinct;
	uint32_t *first, *order; /* events by template */
	/* What came last, which most often comes again; number + 1, 0 = nothing yet. */
	uint32_t *last_variant; /* by template */
	uint32_t *last_track;	/* by lane */
	uint32_t *last_shape;	/* by variant */
};

static void planner_free(struct planner *planner)
{
	ifp_arena_free(&planner->arena);
	ifp_buf_free(&planner->scratch);
}

static void add_distinct(struct distinct *set, uint64_t value)
{
	uint64_t hash = value * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t slot = (uint32_t)(hash >> 51);

	for (; set->stamps[slot] == set->stamp; slot = (slot + 1) % DISTINCT_SLOTS)
		if (set->values[slot] == value)
			return;
	set->stamps[slot] = set->stamp;
	set->values[slot] = value;
	set->count++;
}

/* Of so many distinct values at most, a slot of the template belongs to variants. */
static uint32_t variant_limit(const struct planner *planner, uint32_t t)
{
	return (planner->first[t + 1] - planner->first[t]) / EVENTS_PER_VARIANT + 1;
}

/*
 * How often each slot of template t has another value than in the event before: once less than it
 * has distinct ones, or more often. Most slots are settled by that, at a walk in order of memory.
 */
static int count_changes(struct planner *planner, uint32_t t, uint32_t **changes)
{
	const struct ifp_block_builder *builder = planner->plan->builder;
	uint32_t slots = planner->plan->template_slots[t];
	const uint64_t *before = NULL;

	IFP_TAKE_ZEROED(&planner->arena, *changes, slots);
	for (uint32_t i = planner->first[t]; i < planner->first[t + 1]; i++) {
		const uint64_t *values =
			builder->values + builder->entries[planner->order[i]].first_value;

		for (uint32_t slot = 0; before && slot < slots; slot++)
			(*changes)[slot] += values[slot] != before[slot];
		before = values;
	}
	return 0;
}

/* Whether the values of a slot of template t are few enough to belong to variants. */
static bool has_few_values(struct planner *planner, uint32_t t, uint32_t slot)
{
	const struct ifp_block_builder *builder = planner->plan->builder;
	struct distinct *set = planner->distinct;
	uint32_t limit = variant_limit(planner, t);

	set->stamp++;
	set->count = 0;
	for (uint32_t i = planner->first[t]; i < planner->first[t + 1]; i++) {
		const struct ifp_block_entry *entry = &builder->entries[planner->order[i]];

		add_distinct(set, builder->values[entry->first_value + slot]);
		if (set->count > limit)
			return false;
	}
	return true;
}

/* Lists the slots of a template whose numbers belong to variants, and behind them the others. */
static void order_slots(struct ifp_block_plan *plan, uint32_t t)
{
	struct ifp_block_column **slots = plan->slots + plan->template_first[t];
	uint32_t *order = plan->slot_order + plan->template_first[t], count = 0;

	for (uint32_t slot = 0; slot < plan->template_slots[t]; slot++)
		if (!slots[slot])
			order[count++] = slot;
	plan->template_of_variant[t] = count;
	for (uint32_t slot = 0; slot < plan->template_slots[t]; slot++)
		if (slots[slot])
			order[count++] = slot;
}

/* The text before a slot, back to the comma or bracket before it: the name of the number. */
static struct ifp_str key_before(struct ifp_str form, uint32_t at)
{
	uint32_t first = at;

	while (first > 0 && !strchr(",{[1", form.ptr[first - 1]))
		first--;
	return (struct ifp_str){form.ptr + first, at - first};
}

static int plan_template(struct planner *planner, uint32_t t)
{
	struct ifp_block_plan *plan = planner->plan;
	struct ifp_str form = ifp_intern_text(&plan->builder->templates, t);
	uint32_t uses = planner->first[t + 1] - planner->first[t];
	uint32_t slot = 0, *changes;
	int err = count_changes(planner, t, &changes);

	if (err)
		return err;
	for (uint32_t at = 1; slot < plan->template_slots[t]; at++) {
		struct ifp_block_column *column = &plan->columns[plan->column_count];

		if (form.ptr[at] != '1')
			continue;
		if (changes[slot] >= variant_limit(planner, t) &&
			!has_few_values(planner, t, slot)) {
			err = ifp_intern(&plan->keys, key_before(form, at), &column->key);
			if (err)
				return err;
			IFP_TAKE_ZEROED(&plan->arena, column->values, uses);
			plan->slots[plan->template_first[t] + slot] = column;
			plan->column_count++;
		}
		slot++;
	}
	order_slots(plan, t);
	return 0;
}

static int plan_columns(struct planner *planner)
{
	struct ifp_block_plan *plan = planner->plan;
	const struct ifp_block_builder *builder = plan->builder;
	uint32_t templates = builder->templates.count;
	uint32_t *template;

	IFP_TAKE_ZEROED(&planner->arena, planner->distinct, 1);
	IFP_TAKE_ZEROED(&planner->arena, template, builder->count);
	IFP_TAKE_ZEROED(&planner->arena, planner->first, templates + 1);
	IFP_TAKE_ZEROED(&planner->arena, planner->order, builder->count);
	IFP_TAKE_ZEROED(&plan->arena, plan->template_slots, templates);
	IFP_TAKE_ZEROED(&plan->arena, plan->template_first, templates);
	IFP_TAKE_ZEROED(&plan->arena, plan->template_of_variant, templates);
	for (uint32_t i = 0; i < builder->count; i++) {
		template[i] = builder->entries[i].template;
		plan->template_slots[template[i]] = builder->entries[i].slots;
	}
	ifp_group(template, builder->count, templates, planner->first, planner->order);
	for (uint32_t t = 0; t < templates; t++) {
		plan->template_first[t] = plan->slot_count;
		plan->slot_count += plan->template_slots[t];
	}
	IFP_TAKE_ZEROED(&plan->arena, plan->slots, plan->slot_count);
	IFP_TAKE_ZEROED(&plan->arena, plan->slot_order, plan->slot_count);
	IFP_TAKE_ZEROED(&plan->arena, plan->columns, plan->slot_count + 1);
	for (uint32_t t = 0; t < templates; t++) {
		int err = plan_template(planner, t);

		if (err)
			return err;
	}
	return 0;
}

/* Whether two events of a template have the same variant of it. */
static bool same_variant(const struct ifp_block_plan *plan, const struct ifp_block_entry *a,
	const struct ifp_block_entry *b)
{
	const uint32_t *order = plan->slot_order + plan->template_first[a->template];
	const uint64_t *left = plan->builder->values + a->first_value;
	const uint64_t *right = plan->builder->values + b->first_value;

	for (uint32_t i = 0; i < plan->template_of_variant[a->template]; i++)
		if (left[order[i]] != right[order[i]])
			return false;
	return true;
}

static int find_variant(struct planner *planner, const struct ifp_block_entry *entry, uint32_t *id)
{
	const struct ifp_block_plan *plan = planner->plan;
	const uint32_t *order = plan->slot_order + plan->template_first[entry->template];
	struct ifp_buf *key = &planner->scratch;
	int err;

	ifp_buf_clear(key);
	ifp_buf_append_u32(key, entry->template);
	for (uint32_t i = 0; i < plan->template_of_variant[entry->template]; i++)
		ifp_buf_append_varint(key, plan->builder->values[entry->first_value + order[i]]);
	err = ifp_buf_status(key);
	return err ? err
		   : ifp_intern(&planner->plan->variants,
			     (struct ifp_str){(const char *)key->data, (uint32_t)key->len_bytes},
			     id);
}

static int number_variant(struct planner *planner, uint32_t i, uint32_t *id)
{
	struct ifp_block_plan *plan = planner->plan;
	const struct ifp_block_entry *entries = plan->builder->entries, *entry = &entries[i];
	uint32_t *last = &planner->last_variant[entry->template];
	uint32_t known = plan->variants.count;
	int err;

	if (*last && same_variant(plan, entry, &entries[plan->variant_entry[*last - 1]])) {
		*id = *last - 1;
		return 0;
	}
	err = find_variant(planner, entry, id);
	if (err)
		return err;
	if (plan->variants.count > known)
		plan->variant_entry[*id] = i;
	*last = *id + 1;
	return 0;
}

/* The number of a key in a table that counts in order of first appearance. */
static int number_key(
	struct ifp_intern *table, const void *key, uint32_t key_bytes, uint32_t *last, uint32_t *id)
{
	int err = 0;

	if (*last && !memcmp(ifp_intern_text(table, *last - 1).ptr, key, key_bytes))
		*id = *last - 1;
	else
		err = ifp_intern(table, (struct ifp_str){key, key_bytes}, id);
	if (!err)
		*last = *id + 1;
	return err;
}

static int number_event(struct planner *planner, uint32_t i)
{
	struct ifp_block_plan *plan = planner->plan;
	const struct ifp_block_entry *entry = &plan->builder->entries[i];
	const struct ifp_block_track_key track = {
		entry->lane, entry->kind, entry->source, entry->clock};
	struct ifp_block_shape shape = {
		.category = entry->category, .name = entry->name, .extra = entry->extra};
	int err = number_key(&plan->tracks, &track, sizeof(track),
		&planner->last_track[entry->lane], &shape.track);

	if (!err)
		err = number_variant(planner, i, &shape.variant);
	if (!err)
		err = number_key(&plan->shapes, &shape, sizeof(shape),
			&planner->last_shape[shape.variant], &plan->shape[i]);
	plan->track[i] = shape.track;
	return err;
}

static int plan_tables(struct planner *planner)
{
	struct ifp_block_plan *plan = planner->plan;
	uint32_t count = plan->builder->count;
	int err = 0;

	IFP_TAKE_ZEROED(&plan->arena, plan->variant_entry, count);
	IFP_TAKE_ZEROED(&plan->arena, plan->shape, count);
	IFP_TAKE_ZEROED(&plan->arena, plan->track, count);
	IFP_TAKE_ZEROED(&planner->arena, planner->last_variant, plan->builder->templates.count);
	IFP_TAKE_ZEROED(&planner->arena, planner->last_track, plan->builder->lanes.count);
	IFP_TAKE_ZEROED(&planner->arena, planner->last_shape, count);
	for (uint32_t i = 0; !err && i < count; i++)
		err = number_event(planner, i);
	if (err)
		return err;
	IFP_TAKE_ZEROED(&plan->arena, plan->track_modes, plan->tracks.count);
	for (uint32_t t = 0; t < plan->tracks.count; t++) {
		struct ifp_block_track_key key;

		memcpy(&key, ifp_intern_text(&plan->tracks, t).ptr, sizeof(key));
		plan->track_modes[t] = (struct ifp_block_track){.lane = key.lane,
			.kind = (enum ifp_event_kind)key.kind,
			.source = (enum ifp_event_source)key.source,
			.clock = (enum ifp_clock_domain)key.clock};
	}
	return 0;
}

int ifp_block_plan(const struct ifp_block_builder *builder, struct ifp_block_plan *plan)
{
	IFP_CLEANUP(planner_free) struct planner planner = {.plan = plan};
	int err;

	plan->builder = builder;
	err = plan_columns(&planner);
	if (!err)
		err = plan_tables(&planner);
	if (!err)
		err = ifp_block_plan_modes(plan);
	return err;
}

void ifp_block_plan_free(struct ifp_block_plan *plan)
{
	ifp_arena_free(&plan->arena);
	ifp_intern_free(&plan->tracks);
	ifp_intern_free(&plan->variants);
	ifp_intern_free(&plan->shapes);
	ifp_intern_free(&plan->keys);
}
