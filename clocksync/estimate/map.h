/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From local time to job time. Pure functions: samples in, maps out; no I/O, no clock is read.
 *
 * Step 1, inside a rank: tuples {RAW, REALTIME, TSC} turn a stamp of any domain into the rank's
 * RAW clock, piecewise linear between the tuples around it and by the mean slope outside; a step
 * of REALTIME breaks the line.
 * Step 2, between ranks: ranks with one clock identity are one node. Exchanges give every edge of
 * the graph of nodes an interval that certainly holds the offset; weighted least squares over the
 * graph give the estimate, Bellman-Ford over the intervals the certified bound. Exchanges at the
 * start and at the end of the run give a rate.
 *
 * Two numbers say how good that is, and are never mixed. The bound is the certified half width of a
 * rank's offset to the reference rank, 0 for ranks that share its clock; between two exchanges it
 * grows with the drift assumption, in both directions. Sigma is the estimated standard deviation,
 * usually far smaller, and promises nothing.
 */
#pragma once

#include "core/clock.h"
#include "core/time.h"
#include "trace/archive/clock_samples.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Largest assumed drift between two machines' RAW clocks, printed beside every bound. Where the
 * exchanges of a run prove that clocks drift faster, that run's assumption is the drift that was
 * seen plus this (ifp_clock_solution_drift_ppm()).
 */
#define IFP_CLOCK_DRIFT_PPM 50

enum ifp_clock_method {
	IFP_CLOCK_SHARED,      /* one clock: nothing to measure */
	IFP_CLOCK_EXCHANGED,   /* measured by message exchange */
	IFP_CLOCK_UNALIGNED,   /* not connected to the reference: REALTIME is taken as it is */
	IFP_CLOCK_COLLECTIVES, /* aligned from the program's own collectives, without an exchange */
};

/* What is known of one rank's clocks. The samples are borrowed until the solution is made. */
struct ifp_clock_rank {
	uint32_t rank;
	struct ifp_clock_identity identity;
	const struct ifp_clock_samples *samples; /* all of this rank's, in order of time */
	/* Nothing was read (a trace that was imported): its REALTIME is taken as RAW. Its two
	 * tuples say when it began and ended. Never shares a clock. */
	bool unmeasured;
	/* Of an unmeasured one: the stretch whose largest bound and sigma are told. Both 0: all. */
	int64_t drawn_first_ns, drawn_last_ns;
};

struct ifp_clock_map;
struct ifp_moves;
struct ifp_clock_solution;

/*
 * Solves for all ranks at once; the reference is the first rank of the array that has a tuple. A
 * rank without a single tuple gets no map (its events cannot be placed). Edges may stand in any
 * rank's samples; edges that no clocks can have given are left out. -ENOMEM only.
 */
int ifp_clock_solve(
	const struct ifp_clock_rank *ranks, uint32_t count, struct ifp_clock_solution **out);
void ifp_clock_solution_free(struct ifp_clock_solution **solution);

/* The map of ranks[i]; NULL when it has none. Owned by the solution. */
const struct ifp_clock_map *ifp_clock_solution_map(
	const struct ifp_clock_solution *solution, uint32_t i);

/* Index of the reference rank; UINT32_MAX when no rank has a map. */
uint32_t ifp_clock_solution_reference(const struct ifp_clock_solution *solution);

/* The drift that the bounds of this solution assume. */
int64_t ifp_clock_solution_drift_ppm(const struct ifp_clock_solution *solution);

/* Edges left out because their loop residual contradicts the others. */
uint32_t ifp_clock_solution_rejected_edges(const struct ifp_clock_solution *solution);

/* A stamp of the given domain, first to the rank's own RAW clock, then to the job's time. */
ifp_local_ns ifp_clock_map_local(
	const struct ifp_clock_map *map, enum ifp_clock_domain domain, int64_t stamp);
ifp_global_ns ifp_clock_map_global(
	const struct ifp_clock_map *map, enum ifp_clock_domain domain, int64_t stamp);

