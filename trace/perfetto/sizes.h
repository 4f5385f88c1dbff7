/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the packets of writer.h take at most, before they are written. Texts that the writer puts
 * into the tables of a sequence (names, categories, names of args) are not in the sizes of events:
 * each of them takes ifp_perfetto_text_bytes() once for each sequence.
 *
 * Sizes hold for up to 2^28 texts of a table and as many sequences, far beyond what is in memory.
 */
#pragma once

#include "core/str.h"
#include "trace/perfetto/writer.h"

#include <stdint.h>

/* What the file begins with; what each sequence begins with. */
#define IFP_PERFETTO_HEAD_BYTES 128u
#define IFP_PERFETTO_SEQUENCE_BYTES 96u

/* Only the length of the name is looked at. */
uint64_t ifp_perfetto_track_bytes(const struct ifp_perfetto_track *track);

/*
 * type, track, at_ns and args_bytes count. In a sequence whose times rise; the first event of which
 * the time is not negative may take IFP_PERFETTO_TIME_BYTES more.
 */
#define IFP_PERFETTO_TIME_BYTES 10u
uint64_t ifp_perfetto_event_bytes(const struct ifp_perfetto_event *event);

/* More for each of an event's flows. */
#define IFP_PERFETTO_FLOW_BYTES 12u

uint64_t ifp_perfetto_counter_bytes(uint64_t track, int64_t at_ns);

/* In any order of time. */
uint64_t ifp_perfetto_arrow_end_bytes(const struct ifp_perfetto_arrow_end *end);

uint64_t ifp_perfetto_text_bytes(uint64_t text_bytes);

/*
 * What ifp_perfetto_args() makes of a JSON object. key is told the name of each member, also of
 * those further inside.
 */
uint64_t ifp_perfetto_args_bytes(
	struct ifp_str args, void (*key)(void *context, struct ifp_str name), void *context);
