/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job whose clocks are known exactly: clocks with offset, drift, wander and steps, messages with
 * delays, jitter, spikes and asymmetry. It produces the samples that agents would have recorded,
 * through the same code that they use, so that estimates can be compared with the truth.
 * Deterministic: one seed, one run. For tests and benchmarks.
 */
#pragma once

#include "clocksync/estimate/edge.h"
#include "clocksync/estimate/map.h"
#include "trace/archive/clock_samples.h"

#include <stdbool.h>
#include <stdint.h>

/* Moments of the simulated world: ns since its beginning, on no clock of anybody. */
typedef struct {
	int64_t ns;
} ifp_true_ns;

struct ifp_sim_clock {
	int64_t offset_ns;
	double drift_ppm;
	double wander_ppm; /* amplitude of a sine around the drift */
	double wander_period_s;
	double wander_phase; /* radians */
	/* Where a random walk of the rate has led to, at whole seconds; NULL = nowhere. */
	double *walk_ns;
	uint32_t walk_count;
	/* REALTIME: what NTP left over, and one step. */
	int64_t realtime_error_ns;
	double realtime_drift_ppm;
	int64_t step_ns; /* 0 = none */
	ifp_true_ns step_at;
};

/* Who measures whom in which exchange: what delays depend on. */
struct ifp_sim_pair {
	uint32_t client, server; /* nodes */
	uint32_t epoch;
};

struct ifp_sim_network {
	int64_t floor_ns;     /* shortest one-way delay */
	double jitter_ns;     /* mean of an exponential on top of it */
	int64_t asymmetry_ns; /* each pair of nodes is slower in one direction by up to this */
	double spike_share;   /* of messages that are held up ... */
	int64_t spike_ns;     /* ... by up to this */
};

struct ifp_sim {
	uint64_t seed;
	uint64_t random; /* state of the generator */
	struct ifp_sim_network network;
	uint32_t node_count;
	uint32_t ranks_per_node;
	struct ifp_sim_clock *clocks;	   /* per node */
	struct ifp_clock_rank *ranks;	   /* rank r is on node r / ranks_per_node */
	struct ifp_clock_samples *samples; /* per rank */
};

/* All clocks exact and equal at first; -ENOMEM. */
int ifp_sim_new(uint64_t seed, uint32_t node_count, uint32_t ranks_per_node, struct ifp_sim *out);
void ifp_sim_free(struct ifp_sim *sim);

/* Uniform in [0, 1) and in [-limit, limit]. */
double ifp_sim_random(struct ifp_sim *sim);
int64_t ifp_sim_random_within(struct ifp_sim *sim, int64_t limit);

/*
 * Lets the rates of all clocks walk at random on top of the rest, by rate_ppm * sqrt(seconds) in
 * standard deviation, over that many seconds; straight on afterwards. -ENOMEM.
 */
int ifp_sim_walk(struct ifp_sim *sim, double rate_ppm, uint32_t seconds);

/* Readings of a node's clocks, exact to the nanosecond. */
int64_t ifp_sim_raw(const struct ifp_sim_clock *clock, ifp_true_ns at);
int64_t ifp_sim_realtime(const struct ifp_sim_clock *clock, ifp_true_ns at);
int64_t ifp_sim_tsc(const struct ifp_sim_clock *clock, ifp_true_ns at);

/* A tuple of every rank each period, from first to last. Some are wide, as on a busy machine. */
int ifp_sim_tuples(struct ifp_sim *sim, ifp_true_ns first, ifp_true_ns last, int64_t period_ns);

/*
 * What a message takes, from client to server or back. Depends on the seed and the arguments alone:
 * the same question has the same answer, whoever asks in whatever order.
 */
int64_t ifp_sim_delay(
	const struct ifp_sim *sim, const struct ifp_sim_pair *pair, uint32_t message, bool back);

/* Round trip number trip of a pair, with delays from ifp_sim_delay(). *at moves on to its end. */
struct ifp_round_trip ifp_sim_round_trip(
	const struct ifp_sim *sim, const struct ifp_sim_pair *pair, uint32_t trip, ifp_true_ns *at);

/* Adds an edge to the samples of its client, as agents do. -ENOMEM. */
int ifp_sim_keep(struct ifp_sim *sim, const struct ifp_clock_edge *edge);

/*
 * One exchange over the edges of the plan, measured by the first ranks of the nodes, pairs one
 * after the other with gap_ns between them. Returns when it ended, or at.ns when memory is short.
 */
ifp_true_ns ifp_sim_epoch(
	struct ifp_sim *sim, uint32_t epoch, uint32_t round_trips, ifp_true_ns at, int64_t gap_ns);
