/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around the events of a trace, as far as it is kept. Private to collector/import. */
#pragma once

#include "collector/import/import.h"
#include "trace/chrome/reader.h"

/* Copies it into the file; what finds no room becomes a note. -ENOMEM. */
int ifp_import_take_header(struct ifp_import_file *file, const struct ifp_chrome_header *header);
