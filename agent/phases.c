/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include "agent/ledger.h"
#include "agent/verdict.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* From the agent's own start to the program's, whoever is missing. */
#define START_DEADLINE_NS (20 * IFP_NS_PER_S)
/* After a failure, and after FLUSH: a job that would have ended must not be held up. */
#define FLUSH_DEADLINE_NS (2 * IFP_NS_PER_S)
/* Without an acknowledgement for so long, a collector that answers cannot store what it gets. */
#define STUCK_NS (30 * IFP_NS_PER_S)
/* Longest silence of a collector that is drawing. */
#define VERDICT_SILENCE_NS (120 * IFP_NS_PER_S)
/* The last message of a collector that has ended may still be on its way. */
#define WIDOW_NS (500 * IFP_NS_PER_MS)

static bool failed(const struct ifp_agent *agent)
{
	return agent->start_status || (agent->child.ended && !ifp_child_succeeded(&agent->child));
}

static void add_document(struct ifp_agent *agent, enum ifp_frame_type type, const char *document)
{
	const struct ifp_frame frame = {
		.type = type,
		.payload = (const uint8_t *)document,
		.payload_bytes = document ? (uint32_t)strlen(document) : 0,
	};

	if (document && ifp_frame_queue_add(ifp_uplink_frames(agent->uplink), &frame))
		ifp_error_clear();
}

static void renew_end_document(struct ifp_agent *agent)
{
	const struct ifp_agent_counters counters = ifp_agent_count(agent);

	cJSON_free(agent->end_document);
	agent->end_document = ifp_document_end(&agent->child, agent->start_status, &counters);
}

static void begin_ending(struct ifp_agent *agent, int64_t now_ns)
{
	agent->ended_ns = now_ns;
	agent->phase = IFP_AGENT_ENDING;
	renew_end_document(agent);
	if (failed(agent))
		ifp_session_failing(&agent->session, agent->end_document);
	if (ifp_marks_finish(agent->marks, &agent->sink))
		ifp_error_clear();
}

static void start_program(struct ifp_agent *agent, int64_t now_ns)
{
	char *document;
	int err = ifp_child_start(
		agent->argv, &agent->environment, &agent->signals.original, &agent->child);

	if (err)
		ifp_log_chain(IFP_LOG_ERROR);
	document = ifp_document_rank_start(&agent->facts, agent->child.pid);
	add_document(agent, IFP_FRAME_RANK, document);
	cJSON_free(document);
	agent->phase = IFP_AGENT_RUNNING;
	if (err) {
		agent->start_status = ifp_child_start_status(err);
		begin_ending(agent, now_ns);
	}
}

static void greet(const struct ifp_agent *agent)
{
	if (agent->identity.rank != 0)
		return;
	if (agent->session.missing)
		ifp_log_warn("%" PRIu32 " of %" PRIu32
			     " ranks have not come: the others start without them",
			agent->session.missing, agent->identity.world);
	if (agent->output)
		ifp_log_info("recording %" PRIu32 " rank%s into %s", agent->identity.world,
			agent->identity.world == 1 ? "" : "s", agent->output);
}

static void turn_joining(struct ifp_agent *agent, int64_t now_ns)
{
	const struct ifp_session *session = &agent->session;
	bool late = now_ns - agent->facts.started_raw_ns > START_DEADLINE_NS;

	if (session->refused) {
		ifp_log_warn(
			"the collector refuses this rank: %s; the program runs without infprof",
			session->refusal);
		agent->phase = IFP_AGENT_DECLINED;
	} else if (session->rolled) {
		greet(agent);
		ifp_rank_clocks_set_leader(agent->clocks, session->leads_clock);
		if (session->plan == IFP_CLOCK_PLAN_MPI && !session->late) {
			ifp_rank_clocks_start_helper(agent->clocks, 0);
			agent->phase = IFP_AGENT_MEETING;
		} else {
			start_program(agent, now_ns);
		}
	} else if (late && session->welcomed) {
		start_program(agent, now_ns);
	} else if (late || ifp_collector_process_ended(&agent->rendezvous.collector)) {
		ifp_log_warn("no collector answers at %s%s: the program runs without infprof",
			agent->rendezvous.address,
			agent->options->collector ? " (is it there, with the same keys?)" : "");
		agent->phase = IFP_AGENT_DECLINED;
	}
}

