/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export_chrome.h"

#include "collector/timeline/recorded.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/intern.h"
#include "core/log.h"
#include "trace/chrome/escape.h"
#include "trace/chrome/writer.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>

#define GZIP_LEVEL 4
/* Room for the processes of a rank in the order of all. */
#define ORDERS_PER_RANK 1024

/* One export. */
struct export
{
	struct ifp_run *run;
	struct ifp_chrome_writer *writer;
	const struct ifp_ranges *ranks; /* NULL = all */
	bool renumber;
	struct ifp_intern processes; /* "rank/pid": its id + 1 is the new pid */
	struct ifp_buf key;
	struct ifp_buf extra;	 /* texts of the event at hand, changed */
	struct ifp_buf args;	 /* the same */
	uint32_t rank_order;	 /* of the rank at hand, among those written */
	uint32_t rank_processes; /* it has so many so far */
	struct ifp_exported *result;
};

/*
 * Times as the trace had them, where it was imported, also those that cannot be; but of all ranks
 * together those of the job, where the rank is aligned with others.
 */
static bool keeps_times(const struct export *e, const struct ifp_run_rank *rank)
{
	return rank->imported &&
	       !(e->renumber && ifp_clock_map_summary(rank->map).method == IFP_CLOCK_COLLECTIVES);
}

static void set_times(const struct export *e, const struct ifp_run_rank *rank,
	const struct ifp_timed_event *timed, struct ifp_chrome_element *element)
{
	bool kept = keeps_times(e, rank);

	element->start_ns = kept ? timed->event.start : timed->start_ns;
	element->dur_ns = kept ? timed->event.dur : timed->dur_ns;
	element->zero_ns = kept ? ifp_run_base(e->run).ns : 0;
}

/* {"name":"rank 3 node03"}, and what is behind it; in e->args. */
static struct ifp_str rank_args(struct export *e, const struct ifp_run_rank *rank,
	const char *member, struct ifp_str behind)
{
	ifp_buf_clear(&e->args);
	ifp_buf_printf(&e->args, "{\"%s\":\"rank %u ", member, rank->rank);
	ifp_json_escape(&e->args, ifp_str(rank->host));
	ifp_buf_append_text(&e->args, behind.len_bytes ? " · " : "");
	ifp_buf_append(&e->args, behind.ptr, behind.len_bytes);
	ifp_buf_append_text(&e->args, "\"}");
	return (struct ifp_str){(const char *)e->args.data, (uint32_t)e->args.len_bytes};
}

static struct ifp_str order_args(struct export *e, uint32_t order)
{
	ifp_buf_clear(&e->args);
	ifp_buf_printf(&e->args, "{\"sort_index\":%u}", order);
	return (struct ifp_str){(const char *)e->args.data, (uint32_t)e->args.len_bytes};
}

static void write_meta(struct export *e, int64_t pid, const char *name, struct ifp_str args)
{
	ifp_chrome_writer_add(
		e->writer, &(struct ifp_chrome_element){
				   .phase = 'M', .pid = pid, .name = ifp_str(name), .args = args});
}

/*
 * Tells people which rank a renumbered process is of, and keeps those of a rank together. What a
 * trace calls a process may be none ("Spans"). Some viewers show labels, and some do not.
 */
static void write_process(
	struct export *e, const struct ifp_run_rank *rank, struct ifp_str recorded, int64_t pid)
{
	const struct ifp_str nothing = {0};
	uint32_t place = e->rank_processes++;

	if (recorded.len_bytes >= 2 && recorded.ptr[0] == '"')
		recorded = (struct ifp_str){recorded.ptr + 1, recorded.len_bytes - 2};

	if (place >= ORDERS_PER_RANK)
		place = ORDERS_PER_RANK - 1;
	write_meta(e, pid, "process_name", rank_args(e, rank, "name", recorded));
	write_meta(e, pid, "process_labels", rank_args(e, rank, "labels", nothing));
	write_meta(e, pid, "process_sort_index",
		order_args(e, e->rank_order * ORDERS_PER_RANK + place));
}

/*
 * The trace's own name of a process comes later and wins: it gets the rank in front. Its own order
 * was one of the processes of a single rank, and is not written.
 */
