/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How exact clocks are compared over MPI, on real processes: our exchange, as infprof-clock-mpi
 * makes it, and what two other tracers do, in turns in the same run. Every rank is in a time
 * namespace of its own, ahead by a known number of seconds a rank, so that errors are against the
 * truth. On one machine clocks do not drift and paths are symmetric: the figures are the best case.
 *
 *     mpirun -n N sh -c 'exec unshare -T --monotonic "$((OMPI_COMM_WORLD_RANK * 137))" \
 *         bench_exchange 137 ROUNDS'
 *
 * bench/exchange runs it with the ranks pinned.
 */
#include "clocksync/estimate/edge.h"
#include "clocksync/exchange/mpi_helper/exchange.h"
#include "clocksync/exchange/plan.h"
#include "core/clock.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_TRIPS 512 /* as in infprof-clock-mpi */
#define SCOREP_PING_PONGS 10
#define EXTRAE_BARRIERS 3
#define WARM_UP 20 /* rounds that do not count: buffers are made, pages are touched */

enum method {
	OURS,
	SCOREP,
	EXTRAE,
	METHODS,
};

static const char *const names[] = {"infprof", "Score-P (10, shortest)", "Extrae (barrier exits)"};

struct bench {
	int rank, size;
	uint32_t leaders[64];
	struct ifp_mpi_exchange exchange; /* what every one of ours begins with */
	int64_t apart_ns;		  /* of the clocks of two neighbours */
	int rounds;
	int64_t *errors_ns[METHODS]; /* rank 0: of all ranks and rounds, by method */
	size_t count[METHODS];
	int64_t *widths_ns; /* rank 0: half the certified interval of our edges */
	size_t width_count;
	uint64_t violations;
	double cost_us[METHODS]; /* rank 0: sum over the rounds */
};

static void note(struct bench *bench, enum method method, int64_t error_ns)
{
	bench->errors_ns[method][bench->count[method]++] = llabs(error_ns);
}

/* Ours: the edges travel to rank 0 as they travel to the collector. */
static void take_edge(struct bench *bench, const struct ifp_clock_edge *edge)
{
	int64_t truth_ns = ((int64_t)edge->server - (int64_t)edge->client) * bench->apart_ns;
	int64_t width_ns = edge->high_ns - edge->low_ns;

	note(bench, OURS, edge->low_ns + width_ns / 2 - truth_ns);
	bench->widths_ns[bench->width_count++] = width_ns / 2;
	bench->violations += truth_ns < edge->low_ns || truth_ns > edge->high_ns;
}

