/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/server.h"

#include "collector/receive/zap.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/frame.h"
#include "trace/wire/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <zmq.h>

#define MAX_MESSAGE_BYTES ((int64_t)IFP_FRAME_MAX_PAYLOAD_BYTES + 4096)
#define LINGER_MS 1000
#define HEARTBEAT_MS 2000 /* of ZeroMQ, so that a dead peer's connection is noticed */
#define HEARTBEAT_TIMEOUT_MS 10000

struct ifp_server {
	void *context;
	void *router;
	struct ifp_zap *zap; /* NULL without keys */
	zmq_msg_t message;   /* the last one received */
	bool has_message;
	char address[512];
	char ipc_path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* empty for tcp */
};

static const char *after(const char *text, const char *prefix)
{
	size_t len_bytes = strlen(prefix);

	return strncmp(text, prefix, len_bytes) == 0 ? text + len_bytes : NULL;
}

/*
 * Whether only processes of this host can reach it. Names other than localhost do not count: they
 * may mean any of the host's addresses.
 */
static bool is_loopback(const char *listen)
{
	const char *address = after(listen, "tcp://");
	const char *colon = address ? strrchr(address, ':') : NULL;
	struct in6_addr ipv6;
	struct in_addr ipv4;
	char host[64];

	if (!address)
		return true;
	if (!colon || colon - address >= (ptrdiff_t)sizeof(host))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
	if (strcmp(host, "localhost") == 0 || strcmp(host, "lo") == 0)
		return true;
	if (inet_pton(AF_INET, host, &ipv4) == 1)
		return ntohl(ipv4.s_addr) >> 24 == 127;
	if (host[0] == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		return inet_pton(AF_INET6, host + 1, &ipv6) == 1 && IN6_IS_ADDR_LOOPBACK(&ipv6);
	}
	return false;
}

/*
 * ZeroMQ replaces whatever file has the name, that of a live collector too, without a word: this
 * asks first.
 */
static int check_ipc_free(const char *path)
{
	IFP_CLEANUP_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;

	if (fd < 0)
		return ifp_fail_errno("make a socket");
	if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return ifp_fail(-EADDRINUSE,
			"listen on ipc://%s: there is another file of that name", path);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return ifp_fail(-EADDRINUSE, "another collector listens on ipc://%s", path);
	return 0;
}

static int check_address(const char *listen, const struct ifp_keys *keys)
{
	const char *ipc = after(listen, "ipc://");
	int err = ifp_address_check(listen, true);

	if (err)
		return ifp_fail(err, "listen on %s", listen);
	if (!keys && !is_loopback(listen))
		return ifp_fail(-EPERM,
			"listening on %s without keys would let anybody in: give --key-file (made "
			"by infprof-collector --keygen FILE)",
			listen);
	return ipc ? check_ipc_free(ipc) : 0;
}

static int set_int(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof(value));
}

static int set_keys(struct ifp_server *server, const struct ifp_keys *keys)
{
	int err = ifp_zap_new(server->context, keys->client_public, &server->zap);

	if (err)
		return err;
	if (zmq_setsockopt(
		    server->router, ZMQ_ZAP_DOMAIN, IFP_ZAP_DOMAIN, strlen(IFP_ZAP_DOMAIN)) ||
		set_int(server->router, ZMQ_CURVE_SERVER, 1) ||
		zmq_setsockopt(server->router, ZMQ_CURVE_SECRETKEY, keys->server_secret,
			sizeof(keys->server_secret)))
		return ifp_fail(-EINVAL, "use the keys: %s", zmq_strerror(zmq_errno()));
	return 0;
}

static int set_up(struct ifp_server *server, const char *listen, const struct ifp_keys *keys)
{
	int64_t max_bytes = MAX_MESSAGE_BYTES;
	size_t address_bytes = sizeof(server->address);
	int err;

	server->context = zmq_ctx_new();
	server->router = server->context ? zmq_socket(server->context, ZMQ_ROUTER) : NULL;
	if (!server->router || set_int(server->router, ZMQ_LINGER, LINGER_MS) ||
		set_int(server->router, ZMQ_ROUTER_MANDATORY, 1) ||
		set_int(server->router, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS) ||
		set_int(server->router, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS) ||
		set_int(server->router, ZMQ_IPV6, strchr(listen, '[') != NULL) ||
		zmq_setsockopt(server->router, ZMQ_MAXMSGSIZE, &max_bytes, sizeof(max_bytes)))
		return ifp_fail(-EIO, "make the socket: %s", zmq_strerror(zmq_errno()));
	if (keys && (err = set_keys(server, keys)))
		return err;
	if (zmq_bind(server->router, listen)) {
		err = zmq_errno();
		return ifp_fail(err == EADDRINUSE ? -EADDRINUSE : -EINVAL, "listen on %s: %s",
			listen, zmq_strerror(err));
	}
	if (zmq_getsockopt(server->router, ZMQ_LAST_ENDPOINT, server->address, &address_bytes))
		return ifp_fail(-EIO, "ask for the address: %s", zmq_strerror(zmq_errno()));
	if (after(server->address, "ipc://"))
		snprintf(server->ipc_path, sizeof(server->ipc_path), "%s",
			after(server->address, "ipc://"));
	return 0;
}