static bool adapt_meta(struct export *e, const struct ifp_run_rank *rank,
	const struct ifp_event *event, struct ifp_chrome_element *element)
{
	struct ifp_str name;

	if (event->kind != IFP_EVENT_META)
		return true;
	if (ifp_str_is(event->name, "process_sort_index"))
		return false;
	if (ifp_str_is(event->name, "process_name") && ifp_args_find(event->args, "name", &name) &&
		name.len_bytes > 2 && name.ptr[0] == '"')
		element->args = rank_args(
			e, rank, "name", (struct ifp_str){name.ptr + 1, name.len_bytes - 2});
	return true;
}

static int renumber(struct export *e, const struct ifp_run_rank *rank,
	const struct ifp_event *event, struct ifp_chrome_element *element)
{
	uint32_t before = e->processes.count, pid;
	int err;

	ifp_buf_clear(&e->key);
	ifp_buf_printf(&e->key, "%u/%" PRId64 IFP_STR_FORMAT, rank->rank, event->lane.pid,
		IFP_STR_ARGS(event->lane.pid_text));
	err = ifp_buf_status(&e->key);
	if (!err)
		err = ifp_intern(&e->processes,
			(struct ifp_str){(const char *)e->key.data, (uint32_t)e->key.len_bytes},
			&pid);
	if (err < 0)
		return err;
	element->pid = (int64_t)pid + 1;
	element->pid_text = (struct ifp_str){0};
	if (e->processes.count > before)
		write_process(e, rank, event->lane.pid_text, element->pid);
	return 0;
}

static int export_event(
	struct export *e, const struct ifp_run_rank *rank, const struct ifp_timed_event *timed)
{
	const struct ifp_event *event = &timed->event;
	struct ifp_chrome_element element;
	int err = ifp_recorded_element(event, rank->rank, e->renumber, &e->extra, &element);

	if (!err && !element.phase) {
		e->result->left_out++;
		return 0;
	}
	if (err)
		return err;
	set_times(e, rank, timed, &element);
	if (e->renumber)
		err = renumber(e, rank, event, &element);
	if (err)
		return err;
	if (e->renumber && !adapt_meta(e, rank, event, &element))
		return 0;
	ifp_chrome_writer_add(e->writer, &element);
	e->result->events++;
	return 0;
}

static int export_rank(struct export *e, uint32_t i)
{
	const struct ifp_run_rank *rank = ifp_run_rank(e->run, i);
	IFP_CLEANUP(ifp_rank_events_free) struct ifp_rank_events events = {0};
	int err;

	if (!rank->map) {
		ifp_log_warn("rank %u has no clock readings: its events are left out", rank->rank);
		return 0;
	}
	e->rank_processes = 0;
	err = ifp_run_load_events(e->run, i, &events);
	for (uint64_t k = 0; !err && k < events.count; k++)
		err = export_event(e, rank, &events.events[k]);
	e->rank_order++;
	return err;
}

static bool is_wanted(const struct export *e, uint32_t i)
{
	return !e->ranks || ifp_ranges_hold(e->ranks, ifp_run_rank(e->run, i)->rank);
}

static int export_ranks(struct export *e)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < ifp_run_rank_count(e->run); i++)
		if (is_wanted(e, i))
			err = export_rank(e, i);
	return err;
}

/* Whose run it is, and how far its clocks can be trusted: for people, and for Perfetto's tables. */
static void append_metadata(struct export *e)
{
	const char *separator = "";
	static const char *const members[] = {"run_id", "job", "program"};

	ifp_buf_append_text(&e->key, ",\"metadata\":{\"source\":\"infprof\"");
	for (size_t i = 0; i < IFP_ARRAY_SIZE(members); i++) {
		const char *text = ifp_document_get_text(ifp_run_document(e->run), members[i]);

		if (!text || !*text)
			continue;
		ifp_buf_printf(&e->key, ",\"%s\":\"", members[i]);
		ifp_json_escape(&e->key, ifp_str(text));
		ifp_buf_append_u8(&e->key, '"');
	}
	ifp_buf_append_text(&e->key, ",\"clock_bounds_ns\":{");
	for (uint32_t i = 0; i < ifp_run_rank_count(e->run); i++) {
		const struct ifp_run_rank *rank = ifp_run_rank(e->run, i);
		int64_t bound_ns =
			rank->map ? ifp_clock_map_summary(rank->map).bound_ns : INT64_MAX;

		if (!is_wanted(e, i))
			continue;
		ifp_buf_printf(&e->key, "%s\"rank %u\":", separator, rank->rank);
		if (bound_ns == INT64_MAX)
			ifp_buf_append_text(&e->key, "null");
		else
			ifp_buf_printf(&e->key, "%" PRId64, bound_ns);
		separator = ",";
	}
	ifp_buf_append_text(&e->key, "}}");
}

