/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a job on one host, /tmp/infprof-<uid>/<job>, mode 0700: sockets of the collector
 * and of the agents. Every agent of the job makes it where it is missing.
 */
#pragma once

#include <stdbool.h>

/*
 * The absolute path, owned by the caller. -EPERM with a cause when somebody else could write there
 * (the folder belongs to another user or is open to others).
 */
int ifp_job_directory_make(const char *job, char **out);

/* Whether somebody listens on the socket of this name in the directory. */
bool ifp_job_directory_answers(const char *path, const char *name);

/* Removes it, and the folder of this user's jobs, when they are empty: the last one out does. */
void ifp_job_directory_leave(const char *path);

/*
 * Removes what killed processes of other jobs have left: directories in which nobody listens and
 * that have not changed for 2 s. own_job is spared (NULL = none). Never fails.
 */
void ifp_job_directory_clean(const char *own_job);
