/* SPDX-License-Identifier: Apache-2.0 */
/* What gpus.c has taken out of a rank's events for gpus_settle.c. */
#pragma once

#include "collector/store/gpus.h"

/* A call of the host. */
struct ifp_gpu_call {
	uint64_t correlation;
	int64_t start, end;
	bool waits; /* returns when what it has launched, or waits for, has ended */
};

struct ifp_gpu_calls {
	struct ifp_gpu_call *items;
	uint32_t count;
	size_t capacity;
};

/* What the call of this correlation waited for. */
struct ifp_gpu_note {
	uint64_t correlation;
	int64_t device, stream;
	uint64_t record; /* only for what was launched before this call; 0 = before the wait */
	bool whole_device;
};

struct ifp_gpu_work {
	uint64_t correlation; /* 0 = no work, but on a lane of the GPU */
	int64_t device, stream;
	int64_t start, end;
	bool awaited; /* by its own call, where that one waits */
};

struct ifp_gpu_finder {
	struct ifp_gpu_calls calls, waits, waits_all, records;
	struct ifp_gpu_note *notes;
	uint32_t note_count;
	size_t note_capacity;
	struct ifp_gpu_work *works;
	uint32_t work_count;
	size_t work_capacity;
};
