/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate of clocks that were aligned by collectives. */
#include "clocksync/estimate/collectives.h"
#include "clocksync/estimate/edge.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define FAR INT64_C(4611686018427387903) /* sums of two do not overflow */
#define PASSES_MOST 8
#define ANY 0u

/*
 * Nothing is taken for granted of the line's rate, be it from ever so many operations: first it may
 * be off by as much as clocks are at all, then by what the limits themselves leave open.
 */
#define DRIFT_AT_FIRST_PPM 20000
#define ROUNDS 5
#define WORTH 10 /* a tenth less is worth another round */

/* Where the ranks contradict each other, the line may be bent more than it was taken for. */
#define WANDER_RAISE 4
#define WANDER_MOST_PPM 2000

/* A part as the lines at hand place it. */
struct placed {
	int64_t enter_ns, exit_ns;
	int64_t ended_ns; /* in the piece that its end belongs to */
	bool left;	  /* false: it ended while the clock was set, before or behind that */
	bool entered;	  /* false: its clock may have been set since it came */
};

struct certifier {
	const struct ifp_instances *instances;
	const int64_t *at_ns;
	uint32_t rank_count, reference;
	struct ifp_aligned_rank *ranks;
	struct placed *placed; /* by part */
	/* The level whose ranks are narrowed, by those of lower ones; ANY: all by all. */
	uint32_t level;
	bool changed;
};

static bool takes_part(const struct certifier *c, uint32_t rank)
{
	return rank == c->reference || c->ranks[rank].aligned;
}

static bool is_narrowed(const struct certifier *c, uint32_t rank)
{
	return rank != c->reference && c->ranks[rank].aligned &&
	       (c->level == ANY || c->ranks[rank].level == c->level);
}

static bool is_asked(const struct certifier *c, uint32_t rank)
{
	return rank == c->reference ||
	       (c->ranks[rank].aligned && (c->level == ANY || c->ranks[rank].level < c->level));
}

/* When the line shows a stamp, from a moment near to that. */
static int64_t when(const struct ifp_trend *trend, int64_t stamp, int64_t near_ns)
{
	double rate = trend->count ? trend->points[ifp_trend_point_before(trend, near_ns)].rate : 0;
	int64_t away_ns = stamp - ifp_trend_offset(trend, near_ns) - near_ns;

	return near_ns + llround((double)away_ns / (1 + rate));
}

/* By the line at the moment it ended; its beginning as long before as it lasted. */
static struct placed place(
	const struct ifp_trend *trend, const struct ifp_instance_part *part, int64_t at_ns)
{
	struct placed placed;
	int64_t guess_ns;

	placed.ended_ns = at_ns;
	placed.exit_ns = when(trend, part->exit_ns, at_ns);
	guess_ns = placed.exit_ns - (part->exit_ns - part->enter_ns);
	placed.enter_ns = when(trend, part->enter_ns, guess_ns);
	placed.entered = placed.left = true;
	if (trend->count) {
		uint32_t i = ifp_trend_point_before(trend, at_ns);
		const struct ifp_trend_point *p = &trend->points[i];

		placed.left = i != p->piece_last || i + 1 == trend->count || at_ns <= p->at_ns;
		/* what came before its piece's first point may have come before the step */
		placed.entered =
			placed.left &&
			(!p->piece_first || guess_ns >= trend->points[p->piece_first].at_ns);
	}
	return placed;
}

/* Whether a stamp lies between the ends of a piece; only then it cannot be of another one, too. */
static bool is_within(const struct ifp_trend *trend, uint32_t first, uint32_t last, int64_t stamp)
{
	const struct ifp_trend_point *p = &trend->points[first], *q = &trend->points[last];

	return (first == 0 && last + 1 == trend->count) ||
	       (stamp >= p->at_ns + p->offset_ns && stamp <= q->at_ns + q->offset_ns);
}

/*
 * When a part ended that no other part ended with. False where the clock was set and the stamp may
 * be of before or of behind that.
 */
