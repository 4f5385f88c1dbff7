/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rank's rows of the ledger: what did not reach the user, and why (docs/format-archive.md).
 */
#pragma once

#include "agent/capture/marks.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_ledger_facts {
	struct ifp_marks_counters marks;
	uint64_t events_lost; /* no place in memory and spool, or no block could be made */
	uint64_t suspensions; /* of the machine */
	bool collector_lost;  /* was gone for a time, or still is */
	bool windows_wanted;
	uint64_t events_cut;	   /* recorded behind a window's last step */
	uint64_t events_set_aside; /* elements of Kineto's files that are no events */
	uint64_t events_repaired;  /* elements of them that were repaired on reading */
	uint64_t slices_negative;  /* that end before they begin */
	uint64_t windows_tried;	   /* handed to Kineto, whatever came of them */
	uint32_t hook;		   /* enum ifp_hook_bits */
	uint64_t steps;
	bool python;	       /* the program looks like a Python interpreter */
	const char *not_found; /* a part of the installation that the program needed; NULL = none */
	bool polled;	       /* Kineto has asked at least once */
};

/* {"rows":[...]}; to be freed with cJSON_free(). NULL when there is no row, or no memory. */
char *ifp_ledger_document(const struct ifp_ledger_facts *facts);
