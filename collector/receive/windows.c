/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/windows.h"

#include "collector/receive/windows_internal.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define MAX_WISHES 1000
#define MAX_DURATION_MS (INT64_C(24) * 3600 * 1000)

int ifp_windows_new(const struct ifp_outlet *outlet, uint32_t world, struct ifp_windows **out)
{
	struct ifp_windows *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return ifp_fail(-ENOMEM, "out of memory for windows");
	w->outlet = outlet;
	w->phase = PHASE_FINISHED;
	w->parts = calloc(world, sizeof(*w->parts));
	err = w->parts ? ifp_pace_init(&w->pace, world)
		       : ifp_fail(-ENOMEM, "out of memory for %" PRIu32 " ranks", world);
	if (err) {
		ifp_windows_free(&w);
		return err;
	}
	*out = w;
	return 0;
}

void ifp_windows_free(struct ifp_windows **windows)
{
	if (!*windows)
		return;
	ifp_pace_free(&(*windows)->pace);
	free((*windows)->parts);
	free((*windows)->wishes);
	free(*windows);
	*windows = NULL;
}

int ifp_windows_wish(struct ifp_windows *w, const cJSON *hello)
{
	const cJSON *array = cJSON_GetObjectItemCaseSensitive(hello, "windows");
	const cJSON *item;
	int count = cJSON_IsArray(array) ? cJSON_GetArraySize(array) : 0;
	struct wish *wishes;

	if (w->wishes || !count)
		return 0;
	if (count > MAX_WISHES)
		return ifp_fail(-EINVAL, "%d windows: at most %d are possible", count, MAX_WISHES);
	wishes = calloc((size_t)count, sizeof(*wishes));
	if (!wishes)
		return ifp_fail(-ENOMEM, "out of memory for %d windows", count);
	w->wishes = wishes;
	w->warmup = ifp_document_get_count(hello, "warmup");
	w->duration_ms = (int64_t)ifp_document_get_count(hello, "duration_ms");
	if (!w->duration_ms)
		w->duration_ms = IFP_WINDOWS_DEFAULT_DURATION_MS;
	if (w->duration_ms > MAX_DURATION_MS)
		w->duration_ms = MAX_DURATION_MS;
	cJSON_ArrayForEach(item, array)
	{
		struct wish wish = {
			ifp_document_get_count(item, "first"), ifp_document_get_count(item, "count")};

		if (wish.count)
			wishes[w->wish_count++] = wish;
	}
	w->phase = w->window < w->wish_count ? PHASE_WAITING : PHASE_FINISHED;
	return 0;
}

void ifp_windows_skip(struct ifp_windows *w, uint32_t count)
{
	w->window = count;
	if (w->window >= w->wish_count)
		w->phase = PHASE_FINISHED;
}

void ifp_windows_heartbeat(
	struct ifp_windows *w, uint32_t rank, const struct ifp_heartbeat *heartbeat, int64_t now_ns)
{
	ifp_pace_heartbeat(&w->pace, rank, heartbeat, now_ns);
}

static bool of_this_attempt(const struct ifp_windows *w, const cJSON *document)
{
	int64_t window, attempt;

	return ifp_document_get_int(document, "window", &window) && window == w->window &&
	       ifp_document_get_int(document, "attempt", &attempt) && attempt == w->attempt;
}

void ifp_windows_ack(struct ifp_windows *w, uint32_t rank, const cJSON *document)
{
	struct part_of_rank *part = &w->parts[rank];
	const char *reason = ifp_document_get_text(document, "reason");

	ifp_pace_counted(&w->pace, rank, ifp_document_get_count(document, "steps"));
	if (w->phase != PHASE_VOTING || part->part != PART_ASKED || !of_this_attempt(w, document))
		return;
	if (ifp_document_is_true(document, "accepted")) {
		part->part = PART_ACCEPTED;
		return;
	}
	part->part = PART_REFUSED;
	snprintf(part->reason, sizeof(part->reason), "%s", reason ? reason : "refused");
}

void ifp_windows_done(struct ifp_windows *w, uint32_t rank, const cJSON *document)
{
	if (w->phase == PHASE_RECORDING && w->parts[rank].part == PART_RECORDING &&
		of_this_attempt(w, document))
		ifp_windows_part_done(w, rank, document);
}

bool ifp_windows_open(const struct ifp_windows *w)
{
	return w->phase == PHASE_VOTING || w->phase == PHASE_RECORDING;
}

