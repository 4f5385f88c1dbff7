/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of one trace into blocks. Private to collector/import. */
#pragma once

#include "collector/import/import.h"
#include "trace/archive/block.h"

#include <stdatomic.h>

/* What one thread reads with: used for one file after the other. */
struct ifp_import_worker {
	int spill; /* descriptor; blocks are written one behind the other; -1 = they are not kept */
	_Atomic uint64_t *spill_bytes;
	struct ifp_block_builder *builder;
	struct ifp_buf payload;
	const _Atomic bool *stop;     /* set when the whole is in vain: -ECANCELED */
	_Atomic uint64_t *events;     /* of all threads */
	_Atomic uint64_t *file_bytes; /* read by all threads, as they are on the disk */
};

/*
 * Reads the file once. Damage, and a file that is no trace, become notes of the file; errors are
 * -ENOMEM, -ECANCELED and those of writing the spill file.
 */
int ifp_import_read(struct ifp_import_worker *worker, struct ifp_import_file *file);