static bool find_end(const struct ifp_trend *trend, int64_t stamp, int64_t *at_ns)
{
	uint32_t pieces = 0, first, last;
	int64_t guess_ns;

	for (first = 0; first < trend->count; first = last + 1) {
		last = trend->points[first].piece_last;
		if (!is_within(trend, first, last, stamp))
			continue;
		/* rates are so small that the second guess is exact */
		guess_ns = stamp - trend->points[first].offset_ns;
		guess_ns = stamp - ifp_trend_offset(trend, guess_ns);
		*at_ns = stamp - ifp_trend_offset(trend, guess_ns);
		pieces++;
	}
	if (!trend->count)
		*at_ns = stamp;
	return pieces == 1 || !trend->count;
}

static struct placed place_part(
	const struct certifier *c, const struct ifp_instance_part *part, int64_t at_ns)
{
	const struct ifp_trend *trend = &c->ranks[part->rank].trend;
	struct placed placed = {0};

	if (!takes_part(c, part->rank))
		return placed;
	if (at_ns == IFP_INSTANCE_UNPLACED && !find_end(trend, part->exit_ns, &at_ns))
		return placed;
	return place(trend, part, at_ns);
}

static void place_all(struct certifier *c)
{
	for (uint32_t k = 0; k < c->instances->count; k++) {
		const struct ifp_instance *instance = &c->instances->items[k];

		if (instance->joint && c->at_ns[k] == IFP_INSTANCE_UNPLACED)
			continue;
		for (size_t i = instance->first; i < instance->first + instance->count; i++)
			c->placed[i] = place_part(c, &c->instances->parts[i], c->at_ns[k]);
	}
}

/*
 * The two points around a moment, of the piece that the operation ended in: ends are what pieces
 * are made of, and outliers among them may lie beyond their piece.
 */
struct around {
	uint32_t first, last;
};

static struct around points_around(const struct ifp_trend *trend, int64_t ended_ns, int64_t at_ns)
{
	const struct ifp_trend_point *piece =
		&trend->points[ifp_trend_point_before(trend, ended_ns)];
	uint32_t i = ifp_trend_point_before(trend, at_ns);

	i = i < piece->piece_first  ? piece->piece_first
	    : i > piece->piece_last ? piece->piece_last
				    : i;
	return (struct around){i, i < piece->piece_last ? i + 1 : i};
}

/*
 * The limit of a rank at a moment of an operation that ended at ended_ns: what the points around it
 * leave. sign: 1 high, -1 low.
 */
static int64_t limit_at(
	const struct certifier *c, uint32_t rank, int64_t ended_ns, int64_t at_ns, int sign)
{
	const struct ifp_aligned_rank *r = &c->ranks[rank];
	const int64_t *limits = sign > 0 ? r->high_ns : r->low_ns;
	int64_t best = FAR;
	struct around points;

	if (rank == c->reference)
		return 0;
	points = points_around(&r->trend, ended_ns, at_ns);
	for (uint32_t k = points.first; k <= points.last; k++) {
		int64_t away_ns = llabs(at_ns - r->trend.points[k].at_ns);
		int64_t limit = sign * limits[k];

		if (limit < FAR)
			limit += ifp_drift_ns(away_ns, r->drift_ppm);
		best = limit < best ? limit : best;
	}
	return sign * best;
}

/* Narrows a rank's limit around a moment, as far as the drift lets it reach. */
static void narrow(struct certifier *c, uint32_t rank, int64_t ended_ns, int64_t at_ns,
	int64_t limit, int sign)
{
	struct ifp_aligned_rank *r = &c->ranks[rank];
	int64_t *limits = sign > 0 ? r->high_ns : r->low_ns;
	struct around points = points_around(&r->trend, ended_ns, at_ns);

	for (uint32_t k = points.first; k <= points.last; k++) {
		int64_t away_ns = llabs(at_ns - r->trend.points[k].at_ns);
		int64_t reach = sign * limit + ifp_drift_ns(away_ns, r->drift_ppm);

		if (reach >= sign * limits[k])
			continue;
		limits[k] = sign * reach;
		c->changed = true;
	}
}

/* The best and the second best of what the ranks of an operation say. */
struct two_best {
	int64_t best, second;
	uint32_t rank;
};

