/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One life of the MPI clock helper as the agent runs it:
 *     run_clock_helper HELPER EPOCH LEADER(0|1) LOG
 * Prints "edge CLIENT SERVER LOW HIGH ROUND_TRIPS" for each edge, or the cause and fails.
 */
#include "agent/launch/clock_helper.h"
#include "core/cleanup.h"
#include "core/log.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

static int run(
	struct ifp_clock_helper *helper, const struct ifp_clock_edge **edges, uint32_t *count)
{
	int result;

	while ((result = ifp_clock_helper_poll(helper, edges, count)) == 1) {
		struct pollfd item = {.fd = ifp_clock_helper_fd(helper), .events = POLLIN};

		poll(&item, 1, 1000);
	}
	return result;
}

int main(int argc, char **argv)
{
	IFP_CLEANUP(ifp_clock_helper_free) struct ifp_clock_helper *helper = NULL;
	const struct ifp_clock_edge *edges = NULL;
	uint32_t count = 0;

	if (argc != 5)
		return 2;
	if (ifp_clock_helper_start(
		    argv[1], (uint32_t)atoi(argv[2]), argv[3][0] == '1', argv[4], &helper) ||
		run(helper, &edges, &count)) {
		ifp_log_chain(IFP_LOG_ERROR);
		return 1;
	}
	for (uint32_t i = 0; i < count; i++)
		printf("edge %" PRIu32 " %" PRIu32 " %" PRId64 " %" PRId64 " %" PRIu32 "\n",
			edges[i].client, edges[i].server, edges[i].low_ns, edges[i].high_ns,
			edges[i].round_trips);
	return 0;
}
