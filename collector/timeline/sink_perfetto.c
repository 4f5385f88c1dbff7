/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/sink_perfetto.h"

#include "collector/timeline/perfetto_rank.h"
#include "collector/timeline/perfetto_sizes.h"
#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/output.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Never a pid of the real world: those of two hosts may be equal. */
#define FIRST_PID 1000

/* Tracks of lanes have the lanes' numbers. */
#define FIRST_PROCESS_TRACK (UINT64_C(1) << 40)
#define RUN_PROCESS (FIRST_PROCESS_TRACK - 1)
#define NOTE_TRACK (FIRST_PROCESS_TRACK - 2)
#define ALARM_TRACK (FIRST_PROCESS_TRACK - 3)

/* An arrow between two ranks, kept until all slices are written. */
struct link {
	struct ifp_sink_flow_end from, to;
	uint64_t id;
	uint32_t name, category; /* in texts, plus 1 */
};

struct perfetto {
	struct ifp_sink sink;
	char *path;
	struct ifp_perfetto_writer *writer;
	struct ifp_perfetto_rank rank; /* that is being drawn */
	uint64_t process;	       /* its track; 0 = none yet */
	uint32_t rank_order;
	uint32_t lanes;	      /* of the rank */
	struct ifp_buf extra; /* args and further members, together */
	struct link *links;
	uint32_t link_count;
	size_t link_capacity;
	struct ifp_intern texts; /* of links */
	uint64_t events;
};

static struct perfetto *perfetto_of(struct ifp_sink *sink)
{
	return (struct perfetto *)sink;
}

static void rank(struct ifp_sink *sink, const struct ifp_sink_rank *rank)
{
	struct perfetto *perfetto = perfetto_of(sink);

	ifp_sink_keep(sink, ifp_perfetto_rank_write(&perfetto->rank, perfetto->writer));
	perfetto->rank_order = rank->order;
	perfetto->process = FIRST_PROCESS_TRACK + rank->order;
	perfetto->lanes = 0;
	ifp_perfetto_track(
		perfetto->writer, &(struct ifp_perfetto_track){
					  .uuid = perfetto->process,
					  .name = rank->title,
					  .order = rank->order + 1, /* the whole run's is 0 */
					  .pid = FIRST_PID + 2 * (int32_t)rank->rank->rank,
				  });
	ifp_perfetto_rank_begin(&perfetto->rank, perfetto->writer, perfetto->process);
}

static void lane(struct ifp_sink *sink, const struct ifp_sink_lane *lane)
{
	struct perfetto *perfetto = perfetto_of(sink);

	ifp_perfetto_track(perfetto->writer, &(struct ifp_perfetto_track){
						     .uuid = lane->number,
						     .parent = perfetto->process,
						     .name = lane->title,
						     .order = perfetto->lanes++,
					     });
}

static bool is_empty(struct ifp_str object)
{
	return object.len_bytes <= 2;
}

/* The args, with the event's further members as one more. */
static struct ifp_str with_extra(
	struct perfetto *perfetto, struct ifp_str args, struct ifp_str extra)
{
	struct ifp_buf *buf = &perfetto->extra;

