/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector is killed after so many acknowledgements, again and again, and started each time
 * on the same archive and address. In the end the archive holds every frame exactly once.
 */
#include "collector_harness.h"

#include "trace/archive/archive.h"
#include "trace/archive/block.h"
#include "trace/archive/clock_samples.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

#define WORLD 3u
#define FRAMES 60u /* of each rank; 180 acknowledgements in all */

/*
 * What a rank sends as its n-th frame: real blocks, of different sizes, that name rank and number.
 */
static void make_frame(uint32_t rank, uint64_t n, struct ifp_buf *payload, struct ifp_frame *frame)
{
	struct ifp_block_builder *builder;
	char name[64];

	snprintf(name, sizeof(name), "rank %u frame %llu", rank, (unsigned long long)n);
	assert_ok(ifp_block_builder_new(&builder));
	for (uint64_t i = 0; i < 1 + n % 50; i++) {
		struct ifp_event event = {.kind = IFP_EVENT_SLICE,
			.clock = IFP_CLOCK_RAW,
			.start = (int64_t)(n * 1000 + i),
			.dur = 1,
			.lane = {.pid = 1, .tid = (int64_t)i},
			.name = ifp_str(name)};

		assert_ok(ifp_block_builder_add(builder, &event));
	}
	*frame = (struct ifp_frame){.type = IFP_FRAME_EVENTS,
		.rank = rank,
		.sequence = n,
		.event_count = ifp_block_builder_count(builder)};
	ifp_buf_clear(payload);
	assert_ok(ifp_block_builder_encode(builder, payload));
	ifp_block_builder_free(&builder);
	frame->payload = payload->data;
	frame->payload_bytes = (uint32_t)payload->len_bytes;
}

static void send_frame(struct stand_in *agent, uint64_t n)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_frame frame;

	make_frame(agent->rank, n, &payload, &frame);
	stand_in_send_frame(agent, &frame);
}

struct job {
	struct folder folder;
	struct collector collector;
	void *context;
	struct stand_in agents[WORLD];
	uint64_t sent[WORLD], acknowledged[WORLD];
	const char *arguments[5];
	char listen[128];
};

/* boot_ids NULL: all share one clock. */
static void begin(struct job *job, const char *const *boot_ids)
{
	*job = (struct job){0};
	folder_make(&job->folder);
	snprintf(job->listen, sizeof(job->listen), "ipc://%s/socket", job->folder.path);
	job->arguments[0] = "--listen";
	job->arguments[1] = job->listen;
	job->arguments[2] = "--job";
	job->arguments[3] = "job";
	collector_start(&job->collector, &job->folder, job->arguments);
	job->context = zmq_ctx_new();
	for (uint32_t rank = 0; rank < WORLD; rank++) {
		stand_in_open(&job->agents[rank], job->context, job->collector.address, NULL, rank,
			WORLD);
		if (boot_ids)
			job->agents[rank].boot_id = boot_ids[rank];
		stand_in_join(&job->agents[rank], false);
	}
}

static uint64_t total(const uint64_t *counts)
{
	uint64_t sum = 0;

	for (uint32_t rank = 0; rank < WORLD; rank++)
		sum += counts[rank];
	return sum;
}

static void note_acknowledged(struct job *job, uint32_t rank)
{
	/* Once acknowledged, always acknowledged: over all deaths of the collector. */
	assert_true(job->agents[rank].last_sequence >= job->acknowledged[rank]);
	assert_true(job->agents[rank].last_sequence <= FRAMES);
	job->acknowledged[rank] = job->agents[rank].last_sequence;
}

/* All ranks send as far as their credit goes, until so many frames are acknowledged in all. */
static void exchange(struct job *job, uint64_t until)
{
	assert_true(until <= WORLD * FRAMES);
	while (total(job->acknowledged) < until)
		for (uint32_t rank = 0; rank < WORLD; rank++) {
			struct stand_in *agent = &job->agents[rank];

			while (job->sent[rank] < FRAMES &&
				job->sent[rank] < agent->last_sequence + agent->credit)
				send_frame(agent, ++job->sent[rank]);
			if (job->acknowledged[rank] == FRAMES)
				continue;
			stand_in_expect(agent, IFP_MSG_ACK);
			note_acknowledged(job, rank);
			if (total(job->acknowledged) >= until)
				return;
		}
}

/* As after a crash of the machine's choosing: no word, no flush. */
static void kill_and_start(struct job *job)
{
	collector_kill(&job->collector, SIGKILL);
	assert_int_equal(collector_wait(&job->collector), 128 + SIGKILL);
	collector_start(&job->collector, &job->folder, job->arguments);
}

