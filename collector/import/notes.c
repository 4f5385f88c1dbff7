/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/notes.h"

#include "core/array.h"
#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ifp_import_note(struct ifp_import_notes *notes, const char *what, int64_t count, bool fault,
	const char *format, ...)
{
	int err = IFP_ARRAY_RESERVE(notes->items, notes->capacity, notes->count, 1, "notes");
	char *why = NULL;
	va_list args;
	int len;

	if (err)
		return err;
	va_start(args, format);
	len = vasprintf(&why, format, args);
	va_end(args);
	if (len < 0)
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
