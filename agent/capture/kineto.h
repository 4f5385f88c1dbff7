/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: Kineto, PyTorch's profiler. The agent plays the on-demand daemon for its own child: a
 * datagram socket in a directory of this rank alone, asked by Kineto once a second; a window is
 * handed over in an answer, Kineto writes a file, which is read into events and removed.
 * What was asked is checked against what was recorded. Belongs to the agent's thread.
 */
#pragma once

#include "agent/capture/capture.h"
#include "agent/launch/environment.h"

#include <stdbool.h>
#include <stdint.h>

enum ifp_window_kind {
	IFP_WINDOW_STEPS, /* optimizer steps first_step .. first_step + count - 1 */
	IFP_WINDOW_TIME,  /* duration_ms from start_realtime_ms on */
};

struct ifp_window {
	uint32_t number;
	uint32_t attempt;
	enum ifp_window_kind kind;
	uint64_t first_step, count;
	int64_t start_realtime_ms, duration_ms;
};

enum ifp_window_outcome {
	IFP_WINDOW_RECORDED,
	IFP_WINDOW_LATE,  /* Kineto asked too late: the start had passed */
	IFP_WINDOW_LOST,  /* Kineto took it and gave no file */
	IFP_WINDOW_EMPTY, /* a file without events, or none of the steps */
	IFP_WINDOW_ENDED, /* the program ended first: no step of it is complete */
};

struct ifp_window_result {
	struct ifp_window window;
	enum ifp_window_outcome outcome;
	uint64_t optimizer_steps; /* number of Optimizer.step ranges found */
	uint64_t events;          /* handed to the sink */
	uint64_t left_out;        /* recorded behind the window's last step */
	uint64_t set_aside;       /* elements of Kineto's file that are no events */
	uint64_t repaired;        /* elements of it that were repaired on reading */
	uint64_t negative;        /* slices that end before they begin */
	bool cut;		  /* the program ended inside it */
	int64_t start_realtime_ns, end_realtime_ns; /* extent of the events */
	/* ends of the Optimizer.step ranges, REALTIME: the caller matches them with step marks */
	const int64_t *step_end_realtime_ns; /* optimizer_steps of them, in order; borrowed */
	char reason[200]; /* a clause for people when not RECORDED, or cut; empty otherwise */
};

struct ifp_kineto;
struct ifp_segment_header;

/* Makes the directory (mode 0700, short path), binds the socket, removes what dead agents left. */
int ifp_kineto_new(struct ifp_kineto **out);
/* Removes the directory and everything in it. */
void ifp_kineto_free(struct ifp_kineto **kineto);

/*
 * KINETO_IPC_SOCKET_DIR, KINETO_CONFIG, KINETO_LOG_LEVEL where unset, the start-up hook's place in
 * front of PYTHONPATH. Never KINETO_USE_DAEMON: it makes "import torch" initialise CUDA.
 */
int ifp_kineto_environment(struct ifp_kineto *kineto, struct ifp_environment *environment,
	const char *python_path);

/*
 * When the program's steps completed, as the caller knows from its marks. Kineto begins a window
 * exactly between two steps but ends it in a thread of its own, on a busy machine some steps too
 * late: what began after the window's last step is left out. Without this nothing is left out.
 */
struct ifp_step_lookup {
	/* REALTIME at which this step completed; false when that is not known. */
	bool (*find)(void *context, uint64_t step, int64_t *realtime_ns);
	void *context;
};

void ifp_kineto_set_step_lookup(struct ifp_kineto *kineto, struct ifp_step_lookup lookup);

/* Where the program's processes are told of the window under way. Must outlive kineto. */
void ifp_kineto_set_segment(struct ifp_kineto *kineto, struct ifp_segment_header *segment);

/* The socket to wait on for reading, and what to do when it is readable: answers every request. */
int ifp_kineto_fd(const struct ifp_kineto *kineto);
void ifp_kineto_readable(struct ifp_kineto *kineto, uint64_t steps_now);

/* Whether Kineto in the program has asked within the last 5 s: it is armed and polling. */
bool ifp_kineto_polling(const struct ifp_kineto *kineto);

/* Hands the window over in the answer to the next request. -EBUSY while one is under way. */
int ifp_kineto_start(struct ifp_kineto *kineto, const struct ifp_window *window);

/*
 * To be called a few times a second, and more often while it returns 1: looks for the window's
 * file, then reads it in pieces of some thousand events, so that the loop stays responsive.
 * Returns 1 when there is more to do at once, 0 when not. A result that is ready is given once:
 * *done is set, *result filled (valid until the next call).
 */
int ifp_kineto_work(struct ifp_kineto *kineto, const struct ifp_sink *sink, uint64_t steps_now,
	bool *done, struct ifp_window_result *result);

/*
 * The program has ended: a window's file that is complete is read to its end, a window that is
 * not ends as ENDED or LOST. As ifp_kineto_work() otherwise.
 */
int ifp_kineto_finish(struct ifp_kineto *kineto, const struct ifp_sink *sink, bool *done,
	struct ifp_window_result *result);
