/* SPDX-License-Identifier: Apache-2.0 */
/* sample_archive PATH RANKS STEPS SLOW_RANK SLOW_MS [ONLY_RANK [JOB]]: sample_job.h for scripts. */
#include "sample_job.h"

#include "core/log.h"
#include "core/time.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct sample_job job = {.only_rank = SAMPLE_ALL_RANKS, .job = "job-1"};

	if (argc < 6) {
		fprintf(stderr,
			"sample_archive: PATH RANKS STEPS SLOW_RANK SLOW_MS [ONLY_RANK [JOB]]\n");
		return 2;
	}
	job.ranks = (uint32_t)atoi(argv[2]);
	job.steps = (uint32_t)atoi(argv[3]);
	job.slow_rank = (uint32_t)atoi(argv[4]);
	job.slow_ns = atoi(argv[5]) * IFP_NS_PER_MS;
	if (argc > 6)
		job.only_rank = (uint32_t)atoi(argv[6]);
	if (argc > 7)
		job.job = argv[7];
	if (sample_job_write(argv[1], &job) == 0)
		return 0;
	ifp_log_chain(IFP_LOG_ERROR);
	return 1;
}
