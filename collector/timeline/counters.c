/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/counters.h"

#include "collector/analyse/activity.h"
#include "collector/store/notes.h"
#include "collector/timeline/categories.h"
#include "collector/timeline/message.h"
#include "core/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* c10's types of devices. */
#define DEVICE_CPU 0
#define DEVICE_CUDA 1
#define DEVICE_HIP 6

/* A device of a rank while its track is made. */
struct device {
	int64_t type, number;
	struct ifp_busy_span *spans; /* of kernels */
	uint32_t span_count;
	size_t span_capacity;
	struct ifp_samples memory;
};

/* What an event counts for, by its look. */
enum {
	OF_NOTHING = 1,
	OF_KERNELS = 2,
	OF_HOST = 4,   /* a collective there */
	OF_DEVICE = 8, /* a collective of kernels */
	OF_MEMORY = 16,
};

struct pick {
	uint32_t of;
	const struct ifp_timed_event *timed;
};

struct computing {
	const struct ifp_rank_events *events;
	struct pick *picks; /* those that count for something */
	size_t pick_count, pick_capacity;
	uint32_t max_points;
	struct ifp_counters made;
	struct device *devices; /* of kernels, or of memory */
	uint32_t device_count;
	size_t device_capacity;
};

uint32_t ifp_counters_most_points(uint32_t ranks)
{
	uint32_t points = IFP_COUNTERS_POINTS_OF_ALL / (ranks ? ranks : 1);

	if (points > IFP_COUNTERS_MOST_POINTS)
		return IFP_COUNTERS_MOST_POINTS;
	return points > IFP_COUNTERS_LEAST_POINTS ? points : IFP_COUNTERS_LEAST_POINTS;
}

int ifp_counters_add(struct ifp_counters *counters, const struct ifp_counter *counter)
{
	int err = IFP_ARRAY_RESERVE(
		counters->items, counters->capacity, counters->count, 1, "counters");

	if (!err)
		counters->items[counters->count++] = *counter;
	return err;
}

static void drop_devices(struct computing *c)
{
	for (uint32_t i = 0; i < c->device_count; i++) {
		free(c->devices[i].spans);
		ifp_samples_free(&c->devices[i].memory);
	}
	c->device_count = 0;
}

static void computing_free(struct computing *c)
{
	drop_devices(c);
	free(c->devices);
	free(c->picks);
	ifp_counters_free(&c->made);
}

/* Devices are few. */
static int find_device(struct computing *c, int64_t type, int64_t number, struct device **out)
{
	int err;

	for (uint32_t i = 0; i < c->device_count; i++)
		if (c->devices[i].type == type && c->devices[i].number == number) {
			*out = &c->devices[i];
			return 0;
		}
	err = IFP_ARRAY_RESERVE(c->devices, c->device_capacity, c->device_count, 1, "devices");
	if (err)
		return err;
	*out = &c->devices[c->device_count++];
	**out = (struct device){.type = type, .number = number};
	return 0;
}