/* Certified half width at a moment; INT64_MAX when unaligned. */
int64_t ifp_clock_map_bound_ns(const struct ifp_clock_map *map, ifp_global_ns at);

/* The largest one of a stretch. */
int64_t ifp_clock_map_bound_max_ns(
	const struct ifp_clock_map *map, ifp_global_ns from, ifp_global_ns to);

/* What is known of a rank's clock at one moment. */
struct ifp_clock_epoch {
	ifp_global_ns at;
	int64_t offset_ns; /* local RAW minus job time */
	double rate_ppm;   /* of local RAW against job time, at that moment */
	/* Estimated standard deviation of offset_ns, never the certificate; INFINITY when
	 * unaligned. */
	double sigma_ns;
	/* Certified: the true offset lies in between, under the drift assumption; INT64_MIN and
	 * INT64_MAX when unaligned. */
	int64_t low_ns, high_ns;
};

/* The exchanges that placed this rank's clock, by rising time; 0 when it is shared or unaligned. */
uint32_t ifp_clock_map_epoch_count(const struct ifp_clock_map *map);
/* One of them: i < ifp_clock_map_epoch_count(). */
struct ifp_clock_epoch ifp_clock_map_epoch(const struct ifp_clock_map *map, uint32_t i);

/* At any moment: between exchanges, and before and after them. */
struct ifp_clock_epoch ifp_clock_map_at(const struct ifp_clock_map *map, ifp_global_ns at);

/* Whether two ranks' stamps are of one clock. Both maps are of one solution. */
bool ifp_clock_map_same_clock(const struct ifp_clock_map *a, const struct ifp_clock_map *b);

/* Calls of MPI that could not be used to narrow what is certain of a clock. */
struct ifp_clock_calls {
	uint64_t contradicting; /* the exchanges of the clock: all of its calls */
	uint64_t unmatched;	/* counted otherwise than by the reference: not the same calls */
};

struct ifp_clock_summary {
	enum ifp_clock_method method;
	bool over_mpi;
	uint32_t epochs;   /* exchanges that this rank's node has taken part in */
	uint32_t calls;	   /* of MPI, which say more of the bound than the exchanges around them */
	int64_t offset_ns; /* local RAW minus job time at the first exchange */
	double rate_ppm;   /* drift of local RAW against job time */
	/* Largest over the run, but for the seconds around a suspension of the machine; INT64_MAX
	 * when unaligned. Aligned from collectives: but for the time between two of them in which
	 * the wall clock was set. */
	int64_t bound_ns;
	double sigma_ns; /* largest over the run; INFINITY when unaligned */
	struct ifp_clock_calls calls_left_out;
	int64_t realtime_steps; /* jumps of REALTIME against RAW seen in the tuples */
};

struct ifp_clock_summary ifp_clock_map_summary(const struct ifp_clock_map *map);

/*
 * Nobody leaves an operation before those whom it waits for have come. A clock by whose line it
 * looks otherwise is moved later there, inside of its certified region (docs/clocksync.md): offsets
 * and bounds are those of the moved clock. Told of the first rank that reads a clock; 0 for the
 * others.
 */
struct ifp_clock_repairs {
	uint64_t exits;		 /* ends of operations that others were waited for in */
	uint64_t repaired;	 /* of them: that lay too early, and no longer do */
	uint64_t left;		 /* of them: that lie too early still, as there was no room */
	int64_t largest_ns;	 /* move */
	int64_t largest_left_ns; /* by which an end lies too early still */
	int64_t stretch_ns;	 /* of time that is moved, together */
};

struct ifp_clock_repairs ifp_clock_map_repairs(const struct ifp_clock_map *map);

/*
 * For many stamps at once (converter.h): a stamp by the line alone, without moves, and what moves
 * make of that. NULL where nothing is moved.
 */
ifp_global_ns ifp_clock_map_line(
	const struct ifp_clock_map *map, enum ifp_clock_domain domain, int64_t stamp);
const struct ifp_moves *ifp_clock_map_moves(const struct ifp_clock_map *map);
