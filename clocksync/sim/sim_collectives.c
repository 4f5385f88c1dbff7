/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/sim/sim_collectives.h"

#include "core/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define START_NS IFP_NS_PER_S /* of the first step, in the simulated world */

/* An operation while it is made. */
struct operation {
	uint32_t number, kind;
	int64_t at_ns; /* when the first rank may come */
	bool waits;
	uint32_t first, stride, count; /* its ranks */
	uint64_t group;
	enum form { TO_ALL, BROADCAST, REDUCE } form;
	uint32_t root; /* of the two last */
};

struct maker {
	struct ifp_sim *sim;
	const struct ifp_sim_program *program;
	double *bias_ns;	      /* by kind and rank */
	int64_t *enter_ns, *leave_ns; /* by rank */
	uint32_t *begin, *end;	      /* by rank: operations that its trace holds */
};

int64_t ifp_sim_trace_stamp(const struct ifp_sim_clock *clock, ifp_true_ns at)
{
	int64_t step_ns = clock->step_ns && at.ns >= clock->step_at.ns ? clock->step_ns : 0;

	return ifp_sim_raw(clock, at) + step_ns;
}

static double exponential(struct ifp_sim *sim)
{
	return -log(1 - ifp_sim_random(sim));
}

/* What a rank waits for; last_ns: when the last one has come. */
static int64_t wait_for(
	const struct maker *m, const struct operation *op, uint32_t rank, int64_t last_ns)
{
	int64_t own_ns = m->enter_ns[rank], root_ns = m->enter_ns[op->root];

	if (!op->waits)
		return own_ns;
	if (op->form == TO_ALL || (op->form == REDUCE && rank == op->root))
		return last_ns;
	return op->form == BROADCAST && root_ns > own_ns ? root_ns : own_ns;
}

/* When a rank leaves, after what it waits for. */
static int64_t leave(struct maker *m, const struct operation *op, uint32_t rank, int64_t last_ns)
{
	const struct ifp_sim_program *p = m->program;
	double transfer = (double)p->transfer_ns[op->kind];
	double after = transfer * (1 - p->bias_share) +
		       m->bias_ns[op->kind * m->sim->node_count + rank] +
		       transfer * p->noise_share * exponential(m->sim);

	if (ifp_sim_random(m->sim) < p->outlier_share)
		after += 10 * transfer * ifp_sim_random(m->sim);
	return wait_for(m, op, rank, last_ns) + (int64_t)after;
}

static enum ifp_clock_role role_of(const struct operation *op, uint32_t rank)
{
	if (op->form == TO_ALL)
		return IFP_CLOCK_WITH_ALL;
	return (rank == op->root) == (op->form == BROADCAST) ? IFP_CLOCK_AWAITED : IFP_CLOCK_WAITS;
}

static void record(struct maker *m, const struct operation *op, uint32_t rank, int64_t leave_ns)
{
	const struct ifp_sim_clock *clock = &m->sim->clocks[rank];
	struct ifp_clock_samples *samples = &m->sim->samples[rank];

	if (op->number < m->begin[rank] || op->number >= m->end[rank])
		return;
	samples->collectives[samples->collective_count++] = (struct ifp_clock_collective){
		.enter_ns = ifp_sim_trace_stamp(clock, (ifp_true_ns){m->enter_ns[rank]}),
		.exit_ns = ifp_sim_trace_stamp(clock, (ifp_true_ns){leave_ns}),
		.group = op->group,
		.kind = op->kind + 1 + op->form * IFP_SIM_KINDS,
		.role = role_of(op, rank),
		.step = op->number / m->program->per_step + 1,
		.members = op->count};
}

/* Returns when the last of its ranks has come. */
static int64_t perform(struct maker *m, const struct operation *op)
{
	int64_t last_ns = INT64_MIN;

	for (uint32_t i = 0; i < op->count; i++) {
		uint32_t rank = op->first + i * op->stride;
		double late = (double)m->program->arrival_ns * exponential(m->sim);

		m->enter_ns[rank] = op->at_ns + (int64_t)late;
		if (m->enter_ns[rank] <=
			m->leave_ns[rank]) /* one after the other, as on a stream */
			m->enter_ns[rank] = m->leave_ns[rank] + IFP_NS_PER_US;
		if (m->enter_ns[rank] > last_ns)
			last_ns = m->enter_ns[rank];
	}
	for (uint32_t i = 0; i < op->count; i++) {
		uint32_t rank = op->first + i * op->stride;

		m->leave_ns[rank] = leave(m, op, rank, last_ns);
		record(m, op, rank, m->leave_ns[rank]);
	}
	return last_ns;
}

