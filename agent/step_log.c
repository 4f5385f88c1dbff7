/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/step_log.h"

/* By this much a converted mark may seem to be later than the range it was made in. */
#define TOLERANCE_NS (100 * IFP_NS_PER_US)

static int note(void *context, const struct ifp_event *event)
{
	struct ifp_step_log *log = context;

	if (event->source == IFP_SOURCE_STEP)
		log->entries[log->count++ % IFP_STEP_LOG_STEPS] = (struct ifp_step_log_entry){
			.number = event->correlation,
			.stamp = event->start,
			.clock = event->clock,
		};
	return ifp_sink_take(&log->next, event);
}

struct ifp_sink ifp_step_log_sink(struct ifp_step_log *log)
{
	return (struct ifp_sink){.take = note, .context = log};
}

static int64_t moment_of(
	const struct ifp_step_log *log, const struct ifp_rank_clocks *clocks, uint64_t i)
{
	const struct ifp_step_log_entry *entry = &log->entries[i % IFP_STEP_LOG_STEPS];

	return ifp_rank_clocks_realtime_ns(clocks, entry->clock, entry->stamp);
}

/* The number of the step whose range ends at end_ns; 0 = none. */
static uint64_t step_of(
	const struct ifp_step_log *log, const struct ifp_rank_clocks *clocks, int64_t end_ns)
{
	uint64_t oldest = log->count > IFP_STEP_LOG_STEPS ? log->count - IFP_STEP_LOG_STEPS : 0;
	uint64_t low = oldest, high = log->count; /* marks before low are not later than the end */
	int64_t mark_ns;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (moment_of(log, clocks, middle) <= end_ns + TOLERANCE_NS)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == oldest)
		return 0;
	mark_ns = moment_of(log, clocks, low - 1);
	/* nearer to the next step's mark: this range has made no mark */
	if (low < log->count && end_ns - mark_ns > moment_of(log, clocks, low) - end_ns)
		return 0;
	return log->entries[(low - 1) % IFP_STEP_LOG_STEPS].number;
}

void ifp_step_log_match(const struct ifp_step_log *log, const struct ifp_rank_clocks *clocks,
	const int64_t *end_realtime_ns, uint64_t count, uint64_t steps[2])
{
	steps[0] = steps[1] = 0;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t step = step_of(log, clocks, end_realtime_ns[i]);

		if (!step)
			continue;
		if (!steps[0] || step < steps[0])
			steps[0] = step;
		if (step > steps[1])
			steps[1] = step;
	}
}

/* From the newest on: a second process of the rank counts from 1 again. */
bool ifp_step_log_find(const struct ifp_step_log *log, const struct ifp_rank_clocks *clocks,
	uint64_t step, int64_t *realtime_ns)
{
	uint64_t oldest = log->count > IFP_STEP_LOG_STEPS ? log->count - IFP_STEP_LOG_STEPS : 0;

	for (uint64_t i = log->count; i-- > oldest;) {
		if (log->entries[i % IFP_STEP_LOG_STEPS].number == step) {
			*realtime_ns = moment_of(log, clocks, i);
			return true;
		}
	}
	return false;
}
