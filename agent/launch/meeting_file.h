/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file by which ranks on several hosts find their collector: its address and the keys of the
 * job's agents, mode 0600, on a file system that they share. Written whole by rename.
 */
#pragma once

#include "trace/wire/keys.h"

#include <stdint.h>
#include <time.h>

/* PARENT/.infprof-rendezvous-JOB.json; owned by the caller, NULL without memory. */
char *ifp_meeting_file_path(const char *parent, const char *job);

/* Replaces an older file. Writes all keys: agents serve each other's pings with them, too. */
int ifp_meeting_file_write(const char *path, const char *address, const struct ifp_keys *keys);

/*
 * -EAGAIN (no cause) when there is none yet, or none that was written after not_before: a file of
 * an earlier job of the same name; -EBADMSG when it is damaged. *address is owned by the caller.
 */
int ifp_meeting_file_read(
	const char *path, time_t not_before, char **address, struct ifp_keys *keys);
