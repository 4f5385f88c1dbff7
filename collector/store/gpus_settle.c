/* SPDX-License-Identifier: Apache-2.0 */
/* Puts calls and work together, and gives what follows from it to the estimate. */
#include "collector/store/gpus_internal.h"

#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/* Someone waits for a stream, or a whole device. */
struct wait {
	int64_t device, stream;
	int64_t since;	 /* for what was launched up to then */
	int64_t returns; /* at the latest */
	int64_t last_end;
	bool found; /* any work that it has waited for: last_end is the last one's end */
};

struct waits {
	struct wait *items;
	uint32_t count;
	size_t capacity;
};

/* A GPU in a window, while its constraints are collected. */
struct seat {
	struct ifp_gpu_constraints constraints;
	size_t begin_capacity, end_capacity;
};

struct settling {
	struct ifp_gpu_finder *finder;
	const int64_t *cuts;
	uint32_t cut_count;
	uint32_t *slots; /* of the launches, by a hash of their correlation; 0 = none, else + 1 */
	uint32_t slot_mask;
	int64_t devices[IFP_GPUS_MAX];
	uint32_t device_count;
	struct waits streams, devices_waited; /* by device, stream, since; by device, since */
	struct seat *seats;		      /* device x window */
	struct ifp_gpu *gpus;
};

static void settling_free(struct settling *s)
{
	for (uint32_t i = 0; s->seats && i < s->device_count * (s->cut_count + 1); i++) {
		free(s->seats[i].constraints.begins);
		free(s->seats[i].constraints.ends);
	}
	free(s->seats);
	free(s->gpus);
	free(s->slots);
	free(s->streams.items);
	free(s->devices_waited.items);
}

