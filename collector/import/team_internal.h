/* SPDX-License-Identifier: Apache-2.0 */
/* The team's state. Private to collector/import/team*.c. */
#pragma once

#include "collector/import/seat.h"
#include "collector/import/team.h"

/* What process 0 knows of another, and the others of process 0. */
struct mate {
	struct ifp_seat_view view;
	bool delivered;
};

struct ifp_team {
	struct ifp_identity identity;
	char *output_dir, *directory;
	char arguments[17]; /* their checksum */
	bool made_output;
	int64_t since_ns, patience_ns;
	struct ifp_seat seat;
	struct mate *mates; /* by number; the others have number 0 only */
	uint32_t next;	    /* to be looked at */
	uint32_t delivered;
	bool ended, died; /* process 0, as another one has seen it */
};

void ifp_team_free(struct ifp_team **team);

void ifp_team_pause(void);

/* Whether so long has passed since this process began to look for the others. */
bool ifp_team_is_late(const struct ifp_team *team, int64_t patience_ns);

/* The cause that one has not come: -ETIMEDOUT. */
int ifp_team_too_late(const struct ifp_team *team, uint32_t number);
