/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the clocks of a run (infprof clock): a table for people, JSON for programs, and
 * a page with plots. All of them keep two numbers apart: the bound, which is certified under the
 * drift assumption that stands beside it, and sigma, an estimate of the error.
 */
#pragma once

#include "collector/store/run.h"
#include "core/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Where the table goes: what is not aligned is red where there are colours. */
enum ifp_clocks_medium {
	IFP_CLOCKS_PLAIN,
	IFP_CLOCKS_TERMINAL,
	IFP_CLOCKS_PAGE, /* within <pre> of HTML */
};

/*
 * Append the whole; a lack of memory shows in the buffer's status. With epochs there is a line for
 * each exchange of each clock below the table.
 */
void ifp_clocks_text(
	const struct ifp_run *run, enum ifp_clocks_medium medium, bool epochs, struct ifp_buf *out);
void ifp_clocks_json(const struct ifp_run *run, struct ifp_buf *out);
/* What both kinds of JSON say of a clock, members with a comma behind each. How it was placed:
 * "method", and "over" for one that was exchanged; only a method of null without a map. */
void ifp_clocks_json_method(const struct ifp_clock_map *map, struct ifp_buf *out);
/* What both kinds of JSON say of a clock: offset, rate, sigma, bound, each with a comma behind it;
 * null where the clock is not aligned. */
void ifp_clocks_json_members(const struct ifp_clock_summary *clock, struct ifp_buf *out);
/* One file of HTML that loads nothing. */
void ifp_clocks_page(const struct ifp_run *run, struct ifp_buf *out);

/* "reference", "shared", "ZeroMQ", "MPI", "collectives", "NOT ALIGNED", "no readings". */
const char *ifp_clocks_method(const struct ifp_run *run, uint32_t i);

/* "Clock of rank 2", "Clock of ranks 2, 3": who reads the clock that rank i leads. */
void ifp_clocks_readers(const struct ifp_run *run, uint32_t i, struct ifp_buf *out);

/* Largest distance of the certified range from the estimate; INT64_MAX without a range. */
int64_t ifp_clocks_bound(const struct ifp_clock_epoch *epoch);
