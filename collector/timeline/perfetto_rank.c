/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/perfetto_rank.h"

#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/* Tracks of lanes and ranks have smaller numbers. */
#define FIRST_COUNTER_TRACK (UINT64_C(1) << 48)
/* Counters stand below the lanes. */
#define COUNTER_ORDER (1u << 24)

struct kept_mark {
	enum ifp_perfetto_kind kind;
	uint32_t name, category;
	uint32_t args_bytes;
	uint64_t track;
	int64_t start_ns, end_ns;
	size_t args_at; /* of a counter: the number, as text */
};

struct arrow_end {
	uint64_t track;
	int64_t start_ns;
	uint64_t id;
};

/* What happens at a moment: the order of those at one moment is that in which they were made. */
struct entry {
	int64_t at_ns;
	uint32_t place;
	uint32_t mark;
	bool end;
};

/* A rank while it is put in order. */
struct ordering {
	const struct ifp_perfetto_rank *rank;
	struct entry *entries;
	uint32_t count;
	uint32_t *open; /* marks of the slices that are open on the lane at hand, outermost first */
	uint32_t depth;
	uint64_t *flows; /* ids of the rank's ends, in their order */
};

void ifp_perfetto_rank_begin(
	struct ifp_perfetto_rank *rank, struct ifp_perfetto_writer *writer, uint64_t process)
{
	rank->process = process;
	ifp_perfetto_sequence(writer);
}

static int keep_mark(struct ifp_perfetto_rank *rank, const struct kept_mark *mark)
{
	int err =
		IFP_ARRAY_RESERVE(rank->marks, rank->mark_capacity, rank->mark_count, 1, "events");

	if (!err)
		rank->marks[rank->mark_count++] = *mark;
	return err;
}

void ifp_perfetto_series_name(struct ifp_str counter, struct ifp_str series, struct ifp_buf *out)
{
	ifp_buf_append(out, counter.ptr, counter.len_bytes);
	ifp_buf_append_u8(out, ' ');
	ifp_buf_append(out, series.ptr, series.len_bytes);
}

/* The track of a series; it is made when it is new. */
static int find_series(struct ifp_perfetto_rank *rank, struct ifp_perfetto_writer *writer,
	struct ifp_str counter, struct ifp_str series, uint64_t *track)
{
	uint32_t before = rank->counters.count, id;
	struct ifp_str key;
	int err;

	ifp_buf_clear(&rank->key);
	ifp_perfetto_series_name(counter, series, &rank->key);
	err = ifp_buf_status(&rank->key);
	key = (struct ifp_str){(const char *)rank->key.data, (uint32_t)rank->key.len_bytes};
	if (!err)
		err = ifp_intern(&rank->counters, key, &id);
	if (err)
		return err;
	*track = FIRST_COUNTER_TRACK + rank->counter_tracks + id;
	if (rank->counters.count > before)
		ifp_perfetto_track(writer, &(struct ifp_perfetto_track){
						   .uuid = *track,
						   .parent = rank->process,
						   .name = key,
						   .order = COUNTER_ORDER + id,
						   .counter = true,
					   });
	return 0;
}

bool ifp_perfetto_is_value(struct ifp_str value)
{
	return value.len_bytes < IFP_PERFETTO_MAX_NUMBER &&
	       (value.ptr[0] == '-' || (value.ptr[0] >= '0' && value.ptr[0] <= '9'));
}

/* Gives the number of series in *count. */
static int add_counter(struct ifp_perfetto_rank *rank, struct ifp_perfetto_writer *writer,
	const struct ifp_perfetto_mark *mark, uint32_t *count)
{
	struct kept_mark kept = {
		.kind = IFP_PERFETTO_COUNTER, .start_ns = mark->start_ns, .end_ns = mark->end_ns};
	struct ifp_str key, value;
	uint32_t at = 0;
	int err = 0;

	while (!err && ifp_args_next(mark->args, &at, &key, &value)) {
		if (!ifp_perfetto_is_value(value))
			continue;
		err = find_series(rank, writer, mark->name, key, &kept.track);
		kept.args_at = rank->args.len_bytes;
		kept.args_bytes = value.len_bytes;
		ifp_buf_append(&rank->args, value.ptr, value.len_bytes);
		if (!err)
			err = keep_mark(rank, &kept);
		++*count;
	}
	return err;
}

