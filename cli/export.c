/* SPDX-License-Identifier: Apache-2.0 */
/* infprof export: the events of an archive, all of them, in another format. */
#include "cli/verb.h"

#include "collector/store/run.h"
#include "collector/timeline/recorded.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/intern.h"
#include "core/log.h"
#include "trace/chrome/escape.h"
#include "trace/chrome/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GZIP_LEVEL 4
#define ALL_RANKS (-1)

struct values {
	const char *output;
	int format;
	int64_t rank;
};

static const char *const formats[] = {"chrome", NULL};

static const struct ifp_option options[] = {
	{.name = "output",
		.letter = 'o',
		.argument = "FILE",
		.environment = "",
		.doc = "The file to write; compressed when its name ends in .gz. - is the standard "
		       "output.",
		.type = IFP_OPTION_TEXT,
		.offset = offsetof(struct values, output)},
	{.name = "format",
		.argument = "FORMAT",
		.environment = "",
		.doc = "The format to write.",
		.type = IFP_OPTION_CHOICE,
		.offset = offsetof(struct values, format),
		.choices = formats},
	{.name = "rank",
		.argument = "R",
		.environment = "",
		.doc = "Only the events of this rank, with processes and flows numbered as they "
		       "were recorded.",
		.type = IFP_OPTION_INT,
		.offset = offsetof(struct values, rank),
		.max = UINT32_MAX},
};

static const struct ifp_command command = {
	.name = "infprof export",
	.synopsis = "ARCHIVE|DIR [--format FORMAT] [--rank R] -o FILE",
	.summary = "write the events of an archive in another format",
	.description =
		"Writes every event that the archive holds, none left out, with times of the whole "
		"job that start at 0. Without --rank, processes get new numbers, so that those of "
		"two ranks never meet. To look at a run in TensorBoard, use infprof-timeline(1).",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.options_anywhere = true,
};

/* One export. */
struct export
{
	struct ifp_run *run;
	struct ifp_chrome_writer *writer;
	bool renumber;
	struct ifp_intern processes; /* "rank/pid": its id + 1 is the new pid */
	struct ifp_buf key;
	struct ifp_buf extra; /* texts of the event at hand, changed */
	uint64_t written;
	uint64_t without_phase; /* of a kind that the reader did not know either */
};

/* Times as the trace had them, where it was imported, also those that cannot be. */
static void set_times(const struct export *e, const struct ifp_run_rank *rank,
	const struct ifp_timed_event *timed, struct ifp_chrome_element *element)
{
	element->start_ns = rank->imported ? timed->event.start : timed->start_ns;
	element->dur_ns = rank->imported ? timed->event.dur : timed->dur_ns;
	element->zero_ns = rank->imported ? ifp_run_base(e->run).ns : 0;
}

static void write_meta(struct export *e, const struct ifp_run_rank *rank, int64_t pid,
	const char *name, const char *member)
{
	struct ifp_chrome_element element = {.phase = 'M', .pid = pid, .name = ifp_str(name)};

	ifp_buf_clear(&e->key);
	ifp_buf_printf(&e->key, "{\"%s\":\"rank %u ", member, rank->rank);
	ifp_json_escape(&e->key, ifp_str(rank->host));
	ifp_buf_append_text(&e->key, "\"}");
	if (e->key.failed)
		return;
	element.args = (struct ifp_str){(const char *)e->key.data, (uint32_t)e->key.len_bytes};
	ifp_chrome_writer_add(e->writer, &element);
}

/*
 * Tells people which rank a renumbered process is of. The trace may hold a name of its own for it,
 * which comes later and wins; labels are shown beside it.
 */
static void write_rank(struct export *e, const struct ifp_run_rank *rank, int64_t pid)
{
	write_meta(e, rank, pid, "process_name", "name");
	write_meta(e, rank, pid, "process_labels", "labels");
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
		write_rank(e, rank, element->pid);
	return 0;
}