static void ours(struct bench *bench)
{
	struct ifp_mpi_exchange exchange = bench->exchange;

	exchange.deadline_ns = ifp_clock_raw_ns() + 10 * IFP_NS_PER_S;
	if (ifp_mpi_exchange(&exchange) || exchange.failed)
		MPI_Abort(MPI_COMM_WORLD, 1);
	if (bench->rank) {
		int bytes = (int)(exchange.edge_count * sizeof(exchange.edges[0]));

		MPI_Send(exchange.edges, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
		return;
	}
	for (int from = 0; from < bench->size; from++) {
		MPI_Status status;
		int bytes;

		if (from) {
			MPI_Recv(exchange.edges, sizeof(exchange.edges), MPI_BYTE, from, 1,
				MPI_COMM_WORLD, &status);
			MPI_Get_count(&status, MPI_BYTE, &bytes);
			exchange.edge_count = (uint32_t)bytes / sizeof(exchange.edges[0]);
		}
		for (uint32_t i = 0; i < exchange.edge_count; i++)
			take_edge(bench, exchange.edges + i);
	}
}

/* Score-P: rank 0 and one rank after the other; the offset of the shortest of ten round trips. */
static void scorep(struct bench *bench)
{
	for (int peer = 1; peer < bench->size; peer++) {
		int64_t shortest_ns = INT64_MAX, offset_ns = 0;

		for (int i = 0; i < SCOREP_PING_PONGS; i++) {
			int64_t t1, t4, theirs = 0;

			if (bench->rank == peer) {
				MPI_Recv(&theirs, 1, MPI_INT64_T, 0, 2, MPI_COMM_WORLD,
					MPI_STATUS_IGNORE);
				theirs = ifp_clock_raw_ns();
				MPI_Send(&theirs, 1, MPI_INT64_T, 0, 2, MPI_COMM_WORLD);
			}
			if (bench->rank)
				continue;
			t1 = ifp_clock_raw_ns();
			MPI_Send(&theirs, 1, MPI_INT64_T, peer, 2, MPI_COMM_WORLD);
			MPI_Recv(&theirs, 1, MPI_INT64_T, peer, 2, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE);
			t4 = ifp_clock_raw_ns();
			if (t4 - t1 < shortest_ns) {
				shortest_ns = t4 - t1;
				offset_ns = theirs - t1 - (t4 - t1) / 2;
			}
		}
		if (!bench->rank)
			note(bench, SCOREP, offset_ns - peer * bench->apart_ns);
	}
}

/* Extrae: the moments at which the ranks leave the last of three barriers are taken as one. */
static void extrae(struct bench *bench)
{
	int64_t left_ns, all_ns[64];

	for (int i = 0; i < EXTRAE_BARRIERS; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	left_ns = ifp_clock_raw_ns();
	MPI_Gather(&left_ns, 1, MPI_INT64_T, all_ns, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
	for (int peer = 1; !bench->rank && peer < bench->size; peer++)
		note(bench, EXTRAE, all_ns[peer] - all_ns[0] - peer * bench->apart_ns);
}

static void run(struct bench *bench)
{
	static void (*const methods[])(struct bench *) = {ours, scorep, extrae};

	for (int round = 0; round < WARM_UP + bench->rounds; round++) {
		if (round == WARM_UP) {
			memset(bench->count, 0, sizeof(bench->count));
			memset(bench->cost_us, 0, sizeof(bench->cost_us));
			bench->width_count = 0;
		}
		for (int i = 0; i < METHODS; i++) {
			int method = (round + i) % METHODS;
			int64_t begin_ns;

			MPI_Barrier(MPI_COMM_WORLD);
			begin_ns = ifp_clock_raw_ns();
			methods[method](bench);
			bench->cost_us[method] += (double)(ifp_clock_raw_ns() - begin_ns) / 1000;
		}
	}
}

/* As infprof-clock-mpi does before its only exchange. */
static void meet(struct bench *bench)
{
	bench->exchange = (struct ifp_mpi_exchange){
		.leaders = bench->leaders, .round_trips = ROUND_TRIPS, .pair_ns = 2 * IFP_NS_PER_S};
	if (ifp_mpi_meet(true, ifp_clock_raw_ns() + 10 * IFP_NS_PER_S, bench->leaders,
		    &bench->exchange.leader_count, &bench->exchange.crowded))
		MPI_Abort(MPI_COMM_WORLD, 1);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double quantile_us(int64_t *ns, size_t count, double q)
{
	qsort(ns, count, sizeof(*ns), compare);
	return (double)ns[(size_t)((double)(count - 1) * q)] / 1000;
}

static void print(struct bench *bench)
{
	printf("%d ranks, %d rounds; errors in us\n", bench->size, bench->rounds);
	printf("%-24s %8s %8s %8s %12s\n", "", "p50", "p99", "max", "us a round");
	for (int i = 0; i < METHODS; i++)
		printf("%-24s %8.3f %8.3f %8.3f %12.1f\n", names[i],
			quantile_us(bench->errors_ns[i], bench->count[i], 0.5),
			quantile_us(bench->errors_ns[i], bench->count[i], 0.99),
			quantile_us(bench->errors_ns[i], bench->count[i], 1),
			bench->cost_us[i] / bench->rounds);
	printf("certified half width: p50 %.3f, p99 %.3f us; truth outside: %" PRIu64 "\n",
		quantile_us(bench->widths_ns, bench->width_count, 0.5),
		quantile_us(bench->widths_ns, bench->width_count, 0.99), bench->violations);
}

int main(int argc, char **argv)
{
	struct bench bench = {.apart_ns = argc > 1 ? atoll(argv[1]) * IFP_NS_PER_S : 0,
		.rounds = argc > 2 ? atoi(argv[2]) : 300};
	size_t room;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &bench.size);
	if (bench.size < 2 || bench.size > 64 || bench.rounds < 1 || bench.rounds > 1000000) {
		fprintf(stderr, "bench_exchange: 2 to 64 ranks, 1 to 1000000 rounds\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	room = ((size_t)bench.rounds + WARM_UP) * ifp_clock_plan((uint32_t)bench.size, NULL);
	for (int i = 0; i < METHODS; i++)
		bench.errors_ns[i] = calloc(room, sizeof(int64_t));
	bench.widths_ns = calloc(room, sizeof(int64_t));
	meet(&bench);
	run(&bench);
	if (!bench.rank)
		print(&bench);
	MPI_Finalize();
	return 0;
}
