/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/ends.h"

#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int ifp_ends_init(struct ifp_ends *ends, const struct ifp_outlet *outlet, uint32_t world)
{
	*ends = (struct ifp_ends){.outlet = outlet, .world = world};
	ends->states = calloc(world, sizeof(*ends->states));
	return ends->states ? 0 : ifp_fail(-ENOMEM, "out of memory for %" PRIu32 " ranks", world);
}

void ifp_ends_free(struct ifp_ends *ends)
{
	free(ends->states);
	*ends = (struct ifp_ends){0};
}

static bool ended_well(const cJSON *end)
{
	const char *how = ifp_document_get_text(end, "how");
	int64_t status;

	return how && strcmp(how, "exited") == 0 && ifp_document_get_int(end, "status", &status) &&
	       status == 0;
}

void ifp_ends_restore(struct ifp_ends *ends, uint32_t rank, const cJSON *end)
{
	bool own = cJSON_HasObjectItem(end, "status"); /* the collector knows of none */

	ends->states[rank] = own ? IFP_END_SAID_BYE : IFP_END_LOST;
	ends->failure |= !ended_well(end);
}

/* Once a job: the first failure pulls the others along, their own ends are consequences. */
static void spread_failure(struct ifp_ends *ends, uint32_t culprit)
{
	ends->failure = true;
	if (ends->flushed)
		return;
	ends->flushed = true;
	for (uint32_t i = 0; i < ends->world; i++)
		if (i != culprit && ends->states[i] == IFP_END_RUNNING)
			ifp_outlet_send(ends->outlet, i, IFP_MSG_FLUSH, NULL);
}

static void write_failure_row(const struct ifp_ends *ends, uint32_t rank, const cJSON *end)
{
	const char *how = ifp_document_get_text(end, "how");
	const char *text = "the program exited with status";
	int64_t status = 0;

	ifp_document_get_int(end, "status", &status);
	if (how && strcmp(how, "signalled") == 0)
		text = "the program was ended by signal";
	else if (how && strcmp(how, "not-started") == 0)
		text = "the program could not be started; the agent exits with status";
	ifp_outlet_ledger(ends->outlet, rank, "rank-failed", 1, "%s %" PRId64, text, status);
}

void ifp_ends_failing(struct ifp_ends *ends, uint32_t rank, const cJSON *document)
{
	if (ends->states[rank] != IFP_END_RUNNING)
		return;
	ends->states[rank] = IFP_END_FAILING;
	write_failure_row(ends, rank, document);
	spread_failure(ends, rank);
}

void ifp_ends_bye(struct ifp_ends *ends, uint32_t rank, const cJSON *document)
{
	enum ifp_end_state before = ends->states[rank];

	if (before == IFP_END_CLOSED) {
		ifp_outlet_send(ends->outlet, rank, IFP_MSG_CLOSED, NULL);
		return;
	}
	if (before == IFP_END_SAID_BYE)
		return;
	/* A rank that was taken for lost and has come back corrects what was written for it. */
	ifp_outlet_document(ends->outlet, IFP_FRAME_END, rank, document);
	ends->states[rank] = IFP_END_SAID_BYE;
	if (ended_well(document))
		return;
	if (before == IFP_END_RUNNING)
		write_failure_row(ends, rank, document);
	spread_failure(ends, rank);
}

void ifp_ends_lost(struct ifp_ends *ends, uint32_t rank, const char *how, uint64_t steps,
	int64_t realtime_ns, const char *why)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();

	if (ifp_ends_has(ends, rank))
		return;
	cJSON_AddStringToObject(document, "how", how);
	ifp_document_add_int64(document, "ended_realtime_ns", realtime_ns);
	cJSON_AddNumberToObject(document, "steps", (double)steps);
	ifp_outlet_document(ends->outlet, IFP_FRAME_END, rank, document);
	ifp_outlet_ledger(ends->outlet, rank, "rank-lost", 1, "%s", why);
	ends->states[rank] = IFP_END_LOST;
	ends->failure = true;
}

void ifp_ends_returned(struct ifp_ends *ends, uint32_t rank)
{
	if (ends->states[rank] == IFP_END_LOST)
		ends->states[rank] = IFP_END_RUNNING;
}

void ifp_ends_release(struct ifp_ends *ends)
{
	for (uint32_t i = 0; i < ends->world; i++) {
		if (ends->states[i] != IFP_END_SAID_BYE)
			continue;
		ifp_outlet_send(ends->outlet, i, IFP_MSG_CLOSED, NULL);
		ends->states[i] = IFP_END_CLOSED;
	}
}

bool ifp_ends_all(const struct ifp_ends *ends)
{
	for (uint32_t i = 0; i < ends->world; i++)
		if (ends->states[i] < IFP_END_SAID_BYE)
			return false;
	return true;
}
