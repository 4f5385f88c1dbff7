/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process of a job this is, from the variables that its launcher has set. Launchers nest
 * (mpirun starts torchrun, srun starts mpirun's daemons): the innermost one counts, because its
 * variables are the only ones that differ between all ranks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define IFP_IDENTITY_JOB_BYTES 64
#define IFP_IDENTITY_MAX_WORLD (1u << 20)

struct ifp_identity {
	const char *launcher; /* "torchrun", "openmpi", "pmix", "slurm", "pmi", or "none" */
	uint32_t rank, world;
	uint32_t local_rank;
	uint32_t local_size;		  /* ranks on this host; 0 = the launcher does not say */
	char job[IFP_IDENTITY_JOB_BYTES]; /* equal on all ranks; letters, digits, "._-" only */
	/* The launcher sends its signals to the rank's whole process group, program included. */
	bool signals_group;
};

/*
 * Reads variables as environ holds them ("NAME=value", NULL at the end; NULL = none). -EINVAL with
 * a cause that names the variable when the values cannot be right. No launcher's variables at all:
 * rank 0 of 1, with a job name of its own.
 */
int ifp_identity_read(char *const *variables, struct ifp_identity *out);

/* Whether all ranks of the job are on this host, as far as the launcher says. */
static inline bool ifp_identity_one_host(const struct ifp_identity *identity)
{
	return identity->local_size == identity->world;
}