/* The helper has a deadline of its own. Two MPI lives of one rank must not overlap. */
static void turn_meeting(struct ifp_agent *agent, int64_t now_ns)
{
	if (!ifp_rank_clocks_helper_running(agent->clocks))
		start_program(agent, now_ns);
}

static bool looks_like_python(const char *program)
{
	const char *slash = strrchr(program, '/');

	return !strncmp(slash ? slash + 1 : program, "python", 6);
}

/* What programs load, and was not there for this one. */
static const char *not_found(const struct ifp_agent *agent)
{
	if (!agent->child.pid)
		return NULL;
	if (!agent->paths.library)
		return "lib/infprof/libinfprof.so";
	return agent->paths.python ? NULL : "lib/infprof/python";
}

static void write_ledger(struct ifp_agent *agent)
{
	const struct ifp_agent_counters counters = ifp_agent_count(agent);
	const struct ifp_ledger_facts facts = {
		.marks = ifp_marks_counters(agent->marks),
		.events_lost = ifp_event_blocks_lost(agent->blocks) +
			       ifp_frame_queue_dropped_events(ifp_uplink_frames(agent->uplink)),
		.suspensions = ifp_rank_clocks_suspensions(agent->clocks),
		.collector_lost = agent->collector_lost,
		/* a program that never ran has nothing that could have been recorded */
		.windows_wanted = agent->wishes.count && agent->child.pid,
		.events_cut = agent->windows.left_out,
		.events_set_aside = agent->windows.set_aside,
		.events_repaired = agent->windows.repaired,
		.slices_negative = agent->windows.negative,
		.windows_tried = agent->windows.attempted,
		.hook = counters.hook,
		.steps = counters.steps,
		.python = looks_like_python(agent->argv[0]),
		.not_found = not_found(agent),
		.polled = agent->polled,
	};
	char *document = ifp_ledger_document(&facts);

	add_document(agent, IFP_FRAME_LEDGER, document);
	cJSON_free(document);
}

