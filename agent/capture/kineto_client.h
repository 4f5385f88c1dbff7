/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kineto in the program, as the agent knows it from its requests, and what the segment tells the
 * program's process of the window that Kineto has been handed: a process that ends while Kineto
 * records or writes is killed by its own destructors, so it has to know when it may go.
 * Belongs to the agent's thread.
 */
#pragma once

#include "agent/capture/kineto.h"
#include "core/segment.h"

/* Kineto asks each second: silence of this length means that it is not armed, or has gone. */
#define IFP_KINETO_SILENCE_NS (INT64_C(5) * IFP_NS_PER_S)

struct ifp_kineto_client {
	struct ifp_segment_header *segment; /* borrowed; NULL: no process is told */
	int32_t pid; /* the first that asked and has not fallen silent since; 0 = nobody yet */
	int64_t asked_ns;
};

/* Whether this request is the client's. Other processes of the program get empty answers. */
bool ifp_kineto_client_asks(struct ifp_kineto_client *client, int32_t pid, int64_t now_ns);

bool ifp_kineto_client_polling(const struct ifp_kineto_client *client, int64_t now_ns);

/* Whether the client's process has said that it ends. */
bool ifp_kineto_client_leaving(const struct ifp_kineto_client *client);

/*
 * To be called before a window is handed over: from now on the process waits when it ends. False
 * when it is ending already: it must not get the window.
 */
bool ifp_kineto_client_hold(struct ifp_kineto_client *client, const struct ifp_window *window);

/* Kineto has nothing to do any more: the process may end at any time. */
void ifp_kineto_client_release(struct ifp_kineto_client *client);