static void offer(struct two_best *two, int64_t value, uint32_t rank)
{
	if (value < two->best) {
		two->second = two->best;
		two->best = value;
		two->rank = rank;
	} else if (value < two->second) {
		two->second = value;
	}
}

/*
 * x: a rank's true offset minus its line. From enter_j - x_j <= exit_i - x_i, for i that waits and
 * j that is awaited, other than i:
 *   x_j >= enter_j - (exit_i - low_i)   and   x_i <= exit_i - (enter_j - high_j).
 */
struct limits {
	int64_t base_ns; /* that all are told from */
	struct two_best ends, begins;
};

static void ask(const struct certifier *c, size_t i, struct limits *limits)
{
	const struct ifp_instance_part *part = &c->instances->parts[i];
	const struct placed *p = &c->placed[i];
	int64_t low, high;

	if (!p->left || !is_asked(c, part->rank))
		return;
	low = limit_at(c, part->rank, p->ended_ns, p->exit_ns, -1);
	if (low > -FAR && part->waits)
		offer(&limits->ends, p->exit_ns - low - limits->base_ns, part->rank);
	high = limit_at(c, part->rank, p->ended_ns, p->enter_ns, 1);
	if (high < FAR && p->entered && part->awaited)
		offer(&limits->begins, -(p->enter_ns - high - limits->base_ns), part->rank);
}

static void narrow_by(struct certifier *c, size_t i, const struct limits *limits)
{
	const struct ifp_instance_part *part = &c->instances->parts[i];
	const struct placed *p = &c->placed[i];
	uint32_t rank = part->rank;
	int64_t end = limits->ends.rank == rank ? limits->ends.second : limits->ends.best;
	int64_t begin = limits->begins.rank == rank ? limits->begins.second : limits->begins.best;

	if (!p->left || !is_narrowed(c, rank))
		return;
	if (end < FAR && p->entered && part->awaited)
		narrow(c, rank, p->ended_ns, p->enter_ns, p->enter_ns - limits->base_ns - end, -1);
	if (begin < FAR && part->waits)
		narrow(c, rank, p->ended_ns, p->exit_ns, p->exit_ns - limits->base_ns + begin, 1);
}

static void use(struct certifier *c, uint32_t k)
{
	const struct ifp_instance *instance = &c->instances->items[k];
	size_t first = instance->first, end = first + instance->count;
	struct limits limits = {
		c->placed[first].exit_ns, {FAR, FAR, UINT32_MAX}, {FAR, FAR, UINT32_MAX}};

	for (size_t i = first; i < end; i++)
		ask(c, i, &limits);
	for (size_t i = first; i < end; i++)
		narrow_by(c, i, &limits);
}

/* From one point to the next of the same piece. */
static void carry(struct ifp_aligned_rank *rank, uint32_t from, uint32_t to)
{
	int64_t away_ns = llabs(rank->trend.points[to].at_ns - rank->trend.points[from].at_ns);
	int64_t drift_ns = ifp_drift_ns(away_ns, rank->drift_ppm);

	if (rank->low_ns[to] < rank->low_ns[from] - drift_ns)
		rank->low_ns[to] = rank->low_ns[from] - drift_ns;
	if (rank->high_ns[to] > rank->high_ns[from] + drift_ns)
		rank->high_ns[to] = rank->high_ns[from] + drift_ns;
}

static void spread(struct ifp_aligned_rank *rank)
{
	for (uint32_t k = 1; k < rank->trend.count; k++) {
		if (!rank->trend.points[k].stepped)
			carry(rank, k - 1, k);
	}
	for (uint32_t k = rank->trend.count; k-- > 1;) {
		if (!rank->trend.points[k].stepped)
			carry(rank, k, k - 1);
	}
}

static void reset(struct certifier *c)
{
	for (uint32_t r = 0; r < c->rank_count; r++) {
		for (uint32_t k = 0; c->ranks[r].aligned && k < c->ranks[r].trend.count; k++) {
			c->ranks[r].low_ns[k] = -FAR;
			c->ranks[r].high_ns[k] = FAR;
		}
	}
}

static bool contradicts(const struct ifp_aligned_rank *rank)
{
	for (uint32_t k = 0; k < rank->trend.count; k++) {
		if (rank->low_ns[k] > rank->high_ns[k])
			return true;
	}
	return false;
}