static uint32_t hash_of(uint64_t correlation)
{
	return (uint32_t)(correlation * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The call of a correlation, or where it would be. */
static uint32_t *slot_of(const struct settling *s, uint64_t correlation)
{
	const struct ifp_gpu_call *calls = s->finder->calls.items;
	uint32_t at = hash_of(correlation) & s->slot_mask;

	while (s->slots[at] && calls[s->slots[at] - 1].correlation != correlation)
		at = (at + 1) & s->slot_mask;
	return &s->slots[at];
}

/* Two calls of one correlation, one within the other, are one. */
static int index_calls(struct settling *s)
{
	struct ifp_gpu_calls *calls = &s->finder->calls;
	uint64_t size = 16;

	while (size < (uint64_t)calls->count * 2)
		size *= 2;
	s->slots = size > UINT32_MAX ? NULL : calloc(size, sizeof(*s->slots));
	if (!s->slots)
		return ifp_fail(-ENOMEM, "compare GPUs with their hosts");
	s->slot_mask = (uint32_t)size - 1;
	for (uint32_t i = 0; i < calls->count; i++) {
		struct ifp_gpu_call *call = &calls->items[i], *other;
		uint32_t *slot = slot_of(s, call->correlation);

		if (!*slot) {
			*slot = i + 1;
			continue;
		}
		other = &calls->items[*slot - 1];
		other->start = call->start < other->start ? call->start : other->start;
		other->end = call->end > other->end ? call->end : other->end;
		other->waits |= call->waits;
	}
	return 0;
}

static const struct ifp_gpu_call *find_call(const struct settling *s, uint64_t correlation)
{
	uint32_t slot = correlation ? *slot_of(s, correlation) : 0;

	return slot ? &s->finder->calls.items[slot - 1] : NULL;
}

/* The number of a device; IFP_GPUS_MAX when there are too many. */
static uint32_t find_device(const struct settling *s, int64_t device)
{
	for (uint32_t i = 0; i < s->device_count; i++)
		if (s->devices[i] == device)
			return i;
	return IFP_GPUS_MAX;
}

static void find_devices(struct settling *s)
{
	for (uint32_t i = 0; i < s->finder->work_count; i++) {
		int64_t device = s->finder->works[i].device;

		if (s->device_count < IFP_GPUS_MAX && find_device(s, device) == IFP_GPUS_MAX)
			s->devices[s->device_count++] = device;
	}
}

static int compare_calls(const void *a, const void *b)
{
	const struct ifp_gpu_call *x = a, *y = b;

	return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static const struct ifp_gpu_call *search(const struct ifp_gpu_calls *calls, uint64_t correlation)
{
	const struct ifp_gpu_call key = {.correlation = correlation};

	return calls->count ? bsearch(&key, calls->items, calls->count, sizeof(key), compare_calls)
			    : NULL;
}

static int add_wait(struct waits *waits, struct wait wait)
{
	int err = IFP_ARRAY_RESERVE(waits->items, waits->capacity, waits->count, 1, "waits");

	if (!err)
		waits->items[waits->count++] = wait;
	return err;
}

/* A note says which stream or device a call waited for. */
static int add_noted(struct settling *s, const struct ifp_gpu_note *note)
{
	const struct ifp_gpu_call *call, *record;
	struct wait wait = {.device = note->device, .stream = note->stream};

	call = search(
		note->whole_device ? &s->finder->waits_all : &s->finder->waits, note->correlation);
	if (!call)
		return 0;
	wait.since = call->start;
	wait.returns = call->end;
	if (note->record) {
		record = search(&s->finder->records, note->record);
		if (!record)
			return 0;
		wait.since = record->start;
	}
	if (note->whole_device)
		wait.stream = 0;
	return add_wait(note->whole_device ? &s->devices_waited : &s->streams, wait);
}

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->since > y->since) - (x->since < y->since);
}

static void sort(
	void *items, uint32_t count, size_t size, int (*compare)(const void *, const void *))
{
	if (count)
		qsort(items, count, size, compare);
}

static int find_waits(struct settling *s)
{
	struct ifp_gpu_finder *finder = s->finder;
	int err = 0;

	sort(finder->waits.items, finder->waits.count, sizeof(*finder->waits.items), compare_calls);
	sort(finder->waits_all.items, finder->waits_all.count, sizeof(*finder->waits_all.items),
		compare_calls);
	sort(finder->records.items, finder->records.count, sizeof(*finder->records.items),
		compare_calls);
	for (uint32_t i = 0; !err && i < finder->note_count; i++)
		err = add_noted(s, &finder->notes[i]);
	/* With several GPUs it is not known which one a call waited for, but by notes. */
	for (uint32_t i = 0; !err && s->device_count == 1 && i < finder->waits_all.count; i++)
		err = add_wait(
			&s->devices_waited, (struct wait){.device = s->devices[0],
						    .since = finder->waits_all.items[i].start,
						    .returns = finder->waits_all.items[i].end});
	sort(s->streams.items, s->streams.count, sizeof(*s->streams.items), compare_waits);
	sort(s->devices_waited.items, s->devices_waited.count, sizeof(*s->devices_waited.items),
		compare_waits);
	return err;
}

/* The first wait for that stream of that device since the launch returned, or later. */
static void await(struct waits *waits, int64_t stream, const struct ifp_gpu_call *call,
	const struct ifp_gpu_work *work)
{
	const struct wait key = {.device = work->device, .stream = stream, .since = call->end};
	uint32_t low =
		IFP_ARRAY_LOWER_BOUND(i, waits->count, compare_waits(&waits->items[i], &key) < 0);
	struct wait *wait;

	if (low == waits->count)
		return;
	wait = &waits->items[low];
	if (wait->device != work->device || wait->stream != stream)
		return;
	if (!wait->found || work->end > wait->last_end)
		wait->last_end = work->end;
	wait->found = true;
}

uint32_t ifp_gpu_window(const int64_t *cuts, uint32_t cut_count, int64_t at_ns)
{
	return IFP_ARRAY_LOWER_BOUND(i, cut_count, cuts[i] <= at_ns);
}

static uint32_t seat_of(const struct settling *s, uint32_t device, int64_t at_ns)
{
	return device * (s->cut_count + 1) + ifp_gpu_window(s->cuts, s->cut_count, at_ns);
}

static int add_begin(struct seat *seat, int64_t gpu_ns, int64_t host_ns)
{
	struct ifp_gpu_constraints *c = &seat->constraints;
	int err = IFP_ARRAY_RESERVE(
		c->begins, seat->begin_capacity, c->begin_count, 1, "launches of a GPU");

	if (!err)
		c->begins[c->begin_count++] = (struct ifp_gpu_pair){gpu_ns, host_ns};
	return err;
}

static int add_end(struct seat *seat, int64_t gpu_ns, int64_t host_ns)
{
	struct ifp_gpu_constraints *c = &seat->constraints;
	int err =
		IFP_ARRAY_RESERVE(c->ends, seat->end_capacity, c->end_count, 1, "waits for a GPU");

	if (!err)
		c->ends[c->end_count++] = (struct ifp_gpu_pair){gpu_ns, host_ns};
	return err;
}

static int take_work(struct settling *s, const struct ifp_gpu_work *work)
{
	const struct ifp_gpu_call *call = find_call(s, work->correlation);
	uint32_t device = find_device(s, work->device), at;
	int err;

	if (device == IFP_GPUS_MAX)
		return 0;
	at = seat_of(s, device, work->start);
	s->gpus[at].slices++;
	if (!call)
		return 0;
	err = add_begin(&s->seats[at], work->start, call->start);
	if (err || work->end < work->start)
		return err; /* damaged */
	if (work->awaited && call->waits)
		err = add_end(&s->seats[at], work->end, call->end);
	await(&s->streams, work->stream, call, work);
	await(&s->devices_waited, 0, call, work);
	return err;
}

static int add_waits(struct settling *s, const struct waits *waits)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < waits->count; i++) {
		const struct wait *wait = &waits->items[i];

		if (wait->found)
			err = add_end(
				&s->seats[seat_of(s, find_device(s, wait->device), wait->last_end)],
				wait->last_end, wait->returns);
	}
	return err;
}

