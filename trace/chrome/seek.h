/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a place behind damage where the events go on. Strings and nesting are not looked at,
 * because the damage may have taken any quote or bracket with it: a place found is a guess, and
 * what stands there must prove to be an event.
 */
#pragma once

#include "trace/chrome/pull.h"

enum ifp_seek_place {
	IFP_SEEK_EVENT,		/* '{' is next, behind another object */
	IFP_SEEK_END_OF_EVENTS, /* behind the ']' that followed an object */
	IFP_SEEK_END_OF_TEXT,	/* nothing is left that can be read */
};

/* behind_object: whether an object has just ended where the search begins. */
enum ifp_seek_place ifp_seek(struct ifp_pull *pull, bool behind_object);