int ifp_perfetto_rank_add(struct ifp_perfetto_rank *rank, struct ifp_perfetto_writer *writer,
	const struct ifp_perfetto_mark *mark)
{
	struct kept_mark kept = {
		.kind = mark->kind,
		.track = mark->track,
		.start_ns = mark->start_ns,
		.end_ns = mark->end_ns,
	};
	uint32_t series = 0;
	int err;

	if (mark->kind == IFP_PERFETTO_COUNTER) {
		err = add_counter(rank, writer, mark, &series);
		if (err || series)
			return err;
		kept.kind = IFP_PERFETTO_MOMENT; /* it counts nothing */
	}
	kept.name = ifp_perfetto_name(writer, mark->name);
	kept.category = ifp_perfetto_category(writer, mark->category);
	kept.args_at = rank->args.len_bytes;
	ifp_perfetto_args(writer, mark->args, &rank->args);
	kept.args_bytes = (uint32_t)(rank->args.len_bytes - kept.args_at);
	return keep_mark(rank, &kept);
}

int ifp_perfetto_rank_join(struct ifp_perfetto_rank *rank, const struct ifp_sink_flow *flow)
{
	int err = IFP_ARRAY_RESERVE(rank->ends, rank->end_capacity, rank->end_count, 2, "arrows");

	if (err)
		return err;
	rank->ends[rank->end_count++] =
		(struct arrow_end){flow->from.lane, flow->from.start_ns, flow->id};
	rank->ends[rank->end_count++] =
		(struct arrow_end){flow->to.lane, flow->to.start_ns, flow->id};
	return 0;
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_places(uint64_t track, int64_t start_ns, const struct arrow_end *end)
{
	if (track != end->track)
		return track < end->track ? -1 : 1;
	return compare_numbers(start_ns, end->start_ns);
}

static int compare_ends(const void *left, const void *right)
{
	const struct arrow_end *a = left, *b = right;
	int result = compare_places(a->track, a->start_ns, b);

	return result ? result : (a->id > b->id) - (a->id < b->id);
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int result = compare_numbers(a->at_ns, b->at_ns);

	return result ? result : compare_numbers(a->place, b->place);
}

static void add_entry(struct ordering *ordering, uint32_t mark, bool end)
{
	const struct kept_mark *kept = &ordering->rank->marks[mark];

	ordering->entries[ordering->count] = (struct entry){
		.at_ns = end ? kept->end_ns : kept->start_ns,
		.place = ordering->count,
		.mark = mark,
		.end = end,
	};
	ordering->count++;
}

/* Ends what is open on the lane and over at that moment. */
static void end_slices(struct ordering *ordering, int64_t at_ns)
{
	while (ordering->depth) {
		uint32_t mark = ordering->open[ordering->depth - 1];

		if (ordering->rank->marks[mark].end_ns > at_ns)
			break;
		add_entry(ordering, mark, true);
		ordering->depth--;
	}
}

/* Beginnings and ends, so that those of each lane nest; then all by time. */
static void put_in_order(struct ordering *ordering)
{
	const struct ifp_perfetto_rank *rank = ordering->rank;

	for (uint32_t i = 0; i < rank->mark_count; i++) {
		const struct kept_mark *mark = &rank->marks[i];

		if (i && mark->track != rank->marks[i - 1].track)
			end_slices(ordering, INT64_MAX);
		if (mark->kind != IFP_PERFETTO_SLICE) {
			end_slices(ordering, INT64_MAX);
		} else {
			end_slices(ordering, mark->start_ns);
			ordering->open[ordering->depth++] = i;
		}
		add_entry(ordering, i, false);
	}
	end_slices(ordering, INT64_MAX);
	if (ordering->count)
		qsort(ordering->entries, ordering->count, sizeof(*ordering->entries),
			compare_entries);
}

/* The first of the ends that is not before the place. */
static uint32_t first_end(const struct ifp_perfetto_rank *rank, uint64_t track, int64_t start_ns)
{
	return IFP_ARRAY_LOWER_BOUND(
		i, rank->end_count, compare_places(track, start_ns, &rank->ends[i]) > 0);
}

/* The arrows at a slice: of those that start together on a lane, the innermost one has them. */
static void find_flows(
	const struct ordering *ordering, uint32_t mark, struct ifp_perfetto_event *event)
{
	const struct ifp_perfetto_rank *rank = ordering->rank;
	const struct kept_mark *kept = &rank->marks[mark], *next = kept + 1;
	uint32_t first;

	if (!rank->end_count ||
		(mark + 1 < rank->mark_count && next->track == kept->track &&
			next->kind == IFP_PERFETTO_SLICE && next->start_ns == kept->start_ns))
		return;
	first = first_end(rank, kept->track, kept->start_ns);
	event->flows = &ordering->flows[first];
	while (first + event->flow_count < rank->end_count &&
		!compare_places(
			kept->track, kept->start_ns, &rank->ends[first + event->flow_count]))
		event->flow_count++;
}

static void write_entry(const struct ordering *ordering, const struct entry *entry,
	struct ifp_perfetto_writer *writer)
{
	const struct kept_mark *mark = &ordering->rank->marks[entry->mark];
	const uint8_t *args = ordering->rank->args.data + mark->args_at;
	struct ifp_perfetto_event event = {
		.type = IFP_PERFETTO_END, .track = mark->track, .at_ns = entry->at_ns};

	if (mark->kind == IFP_PERFETTO_COUNTER) {
		ifp_perfetto_counter(writer, mark->track, mark->start_ns,
			(struct ifp_str){(const char *)args, mark->args_bytes});
		return;
	}
	if (!entry->end) {
		event.type = mark->kind == IFP_PERFETTO_SLICE ? IFP_PERFETTO_BEGIN
							      : IFP_PERFETTO_INSTANT;
		event.name = mark->name;
		event.category = mark->category;
		event.args = args;
		event.args_bytes = mark->args_bytes;
		if (mark->kind == IFP_PERFETTO_SLICE)
			find_flows(ordering, entry->mark, &event);
	}
	ifp_perfetto_event(writer, &event);
}

static void empty(struct ifp_perfetto_rank *rank)
{
	rank->counter_tracks += rank->counters.count;
	ifp_intern_clear(&rank->counters);
	ifp_buf_clear(&rank->args);
	rank->mark_count = 0;
	rank->end_count = 0;
}

int ifp_perfetto_rank_write(struct ifp_perfetto_rank *rank, struct ifp_perfetto_writer *writer)
{
	IFP_CLEANUP_FREE struct entry *entries =
		calloc(2 * (size_t)rank->mark_count + 1, sizeof(*entries));
	IFP_CLEANUP_FREE uint32_t *open = calloc(rank->mark_count + 1u, sizeof(*open));
	IFP_CLEANUP_FREE uint64_t *flows = calloc(rank->end_count + 1u, sizeof(*flows));
	struct ordering ordering = {.rank = rank, .entries = entries, .open = open, .flows = flows};
	int err = ifp_buf_status(&rank->args);

	if (err)
		return err;
	if (!entries || !open || !flows)
		return ifp_fail(-ENOMEM, "out of memory for %u events", rank->mark_count);
	if (rank->end_count)
		qsort(rank->ends, rank->end_count, sizeof(*rank->ends), compare_ends);
	for (uint32_t i = 0; i < rank->end_count; i++)
		flows[i] = rank->ends[i].id;
	put_in_order(&ordering);
	for (uint32_t i = 0; i < ordering.count; i++)
		write_entry(&ordering, &entries[i], writer);
	empty(rank);
	return 0;
}

void ifp_perfetto_rank_free(struct ifp_perfetto_rank *rank)
{
	free(rank->marks);
	free(rank->ends);
	ifp_buf_free(&rank->args);
	ifp_buf_free(&rank->key);
	ifp_intern_free(&rank->counters);
	*rank = (struct ifp_perfetto_rank){0};
}
