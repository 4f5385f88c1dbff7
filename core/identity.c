/* SPDX-License-Identifier: Apache-2.0 */
#include "core/identity.h"

#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_NAMES 4

/*
 * Names of variables by launcher, innermost launcher first. Alternatives stand in order of trust.
 * local_size may be Slurm's list of all nodes ("4(x2),3"), in which node picks the place.
 */
static const struct launcher {
	const char *name;
	const char *marker; /* set by this launcher for every rank, and by no other */
	const char *rank, *local_rank, *node;
	const char *world[MAX_NAMES], *local_size[MAX_NAMES];
	const char *job[MAX_NAMES];
	bool job_joined; /* the job's name is all of them together, not the first that is set */
	bool signals_group;
} launchers[] = {
	/* The run id of a static rendezvous is "none" in every job: the master tells them apart. */
	{"torchrun", "TORCHELASTIC_RUN_ID", "RANK", "LOCAL_RANK", NULL, {"WORLD_SIZE"},
		{"LOCAL_WORLD_SIZE"},
		{"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"},
		true, false},
	{"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
		NULL, {"OMPI_COMM_WORLD_SIZE"}, {"OMPI_COMM_WORLD_LOCAL_SIZE"},
		{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}, false, true},
	/* PMIx gives the number of ranks only to its clients: it has to come from who uses PMIx. */
	{"pmix", "PMIX_RANK", "PMIX_RANK", "SLURM_LOCALID", "SLURM_NODEID",
		{"SLURM_STEP_NUM_TASKS", "PMI_SIZE"},
		{"SLURM_STEP_TASKS_PER_NODE", "MPI_LOCALNRANKS"}, {"PMIX_NAMESPACE"}, false, false},
	/* In a batch script outside srun the step's variables are missing: that is no rank. */
	{"slurm", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID",
		{"SLURM_STEP_NUM_TASKS"}, {"SLURM_STEP_TASKS_PER_NODE"},
		{"SLURM_JOB_ID", "SLURM_STEP_ID"}, true, false},
	{"pmi", "PMI_RANK", "PMI_RANK", "MPI_LOCALRANKID", NULL, {"PMI_SIZE"}, {"MPI_LOCALNRANKS"},
		{"PMI_JOBID", "PMI_KVSNAME"}, false, false},
};

/* NULL when not set. */
static const char *get(char *const *variables, const char *name)
{
	size_t len_bytes = strlen(name);

	for (; variables && *variables; variables++) {
		if (!strncmp(*variables, name, len_bytes) && (*variables)[len_bytes] == '=')
			return *variables + len_bytes + 1;
	}
	return NULL;
}

/* The value of the first of the names that is set; *name is that name, or the first of all. */
static const char *first_set(char *const *variables, const char *const *names, const char **name)
{
	*name = names[0];
	for (size_t i = 0; i < MAX_NAMES && names[i]; i++) {
		const char *value = get(variables, names[i]);

		if (value) {
			*name = names[i];
			return value;
		}
	}
	return NULL;
}

/* A decimal number up to max at the start of text; the rest of text in *end. */
static bool parse_number(const char *text, uint32_t max, uint32_t *out, const char **end)
{
	unsigned long long value;
	char *stop;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &stop, 10);
	if (errno || value > max)
		return false;
	*out = (uint32_t)value;
	*end = stop;
	return true;
}

static int bad_value(const struct launcher *launcher, const char *name, const char *value)
{
	return ifp_fail(-EINVAL,
		"%s=%s, set by the launcher (%s), is not a number that is possible", name, value,
		launcher->name);
}

static int read_number(
	const struct launcher *launcher, const char *name, const char *value, uint32_t *out)
{
	const char *end;

	if (!value)
		return ifp_fail(-EINVAL, "%s is not set, although the launcher seems to be %s (%s)",
			name, launcher->name, launcher->marker);
	if (!parse_number(value, IFP_IDENTITY_MAX_WORLD, out, &end) || *end)
		return bad_value(launcher, name, value);
	return 0;
}

