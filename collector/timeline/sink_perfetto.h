/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture as one file in Perfetto's own form, for ui.perfetto.dev and trace_processor: a
 * process for each rank, a track for each lane and for each series of a counter. Everything that an
 * event has is in it, as far as the budget goes, with times to the nanosecond.
 *
 * A rank is kept, coded, until it is whole: an arrow is a part of the two slices that it joins, and
 * arrows come behind the slices.
 */
#pragma once

#include "collector/timeline/sink.h"

/* The file is packed when the name ends in .gz. The budget counts bytes before that. */
int ifp_sink_perfetto_open(const struct ifp_run *run, const char *path,
	const struct ifp_budget *budget, struct ifp_sink **out);
