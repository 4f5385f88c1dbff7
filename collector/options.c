/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/options.h"

#include "collector/receive/roster.h"
#include "core/cleanup.h"
#include "core/time.h"

#include <limits.h>

#define OFFSET(member) offsetof(struct ifp_collector_options, member)

const struct ifp_collector_options ifp_collector_option_defaults = {
	.ready_fd = STDOUT_FILENO,
	.idle_ns = 60 * IFP_NS_PER_S,
	.limits = IFP_TIMELINE_LIMITS_DEFAULT,
};

#define OWN_VARIABLE(name) "INFPROF_COLLECTOR_" name

/* Environment variables of its own: the agent's are in the environment of a collector it starts. */
static const struct ifp_option options[] = {
	{.name = "listen",
		.letter = 'l',
		.argument = "ADDRESS",
		.type = IFP_OPTION_TEXT,
		.environment = "INFPROF_COLLECTOR_LISTEN",
		.offset = OFFSET(listen),
		.doc = "Where agents reach it: tcp://HOST:PORT, with port * for any free one, or "
		       "ipc:///PATH. Beyond this host it takes --key-file. Default: "
		       "tcp://127.0.0.1:*."},
	{.name = "output",
		.letter = 'o',
		.argument = "DIR",
		.type = IFP_OPTION_TEXT,
		.environment = "INFPROF_COLLECTOR_OUTPUT",
		.offset = OFFSET(output),
		.doc = "Directory for archive, timelines and report. A run that is in it already "
		       "is gone on with. Default: infprof-out/collector-TIME."},
	{.name = "job",
		.argument = "NAME",
		.type = IFP_OPTION_TEXT,
		.environment = "INFPROF_COLLECTOR_JOB",
		.offset = OFFSET(job),
		.doc = "The launcher's name of the one job to serve; agents of others are refused. "
		       "Default: the job of the first agent."},
	{.name = "world",
		.argument = "N",
		.type = IFP_OPTION_INT,
		.environment = "INFPROF_COLLECTOR_WORLD",
		.offset = OFFSET(world),
		.min = 0,
		.max = IFP_ROSTER_MAX_WORLD,
		.doc = "Number of ranks of the job. Default: what the first agent says."},
	{.name = "key-file",
		.letter = 'k',
		.argument = "FILE",
		.type = IFP_OPTION_TEXT,
		.environment = "INFPROF_COLLECTOR_KEY_FILE",
		.offset = OFFSET(key_file),
		.doc = "Keys of the job, made by --keygen: everything is encrypted, and only "
		       "agents with the same file get in."},
	{.name = "keygen",
		.argument = "FILE",
		.type = IFP_OPTION_TEXT,
		.environment = "INFPROF_COLLECTOR_KEYGEN",
		.offset = OFFSET(keygen),
		.doc = "Make new keys, write them to FILE (mode 0600), and exit."},
	{.name = "idle-timeout",
		.argument = "TIME",
		.type = IFP_OPTION_DURATION,
		.environment = "INFPROF_COLLECTOR_IDLE_TIMEOUT",
		.offset = OFFSET(idle_ns),
		.doc = "Exit when no agent has come for so long after the start. Default: 1min."},
	IFP_TIMELINE_FORMATS_OPTION(struct ifp_collector_options, limits, OWN_VARIABLE),
	IFP_TIMELINE_OPTIONS(struct ifp_collector_options, limits, OWN_VARIABLE),
	{.name = "ready-fd",
		.argument = "FD",
		.type = IFP_OPTION_INT,
		.environment = "INFPROF_COLLECTOR_READY_FD",
		.offset = OFFSET(ready_fd),
		.min = 1,
		.max = INT_MAX,
		.doc = "Write the line \"ready ADDRESS\", or \"error CAUSE\", to this file "
		       "descriptor and close it. Default: ready to the standard output."},
};

static const struct ifp_command_section sections[] = {
	{"EXAMPLES", "infprof-collector --keygen job.key && infprof-collector --listen "
		     "tcp://10.0.0.1:7777 --key-file job.key --output runs/a"},
	{"EXIT STATUS", "0 when the job has been served and drawn, 1 for a failure (port in use, "
			"nobody came, disk full), 2 for wrong use, also for listening beyond this "
			"host without keys."},
	{"SIGNALS", "SIGTERM and SIGINT: what is stored is drawn, then it exits. After a SIGKILL, "
		    "start it again with the same --listen and --output: the agents find it and "
		    "nothing that was acknowledged is lost; or draw with infprof timeline "
		    "DIR/run.ifp."},
	{"FILES", "DIR/run.ifp holds everything that was recorded, DIR/merged the timeline for "
		  "TensorBoard, DIR/report.json the verdict."},
};

const struct ifp_command ifp_collector_command = {
	.name = "infprof-collector",
	.synopsis = "[OPTION]...",
	.summary = "receive what the agents of a job record",
	.description =
		"Serves one job: stores what its agents send in one archive, makes all ranks "
		"record the same steps, has their clocks compared, and draws the timeline when the "
		"last rank has ended. infprof-agent starts one by itself; start it by hand for "
		"jobs whose hosts share no file system.",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.sections = sections,
	.section_count = IFP_ARRAY_SIZE(sections),
};
