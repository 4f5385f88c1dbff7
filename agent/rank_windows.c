/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/rank_windows.h"

#include "agent/documents.h"
#include "core/clock.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Kineto asks once a second and must know of a time window 2.25 s before: nearer is too late. */
#define TIME_AHEAD_MS 3300

static bool find_step(void *context, uint64_t step, int64_t *realtime_ns)
{
	const struct ifp_rank_windows_config *config = context;

	return ifp_step_log_find(config->steps, config->clocks, step, realtime_ns);
}

void ifp_rank_windows_setup(
	struct ifp_rank_windows *windows, const struct ifp_rank_windows_config *config)
{
	*windows = (struct ifp_rank_windows){.config = *config};
	ifp_kineto_set_step_lookup(config->kineto,
		(struct ifp_step_lookup){.find = find_step, .context = &windows->config});
}

static bool read_window(const cJSON *document, struct ifp_window *out)
{
	const char *kind = ifp_document_get_text(document, "kind");
	struct ifp_window window = {
		.number = (uint32_t)ifp_document_get_count(document, "window"),
		.attempt = (uint32_t)ifp_document_get_count(document, "attempt"),
		.kind = kind && !strcmp(kind, "time") ? IFP_WINDOW_TIME : IFP_WINDOW_STEPS,
		.first_step = ifp_document_get_count(document, "first_step"),
		.count = ifp_document_get_count(document, "count"),
		.start_realtime_ms = (int64_t)ifp_document_get_count(document, "start_realtime_ms"),
		.duration_ms = (int64_t)ifp_document_get_count(document, "duration_ms"),
	};

	if (window.kind == IFP_WINDOW_STEPS ? !window.first_step || !window.count
					    : !window.start_realtime_ms || !window.duration_ms)
		return false;
	*out = window;
	return true;
}

static bool is_same(const struct ifp_window *a, const struct ifp_window *b)
{
	return a->number == b->number && a->attempt == b->attempt;
}

/* Why this rank cannot record the window: true, and the reason in text. */
static bool refuses(const struct ifp_rank_windows *windows, const struct ifp_window *window,
	uint64_t steps_now, char *text, size_t size_bytes)
{
	int64_t now_ms = ifp_clock_realtime_ns() / IFP_NS_PER_MS;

	if (windows->program_ended)
		snprintf(text, size_bytes, "the program has ended");
	else if (windows->started)
		snprintf(text, size_bytes, "a window is being recorded");
	else if (!ifp_kineto_polling(windows->config.kineto))
		snprintf(text, size_bytes, "PyTorch's profiler is not armed");
	else if (window->kind == IFP_WINDOW_STEPS && steps_now + 1 >= window->first_step)
		snprintf(text, size_bytes, "already at step %" PRIu64, steps_now);
	else if (window->kind == IFP_WINDOW_TIME &&
		 window->start_realtime_ms < now_ms + TIME_AHEAD_MS)
		snprintf(text, size_bytes, "the start is too near");
	else
		return false;
	return true;
}

void ifp_rank_windows_plan(
	struct ifp_rank_windows *windows, const cJSON *document, uint64_t steps_now)
{
	struct ifp_window window;
	char refusal[128];
	bool refused;
	char *ack;

	if (!read_window(document, &window))
		return;
	refused = refuses(windows, &window, steps_now, refusal, sizeof(refusal));
	if (!refused) {
		windows->planned = true;
		windows->plan = window;
	}
	ack = ifp_document_window_ack(&window, steps_now, refused ? refusal : NULL);
	ifp_uplink_send(windows->config.uplink, IFP_MSG_WINDOW_ACK, ack);
	cJSON_free(ack);
}

static void add_frame(struct ifp_rank_windows *windows, const char *document)
{
	const struct ifp_frame frame = {
		.type = IFP_FRAME_WINDOW,
		.payload = (const uint8_t *)document,
		.payload_bytes = (uint32_t)strlen(document),
	};

	if (ifp_frame_queue_add(ifp_uplink_frames(windows->config.uplink), &frame))
		ifp_error_clear();
}

static void report(struct ifp_rank_windows *windows, const struct ifp_window_result *result)
{
	uint64_t found[2] = {0, 0};
	char *document;

	windows->started = false;
	windows->left_out += result->left_out;
	windows->set_aside += result->set_aside;
	windows->repaired += result->repaired;
	windows->negative += result->negative;
	ifp_step_log_match(windows->config.steps, windows->config.clocks,
		result->step_end_realtime_ns, result->optimizer_steps, found);
	/* events first: whoever sees the report finds them */
	ifp_event_blocks_flush(windows->config.blocks);
	document = ifp_document_window_frame(result, found);
	if (document)
		add_frame(windows, document);
	cJSON_free(document);
	document = ifp_document_window_done(result, found);
	ifp_uplink_send(windows->config.uplink, IFP_MSG_WINDOW_DONE, document);
	cJSON_free(document);
}

void ifp_rank_windows_go(struct ifp_rank_windows *windows, const cJSON *document)
{
	const struct ifp_window asked = {
		.number = (uint32_t)ifp_document_get_count(document, "window"),
		.attempt = (uint32_t)ifp_document_get_count(document, "attempt"),
	};

	if (!windows->planned || !is_same(&asked, &windows->plan))
		return;
	windows->planned = false;
	windows->attempted++;
	if (ifp_kineto_start(windows->config.kineto, &windows->plan) == 0) {
		windows->started = true;
		return;
	}
	struct ifp_window_result lost = {.window = windows->plan, .outcome = IFP_WINDOW_LOST};

	ifp_error_text(lost.reason, sizeof(lost.reason));
	ifp_error_clear();
	report(windows, &lost);
}

bool ifp_rank_windows_work(struct ifp_rank_windows *windows, uint64_t steps_now)
{
	struct ifp_window_result result;
	bool done = false;
	int more = ifp_kineto_work(
		windows->config.kineto, &windows->config.sink, steps_now, &done, &result);

	if (done)
		report(windows, &result);
	if (more < 0)
		ifp_error_clear();
	return more > 0;
}

bool ifp_rank_windows_finish(struct ifp_rank_windows *windows)
{
	struct ifp_window_result result;
	bool done = false;
	int more;

	windows->program_ended = true;
	more = ifp_kineto_finish(windows->config.kineto, &windows->config.sink, &done, &result);
	if (done)
		report(windows, &result);
	if (more < 0)
		ifp_error_clear();
	return more > 0;
}
