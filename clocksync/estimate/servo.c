/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/servo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY 8

/* Rates are fractions of 2^40: 1e-12, a thirtieth of a nanosecond in 30 s. */
#define RATE_BITS 40

/* How fast an error is slewed away: as fast as NTP does. 0.5 us take a millisecond. */
#define SLEW_PPM 500

/* Beyond 1 % nothing is a rate. */
#define RATE_LIMIT 0.01

/* What the newest forecast counts for in a predictor's record. */
#define RECORD_GAIN 0.25

/* Forecasts that must have been seen before a predictor other than the first is trusted. */
#define PROBATION 3

/* A polynomial of the degree through the last points; the first one serves until others are known.
 */
struct predictor {
	int points, degree;
};

static const struct predictor predictors[] = {
	{2, 1}, {3, 1}, {4, 1}, {8, 1}, {3, 2}, {4, 2}, {6, 2}};

#define PREDICTORS (int)(sizeof(predictors) / sizeof(predictors[0]))

/* Offset in ns against the last observation's, with t in s since it. */
struct forecast {
	double c[3];
	double mean_square; /* error of past forecasts */
	int seen;
};

struct observation {
	int64_t local_ns, offset_ns;
};

struct stretch {
	int64_t local_ns, offset_ns;
	int64_t rate; /* in 2^-RATE_BITS */
};

struct ifp_servo {
	struct observation last[MEMORY]; /* newest first */
	int count;
	struct forecast forecasts[PREDICTORS];
	struct stretch slewing, steady; /* the second takes over at its local_ns */
};

struct ifp_servo *ifp_servo_new(void)
{
	return calloc(1, sizeof(struct ifp_servo));
}

void ifp_servo_free(struct ifp_servo *servo)
{
	free(servo);
}

static int64_t to_fixed(double rate)
{
	double bounded = fmin(fmax(rate, -RATE_LIMIT), RATE_LIMIT);

	return llround(ldexp(bounded, RATE_BITS));
}

static int64_t stretch_offset(const struct stretch *s, int64_t local_ns)
{
	__int128 product = ((__int128)local_ns - s->local_ns) * s->rate;

	return s->offset_ns + (int64_t)((product + (INT64_C(1) << (RATE_BITS - 1))) >> RATE_BITS);
}

static int64_t published_offset(const struct ifp_servo *servo, int64_t local_ns)
{
	if (local_ns >= servo->steady.local_ns)
		return stretch_offset(&servo->steady, local_ns);
	if (local_ns >= servo->slewing.local_ns)
		return stretch_offset(&servo->slewing, local_ns);
	/* what was read before: without the slew, which has only begun now */
	return servo->slewing.offset_ns + stretch_offset(&servo->steady, local_ns) -
	       stretch_offset(&servo->steady, servo->slewing.local_ns);
}

ifp_global_ns ifp_servo_global(const struct ifp_servo *servo, ifp_local_ns local)
{
	return (ifp_global_ns){local.ns - published_offset(servo, local.ns)};
}

static double value(const double c[3], double t)
{
	return c[0] + t * (c[1] + t * c[2]);
}

/* Solves the 2 or 3 normal equations; those of distinct moments have a solution. */
static void eliminate(double a[3][4], int n, double *x)
{
	for (int i = 0; i < n; i++) {
		for (int k = i + 1; k < n; k++) {
			double f = a[k][i] / a[i][i];

			for (int j = i; j <= n; j++)
				a[k][j] -= f * a[i][j];
		}
	}
	for (int i = n - 1; i >= 0; i--) {
		x[i] = a[i][n];
		for (int j = i + 1; j < n; j++)
			x[i] -= a[i][j] * x[j];
		x[i] /= a[i][i];
	}
}

