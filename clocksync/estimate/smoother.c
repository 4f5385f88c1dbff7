/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/smoother.h"

#include "clocksync/estimate/median.h"
#include "core/cleanup.h"
#include "core/time.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Offsets are whole nanoseconds: variance of the rounding. */
#define ROUNDING_VARIANCE (1.0 / 12)

/* Offsets farther from the first one are none: sums of a few must fit. */
#define OFFSET_LIMIT_NS 0x1p62

/* Deviations from what the others let expect, in units of sigma, that count in full. */
#define OUTLIER_SIGMAS 4
#define OUTLIER_ROUNDS 8
#define NEIGHBOURS 3

/* Of how many tracks the noise is estimated, and of how many points each. */
#define FIT_TRACKS 48
#define FIT_POINTS 1024

/* The wanders that are tried, (ns/s)^2/s: from an oven to a processor that has just woken up. */
#define LEAST_WANDER 1e-4
#define WANDER_STEP 2.0
#define WANDER_STEPS 48

/* What is expected before anything was seen: 3e-9 / sqrt(s), within a factor of 10 or so. */
#define USUAL_WANDER 10.0
#define USUAL_WANDER_WIDTH 4.0 /* of its logarithm */
#define USUAL_SCALE_COUNT 2.0  /* worth that many observations */

/* Median of the square of a standard normal variable. */
#define MEDIAN_SQUARE 0.4549

/* Offset in ns from the first observation, rate in ns/s, and their covariance. */
struct state {
	double x, v;
	double xx, xv, vv;
};

struct observation {
	double t_s; /* from the first one */
	double x_ns;
	double variance;
	double sigmas; /* that it deviates by from the others */
	struct state filtered, predicted;
};

/* What remains of a track when its first point is taken off: small numbers. */
static void observe(
	const struct ifp_track *track, uint32_t count, double scale, struct observation *out)
{
	const struct ifp_track_point *first = track->points;

	for (uint32_t i = 0; i < count; i++) {
		const struct ifp_track_point *p = first + i;
		double sigma_ns = scale * p->sigma_ns;

		out[i].t_s = (double)((__int128)p->global_ns - first->global_ns) / IFP_NS_PER_S;
		out[i].x_ns = (double)((__int128)p->offset_ns - first->offset_ns);
		out[i].variance = sigma_ns * sigma_ns + ROUNDING_VARIANCE;
	}
}

static void predict(const struct state *from, double dt, double wander, struct state *to)
{
	to->x = from->x + from->v * dt;
	to->v = from->v;
	to->xx = from->xx + 2 * dt * from->xv + dt * dt * from->vv + wander * dt * dt * dt / 3;
	to->xv = from->xv + dt * from->vv + wander * dt * dt / 2;
	to->vv = from->vv + wander * dt;
}

static void update(const struct state *predicted, double x, double variance, struct state *to)
{
	double total = predicted->xx + variance, innovation = x - predicted->x;

	to->x = predicted->x + predicted->xx / total * innovation;
	to->v = predicted->v + predicted->xv / total * innovation;
	to->xx = predicted->xx * variance / total;
	to->xv = predicted->xv * variance / total;
	to->vv = predicted->vv - predicted->xv * predicted->xv / total;
}

/* After two observations, when nothing was known of offset and rate before them. */
static struct state begin(const struct observation *first, double wander)
{
	const struct observation *second = first + 1;
	double dt = second->t_s - first->t_s;

	return (struct state){
		.x = second->x_ns,
		.v = (second->x_ns - first->x_ns) / dt,
		.xx = second->variance,
		.xv = second->variance / dt,
		.vv = (first->variance + second->variance) / (dt * dt) + wander * dt / 3,
	};
}

/* Forward in time. For every observation from the third on, what it added: innovations. */
static void filter(struct observation *o, uint32_t count, double wander)
{
	o[1].filtered = begin(o, wander);
	for (uint32_t i = 2; i < count; i++) {
		predict(&o[i - 1].filtered, o[i].t_s - o[i - 1].t_s, wander, &o[i].predicted);
		update(&o[i].predicted, o[i].x_ns, o[i].variance, &o[i].filtered);
	}
}

