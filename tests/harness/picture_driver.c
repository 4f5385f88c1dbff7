/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the picture of a run into a sink of its own, one JSON object a line with times in exact
 * nanoseconds and categories as recorded: for tests of what is shown.
 *
 *	picture_driver ARCHIVE [BUDGET_BYTES [MAX_EVENTS]]
 *
 * The budget counts the bytes of the lines. The last line, which it does not count, tells what was
 * shown and how many bytes that took.
 */
#include "collector/timeline/picture.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <inttypes.h>
#include <stdlib.h>

struct printer {
	struct ifp_sink sink;
	uint64_t bytes, events;
};

#define TEXT(s) (int)(s).len_bytes, (s).ptr ? (s).ptr : ""

static void print(struct printer *printer, const struct ifp_buf *line, uint64_t events)
{
	fwrite(line->data, 1, line->len_bytes, stdout);
	putchar('\n');
	printer->bytes += line->len_bytes + 1;
	printer->events += events;
}

static struct printer *printer_of(struct ifp_sink *sink)
{
	return (struct printer *)sink;
}

static void append_rank(struct ifp_buf *line, const struct ifp_sink_rank *rank)
{
	ifp_buf_printf(line, "{\"rank\":%u,\"order\":%u,\"title\":\"%.*s\"}", rank->rank->rank,
		rank->order, TEXT(rank->title));
}

static void append_lane(struct ifp_buf *line, const struct ifp_sink_lane *lane)
{
	ifp_buf_printf(line, "{\"lane\":%u,\"title\":\"%.*s\"}", lane->number, TEXT(lane->title));
}

static void append_slice(struct ifp_buf *line, const struct ifp_sink_slice *slice)
{
	static const char *const kinds[] = {
		[IFP_SINK_EVENT] = "event", [IFP_SINK_STEP] = "step", [IFP_SINK_FOLD] = "fold"};

	ifp_buf_printf(line,
		"{\"slice\":\"%s\",\"on\":%u,\"start\":%" PRId64 ",\"dur\":%" PRId64
		",\"step\":%" PRId64 ",\"name\":\"%.*s\",\"cat\":\"%.*s\",\"args\":%.*s}",
		kinds[slice->kind], slice->lane, slice->start_ns, slice->dur_ns, slice->step,
		TEXT(slice->name), TEXT(slice->category), TEXT(slice->args));
	/* No args at all are null. */
	if (!slice->args.len_bytes) {
		line->len_bytes--;
		ifp_buf_append_text(line, "null}");
	}
}

static void append_moment(struct ifp_buf *line, const struct ifp_sink_moment *moment)
{
	ifp_buf_printf(line,
		"{\"moment\":\"%s\",\"on\":%u,\"at\":%" PRId64
		",\"name\":\"%.*s\",\"cat\":\"%.*s\"",
		moment->kind == IFP_SINK_VALUE ? "value"
		: moment->counter	       ? "counter"
					       : "instant",
		moment->lane, moment->at_ns, TEXT(moment->name), TEXT(moment->category));
	if (moment->kind == IFP_SINK_VALUE)
		ifp_buf_printf(line, ",\"args\":%.*s", TEXT(moment->args));
	ifp_buf_append_u8(line, '}');
}

static void append_flow(struct ifp_buf *line, const struct ifp_sink_flow *flow)
{
	ifp_buf_printf(line,
		"{\"flow\":%" PRIu64 ",\"from\":[%u,%" PRId64 "],\"to\":[%u,%" PRId64 "]}",
		flow->id, flow->from.lane, flow->from.start_ns, flow->to.lane, flow->to.start_ns);
}