/* Least squares; times are scaled to the span, for the numbers' sake. */
static void fit(const struct ifp_servo *servo, const struct predictor *predictor, double c[3])
{
	const struct observation *now = servo->last, *oldest = now + predictor->points - 1;
	double span = (double)(now->local_ns - oldest->local_ns) / IFP_NS_PER_S;
	int n = predictor->degree + 1;
	double a[3][4] = {{0}};

	for (int k = 0; k < predictor->points; k++) {
		double t = (double)(now[k].local_ns - now->local_ns) / IFP_NS_PER_S / span;
		double y = (double)(now[k].offset_ns - now->offset_ns);
		double power[5] = {1, t, t * t, t * t * t, t * t * t * t};

		for (int i = 0; i < n; i++) {
			for (int j = 0; j < n; j++)
				a[i][j] += power[i + j];
			a[i][n] += power[i] * y;
		}
	}
	memset(c, 0, 3 * sizeof(*c));
	eliminate(a, n, c);
	c[1] /= span;
	c[2] /= span * span;
}

/* How the forecasts that were made after the last observation have turned out. */
static void keep_record(struct ifp_servo *servo, const struct observation *now)
{
	double t = (double)(now->local_ns - servo->last[0].local_ns) / IFP_NS_PER_S;
	double y = (double)(now->offset_ns - servo->last[0].offset_ns);

	for (int k = 0; k < PREDICTORS && servo->count; k++) {
		struct forecast *f = servo->forecasts + k;
		double error = value(f->c, t) - y, gain;

		if (servo->count < predictors[k].points)
			continue;
		f->seen++;
		gain = fmax(RECORD_GAIN, 1.0 / f->seen);
		f->mean_square += gain * (error * error - f->mean_square);
	}
}

/* The predictor with the best record. */
static const struct forecast *best(const struct ifp_servo *servo)
{
	const struct forecast *found = servo->forecasts;

	for (int k = 1; k < PREDICTORS; k++) {
		const struct forecast *f = servo->forecasts + k;

		if (f->seen >= PROBATION && f->mean_square < found->mean_square)
			found = f;
	}
	return found;
}

/* The last offset holds until there are two observations, then the forecast from here on. */
static void draw(struct ifp_servo *servo, int64_t published_ns, int64_t next_ns)
{
	const struct observation *now = servo->last;
	const double *c = best(servo)->c;
	double next_s = (double)(next_ns > 0 ? next_ns : 1) / IFP_NS_PER_S;
	double rate = (value(c, next_s) - c[0]) / next_s / IFP_NS_PER_S;
	int64_t target_ns = now->offset_ns + llround(c[0]);
	int64_t error_ns = published_ns - target_ns;
	int64_t slew_ns = llabs(error_ns) * (1000000 / SLEW_PPM);
	double slew = error_ns > 0 ? -SLEW_PPM * 1e-6 : SLEW_PPM * 1e-6;

	servo->slewing = (struct stretch){now->local_ns, published_ns, to_fixed(rate + slew)};
	servo->steady = (struct stretch){now->local_ns, target_ns, to_fixed(rate)};
	if (slew_ns) {
		/* where the slew ends to the nanosecond, so that there is no step */
		servo->steady.local_ns += slew_ns;
		servo->steady.offset_ns = stretch_offset(&servo->slewing, servo->steady.local_ns);
	}
}

void ifp_servo_observe(
	struct ifp_servo *servo, ifp_local_ns local, int64_t offset_ns, int64_t next_ns)
{
	struct observation now = {local.ns, offset_ns};
	int64_t published_ns;

	if (servo->count && local.ns <= servo->last[0].local_ns)
		return;
	published_ns = servo->count ? published_offset(servo, local.ns) : offset_ns;
	keep_record(servo, &now);
	memmove(servo->last + 1, servo->last, (MEMORY - 1) * sizeof(now));
	servo->last[0] = now;
	servo->count += servo->count < MEMORY;
	for (int k = 0; k < PREDICTORS; k++) {
		if (servo->count >= predictors[k].points)
			fit(servo, predictors + k, servo->forecasts[k].c);
	}
	draw(servo, published_ns, next_ns);
}

double ifp_servo_rate(const struct ifp_servo *servo)
{
	return ldexp((double)servo->steady.rate, -RATE_BITS);
}
