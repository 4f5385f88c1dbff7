/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectives of one trace that tell how its clock stood to those of other ranks: all-reduce,
 * all-gather, reduce-scatter and barrier, in which no rank ends before the last one has begun.
 * NCCL's kernels where there are any, else Gloo's ranges. Ranges "nccl:" of the host are none: they
 * end when the kernel is queued, long before it has run. Private to collector/import.
 */
#pragma once

#include "clocksync/estimate/gpu_bias.h"
#include "collector/store/gpus.h"
#include "core/buf.h"
#include "trace/archive/clock_samples.h"
#include "trace/archive/template.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stddef.h>

/* Kept of one trace; further ones are counted. */
#define IFP_IMPORT_COLLECTIVES_MAX 65536u

struct ifp_import_step_range {
	int64_t start_ns, number;
};

/* Which step an operation is of: the host queues work, and may be some steps ahead of the GPU. */
struct ifp_import_queued {
	uint64_t correlation; /* of a kernel; 0 = none */
	int64_t at_ns; /* of the host: when it was launched; until that is known, when it ended */
	bool launched;
};

struct ifp_import_collective_list {
	struct ifp_clock_collective *items;
	struct ifp_import_queued *queued; /* of each item */
	uint32_t count;
	size_t capacity, queued_capacity;
	uint64_t left_out;
};

/* {0} is empty. */
struct ifp_import_collectives {
	struct ifp_import_collective_list kernels, ranges;
	struct ifp_import_step_range *steps;
	uint32_t step_count;
	size_t step_capacity;
	struct ifp_buf args, key; /* of the one at hand */
};

/* Looks at a slice; args as ifp_chrome_reader_next_split() gives them. 0 or -ENOMEM. */
int ifp_import_collectives_add(struct ifp_import_collectives *collectives,
	const struct ifp_event *slice, const struct ifp_args_split *args);

/*
 * Moves the kernels, when all are of one GPU, to where that GPU's events will be drawn: the clock
 * is aligned by them (collector/store/gpus.h).
 */
void ifp_import_collectives_correct(
	struct ifp_import_collectives *collectives, const struct ifp_gpu_bias *bias);

/* Takes the steps of kernels from their launches, before they are settled. 0 or -ENOMEM. */
int ifp_import_collectives_look_for_launches(
	struct ifp_import_collectives *collectives, const struct ifp_gpu_finder *gpus);

/* The args of an event as text, which lives as long as it and buf do. 0 or -ENOMEM. */
int ifp_import_args_text(struct ifp_buf *buf, const struct ifp_event *slice,
	const struct ifp_args_split *args, struct ifp_str *text);

/* Moves what is to be kept to samples, in order of time; the rest is freed. */
void ifp_import_collectives_settle(
	struct ifp_import_collectives *collectives, struct ifp_clock_samples *samples);

void ifp_import_collectives_free(struct ifp_import_collectives *collectives);
