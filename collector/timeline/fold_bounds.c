/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/fold_bounds.h"

#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

#define LAST_BIT 63

static uint32_t cut(uint32_t len_bytes)
{
	return len_bytes < IFP_FOLD_NAME_BYTES ? len_bytes : IFP_FOLD_NAME_BYTES;
}

size_t ifp_fold_limits_around(const struct ifp_fold_limits *limits, uint32_t i)
{
	const struct ifp_scene *scene = limits->scene;
	const struct ifp_slice *slice = &scene->slices.items[i];

	if (ifp_slice_is_crowded(slice))
		return (size_t)scene->slices.count + scene->view.lanes.count + slice->lane;
	return slice->parent == IFP_SLICE_NONE ? (size_t)scene->slices.count + slice->lane
					       : slice->parent;
}

/* Into what is around slice i. */
static void put(struct ifp_fold_limits *limits, uint32_t i)
{
	const struct ifp_scene *scene = limits->scene;
	const struct ifp_slice *slice = &scene->slices.items[i];
	const struct ifp_node *node = &scene->nodes.items[i];
	const struct ifp_fold_inside *own = &limits->inside[i];
	struct ifp_fold_inside *out = &limits->inside[ifp_fold_limits_around(limits, i)];
	uint32_t name_bytes = own->name_bytes;

	out->events += own->events + 1;
	out->categories |= own->categories;
	if (node->category != IFP_NODE_STEP) {
		uint32_t bit = node->category < LAST_BIT ? node->category : LAST_BIT;
		struct ifp_str name = scene->view.loaded.events[slice->event].event.name;

		out->categories |= UINT64_C(1) << bit;
		if (cut(name.len_bytes) > name_bytes)
			name_bytes = cut(name.len_bytes);
	}
	if (name_bytes > out->name_bytes)
		out->name_bytes = name_bytes;
}

int ifp_fold_limits_find(const struct ifp_scene *scene, struct ifp_fold_limits *limits)
{
	*limits = (struct ifp_fold_limits){.scene = scene,
		.count = (size_t)scene->slices.count + 2 * (size_t)scene->view.lanes.count};
	limits->inside = calloc(limits->count + 1, sizeof(*limits->inside));
	if (!limits->inside)
		return ifp_fail(-ENOMEM, "out of memory for %u slices", scene->slices.count);
	for (uint32_t i = scene->slices.count; i-- > 0;)
		put(limits, i);
	return 0;
}

static void add_category(const struct ifp_scene *scene, uint32_t id, struct ifp_fold_bounds *bounds)
{
	uint32_t len_bytes = scene->nodes.categories.items[id].text.len_bytes;

	bounds->categories++;
	bounds->category_bytes += cut(len_bytes ? len_bytes : (uint32_t)strlen("event"));
}

struct ifp_fold_bounds ifp_fold_limits_of(const struct ifp_fold_limits *limits, uint32_t i)
{
	const struct ifp_scene *scene = limits->scene;
	const struct ifp_slice *slice = &scene->slices.items[i];
	const struct ifp_fold_inside *inside = &limits->inside[ifp_fold_limits_around(limits, i)];
	struct ifp_fold_bounds bounds = {.of_steps = slice->lane == scene->steps_row};

	if (slice->parent == IFP_SLICE_NONE || ifp_slice_is_crowded(slice))
		bounds.extent_ns = scene->end_ns - scene->start_ns;
	else
		bounds.extent_ns = scene->slices.items[slice->parent].dur_ns;
	/* Those of crowded slices add up, whatever their number. */
	bounds.busy_ns = ifp_slice_is_crowded(slice) ? INT64_MAX : bounds.extent_ns;
	bounds.events = inside->events;
	bounds.name_bytes = inside->name_bytes;
	for (uint64_t left = inside->categories & ~(UINT64_C(1) << LAST_BIT); left;
		left &= left - 1)
		add_category(scene, (uint32_t)__builtin_ctzll(left), &bounds);
	for (uint32_t id = LAST_BIT;
		inside->categories >> LAST_BIT && id < scene->nodes.categories.count; id++)
		add_category(scene, id, &bounds);
	return bounds;
}

void ifp_fold_limits_free(struct ifp_fold_limits *limits)
{
	free(limits->inside);
	*limits = (struct ifp_fold_limits){0};
}
