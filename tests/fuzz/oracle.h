/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cJSON as judge of the reader: it builds the whole tree, by other people's code. It is laxer than
 * the standard in some points and stricter in others; what falls between is not judged.
 */
#pragma once

#include "trace/event.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tree of a text and its events; {0} when there is none. */
struct oracle {
	cJSON *tree;
	const cJSON *events; /* the array */
	bool exact;	     /* members are where a reader finds them, too */
};

struct oracle oracle_parse(const void *text, size_t len_bytes);
void oracle_free(struct oracle *oracle);

/* Whether cJSON can be expected to take a text that is JSON. */
bool oracle_is_able(const void *text, size_t len_bytes);

/* Levels of arrays and objects. */
unsigned int oracle_depth(const cJSON *item);

/* An element that no reader may set aside. */
bool oracle_is_event(const cJSON *element);

/* Fails unless the event is what the element says; base_ns has been added to its times. */
void oracle_judge(const cJSON *element, const struct ifp_event *event, int64_t base_ns);
