/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's end of Kineto's on-demand protocol: datagrams over AF_UNIX sockets in a directory,
 * in the machine's own byte order and struct layout (dynolog's ipcfabric/FabricManager.h and
 * Utils.h). A datagram is {size_t size; char type[32]} and a payload of size bytes:
 *
 *	type "req", payload {int32 type; int32 n; int64 jobid; int32 pids[n]}
 *		answer "req", payload = text of a configuration, empty = nothing to do
 *	type "ctxt", payload {int32 gpu; int32 pid; int64 jobid}
 *		answer "ctxt", payload {int32 number of processes known}
 *
 * The client takes the next datagram that comes for its answer, whatever it is, and ends its
 * process when the sender's address is not a path in the directory. So each request is answered
 * exactly once, at once, and from the bound socket; what is no request is not answered.
 */
#pragma once

#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define IFP_KINETO_DATAGRAM_HEADER_BYTES 40
#define IFP_KINETO_DATAGRAM_MAX_BYTES 4096
#define IFP_KINETO_MAX_PIDS 64

/* Bits of a request's type: what the client is ready to take. None = its profiler is busy. */
enum ifp_kineto_request_bits {
	IFP_KINETO_WANTS_EVENTS = 1,
	IFP_KINETO_WANTS_ACTIVITIES = 2,
};

struct ifp_kineto_request {
	bool is_context; /* "ctxt"; otherwise "req" */
	int32_t wants;	 /* enum ifp_kineto_request_bits; 0 in a context */
	int32_t pid;	 /* of the client, in its own pid namespace */
};

/* -EBADMSG with a cause for whatever is not exactly one request of a known type. */
int ifp_kineto_request_decode(const void *data, size_t len_bytes, struct ifp_kineto_request *out);

/* Appends the datagram that answers the request. config: only for "req"; may be empty. */
void ifp_kineto_answer_encode(
	const struct ifp_kineto_request *request, const char *config, struct ifp_buf *out);

/* Binds DIRECTORY/dynolog, non-blocking, close-on-exec. */
int ifp_kineto_socket_open(const char *directory, int *fd);

/* Where an answer goes. */
struct ifp_kineto_peer {
	struct sockaddr_un address;
	socklen_t address_bytes;
};

/*
 * The next datagram: its length (0 = an empty one), -EAGAIN when none is waiting, without a cause,
 * or another negative errno. Longer ones than
 * size_bytes are given cut: they are no requests.
 */
ssize_t ifp_kineto_socket_receive(
	int fd, void *data, size_t size_bytes, struct ifp_kineto_peer *peer);

/* Never waits. */
int ifp_kineto_socket_send(
	int fd, const struct ifp_buf *datagram, const struct ifp_kineto_peer *peer);
