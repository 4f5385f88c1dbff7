/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/clocks_internal.h"

#include "collector/receive/edge_document.h"
#include "trace/wire/document.h"

#include <inttypes.h>

/* The start life needs no word: agents begin it at the roll call. */
void ifp_clock_lives_begin(struct ifp_clocks *clocks, int64_t now_ns)
{
	IFP_CLEANUP_DOCUMENT cJSON *ask = cJSON_CreateObject();

	cJSON_AddNumberToObject(ask, "epoch", clocks->epoch);
	cJSON_AddNumberToObject(ask, "server", -1);
	for (uint32_t i = 0; i < clocks->world; i++) {
		struct clock_rank *r = &clocks->ranks[i];

		r->life_asked = r->there;
		r->life_done = false;
		if (clocks->epoch && r->there)
			ifp_outlet_send(clocks->outlet, i, IFP_MSG_CLOCK_ASK, ask);
	}
	clocks->phase = CLOCKS_MPI;
	clocks->began_ns = now_ns;
	clocks->measured = 0;
	clocks->surprise = -1;
	clocks->deadline_ns = now_ns + IFP_CLOCKS_MPI_NS;
}

static void fall_back(struct ifp_clocks *clocks, int64_t now_ns, const char *why)
{
	ifp_outlet_ledger(clocks->outlet, IFP_FRAME_NO_RANK, "clock-fallback", 1,
		"epoch %" PRIu32 ": clocks are exchanged over ZeroMQ instead of MPI: %s",
		clocks->number, why);
	if (clocks->clock_count > 1)
		ifp_clock_pairs_begin(clocks, now_ns);
	else
		ifp_clocks_made(clocks, now_ns);
}

void ifp_clock_lives_done(
	struct ifp_clocks *clocks, uint32_t rank, bool measured, const cJSON *document)
{
	const cJSON *array = cJSON_GetObjectItemCaseSensitive(document, "edges");
	struct clock_rank *r = &clocks->ranks[rank];
	const cJSON *item;

	if (clocks->phase != CLOCKS_MPI || r->life_done)
		return;
	r->life_done = true;
	if (!measured) {
		r->start_life_failed = true;
		return;
	}
	cJSON_ArrayForEach(item, array)
	{
		struct ifp_clock_edge edge = {.client = rank, .over_mpi = 1};

		if (ifp_document_get_rank(item, "server", clocks->world, &edge.server) &&
			ifp_edge_document_read(item, &edge)) {
			ifp_clocks_store(clocks, &edge);
		}
	}
}

bool ifp_clock_lives_again(const struct ifp_clocks *clocks)
{
	for (uint32_t i = 0; i < clocks->world; i++) {
		const struct clock_rank *r = &clocks->ranks[i];

		if (!r->there || !r->ended || r->start_life_failed)
			return false;
	}
	return clocks->plan == IFP_CLOCKS_MPI;
}

void ifp_clock_lives_tick(struct ifp_clocks *clocks, int64_t now_ns)
{
	bool failed = false, waiting = false;

	for (uint32_t i = 0; i < clocks->world; i++) {
		struct clock_rank *r = &clocks->ranks[i];

		if (r->life_asked && !r->life_done && now_ns >= clocks->deadline_ns)
			r->start_life_failed = true; /* whatever it does later: no end life */
		waiting |= r->life_asked && !r->life_done && r->there;
		failed |= r->start_life_failed || !r->there;
	}
	if (waiting && now_ns < clocks->deadline_ns)
		return;
	if (failed)
		fall_back(clocks, now_ns, "a life of the helper did not end well");
	else
		ifp_clocks_made(clocks, now_ns);
}
