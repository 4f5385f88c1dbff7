/* SPDX-License-Identifier: Apache-2.0 */
/* Making the segment of core/segment.h. Part of agent/capture/marks.c. */
#pragma once

#include "core/segment.h"

struct ifp_mark_segment {
	int fd; /* of the memfd; -1 = none */
	struct ifp_segment_header *header;
};

/* Makes the memfd, fills in the control page, seals the size. *out is untouched on failure. */
int ifp_mark_segment_make(struct ifp_mark_segment *out);
void ifp_mark_segment_free(struct ifp_mark_segment *segment);
