/* SPDX-License-Identifier: Apache-2.0 */
#include "noise.h"

#include "core/time.h"

#include <math.h>
#include <string.h>

static double uniform(struct noise *noise)
{
	/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
	uint64_t z = noise->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct noise *noise)
{
	double radius = sqrt(-2 * log(uniform(noise)));

	return radius * cos(2 * M_PI * uniform(noise));
}

uint32_t noise_below(struct noise *noise, uint32_t limit)
{
	return (uint32_t)(uniform(noise) * limit);
}

/* The place of every rank in a random order. */
static void order(struct noise *noise, uint32_t *place, uint32_t ranks)
{
	for (uint32_t i = 0; i < ranks; i++) {
		uint32_t j = noise_below(noise, i + 1);

		place[i] = place[j];
		place[j] = i;
	}
}

/* One step's disturbances in ms; lasting_ms is what remains of the step before. */
static void fill_step(
	struct noise *noise, enum noise_kind kind, uint32_t ranks, double *ms, double *lasting_ms)
{
	uint32_t place[NOISE_MAX_RANKS];
	uint32_t hit = 0;

	order(noise, place, ranks);
	if (kind == NOISE_SHOCKS)
		hit = noise_below(noise, ranks);
	for (uint32_t r = 0; r < ranks; r++) {
		switch (kind) {
		case NOISE_LOGNORMAL:
			ms[r] = 5 * exp(normal(noise));
			break;
		case NOISE_PARETO:
			ms[r] = 3 * pow(uniform(noise), -1 / 1.5);
			break;
		case NOISE_TURNS:
			ms[r] = 8 * place[r] + 3 * fabs(normal(noise));
			break;
		case NOISE_SHOCKS:
			ms[r] = 2 * fabs(normal(noise)) + (place[r] < hit ? 40 : 0);
			break;
		default:
			lasting_ms[r] = 0.3 * lasting_ms[r] + 10 * normal(noise);
			ms[r] = lasting_ms[r];
		}
	}
}

void noise_make(
	struct noise *noise, enum noise_kind kind, uint64_t seed, uint32_t ranks, uint32_t steps)
{
	double ms[NOISE_MAX_RANKS], lasting_ms[NOISE_MAX_RANKS] = {0};

	memset(noise, 0, sizeof(*noise));
	noise->state = seed;
	noise->arrivals.rank_count = ranks;
	noise->arrivals.step_count = steps;
	noise->arrivals.steps = noise->steps;
	for (uint32_t s = 0; s < steps; s++) {
		fill_step(noise, kind, ranks, ms, lasting_ms);
		noise->steps[s].step = s + 1;
		noise->steps[s].arrival_ns = noise->arrival_ns[s];
		for (uint32_t r = 0; r < ranks; r++)
			noise->arrival_ns[s][r] =
				s * 500 * IFP_NS_PER_MS + (int64_t)(ms[r] * (double)IFP_NS_PER_MS);
	}
}

void noise_delay(struct noise *noise, uint32_t rank, int64_t delay_ns)
{
	for (uint32_t s = 0; s < noise->arrivals.step_count; s++)
		noise->arrival_ns[s][rank] += delay_ns;
}

int64_t noise_spread_ns(const struct noise *noise)
{
	int64_t sum_ns = 0;

	for (uint32_t s = 0; s < noise->arrivals.step_count; s++) {
		int64_t first = INT64_MAX, last = INT64_MIN;

		for (uint32_t r = 0; r < noise->arrivals.rank_count; r++) {
			int64_t ns = noise->arrival_ns[s][r];

			first = ns < first ? ns : first;
			last = ns > last ? ns : last;
		}
		sum_ns += last - first;
	}
	return sum_ns / noise->arrivals.step_count;
}