void ifp_windows_gone(struct ifp_windows *w, uint32_t rank)
{
	struct part_of_rank *part = &w->parts[rank];

	ifp_pace_gone(&w->pace, rank);
	if (part->part == PART_ASKED || part->part == PART_ACCEPTED) {
		part->part = PART_NONE;
	} else if (part->part == PART_RECORDING) {
		part->part = PART_DONE;
		part->recorded = false;
		part->ended = true;
		snprintf(part->reason, sizeof(part->reason), "the rank ended inside the window");
	}
}

static uint32_t count_parts(const struct ifp_windows *w, enum part part)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < w->pace.world; i++)
		count += w->parts[i].part == part;
	return count;
}

static void send_to_parts(const struct ifp_windows *w, enum part part, enum ifp_message_type type,
	const cJSON *document)
{
	for (uint32_t i = 0; i < w->pace.world; i++)
		if (w->parts[i].part == part)
			ifp_outlet_send(w->outlet, i, type, document);
}

static cJSON *attempt_document(const struct ifp_windows *w)
{
	cJSON *document = cJSON_CreateObject();

	cJSON_AddNumberToObject(document, "window", w->window);
	cJSON_AddNumberToObject(document, "attempt", w->attempt);
	return document;
}

static void send_plan(const struct ifp_windows *w)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = attempt_document(w);

	cJSON_AddStringToObject(document, "kind", w->of_time ? "time" : "steps");
	if (w->of_time) {
		cJSON_AddNumberToObject(
			document, "start_realtime_ms", (double)w->start_realtime_ms);
		cJSON_AddNumberToObject(document, "duration_ms", (double)w->duration_ms);
	} else {
		cJSON_AddNumberToObject(document, "first_step", (double)w->first_step);
		cJSON_AddNumberToObject(document, "count", (double)w->count);
	}
	send_to_parts(w, PART_ASKED, IFP_MSG_WINDOW_PLAN, document);
}

/* Each further attempt leaves twice the time. */
static int64_t ahead_ns(const struct ifp_windows *w)
{
	return IFP_WINDOWS_AHEAD_NS << w->attempt;
}

static void choose_steps(struct ifp_windows *w)
{
	const struct wish *wish = &w->wishes[w->window];
	uint64_t ahead = ifp_pace_steps_in(&w->pace, ahead_ns(w));
	uint64_t earliest;

	if (ahead < IFP_WINDOWS_AHEAD_STEPS)
		ahead = IFP_WINDOWS_AHEAD_STEPS;
	earliest = ifp_pace_largest(&w->pace) + ahead;
	w->count = wish->count;
	if (wish->first >= earliest) {
		w->first_step = wish->first;
		return;
	}
	/* An explicit first step is its own warm-up. */
	w->first_step = earliest + (wish->first ? 0 : w->warmup);
	if (wish->first && !w->wish_missed) {
		w->wish_missed = true;
		ifp_outlet_ledger(w->outlet, IFP_FRAME_NO_RANK, "window-other-steps", 1,
			"window %" PRIu32 ": step %" PRIu64
			" came too early to be agreed on; the first possible steps are recorded "
			"instead",
			w->window, wish->first);
	}
}

static void plan(struct ifp_windows *w, struct ifp_moment now)
{
	bool of_time = !ifp_pace_steps_ready(&w->pace, now.raw_ns);

	if (of_time && !ifp_pace_time_ready(&w->pace, now.raw_ns))
		return;
	w->of_time = of_time;
	for (uint32_t i = 0; i < w->pace.world; i++) {
		bool can =
			of_time ? ifp_pace_can_time(&w->pace, i) : ifp_pace_can_step(&w->pace, i);

		w->parts[i] = (struct part_of_rank){.part = can ? PART_ASKED : PART_NONE};
		snprintf(w->parts[i].reason, sizeof(w->parts[i].reason), "no answer to the plan");
	}
	if (of_time)
		w->start_realtime_ms = (now.realtime_ns + ahead_ns(w)) / IFP_NS_PER_MS;
	else
		choose_steps(w);
	w->phase = PHASE_VOTING;
	w->deadline_ns = now.raw_ns + IFP_WINDOWS_VOTE_NS;
	send_plan(w);
}

static void next_window(struct ifp_windows *w)
{
	w->window++;
	w->attempt = 0;
	w->wish_missed = false;
	w->deadline_ns = 0;
	w->phase = w->window < w->wish_count ? PHASE_WAITING : PHASE_FINISHED;
}

