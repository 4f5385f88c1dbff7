/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON documents of messages and frames: objects, read and written with cJSON. They come from
 * the network or from a file: nothing in them is trusted, a member of another type counts as
 * absent. 64-bit integers may travel as text in decimal, because a number of JSON is a double here.
 * No state: for any thread, one at a time per document.
 */
#pragma once

#include "core/cleanup.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What agents send and archives hold is shorter; a tree takes some 30 times the text's memory. */
#define IFP_DOCUMENT_MAX_BYTES (1024u * 1024u)

static inline void ifp_cleanup_document(cJSON **document)
{
	cJSON_Delete(*document);
}

#define IFP_CLEANUP_DOCUMENT IFP_CLEANUP(ifp_cleanup_document)

/*
 * The document in a payload, to be freed with cJSON_Delete(). NULL for anything but an object in
 * at most IFP_DOCUMENT_MAX_BYTES, and when memory is short.
 */
cJSON *ifp_document_parse(const void *payload, size_t len_bytes);

/* The readers take document NULL as one without members. */

/* NULL when absent. Lives as long as the document. */
const char *ifp_document_get_text(const cJSON *document, const char *name);

/*
 * An integer, as a number up to 2^53 or as text. False when absent or out of range; *value is
 * untouched then.
 */
bool ifp_document_get_int(const cJSON *document, const char *name, int64_t *value);

/* As above, 0 when absent or negative. */
uint64_t ifp_document_get_count(const cJSON *document, const char *name);

/* A rank below world; false, and *rank untouched, for anything else. */
bool ifp_document_get_rank(const cJSON *document, const char *name, uint32_t world, uint32_t *rank);

/* Whether it is the word true. */
bool ifp_document_is_true(const cJSON *document, const char *name);

/* Adds an integer as text: for members that may exceed 2^53. */
void ifp_document_add_int64(cJSON *document, const char *name, int64_t value);

/* Adds a count as a number: for members that stay below 2^53 in any run. */
void ifp_document_add_count(cJSON *document, const char *name, uint64_t value);
