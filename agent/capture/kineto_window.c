/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/kineto_window.h"

#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static uint64_t last_step(const struct ifp_window *window)
{
	return window->first_step + window->count - 1;
}

static bool is_possible(const struct ifp_window *window)
{
	if (window->kind == IFP_WINDOW_TIME)
		return window->duration_ms > 0;
	return window->count > 0 && window->first_step > IFP_KINETO_FIRST_STEP_OFFSET &&
	       window->first_step <= INT32_MAX && window->count <= INT32_MAX;
}

int ifp_window_offer(struct ifp_window_track *track, const struct ifp_window *window,
	struct ifp_window_moment now)
{
	if (track->state != IFP_WINDOW_NONE)
		return ifp_fail(-EBUSY, "window %u is still under way", track->window.number);
	if (!is_possible(window))
		return ifp_fail(-EINVAL,
			"window %u cannot be recorded: it is empty or begins too early",
			window->number);
	*track = (struct ifp_window_track){
		.state = IFP_WINDOW_OFFERED,
		.window = *window,
		.asked_ns = now.raw_ns,
		.progress_ns = now.raw_ns,
		.steps_seen = now.steps,
		.file_bytes_seen = -1,
	};
	return 0;
}

static bool is_late(const struct ifp_window *window, struct ifp_window_moment now)
{
	if (window->kind == IFP_WINDOW_TIME)
		return now.realtime_ms + IFP_KINETO_LEAD_MS > window->start_realtime_ms;
	return now.steps + IFP_KINETO_LEAD_STEPS + IFP_KINETO_FIRST_STEP_OFFSET >
	       window->first_step;
}

static void close_late(struct ifp_window_track *track, bool ready, struct ifp_window_moment now)
{
	const char *busy = ready ? "" : ", and was busy";
	char reason[sizeof(track->reason)];

	if (track->window.kind == IFP_WINDOW_TIME)
		snprintf(reason, sizeof(reason),
			"PyTorch's profiler asked %" PRId64
			" ms before the start, which leaves no time to warm up%s",
			track->window.start_realtime_ms - now.realtime_ms, busy);
	else
		snprintf(reason, sizeof(reason),
			"PyTorch's profiler asked after step %" PRIu64
			", too late for a window that begins with step %" PRIu64 "%s",
			now.steps, track->window.first_step, busy);
	ifp_window_close(track, IFP_WINDOW_LATE, reason);
}

/*
 * Until it begins, Kineto is as idle as when it is done: idleness counts once it has been busy, or
 * when the window's end has passed.
 */
static void ask_taken(struct ifp_window_track *track, bool ready, struct ifp_window_moment now)
{
	bool missed = track->end_ns && now.raw_ns - track->end_ns > IFP_KINETO_BEGIN_NS;

	track->asked_ns = now.raw_ns;
	if (!ready) {
		track->was_busy = true;
		track->idle_ns = 0;
	} else if (!track->idle_ns && (track->was_busy || missed)) {
		track->idle_ns = now.raw_ns;
	}
}

bool ifp_window_ask(struct ifp_window_track *track, bool ready, struct ifp_window_moment now)
{
	if (track->state == IFP_WINDOW_TAKEN)
		ask_taken(track, ready, now);
	if (track->state != IFP_WINDOW_OFFERED)
		return false;
	track->asked_ns = now.raw_ns;
	if (is_late(&track->window, now)) {
		close_late(track, ready, now);
		return false;
	}
	if (!ready)
		return false;
	if (track->window.kind == IFP_WINDOW_STEPS && now.steps < IFP_KINETO_MIN_STEPS)
		return false;
	track->state = IFP_WINDOW_TAKEN;
	track->progress_ns = now.raw_ns;
	return true;
}

static bool is_over(const struct ifp_window *window, struct ifp_window_moment now)
{
	if (window->kind == IFP_WINDOW_TIME)
		return now.realtime_ms >= window->start_realtime_ms + window->duration_ms;
	return now.steps >= last_step(window);
}

/* A time window that is still to come or running cannot stall. */
static void note_progress(struct ifp_window_track *track, struct ifp_window_moment now)
{
	bool waits = track->window.kind == IFP_WINDOW_TIME && !is_over(&track->window, now);

	if (waits || now.steps != track->steps_seen)
		track->progress_ns = now.raw_ns;
	track->steps_seen = now.steps;
}

