/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Doubles hold every integer up to here. */
#define EXACT_MAX 9007199254740992.0

cJSON *ifp_document_parse(const void *payload, size_t len_bytes)
{
	cJSON *document;

	if (len_bytes > IFP_DOCUMENT_MAX_BYTES)
		return NULL;
	document = cJSON_ParseWithLength(payload, len_bytes);
	if (!cJSON_IsObject(document)) {
		cJSON_Delete(document);
		return NULL;
	}
	return document;
}

const char *ifp_document_get_text(const cJSON *document, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(document, name));
}

bool ifp_document_get_int(const cJSON *document, const char *name, int64_t *value)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(document, name);
	const char *text = cJSON_GetStringValue(item);
	char *end;
	long long number;

	if (cJSON_IsNumber(item)) {
		double d = item->valuedouble;

		if (!(d >= -EXACT_MAX && d <= EXACT_MAX))
			return false;
		*value = (int64_t)d;
		return true;
	}
	if (!text || !*text)
		return false;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno || *end)
		return false;
	*value = number;
	return true;
}

uint64_t ifp_document_get_count(const cJSON *document, const char *name)
{
	int64_t value = 0;

	ifp_document_get_int(document, name, &value);
	return value > 0 ? (uint64_t)value : 0;
}

bool ifp_document_get_rank(const cJSON *document, const char *name, uint32_t world, uint32_t *rank)
{
	int64_t value;

	if (!ifp_document_get_int(document, name, &value) || value < 0 || value >= world)
		return false;
	*rank = (uint32_t)value;
	return true;
}

bool ifp_document_is_true(const cJSON *document, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(document, name));
}

void ifp_document_add_int64(cJSON *document, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	cJSON_AddStringToObject(document, name, text);
}

void ifp_document_add_count(cJSON *document, const char *name, uint64_t value)
{
	cJSON_AddNumberToObject(document, name, (double)value);
}
