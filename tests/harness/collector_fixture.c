/* SPDX-License-Identifier: Apache-2.0 */
#include "collector_fixture.h"

#include "trace/archive/archive.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

int fixture_set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	folder_make(&fixture->folder);
	fixture->context = zmq_ctx_new();
	*state = fixture;
	return 0;
}

int fixture_tear_down(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->collector.pid > 0) {
		collector_kill(&fixture->collector, SIGKILL);
		collector_wait(&fixture->collector);
	}
	stand_in_close_all(); /* a test that failed has left some open */
	zmq_ctx_term(fixture->context);
	folder_remove(&fixture->folder);
	free(fixture);
	return 0;
}

void fixture_start(struct fixture *fixture, const char *listen)
{
	const char *arguments[] = {"--listen", listen, "--job", "job", NULL};

	collector_start(&fixture->collector, &fixture->folder, arguments);
	assert_int_equal(strncmp(fixture->collector.line, "ready ", 6), 0);
}

void fixture_start_local(struct fixture *fixture)
{
	fixture_start(fixture, "tcp://127.0.0.1:*");
}

void expect_refusal(struct stand_in *agent, const char *reason)
{
	cJSON *document = stand_in_receive(agent, IFP_MSG_REFUSE);

	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(document, "reason")), reason);
	cJSON_Delete(document);
}

int count_lines(const struct collector *collector, const char *text)
{
	IFP_CLEANUP_FREE char *log = collector_log(collector);
	int lines = 0;

	if (!strstr(log, text))
		fail_msg("\"%s\" is not in: %s", text, log);
	for (const char *c = log; *c; c++)
		lines += *c == '\n';
	return lines;
}

cJSON *stored_document(
	const struct folder *folder, enum ifp_frame_type type, uint32_t rank, uint64_t *count)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_archive_reader *reader;
	struct ifp_frame frame;
	cJSON *document = NULL;
	char path[128];

	*count = 0;
	snprintf(path, sizeof(path), "%s/out/run.ifp", folder->path);
	assert_ok(ifp_archive_reader_open(path, &reader));
	for (uint64_t i = 0; i < ifp_archive_reader_count(reader); i++) {
		const struct ifp_frame *header = ifp_archive_reader_frame(reader, i);

		if (header->type != type || header->rank != rank)
			continue;
		assert_ok(ifp_archive_reader_load(reader, i, &buf, &frame));
		cJSON_Delete(document);
		document = cJSON_ParseWithLength((const char *)frame.payload, frame.payload_bytes);
		++*count;
	}
	ifp_archive_reader_close(&reader);
	return document;
}

void expect_end(const struct folder *folder, uint32_t rank, const char *how)
{
	uint64_t count;
	cJSON *end = stored_document(folder, IFP_FRAME_END, rank, &count);

	assert_int_equal(count, 1);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(end, "how")), how);
	cJSON_Delete(end);
}

void send_ledger(struct stand_in *agent, uint64_t sequence)
{
	static const char text[] = "{\"rows\":[]}";

	stand_in_send_frame(agent, &(struct ifp_frame){.type = IFP_FRAME_LEDGER,
					   .rank = agent->rank,
					   .sequence = sequence,
					   .payload = (const uint8_t *)text,
					   .payload_bytes = sizeof(text) - 1});
}
