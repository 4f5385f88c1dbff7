/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of clocks: a job whose ranks sit on machines, and what they are asked and report. */
#pragma once

#include "collector/receive/clocks.h"
#include "trace/archive/clock_samples.h"

#include "outlet_record.h"

#include <ctype.h>
#include <stdio.h>

#define S IFP_NS_PER_S
#define ALL_WELL "'outcome':'measured'"

/*
 * A job whose ranks sit on machines: 'machines' has one letter per rank. A capital letter is the
 * same machine as the small one, but in a time namespace of its own, so that it has another clock.
 */
struct job {
	int cpus;	     /* of each machine */
	int64_t interval_ms; /* 0 = no exchanges while the programs run */
	struct record record;
	struct ifp_roster roster;
	struct ifp_clocks *clocks;
};

static inline void join(
	struct job *job, uint32_t rank, char machine, const char *launcher, const char *clock)
{
	IFP_CLEANUP_DOCUMENT cJSON *hello = cJSON_CreateObject();
	char text[64];
	uint32_t admitted;
	bool news;

	cJSON_AddStringToObject(hello, "job", "job");
	cJSON_AddNumberToObject(hello, "rank", rank);
	cJSON_AddNumberToObject(hello, "world", job->roster.world);
	cJSON_AddNumberToObject(hello, "pid", rank + 1);
	cJSON_AddNumberToObject(hello, "started_realtime_ns", 1);
	snprintf(text, sizeof(text), "machine-%c", tolower(machine));
	cJSON_AddStringToObject(hello, "host", text);
	cJSON_AddStringToObject(hello, "boot_id", text);
	ifp_document_add_int64(
		hello, "time_namespace", islower(machine) ? 4026531834 : 4026532000 + rank);
	cJSON_AddNumberToObject(hello, "cpus", job->cpus);
	ifp_document_add_int64(hello, "clock_interval_ms", job->interval_ms);
	cJSON_AddStringToObject(hello, "launcher", launcher);
	cJSON_AddStringToObject(hello, "clock", clock);
	snprintf(text, sizeof(text), "tcp://%c:%u", machine, 1000 + rank);
	cJSON_AddStringToObject(hello, "clock_endpoint", text);
	assert_ok(ifp_roster_hello(&job->roster, hello, S, &admitted, &news));
	if (rank == 0)
		ifp_clocks_wish(job->clocks, hello);
	ifp_clocks_join(job->clocks, rank, ifp_roster_member(&job->roster, rank));
}

static inline void start(
	struct job *job, const char *machines, const char *launcher, const char *clock)
{
	uint32_t world = (uint32_t)strlen(machines);

	record_init(&job->record);
	assert_ok(ifp_roster_init(&job->roster, "job", world));
	assert_ok(ifp_clocks_new(&job->record.outlet, NULL, world, &job->clocks));
	for (uint32_t rank = 0; rank < world; rank++)
		join(job, rank, machines[rank], launcher, clock);
}

static inline void stop(struct job *job)
{
	ifp_clocks_free(&job->clocks);
	ifp_roster_free(&job->roster);
	record_free(&job->record);
}

/* Checks that the client has been asked to measure the server. */
static inline void expect_ask(struct job *job, uint32_t client, int64_t server, int epoch)
{
	const cJSON *ask = record_message(&job->record, IFP_MSG_CLOCK_ASK, client);
	int64_t asked = -2;

	assert_non_null(ask);
	assert_true(ifp_document_get_int(ask, "server", &asked));
	assert_int_equal(asked, server);
	assert_int_equal(ifp_document_get_count(ask, "epoch"), epoch);
}

static inline void expect_silence(struct job *job)
{
	for (uint32_t rank = 0; rank < job->roster.world; rank++)
		assert_null(record_message(&job->record, IFP_MSG_CLOCK_ASK, rank));
}

static inline void report(struct job *job, uint32_t rank, int server, int epoch, const char *rest)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = NULL;
	char text[512];

	snprintf(text, sizeof(text), "{'epoch':%d,'server':%d,%s}", epoch, server, rest);
	document = document_from(text);
	ifp_clocks_done(job->clocks, rank, document);
}

#define EDGE                                                                                       \
	"'round_trips':32,'low_ns':'-20','high_ns':'30','best_t1_ns':'9007199254740993',"          \
	"'best_t2_ns':'9007199254741005','best_t3_ns':'9007199254741006',"                         \
	"'best_t4_ns':'9007199254741021'"
#define MEASURED ALL_WELL ",'edge':{" EDGE "}"

static inline size_t stored_edges(const struct job *job, uint32_t rank)
{
	return record_frames(&job->record, IFP_FRAME_CLOCK, rank);
}
