/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: a server of pings in a thread of its own. */
#pragma once

#include "clocksync/exchange/ping.h"

#include "test.h"

#include <pthread.h>
#include <unistd.h>
#include <zmq.h>

struct serving {
	void *context;
	struct ifp_ping_server *server;
	pthread_t thread;
	int stop[2]; /* a pipe */
};

static inline void *serve_pings(void *argument)
{
	struct serving *serving = argument;
	zmq_pollitem_t items[] = {
		{.socket = ifp_ping_server_socket(serving->server), .events = ZMQ_POLLIN},
		{.fd = serving->stop[0], .events = ZMQ_POLLIN},
	};

	while (!items[1].revents) {
		if (zmq_poll(items, 2, 30000) <= 0)
			break;
		if (items[0].revents)
			ifp_ping_server_answer(serving->server);
	}
	return NULL;
}

static inline void serving_start(
	struct serving *serving, const char *address, const struct ifp_keys *keys)
{
	serving->context = zmq_ctx_new();
	assert_ok(ifp_ping_server_new(serving->context, address, keys, &serving->server));
	assert_int_equal(pipe(serving->stop), 0);
	assert_int_equal(pthread_create(&serving->thread, NULL, serve_pings, serving), 0);
}

static inline void serving_stop(struct serving *serving)
{
	assert_int_equal(write(serving->stop[1], "", 1), 1);
	pthread_join(serving->thread, NULL);
	close(serving->stop[0]);
	close(serving->stop[1]);
	ifp_ping_server_free(&serving->server);
	zmq_ctx_term(serving->context);
}
