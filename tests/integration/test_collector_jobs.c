/* SPDX-License-Identifier: Apache-2.0 */
/* The real collector: a whole job, ends and losses, windows, a full disk. */
#include "collector_fixture.h"

#include "core/segment.h"
#include "trace/archive/archive.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#define HOOK_TRAINS (IFP_HOOK_LOADED | IFP_HOOK_TORCH | IFP_HOOK_STEPPED | IFP_HOOK_ARMED)

static void one_job_from_hello_to_verdict(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agents[2];
	cJSON *roll, *run, *verdict;
	uint64_t count;

	fixture_start_local(fixture);
	for (uint32_t rank = 0; rank < 2; rank++) {
		stand_in_open(
			&agents[rank], fixture->context, fixture->collector.address, NULL, rank, 2);
		stand_in_join(&agents[rank], false);
	}
	roll = stand_in_receive(&agents[1], IFP_MSG_ROLL);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(roll, "ranks")), 2);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(roll, "missing")), 0);
	assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(roll, "clocks")), 1);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(roll, "clock_plan")), "none");
	assert_true(cJSON_IsFalse(cJSON_GetObjectItem(roll, "late")));
	cJSON_Delete(roll);
	for (uint32_t rank = 0; rank < 2; rank++) {
		for (uint64_t sequence = 1; sequence <= 10; sequence++)
			send_ledger(&agents[rank], sequence);
		stand_in_wait_acknowledged(&agents[rank], 10);
	}
	stand_in_end(&agents[0]);
	stand_in_end(&agents[1]);
	verdict = stand_in_receive(&agents[0], IFP_MSG_VERDICT);
	assert_non_null(cJSON_GetStringValue(cJSON_GetObjectItem(verdict, "text")));
	cJSON_Delete(verdict);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	run = stored_document(&fixture->folder, IFP_FRAME_RUN, IFP_FRAME_NO_RANK, &count);
	assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(run, "world")), 2);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(run, "job")), "job");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(run, "clock_plan")), "none");
	cJSON_Delete(run);
	expect_end(&fixture->folder, 0, "exited");
	expect_end(&fixture->folder, 1, "exited");
	stand_in_close(&agents[0]);
	stand_in_close(&agents[1]);
}

static void agent_that_vanishes_is_lost_and_the_run_is_drawn(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agents[2];
	char ipc[128];
	cJSON *ledger;
	uint64_t rows;

	snprintf(ipc, sizeof(ipc), "ipc://%s/socket", fixture->folder.path);
	fixture_start(fixture, ipc);
	for (uint32_t rank = 0; rank < 2; rank++) {
		stand_in_open(&agents[rank], fixture->context, ipc, NULL, rank, 2);
		stand_in_join(&agents[rank], false);
	}
	send_ledger(&agents[1], 1);
	stand_in_wait_acknowledged(&agents[1], 1);
	stand_in_close(&agents[1]); /* as if it had been killed */
	stand_in_end(&agents[0]);
	stand_in_expect(&agents[0], IFP_MSG_VERDICT);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	expect_end(&fixture->folder, 0, "exited");
	expect_end(&fixture->folder, 1, "lost");
	ledger = stored_document(&fixture->folder, IFP_FRAME_LEDGER, 1, &rows);
	assert_int_equal(rows, 2); /* its own, and the one on its loss */
	cJSON_Delete(ledger);
	stand_in_close(&agents[0]);
}

static void failure_of_one_rank_flushes_the_others(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agents[2];

	fixture_start_local(fixture);
	for (uint32_t rank = 0; rank < 2; rank++) {
		stand_in_open(
			&agents[rank], fixture->context, fixture->collector.address, NULL, rank, 2);
		stand_in_join(&agents[rank], false);
	}
	stand_in_send(&agents[1], IFP_MSG_FAILING, "{'how':'exited','status':3}");
	stand_in_expect(&agents[0], IFP_MSG_FLUSH);
	stand_in_send(&agents[1], IFP_MSG_BYE, "{'how':'exited','status':3}");
	stand_in_expect(&agents[1], IFP_MSG_CLOSED);
	stand_in_end(&agents[0]);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	stand_in_close(&agents[0]);
	stand_in_close(&agents[1]);
}

static void sigterm_draws_what_is_there(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agent;

	fixture_start_local(fixture);
	stand_in_open(&agent, fixture->context, fixture->collector.address, NULL, 0, 1);
	stand_in_join(&agent, false);
	send_ledger(&agent, 1);
	stand_in_wait_acknowledged(&agent, 1);
	collector_kill(&fixture->collector, SIGTERM);
	stand_in_expect(&agent, IFP_MSG_VERDICT);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	expect_end(&fixture->folder, 0, "lost");
	stand_in_close(&agent);
}

