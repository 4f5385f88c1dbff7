/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include "agent/launch/output.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

/* For the collector's start, and for waiting for rank 0 on another host. */
#define MEET_MS 10000

static int find_facts(struct ifp_agent *agent)
{
	struct ifp_agent_facts *facts = &agent->facts;

	facts->options = agent->options;
	facts->identity = &agent->identity;
	facts->windows = &agent->wishes;
	facts->argv = agent->argv;
	facts->clock = ifp_clock_identity_read();
	facts->started_realtime_ns = ifp_clock_realtime_ns();
	facts->started_raw_ns = ifp_clock_raw_ns();
	ifp_output_program_name(agent->argv, facts->program);
	if (gethostname(facts->host, sizeof(facts->host) - 1))
		snprintf(facts->host, sizeof(facts->host), "localhost");
	return ifp_paths_find(&agent->paths);
}

static int meet(struct ifp_agent *agent, bool *usage)
{
	const struct ifp_agent_options *options = agent->options;
	struct ifp_rendezvous_wish wish = {
		.identity = &agent->identity,
		.collector = options->collector,
		.key_file = options->key_file,
		.limits = options->limits,
		.collector_executable = agent->paths.collector,
		.deadline_ms = MEET_MS,
	};
	int err;

	agent->output_parent = ifp_output_parent(options->output);
	if (!agent->output_parent)
		return ifp_fail(-ENOMEM, "no memory for a path");
	wish.output_parent = agent->output_parent;
	err = ifp_rendezvous_check(&wish);
	if (!err && ifp_rendezvous_starts_collector(&wish))
		err = ifp_output_make(options->output, agent->facts.program,
			agent->facts.started_realtime_ns, &agent->output);
	*usage = err != 0;
	if (err)
		return err;
	agent->facts.output = wish.output = agent->output;
	return ifp_rendezvous_meet(&wish, &agent->rendezvous);
}

/* $TMPDIR, unless nothing can be written there. */
static const char *spool_directory(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory && !access(directory, W_OK | X_OK) ? directory : "/tmp";
}

static int connect_collector(struct ifp_agent *agent)
{
	const char *directory = spool_directory();
	const struct ifp_keys *keys = agent->rendezvous.encrypted ? &agent->rendezvous.keys : NULL;
	struct ifp_uplink_config config = {
		.address = agent->rendezvous.address,
		.keys = keys,
		.queue = {.rank = agent->identity.rank,
			.memory_bytes = IFP_UPLINK_MEMORY_BYTES,
			.spool_bytes = (uint64_t)agent->options->spool_bytes,
			.spool_directory = directory},
	};
	int err;

	agent->zmq_context = zmq_ctx_new();
	if (!agent->zmq_context)
		return ifp_fail(-EMFILE, "start ZeroMQ: %s", zmq_strerror(zmq_errno()));
	config.zmq_context = agent->zmq_context;
	err = ifp_uplink_new(&config, &agent->uplink);
	if (err)
		return err;
	/* clocks can be compared over MPI, too; and most jobs have one clock only */
	if (ifp_ping_server_new(agent->zmq_context, agent->rendezvous.ping, keys, &agent->pings))
		ifp_log_chain(IFP_LOG_WARN);
	else
		agent->facts.clock_endpoint = ifp_ping_server_endpoint(agent->pings);
	agent->session.uplink = agent->uplink;
	agent->session.facts = &agent->facts;
	return 0;
}

static int make_sink(struct ifp_agent *agent)
{
	int err = ifp_event_blocks_new(ifp_uplink_frames(agent->uplink), &agent->blocks);

	if (err)
		return err;
	agent->steps = calloc(1, sizeof(*agent->steps));
	if (!agent->steps)
		return ifp_fail(-ENOMEM, "no memory for step marks");
	agent->steps->next = ifp_event_blocks_sink(agent->blocks);
	agent->sink = ifp_step_log_sink(agent->steps);
	return 0;
}

