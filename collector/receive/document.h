/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of the JSON documents that agents send. A document comes from the network: nothing in it
 * is trusted, a member of another type counts as absent.
 */
#pragma once

#include "core/cleanup.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

static inline void ifp_cleanup_document(cJSON **document)
{
	cJSON_Delete(*document);
}

#define IFP_CLEANUP_DOCUMENT IFP_CLEANUP(ifp_cleanup_document)

/* NULL when absent. Lives as long as the document. */
const char *ifp_document_text(const cJSON *document, const char *name);

/* An integer, as a number or as text in decimal. False when absent; *value is untouched then. */
bool ifp_document_int(const cJSON *document, const char *name, int64_t *value);

/* As above, 0 when absent or negative. */
uint64_t ifp_document_count(const cJSON *document, const char *name);

/* A rank below world; false for anything else. */
bool ifp_document_rank(const cJSON *document, const char *name, uint32_t world, uint32_t *rank);

bool ifp_document_true(const cJSON *document, const char *name);

/* Adds an integer as text in decimal: for members that may exceed 2^53. */
void ifp_document_add_int64(cJSON *document, const char *name, int64_t value);