static void append_member(struct ifp_buf *out, const char *name, struct ifp_str value)
{
	if (value.len_bytes)
		ifp_buf_printf(out, ",\"%s\":" IFP_STR_FORMAT, name, IFP_STR_ARGS(value));
}

/* A single rank's file is one of Kineto's again, with what stood around the events of an imported
 * one. */
static void append_header(struct ifp_buf *out, const struct ifp_run_rank *rank)
{
	struct ifp_str others = ifp_str(ifp_document_get_text(rank->imported, "others"));
	struct ifp_str found;

	if (!ifp_args_find(others, "schemaVersion", &found))
		append_member(out, "schemaVersion", ifp_str("1"));
	if (others.len_bytes > 2)
		ifp_buf_printf(out, ",%.*s", (int)others.len_bytes - 2, others.ptr + 1);
	append_member(out, "distributedInfo",
		ifp_str(ifp_document_get_text(rank->imported, "distributed_info")));
	append_member(out, "deviceProperties",
		ifp_str(ifp_document_get_text(rank->imported, "device_properties")));
}

static bool states_unit(const struct ifp_run_rank *rank)
{
	struct ifp_str found;

	return rank && ifp_args_find(ifp_str(ifp_document_get_text(rank->imported, "others")),
			       "displayTimeUnit", &found);
}

/* The rank whose file this is to be; NULL for several. */
static const struct ifp_run_rank *find_rank(const struct export *e)
{
	for (uint32_t i = 0; !e->renumber && i < ifp_run_rank_count(e->run); i++)
		if (is_wanted(e, i))
			return ifp_run_rank(e->run, i);
	return NULL;
}

/*
 * The members before the events. Times count from the run's start; those of imported traces are
 * wall-clock times (of the rank that others are aligned with), and the base that gives them back
 * is stated as Kineto does.
 */
static int open_writer(struct export *e, const char *path)
{
	const struct ifp_run_rank *only = find_rank(e);
	const struct ifp_run_rank *first =
		ifp_run_rank_count(e->run) ? ifp_run_rank(e->run, 0) : NULL;

	ifp_buf_clear(&e->key);
	if (!states_unit(only))
		ifp_buf_append_text(&e->key, ",\"displayTimeUnit\":\"ms\"");
	if (only)
		append_header(&e->key, only);
	if (first && first->imported)
		ifp_buf_printf(
			&e->key, ",\"baseTimeNanoseconds\":%" PRId64, ifp_run_base(e->run).ns);
	if (e->renumber)
		append_metadata(e);
	if (ifp_buf_status(&e->key))
		return -ENOMEM;
	/* Behind the first comma. */
	return ifp_chrome_writer_open(path, GZIP_LEVEL,
		(struct ifp_str){(const char *)e->key.data + 1, (uint32_t)e->key.len_bytes - 1},
		&e->writer);
}

static void export_free(struct export *e)
{
	ifp_chrome_writer_abandon(&e->writer);
	ifp_intern_free(&e->processes);
	ifp_buf_free(&e->key);
	ifp_buf_free(&e->extra);
	ifp_buf_free(&e->args);
}

static bool is_one(const struct ifp_ranges *ranks)
{
	return ranks && ranks->count == 1 && ranks->items[0].first == ranks->items[0].last;
}

int ifp_export_chrome(struct ifp_run *run, const struct ifp_ranges *ranks, const char *path,
	struct ifp_exported *result)
{
	struct ifp_exported exported = {0};
	IFP_CLEANUP(export_free)
	struct export e = {
		.run = run, .ranks = ranks, .renumber = !is_one(ranks), .result = &exported};
	int err = open_writer(&e, path);

	ifp_run_keep_as_recorded(run);
	if (!err)
		err = export_ranks(&e);
	if (!err)
		err = ifp_buf_status(&e.args);
	if (!err)
		err = ifp_chrome_writer_close(&e.writer);
	if (!err)
		*result = exported;
	return err;
}
