/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an earlier life of the collector has left in an archive: enough to go on with the run.
 */
#pragma once

#include "core/cleanup.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct ifp_recovery {
	bool found; /* the archive holds a run */
	uint64_t run_id;
	char job[128];
	uint32_t world;
	bool called;		/* the roll had been called */
	uint32_t windows_made;	/* windows of which any rank has a result */
	uint32_t epochs_made;	/* exchanges of clocks of which any edge is there */
	uint64_t edges;		/* of all of them */
	cJSON **hellos, **ends; /* by rank, NULL where there is none; owned */
};

/*
 * Reads the documents of the archive at path. No such file, or one without frames: 0 and not
 * found. Errors as of ifp_archive_reader_open(); -EBADMSG when the archive is of no live run.
 */
int ifp_recovery_read(const char *path, struct ifp_recovery *out);
void ifp_recovery_free(struct ifp_recovery *recovery);

#define IFP_CLEANUP_RECOVERY IFP_CLEANUP(ifp_recovery_free)
