/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/seek.h"

#include "trace/chrome/pull_scalar.h"

/* Whether what follows a ']' is what may follow the array of events: the text's end counts, too. */
static bool ends_events(struct ifp_pull *pull)
{
	int c = ifp_pull_peek(pull);

	return c <= 0 || c == ',' || c == '}';
}

/* Whether the object that is next begins as events do, as far as the window shows it. */
static bool begins_event(const struct ifp_pull *pull)
{
	static const char *const names[] = {
		"ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args"};
	const uint8_t *next = pull->next + 1;

	while (next < pull->end && strchr(" \t\r\n", *next) && *next)
		next++;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len_bytes = strlen(names[i]);

		if ((size_t)(pull->end - next) > len_bytes + 1 && next[0] == '"' &&
			!memcmp(next + 1, names[i], len_bytes) && next[len_bytes + 1] == '"')
			return true;
	}
	return false;
}

enum ifp_seek_place ifp_seek(struct ifp_pull *pull, bool behind_object)
{
	int c;

	while ((c = ifp_pull_peek(pull)) > 0 || (!c && pull->next < pull->end)) {
		if (c == '{' && (behind_object || begins_event(pull)))
			return IFP_SEEK_EVENT;
		pull->next++;
		if (c == ']' && behind_object && ends_events(pull))
			return IFP_SEEK_END_OF_EVENTS;
		behind_object = c == '}' || (c == ',' && behind_object);
	}
	return IFP_SEEK_END_OF_TEXT;
}

/*
 * Takes this text as far as it stands here; true when it does to its end. It has quotes at its ends
 * alone, so that where it breaks off it cannot have begun again.
 */
static bool take_text(struct ifp_pull *pull, const char *quoted)
{
	while (*quoted && ifp_pull_look(pull) == *quoted) {
		pull->next++;
		quoted++;
	}
	return !*quoted;
}

bool ifp_seek_text(struct ifp_pull *pull, const char *quoted)
{
	int c;

	while ((c = ifp_pull_peek(pull)) > 0 || (!c && pull->next < pull->end)) {
		if (c != '"')
			pull->next++;
		else if (take_text(pull, quoted))
			return true;
	}
	return false;
}

enum ifp_seek_place ifp_seek_first(struct ifp_pull *pull, uint64_t *offset)
{
	int c;

	while ((c = ifp_pull_peek(pull)) > 0 || (!c && pull->next < pull->end)) {
		*offset = ifp_pull_offset(pull);
		if (c == '{' && begins_event(pull))
			return IFP_SEEK_EVENT;
		if (c != '"') {
			pull->next++;
			continue;
		}
		if (!take_text(pull, "\"traceEvents\"") || ifp_pull_peek(pull) != ':')
			continue;
		pull->next++;
		if (ifp_pull_peek(pull) == '[')
			return IFP_SEEK_EVENTS;
	}
	return IFP_SEEK_END_OF_TEXT;
}
