/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/documents.h"

#include "core/cleanup.h"
#include "core/time.h"
#include "infprof/version.h"
#include "trace/wire/document.h"
#include "trace/wire/message.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A command line longer than this is cut: a document has a limit (IFP_DOCUMENT_MAX_BYTES). */
#define MAX_ARGUMENTS 256
#define MAX_ARGUMENTS_BYTES (64u * 1024u)

static char *finish(cJSON *json)
{
	char *text = cJSON_PrintUnformatted(json);

	cJSON_Delete(json);
	return text;
}

static void add_windows(cJSON *json, const struct ifp_window_wishes *windows)
{
	cJSON *array = cJSON_AddArrayToObject(json, "windows");

	for (uint32_t i = 0; i < windows->count; i++) {
		cJSON *item = cJSON_CreateObject();

		ifp_document_add_count(item, "first", windows->items[i].first);
		ifp_document_add_count(item, "count", windows->items[i].count);
		cJSON_AddItemToArray(array, item);
	}
}

static void add_arguments(cJSON *json, char *const *argv)
{
	cJSON *array = cJSON_AddArrayToObject(json, "argv");
	size_t total_bytes = 0;

	for (size_t i = 0; argv[i] && i < MAX_ARGUMENTS; i++) {
		total_bytes += strlen(argv[i]);
		if (total_bytes > MAX_ARGUMENTS_BYTES)
			return;
		cJSON_AddItemToArray(array, cJSON_CreateString(argv[i]));
	}
}

/* Rounded up: 0 means never. */
static uint64_t interval_ms(int64_t interval_ns)
{
	return (uint64_t)((interval_ns + IFP_NS_PER_MS - 1) / IFP_NS_PER_MS);
}

