/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: all ranks record the same steps. One window after the other, each in up to three
 * attempts:
 *
 *   WAITING ── ranks can record ──► VOTING ── all accept ──► RECORDING ── all done ──► next window
 *                                     │ somebody refuses          │ somebody has other steps
 *                                     └────── next attempt ◄──────┘
 *
 * Why voting: Kineto records the asked iterations only when the request reaches it before they
 * begin; a rank that is asked too late silently records others. Why three counted steps: in the
 * first one, requests are answered with whatever runs.
 *
 * Pure: driven by messages and the time, no sockets, no clock is read.
 */
#pragma once

#include "collector/receive/outlet.h"
#include "collector/receive/pace.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#define IFP_WINDOWS_ATTEMPTS 3u
/* From the plan to the first step: vote, GO, Kineto's next question (once a second), slack. */
#define IFP_WINDOWS_AHEAD_NS (4 * IFP_NS_PER_S)
/* Kineto needs the first iteration to lie 3 ahead of the counter when it asks; slow steps go on. */
#define IFP_WINDOWS_AHEAD_STEPS 5u
#define IFP_WINDOWS_VOTE_NS (2 * IFP_NS_PER_S)
/*
 * From the end of the window until a rank that gives no result counts as lost: a busy Kineto may
 * write for minutes, and an agent gives a silent one up after two.
 */
#define IFP_WINDOWS_RESULT_NS (300 * IFP_NS_PER_S)
#define IFP_WINDOWS_DEFAULT_DURATION_MS 2000

/* The collector's clocks at one moment. */
struct ifp_moment {
	int64_t raw_ns;
	int64_t realtime_ns;
};

struct ifp_windows;

/* The outlet is borrowed. */
int ifp_windows_new(const struct ifp_outlet *outlet, uint32_t world, struct ifp_windows **out);
void ifp_windows_free(struct ifp_windows **windows);

/*
 * What the user wants: windows, warmup, duration_ms (cut at a day) of the HELLO of rank 0. Only the
 * first call counts. -EINVAL for more than 1000 windows, -ENOMEM; there are none then.
 */
int ifp_windows_wish(struct ifp_windows *windows, const cJSON *hello);

/* The first count windows have been made in an earlier life of the collector. */
void ifp_windows_skip(struct ifp_windows *windows, uint32_t count);

/* Messages of a rank below world. What does not fit the present attempt is ignored. */
void ifp_windows_heartbeat(struct ifp_windows *windows, uint32_t rank,
	const struct ifp_heartbeat *heartbeat, int64_t now_ns);
void ifp_windows_ack(struct ifp_windows *windows, uint32_t rank, const cJSON *document);
void ifp_windows_done(struct ifp_windows *windows, uint32_t rank, const cJSON *document);

/* Whether a window is planned or being recorded. */
bool ifp_windows_open(const struct ifp_windows *windows);

/* The rank has ended or is lost. */
void ifp_windows_gone(struct ifp_windows *windows, uint32_t rank);

/* Goes on as far as it can. To be called after messages and a few times a second. */
void ifp_windows_tick(struct ifp_windows *windows, struct ifp_moment now);

/* The run is over: writes the rows on windows that were not made. */
void ifp_windows_close(struct ifp_windows *windows);
