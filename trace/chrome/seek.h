/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a place behind damage where the events go on. Strings and nesting are not looked at,
 * because the damage may have taken any quote or bracket with it: a place found is a guess, and
 * what stands there must prove to be an event.
 */
#pragma once

#include "trace/chrome/pull.h"

enum ifp_seek_place {
	IFP_SEEK_EVENTS,	/* behind "traceEvents": , a '[' is next */
	IFP_SEEK_EVENT,		/* '{' is next, behind another object or before an event's member */
	IFP_SEEK_END_OF_EVENTS, /* behind the ']' that followed an object */
	IFP_SEEK_END_OF_TEXT,	/* nothing is left that can be read */
};

/* behind_object: whether an object has just ended where the search begins. */
enum ifp_seek_place ifp_seek(struct ifp_pull *pull, bool behind_object);

/*
 * Before any event: the array of events, or an object whose first member is one that events have
 * (right at the end of the window it may be missed). *offset is where it begins, in bytes of JSON.
 */
enum ifp_seek_place ifp_seek_first(struct ifp_pull *pull, uint64_t *offset);

/* Goes behind the next place where this text in quotes stands; false at the end. */
bool ifp_seek_text(struct ifp_pull *pull, const char *quoted);