static int export_event(
	struct export *e, const struct ifp_run_rank *rank, const struct ifp_timed_event *timed)
{
	const struct ifp_event *event = &timed->event;
	struct ifp_chrome_element element;
	int err = ifp_recorded_element(event, rank->rank, e->renumber, &e->extra, &element);

	if (!err && !element.phase) {
		e->without_phase++;
		return 0;
	}
	if (err)
		return err;
	set_times(e, rank, timed, &element);
	if (e->renumber)
		err = renumber(e, rank, event, &element);
	if (err)
		return err;
	ifp_chrome_writer_add(e->writer, &element);
	e->written++;
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
	err = ifp_run_load_events(e->run, i, &events);
	for (uint64_t k = 0; !err && k < events.count; k++)
		err = export_event(e, rank, &events.events[k]);
	return err;
}

static int export_ranks(struct export *e, int64_t wanted)
{
	bool found = false;
	int err = 0;

	e->renumber = wanted == ALL_RANKS;
	for (uint32_t i = 0; !err && i < ifp_run_rank_count(e->run); i++) {
		if (wanted != ALL_RANKS && ifp_run_rank(e->run, i)->rank != wanted)
			continue;
		found = true;
		err = export_rank(e, i);
	}
	if (!err && !found)
		err = wanted == ALL_RANKS
			      ? ifp_fail(-ENOENT, "the archive holds no rank")
			      : ifp_fail(-ENOENT, "the archive holds no rank %" PRId64, wanted);
	return err;
}

/*
 * The members before the events. Times count from the run's start; those of imported traces are
 * wall-clock times, and the base that gives them back is stated as Kineto does.
 */
static int open_writer(struct export *e, const char *path)
{
	const char *members = "\"schemaVersion\":1,\"displayTimeUnit\":\"ms\"";
	const struct ifp_run_rank *first =
		ifp_run_rank_count(e->run) ? ifp_run_rank(e->run, 0) : NULL;

	ifp_buf_clear(&e->key);
	ifp_buf_append_text(&e->key, members);
	if (first && first->imported)
		ifp_buf_printf(
			&e->key, ",\"baseTimeNanoseconds\":%" PRId64, ifp_run_base(e->run).ns);
	if (ifp_buf_status(&e->key))
		return -ENOMEM;
	return ifp_chrome_writer_open(path, GZIP_LEVEL,
		(struct ifp_str){(const char *)e->key.data, (uint32_t)e->key.len_bytes},
		&e->writer);
}

static void export_free(struct export *e)
{
	ifp_chrome_writer_abandon(&e->writer);
	ifp_run_close(&e->run);
	ifp_intern_free(&e->processes);
	ifp_buf_free(&e->key);
	ifp_buf_free(&e->extra);
}

/* Not between the events, where these go to the standard output. */
static void print_summary(const struct export *e, const char *output)
{
	if (strcmp(output, IFP_CHROME_STANDARD_OUTPUT) != 0)
		printf("%s: %" PRIu64 " events\n", output, e->written);
	if (e->without_phase)
		ifp_log_warn("%" PRIu64 " events of unknown kind were left out", e->without_phase);
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	const struct values *v = values;
	IFP_CLEANUP(export_free) struct export e = {0};
	char path[PATH_MAX];
	int err;

	if (!v->output)
		return ifp_verb_usage(&ifp_verb_export, "-o FILE is missing");
	err = ifp_verb_archive(arguments->items[0], path);
	if (!err)
		err = ifp_verb_check_output(v->output, path);
	if (!err)
		err = ifp_run_open(path, &e.run);
	if (!err)
		err = open_writer(&e, v->output);
	if (!err)
		err = export_ranks(&e, v->rank);
	if (!err)
		err = ifp_chrome_writer_close(&e.writer);
	if (err < 0)
		return err;
	print_summary(&e, v->output);
	return IFP_EXIT_OK;
}

static const struct values defaults = {.rank = ALL_RANKS};

const struct ifp_verb ifp_verb_export = {
	.command = &command,
	.defaults = &defaults,
	.values_bytes = sizeof(struct values),
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run,
};
