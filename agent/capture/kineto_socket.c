/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/kineto_socket.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* Layouts of dynolog's Utils.h on 64-bit machines. */
struct datagram_header {
	uint64_t size_bytes;
	char type[32];
};

struct context_payload {
	int32_t gpu;
	int32_t pid;
	int64_t job;
};

struct request_payload {
	int32_t wants;
	int32_t pid_count;
	int64_t job;
};

_Static_assert(sizeof(struct datagram_header) == IFP_KINETO_DATAGRAM_HEADER_BYTES, "protocol");
_Static_assert(sizeof(struct context_payload) == 16, "protocol");
_Static_assert(sizeof(struct request_payload) == 16, "protocol");

static int decode_context(const void *payload, size_t len_bytes, struct ifp_kineto_request *out)
{
	struct context_payload context;

	if (len_bytes != sizeof(context))
		return ifp_fail(
			-EBADMSG, "context of %zu bytes, not %zu", len_bytes, sizeof(context));
	memcpy(&context, payload, sizeof(context));
	*out = (struct ifp_kineto_request){.is_context = true, .pid = context.pid};
	return 0;
}

static int decode_request(
	const unsigned char *payload, size_t len_bytes, struct ifp_kineto_request *out)
{
	struct request_payload request;
	int32_t pid;

	if (len_bytes < sizeof(request))
		return ifp_fail(-EBADMSG, "request of only %zu bytes", len_bytes);
	memcpy(&request, payload, sizeof(request));
	if (request.pid_count < 1 || request.pid_count > IFP_KINETO_MAX_PIDS)
		return ifp_fail(-EBADMSG, "request that names %d processes", request.pid_count);
	if (len_bytes != sizeof(request) + sizeof(pid) * (size_t)request.pid_count)
		return ifp_fail(-EBADMSG, "request of %zu bytes that names %d processes", len_bytes,
			request.pid_count);
	memcpy(&pid, payload + sizeof(request), sizeof(pid));
	*out = (struct ifp_kineto_request){.wants = request.wants, .pid = pid};
	return 0;
}

int ifp_kineto_request_decode(const void *data, size_t len_bytes, struct ifp_kineto_request *out)
{
	const unsigned char *payload = (const unsigned char *)data + sizeof(struct datagram_header);
	struct datagram_header header;

	if (len_bytes < sizeof(header))
		return ifp_fail(-EBADMSG, "datagram of only %zu bytes", len_bytes);
	memcpy(&header, data, sizeof(header));
	if (header.size_bytes != len_bytes - sizeof(header))
		return ifp_fail(-EBADMSG, "datagram that announces %llu bytes and has %zu",
			(unsigned long long)header.size_bytes, len_bytes - sizeof(header));
	if (!memchr(header.type, '\0', sizeof(header.type)))
		return ifp_fail(-EBADMSG, "datagram whose type has no end");
	if (!strcmp(header.type, "req"))
		return decode_request(payload, header.size_bytes, out);
	if (!strcmp(header.type, "ctxt"))
		return decode_context(payload, header.size_bytes, out);
	return ifp_fail(-EBADMSG, "datagram of unknown type");
}

void ifp_kineto_answer_encode(
	const struct ifp_kineto_request *request, const char *config, struct ifp_buf *out)
{
	const int32_t process_count = 1;
	const void *payload = request->is_context ? (const void *)&process_count : config;
	struct datagram_header header = {0};

	header.size_bytes = request->is_context ? sizeof(process_count) : strlen(config);
	strcpy(header.type, request->is_context ? "ctxt" : "req");
	ifp_buf_append(out, &header, sizeof(header));
	ifp_buf_append(out, payload, header.size_bytes);
}

int ifp_kineto_socket_open(const char *directory, int *fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	IFP_CLEANUP_FD int opened = -1;
	int len_bytes;

	len_bytes = snprintf(address.sun_path, sizeof(address.sun_path), "%s/dynolog", directory);
	if (len_bytes < 0 || (size_t)len_bytes >= sizeof(address.sun_path))
		return ifp_fail(-ENAMETOOLONG, "socket in %s: path too long", directory);
	opened = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (opened < 0)
		return ifp_fail_errno("socket for Kineto");
	if (bind(opened, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return ifp_fail_errno("bind %s", address.sun_path);
	*fd = IFP_TAKE_FD(opened);
	return 0;
}

ssize_t ifp_kineto_socket_receive(
	int fd, void *data, size_t size_bytes, struct ifp_kineto_peer *peer)
{
	ssize_t len_bytes;

	do {
		peer->address_bytes = sizeof(peer->address);
		len_bytes = recvfrom(fd, data, size_bytes, MSG_DONTWAIT,
			(struct sockaddr *)&peer->address, &peer->address_bytes);
	} while (len_bytes < 0 && errno == EINTR);
	if (len_bytes >= 0)
		return len_bytes;
	return errno == EAGAIN ? -EAGAIN : ifp_fail_errno("receive from Kineto");
}

int ifp_kineto_socket_send(
	int fd, const struct ifp_buf *datagram, const struct ifp_kineto_peer *peer)
{
	ssize_t sent_bytes;

	if (ifp_buf_status(datagram) < 0)
		return -ENOMEM;
	do {
		sent_bytes =
			sendto(fd, datagram->data, datagram->len_bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
				(const struct sockaddr *)&peer->address, peer->address_bytes);
	} while (sent_bytes < 0 && errno == EINTR);
	return sent_bytes < 0 ? ifp_fail_errno("answer Kineto") : 0;
}
