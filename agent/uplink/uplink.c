/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/uplink/uplink.h"

#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

/* The last words of an agent that ends get this long to leave. */
#define LINGER_MS 200
/* Intervals at which ZeroMQ tries again to reach a collector that is not there (yet, any more). */
#define RECONNECT_MS 100
#define RECONNECT_MAX_MS 1000
/* A TCP connection whose other end has vanished without a word is noticed after this time. */
#define HEARTBEAT_MS 5000
#define HEARTBEAT_TIMEOUT_MS 15000

struct ifp_uplink {
	void *socket;
	struct ifp_frame_queue *frames;
	uint32_t rank;
	uint64_t run_id; /* 0 before WELCOME */
	uint64_t credit; /* frames that may be in flight */
	int64_t progress_ns;
	struct ifp_buf frame, message; /* scratch */
	zmq_msg_t received;
};

static int set_option(void *socket, int option, int value)
{
	if (zmq_setsockopt(socket, option, &value, sizeof(value)))
		return ifp_fail(-EINVAL, "set up the socket to the collector: %s",
			zmq_strerror(zmq_errno()));
	return 0;
}

static int set_keys(void *socket, const struct ifp_keys *keys)
{
	if (zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, keys->server_public, 41) ||
		zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, keys->client_public, 41) ||
		zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys->client_secret, 41))
		return ifp_fail(-EINVAL, "use the keys of the job: %s", zmq_strerror(zmq_errno()));
	return 0;
}

static int set_up(void *socket, const struct ifp_uplink_config *config)
{
	const struct {
		int option, value;
	} options[] = {
		{ZMQ_LINGER, LINGER_MS},
		/* what may be in flight is bounded by the credit, control messages by the clock */
		{ZMQ_SNDHWM, 0},
		{ZMQ_RCVHWM, 0},
		{ZMQ_RECONNECT_IVL, RECONNECT_MS},
		{ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS},
		{ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS},
		{ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS},
	};
	int err = 0;

	for (size_t i = 0; !err && i < IFP_ARRAY_SIZE(options); i++)
		err = set_option(socket, options[i].option, options[i].value);
	if (!err && config->keys)
		err = set_keys(socket, config->keys);
	if (!err && zmq_connect(socket, config->address))
		err = ifp_fail(-EINVAL, "connect to the collector at %s: %s", config->address,
			zmq_strerror(zmq_errno()));
	return err;
}

int ifp_uplink_new(const struct ifp_uplink_config *config, struct ifp_uplink **out)
{
	struct ifp_uplink *uplink = calloc(1, sizeof(*uplink));
	int err;

	if (!uplink)
		return ifp_fail(-ENOMEM, "no memory for the line to the collector");
	zmq_msg_init(&uplink->received);
	uplink->rank = config->queue.rank;
	uplink->progress_ns = ifp_clock_raw_ns();
	err = ifp_frame_queue_new(&config->queue, &uplink->frames);
	if (!err) {
		uplink->socket = zmq_socket(config->zmq_context, ZMQ_DEALER);
		err = uplink->socket ? set_up(uplink->socket, config)
				     : ifp_fail(-EMFILE, "open the socket to the collector: %s",
					       zmq_strerror(zmq_errno()));
	}
	if (err) {
		ifp_uplink_free(&uplink);
		return err;
	}
	*out = uplink;
	return 0;
}

void ifp_uplink_free(struct ifp_uplink **uplink)
{
	struct ifp_uplink *u = *uplink;

	if (!u)
		return;
	if (u->socket)
		zmq_close(u->socket);
	zmq_msg_close(&u->received);
	ifp_frame_queue_free(&u->frames);
	ifp_buf_free(&u->frame);
	ifp_buf_free(&u->message);
	free(u);
	*uplink = NULL;
}

void *ifp_uplink_socket(const struct ifp_uplink *uplink)
{
	return uplink->socket;
}

struct ifp_frame_queue *ifp_uplink_frames(struct ifp_uplink *uplink)
{
	return uplink->frames;
}

static bool send_message(struct ifp_uplink *uplink, enum ifp_message_type type, const void *payload,
	size_t payload_bytes)
{
	const struct ifp_message message = {
		.type = type,
		.rank = uplink->rank,
		.run_id = type == IFP_MSG_HELLO ? 0 : uplink->run_id,
		.payload = payload,
		.payload_bytes = (uint32_t)payload_bytes,
	};

	ifp_buf_clear(&uplink->message);
	ifp_message_encode(&message, &uplink->message);
	if (ifp_buf_status(&uplink->message)) {
		ifp_error_clear();
		return false;
	}
	return zmq_send(uplink->socket, uplink->message.data, uplink->message.len_bytes,
		       ZMQ_DONTWAIT) >= 0;
}

void ifp_uplink_send(struct ifp_uplink *uplink, enum ifp_message_type type, const char *document)
{
	send_message(uplink, type, document, document ? strlen(document) : 0);
}

static bool of_this_run(const struct ifp_uplink *uplink, const struct ifp_message *message)
{
	/* before WELCOME the run is not known yet: REFUSE and WELCOME bring it */
	return message->rank == uplink->rank &&
	       (!uplink->run_id || message->run_id == uplink->run_id ||
		       message->type == IFP_MSG_WELCOME || message->type == IFP_MSG_REFUSE);
}

int ifp_uplink_receive(struct ifp_uplink *uplink, struct ifp_message *message)
{
	while (zmq_msg_recv(&uplink->received, uplink->socket, ZMQ_DONTWAIT) >= 0) {
		struct ifp_message decoded;
		int err = ifp_message_decode(
			zmq_msg_data(&uplink->received), zmq_msg_size(&uplink->received), &decoded);

		if (err == -EPROTO)
			return err;
		if (err) {
			ifp_error_clear();
			continue;
		}
		if (!of_this_run(uplink, &decoded))
			continue;
		*message = decoded;
		return 1;
	}
	return 0;
}

void ifp_uplink_welcome(
	struct ifp_uplink *uplink, uint64_t run_id, uint64_t last_sequence, uint64_t credit)
{
	uplink->run_id = run_id;
	ifp_uplink_acknowledge(uplink, last_sequence, credit, ifp_clock_raw_ns());
	ifp_frame_queue_rewind(uplink->frames);
}

void ifp_uplink_acknowledge(
	struct ifp_uplink *uplink, uint64_t sequence, uint64_t credit, int64_t now_ns)
{
	uint64_t before = ifp_frame_queue_waiting(uplink->frames);

	uplink->credit = credit;
	ifp_frame_queue_acknowledge(uplink->frames, sequence);
	if (!before || ifp_frame_queue_waiting(uplink->frames) < before)
		uplink->progress_ns = now_ns;
}

void ifp_uplink_pump(struct ifp_uplink *uplink)
{
	if (!uplink->run_id)
		return;
	while (ifp_frame_queue_in_flight(uplink->frames) < uplink->credit) {
		uint64_t sequence;
		int got = ifp_frame_queue_next(uplink->frames, &uplink->frame, &sequence);

		if (got < 0) {
			/* it stays in the queue: the next turn tries again */
			ifp_error_clear();
			return;
		}
		if (!got || !send_message(uplink, IFP_MSG_FRAME, uplink->frame.data,
				    uplink->frame.len_bytes))
			return;
	}
}

int64_t ifp_uplink_progress_ns(const struct ifp_uplink *uplink)
{
	return uplink->progress_ns;
}
