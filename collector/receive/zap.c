/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/zap.h"

#include "core/error.h"
#include "core/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define KEY_BYTES 32
#define PART_MAX_BYTES 255

/* The parts of a request, in their order; the credentials of CURVE are the client's key. */
enum request_part {
	REQUEST_VERSION,
	REQUEST_ID,
	REQUEST_DOMAIN,
	REQUEST_ADDRESS,
	REQUEST_IDENTITY,
	REQUEST_MECHANISM,
	REQUEST_CREDENTIALS,
	REQUEST_PARTS,
};

struct part {
	uint8_t bytes[PART_MAX_BYTES + 1];
	size_t len_bytes;
};

struct ifp_zap {
	void *socket;
	uint8_t client_key[KEY_BYTES];
};

int ifp_zap_new(void *zmq_context, const char *client_public, struct ifp_zap **out)
{
	struct ifp_zap *zap = calloc(1, sizeof(*zap));
	int linger_ms = 0;

	if (!zap)
		return ifp_fail(-ENOMEM, "out of memory for the authentication");
	if (strlen(client_public) != 40 || !zmq_z85_decode(zap->client_key, client_public)) {
		free(zap);
		return ifp_fail(-EINVAL, "the client's public key is no CURVE key");
	}
	zap->socket = zmq_socket(zmq_context, ZMQ_REP);
	if (!zap->socket ||
		zmq_setsockopt(zap->socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms)) ||
		zmq_bind(zap->socket, "inproc://zeromq.zap.01")) {
		int err = ifp_fail(-EIO, "start the authentication: %s", zmq_strerror(zmq_errno()));

		ifp_zap_free(&zap);
		return err;
	}
	*out = zap;
	return 0;
}

void ifp_zap_free(struct ifp_zap **zap)
{
	if (!*zap)
		return;
	if ((*zap)->socket)
		zmq_close((*zap)->socket);
	free(*zap);
	*zap = NULL;
}

void *ifp_zap_socket(struct ifp_zap *zap)
{
	return zap->socket;
}

/* Number of parts read, 0 when there is no request. Parts beyond the expected ones are dropped. */
static int read_request(struct ifp_zap *zap, struct part *parts)
{
	int count = 0;

	for (int more = 1; more; count++) {
		struct part rest;
		struct part *part = count < REQUEST_PARTS ? &parts[count] : &rest;
		size_t more_bytes = sizeof(more);
		int len = zmq_recv(zap->socket, part->bytes, PART_MAX_BYTES, ZMQ_DONTWAIT);

		if (len < 0)
			return 0;
		/* zmq_recv() gives the whole length also of a part that it has cut. */
		part->len_bytes = len <= PART_MAX_BYTES ? (size_t)len : 0;
		part->bytes[part->len_bytes] = 0;
		zmq_getsockopt(zap->socket, ZMQ_RCVMORE, &more, &more_bytes);
	}
	return count;
}

static bool is(const struct part *part, const char *text)
{
	return part->len_bytes == strlen(text) && memcmp(part->bytes, text, part->len_bytes) == 0;
}

static void send_text(struct ifp_zap *zap, const char *text, int flags)
{
	zmq_send(zap->socket, text, strlen(text), flags);
}

void ifp_zap_answer(struct ifp_zap *zap)
{
	struct part parts[REQUEST_PARTS] = {0};
	int count = read_request(zap, parts);
	bool admitted;

	if (!count)
		return;
	admitted = count == REQUEST_PARTS && is(&parts[REQUEST_VERSION], "1.0") &&
		   is(&parts[REQUEST_DOMAIN], IFP_ZAP_DOMAIN) &&
		   is(&parts[REQUEST_MECHANISM], "CURVE") &&
		   parts[REQUEST_CREDENTIALS].len_bytes == KEY_BYTES &&
		   memcmp(parts[REQUEST_CREDENTIALS].bytes, zap->client_key, KEY_BYTES) == 0;
	if (!admitted)
		ifp_log_warn("a connection from %s with another key was refused",
			(const char *)parts[REQUEST_ADDRESS].bytes);
	send_text(zap, "1.0", ZMQ_SNDMORE);
	zmq_send(zap->socket, parts[REQUEST_ID].bytes, parts[REQUEST_ID].len_bytes, ZMQ_SNDMORE);
	send_text(zap, admitted ? "200" : "400", ZMQ_SNDMORE);
	send_text(zap, admitted ? "OK" : "this key is not of this job", ZMQ_SNDMORE);
	send_text(zap, "", ZMQ_SNDMORE); /* user id */
	send_text(zap, "", 0);		 /* metadata */
}
