/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/exchange/ping.h"

#include "clocksync/exchange/ping_socket.h"
#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <zmq.h>

/* Pings answered before the caller's loop gets its turn again. */
#define ANSWERS_A_CALL 64

struct ifp_ping_server {
	void *socket;
	char endpoint[512];
};

int ifp_ping_server_new(void *zmq_context, const char *bind_address, const struct ifp_keys *keys,
	struct ifp_ping_server **out)
{
	IFP_CLEANUP(ifp_ping_server_free)
	struct ifp_ping_server *server = calloc(1, sizeof(*server));
	size_t size_bytes = sizeof(server->endpoint);
	int err;

	if (!server)
		return ifp_fail(-ENOMEM, "serve pings: out of memory");
	err = ifp_ping_socket_new(zmq_context, ZMQ_REP, bind_address, keys, &server->socket);
	if (err)
		return ifp_fail(err, "serve pings on %s", bind_address);
	if (zmq_bind(server->socket, bind_address) ||
		zmq_getsockopt(server->socket, ZMQ_LAST_ENDPOINT, server->endpoint, &size_bytes))
		return ifp_fail(-zmq_errno(), "serve pings on %s: %s", bind_address,
			zmq_strerror(zmq_errno()));
	*out = IFP_TAKE_PTR(server);
	return 0;
}

void ifp_ping_server_free(struct ifp_ping_server **server)
{
	if (*server) {
		ifp_ping_socket_close(&(*server)->socket);
		free(*server);
	}
	*server = NULL;
}

const char *ifp_ping_server_endpoint(const struct ifp_ping_server *server)
{
	return server->endpoint;
}

void *ifp_ping_server_socket(struct ifp_ping_server *server)
{
	return server->socket;
}

/* What came is no ping: an empty answer sets the socket free for the next one. */
static void refuse(struct ifp_ping_server *server)
{
	int more = 0;
	size_t size_bytes = sizeof(more);

	while (!zmq_getsockopt(server->socket, ZMQ_RCVMORE, &more, &size_bytes) && more)
		zmq_recv(server->socket, NULL, 0, ZMQ_DONTWAIT);
	zmq_send(server->socket, NULL, 0, ZMQ_DONTWAIT);
}

void ifp_ping_server_answer(struct ifp_ping_server *server)
{
	for (int i = 0; i < ANSWERS_A_CALL; i++) {
		struct ifp_ping_message message;
		int n = zmq_recv(server->socket, &message, sizeof(message), ZMQ_DONTWAIT);
		int64_t t2_ns = ifp_clock_raw_fenced_ns();

		if (n < 0)
			return;
		if (n != sizeof(message) || message.magic != htole64(IFP_PING_MAGIC)) {
			refuse(server);
			continue;
		}
		message.t2_ns = (int64_t)htole64((uint64_t)t2_ns);
		message.t3_ns = (int64_t)htole64((uint64_t)ifp_clock_raw_fenced_ns());
		zmq_send(server->socket, &message, sizeof(message), ZMQ_DONTWAIT);
	}
}