/* The next attempt, with a row that says why. bad: how many ranks did not do as asked. */
static void try_again(struct ifp_windows *w, uint32_t culprit, uint32_t bad)
{
	char text[400];

	ifp_outlet_ledger(w->outlet, IFP_FRAME_NO_RANK, "window-retried", bad,
		"window %" PRIu32 " is asked for again: rank %" PRIu32 ": %s", w->window, culprit,
		ifp_windows_part_text(w, culprit, text, sizeof(text)));
	w->attempt++;
	w->deadline_ns = 0;
	w->phase = PHASE_WAITING;
}

static void go(struct ifp_windows *w)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = attempt_document(w);

	for (uint32_t i = 0; i < w->pace.world; i++)
		if (w->parts[i].part == PART_ACCEPTED)
			w->parts[i].part = PART_RECORDING;
	w->phase = PHASE_RECORDING;
	w->deadline_ns = 0;
	send_to_parts(w, PART_RECORDING, IFP_MSG_WINDOW_GO, document);
}

/* Everybody has voted, or has had the time to. */
static void count_votes(struct ifp_windows *w)
{
	uint32_t accepted = count_parts(w, PART_ACCEPTED);
	uint32_t against = count_parts(w, PART_REFUSED) + count_parts(w, PART_ASKED);
	uint32_t culprit = 0;

	while (culprit + 1 < w->pace.world && w->parts[culprit].part != PART_REFUSED &&
		w->parts[culprit].part != PART_ASKED)
		culprit++;
	if (against && w->attempt + 1 < IFP_WINDOWS_ATTEMPTS) {
		try_again(w, culprit, against);
		return;
	}
	/* The last attempt: those who can record do; rows for the others are written at its end. */
	if (accepted) {
		go(w);
	} else if (against) {
		ifp_windows_part_rows(w);
		next_window(w);
	} else { /* all voters have gone meanwhile */
		w->phase = PHASE_WAITING;
	}
}

/* When a missing result means that there will be none: counted from the end of the window. */
static void set_result_deadline(struct ifp_windows *w, struct ifp_moment now)
{
	if (w->of_time) {
		int64_t end_ns = (w->start_realtime_ms + w->duration_ms) * IFP_NS_PER_MS;

		if (now.realtime_ns < end_ns)
			return;
	} else {
		for (uint32_t i = 0; i < w->pace.world; i++)
			if (w->parts[i].part == PART_RECORDING &&
				w->pace.ranks[i].steps <= last_step(w))
				return;
	}
	w->deadline_ns = now.raw_ns + IFP_WINDOWS_RESULT_NS;
}

static void compare_results(struct ifp_windows *w)
{
	uint32_t bad = 0, culprit = 0;
	bool ended = false;

	for (uint32_t i = w->pace.world; i-- > 0;) {
		struct part_of_rank *part = &w->parts[i];

		if (part->part == PART_RECORDING) {
			part->part = PART_DONE;
			snprintf(part->reason, sizeof(part->reason), "no result within %d s",
				(int)(IFP_WINDOWS_RESULT_NS / IFP_NS_PER_S));
		}
		if (part->part != PART_DONE || ifp_windows_part_good(w, i))
			continue;
		ended |= part->ended;
		culprit = i;
		bad++;
	}
	if (bad && !ended && w->attempt + 1 < IFP_WINDOWS_ATTEMPTS) {
		try_again(w, culprit, bad);
		return;
	}
	ifp_windows_part_rows(w);
	next_window(w);
}

static bool passed(const struct ifp_windows *w, struct ifp_moment now)
{
	return w->deadline_ns && now.raw_ns >= w->deadline_ns;
}

void ifp_windows_tick(struct ifp_windows *w, struct ifp_moment now)
{
	if (w->phase == PHASE_RECORDING) {
		if (!w->deadline_ns)
			set_result_deadline(w, now);
		if (!count_parts(w, PART_RECORDING) || passed(w, now))
			compare_results(w);
	}
	if (w->phase == PHASE_VOTING && (!count_parts(w, PART_ASKED) || passed(w, now)))
		count_votes(w);
	if (w->phase == PHASE_WAITING)
		plan(w, now);
}

void ifp_windows_close(struct ifp_windows *w)
{
	bool could = w->pace.stepping_since_ns || w->pace.forward_since_ns;

	if (w->phase == PHASE_RECORDING)
		compare_results(w);
	/* Where no rank could ever record, the agents' own rows say why. */
	if (w->phase != PHASE_FINISHED && could)
		ifp_outlet_ledger(w->outlet, IFP_FRAME_NO_RANK, "window-lost",
			w->wish_count - w->window, "the program ended before window %" PRIu32,
			w->window);
	w->phase = PHASE_FINISHED;
}
