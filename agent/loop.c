/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"

#include <zmq.h>

/* Rings are looked at this often: between two looks a thread can fill its ring, see segment.h. */
#define MIN_WAIT_MS 10
#define MAX_WAIT_MS 100
/* Events in one turn from which the rings are looked at more often. */
#define BUSY_EVENTS 200
/* What a signal to an agent whose program has ended leaves it before somebody kills it. */
#define HURRY_NS (500 * IFP_NS_PER_MS)

struct ifp_agent_counters ifp_agent_count(const struct ifp_agent *agent)
{
	const struct ifp_segment_header *segment = ifp_marks_segment(agent->marks);
	const struct ifp_marks_counters marks = ifp_marks_counters(agent->marks);

	return (struct ifp_agent_counters){
		.steps = atomic_load(&segment->step_count),
		.hook = atomic_load(&segment->hook_bits),
		.events = ifp_event_blocks_taken(agent->blocks),
		.spool_bytes = ifp_frame_queue_spool_bytes(ifp_uplink_frames(agent->uplink)),
		.marks = marks.events,
		.marks_dropped = marks.dropped_full + marks.dropped_no_ring,
		.running = ifp_child_running(&agent->child),
	};
}

static void wait_for_something(struct ifp_agent *agent)
{
	zmq_pollitem_t items[6];
	int64_t wait_ms = agent->busy ? 0 : agent->wait_ms;
	int count = 0;
	int helper = ifp_rank_clocks_helper_fd(agent->clocks);
	void *own_pings;

	items[count++] =
		(zmq_pollitem_t){.socket = ifp_uplink_socket(agent->uplink), .events = ZMQ_POLLIN};
	items[count++] = (zmq_pollitem_t){.fd = agent->signals.fd, .events = ZMQ_POLLIN};
	items[count++] = (zmq_pollitem_t){.fd = ifp_kineto_fd(agent->kineto), .events = ZMQ_POLLIN};
	if (agent->pings)
		items[count++] = (zmq_pollitem_t){
			.socket = ifp_ping_server_socket(agent->pings), .events = ZMQ_POLLIN};
	if (helper >= 0)
		items[count++] = (zmq_pollitem_t){.fd = helper, .events = ZMQ_POLLIN};
	own_pings = ifp_rank_clocks_before_wait(agent->clocks, &wait_ms);
	if (own_pings)
		items[count++] = (zmq_pollitem_t){.socket = own_pings, .events = ZMQ_POLLIN};
	if (zmq_poll(items, count, wait_ms) < 0)
		return;
	/* pings first: their stamps are the better the sooner they are taken */
	if (own_pings)
		ifp_rank_clocks_after_wait(agent->clocks);
	if (agent->pings && (items[3].revents & ZMQ_POLLIN))
		ifp_ping_server_answer(agent->pings);
	if (items[2].revents & ZMQ_POLLIN) {
		ifp_kineto_readable(agent->kineto, ifp_agent_count(agent).steps);
		agent->polled = true;
	}
}

static void take_signals(struct ifp_agent *agent, int64_t now_ns)
{
	struct signalfd_siginfo info;

	while (ifp_signals_next(&agent->signals, &info)) {
		if (ifp_child_running(&agent->child)) {
			if (!ifp_signals_reached_program(&agent->signals, &info))
				kill(agent->child.pid, (int)info.ssi_signo);
		} else if (!ifp_signals_ends(&info)) {
			continue;
		} else if (agent->child.ended || agent->start_status) {
			if (!agent->hurry_ns)
				agent->hurry_ns = now_ns + HURRY_NS;
		} else {
			agent->killed_by = (int)info.ssi_signo;
			agent->phase = IFP_AGENT_GONE;
		}
	}
}

static void take_messages(struct ifp_agent *agent, int64_t now_ns)
{
	enum ifp_message_type type;
	cJSON *document;

	while (ifp_session_next(&agent->session, now_ns, &type, &document) > 0) {
		if (type == IFP_MSG_WINDOW_PLAN)
			ifp_rank_windows_plan(
				&agent->windows, document, ifp_agent_count(agent).steps);
		else if (type == IFP_MSG_WINDOW_GO)
			ifp_rank_windows_go(&agent->windows, document);
		else if (type == IFP_MSG_CLOCK_ASK)
			ifp_rank_clocks_ask(agent->clocks, document);
		cJSON_Delete(document);
	}
}

/*
 * Adapts the wait to how much the program records. Turns that a ping or a message has cut short say
 * nothing about that.
 */
static void adapt_wait(struct ifp_agent *agent, int64_t now_ns)
{
	uint64_t events;

	if (now_ns - agent->adapted_ns < MIN_WAIT_MS * IFP_NS_PER_MS)
		return;
	agent->adapted_ns = now_ns;
	events = ifp_marks_counters(agent->marks).events;
	if (events - agent->events_before > BUSY_EVENTS)
		agent->wait_ms = MIN_WAIT_MS;
	else if (agent->wait_ms < MAX_WAIT_MS)
		agent->wait_ms += MIN_WAIT_MS;
	agent->events_before = events;
}

/* Takes in what the program has recorded since the last turn. */
static void record(struct ifp_agent *agent, int64_t now_ns)
{
	if (agent->phase != IFP_AGENT_RUNNING)
		return;
	if (ifp_marks_drain(agent->marks, &agent->sink))
		ifp_error_clear();
	adapt_wait(agent, now_ns);
	agent->busy = ifp_rank_windows_work(&agent->windows, ifp_agent_count(agent).steps);
}

static void send_what_is_due(struct ifp_agent *agent, int64_t now_ns)
{
	const struct ifp_agent_counters counters = ifp_agent_count(agent);

	ifp_rank_clocks_tick(agent->clocks, now_ns);
	/* the launcher is about to end this rank: what is on its way is not lost */
	if (agent->session.flush)
		ifp_event_blocks_flush(agent->blocks);
	ifp_event_blocks_tick(agent->blocks, now_ns);
	ifp_session_tick(&agent->session, now_ns, &counters);
	ifp_uplink_pump(agent->uplink);
	if (agent->phase != IFP_AGENT_GONE && !agent->collector_lost &&
		ifp_session_lost(&agent->session, now_ns)) {
		agent->collector_lost = true;
		ifp_log_warn("no word from the collector for 30 s: what is recorded is kept for "
			     "when it is back");
	}
}

void ifp_agent_loop(struct ifp_agent *agent)
{
	int64_t now_ns = ifp_clock_raw_ns();

	agent->phase = IFP_AGENT_JOINING;
	agent->wait_ms = MIN_WAIT_MS;
	send_what_is_due(agent, now_ns);
	while (agent->phase != IFP_AGENT_GONE && agent->phase != IFP_AGENT_DECLINED) {
		wait_for_something(agent);
		now_ns = ifp_clock_raw_ns();
		take_signals(agent, now_ns);
		if (agent->killed_by)
			break;
		take_messages(agent, now_ns);
		record(agent, now_ns);
		ifp_agent_turn(agent, now_ns);
		send_what_is_due(agent, now_ns);
	}
}