static void nobody_comes(void **state)
{
	struct fixture *fixture = *state;
	char path[128];

	collector_start(&fixture->collector, &fixture->folder,
		(const char *[]){"--idle-timeout", "100ms", NULL});
	assert_int_equal(collector_wait(&fixture->collector), 1);
	assert_int_equal(count_lines(&fixture->collector, "no agent has said HELLO"), 1);
	snprintf(path, sizeof(path), "%s/out/run.ifp", fixture->folder.path);
	assert_int_equal(access(path, F_OK), -1);
}

static void ranks_that_step_get_a_window(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agent;
	char text[128];
	cJSON *plan = NULL;
	int steps = 1;

	fixture_start_local(fixture);
	stand_in_open(&agent, fixture->context, fixture->collector.address, NULL, 0, 1);
	stand_in_join(&agent, false);
	do {
		snprintf(text, sizeof(text), "{'steps':%d,'hook':%u,'running':true}", steps,
			HOOK_TRAINS);
		stand_in_send(&agent, IFP_MSG_HEARTBEAT, text);
		steps += 2;
	} while (!stand_in_try(&agent, IFP_MSG_WINDOW_PLAN, 300, &plan) && steps < 100);
	assert_non_null(plan);
	assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(plan, "first_step")) > steps);
	assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(plan, "count")), 5);
	cJSON_Delete(plan);
	stand_in_send(
		&agent, IFP_MSG_WINDOW_ACK, "{'window':0,'attempt':0,'accepted':true,'steps':9}");
	stand_in_expect(&agent, IFP_MSG_WINDOW_GO);
	stand_in_end(&agent);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	stand_in_close(&agent);
}

static void limit_files(pid_t pid, rlim_t bytes)
{
	assert_int_equal(
		prlimit(pid, RLIMIT_FSIZE,
			&(struct rlimit){.rlim_cur = bytes, .rlim_max = RLIM_INFINITY}, NULL),
		0);
}

static void full_disk_loses_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agent;
	uint64_t count;
	cJSON *row;

	signal(SIGXFSZ, SIG_IGN); /* inherited: a write beyond the limit is an error, no signal */
	fixture_start_local(fixture);
	stand_in_open(&agent, fixture->context, fixture->collector.address, NULL, 0, 1);
	stand_in_join(&agent, false);
	send_ledger(&agent, 1);
	stand_in_wait_acknowledged(&agent, 1);
	limit_files(fixture->collector.pid, 100); /* less than there is already */
	send_ledger(&agent, 2);
	send_ledger(&agent, 3);
	do {
		stand_in_send(&agent, IFP_MSG_HEARTBEAT, "{'steps':0,'hook':0,'running':true}");
		stand_in_expect(&agent, IFP_MSG_ACK);
	} while (agent.credit);
	assert_int_equal(agent.last_sequence, 1);
	limit_files(fixture->collector.pid, RLIM_INFINITY);
	while (agent.last_sequence < 3) {
		stand_in_send(&agent, IFP_MSG_HEARTBEAT, "{'steps':0,'hook':0,'running':true}");
		stand_in_expect(&agent, IFP_MSG_ACK);
		stand_in_try(&agent, IFP_MSG_VERDICT, 100, NULL); /* nothing comes: a pause */
	}
	assert_true(agent.credit > 0);
	stand_in_end(&agent);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	row = stored_document(&fixture->folder, IFP_FRAME_LEDGER, IFP_FRAME_NO_RANK, &count);
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(
			cJSON_GetArrayItem(cJSON_GetObjectItem(row, "rows"), 0), "what")),
		"store-failed");
	cJSON_Delete(row);
	row = stored_document(&fixture->folder, IFP_FRAME_LEDGER, 0, &count);
	assert_int_equal(count, 3);
	cJSON_Delete(row);
	stand_in_close(&agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_job_from_hello_to_verdict),
		TEST(agent_that_vanishes_is_lost_and_the_run_is_drawn),
		TEST(failure_of_one_rank_flushes_the_others),
		TEST(sigterm_draws_what_is_there),
		TEST(nobody_comes),
		TEST(ranks_that_step_get_a_window),
		TEST(full_disk_loses_nothing),
	};

	return RUN_TESTS(tests);
}
