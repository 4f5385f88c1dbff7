/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infprof-clock-mpi: one clock exchange over MPI, and nothing else. A process of its own because
 * the agent must never be in MPI itself: two MPI lives of one rank must not overlap, and the
 * program's is the one that counts. Started by the agent (agent/launch/clock_helper.c).
 *
 *     infprof-clock-mpi --epoch N --leader 0|1 --fd FD
 *
 * Writes lines to FD: "edge EPOCH CLIENT SERVER ROUND_TRIPS LOW HIGH T1 T2 T3 T4" for each edge
 * that this rank measured as the client (ranks of MPI_COMM_WORLD, nanoseconds), then "done FAILED".
 * Once MPI_Init has been called, MPI_Finalize is reached whatever happens in between.
 */
#include "clocksync/exchange/mpi_helper/exchange.h"
#include "core/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_TRIPS 512
#define PAIR_NS (2 * IFP_NS_PER_S)
#define EXCHANGE_NS (10 * IFP_NS_PER_S)

struct arguments {
	uint32_t epoch;
	bool leader;
	int fd;
};

static bool parse_number(const char *text, long max, long *out)
{
	char *end;

	errno = 0;
	*out = strtol(text, &end, 10);
	return !errno && end != text && !*end && *out >= 0 && *out <= max;
}

static bool parse_arguments(int argc, char **argv, struct arguments *out)
{
	const struct option options[] = {
		{"epoch", required_argument, NULL, 'e'},
		{"leader", required_argument, NULL, 'l'},
		{"fd", required_argument, NULL, 'f'},
		{0},
	};
	long epoch = -1, leader = -1, fd = -1;
	bool good = true;
	int letter;

	while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
		good &= letter == 'e'	? parse_number(optarg, INT32_MAX, &epoch)
			: letter == 'l' ? parse_number(optarg, 1, &leader)
			: letter == 'f' ? parse_number(optarg, INT32_MAX, &fd)
					: false;
	}
	*out = (struct arguments){(uint32_t)epoch, leader == 1, (int)fd};
	return good && optind == argc && epoch >= 0 && leader >= 0 && fd >= 0 &&
	       fcntl(out->fd, F_SETFD, FD_CLOEXEC) == 0;
}

/* Between MPI_Init and MPI_Finalize. */
static int exchange(bool leader, struct ifp_mpi_exchange *exchange)
{
	uint32_t *leaders;
	int size = 0, err;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	leaders = calloc((size_t)size + 1, sizeof(*leaders));
	if (!leaders)
		return -ENOMEM;
	exchange->leaders = leaders;
	exchange->deadline_ns = ifp_clock_raw_ns() + EXCHANGE_NS;
	err = ifp_mpi_barrier(exchange->deadline_ns);
	if (!err)
		err = ifp_mpi_meet(leader, exchange->deadline_ns, leaders, &exchange->leader_count,
			&exchange->crowded);
	if (!err)
		err = ifp_mpi_exchange(exchange);
	/* MPI_Finalize spins: nobody enters it while others on this machine still measure */
	if (!err)
		err = ifp_mpi_barrier(exchange->deadline_ns);
	exchange->leaders = NULL;
	free(leaders);
	return err;
}

static void write_result(int fd, uint32_t epoch, const struct ifp_mpi_exchange *exchange)
{
	for (uint32_t i = 0; i < exchange->edge_count; i++) {
		const struct ifp_clock_edge *e = exchange->edges + i;

		dprintf(fd,
			"edge %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRId64 " %" PRId64
			" %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
			epoch, e->client, e->server, e->round_trips, e->low_ns, e->high_ns,
			e->best_t1_ns, e->best_t2_ns, e->best_t3_ns, e->best_t4_ns);
	}
	dprintf(fd, "done %" PRIu32 "\n", exchange->failed);
}

int main(int argc, char **argv)
{
	struct ifp_mpi_exchange result = {.round_trips = ROUND_TRIPS, .pair_ns = PAIR_NS};
	struct arguments arguments;
	int err;

	if (!parse_arguments(argc, argv, &arguments)) {
		fprintf(stderr, "usage: infprof-clock-mpi --epoch N --leader 0|1 --fd FD "
				"(started by infprof-agent, not by hand)\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
		return 1;
	err = exchange(arguments.leader, &result);
	if (err)
		fprintf(stderr, "infprof-clock-mpi: exchange of clocks: %s\n", strerror(-err));
	else
		write_result(arguments.fd, arguments.epoch, &result);
	MPI_Finalize();
	return err ? 1 : 0;
}