static int make_sources(struct ifp_agent *agent)
{
	struct ifp_segment_header *segment;
	int err = ifp_marks_new(&agent->marks);

	if (!err)
		err = ifp_kineto_new(&agent->kineto);
	if (err)
		return err;
	ifp_marks_set_rank(agent->marks, agent->identity.rank, agent->identity.world);
	segment = ifp_marks_segment(agent->marks);
	atomic_store(&segment->may_arm, agent->wishes.count ? 1u : 0u);
	ifp_kineto_set_segment(agent->kineto, segment);
	return 0;
}

/* torchrun starts ranks for process groups of PyTorch, and "none" no ranks at all. */
static bool sees_mpi(const struct ifp_agent *agent)
{
	const char *launcher = agent->identity.launcher;

	if (agent->options->mpi != IFP_MPI_AUTO)
		return agent->options->mpi == IFP_MPI_ON;
	return strcmp(launcher, "torchrun") != 0 && strcmp(launcher, "none") != 0;
}

static int make_environment(struct ifp_agent *agent)
{
	int err = ifp_environment_copy(&agent->environment);

	if (!err && agent->paths.library)
		err = ifp_marks_environment(
			agent->marks, &agent->environment, agent->paths.library);
	/* without it the program is recorded all the same */
	if (!err && agent->paths.library && sees_mpi(agent) &&
		ifp_marks_environment_mpi(&agent->environment, agent->paths.library))
		ifp_log_chain(IFP_LOG_WARN);
	if (!err && agent->paths.python)
		err = ifp_kineto_environment(
			agent->kineto, &agent->environment, agent->paths.python);
	/* lets the program use MPI after the helper has, in every release of Open MPI */
	if (!err && !strcmp(agent->identity.launcher, "openmpi"))
		err = ifp_environment_default(&agent->environment, "PMIX_MCA_gds", "hash");
	return err;
}

static int make_clocks(struct ifp_agent *agent)
{
	const struct ifp_rank_clocks_config config = {
		.uplink = agent->uplink,
		.zmq_context = agent->zmq_context,
		.keys = agent->rendezvous.encrypted ? &agent->rendezvous.keys : NULL,
		.rank = agent->identity.rank,
		.world = agent->identity.world,
		.marks = agent->marks,
		.helper_path = agent->paths.clock_mpi,
	};
	int err = ifp_rank_clocks_new(&config, &agent->clocks);

	if (err)
		return err;
	ifp_rank_windows_setup(&agent->windows, &(struct ifp_rank_windows_config){
							.kineto = agent->kineto,
							.uplink = agent->uplink,
							.blocks = agent->blocks,
							.steps = agent->steps,
							.clocks = agent->clocks,
							.sink = agent->sink,
						});
	return 0;
}

int ifp_agent_setup(struct ifp_agent *agent, bool *usage)
{
	int err = find_facts(agent);

	*usage = false;
	if (!err)
		err = meet(agent, usage);
	if (!err)
		err = connect_collector(agent);
	if (!err)
		err = make_sink(agent);
	if (!err)
		err = make_sources(agent);
	if (!err)
		err = make_environment(agent);
	if (!err)
		err = make_clocks(agent);
	if (!err)
		err = ifp_signals_setup(&agent->signals, &agent->identity);
	return err;
}

void ifp_agent_teardown(struct ifp_agent *agent)
{
	ifp_rank_clocks_free(&agent->clocks);
	ifp_kineto_free(&agent->kineto);
	ifp_marks_free(&agent->marks);
	ifp_event_blocks_free(&agent->blocks);
	free(IFP_TAKE_PTR(agent->steps));
	ifp_session_free(&agent->session);
	ifp_ping_server_free(&agent->pings);
	ifp_uplink_free(&agent->uplink);
	if (agent->zmq_context)
		zmq_ctx_term(IFP_TAKE_PTR(agent->zmq_context));
	ifp_environment_free(&agent->environment);
	ifp_rendezvous_free(&agent->rendezvous);
	ifp_paths_free(&agent->paths);
	ifp_signals_restore(&agent->signals);
	cJSON_free(IFP_TAKE_PTR(agent->end_document));
	free(IFP_TAKE_PTR(agent->output));
	free(IFP_TAKE_PTR(agent->output_parent));
}
