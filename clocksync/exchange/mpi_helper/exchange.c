/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/exchange/mpi_helper/exchange.h"

#include "clocksync/estimate/edge.h"
#include "clocksync/exchange/plan.h"
#include "core/cleanup.h"
#include "core/clock.h"

#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* Fewest round trips, and how many without a shorter one end a pair's exchange. */
#define MIN_ROUND_TRIPS 8
#define PATIENCE 8

#define FIRST_TAG 100
#define STOP (-1)

/* A ping carries its number, the answer repeats it and adds the server's stamps. */
enum { SEQUENCE, T2, T3, MESSAGE_LENGTH };

static void nap(void)
{
	const struct timespec time = {.tv_nsec = 200000};

	nanosleep(&time, NULL);
}

/*
 * Looks until the request is complete. eager: gives the processor away between looks but does not
 * sleep, because the moment of arrival is measured.
 */
static int complete(MPI_Request *request, int64_t deadline_ns, bool eager)
{
	for (;;) {
		int done = 0;

		if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return -EIO;
		if (done)
			return 0;
		if (ifp_clock_raw_ns() > deadline_ns)
			return -ETIMEDOUT;
		if (eager)
			sched_yield();
		else
			nap();
	}
}

int ifp_mpi_barrier(int64_t deadline_ns)
{
	MPI_Request request;

	if (MPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS)
		return -EIO;
	return complete(&request, deadline_ns, false);
}

int ifp_mpi_leaders(bool leader, int64_t deadline_ns, uint32_t *leaders, uint32_t *count)
{
	/* A collective that timed out still owns its buffers: these are left to it then. */
	int *mine = malloc(sizeof(*mine)), *all = NULL, size = 0, err;
	MPI_Request request;

	MPI_Comm_size(MPI_COMM_WORLD, &size);
	all = calloc((size_t)size + 1, sizeof(*all));
	if (!mine || !all) {
		free(mine);
		free(all);
		return -ENOMEM;
	}
	*mine = leader;
	if (MPI_Iallgather(mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &request) !=
		MPI_SUCCESS)
		return -EIO;
	err = complete(&request, deadline_ns, false);
	if (err)
		return err;
	*count = 0;
	for (int rank = 0; rank < size; rank++) {
		if (all[rank])
			leaders[(*count)++] = (uint32_t)rank;
	}
	free(mine);
	free(all);
	return 0;
}

static int send_message(const int64_t *message, int peer, int tag, int64_t deadline_ns)
{
	/* Static: a send that timed out is let go and may still read it. */
	static int64_t buffer[MESSAGE_LENGTH];
	MPI_Request request;
	int err;

	for (int i = 0; i < MESSAGE_LENGTH; i++)
		buffer[i] = message[i];
	if (MPI_Isend(buffer, MESSAGE_LENGTH, MPI_INT64_T, peer, tag, MPI_COMM_WORLD, &request) !=
		MPI_SUCCESS)
		return -EIO;
	err = complete(&request, deadline_ns, true);
	if (err == -ETIMEDOUT)
		MPI_Request_free(&request);
	return err;
}

static int receive_message(int64_t *message, int peer, int tag, int64_t deadline_ns)
{
	MPI_Request request;
	int err;

	if (MPI_Irecv(message, MESSAGE_LENGTH, MPI_INT64_T, peer, tag, MPI_COMM_WORLD, &request) !=
		MPI_SUCCESS)
		return -EIO;
	err = complete(&request, deadline_ns, true);
	if (err == -ETIMEDOUT) {
		MPI_Cancel(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	return err;
}

static int round_trip(
	int64_t sequence, int peer, int tag, int64_t deadline_ns, struct ifp_round_trip *trip)
{
	int64_t message[MESSAGE_LENGTH] = {[SEQUENCE] = sequence};
	int err;

	trip->t1_ns = ifp_clock_raw_fenced_ns();
	err = send_message(message, peer, tag, deadline_ns);
	if (!err)
		err = receive_message(message, peer, tag, deadline_ns);
	trip->t4_ns = ifp_clock_raw_fenced_ns();
	trip->t2_ns = message[T2];
	trip->t3_ns = message[T3];
	return err ? err : message[SEQUENCE] == sequence ? 0 : -EPROTO;
}

/* The client's side of a pair. What was measured before a failure stays certified. */
static void ping(uint32_t round_trips, int tag, int64_t deadline_ns, struct ifp_clock_edge *edge)
{
	int64_t stop[MESSAGE_LENGTH] = {[SEQUENCE] = STOP};
	uint32_t without_gain = 0;

	ifp_edge_start(edge);
	for (uint32_t i = 0; i < round_trips; i++) {
		struct ifp_round_trip trip;

		if (round_trip(i, (int)edge->server, tag, deadline_ns, &trip))
			return;
		without_gain = ifp_edge_add(edge, &trip) ? 0 : without_gain + 1;
		if (i + 1 >= MIN_ROUND_TRIPS && without_gain >= PATIENCE)
			break;
	}
	send_message(stop, (int)edge->server, tag, deadline_ns);
}

/* The server's side. */
static int pong(int peer, int tag, int64_t deadline_ns)
{
	for (;;) {
		int64_t message[MESSAGE_LENGTH];
		int err = receive_message(message, peer, tag, deadline_ns);

		message[T2] = ifp_clock_raw_fenced_ns();
		if (err || message[SEQUENCE] == STOP)
			return err;
		message[T3] = ifp_clock_raw_fenced_ns();
		err = send_message(message, peer, tag, deadline_ns);
		if (err)
			return err;
	}
}

static void take_part(
	struct ifp_mpi_exchange *exchange, const struct ifp_clock_pair *pair, uint32_t rank)
{
	uint32_t client = exchange->leaders[pair->client], server = exchange->leaders[pair->server];
	int64_t deadline_ns = ifp_clock_raw_ns() + exchange->pair_ns;
	int tag = FIRST_TAG + (int)pair->round;

	if (deadline_ns > exchange->deadline_ns)
		deadline_ns = exchange->deadline_ns;
	if (rank == server) {
		exchange->failed += pong((int)client, tag, deadline_ns) != 0;
	} else if (rank == client) {
		struct ifp_clock_edge *edge = exchange->edges + exchange->edge_count;

		*edge = (struct ifp_clock_edge){.client = client, .server = server, .over_mpi = 1};
		ping(exchange->round_trips, tag, deadline_ns, edge);
		if (ifp_edge_usable(edge))
			exchange->edge_count++;
		else
			exchange->failed++;
	}
}

int ifp_mpi_exchange(struct ifp_mpi_exchange *exchange)
{
	uint32_t count = ifp_clock_plan(exchange->leader_count, NULL);
	IFP_CLEANUP_FREE struct ifp_clock_pair *pairs = calloc(count + 1, sizeof(*pairs));
	int rank = 0;

	if (!pairs)
		return -ENOMEM;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	ifp_clock_plan(exchange->leader_count, pairs);
	exchange->edge_count = exchange->failed = 0;
	for (uint32_t i = 0; i < count; i++)
		take_part(exchange, pairs + i, (uint32_t)rank);
	return 0;
}
