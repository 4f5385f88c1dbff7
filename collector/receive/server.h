/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's socket: a ZeroMQ ROUTER that gives and takes whole messages. Knows nothing of
 * what is in them. Belongs to one thread.
 */
#pragma once

#include "trace/wire/keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a message came from, and where an answer goes. Changes when a peer connects again. */
struct ifp_route {
	uint8_t bytes[32];
	uint8_t len_bytes; /* 0 = none */
};

struct ifp_server;

/*
 * Listens on tcp://HOST:PORT (port 0 or "*": any free one) or ipc:///PATH. keys may be NULL for
 * addresses that only this host reaches. -EPERM: an address beyond loopback without keys;
 * -EADDRINUSE and others of bind(2); -EINVAL: no such form of address. One cause that says it all.
 */
int ifp_server_new(const char *listen, const struct ifp_keys *keys, struct ifp_server **out);

/* Closes the socket, and removes the file of an ipc address. Waits 1 s for messages to leave. */
void ifp_server_free(struct ifp_server **server);

/* The address that is really listened on. Lives as long as the server. */
const char *ifp_server_address(const struct ifp_server *server);
bool ifp_server_is_local(const struct ifp_server *server); /* an ipc address */

/*
 * Waits up to timeout_ms for a message or until wake_fd (-1 = none) is readable; admits or refuses
 * connections meanwhile. 1 = a message may be there.
 */
int ifp_server_wait(struct ifp_server *server, int wake_fd, int64_t timeout_ms);

/*
 * The next message, without waiting: 0 and *data, valid until the next call; -EAGAIN (no cause)
 * when there is none. What is no single part is dropped.
 */
int ifp_server_receive(
	struct ifp_server *server, struct ifp_route *route, const void **data, size_t *len_bytes);

/* 0; -EHOSTUNREACH: that peer is not connected any more; -EAGAIN: it does not read. No causes. */
int ifp_server_send(struct ifp_server *server, const struct ifp_route *route, const void *data,
	size_t len_bytes);