/* The first rank that contradicts itself, which is seen before others suffer from it. */
static uint32_t pass(struct certifier *c)
{
	c->changed = false;
	for (uint32_t k = 0; k < c->instances->count; k++)
		use(c, k);
	for (uint32_t r = 0; r < c->rank_count; r++) {
		if (!is_narrowed(c, r))
			continue;
		spread(&c->ranks[r]);
		if (contradicts(&c->ranks[r]))
			return r;
	}
	return UINT32_MAX;
}

/*
 * Every rank gets its limits; UINT32_MAX, or a rank that contradicts itself. Level by level first:
 * so a rank whose line is wrong is found before it has narrowed others.
 */
static uint32_t certify(struct certifier *c)
{
	uint32_t levels = 0, wrong;

	reset(c);
	for (uint32_t r = 0; r < c->rank_count; r++) {
		if (c->ranks[r].aligned && c->ranks[r].level > levels)
			levels = c->ranks[r].level;
	}
	for (c->level = 1; c->level <= levels; c->level++) {
		wrong = pass(c);
		if (wrong != UINT32_MAX)
			return wrong;
	}
	c->level = ANY;
	c->changed = true;
	for (uint32_t n = 0; n < PASSES_MOST && c->changed; n++) {
		wrong = pass(c);
		if (wrong != UINT32_MAX)
			return wrong;
	}
	return UINT32_MAX;
}

/* How far each rank's rate may be from its line's, by its limits; whether one is narrower now. */
static bool narrow_rates(struct certifier *c)
{
	bool narrower = false;

	for (uint32_t r = 0; r < c->rank_count; r++) {
		struct ifp_aligned_rank *rank = &c->ranks[r];
		int64_t before_ppm = rank->drift_ppm;

		if (!rank->aligned)
			continue;
		rank->off_ppm = ifp_collectives_rate_off(rank);
		if (rank->off_ppm + rank->wander_ppm >= before_ppm)
			continue;
		rank->drift_ppm = rank->off_ppm + rank->wander_ppm;
		narrower = narrower || before_ppm - rank->drift_ppm > before_ppm / WORTH;
	}
	return narrower;
}

/* A rank that contradicts itself wanders more than it was taken for, or did something else. */
static void concede(struct ifp_aligned_rank *rank)
{
	rank->wander_ppm *= WANDER_RAISE;
	if (rank->drift_ppm >= DRIFT_AT_FIRST_PPM || rank->wander_ppm > WANDER_MOST_PPM) {
		rank->aligned = false;
		rank->contradicted = true;
	}
	rank->drift_ppm = rank->off_ppm + rank->wander_ppm;
}

static int make_room(struct ifp_aligned_rank *rank)
{
	rank->wander_ppm = IFP_CLOCK_DRIFT_PPM;
	rank->drift_ppm = DRIFT_AT_FIRST_PPM;
	rank->low_ns = calloc(rank->trend.count, sizeof(*rank->low_ns));
	rank->high_ns = calloc(rank->trend.count, sizeof(*rank->high_ns));
	return rank->low_ns && rank->high_ns ? 0 : ifp_fail(-ENOMEM, "certify the clock of a rank");
}

int ifp_collectives_certify(const struct ifp_instances *instances, const int64_t *at_ns,
	uint32_t rank_count, uint32_t reference, struct ifp_aligned_rank *ranks)
{
	IFP_CLEANUP_FREE struct placed *placed = calloc(instances->part_count + 1, sizeof(*placed));
	struct certifier c = {instances, at_ns, rank_count, reference, ranks, placed, ANY, false};
	uint32_t wrong;

	if (!placed)
		return ifp_fail(-ENOMEM, "certify %u clocks", rank_count);
	for (uint32_t r = 0; r < rank_count; r++) {
		int err = ranks[r].aligned ? make_room(&ranks[r]) : 0;

		if (err)
			return err;
	}
	place_all(&c);
	for (uint32_t round = 0; round < ROUNDS && (!round || narrow_rates(&c)); round++) {
		while ((wrong = certify(&c)) != UINT32_MAX)
			concede(&ranks[wrong]);
	}
	return 0;
}