static void join_again(struct job *job)
{
	uint64_t run_id = job->agents[0].run_id;

	for (uint32_t rank = 0; rank < WORLD; rank++) {
		stand_in_join(&job->agents[rank], true);
		assert_true(job->agents[rank].run_id == run_id);
		note_acknowledged(job, rank);
		job->sent[rank] = job->agents[rank].last_sequence;
	}
}

static void kill_and_start_again(struct job *job)
{
	kill_and_start(job);
	join_again(job);
}

static void end(struct job *job)
{
	for (uint32_t rank = 0; rank < WORLD; rank++)
		stand_in_end(&job->agents[rank]);
	stand_in_expect(&job->agents[0], IFP_MSG_VERDICT);
	assert_int_equal(collector_wait(&job->collector), 0);
	for (uint32_t rank = 0; rank < WORLD; rank++)
		stand_in_close(&job->agents[rank]);
	zmq_ctx_term(job->context);
}

static void check_frame(struct ifp_archive_reader *reader, uint64_t i, uint64_t *seen)
{
	IFP_CLEANUP_BUF struct ifp_buf loaded = {0}, payload = {0};
	struct ifp_frame frame, expected;

	assert_ok(ifp_archive_reader_load(reader, i, &loaded, &frame));
	assert_true(frame.rank < WORLD);
	assert_true(frame.sequence == ++seen[frame.rank]);
	make_frame(frame.rank, frame.sequence, &payload, &expected);
	assert_int_equal(frame.event_count, expected.event_count);
	assert_int_equal(frame.payload_bytes, expected.payload_bytes);
	assert_memory_equal(frame.payload, expected.payload, expected.payload_bytes);
}

/* Every frame once, in order, byte for byte; one END per rank; nothing damaged. */
static void check_archive(const struct job *job)
{
	struct ifp_archive_reader *reader;
	uint64_t seen[WORLD] = {0}, ends[WORLD] = {0};
	struct ifp_archive_damage damage;
	char path[128];

	snprintf(path, sizeof(path), "%s/out/run.ifp", job->folder.path);
	assert_ok(ifp_archive_reader_open(path, &reader));
	damage = ifp_archive_reader_damage(reader);
	assert_false(damage.index_missing);
	assert_int_equal(damage.damaged_bytes, 0);
	for (uint64_t i = 0; i < ifp_archive_reader_count(reader); i++) {
		const struct ifp_frame *frame = ifp_archive_reader_frame(reader, i);

		if (frame->type == IFP_FRAME_EVENTS)
			check_frame(reader, i, seen);
		if (frame->type == IFP_FRAME_END)
			ends[frame->rank]++;
	}
	for (uint32_t rank = 0; rank < WORLD; rank++) {
		assert_int_equal(seen[rank], FRAMES);
		assert_int_equal(ends[rank], 1);
	}
	ifp_archive_reader_close(&reader);
}

static void killed_after_every_few_acknowledgements(void **state)
{
	struct job job;
	uint64_t until = 0;
	int kills = 0;

	(void)state;
	begin(&job, NULL);
	/* 1, 2, 4, 7, 11, 16, ... frames: each time another number since the last start */
	for (uint64_t step = 1; until + step < WORLD * FRAMES; step++, kills++) {
		until += step;
		exchange(&job, until);
		kill_and_start_again(&job);
	}
	assert_true(kills >= 15);
	exchange(&job, WORLD * FRAMES);
	end(&job);
	check_archive(&job);
	folder_remove(&job.folder);
}

static void killed_with_frames_on_their_way(void **state)
{
	struct job job;

	(void)state;
	begin(&job, NULL);
	while (total(job.acknowledged) + 5 <= WORLD * FRAMES) {
		exchange(&job, total(job.acknowledged) + 5);
		for (uint32_t rank = 0; rank < WORLD; rank++) /* no ACK is waited for */
			for (int i = 0; i < 8 && job.sent[rank] < FRAMES; i++)
				send_frame(&job.agents[rank], ++job.sent[rank]);
		kill_and_start_again(&job);
	}
	exchange(&job, WORLD * FRAMES);
	end(&job);
	check_archive(&job);
	folder_remove(&job.folder);
}

static void killed_while_ranks_are_ending(void **state)
{
	struct job job;

	(void)state;
	begin(&job, NULL);
	exchange(&job, WORLD * FRAMES);
	stand_in_end(&job.agents[1]);
	kill_and_start_again(&job); /* rank 1 asks once more: its END must not be doubled */
	end(&job);
	check_archive(&job);
	folder_remove(&job.folder);
}

/* Agents notice only after 3 s of silence that it is another one: nobody has left. */
static void killed_before_a_rank_has_stored_anything(void **state)
{
	struct job job;

	(void)state;
	begin(&job, NULL);
	for (uint32_t rank = 0; rank < WORLD; rank++)
		stand_in_expect(&job.agents[rank], IFP_MSG_ROLL);
	kill_and_start(&job);
	collector_stays(&job.collector, 1000);
	join_again(&job);
	exchange(&job, WORLD * FRAMES);
	end(&job);
	check_archive(&job);
	folder_remove(&job.folder);
}

