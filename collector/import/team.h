/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes of one launcher that import together, on one host or on several with a shared
 * file system. They meet in OUT/.merge, which process 0 makes and removes:
 *
 *   process 0                                 any other
 *   ifp_team_lead()   makes the meeting       ifp_team_join()     waits for it
 *   ifp_team_share()  says who reads what     ifp_team_receive()  waits for that
 *   reads its part                            reads its part
 *   ifp_team_collect() waits for all parts    ifp_team_deliver()  hands it in
 *   writes and draws the run
 *   ifp_team_end()    tells its exit status   ifp_team_follow()   waits for that status
 *
 * So the result is as if process 0 had read all, and all end with its status. A process that dies,
 * or cannot go on, ends the whole: nobody waits for it. OUT/.merge of processes that are dead is
 * removed by the next ones.
 *
 * A process alone is a team of one: two merges into OUT at once are refused in any case.
 *
 * A team belongs to one thread.
 */
#pragma once

#include "collector/import/import.h"
#include "core/identity.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_team;

struct ifp_team_wish {
	const struct ifp_identity *identity; /* world 1: process 0 is alone */
	const char *output_dir;		     /* exists */
	bool made_output;		     /* by this process */
	const char *arguments;		     /* what has to be the same in all processes */
	int64_t patience_ns;		     /* how long to wait until all others have started */
};

/*
 * -EBUSY with a cause when processes that live use OUT/.merge. What dead ones have left there is
 * removed.
 */
int ifp_team_lead(const struct ifp_team_wish *wish, struct ifp_team **out);
int ifp_team_join(const struct ifp_team_wish *wish, struct ifp_team **out);

/* Paths in OUT/.merge, for free(), NULL when memory is short: this process' spill file (part.h). */
char *ifp_team_spill_path(const struct ifp_team *team);

/* The archive as long as it is not whole. */
char *ifp_team_unfinished_path(const struct ifp_team *team);

/*
 * For ifp_import_options.progress and while waiting: an error with a cause when another process
 * that is needed has died, has told of an error, or has not come. -ECANCELED: process 0 has ended.
 */
int ifp_team_look_around(struct ifp_team *team);

int ifp_team_share(struct ifp_team *team, struct ifp_import *import);
int ifp_team_receive(struct ifp_team *team, struct ifp_import *import);
int ifp_team_deliver(struct ifp_team *team, const struct ifp_import *import);

/* Calls options->progress while it waits. */
int ifp_team_collect(
	struct ifp_team *team, struct ifp_import *import, const struct ifp_import_options *options);

/*
 * Of process 0, whatever happened: tells the others, waits until they have heard it, removes
 * OUT/.merge, after a failure also OUT if the team has made it and it is empty, and frees the team.
 */
void ifp_team_end(struct ifp_team **team, int status);

/*
 * Of the others, with what their work came to: hands in err and its cause chain, waits for process
 * 0 to end, and frees the team. The exit status of process 0, or a negative errno with a cause when
 * it has died.
 */
int ifp_team_follow(struct ifp_team **team, int err);

/*
 * Threads for one of the processes of a host: its share of the cores that its launcher may use
 * there, and not more than it may use itself; at least 1.
 */
uint32_t ifp_team_threads(uint32_t own_cores, uint32_t launcher_cores, uint32_t processes);

/* As above, from this machine. */
uint32_t ifp_team_threads_here(const struct ifp_identity *identity);
