/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock exchange over ZeroMQ: one agent serves pings on a socket of its own, another measures.
 * Stamps are fenced readings of RAW. Sockets are CURVE-encrypted when keys are given.
 */
#pragma once

#include "trace/archive/clock_samples.h"
#include "trace/wire/keys.h"

#include <stdint.h>

struct ifp_ping_server;

/*
 * Binds a REP-like socket on bind_address ("tcp://127.0.0.1:*", "tcp://eth0-address:*",
 * "ipc://..."). keys may be NULL (no encryption). The zmq context is borrowed.
 */
int ifp_ping_server_new(void *zmq_context, const char *bind_address, const struct ifp_keys *keys,
	struct ifp_ping_server **out);
void ifp_ping_server_free(struct ifp_ping_server **server);

/* Where others reach it; for zmq_poll(); and what to do when readable (stamps at once). */
const char *ifp_ping_server_endpoint(const struct ifp_ping_server *server);
void *ifp_ping_server_socket(struct ifp_ping_server *server);
void ifp_ping_server_answer(struct ifp_ping_server *server);

/*
 * The measuring side, driven by its caller's loop: strict ping-pongs with the server at endpoint,
 * one under way at a time; at least 8, at most round_trips, until 8 in a row were no shorter, or
 * until deadline_ms have passed. The zmq context is borrowed.
 */
struct ifp_ping_client;

int ifp_ping_client_new(void *zmq_context, const char *endpoint, const struct ifp_keys *keys,
	uint32_t round_trips, int64_t deadline_ms, struct ifp_ping_client **out);
void ifp_ping_client_free(struct ifp_ping_client **client);

/* For zmq_poll(); and the longest to wait there. */
void *ifp_ping_client_socket(struct ifp_ping_client *client);
int64_t ifp_ping_client_wait_ms(const struct ifp_ping_client *client);

/* Sends the next ping when none is under way. Right before the wait: nothing else delays it then. */
void ifp_ping_client_send(struct ifp_ping_client *client);

/*
 * Takes what has come. Right after the wait. 1 = goes on; 0 = over: interval, best stamps and count
 * of *edge are filled (epoch, client and server are the caller's); -ETIMEDOUT when not one ping
 * came back in time, or the socket's error, with a cause: *edge is untouched.
 */
int ifp_ping_client_take(struct ifp_ping_client *client, struct ifp_clock_edge *edge);

/* All of it in one call that blocks up to deadline_ms. */
int ifp_ping_measure(void *zmq_context, const char *endpoint, const struct ifp_keys *keys,
	uint32_t round_trips, int64_t deadline_ms, struct ifp_clock_edge *edge);