/* Element number node of a list in Slurm's form; a plain number is a list of one element. */
static bool list_element(const char *list, uint32_t node, uint32_t *out)
{
	while (*list) {
		uint32_t value, times = 1;

		if (!parse_number(list, IFP_IDENTITY_MAX_WORLD, &value, &list))
			return false;
		if (!strncmp(list, "(x", 2)) {
			if (!parse_number(list + 2, IFP_IDENTITY_MAX_WORLD, &times, &list) ||
				*list++ != ')')
				return false;
		}
		if (node < times) {
			*out = value;
			return true;
		}
		node -= times;
		if (*list == ',')
			list++;
		else if (*list)
			return false;
	}
	return false;
}

static int read_local(
	char *const *variables, const struct launcher *launcher, struct ifp_identity *identity)
{
	const char *rank = get(variables, launcher->local_rank);
	const char *node_text = launcher->node ? get(variables, launcher->node) : NULL;
	const char *name, *size = first_set(variables, launcher->local_size, &name);
	uint32_t node = 0;
	int err;

	if (!rank || !size) {
		/* alone needs no launcher to know that it is on one host */
		identity->local_size = identity->world == 1 ? 1 : 0;
		return 0;
	}
	err = read_number(launcher, launcher->local_rank, rank, &identity->local_rank);
	if (!err && node_text)
		err = read_number(launcher, launcher->node, node_text, &node);
	if (err)
		return err;
	if (!list_element(size, node, &identity->local_size) || !identity->local_size ||
		identity->local_size > identity->world)
		return bad_value(launcher, name, size);
	if (identity->local_rank >= identity->local_size)
		return ifp_fail(-EINVAL, "%s=%s, but this host has only %u ranks (%s)",
			launcher->local_rank, rank, identity->local_size, name);
	return 0;
}

/* Names become names of files and sockets: only harmless characters stay. */
static void add_to_job(struct ifp_identity *identity, const char *text)
{
	size_t used = strlen(identity->job);

	if (used && used + 1 < sizeof(identity->job))
		identity->job[used++] = '-';
	for (; *text && used + 1 < sizeof(identity->job); text++)
		identity->job[used++] =
			isalnum((unsigned char)*text) || strchr("._-", *text) ? *text : '_';
	identity->job[used] = '\0';
}

static int read_job(
	char *const *variables, const struct launcher *launcher, struct ifp_identity *identity)
{
	for (size_t i = 0; i < MAX_NAMES && launcher->job[i]; i++) {
		const char *value = get(variables, launcher->job[i]);

		if (!value || !*value)
			continue;
		add_to_job(identity, value);
		if (!launcher->job_joined)
			break;
	}
	if (!identity->job[0])
		return ifp_fail(-EINVAL, "%s is not set, although the launcher seems to be %s (%s)",
			launcher->job[0], launcher->name, launcher->marker);
	/* "." and ".." are folders */
	if (identity->job[0] == '.')
		identity->job[0] = '_';
	return 0;
}

static int read_from(
	char *const *variables, const struct launcher *launcher, struct ifp_identity *out)
{
	struct ifp_identity identity = {
		.launcher = launcher->name,
		.signals_group = launcher->signals_group,
	};
	const char *rank = get(variables, launcher->rank);
	const char *name, *world = first_set(variables, launcher->world, &name);
	int err = read_number(launcher, launcher->rank, rank, &identity.rank);

	if (!err)
		err = read_number(launcher, name, world, &identity.world);
	if (err)
		return err;
	if (!identity.world || identity.rank >= identity.world)
		return ifp_fail(-EINVAL, "%s=%s does not go with %s=%s, set by the launcher (%s)",
			launcher->rank, rank, name, world, launcher->name);
	err = read_local(variables, launcher, &identity);
	if (!err)
		err = read_job(variables, launcher, &identity);
	if (!err)
		*out = identity;
	return err;
}

int ifp_identity_read(char *const *variables, struct ifp_identity *out)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(launchers); i++) {
		if (get(variables, launchers[i].marker))
			return read_from(variables, &launchers[i], out);
	}
	*out = (struct ifp_identity){.launcher = "none", .world = 1, .local_size = 1};
	snprintf(out->job, sizeof(out->job), "alone-%ld-%llx", (long)getpid(),
		(unsigned long long)ifp_clock_realtime_ns());
	return 0;
}
