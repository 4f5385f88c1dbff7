/* SPDX-License-Identifier: Apache-2.0 */
/* The table that include/infprof/mark.h and the start-up hook for PyTorch call through. */
#define INFPROF_API_ONLY
#include "infprof/mark.h"

#include "agent/inject/ring.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

static void range_push(const char *name)
{
	ifp_ring_push(&(struct ifp_mark){.kind = IFP_MARK_PUSH, .name = name});
}

static void range_pop(void)
{
	ifp_ring_pop(&(struct ifp_mark){.kind = IFP_MARK_POP});
}

static uint64_t range_start(const char *name)
{
	return ifp_ring_start(&(struct ifp_mark){.kind = IFP_MARK_START, .name = name});
}

static void range_end(uint64_t id)
{
	if (id)
		ifp_ring_put(&(struct ifp_mark){.kind = IFP_MARK_END, .value = id});
}

static void step_begin(uint64_t number)
{
	ifp_ring_put(&(struct ifp_mark){.kind = IFP_MARK_STEP_BEGIN, .value = number});
}

static void step_end(uint64_t number)
{
	ifp_ring_put(&(struct ifp_mark){.kind = IFP_MARK_STEP_END, .value = number});
}

static void counter(const char *name, double value)
{
	struct ifp_mark mark = {.kind = IFP_MARK_COUNTER, .name = name};

	memcpy(&mark.value, &value, sizeof(value));
	ifp_ring_put(&mark);
}

static void instant(const char *name)
{
	ifp_ring_put(&(struct ifp_mark){.kind = IFP_MARK_INSTANT, .name = name});
}

/* Optimizer steps that this process has completed. */
static _Atomic uint64_t steps_completed;

static void on_fork_in_child(void)
{
	atomic_store(&steps_completed, 0);
}

__attribute__((constructor)) static void on_load(void)
{
	pthread_atfork(NULL, NULL, on_fork_in_child);
}

/* Whether the claim may be taken from holder: nobody's, or of a process that is no more. */
static bool is_vacant(uint32_t holder)
{
	int saved_errno = errno;
	bool vacant = !holder || (kill((pid_t)holder, 0) != 0 && errno == ESRCH);

	errno = saved_errno;
	return vacant;
}

static int claim(void)
{
	struct ifp_segment_header *segment = ifp_inject_segment();
	uint32_t self = ifp_inject_pid();
	uint32_t holder;

	if (!segment)
		return 0;
	holder = atomic_load(&segment->step_claim_pid);
	return holder == self ||
	       (is_vacant(holder) &&
		       atomic_compare_exchange_strong(&segment->step_claim_pid, &holder, self));
}

static void note(uint32_t hook_bits)
{
	struct ifp_segment_header *segment = ifp_inject_segment();

	if (segment)
		atomic_fetch_or(&segment->hook_bits, hook_bits);
}

static uint64_t step_completed(void)
{
	uint64_t number = atomic_fetch_add(&steps_completed, 1) + 1;
	struct ifp_mark mark = {
		.kind = IFP_MARK_STEP, .origin = IFP_MARK_FROM_HOOK, .value = number};

	if (!claim())
		return 0;
	ifp_ring_put(&mark);
	atomic_store(&ifp_inject_segment()->step_count, number);
	note(IFP_HOOK_STEPPED);
	return number;
}

static int may_arm(void)
{
	struct ifp_segment_header *segment = ifp_inject_segment();
	uint32_t holder;

	if (!segment || !atomic_load(&segment->may_arm))
		return 0;
	holder = atomic_load(&segment->step_claim_pid);
	return holder == ifp_inject_pid() || is_vacant(holder);
}

static int segment_active(void)
{
	return ifp_inject_segment() != NULL;
}

static int leaving(uint64_t steps[2])
{
	struct ifp_segment_header *segment = ifp_inject_segment();
	uint32_t self = ifp_inject_pid();

	if (!segment)
		return 0;
	/* First said, then looked: an agent that has not seen it yet has its window seen here. */
	atomic_store(&segment->leaving_pid, self);
	if (atomic_load(&segment->window_pid) != self)
		return 0;
	steps[0] = atomic_load(&segment->window_first_step);
	steps[1] = atomic_load(&segment->window_last_step);
	/* An agent that is no more cannot say when the window is done. */
	return !is_vacant(segment->agent_pid);
}

static const struct infprof_api api = {
	.version = 1,
	.size_bytes = sizeof(api),
	.range_push = range_push,
	.range_pop = range_pop,
	.range_start = range_start,
	.range_end = range_end,
	.step_begin = step_begin,
	.step_end = step_end,
	.counter = counter,
	.instant = instant,
	.step_completed = step_completed,
	.claim = claim,
	.note = note,
	.may_arm = may_arm,
	.segment_active = segment_active,
	.leaving = leaving,
};

__attribute__((visibility("default"))) const struct infprof_api *infprof_api_v1(void)
{
	return ifp_inject_segment() ? &api : NULL;
}
