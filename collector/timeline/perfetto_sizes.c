/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/perfetto_sizes.h"

#include "collector/timeline/perfetto_rank.h"
#include "core/buf.h"
#include "trace/perfetto/sizes.h"

#include <errno.h>

/* Tables of a sequence, and the tracks of series. */
enum { NAMES, CATEGORIES, KEYS, SERIES };

/* Names of args of folds (fold.h), and their category. */
#define FOLD_TEXTS 7u
#define FOLD_TEXT_BYTES 16u
/* Tracks and texts of the note's row, apart from the note itself. */
#define NOTE_ROW_BYTES 600u
/* A member around an event's further ones; and its name. */
#define FURTHER_BYTES 16u

static void take(struct ifp_once *once, unsigned int table, struct ifp_str text)
{
	if (text.len_bytes)
		ifp_once_take(once, table, text, ifp_perfetto_text_bytes(text.len_bytes));
}

static void take_key(void *once, struct ifp_str name)
{
	ifp_once_take(once, KEYS, name, ifp_perfetto_text_bytes(name.len_bytes));
}

uint64_t ifp_perfetto_sizes_rank(const struct ifp_sink *sink, const struct ifp_sink_rank *rank)
{
	const struct ifp_perfetto_track track = {.name = rank->title, .pid = 1};

	(void)sink;
	return ifp_perfetto_track_bytes(&track) + IFP_PERFETTO_SEQUENCE_BYTES +
	       IFP_PERFETTO_TIME_BYTES + FOLD_TEXTS * ifp_perfetto_text_bytes(FOLD_TEXT_BYTES);
}

uint64_t ifp_perfetto_sizes_lane(const struct ifp_sink *sink, const struct ifp_sink_lane *lane)
{
	const struct ifp_perfetto_track track = {.name = lane->title};

	(void)sink;
	return ifp_perfetto_track_bytes(&track);
}

/*
 * A category of a fold is a dictionary with two numbers and a name of its own, 71 bytes beyond its
 * text where the JSON has 31; everything else is shorter than twice its JSON.
 */
static uint64_t fold_args_bytes(uint64_t json_bytes)
{
	return json_bytes * 7 / 3 + 64;
}

/* Texts of a fold are hardly ever those of another one. */
static uint64_t texts_bytes(const struct ifp_sink_slice *slice, struct ifp_once *once)
{
	uint64_t bytes;

	if (slice->kind == IFP_SINK_FOLD)
		return ifp_perfetto_text_bytes(slice->name.len_bytes) +
		       fold_args_bytes(slice->args.len_bytes);
	take(once, NAMES, slice->name);
	take(once, CATEGORIES, slice->category);
	bytes = ifp_perfetto_args_bytes(slice->args, take_key, once);
	if (slice->extra.len_bytes > 2) {
		take_key(once, ifp_str(IFP_PERFETTO_FURTHER));
		/* Deep inside, what would be an object there may be a text. */
		bytes += ifp_perfetto_args_bytes(slice->extra, take_key, once) +
			 slice->extra.len_bytes + FURTHER_BYTES;
	}
	return bytes;
}

uint64_t ifp_perfetto_sizes_slice(
	const struct ifp_sink *sink, const struct ifp_sink_slice *slice, struct ifp_once *once)
{
	struct ifp_perfetto_event event = {
		.type = IFP_PERFETTO_BEGIN,
		.track = slice->lane,
		.at_ns = slice->start_ns,
		.args_bytes = texts_bytes(slice, once),
	};
	uint64_t begin = ifp_perfetto_event_bytes(&event);

	(void)sink;
	event.type = IFP_PERFETTO_END;
	event.at_ns = slice->start_ns < 0 ? -1 : slice->start_ns + slice->dur_ns;
	event.args_bytes = 0;
	return begin + ifp_perfetto_event_bytes(&event);
}

/* The series has a track of its own, with the names of both. */
static void take_series(struct ifp_once *once, struct ifp_str counter, struct ifp_str series)
{
	IFP_CLEANUP_BUF struct ifp_buf key = {0};
	struct ifp_perfetto_track track = {.counter = true};

	ifp_perfetto_series_name(counter, series, &key);
	if (ifp_buf_status(&key)) {
		once->err = -ENOMEM;
		return;
	}
	track.name = (struct ifp_str){(const char *)key.data, (uint32_t)key.len_bytes};
	ifp_once_take(once, SERIES, track.name, ifp_perfetto_track_bytes(&track));
}

static uint64_t counter_bytes(const struct ifp_sink_moment *moment, struct ifp_once *once)
{
	struct ifp_str key, value;
	uint64_t bytes = 0;
	uint32_t at = 0;

	while (ifp_args_next(moment->args, &at, &key, &value)) {
		if (!ifp_perfetto_is_value(value))
			continue;
		take_series(once, moment->name, key);
		bytes += ifp_perfetto_counter_bytes(UINT64_MAX, moment->at_ns);
	}
	return bytes;
}

uint64_t ifp_perfetto_sizes_moment(
	const struct ifp_sink *sink, const struct ifp_sink_moment *moment, struct ifp_once *once)
{
	struct ifp_perfetto_event event = {
		.type = IFP_PERFETTO_INSTANT, .track = moment->lane, .at_ns = moment->at_ns};
	uint64_t values = moment->counter ? counter_bytes(moment, once) : 0;

	(void)sink;
	if (values)
		return values;
	take(once, NAMES, moment->name);
	take(once, CATEGORIES, moment->category);
	event.args_bytes = ifp_perfetto_args_bytes(moment->args, take_key, once);
	return ifp_perfetto_event_bytes(&event);
}

static uint64_t end_bytes(const struct ifp_sink_flow *flow, const struct ifp_sink_flow_end *end)
{
	return ifp_perfetto_arrow_end_bytes(&(struct ifp_perfetto_arrow_end){
		.track = end->lane, .at_ns = end->start_ns, .id = flow->id});
}

/* Within a rank, events have its number; between ranks, each end is a packet (sink_perfetto.c). */
uint64_t ifp_perfetto_sizes_flow(
	const struct ifp_sink *sink, const struct ifp_sink_flow *flow, struct ifp_once *once)
{
	(void)sink;
	if (flow->from.rank_order == flow->to.rank_order)
		return 2u * IFP_PERFETTO_FLOW_BYTES;
	take(once, NAMES, flow->name);
	take(once, CATEGORIES, flow->category);
	return end_bytes(flow, &flow->from) + end_bytes(flow, &flow->to);
}

uint64_t ifp_perfetto_sizes_frame(const struct ifp_sink *sink, uint64_t note_text_bytes)
{
	(void)sink;
	return IFP_PERFETTO_HEAD_BYTES + 2u * IFP_PERFETTO_SEQUENCE_BYTES + NOTE_ROW_BYTES +
	       note_text_bytes;
}