static cJSON *facts_document(const struct ifp_agent_facts *facts)
{
	const struct ifp_identity *identity = facts->identity;
	const struct ifp_agent_options *options = facts->options;
	cJSON *json = cJSON_CreateObject();

	ifp_document_add_count(json, "version", IFP_WIRE_VERSION);
	cJSON_AddStringToObject(json, "infprof", INFPROF_VERSION);
	cJSON_AddStringToObject(json, "job", identity->job);
	ifp_document_add_count(json, "rank", identity->rank);
	ifp_document_add_count(json, "world", identity->world);
	ifp_document_add_count(json, "local_rank", identity->local_rank);
	cJSON_AddStringToObject(json, "launcher", identity->launcher);
	cJSON_AddStringToObject(json, "host", facts->host);
	ifp_document_add_count(json, "pid", (uint64_t)getpid());
	cJSON_AddStringToObject(json, "boot_id", facts->clock.boot_id);
	ifp_document_add_int64(json, "time_namespace", (int64_t)facts->clock.time_namespace);
	cJSON_AddStringToObject(json, "stamp_clock", ifp_clock_tsc_usable() ? "tsc" : "raw");
	cJSON_AddStringToObject(json, "program", facts->program);
	add_arguments(json, facts->argv);
	if (facts->output)
		cJSON_AddStringToObject(json, "output", facts->output);
	cJSON_AddStringToObject(json, "clock", ifp_clock_choices[options->clock]);
	ifp_document_add_count(json, "clock_interval_ms", interval_ms(options->clock_interval_ns));
	ifp_document_add_count(json, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	if (facts->clock_endpoint)
		cJSON_AddStringToObject(json, "clock_endpoint", facts->clock_endpoint);
	add_windows(json, facts->windows);
	ifp_document_add_count(json, "warmup", (uint64_t)options->warmup);
	ifp_document_add_count(
		json, "duration_ms", (uint64_t)(options->duration_ns / IFP_NS_PER_MS));
	ifp_document_add_int64(json, "started_realtime_ns", facts->started_realtime_ns);
	return json;
}

char *ifp_document_hello(const struct ifp_agent_facts *facts, const char *session)
{
	cJSON *json = facts_document(facts);

	cJSON_AddStringToObject(json, "session", session);
	return finish(json);
}

char *ifp_document_rank_start(const struct ifp_agent_facts *facts, int64_t child_pid)
{
	cJSON *json = facts_document(facts);

	ifp_document_add_count(json, "child_pid", (uint64_t)child_pid);
	return finish(json);
}

char *ifp_document_heartbeat(const struct ifp_agent_counters *counters)
{
	cJSON *json = cJSON_CreateObject();

	ifp_document_add_count(json, "steps", counters->steps);
	ifp_document_add_count(json, "hook", counters->hook);
	ifp_document_add_count(json, "events", counters->events);
	ifp_document_add_count(json, "spool_bytes", counters->spool_bytes);
	cJSON_AddBoolToObject(json, "running", counters->running);
	ifp_document_add_int64(json, "realtime_ns", ifp_clock_realtime_ns());
	return finish(json);
}

static void add_how(cJSON *json, const struct ifp_child *child, int start_status)
{
	const char *how = "exited";
	int status = start_status;

	if (!child->pid) {
		how = "not-started";
	} else if (WIFSIGNALED(child->wait_status)) {
		how = "signalled";
		status = WTERMSIG(child->wait_status);
	} else {
		status = WEXITSTATUS(child->wait_status);
	}
	cJSON_AddStringToObject(json, "how", how);
	cJSON_AddNumberToObject(json, "status", status);
}

char *ifp_document_end(
	const struct ifp_child *child, int start_status, const struct ifp_agent_counters *counters)
{
	cJSON *json = cJSON_CreateObject();
	struct rusage usage = {0};

	getrusage(RUSAGE_SELF, &usage);
	add_how(json, child, start_status);
	ifp_document_add_int64(json, "ended_realtime_ns", ifp_clock_realtime_ns());
	ifp_document_add_count(json, "steps", counters->steps);
	ifp_document_add_count(json, "marks", counters->marks);
	ifp_document_add_count(json, "marks_dropped", counters->marks_dropped);
	ifp_document_add_int64(json, "agent_cpu_ns",
		((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * IFP_NS_PER_S +
			((int64_t)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * IFP_NS_PER_US);
	ifp_document_add_count(json, "agent_peak_bytes", (uint64_t)usage.ru_maxrss * 1024);
	ifp_document_add_int64(json, "program_cpu_ns", child->cpu_ns);
	return finish(json);
}

char *ifp_document_window_ack(
	const struct ifp_window *window, uint64_t steps_now, const char *refusal)
{
	cJSON *json = cJSON_CreateObject();

	ifp_document_add_count(json, "window", window->number);
	ifp_document_add_count(json, "attempt", window->attempt);
	cJSON_AddBoolToObject(json, "accepted", !refusal);
	ifp_document_add_count(json, "steps", steps_now);
	if (refusal)
		cJSON_AddStringToObject(json, "reason", refusal);
	return finish(json);
}

static const char *outcome_word(enum ifp_window_outcome outcome)
{
	static const char *const words[] = {
		[IFP_WINDOW_RECORDED] = "recorded",
		[IFP_WINDOW_LATE] = "late",
		[IFP_WINDOW_LOST] = "lost",
		[IFP_WINDOW_EMPTY] = "empty",
		[IFP_WINDOW_ENDED] = "ended",
	};

	return words[outcome];
}

static cJSON *window_document(const struct ifp_window_result *result, const uint64_t steps_found[2])
{
	cJSON *json = cJSON_CreateObject();

	ifp_document_add_count(json, "window", result->window.number);
	ifp_document_add_count(json, "attempt", result->window.attempt);
	cJSON_AddStringToObject(json, "outcome", outcome_word(result->outcome));
	ifp_document_add_count(json, "first_step", steps_found[0]);
	ifp_document_add_count(json, "last_step", steps_found[1]);
	ifp_document_add_count(json, "events", result->events);
	cJSON_AddBoolToObject(json, "cut", result->cut);
	cJSON_AddStringToObject(json, "reason", result->reason);
	return json;
}

char *ifp_document_window_done(
	const struct ifp_window_result *result, const uint64_t steps_found[2])
{
	return finish(window_document(result, steps_found));
}

char *ifp_document_window_frame(
	const struct ifp_window_result *result, const uint64_t steps_found[2])
{
	bool is_steps = result->window.kind == IFP_WINDOW_STEPS;
	cJSON *json = window_document(result, steps_found);

	ifp_document_add_count(json, "left_out", result->left_out);
	cJSON_AddStringToObject(json, "kind", is_steps ? "steps" : "time");
	ifp_document_add_count(json, "asked_first", is_steps ? result->window.first_step : 0);
	ifp_document_add_count(json, "asked_count", is_steps ? result->window.count : 0);
	ifp_document_add_int64(json, "start_realtime_ns", result->start_realtime_ns);
	ifp_document_add_int64(json, "end_realtime_ns", result->end_realtime_ns);
	return finish(json);
}

static cJSON *edge_document(const struct ifp_clock_edge *edge)
{
	cJSON *json = cJSON_CreateObject();

	ifp_document_add_count(json, "epoch", edge->epoch);
	ifp_document_add_count(json, "client", edge->client);
	ifp_document_add_count(json, "server", edge->server);
	ifp_document_add_count(json, "round_trips", edge->round_trips);
	ifp_document_add_int64(json, "low_ns", edge->low_ns);
	ifp_document_add_int64(json, "high_ns", edge->high_ns);
	ifp_document_add_int64(json, "best_t1_ns", edge->best_t1_ns);
	ifp_document_add_int64(json, "best_t2_ns", edge->best_t2_ns);
	ifp_document_add_int64(json, "best_t3_ns", edge->best_t3_ns);
	ifp_document_add_int64(json, "best_t4_ns", edge->best_t4_ns);
	ifp_document_add_count(json, "over_mpi", edge->over_mpi);
	return json;
}

char *ifp_document_clock_done(uint32_t epoch, int64_t server, const struct ifp_clock_edge *edges,
	uint32_t count, const char *reason)
{
	cJSON *json = cJSON_CreateObject();

	ifp_document_add_count(json, "epoch", epoch);
	cJSON_AddNumberToObject(json, "server", (double)server);
	cJSON_AddStringToObject(json, "outcome", reason ? "failed" : "measured");
	if (reason)
		cJSON_AddStringToObject(json, "reason", reason);
	if (server >= 0 && count) {
		cJSON_AddItemToObject(json, "edge", edge_document(edges));
	} else if (server < 0) {
		cJSON *array = cJSON_AddArrayToObject(json, "edges");

		for (uint32_t i = 0; i < count; i++)
			cJSON_AddItemToArray(array, edge_document(&edges[i]));
	}
	return finish(json);
}
