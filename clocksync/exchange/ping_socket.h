/* SPDX-License-Identifier: Apache-2.0 */
/* What both ends of a ping over ZeroMQ share. Private to clocksync/exchange. */
#pragma once

#include "trace/wire/keys.h"

#include <stdbool.h>
#include <stdint.h>

/* A ping and its answer; all members little endian. Stamps are 0 in a ping. */
struct ifp_ping_message {
	uint64_t magic;
	uint64_t sequence; /* of the client; the answer repeats it */
	int64_t t2_ns;
	int64_t t3_ns;
};

#define IFP_PING_MAGIC UINT64_C(0x31676e6970706669) /* "ifpping1" */

/*
 * A socket of the given ZeroMQ type that never blocks its context's end, takes no large messages,
 * speaks IPv6 when the address does, and is encrypted when keys are given.
 */
int ifp_ping_socket_new(
	void *zmq_context, int type, const char *address, const struct ifp_keys *keys, void **out);
void ifp_ping_socket_close(void **socket);