#define WRITES(what, events)                                                                       \
	static void what(struct ifp_sink *sink, const struct ifp_sink_##what *element)             \
	{                                                                                          \
		IFP_CLEANUP_BUF struct ifp_buf line = {0};                                         \
		append_##what(&line, element);                                                     \
		print(printer_of(sink), &line, events);                                            \
	}

WRITES(rank, 0)
WRITES(lane, 0)
WRITES(slice, 1)
WRITES(moment, 1)
WRITES(flow, 2)

/* With its line feed. Texts of folds to come have a length only. */
static uint64_t line_bytes(const struct ifp_buf *line, uint64_t texts_bytes)
{
	return line->len_bytes + texts_bytes + 1;
}

static uint64_t rank_bytes(const struct ifp_sink *sink, const struct ifp_sink_rank *rank)
{
	IFP_CLEANUP_BUF struct ifp_buf line = {0};

	(void)sink;
	append_rank(&line, rank);
	return line_bytes(&line, 0);
}

static uint64_t lane_bytes(const struct ifp_sink *sink, const struct ifp_sink_lane *lane)
{
	IFP_CLEANUP_BUF struct ifp_buf line = {0};

	(void)sink;
	append_lane(&line, lane);
	return line_bytes(&line, 0);
}

static uint64_t slice_bytes(
	const struct ifp_sink *sink, const struct ifp_sink_slice *slice, struct ifp_once *once)
{
	IFP_CLEANUP_BUF struct ifp_buf line = {0};
	struct ifp_sink_slice frame = *slice;

	(void)sink;
	(void)once;
	frame.name = frame.args = (struct ifp_str){0};
	append_slice(&line, &frame);
	return line_bytes(&line, slice->name.len_bytes + (uint64_t)slice->args.len_bytes);
}

static uint64_t moment_bytes(
	const struct ifp_sink *sink, const struct ifp_sink_moment *moment, struct ifp_once *once)
{
	IFP_CLEANUP_BUF struct ifp_buf line = {0};

	(void)sink;
	(void)once;
	append_moment(&line, moment);
	return line_bytes(&line, 0);
}

static uint64_t flow_bytes(
	const struct ifp_sink *sink, const struct ifp_sink_flow *flow, struct ifp_once *once)
{
	IFP_CLEANUP_BUF struct ifp_buf line = {0};

	(void)sink;
	(void)once;
	append_flow(&line, flow);
	return line_bytes(&line, 0);
}

/* The note is printed with the last line. */
static uint64_t frame_bytes(const struct ifp_sink *sink, uint64_t note_text_bytes)
{
	(void)sink;
	(void)note_text_bytes;
	return 0;
}

static void note(struct ifp_sink *sink, const struct ifp_sink_note *note)
{
	(void)sink;
	(void)note;
}

static const struct ifp_sink_ops ops = {
	.rank = rank,
	.lane = lane,
	.slice = slice,
	.moment = moment,
	.flow = flow,
	.note = note,
	.rank_bytes = rank_bytes,
	.lane_bytes = lane_bytes,
	.slice_bytes = slice_bytes,
	.moment_bytes = moment_bytes,
	.flow_bytes = flow_bytes,
	.frame_bytes = frame_bytes,
};

static int draw(const char *archive, const struct ifp_budget *budget)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	struct printer printer = {.sink = {.ops = &ops,
					  .label = "picture",
					  .label_of_all = "picture",
					  .budget = *budget}};
	int err = ifp_run_open(archive, &run);

	if (!err)
		err = ifp_picture_draw(run, &printer.sink);
	if (!err)
		printf("{\"bytes\":%" PRIu64 ",\"events\":%" PRIu64 ",\"shown\":%" PRIu64
		       ",\"recorded\":%" PRIu64 ",\"base_ns\":%" PRId64 ",\"text\":\"%s\"}\n",
			printer.bytes, printer.events, printer.sink.shown.events,
			printer.sink.shown.recorded, ifp_run_base(run).ns, printer.sink.shown.text);
	return err;
}

int main(int argc, char **argv)
{
	struct ifp_budget budget = {0};
	char text[2048];

	if (argc < 2) {
		fprintf(stderr, "usage: picture_driver ARCHIVE [BUDGET_BYTES [MAX_EVENTS]]\n");
		return 2;
	}
	if (argc > 2)
		budget.bytes = strtoull(argv[2], NULL, 10);
	if (argc > 3)
		budget.events = strtoull(argv[3], NULL, 10);
	if (!draw(argv[1], &budget))
		return 0;
	fprintf(stderr, "picture_driver: %s\n", ifp_error_text(text, sizeof(text)));
	return 1;
}
