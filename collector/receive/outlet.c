/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/outlet.h"

#include "trace/wire/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ifp_outlet_document(const struct ifp_outlet *outlet, enum ifp_frame_type type, uint32_t rank,
	const cJSON *document)
{
	IFP_CLEANUP_FREE char *text = cJSON_PrintUnformatted(document);

	if (text)
		outlet->store(outlet->context, type, rank, text, strlen(text));
}

void ifp_outlet_ledger(const struct ifp_outlet *outlet, uint32_t rank, const char *what,
	int64_t count, const char *why, ...)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();
	cJSON *rows = cJSON_AddArrayToObject(document, "rows");
	cJSON *row = cJSON_CreateObject();
	char text[512];
	va_list args;

	va_start(args, why);
	vsnprintf(text, sizeof(text), why, args);
	va_end(args);
	cJSON_AddStringToObject(row, "what", what);
	cJSON_AddNumberToObject(row, "count", (double)count);
	cJSON_AddStringToObject(row, "why", text);
	cJSON_AddItemToArray(rows, row);
	ifp_outlet_document(outlet, IFP_FRAME_LEDGER, rank, document);
}
