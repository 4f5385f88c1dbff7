/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/exchange/ping.h"

#include "clocksync/estimate/edge.h"
#include "clocksync/exchange/ping_socket.h"
#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

/* Fewest round trips, and how many without a shorter one end the exchange. */
#define MIN_ROUND_TRIPS 8
#define PATIENCE 8

/* A ping whose answer takes longer is taken as lost and sent again. */
#define LOST_AFTER_MS 1000

struct ifp_ping_client {
	void *socket;
	char endpoint[512];
	uint32_t round_trips; /* at most */
	int64_t deadline_ms;
	int64_t deadline_ns; /* of RAW */

	bool under_way;
	int64_t lost_ns; /* of RAW; when the ping under way is given up */
	uint64_t sequence;
	struct ifp_round_trip trip;
	struct ifp_clock_edge edge;
	uint32_t without_gain;
	int failed; /* the socket's error when a ping could not be sent */
};

int ifp_ping_client_new(void *zmq_context, const char *endpoint, const struct ifp_keys *keys,
	uint32_t round_trips, int64_t deadline_ms, struct ifp_ping_client **out)
{
	IFP_CLEANUP(ifp_ping_client_free)
	struct ifp_ping_client *client = calloc(1, sizeof(*client));
	int err;

	if (!client)
		return ifp_fail(-ENOMEM, "ping %s: out of memory", endpoint);
	err = ifp_ping_socket_new(zmq_context, ZMQ_DEALER, endpoint, keys, &client->socket);
	if (err)
		return ifp_fail(err, "ping %s", endpoint);
	if (zmq_connect(client->socket, endpoint))
		return ifp_fail(-zmq_errno(), "ping %s: %s", endpoint, zmq_strerror(zmq_errno()));
	snprintf(client->endpoint, sizeof(client->endpoint), "%s", endpoint);
	client->round_trips = round_trips > MIN_ROUND_TRIPS ? round_trips : MIN_ROUND_TRIPS;
	client->deadline_ms = deadline_ms;
	client->deadline_ns = ifp_clock_raw_ns() + deadline_ms * IFP_NS_PER_MS;
	ifp_edge_start(&client->edge);
	*out = IFP_TAKE_PTR(client);
	return 0;
}

void ifp_ping_client_free(struct ifp_ping_client **client)
{
	if (*client) {
		ifp_ping_socket_close(&(*client)->socket);
		free(*client);
	}
	*client = NULL;
}

void *ifp_ping_client_socket(struct ifp_ping_client *client)
{
	return client->socket;
}

int64_t ifp_ping_client_wait_ms(const struct ifp_ping_client *client)
{
	int64_t until_ns = client->deadline_ns, left_ns;

	if (client->under_way && client->lost_ns < until_ns)
		until_ns = client->lost_ns;
	left_ns = until_ns - ifp_clock_raw_ns();
	return left_ns > 0 ? left_ns / IFP_NS_PER_MS + 1 : 0;
}

/* The socket is a DEALER that talks to a REP: an empty part stands in front. */
void ifp_ping_client_send(struct ifp_ping_client *client)
{
	struct ifp_ping_message ping = {.magic = htole64(IFP_PING_MAGIC)};

	if (client->under_way || client->failed)
		return;
	ping.sequence = htole64(++client->sequence);
	client->lost_ns = ifp_clock_raw_ns() + LOST_AFTER_MS * IFP_NS_PER_MS;
	if (zmq_send(client->socket, NULL, 0, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
		client->failed = -zmq_errno();
		return;
	}
	client->trip.t1_ns = ifp_clock_raw_fenced_ns();
	if (zmq_send(client->socket, &ping, sizeof(ping), ZMQ_DONTWAIT) < 0)
		client->failed = -zmq_errno();
	client->under_way = true;
}

/* One message. 1 = the answer to the ping under way, whose trip is whole then; 0 = another; -1 =
 * none. */
static int take_message(struct ifp_ping_client *client)
{
	struct ifp_ping_message answer;
	int empty = zmq_recv(client->socket, &answer, sizeof(answer), ZMQ_DONTWAIT);
	int n = empty < 0 ? -1 : zmq_recv(client->socket, &answer, sizeof(answer), ZMQ_DONTWAIT);
	int64_t t4_ns = ifp_clock_raw_fenced_ns();

	if (empty < 0)
		return -1;
	if (empty != 0 || n != sizeof(answer) || answer.magic != htole64(IFP_PING_MAGIC) ||
		le64toh(answer.sequence) != client->sequence || !client->under_way)
		return 0;
	client->trip.t2_ns = (int64_t)le64toh((uint64_t)answer.t2_ns);
	client->trip.t3_ns = (int64_t)le64toh((uint64_t)answer.t3_ns);
	client->trip.t4_ns = t4_ns;
	client->under_way = false;
	return 1;
}

/* Whether more round trips are wanted after the one that is whole. */
static bool wants_more(struct ifp_ping_client *client)
{
	struct ifp_clock_edge *edge = &client->edge;

	client->without_gain = ifp_edge_add(edge, &client->trip) ? 0 : client->without_gain + 1;
	return edge->round_trips < client->round_trips &&
	       (edge->round_trips < MIN_ROUND_TRIPS || client->without_gain < PATIENCE);
}

static void fill(const struct ifp_ping_client *client, struct ifp_clock_edge *edge)
{
	struct ifp_clock_edge result = client->edge;

	result.epoch = edge->epoch;
	result.client = edge->client;
	result.server = edge->server;
	result.over_mpi = 0;
	*edge = result;
}

int ifp_ping_client_take(struct ifp_ping_client *client, struct ifp_clock_edge *edge)
{
	bool over = false;
	int64_t now_ns;
	int got = 0;

	while (!over && !client->failed && (got = take_message(client)) >= 0)
		over = got > 0 && !wants_more(client);
	if (client->failed)
		return ifp_fail(client->failed, "ping %s: %s", client->endpoint,
			zmq_strerror(-client->failed));
	now_ns = ifp_clock_raw_ns();
	if (client->under_way && now_ns >= client->lost_ns)
		client->under_way = false;
	if (!over && now_ns < client->deadline_ns)
		return 1;
	if (!client->edge.round_trips)
		return ifp_fail(-ETIMEDOUT, "ping %s: no answer within %lld ms", client->endpoint,
			(long long)client->deadline_ms);
	fill(client, edge);
	return 0;
}

int ifp_ping_measure(void *zmq_context, const char *endpoint, const struct ifp_keys *keys,
	uint32_t round_trips, int64_t deadline_ms, struct ifp_clock_edge *edge)
{
	IFP_CLEANUP(ifp_ping_client_free) struct ifp_ping_client *client = NULL;
	int err =
		ifp_ping_client_new(zmq_context, endpoint, keys, round_trips, deadline_ms, &client);

	if (err)
		return err;
	do {
		zmq_pollitem_t item = {.socket = client->socket, .events = ZMQ_POLLIN};

		ifp_ping_client_send(client);
		if (zmq_poll(&item, 1, ifp_ping_client_wait_ms(client)) < 0 && zmq_errno() != EINTR)
			return ifp_fail(
				-zmq_errno(), "ping %s: %s", endpoint, zmq_strerror(zmq_errno()));
		err = ifp_ping_client_take(client, edge);
	} while (err > 0);
	return err;
}
