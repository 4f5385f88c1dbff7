/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slow network of known delays: a thread that stands between one TCP client and one server on the
 * loopback, and passes on what comes in each direction after a delay of its own. It spins while
 * something is on its way, so that what it adds is what was asked for, and is never less.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

/* Of one direction: floor, plus an exponential of that mean, plus now and then a long one. */
struct relay_delay {
	int64_t floor_ns;
	double jitter_ns;
	double spike_share; /* of what is passed on ... */
	int64_t spike_ns;   /* ... that takes so much longer */
};

enum relay_direction {
	RELAY_TO_SERVER,
	RELAY_TO_CLIENT,
	RELAY_DIRECTIONS,
};

struct relay {
	struct relay_delay delays[RELAY_DIRECTIONS];
	uint64_t random; /* seed */
	uint16_t port;	 /* written: where the client has to connect to on 127.0.0.1 */
	uint16_t server_port;
	int listener, stop[2];
	pthread_t thread;
};

/* delays, random and server_port are the caller's. Takes one connection after the other. */
void relay_start(struct relay *relay);
void relay_stop(struct relay *relay);
