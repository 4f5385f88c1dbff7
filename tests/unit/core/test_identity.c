/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "core/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_VARIABLES 16

struct variable {
	const char *name, *value;
};

static int read_identity(const struct variable *variables, struct ifp_identity *identity)
{
	char *environment[MAX_VARIABLES + 1] = {0};
	size_t count = 0;
	int err;

	for (; variables->name; variables++)
		assert_true(asprintf(&environment[count++], "%s=%s", variables->name,
				    variables->value) > 0);
	err = ifp_identity_read(environment, identity);
	while (count)
		free(environment[--count]);
	return err;
}

static const struct {
	struct variable variables[MAX_VARIABLES];
	const char *launcher, *job;
	uint32_t rank, world, local_rank, local_size;
} good[] = {
	{.variables = {{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "8"},
		 {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
		 {"PMIX_NAMESPACE", "3124625409"}, {"OMPI_MCA_ess_base_jobid", "3124625410"},
		 {"PMIX_RANK", "5"}},
		.launcher = "openmpi", .job = "3124625409", .rank = 5, .world = 8, .local_rank = 1,
		.local_size = 4},
	{.variables = {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"},
		 {"OMPI_MCA_ess_base_jobid", "77"}},
		.launcher = "openmpi", .job = "77", .world = 1, .local_size = 1},
	/* mpirun -n 1 torchrun: Open MPI's rank is 0 in both of torchrun's children */
	{.variables = {{"TORCHELASTIC_RUN_ID", "none"}, {"RANK", "1"}, {"WORLD_SIZE", "2"},
		 {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"},
		 {"MASTER_PORT", "29500"}, {"TORCHELASTIC_RESTART_COUNT", "0"},
		 {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"},
		 {"PMIX_NAMESPACE", "1"}},
		.launcher = "torchrun", .job = "none-127.0.0.1-29500-0", .rank = 1, .world = 2,
		.local_rank = 1, .local_size = 2},
	/* without TORCHELASTIC_RUN_ID, RANK alone says nothing about who has set it */
	{.variables = {{"RANK", "3"}, {"WORLD_SIZE", "4"}}, .launcher = "none", .world = 1,
		.local_size = 1},
	{.variables = {{"SLURM_PROCID", "9"}, {"SLURM_STEP_NUM_TASKS", "11"}, {"SLURM_LOCALID", "1"},
		 {"SLURM_NODEID", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"},
		 {"SLURM_JOB_ID", "1234"}, {"SLURM_STEP_ID", "0"}},
		.launcher = "slurm", .job = "1234-0", .rank = 9, .world = 11, .local_rank = 1,
		.local_size = 3},
	/* a batch script outside srun is one process, whatever the allocation */
	{.variables = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "1234"}},
		.launcher = "none", .world = 1, .local_size = 1},
	{.variables = {{"PMIX_RANK", "2"}, {"PMIX_NAMESPACE", "slurm.pmix.1234.0"},
		 {"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_LOCALID", "0"},
		 {"SLURM_NODEID", "1"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}},
		.launcher = "pmix", .job = "slurm.pmix.1234.0", .rank = 2, .world = 4,
		.local_size = 2},
	{.variables = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_JOBID", "../x y"}},
		.launcher = "pmi", .job = "_._x_y", .rank = 1, .world = 2, .local_size = 0},
};

static void test_the_innermost_launcher_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct ifp_identity identity = {0};

		assert_ok(read_identity(good[i].variables, &identity));
		assert_string_equal(identity.launcher, good[i].launcher);
		assert_int_equal(identity.rank, good[i].rank);
		assert_int_equal(identity.world, good[i].world);
		assert_int_equal(identity.local_rank, good[i].local_rank);
		assert_int_equal(identity.local_size, good[i].local_size);
		if (good[i].job)
			assert_string_equal(identity.job, good[i].job);
	}
}

static const struct {
	struct variable variables[MAX_VARIABLES];
	const char *names; /* what the cause must name */
} bad[] = {
	{{{"OMPI_COMM_WORLD_RANK", "8"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"PMIX_NAMESPACE", "1"}},
		"OMPI_COMM_WORLD_RANK=8"},
	{{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "0"}, {"PMIX_NAMESPACE", "1"}},
		"OMPI_COMM_WORLD_SIZE=0"},
	{{{"OMPI_COMM_WORLD_RANK", "-1"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"PMIX_NAMESPACE", "1"}},
		"OMPI_COMM_WORLD_RANK=-1"},
	{{{"OMPI_COMM_WORLD_RANK", "1x"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"PMIX_NAMESPACE", "1"}},
		"OMPI_COMM_WORLD_RANK=1x"},
	{{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "99999999999"},
		 {"PMIX_NAMESPACE", "1"}},
		"OMPI_COMM_WORLD_SIZE=99999999999"},
	{{{"OMPI_COMM_WORLD_RANK", "0"}, {"PMIX_NAMESPACE", "1"}}, "OMPI_COMM_WORLD_SIZE"},
	{{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}, "PMIX_NAMESPACE"},
	{{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "1"},
		 {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
		"OMPI_COMM_WORLD_LOCAL_RANK=2"},
	{{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "1"},
		 {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}},
		"OMPI_COMM_WORLD_LOCAL_SIZE=3"},
	{{{"TORCHELASTIC_RUN_ID", "x"}, {"WORLD_SIZE", "2"}}, "RANK"},
	{{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_LOCALID", "0"},
		 {"SLURM_NODEID", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
		 {"SLURM_JOB_ID", "1"}},
		"SLURM_STEP_TASKS_PER_NODE=2(x2)"},
	{{{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "1"}}, "SLURM_STEP_NUM_TASKS"},
};

static void test_impossible_values_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ifp_identity identity = {.rank = 4242};
		char text[512];

		assert_int_equal(read_identity(bad[i].variables, &identity), -EINVAL);
		assert_int_equal(identity.rank, 4242);
		ifp_error_text(text, sizeof(text));
		if (!strstr(text, bad[i].names))
			fail_msg("\"%s\" does not name %s", text, bad[i].names);
		ifp_error_clear();
	}
}

static void test_two_lone_ranks_have_different_jobs(void **state)
{
	const struct variable none[] = {{NULL, NULL}};
	struct ifp_identity first, second;

	(void)state;
	assert_ok(read_identity(none, &first));
	assert_ok(read_identity(none, &second));
	assert_string_not_equal(first.job, second.job);
}

static void test_a_long_job_name_is_cut(void **state)
{
	char name[200];
	const struct variable variables[] = {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"},
		{"PMI_JOBID", name}, {NULL, NULL}};
	struct ifp_identity identity;

	(void)state;
	memset(name, 'j', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_ok(read_identity(variables, &identity));
	assert_int_equal(strlen(identity.job), IFP_IDENTITY_JOB_BYTES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_innermost_launcher_counts),
		cmocka_unit_test(test_impossible_values_are_named),
		cmocka_unit_test(test_two_lone_ranks_have_different_jobs),
		cmocka_unit_test(test_a_long_job_name_is_cut),
	};

	return RUN_TESTS(tests);
}