static void look_offered(struct ifp_window_track *track, struct ifp_window_moment now)
{
	note_progress(track, now);
	if (now.raw_ns - track->asked_ns > IFP_KINETO_SILENCE_NS)
		ifp_window_close(track, IFP_WINDOW_LOST,
			"PyTorch's profiler does not ask for windows: it is not armed");
	else if (now.raw_ns - track->progress_ns > IFP_KINETO_STALL_NS)
		ifp_window_close(track, IFP_WINDOW_LOST,
			"the program has stopped stepping before the window");
}

/*
 * A program that ends lets Kineto count past a window that has begun, see _infprof_hook.py. One
 * that is still to come never begins, and a window of time ends when it would have.
 */
static bool ends_early(const struct ifp_window *window, struct ifp_window_moment now)
{
	return now.leaving && window->kind == IFP_WINDOW_STEPS &&
	       now.steps + IFP_KINETO_FIRST_STEP_OFFSET >= window->first_step;
}

static void note_end(struct ifp_window_track *track, struct ifp_window_moment now)
{
	track->over = is_over(&track->window, now);
	if (now.leaving && !track->over)
		track->cut = true;
	if (!track->end_ns && (track->over || ends_early(&track->window, now)))
		track->end_ns = now.raw_ns;
}

/* Why no file will come; NULL while one may. */
static const char *why_lost(const struct ifp_window_track *track, struct ifp_window_moment now)
{
	int64_t quiet_ns = now.raw_ns - track->progress_ns;
	bool idle = track->idle_ns && now.raw_ns - track->idle_ns > IFP_KINETO_IDLE_NS;

	if (idle && quiet_ns > IFP_KINETO_IDLE_NS)
		return track->file_bytes_seen < 0
			       ? "PyTorch's profiler took the window and wrote no file"
			       : "PyTorch's profiler began a file and did not finish it";
	if (now.raw_ns - track->asked_ns > IFP_KINETO_GONE_NS && quiet_ns > IFP_KINETO_GONE_NS)
		return "PyTorch's profiler took the window and has fallen silent";
	if (!track->end_ns && quiet_ns > IFP_KINETO_STALL_NS)
		return "the program has stopped stepping in the window";
	return NULL;
}

static void look_taken(
	struct ifp_window_track *track, int64_t file_bytes, struct ifp_window_moment now)
{
	const char *reason;

	/* Once the window is over, only the file counts: later steps are no sign of it. */
	if (!track->end_ns)
		note_progress(track, now);
	note_end(track, now);
	if (file_bytes != track->file_bytes_seen)
		track->progress_ns = now.raw_ns;
	track->file_bytes_seen = file_bytes;
	reason = why_lost(track, now);
	if (reason)
		ifp_window_close(track, IFP_WINDOW_LOST, reason);
}

void ifp_window_look(struct ifp_window_track *track, int64_t file_bytes, bool complete,
	struct ifp_window_moment now)
{
	if (track->state == IFP_WINDOW_OFFERED) {
		look_offered(track, now);
	} else if (track->state == IFP_WINDOW_TAKEN && complete) {
		note_end(track, now);
		track->state = IFP_WINDOW_WRITTEN;
	} else if (track->state == IFP_WINDOW_TAKEN) {
		look_taken(track, file_bytes, now);
	}
}

void ifp_window_close(
	struct ifp_window_track *track, enum ifp_window_outcome outcome, const char *reason)
{
	track->state = IFP_WINDOW_CLOSED;
	track->outcome = outcome;
	snprintf(track->reason, sizeof(track->reason), "%s", reason ? reason : "");
}

void ifp_window_config(const struct ifp_window *window, const char *log_path, struct ifp_buf *out)
{
	ifp_buf_printf(out, "ACTIVITIES_LOG_FILE=%s\n", log_path);
	ifp_buf_append_text(out, "PROFILE_REPORT_INPUT_SHAPES=true\n");
	if (window->kind == IFP_WINDOW_TIME) {
		ifp_buf_printf(out, "PROFILE_START_TIME=%" PRId64 "\n", window->start_realtime_ms);
		ifp_buf_printf(out, "ACTIVITIES_DURATION_MSECS=%" PRId64 "\n", window->duration_ms);
		ifp_buf_printf(
			out, "ACTIVITIES_WARMUP_PERIOD_SECS=%d\n", IFP_KINETO_WARMUP_MS / 1000);
		return;
	}
	ifp_buf_printf(out, "PROFILE_START_ITERATION=%" PRIu64 "\n",
		window->first_step - IFP_KINETO_FIRST_STEP_OFFSET);
	ifp_buf_printf(out, "ACTIVITIES_ITERATIONS=%" PRIu64 "\n", window->count);
}
