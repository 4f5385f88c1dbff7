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
 * Strict ping-pongs with the server at endpoint: at least 8, at most round_trips, stops early after
 * 8 without a shorter round trip. Blocks up to deadline_ms. Fills interval, best stamps and count
 * of *edge; epoch, client and server are the caller's. -ETIMEDOUT when not one came back.
 */
int ifp_ping_measure(void *zmq_context, const char *endpoint, const struct ifp_keys *keys,
	uint32_t round_trips, int64_t deadline_ms, struct ifp_clock_edge *edge);
