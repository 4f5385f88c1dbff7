/* SPDX-License-Identifier: Apache-2.0 */
/* Server and client of one process: one clock, so the true offset is 0. */
#include "clocksync/estimate/edge.h"
#include "clocksync/exchange/ping.h"
#include "core/cleanup.h"

#include "ping_thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct ifp_keys make_keys(void)
{
	struct ifp_keys keys;

	assert_int_equal(zmq_curve_keypair(keys.server_public, keys.server_secret), 0);
	assert_int_equal(zmq_curve_keypair(keys.client_public, keys.client_secret), 0);
	return keys;
}

static void assert_holds_zero(const struct ifp_clock_edge *edge)
{
	assert_true(ifp_edge_usable(edge));
	assert_true(edge->low_ns <= 0 && edge->high_ns >= 0);
	assert_in_range(edge->round_trips, 8, 32);
	assert_true(edge->best_t1_ns <= edge->best_t2_ns);
	assert_true(edge->best_t2_ns <= edge->best_t3_ns);
	assert_true(edge->best_t3_ns <= edge->best_t4_ns);
}

static void measure(const char *address, const struct ifp_keys *keys)
{
	struct serving serving = {0};
	struct ifp_clock_edge edge = {.epoch = 3, .client = 1, .server = 2, .over_mpi = 1};

	serving_start(&serving, address, keys);
	assert_ok(ifp_ping_measure(
		serving.context, ifp_ping_server_endpoint(serving.server), keys, 32, 20000, &edge));
	serving_stop(&serving);
	assert_holds_zero(&edge);
	assert_int_equal(edge.epoch, 3);
	assert_int_equal(edge.client, 1);
	assert_int_equal(edge.server, 2);
	assert_int_equal(edge.over_mpi, 0);
}

static void over_tcp(void **state)
{
	(void)state;
	measure("tcp://127.0.0.1:*", NULL);
}

static void over_tcp_encrypted(void **state)
{
	struct ifp_keys keys = make_keys();

	(void)state;
	measure("tcp://127.0.0.1:*", &keys);
}

static void over_ipc(void **state)
{
	char address[64];

	(void)state;
	snprintf(address, sizeof(address), "ipc:///tmp/infprof-test-ping-%d", getpid());
	measure(address, NULL);
}

static void over_ipc_encrypted(void **state)
{
	struct ifp_keys keys = make_keys();
	char address[64];

	(void)state;
	snprintf(address, sizeof(address), "ipc:///tmp/infprof-test-ping-%d", getpid());
	measure(address, &keys);
}

/* Without the job's keys nothing is measured, and the edge stays as it was. */
static void stranger_gets_no_answer(void **state)
{
	struct ifp_keys keys = make_keys(), others = make_keys();
	struct serving serving = {0};
	struct ifp_clock_edge edge = {.low_ns = 11, .high_ns = 12};
	const char *endpoint;

	(void)state;
	serving_start(&serving, "tcp://127.0.0.1:*", &keys);
	endpoint = ifp_ping_server_endpoint(serving.server);
	assert_int_equal(
		ifp_ping_measure(serving.context, endpoint, NULL, 8, 100, &edge), -ETIMEDOUT);
	assert_int_equal(
		ifp_ping_measure(serving.context, endpoint, &others, 8, 100, &edge), -ETIMEDOUT);
	ifp_error_clear();
	serving_stop(&serving);
	assert_int_equal(edge.low_ns, 11);
	assert_int_equal(edge.high_ns, 12);
}

/* A server that is there but never looks at its socket. */
static void silence_ends_at_the_deadline(void **state)
{
	void *context = zmq_ctx_new();
	struct ifp_ping_server *server;
	struct ifp_clock_edge edge = {0};

	(void)state;
	assert_ok(ifp_ping_server_new(context, "tcp://127.0.0.1:*", NULL, &server));
	assert_int_equal(
		ifp_ping_measure(context, ifp_ping_server_endpoint(server), NULL, 8, 50, &edge),
		-ETIMEDOUT);
	assert_int_equal(ifp_error_depth(), 1);
	ifp_error_clear();
	ifp_ping_server_free(&server);
	zmq_ctx_term(context);
}

/* What is no ping is answered with nothing, and the next ping is served. */
static void garbage_does_not_stop_the_server(void **state)
{
	struct serving serving = {0};
	struct ifp_clock_edge edge = {.server = 1};
	char answer[64];
	void *socket;

	(void)state;
	serving_start(&serving, "tcp://127.0.0.1:*", NULL);
	socket = zmq_socket(serving.context, ZMQ_REQ);
	assert_int_equal(zmq_connect(socket, ifp_ping_server_endpoint(serving.server)), 0);
	assert_int_equal(zmq_send(socket, "hello", 5, ZMQ_SNDMORE), 5);
	assert_int_equal(zmq_send(socket, "world", 5, 0), 5);
	assert_int_equal(zmq_recv(socket, answer, sizeof(answer), 0), 0);
	zmq_close(socket);
	assert_ok(ifp_ping_measure(
		serving.context, ifp_ping_server_endpoint(serving.server), NULL, 8, 20000, &edge));
	serving_stop(&serving);
	assert_holds_zero(&edge);
}

static void address_in_use_is_an_error(void **state)
{
	void *context = zmq_ctx_new();
	struct ifp_ping_server *first, *second = NULL;

	(void)state;
	assert_ok(ifp_ping_server_new(context, "tcp://127.0.0.1:*", NULL, &first));
	assert_int_equal(
		ifp_ping_server_new(context, ifp_ping_server_endpoint(first), NULL, &second),
		-EADDRINUSE);
	assert_null(second);
	ifp_error_clear();
	ifp_ping_server_free(&first);
	zmq_ctx_term(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_tcp),
		cmocka_unit_test(over_tcp_encrypted),
		cmocka_unit_test(over_ipc),
		cmocka_unit_test(over_ipc_encrypted),
		cmocka_unit_test(stranger_gets_no_answer),
		cmocka_unit_test(silence_ends_at_the_deadline),
		cmocka_unit_test(garbage_does_not_stop_the_server),
		cmocka_unit_test(address_in_use_is_an_error),
	};

	return RUN_TESTS(tests);
}
