/* SPDX-License-Identifier: Apache-2.0 */
/* One collector per test, with a directory of its own, and what its tests ask of it. */
#pragma once

#include "collector_harness.h"

struct fixture {
	struct folder folder;
	struct collector collector;
	void *context;
};

int fixture_set_up(void **state);
/* Ends the collector if the test has not. */
int fixture_tear_down(void **state);

/* Starts the collector for the job "job". */
void fixture_start(struct fixture *fixture, const char *listen);
void fixture_start_local(struct fixture *fixture); /* TCP, any port */

/* A frame that may go into any archive, with this number. */
void send_ledger(struct stand_in *agent, uint64_t sequence);

/* Waits for REFUSE and compares its reason. */
void expect_refusal(struct stand_in *agent, const char *reason);

/* Number of lines that the collector has written to stderr; one of them must hold text. */
int count_lines(const struct collector *collector, const char *text);

/* The last document of this type and rank in the archive, and how many there are. */
cJSON *stored_document(
	const struct folder *folder, enum ifp_frame_type type, uint32_t rank, uint64_t *count);

/* The archive has one END document of this rank, with this "how". */
void expect_end(const struct folder *folder, uint32_t rank, const char *how);

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_set_up, fixture_tear_down)