static int compare_devices(const void *left, const void *right)
{
	const struct device *a = left, *b = right;

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static void name_device(const struct device *device, const char *what, struct ifp_counter *counter)
{
	if (device->type == DEVICE_CPU)
		snprintf(counter->name, sizeof(counter->name), "CPU %s", what);
	else if (device->type == DEVICE_CUDA || device->type == DEVICE_HIP)
		snprintf(counter->name, sizeof(counter->name), "GPU %" PRId64 " %s", device->number,
			what);
	else
		snprintf(counter->name, sizeof(counter->name),
			"device %" PRId64 " of type %" PRId64 " %s", device->number, device->type,
			what);
}

/* A track with what is in samples. */
static int add_track(
	struct computing *c, const struct ifp_counter *kind, struct ifp_samples *samples)
{
	struct ifp_counter counter = *kind;
	int err;

	counter.samples = *samples;
	err = ifp_counters_add(&c->made, &counter);
	if (!err)
		*samples = (struct ifp_samples){0};
	return err;
}

static bool is_kernel(const struct ifp_event *event)
{
	const struct ifp_category *category;

	if (event->kind != IFP_EVENT_SLICE || event->lane.kind != IFP_LANE_STREAM)
		return false;
	category = ifp_category_find(event->category);
	return category && !strcmp(category->merged, "gpu_kernel");
}

static uint32_t what_of(const struct ifp_event *event)
{
	uint32_t of = 0;
	struct ifp_str name;
	bool device;

	if (is_kernel(event))
		of |= OF_KERNELS;
	if (ifp_activity_is_collective(event, &name, &device))
		of |= device ? OF_DEVICE : OF_HOST;
	if (event->kind == IFP_EVENT_INSTANT && ifp_str_is(event->name, "[memory]"))
		of |= OF_MEMORY;
	return of ? of : OF_NOTHING;
}

static int pick(struct computing *c)
{
	IFP_CLEANUP_NOTES struct ifp_look_notes notes = {0};
	int err = ifp_look_notes_begin(c->events->look_count, &notes);

	for (uint64_t i = 0; i < c->events->count && !err; i++) {
		const struct ifp_timed_event *timed = &c->events->events[i];
		uint32_t *of = ifp_look_note(&notes, timed);

		if (!*of)
			*of = what_of(&timed->event);
		if (*of == OF_NOTHING)
			continue;
		err = IFP_ARRAY_RESERVE(c->picks, c->pick_capacity, c->pick_count, 1, "kernels");
		if (!err)
			c->picks[c->pick_count++] = (struct pick){*of, timed};
	}
	return err;
}

/* Kernels come by start: on end with what runs already, or after it. */
static int take_kernel(struct computing *c, const struct ifp_timed_event *timed)
{
	int64_t end_ns = timed->start_ns + timed->dur_ns;
	struct ifp_busy_span *last;
	struct device *device;
	int err = find_device(c, DEVICE_CUDA, timed->event.lane.pid, &device);

	if (err)
		return err;
	last = device->span_count ? &device->spans[device->span_count - 1] : NULL;
	if (last && timed->start_ns <= last->end_ns) {
		if (end_ns > last->end_ns)
			last->end_ns = end_ns;
		return 0;
	}
	err = IFP_ARRAY_RESERVE(
		device->spans, device->span_capacity, device->span_count, 1, "kernels");
	if (!err)
		device->spans[device->span_count++] =
			(struct ifp_busy_span){timed->start_ns, end_ns};
	return err;
}

static int add_busy_track(struct computing *c, const struct device *device)
{
	IFP_CLEANUP_SAMPLES struct ifp_samples samples = {0};
	struct ifp_counter kind = {.unit = "percent", .decimals = 3};
	int err = ifp_samples_busy(device->spans, device->span_count, c->max_points, &samples);

	name_device(device, "busy", &kind);
	return err ? err : add_track(c, &kind, &samples);
}

static int compute_busy(struct computing *c)
{
	int err = 0;

	for (size_t i = 0; i < c->pick_count && !err; i++)
		if (c->picks[i].of & OF_KERNELS && c->picks[i].timed->dur_ns > 0)
			err = take_kernel(c, c->picks[i].timed);
	if (c->device_count)
		qsort(c->devices, c->device_count, sizeof(*c->devices), compare_devices);
	for (uint32_t i = 0; i < c->device_count && !err; i++)
		err = add_busy_track(c, &c->devices[i]);
	drop_devices(c);
	return err;
}

/* What collectives of the host, or those of devices, change at which moments. */
static int collect_changes(const struct computing *c, uint32_t of, struct ifp_samples *changes)
{
	int err = 0;

	for (size_t i = 0; i < c->pick_count && !err; i++) {
		const struct ifp_timed_event *timed = c->picks[i].timed;
		int64_t bytes;

		if (!(c->picks[i].of & of) || timed->dur_ns <= 0 ||
			!ifp_message_bytes(timed->event.args, &bytes))
			continue;
		err = ifp_samples_add(changes, timed->start_ns, bytes);
		if (!err)
			err = ifp_samples_add(changes, timed->start_ns + timed->dur_ns, -bytes);
	}
	return err;
}

/* The kernels say best when a collective is under way; ranges of the host only where none do. */
static int compute_in_flight(struct computing *c)
{
	const struct ifp_counter kind = {.name = "collectives in flight", .unit = "bytes"};
	IFP_CLEANUP_SAMPLES struct ifp_samples changes = {0};
	IFP_CLEANUP_SAMPLES struct ifp_samples samples = {0};
	int err = collect_changes(c, OF_DEVICE, &changes);

	if (!err && !changes.count)
		err = collect_changes(c, OF_HOST, &changes);
	if (err || !changes.count)
		return err;
	ifp_samples_sum(&changes);
	err = ifp_samples_most(&changes, true, c->max_points, &samples);
	return err ? err : add_track(c, &kind, &samples);
}

static int take_memory(struct computing *c, const struct ifp_timed_event *timed)
{
	struct ifp_str args = timed->event.args;
	int64_t type, number, bytes;
	struct device *device;
	int err;

	if (!ifp_args_find_int(args, "Device Type", &type) ||
		!ifp_args_find_int(args, "Device Id", &number) ||
		!ifp_args_find_int(args, "Total Allocated", &bytes))
		return 0;
	err = find_device(c, type, number, &device);
	return err ? err : ifp_samples_add(&device->memory, timed->start_ns, bytes);
}

static int add_memory_track(struct computing *c, const struct device *device)
{
	IFP_CLEANUP_SAMPLES struct ifp_samples samples = {0};
	struct ifp_counter kind = {.unit = "bytes"};
	int err = ifp_samples_most(&device->memory, true, c->max_points, &samples);

	name_device(device, "memory", &kind);
	return err ? err : add_track(c, &kind, &samples);
}

static int compute_memory(struct computing *c)
{
	int err = 0;

	for (size_t i = 0; i < c->pick_count && !err; i++)
		if (c->picks[i].of & OF_MEMORY)
			err = take_memory(c, c->picks[i].timed);
	if (c->device_count)
		qsort(c->devices, c->device_count, sizeof(*c->devices), compare_devices);
	for (uint32_t i = 0; i < c->device_count && !err; i++)
		err = add_memory_track(c, &c->devices[i]);
	drop_devices(c);
	return err;
}

int ifp_counters_compute(
	const struct ifp_rank_events *events, uint32_t max_points, struct ifp_counters *out)
{
	IFP_CLEANUP(computing_free)
	struct computing c = {.events = events, .max_points = max_points};
	int err = pick(&c);

	if (!err)
		err = compute_busy(&c);
	if (!err)
		err = compute_in_flight(&c);
	if (!err)
		err = compute_memory(&c);
	if (err)
		return err;
	*out = c.made;
	c.made = (struct ifp_counters){0};
	return 0;
}

void ifp_counters_free(struct ifp_counters *counters)
{
	for (uint32_t i = 0; i < counters->count; i++)
		ifp_samples_free(&counters->items[i].samples);
	free(counters->items);
	*counters = (struct ifp_counters){0};
}
