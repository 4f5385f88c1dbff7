/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/verdict.h"

#include "core/log.h"
#include "trace/wire/document.h"

#include <inttypes.h>
#include <stdio.h>

static void print_file(const cJSON *file)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	const char *path = ifp_document_get_text(file, "path");
	uint64_t count = ifp_document_get_count(file, "files");
	double size = (double)ifp_document_get_count(file, "bytes");
	size_t unit = 0;
	char files[32] = "";

	if (!path)
		return;
	for (; size >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
		size /= 1000;
	if (count)
		snprintf(files, sizeof(files), " (%" PRIu64 " file%s)", count,
			count == 1 ? "" : "s");
	ifp_log_info("  %8.*f %-2s  %s%s", unit ? 1 : 0, size, units[unit], path, files);
}

void ifp_verdict_print(const cJSON *document)
{
	const char *text = ifp_document_get_text(document, "text");
	const char *command = ifp_document_get_text(document, "command");
	const cJSON *item;

	if (text)
		ifp_log_info("%s", text);
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(document, "lines"))
	{
		if (cJSON_IsString(item))
			ifp_log_info("  %s", item->valuestring);
	}
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(document, "files"))
		print_file(item);
	if (command)
		ifp_log_info("%s", command);
}