static void choose_form(struct maker *m, struct operation *op)
{
	op->form = TO_ALL;
	if (m->program->directed_share == 0 || ifp_sim_random(m->sim) >= m->program->directed_share)
		return;
	op->form = op->number % 2 ? BROADCAST : REDUCE;
	op->root = op->first + op->stride * (uint32_t)(ifp_sim_random(m->sim) * op->count);
}

static void perform_all(struct maker *m, ifp_true_ns *ends)
{
	const struct ifp_sim_program *p = m->program;
	uint32_t ranks = m->sim->node_count;

	for (uint32_t k = 0; k < p->steps * p->per_step; k++) {
		struct operation op = {.number = k,
			.kind = k % p->per_step % IFP_SIM_KINDS,
			.at_ns = START_NS + k / p->per_step * p->step_ns +
				 k % p->per_step * (p->step_ns / p->per_step),
			.waits = !p->some_do_not_wait || k % 4,
			.stride = 1,
			.count = ranks,
			.group = 1};
		int64_t last_ns = 0;

		if (!p->group_ranks || k % 2) {
			choose_form(m, &op);
			last_ns = perform(m, &op);
		} else {
			for (uint32_t first = 0; first < ranks; first += p->group_ranks) {
				op.first = first;
				op.group = 2 + first;
				op.count = ranks - first < p->group_ranks ? ranks - first
									  : p->group_ranks;
				choose_form(m, &op);
				last_ns = perform(m, &op);
			}
		}
		if (ends)
			ends[k] = (ifp_true_ns){last_ns};
	}
}

static int prepare_rank(struct maker *m, uint32_t rank)
{
	const struct ifp_sim_program *p = m->program;
	uint32_t total = p->steps * p->per_step;
	struct ifp_clock_samples *samples = &m->sim->samples[rank];

	m->begin[rank] = (uint32_t)(ifp_sim_random(m->sim) * (p->ragged + 1));
	m->end[rank] = total - (uint32_t)(ifp_sim_random(m->sim) * (p->ragged + 1));
	for (uint32_t kind = 0; kind < IFP_SIM_KINDS; kind++)
		m->bias_ns[kind * m->sim->node_count + rank] =
			p->bias_share * (double)p->transfer_ns[kind] * ifp_sim_random(m->sim);
	m->sim->ranks[rank].unmeasured = true;
	m->sim->ranks[rank].identity = (struct ifp_clock_identity){0};
	samples->collectives = calloc(total + 1u, sizeof(*samples->collectives));
	samples->tuples = calloc(2, sizeof(*samples->tuples));
	return samples->collectives && samples->tuples ? 0 : -ENOMEM;
}

static void add_tuples(struct ifp_sim *sim, uint32_t rank)
{
	struct ifp_clock_samples *samples = &sim->samples[rank];
	const struct ifp_clock_collective *c = samples->collectives;
	int64_t first_ns = c[0].enter_ns, last_ns = c[0].exit_ns;

	for (uint32_t i = 1; i < samples->collective_count; i++) {
		first_ns = c[i].enter_ns < first_ns ? c[i].enter_ns : first_ns;
		last_ns = c[i].exit_ns > last_ns ? c[i].exit_ns : last_ns;
	}
	samples->tuples[0] = (struct ifp_clock_tuple){.raw_ns = first_ns, .realtime_ns = first_ns};
	samples->tuples[1] = (struct ifp_clock_tuple){.raw_ns = last_ns, .realtime_ns = last_ns};
	samples->tuple_count = 2;
}

int ifp_sim_collectives(
	struct ifp_sim *sim, const struct ifp_sim_program *program, ifp_true_ns *ends)
{
	uint32_t ranks = sim->node_count;
	IFP_CLEANUP_FREE double *bias_ns = calloc((size_t)ranks * IFP_SIM_KINDS, sizeof(*bias_ns));
	IFP_CLEANUP_FREE int64_t *enter_ns = calloc(2 * (size_t)ranks, sizeof(*enter_ns));
	IFP_CLEANUP_FREE uint32_t *held = calloc(2 * (size_t)ranks, sizeof(*held));
	struct maker m = {sim, program, bias_ns, enter_ns, enter_ns + ranks, held, held + ranks};

	if (!bias_ns || !enter_ns || !held)
		return -ENOMEM;
	for (uint32_t r = 0; r < ranks; r++) {
		if (prepare_rank(&m, r))
			return -ENOMEM;
	}
	perform_all(&m, ends);
	for (uint32_t r = 0; r < ranks; r++)
		add_tuples(sim, r);
	return 0;
}
