/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests against the real infprof-collector: its process, and stand-ins for agents that speak the
 * wire protocol over sockets of their own. Every wait has a deadline, and the test fails there.
 */
#pragma once

#include "trace/archive/frame.h"
#include "trace/wire/keys.h"
#include "trace/wire/message.h"

#include "test.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <sys/types.h>

#define DEADLINE_MS 20000

/* A directory of the test's own below /tmp; removed with everything in it. */
struct folder {
	char path[64];
};

void folder_make(struct folder *folder);
void folder_remove(struct folder *folder);

struct collector {
	pid_t pid;
	char line[512]; /* what it wrote to --ready-fd: "ready ADDRESS", "error CAUSE" */
	char address[512];
	char log[128]; /* file with its stderr */
};

/* Starts it in folder/out; arguments beyond that are NULL-terminated. Waits for its first line. */
void collector_start(
	struct collector *collector, const struct folder *folder, const char *const *arguments);
/* The exit status; 128 + the signal that ended it. */
int collector_wait(struct collector *collector);
/* Fails the test when it ends within so long. */
void collector_stays(struct collector *collector, int for_ms);
void collector_kill(struct collector *collector, int signal);
/* Its stderr as text, to be freed. */
char *collector_log(const struct collector *collector);

struct stand_in {
	void *socket;
	const char *job, *boot_id; /* equal boot ids: one clock */
	uint32_t rank, world;
	uint32_t pid; /* part of its identity: two stand-ins with one pid are one agent */
	uint64_t run_id;
	uint64_t last_sequence, credit; /* of the last WELCOME or ACK */
	char session[32];
};

/* keys may be NULL. */
void stand_in_open(struct stand_in *agent, void *zmq_context, const char *address,
	const struct ifp_keys *keys, uint32_t rank, uint32_t world);
void stand_in_close(struct stand_in *agent);
void stand_in_close_all(void);

/* Document: JSON with ' for ", or NULL. */
void stand_in_send(struct stand_in *agent, enum ifp_message_type type, const char *document);
void stand_in_send_frame(struct stand_in *agent, const struct ifp_frame *frame);

/*
 * The next message of this type, others are passed over. Fails the test at the deadline. The
 * document is the caller's; NULL for an empty payload.
 */
cJSON *stand_in_receive(struct stand_in *agent, enum ifp_message_type type);
void stand_in_expect(struct stand_in *agent, enum ifp_message_type type);

/* As above, but false when there is none within timeout_ms. *document may be NULL. */
bool stand_in_try(
	struct stand_in *agent, enum ifp_message_type type, int timeout_ms, cJSON **document);

void stand_in_say_hello(struct stand_in *agent);
/* HELLO, again and again, until WELCOME; from a session other than the one known when other. */
void stand_in_join(struct stand_in *agent, bool other_session);
/* Waits until everything up to the sequence is acknowledged. */
void stand_in_wait_acknowledged(struct stand_in *agent, uint64_t sequence);
/* BYE until CLOSED. */
void stand_in_end(struct stand_in *agent);