/* from + gain * (later - predicted), with the covariance that goes with it. */
static void look_back(
	const struct state *from, const struct state *predicted, double dt, struct state *later)
{
	/* covariance of the state here with the predicted one there */
	double c[2][2] = {
		{from->xx + dt * from->xv, from->xv}, {from->xv + dt * from->vv, from->vv}};
	double det = predicted->xx * predicted->vv - predicted->xv * predicted->xv;
	double g[2][2], dx = later->x - predicted->x, dv = later->v - predicted->v;
	double xx = later->xx - predicted->xx, xv = later->xv - predicted->xv;
	double vv = later->vv - predicted->vv;

	for (int i = 0; i < 2; i++) {
		g[i][0] = (c[i][0] * predicted->vv - c[i][1] * predicted->xv) / det;
		g[i][1] = (c[i][1] * predicted->xx - c[i][0] * predicted->xv) / det;
	}
	later->x = from->x + g[0][0] * dx + g[0][1] * dv;
	later->v = from->v + g[1][0] * dx + g[1][1] * dv;
	later->xx = from->xx + g[0][0] * (g[0][0] * xx + g[0][1] * xv) +
		    g[0][1] * (g[0][0] * xv + g[0][1] * vv);
	later->xv = from->xv + g[0][0] * (g[1][0] * xx + g[1][1] * xv) +
		    g[0][1] * (g[1][0] * xv + g[1][1] * vv);
	later->vv = from->vv + g[1][0] * (g[1][0] * xx + g[1][1] * xv) +
		    g[1][1] * (g[1][0] * xv + g[1][1] * vv);
}

/* The same for the first observation, of whose rate nothing was known: the limit. */
static void look_back_to_first(const struct observation *o, double wander, struct state *later)
{
	double dt = o[1].t_s - o[0].t_s, r = o[0].variance;
	double m[3] = {wander * dt * dt * dt / 3, -wander * dt * dt / 2, wander * dt};
	double d = r + m[0];
	double g[2][2] = {{r / d, -r * dt / d}, {-m[1] / d, (r - m[0] / 2) / d}};
	struct state s = *later;

	later->x = o[0].x_ns + g[0][0] * (s.x - o[0].x_ns) + g[0][1] * s.v;
	later->v = g[1][0] * (s.x - o[0].x_ns) + g[1][1] * s.v;
	later->xx = m[0] * r / d + g[0][0] * g[0][0] * s.xx + 2 * g[0][0] * g[0][1] * s.xv +
		    g[0][1] * g[0][1] * s.vv;
	later->xv = m[1] * r / d + g[0][0] * (g[1][0] * s.xx + g[1][1] * s.xv) +
		    g[0][1] * (g[1][0] * s.xv + g[1][1] * s.vv);
	later->vv = m[2] - m[1] * m[1] / d + g[1][0] * g[1][0] * s.xx +
		    2 * g[1][0] * g[1][1] * s.xv + g[1][1] * g[1][1] * s.vv;
}

/* Backward: the smoothed states take the place of the filtered ones. */
static void smooth(struct observation *o, uint32_t count, double wander)
{
	struct state later = o[count - 1].filtered;

	for (uint32_t i = count - 1; i-- > 1;) {
		look_back(&o[i].filtered, &o[i + 1].predicted, o[i + 1].t_s - o[i].t_s, &later);
		o[i].filtered = later;
	}
	look_back_to_first(o, wander, &later);
	o[0].filtered = later;
}

/*
 * By how many sigmas an observation deviates from the others' opinion: its residual, stretched by
 * the part that it had in the opinion itself.
 */
static double deviation(const struct observation *o)
{
	double others = o->variance - o->filtered.xx;

	return others > 0 ? fabs(o->x_ns - o->filtered.x) / sqrt(others) : 0;
}

/*
 * Believes outliers less: those that deviate most among their neighbours, which they have drawn
 * along. False when there were none.
 */
static bool doubt(struct observation *o, uint32_t count)
{
	bool doubted = false;

	for (uint32_t i = 0; i < count; i++)
		o[i].sigmas = deviation(o + i);
	for (uint32_t i = 0; i < count; i++) {
		bool worst = o[i].sigmas > OUTLIER_SIGMAS;

		for (uint32_t k = i < NEIGHBOURS ? 0 : i - NEIGHBOURS;
			worst && k < count && k <= i + NEIGHBOURS; k++)
			worst = o[k].sigmas <= o[i].sigmas;
		if (worst) {
			o[i].variance *= pow(o[i].sigmas / OUTLIER_SIGMAS, 2) * 2;
			doubted = true;
		}
	}
	return doubted;
}

