/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and args as a budgeted picture shows them: short. What is cut ends with an ellipsis; args
 * stay JSON.
 */
#pragma once

#include "core/buf.h"
#include "trace/event.h"

#define IFP_BRIEF_NAME_BYTES 96
#define IFP_BRIEF_VALUE_BYTES 64
#define IFP_BRIEF_ARGS_BYTES 320
#define IFP_BRIEF_DURATION_BYTES 12

/*
 * The inside of a JSON string, at most max_bytes of it: text itself, or cut in scratch (which is
 * emptied), never within a character or an escape.
 */
struct ifp_str ifp_brief_text(struct ifp_str text, uint32_t max_bytes, struct ifp_buf *scratch);

/*
 * Args without ids and what only analyses read, long values cut; those of the program's own marks
 * whole as long as they fit into IFP_BRIEF_ARGS_BYTES. In scratch, which is emptied; empty when
 * nothing is left.
 */
struct ifp_str ifp_brief_args(
	enum ifp_event_source source, struct ifp_str args, struct ifp_buf *scratch);

/* What such args do not have. */
bool ifp_brief_leaves_out(struct ifp_str key);
/* Appends a value as it stands in them. */
void ifp_brief_value(struct ifp_buf *out, struct ifp_str value);

/* "217 ns", "1.2 ms", at most IFP_BRIEF_DURATION_BYTES. */
void ifp_brief_duration(struct ifp_buf *out, int64_t ns);
