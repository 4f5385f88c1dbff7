/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/halves.h"

#include "collector/timeline/args_edit.h"
#include "collector/timeline/id_map.h"
#include "core/checksum.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/*
 * How far below the innermost open half the one that fits is looked for: as many ends in a row may
 * have been lost. Without a limit a trace of beginnings alone would take forever.
 */
#define MAX_LOST_ENDS 64u
#define NONE UINT64_MAX

enum role {
	ROLE_OTHER,
	ROLE_OPENS,
	ROLE_CLOSES,
	ROLE_MOMENT,
};

/* The open halves: of each key the innermost one, and below each half the next. */
struct joining {
	struct ifp_timed_event *events;
	uint64_t *below;
	struct ifp_id_map innermost;
	struct ifp_arena *texts;
	struct ifp_buf text;
	uint64_t joined;
};

/* The letter of a phase that infprof has no kind for; 0 = none. */
static char old_phase(const struct ifp_event *event)
{
	struct ifp_str phase;

	if (event->kind != IFP_EVENT_OTHER || !ifp_args_find(event->extra, "ph", &phase) ||
		phase.len_bytes != 3)
		return 0;
	return phase.ptr[1];
}

static enum role role_of(const struct ifp_event *event)
{
	switch (event->kind) {
	case IFP_EVENT_BEGIN:
	case IFP_EVENT_ASYNC_BEGIN:
		return ROLE_OPENS;
	case IFP_EVENT_END:
	case IFP_EVENT_ASYNC_END:
		return ROLE_CLOSES;
	case IFP_EVENT_ASYNC_INSTANT:
		return ROLE_MOMENT;
	default:
		break;
	}
	switch (old_phase(event)) {
	case 'S':
		return ROLE_OPENS;
	case 'F':
		return ROLE_CLOSES;
	case 'T':
	case 'p':
	case 'R':
		return ROLE_MOMENT;
	default:
		return ROLE_OTHER;
	}
}

static uint64_t mix(uint64_t key, struct ifp_str text)
{
	const uint64_t both[] = {key, ifp_checksum(text.ptr, text.len_bytes)};

	return ifp_checksum(both, sizeof(both));
}

/* Halves of one slice have one key; by chance, two others have it once in 2^64 pairs. */
static uint64_t key_of(const struct ifp_event *event)
{
	const struct ifp_lane *lane = &event->lane;
	uint64_t process = mix((uint64_t)lane->pid, lane->pid_text);
	struct ifp_str id = {0}, scope = {0};
	uint64_t key;

	if (event->kind == IFP_EVENT_BEGIN || event->kind == IFP_EVENT_END) {
		key = mix(process + (uint64_t)lane->tid, lane->tid_text);
	} else {
		if (!ifp_args_find(event->extra, "id", &id) &&
			ifp_args_find(event->extra, "id2", &id) &&
			ifp_str_starts_with(id, "{\"global\""))
			process = 0;
		ifp_args_find(event->extra, "scope", &scope);
		key = mix(mix(mix(mix(process, id), event->category), scope), event->name);
	}
	return key - (key == UINT64_MAX); /* which the map cannot hold */
}

/* The one of the open halves that this one closes; NONE when there is none. */
static uint64_t find_opening(const struct joining *joining, uint64_t innermost, struct ifp_str name)
{
	uint64_t open = innermost;

	for (unsigned int i = 0; open != NONE && i <= MAX_LOST_ENDS; i++) {
		if (!name.len_bytes || ifp_str_equal(joining->events[open].event.name, name))
			return open;
		open = joining->below[open];
	}
	return NONE;
}

static int keep_text(struct joining *joining, struct ifp_str *out)
{
	struct ifp_str made = {(const char *)joining->text.data, (uint32_t)joining->text.len_bytes};
	int err = ifp_buf_status(&joining->text);

	if (err)
		return err;
	made = ifp_arena_copy(joining->texts, made);
	if (!made.ptr)
		return ifp_fail(-ENOMEM, "out of memory for a slice made of two halves");
	*out = made;
	return 0;
}

/* What told the phase would contradict the one that is drawn. */
static int remove_phase(struct joining *joining, struct ifp_event *event)
{
	if (event->kind != IFP_EVENT_OTHER)
		return 0;
	ifp_buf_clear(&joining->text);
	ifp_args_remove(&joining->text, event->extra, "ph");
	return keep_text(joining, &event->extra);
}

