/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job from its first HELLO to its verdict (docs/protocol.md). Owns the archive while the job
 * runs; belongs to one thread.
 */
#pragma once

#include "collector/receive/server.h"
#include "core/time.h"

#include "core/timeline_limits.h"

#include <cjson/cJSON.h>
#include <stdint.h>

/* Launchers do not wait for ever, and the archive is there: it can be drawn later. */
#define IFP_SESSION_DRAW_NS (300 * IFP_NS_PER_S)

/*
 * Makes all outputs of the archive in the directory, and the VERDICT document from them (text,
 * lines, files, command; docs/protocol.md). 0 or negative errno. Runs in a process of its own.
 */
typedef int ifp_session_draw(const char *archive, const char *output,
	const struct ifp_timeline_limits *limits, cJSON *verdict);

struct ifp_session_config {
	const char *output;	/* an existing directory; the archive is run.ifp in it */
	const char *job;	/* NULL = named by the first HELLO */
	uint32_t world;		/* 0 = said by the first HELLO */
	const char *server_key; /* public, for clock exchanges; NULL = no encryption */
	int64_t idle_ns;	/* without a HELLO for so long: the end */
	ifp_session_draw *draw;
	struct ifp_timeline_limits limits; /* for draw */
	int64_t draw_ns;		   /* that it may take; then it is killed */
	int stop_fd; /* readable = finish what is stored, draw, end; -1 = none */
};

struct ifp_session;

/* Opens the archive, and goes on with the run that is in it, if any. config is borrowed. */
int ifp_session_new(const struct ifp_session_config *config, struct ifp_server *server,
	struct ifp_session **out);
void ifp_session_free(struct ifp_session **session);

/*
 * Serves the job to its end, closes the archive, draws the outputs, tells rank 0 the verdict.
 * 0; -ETIMEDOUT when nobody came; errors of closing the archive and of drawing.
 */
int ifp_session_run(struct ifp_session *session);
