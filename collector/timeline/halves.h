/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Halves of slices, joined to be drawn. Tracers that do not know yet how long something takes write
 * its two ends: "B" and "E" of a thread, "b" and "e" of an asynchronous operation ("S" and "F" in
 * older traces). The archive keeps the halves; a picture has the slice between them.
 *
 * By the Trace Event Format: "E" closes what was opened last on its thread; "e" what was opened
 * last with its category and id, in its process unless the id is global. Names are looked at as
 * well: a half that was lost does not shift all others then, and what two parts of a program call
 * by one id stays apart. Moments of such operations ("n", "T", "p") and of the oldest traces ("R")
 * become instants.
 */
#pragma once

#include "collector/store/run.h"
#include "core/arena.h"

/*
 * Joins the halves among the events of a rank, which stay in their order: the first of two becomes
 * a slice, with the args of both, the second is gone. Halves alone stay what they are. New texts
 * are in the arena. 0 or -ENOMEM, after which only freeing them makes sense.
 */
int ifp_halves_join(struct ifp_rank_events *events, struct ifp_arena *texts);
