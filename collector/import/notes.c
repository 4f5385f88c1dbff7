/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/notes.h"

#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/chrome/escape.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *ifp_import_as_utf8(const char *text)
{
	IFP_CLEANUP_BUF struct ifp_buf escaped = {0};
	struct ifp_buf plain = {0};

	ifp_json_escape(&escaped, ifp_str(text));
	ifp_json_unescape(
		&plain, (struct ifp_str){(const char *)escaped.data, (uint32_t)escaped.len_bytes});
	ifp_buf_append_u8(&plain, 0);
	if (!escaped.failed && !plain.failed)
		return (char *)plain.data;
	ifp_buf_free(&plain);
	return NULL;
}

char *ifp_import_as_line(const char *text)
{
	char *line = ifp_import_as_utf8(text);

	for (char *c = line; c && *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return line;
}

int ifp_import_note(struct ifp_import_notes *notes, const char *what, int64_t count, bool fault,
	const char *format, ...)
{
	int err = IFP_ARRAY_RESERVE(notes->items, notes->capacity, notes->count, 1, "notes");
	IFP_CLEANUP_FREE char *text = NULL;
	char *why;
	va_list args;
	int len;

	if (err)
		return err;
	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0)
		text = NULL;
	why = text ? ifp_import_as_line(text) : NULL;
	if (!why)
		return ifp_fail(-ENOMEM, "no memory for a note");
	notes->items[notes->count++] = (struct ifp_import_note){what, count, fault, why};
	return 0;
}

void ifp_import_notes_free(struct ifp_import_notes *notes)
{
	for (uint32_t i = 0; i < notes->count; i++)
		free(notes->items[i].why);
	free(notes->items);
	*notes = (struct ifp_import_notes){0};
}

static bool any_fault(const struct ifp_import_notes *notes)
{
	for (uint32_t i = 0; i < notes->count; i++)
		if (notes->items[i].fault)
			return true;
	return false;
}

bool ifp_import_has_faults(const struct ifp_import *import)
{
	bool found = any_fault(&import->notes);

	for (uint32_t i = 0; i < import->file_count && !found; i++)
		found = any_fault(&import->files[i].notes);
	return found;
}
