/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The windows of PyTorch operators, as this rank sees them: answers the collector's plans, hands
 * a window to Kineto when all ranks have agreed, and reports what was really recorded.
 * Belongs to the agent's thread.
 */
#pragma once

#include "agent/capture/kineto.h"
#include "agent/rank_clocks.h"
#include "agent/step_log.h"
#include "agent/uplink/event_blocks.h"
#include "agent/uplink/uplink.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* All borrowed. */
struct ifp_rank_windows_config {
	struct ifp_kineto *kineto;
	struct ifp_uplink *uplink;
	struct ifp_event_blocks *blocks;
	const struct ifp_step_log *steps;
	const struct ifp_rank_clocks *clocks;
	struct ifp_sink sink;
};

struct ifp_rank_windows {
	struct ifp_rank_windows_config config;
	bool planned; /* accepted, and GO has not come yet */
	struct ifp_window plan;
	bool started; /* handed to Kineto, no result yet */
	bool program_ended;
	uint64_t left_out;  /* events that Kineto recorded behind a window's last step */
	uint64_t set_aside; /* elements of its files that are no events */
	uint64_t repaired;  /* elements that were repaired on reading */
	uint64_t negative;  /* slices that end before they begin */
	uint64_t attempted; /* windows handed to Kineto */
};

/* Copies config; windows must stay where it is. */
void ifp_rank_windows_setup(
	struct ifp_rank_windows *windows, const struct ifp_rank_windows_config *config);

/* WINDOW_PLAN: answers with WINDOW_ACK. */
void ifp_rank_windows_plan(
	struct ifp_rank_windows *windows, const cJSON *document, uint64_t steps_now);

/* WINDOW_GO for the plan that was accepted; for any other it is ignored. */
void ifp_rank_windows_go(struct ifp_rank_windows *windows, const cJSON *document);

/* To be called each turn. True when there is more to do at once. */
bool ifp_rank_windows_work(struct ifp_rank_windows *windows, uint64_t steps_now);

/* After the program has ended, until it gives false: reads what is complete, gives up the rest. */
bool ifp_rank_windows_finish(struct ifp_rank_windows *windows);
