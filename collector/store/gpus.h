/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a rank's events to the bias of its GPUs (clocksync/estimate/gpu_bias.h): which call launched
 * which work, and which one has certainly waited for it.
 *
 * A launch is the call that has the work's correlation. Waiting are cudaDeviceSynchronize, for all
 * that was launched before it, where the rank has one GPU; cudaStreamSynchronize and
 * cudaEventSynchronize, where a record of the GPU's side ("Stream Sync", "Event Sync") names the
 * stream; a blocking cudaMemcpy to or from pinned memory, or to pageable memory, for its own copy.
 * cudaMemcpyAsync is none: whether it waits is left to the driver.
 *
 * Used by one thread; the events' own texts are not kept.
 */
#pragma once

#include "clocksync/estimate/gpu_bias.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More devices of one rank are damage; times of further ones stay as they are. */
#define IFP_GPUS_MAX 64u

/* A GPU of a rank during one window of the recording, or one imported trace. */
struct ifp_gpu {
	int64_t device;
	uint32_t window; /* counted from 0 */
	uint64_t slices; /* on its lanes */
	struct ifp_gpu_bias bias;
};

/* What an event says of a GPU: the same for all events of a look. */
enum ifp_gpu_role {
	IFP_GPU_NOTHING,
	IFP_GPU_LAUNCH,	      /* a call that may launch */
	IFP_GPU_COPY,	      /* a blocking copy */
	IFP_GPU_WAIT_ALL,     /* for a device */
	IFP_GPU_WAIT,	      /* for a stream or an event */
	IFP_GPU_RECORD,	      /* of an event */
	IFP_GPU_NOTE,	      /* of the GPU's side: what a call waited for */
	IFP_GPU_WORK,	      /* kernel, copy, memset */
	IFP_GPU_WORK_AWAITED, /* a copy that a blocking call has waited for */
	IFP_GPU_ON_LANE,      /* what else is on a GPU's lanes */
};

enum ifp_gpu_role ifp_gpu_role_of(const struct ifp_event *look);

/* The roles whose times are those of a GPU. Flows and instants of its lanes are, too. */
bool ifp_gpu_is_timed_by(const struct ifp_event *look);

struct ifp_gpu_finder;

int ifp_gpu_finder_new(struct ifp_gpu_finder **out);
void ifp_gpu_finder_free(struct ifp_gpu_finder **finder);

/* Of the event start, dur and correlation are used; of notes args, too. 0 or -ENOMEM. */
int ifp_gpu_finder_add(
	struct ifp_gpu_finder *finder, enum ifp_gpu_role role, const struct ifp_event *event);

/* The calls that may launch, in the order in which they were added; start_ns of their own clock. */
void ifp_gpu_finder_each_launch(const struct ifp_gpu_finder *finder,
	void (*take)(void *taker, uint64_t correlation, int64_t start_ns), void *taker);

/*
 * The GPUs by device and window; windows are separated by cuts, ns of the events' clock in rising
 * order. A list of device x window without a gap: free with free(). 0 or -ENOMEM.
 */
int ifp_gpu_finder_settle(struct ifp_gpu_finder *finder, const int64_t *cuts, uint32_t cut_count,
	struct ifp_gpu **gpus, uint32_t *count);

/* The window that a time is in. */
uint32_t ifp_gpu_window(const int64_t *cuts, uint32_t cut_count, int64_t at_ns);