static int64_t min_ns(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* When the agent has to leave, whatever is not done by then. */
static int64_t deadline_ns(const struct ifp_agent *agent)
{
	const struct ifp_session *session = &agent->session;
	int64_t deadline = agent->hurry_ns ? agent->hurry_ns : INT64_MAX;

	if (failed(agent))
		deadline = min_ns(deadline, agent->ended_ns + FLUSH_DEADLINE_NS);
	if (session->flush) {
		int64_t from_ns =
			session->flush_ns > agent->ended_ns ? session->flush_ns : agent->ended_ns;

		deadline = min_ns(deadline, from_ns + FLUSH_DEADLINE_NS);
	}
	return deadline;
}

static void turn_ending(struct ifp_agent *agent, int64_t now_ns)
{
	agent->busy = ifp_rank_windows_finish(&agent->windows);
	if (agent->busy && now_ns < deadline_ns(agent))
		return;
	agent->busy = false;
	ifp_rank_clocks_flush(agent->clocks);
	ifp_event_blocks_flush(agent->blocks);
	write_ledger(agent);
	renew_end_document(agent);
	agent->phase = IFP_AGENT_LEAVING;
}

static void keep_spool(struct ifp_agent *agent)
{
	IFP_CLEANUP_BUF struct ifp_buf words = {0};
	char name[128], *path = NULL;

	add_document(agent, IFP_FRAME_END, agent->end_document);
	snprintf(name, sizeof(name), "infprof-%s-rank%" PRIu32, agent->identity.job,
		agent->identity.rank);
	if (ifp_frame_queue_keep(ifp_uplink_frames(agent->uplink), name, &path)) {
		ifp_log_chain(IFP_LOG_WARN);
		return;
	}
	ifp_buf_append_shell_word(&words, path);
	ifp_buf_append_text(&words, " -o ");
	ifp_buf_append_shell_word(&words, agent->session.output ? agent->session.output : "DIR");
	ifp_buf_append_u8(&words, '\0');
	ifp_log_warn("the collector has not taken everything; add the rest with: infprof collect "
		     "%s",
		words.failed ? path : (const char *)words.data);
	free(path);
}

static void turn_leaving(struct ifp_agent *agent, int64_t now_ns)
{
	struct ifp_session *session = &agent->session;
	uint64_t waiting = ifp_frame_queue_waiting(ifp_uplink_frames(agent->uplink));
	bool stuck = waiting && now_ns - ifp_uplink_progress_ns(agent->uplink) > STUCK_NS;

	if (!waiting)
		ifp_session_bye(session, now_ns, agent->end_document);
	if (session->closed) {
		agent->phase = agent->identity.rank == 0 ? IFP_AGENT_WAITING : IFP_AGENT_GONE;
	} else if (now_ns >= deadline_ns(agent) || stuck || !session->welcomed ||
		   ifp_session_lost(session, now_ns)) {
		if (waiting)
			keep_spool(agent);
		agent->phase = IFP_AGENT_GONE;
	}
}

/*
 * A job that has failed is not held up for its verdict: the collector outlives it. Alone, there are
 * no others to wait for, and what is left of the 2 s is usually enough.
 */
static bool may_wait(const struct ifp_agent *agent, int64_t now_ns)
{
	if (!failed(agent) && !agent->session.flush && !agent->hurry_ns)
		return true;
	return agent->identity.world == 1 && !agent->hurry_ns && now_ns < deadline_ns(agent);
}

static void turn_waiting(struct ifp_agent *agent, int64_t now_ns)
{
	const struct ifp_session *session = &agent->session;

	agent->phase = IFP_AGENT_GONE;
	if (session->verdict) {
		ifp_verdict_print(session->verdict);
		return;
	}
	if (!may_wait(agent, now_ns)) {
		if (agent->output)
			ifp_log_info(
				"what was recorded until the end will be in %s", agent->output);
		return;
	}
	if (!agent->widowed_ns && ifp_collector_process_ended(&agent->rendezvous.collector))
		agent->widowed_ns = now_ns;
	if (now_ns - session->heard_ns > VERDICT_SILENCE_NS)
		ifp_log_warn("the collector has not finished in time; it goes on on its own");
	else if (agent->widowed_ns && now_ns - agent->widowed_ns > WIDOW_NS)
		ifp_log_warn("the collector ended without a verdict: see %s/collector.log; "
			     "infprof timeline draws from %s/run.ifp",
			agent->output, agent->output);
	else
		agent->phase = IFP_AGENT_WAITING;
}

void ifp_agent_turn(struct ifp_agent *agent, int64_t now_ns)
{
	switch (agent->phase) {
	case IFP_AGENT_JOINING:
		turn_joining(agent, now_ns);
		break;
	case IFP_AGENT_MEETING:
		turn_meeting(agent, now_ns);
		break;
	case IFP_AGENT_RUNNING:
		if (ifp_child_poll(&agent->child))
			begin_ending(agent, now_ns);
		break;
	case IFP_AGENT_ENDING:
		turn_ending(agent, now_ns);
		break;
	case IFP_AGENT_LEAVING:
		turn_leaving(agent, now_ns);
		break;
	case IFP_AGENT_WAITING:
		turn_waiting(agent, now_ns);
		break;
	case IFP_AGENT_GONE:
	case IFP_AGENT_DECLINED:
		break;
	}
}
