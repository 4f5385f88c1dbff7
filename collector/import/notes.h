/* SPDX-License-Identifier: Apache-2.0 */
/* What an import is made of: notes and files. Private to collector/import. */
#pragma once

#include "collector/import/import.h"

#include <errno.h>
#include <stdbool.h>

/* A larger number is a date or a process, and no rank. */
#define IFP_IMPORT_RANK_LIMIT 1048576u

/* No fault of a file: with more descriptors it could be read. */
#define IFP_IMPORT_DESCRIPTORS_ADVICE "allow more open files (ulimit -n)"
static inline bool ifp_import_lacks_descriptors(int error)
{
	return error == EMFILE || error == ENFILE;
}

/* Adds a note, whose text is made fit for a line: 0 or -ENOMEM. */
int ifp_import_note(struct ifp_import_notes *notes, const char *what, int64_t count, bool fault,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/* As ifp_import_as_utf8(), and a "?" for each control character. */
char *ifp_import_as_line(const char *text);

/* Adds a file behind the others, without anything that reading finds. */
int ifp_import_add_file(struct ifp_import *import, const char *path, uint64_t bytes, bool named);

void ifp_import_notes_free(struct ifp_import_notes *notes);