static int settle(struct settling *s)
{
	uint32_t windows = s->cut_count + 1;
	int err = index_calls(s);

	find_devices(s);
	if (!err)
		err = find_waits(s);
	s->seats = calloc((size_t)s->device_count * windows + 1, sizeof(*s->seats));
	s->gpus = calloc((size_t)s->device_count * windows + 1, sizeof(*s->gpus));
	if (!s->seats || !s->gpus)
		return ifp_fail(-ENOMEM, "compare GPUs with their hosts");
	for (uint32_t i = 0; !err && i < s->finder->work_count; i++)
		err = take_work(s, &s->finder->works[i]);
	if (!err)
		err = add_waits(s, &s->streams);
	if (!err)
		err = add_waits(s, &s->devices_waited);
	for (uint32_t i = 0; !err && i < s->device_count * windows; i++) {
		s->gpus[i].device = s->devices[i / windows];
		s->gpus[i].window = i % windows;
		err = ifp_gpu_bias_estimate(&s->seats[i].constraints, &s->gpus[i].bias);
	}
	return err;
}

int ifp_gpu_finder_settle(struct ifp_gpu_finder *finder, const int64_t *cuts, uint32_t cut_count,
	struct ifp_gpu **gpus, uint32_t *count)
{
	IFP_CLEANUP(settling_free)
	struct settling s = {.finder = finder, .cuts = cuts, .cut_count = cut_count};
	int err = finder->work_count ? settle(&s) : 0;

	if (err)
		return err;
	*gpus = IFP_TAKE_PTR(s.gpus);
	*count = s.device_count * (cut_count + 1);
	return 0;
}
