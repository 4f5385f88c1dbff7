/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on numbered pieces by threads, one for each core, whose results the caller's thread takes in
 * the order of their numbers: what comes out does not depend on the number of threads.
 */
#pragma once

#include <stdint.h>

struct ifp_relay {
	uint32_t count;
	uint32_t threads; /* 0 = as many as there are cores */
	void *context;
	/* By any thread, several at once, each for another piece. *out is the result. */
	int (*work)(void *context, uint32_t i, void **out);
	/* By the caller's thread, in order; *out is the taker's from then on. */
	int (*take)(void *context, uint32_t i, void *result);
	void (*drop)(void *result); /* of what is not taken, after a failure */
};

/*
 * At most threads + 1 results are there at a time. 0, or the failure of the first piece that has
 * one, with its causes.
 */
int ifp_relay_run(const struct ifp_relay *relay);
