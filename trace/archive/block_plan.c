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

/* Whether the values of a slot of template t are few enough to belong to variants. */
static bool belongs_to_variant(struct planner *planner, uint32_t t, uint32_t slot)
{
	const struct ifp_block_builder *builder = planner->plan->builder;
	struct distinct *set = planner->distinct;
	uint32_t uses = planner->first[t + 1] - planner->first[t];
	uint32_t limit = uses / EVENTS_PER_VARIANT + 1;

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
	uint32_t slot = 0;

	for (uint32_t at = 1; slot < plan->template_slots[t]; at++) {
		struct ifp_block_column *column = &plan->columns[plan->column_count];
		int err;

		if (form.ptr[at] != '1')
			continue;
		if (!belongs_to_variant(planner, t, slot)) {
			err = ifp_intern(&plan->keys, key_before(form, at), &column->key);
			if (err)
				return err;
			IFP_TAKE_ZEROED(&plan->arena, column->values, uses);
			plan->slots[plan->template_first[t] + slot] = column;
			plan->column_count++;
		}
		slot++;
	}
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
	IFP_TAKE_ZEROED(&plan->arena, plan->columns, plan->slot_count + 1);
	for (uint32_t t = 0; t < templates; t++) {
		int err = plan_template(planner, t);

		if (err)
			return err;
	}
	return 0;
}

static int number_variant(
	struct planner *planner, const struct ifp_block_entry *entry, uint32_t *id)
{
	const struct ifp_block_plan *plan = planner->plan;
	struct ifp_buf *key = &planner->scratch;
	int err;

	ifp_buf_clear(key);
	ifp_buf_append_u32(key, entry->template);
	for (uint32_t slot = 0; slot < entry->slots; slot++)
		if (!plan->slots[plan->template_first[entry->template] + slot])
			ifp_buf_append_varint(
				key, plan->builder->values[entry->first_value + slot]);
	err = ifp_buf_status(key);
	return err ? err
		   : ifp_intern(&planner->plan->variants,
			     (struct ifp_str){(const char *)key->data, (uint32_t)key->len_bytes},
			     id);
}

static int number_event(struct planner *planner, uint32_t i)
{
	struct ifp_block_plan *plan = planner->plan;
	const struct ifp_block_entry *entry = &plan->builder->entries[i];
	const struct ifp_block_track_key track = {
		entry->lane, entry->event.kind, entry->event.source, entry->event.clock};
	struct ifp_block_shape shape = {
		.category = entry->category, .name = entry->name, .extra = entry->extra};
	uint32_t known = plan->variants.count;
	int err = ifp_intern(
		&plan->tracks, (struct ifp_str){(const char *)&track, sizeof(track)}, &shape.track);

	if (!err)
		err = number_variant(planner, entry, &shape.variant);
	if (!err)
		err = ifp_intern(&plan->shapes,
			(struct ifp_str){(const char *)&shape, sizeof(shape)}, &plan->shape[i]);
	if (err)
		return err;
	if (plan->variants.count > known)
		plan->variant_entry[shape.variant] = i;
	plan->track[i] = shape.track;
	return 0;
}

static int plan_tables(struct planner *planner)
{
	struct ifp_block_plan *plan = planner->plan;
	uint32_t count = plan->builder->count;
	int err = 0;

	IFP_TAKE_ZEROED(&plan->arena, plan->variant_entry, count);
	IFP_TAKE_ZEROED(&plan->arena, plan->shape, count);
	IFP_TAKE_ZEROED(&plan->arena, plan->track, count);
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
