/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/edge_document.h"

#include "trace/wire/document.h"

bool ifp_edge_document_read(const cJSON *document, struct ifp_clock_edge *edge)
{
	uint64_t round_trips = ifp_document_get_count(document, "round_trips");
	bool whole = ifp_document_get_int(document, "low_ns", &edge->low_ns) &&
		     ifp_document_get_int(document, "high_ns", &edge->high_ns) &&
		     ifp_document_get_int(document, "best_t1_ns", &edge->best_t1_ns) &&
		     ifp_document_get_int(document, "best_t2_ns", &edge->best_t2_ns) &&
		     ifp_document_get_int(document, "best_t3_ns", &edge->best_t3_ns) &&
		     ifp_document_get_int(document, "best_t4_ns", &edge->best_t4_ns);

	edge->round_trips = (uint32_t)round_trips;
	return whole && round_trips > 0 && round_trips < UINT32_MAX &&
	       edge->low_ns <= edge->high_ns;
}

void ifp_edge_store(const struct ifp_outlet *outlet, struct ifp_clock_edge *edge)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_clock_samples samples = {.edges = edge, .edge_count = 1};

	ifp_clock_samples_encode(&samples, &payload);
	if (!payload.failed)
		outlet->store(outlet->context, IFP_FRAME_CLOCK, edge->client, payload.data,
			payload.len_bytes);
}
