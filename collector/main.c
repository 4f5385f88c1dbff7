/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/options.h"
#include "collector/serve.h"
#include "core/error.h"
#include "core/log.h"
#include "core/process.h"

#include <errno.h>
#include <stdlib.h>

#define EXIT_USAGE 2

int main(int argc, char **argv)
{
	struct ifp_collector_options options = ifp_collector_option_defaults;
	IFP_CLEANUP_OPTIONS struct ifp_options_memory memory = {0};
	enum ifp_options_outcome outcome;
	bool saw_separator;
	int first, err;

	ifp_process_hold_standard_files();
	ifp_process_ignore_write_signals();
	ifp_log_setup(IFP_LOG_INFO, "infprof-collector");
	err = ifp_options_parse(&ifp_collector_command, &options, argc, argv, &memory, &outcome,
		&first, &saw_separator);
	if (!err && outcome == IFP_OPTIONS_DONE)
		return EXIT_SUCCESS;
	if (!err && first < argc)
		err = ifp_fail(-EINVAL, "unexpected argument \"%s\"", argv[first]);
	if (err) {
		ifp_log_chain(IFP_LOG_ERROR);
		return EXIT_USAGE;
	}
	err = options.keygen ? ifp_collector_keygen(options.keygen) : ifp_collector_serve(&options);
	if (!err)
		return EXIT_SUCCESS;
	ifp_log_chain(IFP_LOG_ERROR);
	return err == -EPERM || err == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
}
