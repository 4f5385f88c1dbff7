/* SPDX-License-Identifier: Apache-2.0 */
/* What an event is about, by its category, name and source: the picture shows some before others.
 */
#pragma once

#include "collector/timeline/categories.h"
#include "core/intern.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ifp_subject {
	IFP_SUBJECT_STEP,
	IFP_SUBJECT_COLLECTIVE, /* on the host or a device */
	IFP_SUBJECT_MARK,	/* of the program's own: mark.h, NVTX, annotations */
	IFP_SUBJECT_COPY,	/* copies and fills of a device */
	IFP_SUBJECT_KERNEL,
	IFP_SUBJECT_OPERATOR, /* also everything of a category that is not known */
	IFP_SUBJECT_LAUNCH,
	IFP_SUBJECT_FRAME, /* a function of Python */
	IFP_SUBJECT_OTHER, /* what profilers write about themselves, memory */
};

bool ifp_subject_is_collective(struct ifp_str name);

/* The categories that a rank's events have, numbered, with what is known of each. */
struct ifp_rank_category {
	struct ifp_str text; /* as recorded */
	enum ifp_subject subject;
};

struct ifp_rank_categories {
	struct ifp_intern texts;
	struct ifp_rank_category *items;
	uint32_t count;
	size_t capacity;
	struct ifp_str last; /* the one asked for last */
	uint32_t last_id;
};

int ifp_rank_categories_find(
	struct ifp_rank_categories *categories, struct ifp_str text, uint32_t *id);
void ifp_rank_categories_free(struct ifp_rank_categories *categories);

/* category: the event's. */
enum ifp_subject ifp_subject_of(
	const struct ifp_event *event, const struct ifp_rank_category *category);
