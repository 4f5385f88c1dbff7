/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/exchange/ping.h"

#include "clocksync/estimate/edge.h"
#include "clocksync/exchange/ping_socket.h"
#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"

#include <endian.h>
#include <errno.h>
#include <zmq.h>

/* Fewest round trips, and how many without a shorter one end the exchange. */
#define MIN_ROUND_TRIPS 8
#define PATIENCE 8

/* A ping whose answer takes longer is taken as lost and sent again. */
#define LOST_AFTER_MS 1000

struct pinger {
	void *socket;
	uint64_t sequence;
	int64_t deadline_ns; /* of RAW */
};

static int64_t milliseconds_left(const struct pinger *pinger)
{
	int64_t left_ns = pinger->deadline_ns - ifp_clock_raw_ns();

	return left_ns > 0 ? left_ns / IFP_NS_PER_MS + 1 : 0;
}

/* The socket is a DEALER that talks to a REP: an empty part stands in front. */
static int send_ping(struct pinger *pinger, struct ifp_round_trip *trip)
{
	struct ifp_ping_message ping = {
		.magic = htole64(IFP_PING_MAGIC), .sequence = htole64(++pinger->sequence)};

	if (zmq_send(pinger->socket, NULL, 0, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
		return -zmq_errno();
	trip->t1_ns = ifp_clock_raw_fenced_ns();
	return zmq_send(pinger->socket, &ping, sizeof(ping), ZMQ_DONTWAIT) < 0 ? -zmq_errno() : 0;
}

/* Takes one message. True when it is the answer to the last ping: the trip is complete then. */
static bool take_answer(struct pinger *pinger, struct ifp_round_trip *trip)
{
	struct ifp_ping_message answer;
	int empty = zmq_recv(pinger->socket, &answer, sizeof(answer), ZMQ_DONTWAIT);
	int n = empty < 0 ? -1 : zmq_recv(pinger->socket, &answer, sizeof(answer), ZMQ_DONTWAIT);
	int64_t t4_ns = ifp_clock_raw_fenced_ns();

	if (empty != 0 || n != sizeof(answer) || answer.magic != htole64(IFP_PING_MAGIC) ||
		le64toh(answer.sequence) != pinger->sequence)
		return false;
	trip->t2_ns = (int64_t)le64toh((uint64_t)answer.t2_ns);
	trip->t3_ns = (int64_t)le64toh((uint64_t)answer.t3_ns);
	trip->t4_ns = t4_ns;
	return true;
}

/* One round trip; -ETIMEDOUT when this ping's answer did not come. */
static int round_trip(struct pinger *pinger, struct ifp_round_trip *trip)
{
	zmq_pollitem_t item = {.socket = pinger->socket, .events = ZMQ_POLLIN};
	int64_t lost_ns = ifp_clock_raw_ns() + LOST_AFTER_MS * IFP_NS_PER_MS;
	int err = send_ping(pinger, trip);

	if (err)
		return err;
	while (ifp_clock_raw_ns() < lost_ns && milliseconds_left(pinger)) {
		int64_t wait_ms = milliseconds_left(pinger);

		if (zmq_poll(&item, 1, wait_ms < LOST_AFTER_MS ? wait_ms : LOST_AFTER_MS) < 0) {
			if (zmq_errno() != EINTR)
				return -zmq_errno();
			continue;
		}
		if (item.revents && take_answer(pinger, trip))
			return 0;
	}
	return -ETIMEDOUT;
}

static int exchange(struct pinger *pinger, uint32_t round_trips, struct ifp_clock_edge *edge)
{
	uint32_t without_gain = 0;

	while (edge->round_trips < round_trips && milliseconds_left(pinger)) {
		struct ifp_round_trip trip;
		int err = round_trip(pinger, &trip);

		if (err == -ETIMEDOUT)
			continue;
		if (err)
			return err;
		without_gain = ifp_edge_add(edge, &trip) ? 0 : without_gain + 1;
		if (edge->round_trips >= MIN_ROUND_TRIPS && without_gain >= PATIENCE)
			break;
	}
	return edge->round_trips ? 0 : -ETIMEDOUT;
}

int ifp_ping_measure(void *zmq_context, const char *endpoint, const struct ifp_keys *keys,
	uint32_t round_trips, int64_t deadline_ms, struct ifp_clock_edge *edge)
{
	IFP_CLEANUP(ifp_ping_socket_close) void *socket = NULL;
	struct pinger pinger = {.deadline_ns = ifp_clock_raw_ns() + deadline_ms * IFP_NS_PER_MS};
	struct ifp_clock_edge result = *edge;
	int err = ifp_ping_socket_new(zmq_context, ZMQ_DEALER, endpoint, keys, &socket);

	if (err)
		return ifp_fail(err, "ping %s", endpoint);
	if (zmq_connect(socket, endpoint))
		return ifp_fail(-zmq_errno(), "ping %s: %s", endpoint, zmq_strerror(zmq_errno()));
	pinger.socket = socket;
	ifp_edge_start(&result);
	result.over_mpi = 0;
	err = exchange(
		&pinger, round_trips > MIN_ROUND_TRIPS ? round_trips : MIN_ROUND_TRIPS, &result);
	if (err == -ETIMEDOUT)
		return ifp_fail(
			err, "ping %s: no answer within %lld ms", endpoint, (long long)deadline_ms);
	if (err)
		return ifp_fail(err, "ping %s: %s", endpoint, zmq_strerror(-err));
	*edge = result;
	return 0;
}
