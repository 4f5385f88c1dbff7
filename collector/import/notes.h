/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of an import. Private to collector/import. */
#pragma once

#include "collector/import/import.h"

/* Adds a note, whose text is made fit for a line: 0 or -ENOMEM. */
int ifp_import_note(struct ifp_import_notes *notes, const char *what, int64_t count, bool fault,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/* As ifp_import_as_utf8(), and a "?" for each control character. */
char *ifp_import_as_line(const char *text);

void ifp_import_notes_free(struct ifp_import_notes *notes);
