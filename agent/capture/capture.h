/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all sources of events in the agent have in common. A source is one file of this folder: it
 * prepares the program's environment, is looked at by the agent's loop, and hands each event to a
 * sink. All of it runs on the agent's one thread.
 */
#pragma once

#include "trace/event.h"

/*
 * Takes one event (copies what it keeps). 0, or negative errno when it could not be kept; sources
 * go on with the next event then: the sink has counted the loss.
 */
struct ifp_sink {
	int (*take)(void *context, const struct ifp_event *event);
	void *context;
};

static inline int ifp_sink_take(const struct ifp_sink *sink, const struct ifp_event *event)
{
	return sink->take(sink->context, event);
}
