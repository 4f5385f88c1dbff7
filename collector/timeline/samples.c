/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/samples.h"

#include "core/array.h"

#include <stdlib.h>

/* Whole, in thousandths of a percent. */
#define WHOLE 100000
#define SHORTEST_INTERVAL_NS 1000

/* Points while they are made; gives up behind the last one that there is room for. */
struct writing {
	struct ifp_samples *out;
	int64_t interval_ns;
	uint32_t max_points;
	bool full;
	int err;
};

int ifp_samples_add(struct ifp_samples *samples, int64_t at_ns, int64_t value)
{
	int err = IFP_ARRAY_RESERVE(
		samples->items, samples->capacity, samples->count, 1, "points of a track");

	if (!err)
		samples->items[samples->count++] = (struct ifp_sample){at_ns, value};
	return err;
}

static int compare(const void *left, const void *right)
{
	const struct ifp_sample *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->value > b->value) - (a->value < b->value);
}

void ifp_samples_sort(struct ifp_samples *samples)
{
	if (samples->count)
		qsort(samples->items, samples->count, sizeof(*samples->items), compare);
}

void ifp_samples_sum(struct ifp_samples *changes)
{
	struct ifp_sample *items = changes->items;
	uint32_t kept = 0;
	int64_t sum = 0;

	ifp_samples_sort(changes);
	for (uint32_t i = 0; i < changes->count; i++) {
		sum += items[i].value;
		if (kept && items[kept - 1].at_ns == items[i].at_ns)
			kept--;
		items[kept++] = (struct ifp_sample){items[i].at_ns, sum};
	}
	changes->count = kept;
}

static void put(struct writing *w, int64_t at_ns, int64_t value)
{
	struct ifp_samples *out = w->out;

	if (out->count && out->items[out->count - 1].value == value)
		return;
	if (out->count == w->max_points)
		w->full = true;
	else
		w->err = ifp_samples_add(out, at_ns, value);
}

/* The start of the interval that a moment lies in. */
static int64_t start_of(const struct writing *w, int64_t at_ns)
{
	int64_t rest = at_ns % w->interval_ns;

	return at_ns - rest - (rest < 0 ? w->interval_ns : 0);
}

static bool goes_on(const struct writing *w)
{
	return !w->full && !w->err;
}

/* 1, 2, 5, 10, ... */
static int64_t next_interval(int64_t interval_ns)
{
	int64_t first = interval_ns;

	while (first >= 10)
		first /= 10;
	return first == 2 ? interval_ns / 2 * 5 : interval_ns * 2;
}

static void write_all(struct writing *w, const struct ifp_samples *samples)
{
	for (uint32_t i = 0; i < samples->count && goes_on(w); i++)
		put(w, samples->items[i].at_ns, samples->items[i].value);
}

/* The samples of one interval, from number first on; the number behind them. */
static uint32_t largest_of_interval(const struct writing *w, const struct ifp_samples *samples,
	uint32_t first, int64_t *largest)
{
	int64_t start_ns = start_of(w, samples->items[first].at_ns);
	uint32_t i = first;

	for (; i < samples->count && samples->items[i].at_ns - start_ns < w->interval_ns; i++)
		if (i == first || samples->items[i].value > *largest)
			*largest = samples->items[i].value;
	return i;
}

static void write_largest(struct writing *w, const struct ifp_samples *samples, bool holds)
{
	uint32_t next;

	for (uint32_t i = 0; i < samples->count && goes_on(w); i = next) {
		const struct ifp_sample *items = samples->items;
		int64_t start_ns = start_of(w, items[i].at_ns), largest = 0;

		next = largest_of_interval(w, samples, i, &largest);
		/* What was there before is there until the first change. */
		if (holds && i && items[i].at_ns > start_ns && items[i - 1].value > largest)
			largest = items[i - 1].value;
		put(w, start_ns, largest);
		if (holds && goes_on(w) &&
			(next == samples->count ||
				items[next].at_ns - start_ns >= 2 * w->interval_ns))
			put(w, start_ns + w->interval_ns, items[next - 1].value);
	}
}

int ifp_samples_most(
	const struct ifp_samples *samples, bool holds, uint32_t max_points, struct ifp_samples *out)
{
	IFP_CLEANUP_SAMPLES struct ifp_samples made = {0};
	struct writing w = {
		.out = &made, .interval_ns = SHORTEST_INTERVAL_NS, .max_points = max_points};

	write_all(&w, samples);
	for (; w.full && !w.err; w.interval_ns = next_interval(w.interval_ns)) {
		made.count = 0;
		w.full = false;
		write_largest(&w, samples, holds);
	}
	if (w.err)
		return w.err;
	*out = made;
	made = (struct ifp_samples){0};
	return 0;
}

static int64_t part_of(const struct writing *w, int64_t busy_ns)
{
	uint64_t interval = (uint64_t)w->interval_ns;

	return (int64_t)(((uint64_t)busy_ns * WHOLE + interval / 2) / interval);
}

/* An interval that some work reaches into: its start, and how long there was some. */
struct interval {
	bool open;
	int64_t start_ns, busy_ns;
};

static void end_interval(struct writing *w, struct interval *at, int64_t next_start_ns)
{
	if (!at->open)
		return;
	put(w, at->start_ns, part_of(w, at->busy_ns));
	if (goes_on(w) && next_start_ns - at->start_ns > w->interval_ns)
		put(w, at->start_ns + w->interval_ns, 0);
}

static void add_work(struct writing *w, struct interval *at, const struct ifp_busy_span *span)
{
	int64_t from_ns = span->start_ns;

	while (from_ns < span->end_ns && goes_on(w)) {
		int64_t start_ns = start_of(w, from_ns), left_ns = span->end_ns - from_ns;
		int64_t room_ns = start_ns + w->interval_ns - from_ns;

		if (!at->open || at->start_ns != start_ns) {
			end_interval(w, at, start_ns);
			*at = (struct interval){true, start_ns, 0};
		}
		/* All intervals that it fills are alike: as good as the last of them. */
		if (left_ns >= 2 * w->interval_ns && room_ns == w->interval_ns && goes_on(w)) {
			put(w, start_ns, WHOLE);
			from_ns += (left_ns / w->interval_ns - 1) * w->interval_ns;
			at->start_ns = from_ns;
			continue;
		}
		if (room_ns > left_ns)
			room_ns = left_ns;
		at->busy_ns += room_ns;
		from_ns += room_ns;
	}
}

int ifp_samples_busy(const struct ifp_busy_span *spans, uint32_t count, uint32_t max_points,
	struct ifp_samples *out)
{
	IFP_CLEANUP_SAMPLES struct ifp_samples made = {0};
	struct writing w = {
		.out = &made, .interval_ns = SHORTEST_INTERVAL_NS, .max_points = max_points};

	for (;;) {
		struct interval at = {0};

		for (uint32_t i = 0; i < count && goes_on(&w); i++)
			add_work(&w, &at, &spans[i]);
		if (goes_on(&w))
			end_interval(&w, &at, at.start_ns + 2 * w.interval_ns);
		if (!w.full || w.err)
			break;
		made.count = 0;
		w.full = false;
		w.interval_ns = next_interval(w.interval_ns);
	}
	if (w.err)
		return w.err;
	*out = made;
	made = (struct ifp_samples){0};
	return 0;
}

void ifp_samples_free(struct ifp_samples *samples)
{
	free(samples->items);
	*samples = (struct ifp_samples){0};
}
