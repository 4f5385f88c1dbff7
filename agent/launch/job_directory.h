/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a job on one host, /tmp/infprof-<uid>/<job>, mode 0700: sockets of the collector
 * and of the agents. Every agent of the job makes it where it is missing, and holds a lock on it as
 * long as it lives: the lock of a process goes with it however it ends.
 */
#pragma once

#include <stdbool.h>

struct ifp_job_directory {
	char *path; /* absolute, owned; NULL = none */
	int lock;
};

/*
 * Makes it and locks it. -EPERM with a cause when somebody else could write there (the folder
 * belongs to another user or is open to others).
 */
int ifp_job_directory_make(const char *job, struct ifp_job_directory *out);

/* Gives the lock back; removes the directory, and that of all jobs, when they are empty. */
void ifp_job_directory_leave(struct ifp_job_directory *directory);

/* Whether somebody listens on the socket of this name. */
bool ifp_job_directory_answers(const struct ifp_job_directory *directory, const char *name);

/*
 * Removes what killed processes have left: directories that no agent holds a lock on and in which
 * nobody listens. Never fails.
 */
void ifp_job_directory_clean(void);
