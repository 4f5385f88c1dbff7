/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/gpu_bias.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Of each kind one in so many may be a stray: a damaged record, not a clock that drifts. */
#define STRAY_SHARE 100u

/* Halvings of a range of slopes: 400 ppm end at 1e-15. */
#define HALVINGS 40

/* Room that a line needs between the hulls, since its numbers are rounded to whole ns. */
#define ROUNDING_NS 3

/* Demands beyond 70 years are those of damaged records, too, and leave room to calculate. */
#define FARTHEST_NS (INT64_MAX / 4)

/* What a pair asks of the shift: at least that, or at most. */
static int64_t demand(const struct ifp_gpu_pair *pair)
{
	int64_t difference;

	if (__builtin_sub_overflow(pair->host_ns, pair->gpu_ns, &difference))
		return pair->host_ns < 0 ? -FARTHEST_NS : FARTHEST_NS;
	if (difference > FARTHEST_NS || difference < -FARTHEST_NS)
		return difference < 0 ? -FARTHEST_NS : FARTHEST_NS;
	return difference;
}

static int64_t nearest_to_zero(int64_t low, int64_t high)
{
	if (low > 0)
		return low;
	return high < 0 ? high : 0;
}

static void count_recorded(const struct ifp_gpu_constraints *c, struct ifp_gpu_bias *out)
{
	out->begins = c->begin_count;
	out->ends = c->end_count;
	for (uint32_t i = 0; i < c->begin_count; i++)
		out->early += demand(&c->begins[i]) > 0;
	for (uint32_t i = 0; i < c->end_count; i++)
		out->late += demand(&c->ends[i]) < 0;
}

/* What the constraints leave: what is below is too early for some work, above too late. */
static void find_interval(const struct ifp_gpu_constraints *c, struct ifp_gpu_bias *out)
{
	out->low_ns = INT64_MIN;
	out->high_ns = INT64_MAX;
	for (uint32_t i = 0; i < c->begin_count; i++) {
		int64_t least = demand(&c->begins[i]);

		out->low_ns = least > out->low_ns ? least : out->low_ns;
	}
	for (uint32_t i = 0; i < c->end_count; i++) {
		int64_t most = demand(&c->ends[i]);

		out->high_ns = most < out->high_ns ? most : out->high_ns;
	}
}

static int compare_demands(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t *sorted_demands(const struct ifp_gpu_pair *pairs, uint32_t count)
{
	int64_t *demands = malloc(((size_t)count + 1) * sizeof(*demands));

	for (uint32_t i = 0; demands && i < count; i++)
		demands[i] = demand(&pairs[i]);
	if (demands)
		qsort(demands, count, sizeof(*demands), compare_demands);
	return demands;
}

/*
 * The interval that the fewest constraints contradict, of several the one nearest to 0. Between two
 * neighbouring demands nothing changes: with the first i of the begins satisfied, those of the ends
 * that lie below their last one are not.
 */
static int find_best(const struct ifp_gpu_constraints *c, struct ifp_gpu_bias *out)
{
	IFP_CLEANUP_FREE int64_t *begins = sorted_demands(c->begins, c->begin_count);
	IFP_CLEANUP_FREE int64_t *ends = sorted_demands(c->ends, c->end_count);
	uint64_t fewest = UINT64_MAX;
	int64_t best = 0;

	if (!begins || !ends)
		return ifp_fail(-ENOMEM, "compare a GPU's times with its host's");
	for (uint32_t i = 0, below = 0; i <= c->begin_count; i++) {
		int64_t low = i ? begins[i - 1] : INT64_MIN, high, near;
		uint64_t contradicted;

		while (below < c->end_count && ends[below] < low)
			below++;
		high = below < c->end_count ? ends[below] : INT64_MAX;
		if (i < c->begin_count && high >= begins[i])
			continue; /* the next one satisfies more */
		contradicted = (uint64_t)(c->begin_count - i) + below;
		near = nearest_to_zero(low, high);
		if (contradicted > fewest || (contradicted == fewest && llabs(near) >= llabs(best)))
			continue;
		fewest = contradicted;
		best = near;
		out->low_ns = low;
		out->high_ns = high;
		out->begins_left_out = c->begin_count - i;
		out->ends_left_out = below;
	}
	return 0;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct ifp_gpu_pair *x = a, *y = b;

	if (x->gpu_ns != y->gpu_ns)
		return x->gpu_ns < y->gpu_ns ? -1 : 1;
	return (x->host_ns > y->host_ns) - (x->host_ns < y->host_ns);
}

/* Corners of a convex hull, relative to a pair: what is asked of the shift at a time. */
struct hull {
	struct corner {
		double at, demand;
	} * corners;
	uint32_t count;
};

static double since(int64_t at_ns, int64_t origin_ns)
{
	int64_t difference;

	return __builtin_sub_overflow(at_ns, origin_ns, &difference)
		       ? (double)at_ns - (double)origin_ns
		       : (double)difference;
}

/* Whether the last corner lies above the line from the one before it to the next. */
static bool bends(const struct corner *last, const struct corner *next)
{
	const struct corner *before = last - 1;

	return (last->demand - before->demand) * (next->at - before->at) >
	       (next->demand - before->demand) * (last->at - before->at);
}

/*
 * The hull of the pairs on the side where they limit the shift: the upper one of the begins (sign
 * 1), the lower one of the ends (-1). By Andrew's monotone chain (1979).
 */
static int make_hull(struct ifp_gpu_pair *pairs, uint32_t count, int64_t origin_ns, double sign,
	struct hull *out)
{
	qsort(pairs, count, sizeof(*pairs), compare_pairs);
	out->corners = malloc(((size_t)count + 1) * sizeof(*out->corners));
	if (!out->corners)
		return ifp_fail(-ENOMEM, "compare a GPU's times with its host's");
	for (uint32_t i = 0; i < count; i++) {
		struct corner next = {
			since(pairs[i].gpu_ns, origin_ns), sign * (double)demand(&pairs[i])};

		if (out->count && out->corners[out->count - 1].at >= next.at) {
			if (out->corners[out->count - 1].demand >= next.demand)
				continue;
			out->count--;
		}
		while (out->count > 1 && !bends(&out->corners[out->count - 1], &next))
			out->count--;
		out->corners[out->count++] = next;
	}
	return 0;
}

/* At the origin: the least number that a line of this slope needs there to stay beyond the hull. */
static double needed(const struct hull *hull, double slope)
{
	double most = -INFINITY;

	for (uint32_t i = 0; i < hull->count; i++) {
		double here = hull->corners[i].demand - slope * hull->corners[i].at;

		most = here > most ? here : most;
	}
	return most;
}

struct hulls {
	struct hull begins, ends; /* the ends' demands with the other sign */
};

/* By how much lines of this slope contradict the constraints; not above 0: some satisfy all. A
 * convex function of the slope. */
static double excess(const struct hulls *hulls, double slope)
{
	return needed(&hulls->begins, slope) + needed(&hulls->ends, -slope);
}

/* The slope with the least excess. */
static double best_slope(const struct hulls *hulls)
{
	double low = -IFP_GPU_DRIFT_MAX_PPM / 1e6, high = -low;

	for (int i = 0; i < 2 * HALVINGS; i++) {
		double left = low + (high - low) / 3, right = high - (high - low) / 3;

		if (excess(hulls, left) <= excess(hulls, right))
			high = right;
		else
			low = left;
	}
	return (low + high) / 2;
}

static void free_hulls(struct hulls *hulls)
{
	free(hulls->begins.corners);
	free(hulls->ends.corners);
}

/* A line that satisfies all constraints, as steep as it has to be. *found: there is one. */
static int find_line(struct ifp_gpu_constraints *c, struct ifp_gpu_bias *out, bool *found)
{
	IFP_CLEANUP(free_hulls) struct hulls hulls = {0};
	double flat = 0, steep;
	int64_t origin_ns = c->begins[0].gpu_ns;
	int err = make_hull(c->begins, c->begin_count, origin_ns, 1, &hulls.begins);

	if (!err)
		err = make_hull(c->ends, c->end_count, origin_ns, -1, &hulls.ends);
	if (err)
		return err;
	steep = best_slope(&hulls);
	*found = excess(&hulls, steep) <= -ROUNDING_NS;
	if (!*found)
		return 0;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (flat + steep) / 2;

		if (excess(&hulls, middle) <= -ROUNDING_NS)
			steep = middle;
		else
			flat = middle;
	}
	out->drift_ppm = steep * 1e6;
	out->at_ns = origin_ns;
	out->low_ns = (int64_t)ceil(needed(&hulls.begins, steep)) + 1;
	out->high_ns = (int64_t)floor(-needed(&hulls.ends, -steep));
	return 0;
}