struct fit {
	const struct ifp_track *const *tracks;
	uint32_t count, stride;
	struct observation *observations; /* room for one track */
	double *squares;		  /* room for all innovations */
};

/*
 * The logarithm of how likely the innovations are under a wander (in units of the observations'
 * variances), with the scale that makes them likeliest.
 */
static double likelihood(const struct fit *fit, double wander, double *scale_squared)
{
	double logarithms = 0, squared, surprise;
	uint32_t n = 0;

	for (uint32_t k = 0; k < fit->count; k += fit->stride) {
		const struct ifp_track *track = fit->tracks[k];
		uint32_t points = track->count < FIT_POINTS ? track->count : FIT_POINTS;

		if (points < 3)
			continue;
		observe(track, points, 1, fit->observations);
		filter(fit->observations, points, wander);
		for (uint32_t i = 2; i < points; i++) {
			const struct observation *o = fit->observations + i;
			double total = o->predicted.xx + o->variance;

			logarithms += log(total);
			fit->squares[n++] =
				(o->x_ns - o->predicted.x) * (o->x_ns - o->predicted.x) / total;
		}
	}
	squared = (ifp_select_median(fit->squares, n) / MEDIAN_SQUARE * n + USUAL_SCALE_COUNT) /
		  (n + USUAL_SCALE_COUNT);
	surprise = (log(wander * squared) - log(USUAL_WANDER)) / USUAL_WANDER_WIDTH;
	*scale_squared = squared;
	return -(logarithms + (n + USUAL_SCALE_COUNT) * log(squared) + surprise * surprise) / 2;
}

int ifp_smoother_fit(const struct ifp_track *const *tracks, uint32_t count, struct ifp_noise *noise)
{
	struct fit fit = {tracks, count, 1 + count / (FIT_TRACKS + 1), NULL, NULL};
	IFP_CLEANUP_FREE struct observation *observations =
		calloc(FIT_POINTS, sizeof(*observations));
	IFP_CLEANUP_FREE double *squares =
		calloc((size_t)(FIT_TRACKS + 1) * FIT_POINTS, sizeof(*squares));
	double best = -HUGE_VAL, wander = LEAST_WANDER;

	if (!observations || !squares)
		return -ENOMEM;
	fit.observations = observations;
	fit.squares = squares;
	for (int i = 0; i < WANDER_STEPS; i++, wander *= WANDER_STEP) {
		double squared, likely = likelihood(&fit, wander, &squared);

		if (likely > best) {
			best = likely;
			*noise = (struct ifp_noise){sqrt(squared), wander * squared};
		}
	}
	return 0;
}

/* What no clock can have given (a damaged archive holds anything) leaves the observation as it is.
 */
static void take_state(const struct observation *o, double common_variance, int64_t origin_ns,
	struct ifp_track_point *p)
{
	if (!(fabs(o->filtered.x) < OFFSET_LIMIT_NS) || !isfinite(o->filtered.v))
		return;
	p->offset_ns = origin_ns + llround(o->filtered.x);
	p->rate = o->filtered.v / IFP_NS_PER_S;
	p->sigma_ns = sqrt(fmax(o->filtered.xx, 0) + common_variance);
	p->rate_sigma = sqrt(fmax(o->filtered.vv, 0));
}

int ifp_smoother_apply(struct ifp_track *track, const struct ifp_noise *noise)
{
	IFP_CLEANUP_FREE struct observation *o = calloc(track->count + 1, sizeof(*o));
	int64_t origin_ns = track->count ? track->points[0].offset_ns : 0;
	double unseen = fmax(1 - noise->scale * noise->scale, 0);

	if (!o)
		return -ENOMEM;
	track->wander = noise->wander;
	if (track->count == 1) {
		track->points[0].rate = 0;
		track->points[0].rate_sigma = (double)track->drift_ppm * 1000 / sqrt(3);
	}
	if (track->count < 2)
		return 0;
	observe(track, track->count, noise->scale, o);
	for (int round = 0; round < OUTLIER_ROUNDS; round++) {
		filter(o, track->count, noise->wander);
		smooth(o, track->count, noise->wander);
		if (!doubt(o, track->count))
			break;
	}
	for (uint32_t i = 0; i < track->count; i++) {
		struct ifp_track_point *p = track->points + i;

		take_state(o + i, unseen * p->sigma_ns * p->sigma_ns, origin_ns, p);
	}
	return 0;
}