/* Rank 0 measures both others. False when it is asked nothing for a while. */
static bool measure_one(struct stand_in *agent, int timeout_ms)
{
	cJSON *ask = NULL;
	char text[512];

	if (!stand_in_try(agent, IFP_MSG_CLOCK_ASK, timeout_ms, &ask))
		return false;
	snprintf(text, sizeof(text),
		"{'epoch':%d,'server':%d,'outcome':'measured','edge':{'round_trips':8,"
		"'low_ns':'-20','high_ns':'30','best_t1_ns':'1000','best_t2_ns':'1010',"
		"'best_t3_ns':'1011','best_t4_ns':'1021'}}",
		(int)cJSON_GetNumberValue(cJSON_GetObjectItem(ask, "epoch")),
		(int)cJSON_GetNumberValue(cJSON_GetObjectItem(ask, "server")));
	stand_in_send(agent, IFP_MSG_CLOCK_DONE, text);
	cJSON_Delete(ask);
	return true;
}

/* The edges of an epoch, one after the other. */
static void measure(struct stand_in *agent)
{
	assert_true(measure_one(agent, 30000));
	assert_true(measure_one(agent, 30000));
}

/* All say that they have ended; rank 0 answers until nobody is held up any more. */
static void end_with_a_last_epoch(struct job *job)
{
	for (uint32_t rank = 0; rank < WORLD; rank++)
		stand_in_send(&job->agents[rank], IFP_MSG_BYE,
			"{'how':'exited','status':0,'ended_realtime_ns':'1800000000000000009',"
			"'steps':0}");
	while (!stand_in_try(&job->agents[1], IFP_MSG_CLOSED, 10, NULL))
		measure_one(&job->agents[0], 10);
	end(job);
}

/* How many epochs are in the archive: their numbers have no gap; the first and the last are whole.
 */
static uint32_t count_epochs(const struct job *job)
{
	struct ifp_archive_reader *reader;
	uint32_t found[64] = {0}, epochs = 0;
	char path[128];

	snprintf(path, sizeof(path), "%s/out/run.ifp", job->folder.path);
	assert_ok(ifp_archive_reader_open(path, &reader));
	for (uint64_t i = 0; i < ifp_archive_reader_count(reader); i++) {
		IFP_CLEANUP(ifp_clock_samples_free) struct ifp_clock_samples samples = {0};
		IFP_CLEANUP_BUF struct ifp_buf loaded = {0};
		struct ifp_frame frame;

		if (ifp_archive_reader_frame(reader, i)->type != IFP_FRAME_CLOCK)
			continue;
		assert_ok(ifp_archive_reader_load(reader, i, &loaded, &frame));
		assert_ok(ifp_clock_samples_decode(frame.payload, frame.payload_bytes, &samples));
		for (uint32_t e = 0; e < samples.edge_count; e++) {
			assert_true(samples.edges[e].epoch < IFP_ARRAY_SIZE(found));
			found[samples.edges[e].epoch]++;
		}
	}
	ifp_archive_reader_close(&reader);
	while (epochs < IFP_ARRAY_SIZE(found) && found[epochs])
		epochs++;
	for (uint32_t e = epochs; e < IFP_ARRAY_SIZE(found); e++)
		assert_int_equal(found[e], 0);
	assert_int_equal(found[0], 2);
	assert_int_equal(found[epochs - 1], 2);
	return epochs;
}

/* Three clocks: an epoch before the collector dies, one or more after it, and the last one. */
static void killed_between_two_epochs(void **state)
{
	struct job job;

	(void)state;
	begin(&job, (const char *const[]){"b", "c", "d"});
	measure(&job.agents[0]);
	stand_in_send(&job.agents[0], IFP_MSG_HEARTBEAT, "{'running':true}");
	stand_in_expect(&job.agents[0], IFP_MSG_ACK); /* behind the edges: they are stored */
	kill_and_start_again(&job);
	measure(&job.agents[0]);
	exchange(&job, WORLD * FRAMES);
	end_with_a_last_epoch(&job);
	check_archive(&job);
	assert_true(count_epochs(&job) >= 3);
	folder_remove(&job.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_after_every_few_acknowledgements),
		cmocka_unit_test(killed_with_frames_on_their_way),
		cmocka_unit_test(killed_while_ranks_are_ending),
		cmocka_unit_test(killed_before_a_rank_has_stored_anything),
		cmocka_unit_test(killed_between_two_epochs),
	};

	return RUN_TESTS(tests);
}
