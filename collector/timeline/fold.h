/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fold: one slice that stands for many events. Says how many there are, of which categories, how
 * long each category was busy, and which names took longest.
 *
 *	"217 events, mostly aten::mm"
 *	{"events":217,"collectives":2,
 *	 "by category":{"cpu_op":{"events":200,"busy_us":12.345},...},
 *	 "longest":["aten::mm 3x 1.2 ms",...]}
 *
 * A category is busy while at least one folded event of it is open; of crowded events that is
 * counted as if they had as many sub-lanes as they need. Times of names are sums, so that of a
 * function that calls itself counts what is inside twice.
 */
#pragma once

#include "collector/timeline/nodes.h"
#include "core/buf.h"
#include "core/intern.h"

#include <stdint.h>

#define IFP_FOLD_LONGEST 3     /* names that are told */
#define IFP_FOLD_NAME_BYTES 40 /* of each, at most */

/* What was counted of one category, or name, for the fold with that number. */
struct ifp_fold_count {
	uint64_t fold;
	uint64_t events;
	int64_t busy_ns;
	uint32_t open; /* categories: folded slices around the next one */
};

/* Counts one fold after the other of one rank. {0} is empty. */
struct ifp_fold {
	uint64_t number;
	const struct ifp_rank_categories *categories;
	int64_t start_ns, end_ns;
	uint64_t events, collectives;
	int64_t first_step, last_step; /* numbers, when there are steps in it */
	uint64_t steps;

	struct ifp_fold_count *by_category;
	size_t category_capacity;
	uint32_t *seen_categories;
	size_t seen_category_capacity;
	uint32_t seen_category_count;

	struct ifp_intern names;
	struct ifp_fold_count *by_name;
	size_t name_capacity;
	uint32_t *seen_names;
	size_t seen_name_capacity;
	uint32_t seen_name_count;

	struct ifp_buf name, args, scratch;
	int err; /* first lack of memory */
};

void ifp_fold_begin(struct ifp_fold *fold, const struct ifp_rank_categories *categories);

/* The number of a name. 0 or -ENOMEM. */
int ifp_fold_name(struct ifp_fold *fold, struct ifp_str name, uint32_t *number);

/* The next event, inside of those that are open. name: its number. */
void ifp_fold_open(struct ifp_fold *fold, const struct ifp_node *node,
	const struct ifp_slice *slice, uint32_t name);
/* What is inside of the slice has been taken. */
void ifp_fold_close(struct ifp_fold *fold, const struct ifp_node *node);

/* A crowded event, whatever is open. */
void ifp_fold_crowded(struct ifp_fold *fold, const struct ifp_node *node,
	const struct ifp_slice *slice, uint32_t name);

/* A step, on the lane of the steps. */
void ifp_fold_step(
	struct ifp_fold *fold, const struct ifp_slice *slice, const struct ifp_step *step);

/* Fill fold->name and fold->args. */
void ifp_fold_write(struct ifp_fold *fold);

/* What bounds the texts of a fold. */
struct ifp_fold_bounds {
	uint64_t events;
	int64_t extent_ns;
	int64_t busy_ns;	 /* of a category */
	uint32_t categories;	 /* how many different ones there may be */
	uint32_t category_bytes; /* all of their texts together, each cut at IFP_FOLD_NAME_BYTES */
	uint32_t name_bytes;	 /* of the longest name, cut there, too */
	bool of_steps;
};

/* The longest name and args of such a fold. */
uint64_t ifp_fold_most_name_bytes(const struct ifp_fold_bounds *bounds);
uint64_t ifp_fold_most_args_bytes(const struct ifp_fold_bounds *bounds);

void ifp_fold_free(struct ifp_fold *fold);
