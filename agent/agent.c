/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include "agent/launch/output.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/log.h"
#include "core/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The program takes the place of this process: nothing of infprof is left. */
static int run_untouched(char *const argv[])
{
	int err;

	ifp_process_restore_write_signals();
	execvp(argv[0], argv);
	err = -errno;
	ifp_process_ignore_write_signals();
	ifp_log_error("cannot start %s: %s", argv[0], strerror(-err));
	return ifp_child_start_status(err);
}

static void setup_log(const struct ifp_agent *agent)
{
	char name[64] = "infprof";

	if (agent->identity.world > 1)
		snprintf(name, sizeof(name), "infprof[%u]", agent->identity.rank);
	ifp_log_setup(agent->options->quiet ? IFP_LOG_WARN : IFP_LOG_INFO, name);
}

/* Who this is and what is wanted: what is wrong here is wrong use. */
static int read_wishes(struct ifp_agent *agent)
{
	int err = ifp_identity_read(environ, &agent->identity);

	return err ? err
		   : ifp_agent_windows(
			     &agent->options->steps, agent->identity.world, &agent->wishes);
}

/* Ends as the program has ended; the agent is freed already. */
static int end_like(const struct ifp_child *child, int start_status, int killed_by)
{
	if (killed_by)
		ifp_child_die_of(killed_by);
	if (start_status)
		return start_status;
	ifp_child_exit_like(child);
}

static void say_not_started(struct ifp_agent *agent)
{
	const struct ifp_agent_counters counters = ifp_agent_count(agent);
	char *end = ifp_document_end(&agent->child, 0, &counters);

	ifp_session_failing(&agent->session, end);
	ifp_session_bye(&agent->session, ifp_clock_raw_ns(), end);
	cJSON_free(end);
}

/*
 * From the wishes to the last acknowledgement. 0 and the agent in the phase in which it ended;
 * negative errno with a cause when it never began, *usage as for ifp_agent_setup().
 */
static int watch(struct ifp_agent *agent, bool *usage)
{
	int err;

	*usage = true;
	err = read_wishes(agent);
	if (err)
		return err;
	setup_log(agent);
	err = ifp_agent_setup(agent, usage);
	if (err)
		return err;
	ifp_agent_loop(agent);
	if (agent->killed_by)
		say_not_started(agent);
	return 0;
}

int ifp_agent_run(const struct ifp_agent_options *options, char *const argv[])
{
	struct ifp_agent agent = {
		.options = options,
		.argv = argv,
		.phase = IFP_AGENT_DECLINED,
		.rendezvous = {.collector.pidfd = -1, .directory.lock = -1},
		.signals.fd = -1,
	};
	bool usage;

	if (options->off)
		return run_untouched(argv);
	if (watch(&agent, &usage)) {
		if (!usage)
			ifp_fail(-EIO, "the program runs without infprof");
		ifp_log_chain(usage ? IFP_LOG_ERROR : IFP_LOG_WARN);
	} else {
		usage = false;
	}
	if (agent.phase == IFP_AGENT_DECLINED && agent.output)
		ifp_output_unmake(agent.output);
	ifp_agent_teardown(&agent);
	if (usage)
		return IFP_EXIT_USAGE;
	if (agent.phase == IFP_AGENT_DECLINED)
		return run_untouched(argv);
	return end_like(&agent.child, agent.start_status, agent.killed_by);
}
