/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/exchange/ping_socket.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <string.h>
#include <zmq.h>

/* Above every command of the CURVE handshake, which counts as a message here. */
#define MAX_MESSAGE_BYTES 1024

static int set_keys(void *socket, bool server, const struct ifp_keys *keys)
{
	const char *public_key = server ? keys->server_public : keys->client_public;
	const char *secret_key = server ? keys->server_secret : keys->client_secret;
	const int one = 1;

	if (server)
		return zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &one, sizeof(one)) ||
		       zmq_setsockopt(
			       socket, ZMQ_CURVE_SECRETKEY, secret_key, strlen(secret_key) + 1);
	return zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, keys->server_public,
		       strlen(keys->server_public) + 1) ||
	       zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public_key, strlen(public_key) + 1) ||
	       zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret_key, strlen(secret_key) + 1);
}

int ifp_ping_socket_new(
	void *zmq_context, int type, const char *address, const struct ifp_keys *keys, void **out)
{
	IFP_CLEANUP(ifp_ping_socket_close) void *socket = zmq_socket(zmq_context, type);
	const int linger_ms = 0, ipv6 = strchr(address, '[') != NULL;
	const int64_t max_bytes = MAX_MESSAGE_BYTES;

	if (!socket)
		return ifp_fail(-zmq_errno(), "make a socket: %s", zmq_strerror(zmq_errno()));
	if (zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms)) ||
		zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &max_bytes, sizeof(max_bytes)) ||
		zmq_setsockopt(socket, ZMQ_IPV6, &ipv6, sizeof(ipv6)))
		return ifp_fail(-zmq_errno(), "set up a socket: %s", zmq_strerror(zmq_errno()));
	if (keys && set_keys(socket, type == ZMQ_REP, keys))
		return ifp_fail(
			-zmq_errno(), "set the keys of a socket: %s", zmq_strerror(zmq_errno()));
	*out = IFP_TAKE_PTR(socket);
	return 0;
}

void ifp_ping_socket_close(void **socket)
{
	if (*socket)
		zmq_close(*socket);
	*socket = NULL;
}
