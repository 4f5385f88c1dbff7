/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a clock's offset ran, from many readings that are off by noise, by outliers, and by a bias
 * that all readings of one kind have in common. Pure: readings in, a line out.
 *
 * The offset is piecewise linear between knots, whose slope changes as little as clocks wander (an
 * integrated random walk); it may jump where the clock was set. Every kind of reading has a bias of
 * its own, one more for readings where the rank came last or another did, and a noise of its own:
 * all found together, by least squares with weights, so that readings that agree closely decide
 * (trend_noise.h), and outliers do not. A bias that all readings share cannot be told from the
 * offset; what it may be is in sigma.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Kinds with biases of their own; readings of further ones have only noise. */
#define IFP_TREND_KINDS_MAX 24u

/* The kind of readings without bias, whose noise is known: the outcome of an exchange. */
#define IFP_TREND_EXACT UINT32_MAX

/* Jumps that are looked for at most. */
#define IFP_TREND_STEPS_MAX 16u

struct ifp_trend_reading {
	int64_t at_ns;	   /* job time */
	int64_t offset_ns; /* as it was read */
	/* What its bias may be, one standard deviation, and its noise before that is known. Of an
	 * exact reading its sigma. > 0. */
	double scale_ns;
	uint32_t kind; /* numbers from 0, the most frequent first; or IFP_TREND_EXACT */
	int32_t side;  /* 1: the rank came last, -1: another did, 0: not known */
};

struct ifp_trend_point {
	int64_t at_ns, offset_ns;
	double rate;	 /* ns of offset per ns */
	double sigma_ns; /* of the offset, with what biases leave open */
	double rate_sigma;
	bool stepped; /* the clock was set between the point before and this one */
	uint32_t piece_first, piece_last; /* points between which it was not */
};

struct ifp_trend {
	struct ifp_trend_point *points; /* by time, owned */
	uint32_t count;
};

/*
 * Readings by rising time, count >= 1. As many points as readings, at most some 256: at readings,
 * evenly chosen, and on both sides of each jump. -ENOMEM only.
 */
int ifp_trend_fit(const struct ifp_trend_reading *readings, uint32_t count, struct ifp_trend *out);
/* The same by Student's t alone, several times faster: near enough to say who came last. */
int ifp_trend_fit_roughly(
	const struct ifp_trend_reading *readings, uint32_t count, struct ifp_trend *out);
void ifp_trend_free(struct ifp_trend *trend);

/*
 * Where the clock was set: the first readings behind each jump, in order, at most
 * IFP_TREND_STEPS_MAX; returns how many, or -ENOMEM. A jump is one when it is larger than 20 us,
 * than twelve standard deviations of what neighbouring readings differ by anyhow, and than what
 * clocks may drift apart by from one reading to the next.
 */
int ifp_trend_find_steps(const struct ifp_trend_reading *readings, uint32_t count, uint32_t *steps);