/* The args of both ends in one object. */
static int join_args(struct joining *joining, struct ifp_event *event, struct ifp_str more)
{
	if (more.len_bytes <= 2)
		return 0;
	if (event->args.len_bytes <= 2) {
		event->args = more;
		return 0;
	}
	ifp_buf_clear(&joining->text);
	ifp_buf_append(&joining->text, event->args.ptr, event->args.len_bytes - 1);
	ifp_buf_append_u8(&joining->text, ',');
	ifp_buf_append(&joining->text, more.ptr + 1, more.len_bytes - 1);
	return keep_text(joining, &event->args);
}

static int make_slice(
	struct joining *joining, struct ifp_timed_event *first, struct ifp_timed_event *second)
{
	int err = join_args(joining, &first->event, second->event.args);

	if (!err)
		err = remove_phase(joining, &first->event);
	if (err)
		return err;
	first->look = 0;
	first->event.kind = IFP_EVENT_SLICE;
	first->dur_ns = second->start_ns - first->start_ns;
	if (__builtin_sub_overflow(second->event.start, first->event.start, &first->event.dur))
		first->event.dur = first->dur_ns;
	second->event.kind = IFP_EVENT_KIND_MAX; /* is gone */
	joining->joined++;
	return 0;
}

static int take(struct joining *joining, uint64_t i)
{
	struct ifp_timed_event *events = joining->events;
	enum role role = role_of(&events[i].event);
	uint64_t key, innermost = NONE;
	int err;

	if (role == ROLE_OTHER)
		return 0;
	if (role == ROLE_MOMENT) {
		err = remove_phase(joining, &events[i].event);
		events[i].look = 0;
		events[i].event.kind = IFP_EVENT_INSTANT;
		return err;
	}
	key = key_of(&events[i].event);
	ifp_id_map_get(&joining->innermost, key, &innermost);
	if (role == ROLE_OPENS) {
		joining->below[i] = innermost;
		return ifp_id_map_set(&joining->innermost, key, i);
	}
	innermost = find_opening(joining, innermost, events[i].event.name);
	if (innermost == NONE)
		return 0;
	err = ifp_id_map_set(&joining->innermost, key, joining->below[innermost]);
	return err ? err : make_slice(joining, &events[innermost], &events[i]);
}

struct key {
	int64_t start_ns, dur_ns;
	uint64_t event;
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *left = a, *right = b;

	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	if (left->dur_ns != right->dur_ns)
		return left->dur_ns > right->dur_ns ? -1 : 1;
	return (left->event > right->event) - (left->event < right->event);
}

/* Takes out what is gone; what has become a slice may go before others that begin with it. */
static int settle(struct ifp_rank_events *events)
{
	struct key *keys = calloc(events->count + 1, sizeof(*keys));
	struct ifp_timed_event *settled = calloc(events->count + 1, sizeof(*settled));
	uint64_t kept = 0;

	if (!keys || !settled) {
		free(keys);
		free(settled);
		return ifp_fail(-ENOMEM, "out of memory for the slices of a rank");
	}
	for (uint64_t i = 0; i < events->count; i++) {
		const struct ifp_timed_event *timed = &events->events[i];

		if (timed->event.kind != IFP_EVENT_KIND_MAX)
			keys[kept++] = (struct key){timed->start_ns, timed->dur_ns, i};
	}
	qsort(keys, kept, sizeof(*keys), compare_keys);
	for (uint64_t i = 0; i < kept; i++)
		settled[i] = events->events[keys[i].event];
	free(keys);
	free(events->events);
	events->events = settled;
	events->count = kept;
	return 0;
}

int ifp_halves_join(struct ifp_rank_events *events, struct ifp_arena *texts)
{
	struct joining joining = {.events = events->events, .texts = texts};
	bool halves = false;
	int err = 0;

	for (uint64_t i = 0; i < events->count && !halves; i++)
		halves = role_of(&events->events[i].event) != ROLE_OTHER;
	if (!halves)
		return 0;
	joining.below = calloc(events->count + 1, sizeof(*joining.below));
	if (!joining.below)
		return ifp_fail(-ENOMEM, "out of memory for the halves of slices");
	for (uint64_t i = 0; i < events->count && !err; i++)
		err = take(&joining, i);
	free(joining.below);
	ifp_id_map_free(&joining.innermost);
	ifp_buf_free(&joining.text);
	return err || !joining.joined ? err : settle(events);
}