int ifp_server_new(const char *listen, const struct ifp_keys *keys, struct ifp_server **out)
{
	IFP_CLEANUP(ifp_server_free) struct ifp_server *server = NULL;
	char address[512];
	size_t len = strlen(listen);
	int err = check_address(listen, keys);

	if (err)
		return err;
	/* Port 0 means any free port, as everywhere else; ZeroMQ writes it "*". */
	snprintf(address, sizeof(address), "%s", listen);
	if (after(listen, "tcp://") && len > 2 && len < sizeof(address) &&
		strcmp(listen + len - 2, ":0") == 0)
		address[len - 1] = '*';
	server = calloc(1, sizeof(*server));
	if (!server)
		return ifp_fail(-ENOMEM, "out of memory for the server");
	zmq_msg_init(&server->message);
	err = set_up(server, address, keys);
	if (err)
		return err;
	*out = IFP_TAKE_PTR(server);
	return 0;
}

/* The socket's file, and the directory of the job that rank 0's agent has made for it. */
static void remove_ipc(char *path)
{
	char *name = strrchr(path, '/');

	unlink(path);
	if (name && strcmp(name, "/collector") == 0 && strstr(path, "/infprof-")) {
		*name = '\0';
		rmdir(path);
	}
}

void ifp_server_free(struct ifp_server **server)
{
	struct ifp_server *s = IFP_TAKE_PTR(*server);

	if (!s)
		return;
	zmq_msg_close(&s->message);
	if (s->router)
		zmq_close(s->router);
	ifp_zap_free(&s->zap);
	if (s->context)
		zmq_ctx_term(s->context);
	if (s->ipc_path[0])
		remove_ipc(s->ipc_path);
	free(s);
}

const char *ifp_server_address(const struct ifp_server *server)
{
	return server->address;
}

bool ifp_server_is_local(const struct ifp_server *server)
{
	return server->ipc_path[0] != '\0';
}

int ifp_server_wait(struct ifp_server *server, int wake_fd, int64_t timeout_ms)
{
	zmq_pollitem_t items[3] = {{.socket = server->router, .events = ZMQ_POLLIN}};
	int count = 1;

	if (server->zap)
		items[count++] = (zmq_pollitem_t){
			.socket = ifp_zap_socket(server->zap), .events = ZMQ_POLLIN};
	if (wake_fd >= 0)
		items[count++] = (zmq_pollitem_t){.fd = wake_fd, .events = ZMQ_POLLIN};
	if (zmq_poll(items, count, timeout_ms) < 0)
		return 0;
	if (server->zap && items[1].revents)
		ifp_zap_answer(server->zap);
	return items[0].revents ? 1 : 0;
}

/* Reads the part behind the one in message and any others. */
static void drop_rest(struct ifp_server *server)
{
	while (zmq_msg_more(&server->message))
		if (zmq_msg_recv(&server->message, server->router, ZMQ_DONTWAIT) < 0)
			return;
}

int ifp_server_receive(
	struct ifp_server *server, struct ifp_route *route, const void **data, size_t *len_bytes)
{
	for (;;) {
		int len =
			zmq_recv(server->router, route->bytes, sizeof(route->bytes), ZMQ_DONTWAIT);

		if (len < 0)
			return -EAGAIN;
		route->len_bytes = (uint8_t)len;
		if (zmq_msg_recv(&server->message, server->router, ZMQ_DONTWAIT) < 0)
			return -EAGAIN;
		if (!zmq_msg_more(&server->message) && len <= (int)sizeof(route->bytes))
			break;
		drop_rest(server);
	}
	*data = zmq_msg_data(&server->message);
	*len_bytes = zmq_msg_size(&server->message);
	return 0;
}

int ifp_server_send(struct ifp_server *server, const struct ifp_route *route, const void *data,
	size_t len_bytes)
{
	if (!route->len_bytes)
		return -EHOSTUNREACH;
	if (zmq_send(server->router, route->bytes, route->len_bytes, ZMQ_SNDMORE | ZMQ_DONTWAIT) <
		0)
		return zmq_errno() == EAGAIN ? -EAGAIN : -EHOSTUNREACH;
	if (zmq_send(server->router, data, len_bytes, ZMQ_DONTWAIT) < 0)
		return -EAGAIN;
	return 0;
}
