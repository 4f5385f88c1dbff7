/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/seek.h"

/* Whether what follows a ']' is what may follow the array of events: the text's end counts, too. */
static bool ends_events(struct ifp_pull *pull)
{
	int c = ifp_pull_peek(pull);

	return c <= 0 || c == ',' || c == '}';
}

enum ifp_seek_place ifp_seek(struct ifp_pull *pull, bool behind_object)
{
	int c;

	while ((c = ifp_pull_peek(pull)) > 0 || (!c && pull->next < pull->end)) {
		if (c == '{' && behind_object)
			return IFP_SEEK_EVENT;
		pull->next++;
		if (c == ']' && behind_object && ends_events(pull))
			return IFP_SEEK_END_OF_EVENTS;
		behind_object = c == '}' || (c == ',' && behind_object);
	}
	return IFP_SEEK_END_OF_TEXT;
}