	if (is_empty(extra))
		return args;
	ifp_buf_clear(buf);
	ifp_buf_append(buf, args.ptr, is_empty(args) ? 0 : args.len_bytes - 1);
	ifp_buf_append_text(buf, is_empty(args) ? "{\"" : ",\"");
	ifp_buf_append_text(buf, IFP_PERFETTO_FURTHER "\":");
	ifp_buf_append(buf, extra.ptr, extra.len_bytes);
	ifp_buf_append_u8(buf, '}');
	ifp_sink_keep(&perfetto->sink, ifp_buf_status(buf));
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

static void slice(struct ifp_sink *sink, const struct ifp_sink_slice *slice)
{
	struct perfetto *perfetto = perfetto_of(sink);

	perfetto->events++;
	ifp_sink_keep(sink, ifp_perfetto_rank_add(&perfetto->rank, perfetto->writer,
				    &(struct ifp_perfetto_mark){
					    .kind = IFP_PERFETTO_SLICE,
					    .track = slice->lane,
					    .start_ns = slice->start_ns,
					    .end_ns = slice->start_ns + slice->dur_ns,
					    .name = slice->name,
					    .category = slice->category,
					    .args = with_extra(perfetto, slice->args, slice->extra),
				    }));
}

static void moment(struct ifp_sink *sink, const struct ifp_sink_moment *moment)
{
	struct perfetto *perfetto = perfetto_of(sink);
	struct ifp_perfetto_mark mark = {
		.kind = moment->counter ? IFP_PERFETTO_COUNTER : IFP_PERFETTO_MOMENT,
		.track = moment->lane,
		.start_ns = moment->at_ns,
		.end_ns = moment->at_ns,
		.name = moment->name,
		.category = moment->category,
		.args = moment->args,
	};

	perfetto->events++;
	ifp_sink_keep(sink, ifp_perfetto_rank_add(&perfetto->rank, perfetto->writer, &mark));
}

/* As an instant that says what it was. */
static bool other(struct ifp_sink *sink, uint32_t lane, const struct ifp_timed_event *timed)
{
	struct perfetto *perfetto = perfetto_of(sink);
	const struct ifp_event *event = &timed->event;

	moment(sink, &(struct ifp_sink_moment){
			     .kind = IFP_SINK_EVENT,
			     .lane = lane,
			     .at_ns = timed->start_ns,
			     .name = event->name,
			     .category = event->category,
			     .args = with_extra(perfetto, event->args, event->extra),
		     });
	return true;
}

static uint32_t keep_text(struct perfetto *perfetto, struct ifp_str text)
{
	uint32_t id;
	int err = text.len_bytes ? ifp_intern(&perfetto->texts, text, &id) : 0;

	ifp_sink_keep(&perfetto->sink, err);
	return err || !text.len_bytes ? 0 : id + 1;
}

static void flow(struct ifp_sink *sink, const struct ifp_sink_flow *flow)
{
	struct perfetto *perfetto = perfetto_of(sink);
	int err;

	perfetto->events++;
	if (flow->from.rank_order == perfetto->rank_order &&
		flow->to.rank_order == perfetto->rank_order) {
		err = ifp_perfetto_rank_join(&perfetto->rank, flow);
		ifp_sink_keep(sink, err);
		return;
	}
	err = IFP_ARRAY_RESERVE(
		perfetto->links, perfetto->link_capacity, perfetto->link_count, 1, "links");
	ifp_sink_keep(sink, err);
	if (!err)
		perfetto->links[perfetto->link_count++] = (struct link){
			.from = flow->from,
			.to = flow->to,
			.id = flow->id,
			.name = keep_text(perfetto, flow->name),
			.category = keep_text(perfetto, flow->category),
		};
}

/* A process of its own above the ranks. */
static void whole_run(struct ifp_sink *sink)
{
	struct perfetto *perfetto = perfetto_of(sink);

	if (perfetto->process == RUN_PROCESS)
		return;
	ifp_sink_keep(sink, ifp_perfetto_rank_write(&perfetto->rank, perfetto->writer));
	perfetto->process = RUN_PROCESS;
	ifp_perfetto_track(perfetto->writer, &(struct ifp_perfetto_track){
						     .uuid = RUN_PROCESS,
						     .name = ifp_str("infprof"),
						     .pid = FIRST_PID - 1,
					     });
	ifp_perfetto_rank_begin(&perfetto->rank, perfetto->writer, RUN_PROCESS);
}

/* One slice over all. */
static void note(struct ifp_sink *sink, const struct ifp_sink_note *note)
{
	struct perfetto *perfetto = perfetto_of(sink);
	bool alarm = note->kind == IFP_SINK_NOTE_CLOCKS;
	uint64_t track = alarm ? ALARM_TRACK : NOTE_TRACK;
	const struct ifp_perfetto_mark mark = {
		.kind = IFP_PERFETTO_SLICE,
		.track = track,
		.start_ns = note->start_ns,
		.end_ns = note->end_ns,
		.name = note->text,
	};

	whole_run(sink);
	ifp_perfetto_track(
		perfetto->writer, &(struct ifp_perfetto_track){
					  .uuid = track,
					  .parent = RUN_PROCESS,
					  .name = ifp_str(alarm ? "clocks" : "what is shown"),
				  });
	ifp_sink_keep(sink, ifp_perfetto_rank_add(&perfetto->rank, perfetto->writer, &mark));
}

static struct ifp_str text_of(const struct perfetto *perfetto, uint32_t number)
{
	return number ? ifp_intern_text(&perfetto->texts, number - 1) : (struct ifp_str){0};
}

static void write_link_end(struct perfetto *perfetto, const struct link *link, bool start)
{
	const struct ifp_sink_flow_end *end = start ? &link->from : &link->to;
	struct ifp_perfetto_writer *writer = perfetto->writer;

	ifp_perfetto_arrow_end(writer,
		&(struct ifp_perfetto_arrow_end){
			.track = end->lane,
			.at_ns = end->start_ns,
			.id = link->id,
			.start = start,
			.name = ifp_perfetto_name(writer, text_of(perfetto, link->name)),
			.category =
				ifp_perfetto_category(writer, text_of(perfetto, link->category)),
		});
}

static void write_links(struct perfetto *perfetto)
{
	ifp_perfetto_sequence(perfetto->writer);
	for (uint32_t i = 0; i < perfetto->link_count; i++) {
		write_link_end(perfetto, &perfetto->links[i], true);
		write_link_end(perfetto, &perfetto->links[i], false);
	}
}

static void release(struct perfetto *perfetto)
{
	ifp_perfetto_abandon(&perfetto->writer);
	ifp_perfetto_rank_free(&perfetto->rank);
	ifp_buf_free(&perfetto->extra);
	ifp_intern_free(&perfetto->texts);
	free(perfetto->links);
	free(perfetto->path);
	free(perfetto);
}

static void abandon(struct ifp_sink *sink)
{
	release(perfetto_of(sink));
}

static int finish(struct perfetto *perfetto, struct ifp_timeline_result *result)
{
	struct ifp_timeline_file file = {
		.rank = IFP_FRAME_NO_RANK,
		.events = perfetto->events,
		.label = perfetto->sink.label,
		.shown = perfetto->sink.shown,
	};
	struct stat status;
	int err;

	ifp_sink_keep(&perfetto->sink, ifp_perfetto_rank_write(&perfetto->rank, perfetto->writer));
	write_links(perfetto);
	file.json_bytes = ifp_perfetto_bytes(perfetto->writer);
	if (perfetto->sink.err)
		return perfetto->sink.err;
	err = ifp_perfetto_close(&perfetto->writer);
	if (!err && strcmp(perfetto->path, IFP_OUTPUT_STANDARD) != 0) {
		if (stat(perfetto->path, &status))
			return ifp_fail_errno("stat %s", perfetto->path);
		file.bytes = (uint64_t)status.st_size;
	}
	if (err)
		return err;
	file.path = IFP_TAKE_PTR(perfetto->path);
	err = ifp_timeline_result_add(result, &file);
	if (err)
		free(file.path);
	return err;
}

static int close_sink(struct ifp_sink *sink, struct ifp_timeline_result *result)
{
	int err = finish(perfetto_of(sink), result);

	release(perfetto_of(sink));
	return err;
}

static const struct ifp_sink_ops ops = {
	.rank = rank,
	.lane = lane,
	.slice = slice,
	.moment = moment,
	.other = other,
	.flow = flow,
	.whole_run = whole_run,
	.note = note,
	.rank_bytes = ifp_perfetto_sizes_rank,
	.lane_bytes = ifp_perfetto_sizes_lane,
	.slice_bytes = ifp_perfetto_sizes_slice,
	.moment_bytes = ifp_perfetto_sizes_moment,
	.flow_bytes = ifp_perfetto_sizes_flow,
	.frame_bytes = ifp_perfetto_sizes_frame,
	.close = close_sink,
	.abandon = abandon,
};

/* What the time 0 of the run was for the world: exactly for imported traces, nearly for others. */
static int64_t zero_of(const struct ifp_run *run)
{
	if (ifp_run_rank_count(run) && ifp_run_rank(run, 0)->imported)
		return ifp_run_base(run).ns;
	return (int64_t)ifp_document_get_count(ifp_run_document(run), "started_realtime_ns");
}

int ifp_sink_perfetto_open(const struct ifp_run *run, const char *path,
	const struct ifp_budget *budget, struct ifp_sink **out)
{
	struct perfetto *perfetto = calloc(1, sizeof(*perfetto));
	int err;

	if (!perfetto)
		return ifp_fail(-ENOMEM, "draw %s: out of memory", path);
	perfetto->sink = (struct ifp_sink){
		.ops = &ops,
		.label = "perfetto/",
		.label_of_all = "perfetto/",
		.budget = *budget,
	};
	perfetto->path = strdup(path);
	err = perfetto->path ? ifp_perfetto_open(path, zero_of(run), &perfetto->writer)
			     : ifp_fail(-ENOMEM, "draw %s: out of memory", path);
	if (err) {
		release(perfetto);
		return err;
	}
	*out = &perfetto->sink;
	return 0;
}
