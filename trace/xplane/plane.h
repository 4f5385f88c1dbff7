/* SPDX-License-Identifier: Apache-2.0 */
/* A plane while it is written: between plane.c, which codes it, and writer.c, which puts the file
 * together. */
#pragma once

#include "core/intern.h"
#include "trace/protobuf/encode.h"
#include "trace/xplane/spool.h"
#include "trace/xplane/writer.h"

/* Shared by the planes of one file. */
struct ifp_xplane_total {
	uint64_t limit_bytes;
	uint64_t bytes; /* at most so many will be written, as it stands */
	int err;	/* the first failure */
};

struct ifp_xplane_plane {
	struct ifp_xplane_total *total;
	char *name;
	int64_t id;
	struct ifp_spool lines;
	struct ifp_intern events[IFP_XPLANE_STYLES]; /* names, by style */
	struct ifp_intern texts;		     /* names of stats, and values of theirs */
	struct ifp_buf stats;			     /* of the plane itself */
	bool in_line, in_event;
	uint64_t line_at; /* where the content of the open line begins, in lines */
	size_t event_at;  /* where the open event begins, in the chunk of lines */
	struct ifp_protobuf_message event;
};

/* Fills the length of the open line in. */
void ifp_xplane_plane_end_line(struct ifp_xplane_plane *plane);

/* Appends what stands behind the lines: names, texts, stats. */
int ifp_xplane_plane_tables(const struct ifp_xplane_plane *plane, struct ifp_buf *out);

void ifp_xplane_plane_free(struct ifp_xplane_plane *plane);
