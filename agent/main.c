/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include "core/error.h"
#include "core/log.h"

#include <stdlib.h>
#include "core/process.h"

int main(int argc, char **argv)
{
	struct ifp_agent_options options = ifp_agent_option_defaults;
	IFP_CLEANUP_OPTIONS struct ifp_options_memory memory = {0};
	enum ifp_options_outcome outcome;
	bool saw_separator;
	int first;

	ifp_process_hold_standard_files();
	ifp_process_ignore_write_signals();
	ifp_log_setup(IFP_LOG_INFO, "infprof-agent");
	if (ifp_options_parse(&ifp_agent_command, &options, argc, argv, &memory, &outcome, &first,
		    &saw_separator)) {
		ifp_log_chain(IFP_LOG_ERROR);
		return IFP_EXIT_USAGE;
	}
	if (outcome == IFP_OPTIONS_DONE)
		return 0;
	/* torchrun takes the first "--" of its own command line for itself */
	if (first >= argc || (!saw_separator && !getenv("TORCHELASTIC_RUN_ID"))) {
		ifp_log_error("%s: put -- before the program, as in: infprof-agent -- PROGRAM",
			first >= argc ? "no program is given"
				      : "the program has to be told from the options");
		return IFP_EXIT_USAGE;
	}
	return ifp_agent_run(&options, argv + first);
}
