/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one window from the moment the agent is told to record it to its end: when it may
 * be handed to Kineto, when it is too late for that, and when to give it up. Pure: time, the step
 * counter and the state of the file come in as arguments.
 */
#pragma once

#include "agent/capture/kineto.h"
#include "agent/capture/kineto_client.h"
#include "core/buf.h"

/*
 * Kineto says in each request whether it is busy; until it is idle again its file may come. Idle
 * for so long without a finished file, it has none.
 */
#define IFP_KINETO_IDLE_NS (INT64_C(3) * IFP_NS_PER_S)
/* Not busy so long after the window's end, it has not recorded the window at all. */
#define IFP_KINETO_BEGIN_NS (INT64_C(2) * IFP_NS_PER_S)
/* Neither a request nor a byte for so long: nothing will come. */
#define IFP_KINETO_GONE_NS (INT64_C(120) * IFP_NS_PER_S)
/* Before the window's last step: how long the program may go without one (validation). */
#define IFP_KINETO_STALL_NS (INT64_C(600) * IFP_NS_PER_S)
/* Kineto counts wrongly when asked at the program's first steps. */
#define IFP_KINETO_MIN_STEPS 3
/* PROFILE_START_ITERATION=N records from the hook's step N + 2 on (torch 2.11 and 2.13). */
#define IFP_KINETO_FIRST_STEP_OFFSET 2
/* How many steps N must lie ahead when Kineto is told; it applies a window between two steps. */
#define IFP_KINETO_LEAD_STEPS 1
/*
 * A time window's warm-up lies before its start, and Kineto looks only once a second whether to
 * begin it: a window that it gets later than this before the start is not recorded.
 */
#define IFP_KINETO_WARMUP_MS 1000
#define IFP_KINETO_LEAD_MS (IFP_KINETO_WARMUP_MS + 1250)

enum ifp_window_state {
	IFP_WINDOW_NONE = 0,
	IFP_WINDOW_OFFERED, /* waits for Kineto's next request */
	IFP_WINDOW_TAKEN,   /* handed over; its file is awaited */
	IFP_WINDOW_WRITTEN, /* the file is complete */
	IFP_WINDOW_CLOSED,  /* outcome and reason say how */
};

/* One look at the world. */
struct ifp_window_moment {
	int64_t raw_ns;
	int64_t realtime_ms;
	uint64_t steps; /* optimizer steps completed so far */
	bool leaving;	/* the program is about to end, and will end the window's steps */
};

struct ifp_window_track {
	enum ifp_window_state state;
	struct ifp_window window;
	enum ifp_window_outcome outcome; /* when CLOSED */
	char reason[200];		 /* when CLOSED; may be empty when RECORDED */
	int64_t asked_ns;		 /* Kineto's last request, or the offer */
	int64_t progress_ns;		 /* the last time that a step completed or the file grew */
	bool over;			 /* its last step (its end) has been seen to pass */
	bool cut;			 /* the program began to end before that */
	int64_t end_ns;			 /* when Kineto was to end it; 0 = not yet */
	bool was_busy;			 /* Kineto has been seen busy since it was handed over */
	int64_t idle_ns;		 /* when it was seen idle after that; 0 = not yet */
	uint64_t steps_seen;
	int64_t file_bytes_seen; /* -1 = no file yet */
};

/* -EBUSY while a window is under way; -EINVAL for one that no program can record. */
int ifp_window_offer(struct ifp_window_track *track, const struct ifp_window *window,
	struct ifp_window_moment now);

/*
 * Kineto asks; ready = its profiler is free. True: the answer must carry the window, which is TAKEN
 * from then on. False: an empty answer; a start that has come too near closes the window as LATE.
 * While the window is TAKEN, the requests say when Kineto is done with it.
 */
bool ifp_window_ask(struct ifp_window_track *track, bool ready, struct ifp_window_moment now);

/* What is in the directory for this window: bytes of the growing file (-1 = none), or complete. */
void ifp_window_look(struct ifp_window_track *track, int64_t file_bytes, bool complete,
	struct ifp_window_moment now);

/* Ends the window, from any state but NONE. reason: a clause; NULL when all was RECORDED. */
void ifp_window_close(
	struct ifp_window_track *track, enum ifp_window_outcome outcome, const char *reason);

/* Appends Kineto's configuration for the window; its file will be log_path with the pid added. */
void ifp_window_config(const struct ifp_window *window, const char *log_path, struct ifp_buf *out);
