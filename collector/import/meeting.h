/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OUT/.merge, where the processes of a team meet: a seat (seat.h) for each of them, by number, and
 * the files of part.h. It comes into being with all its seats, by a rename, and process 0's is
 * taken then: so nobody ever finds half of it. Private to collector/import.
 */
#pragma once

#include "collector/import/seat.h"

#include <cjson/cJSON.h>
#include <stdint.h>

/* Paths, for free(); NULL when memory is short. */
char *ifp_import_meeting_path(const char *output_dir);
char *ifp_import_meeting_seat_path(const char *directory, uint32_t process);

/* Takes seat 0 and says first. -EBUSY with a cause when there is a meeting of others. */
int ifp_import_meeting_make(
	const char *output_dir, uint32_t processes, const cJSON *first, struct ifp_seat *seat);

/* -EBUSY with a cause when processes meet there; what dead ones have left is removed. */
int ifp_import_meeting_clear(const char *output_dir);

/* Removes a meeting whose process 0 is dead by this view. Says nothing when that does not work. */
void ifp_import_meeting_bury(const char *directory, struct ifp_seat_view *view);

/* Removes the directory with all files in it. */
void ifp_import_meeting_remove(const char *directory);

/*
 * A client of NFS answers for up to a minute from what it knows of a directory, also that something
 * is not there, unless it notices that the directory has changed: which it does when it makes and
 * removes something there itself.
 */
void ifp_import_meeting_refresh(const char *output_dir);