/* From the shift to an end of the interval, as far as one has ever seen. */
static int64_t reach(int64_t from, int64_t to)
{
	int64_t distance;

	if (__builtin_sub_overflow(to, from, &distance) || distance > IFP_GPU_BIAS_USUAL_NS)
		return IFP_GPU_BIAS_USUAL_NS;
	return distance;
}

static void settle(struct ifp_gpu_bias *bias, enum ifp_gpu_fit fit)
{
	int64_t above, below;

	bias->fit = fit;
	bias->shift_ns = nearest_to_zero(bias->low_ns, bias->high_ns);
	above = reach(bias->shift_ns, bias->high_ns);
	below = bias->low_ns == INT64_MIN ? IFP_GPU_BIAS_USUAL_NS
					  : reach(bias->low_ns, bias->shift_ns);
	bias->doubt_ns = above > below ? above : below;
	if (fit == IFP_GPU_CONTRADICTED)
		bias->doubt_ns = IFP_GPU_BIAS_USUAL_NS;
}

/* The constraints contradict each other under a single shift. */
static int solve_contradiction(struct ifp_gpu_constraints *c, struct ifp_gpu_bias *out)
{
	struct ifp_gpu_bias best = *out, line = *out;
	bool found;
	int err = find_best(c, &best);

	if (!err && best.begins_left_out <= c->begin_count / STRAY_SHARE &&
		best.ends_left_out <= c->end_count / STRAY_SHARE) {
		settle(&best, IFP_GPU_SHIFT);
		*out = best;
		return 0;
	}
	if (!err)
		err = find_line(c, &line, &found);
	if (err)
		return err;
	settle(found ? &line : &best, found ? IFP_GPU_LINE : IFP_GPU_CONTRADICTED);
	*out = found ? line : best;
	return 0;
}

int ifp_gpu_bias_estimate(struct ifp_gpu_constraints *c, struct ifp_gpu_bias *out)
{
	struct ifp_gpu_bias bias = {0};

	count_recorded(c, &bias);
	find_interval(c, &bias);
	if (bias.low_ns > bias.high_ns) {
		int err = solve_contradiction(c, &bias);

		if (err)
			return err;
	} else {
		settle(&bias, c->begin_count || c->end_count ? IFP_GPU_SHIFT : IFP_GPU_FREE);
	}
	*out = bias;
	return 0;
}

int64_t ifp_gpu_bias_shift(const struct ifp_gpu_bias *bias, int64_t gpu_ns)
{
	if (bias->drift_ppm == 0)
		return bias->shift_ns;
	return bias->shift_ns +
	       (int64_t)floor(since(gpu_ns, bias->at_ns) * (bias->drift_ppm / 1e6));
}
