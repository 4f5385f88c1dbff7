/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How processes on one file system follow each other: each has a file, its seat, on which it holds
 * a lock as long as it lives, whose time it sets every second (the beat), and to which it appends
 * lines, objects of JSON. The others read them. Nothing of it needs a clock that two hosts share.
 *
 * A lock goes with its process however that ends, but some file systems show it to processes of the
 * same host only. So its absence proves a death only to who has seen it held; beats that stay away
 * for IFP_SEAT_SILENCE_NS of watching do it everywhere. Private to collector/import.
 */
#pragma once

#include "core/time.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Watching counts at most one second for each look: a watcher that was stopped has seen nothing. */
#define IFP_SEAT_SILENCE_NS (30 * IFP_NS_PER_S)

/* The own one. A thread of its own gives the beats. */
struct ifp_seat {
	int fd;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool beating; /* under the lock */
};

/*
 * Takes the file, which is there. Not while another process holds it: -EBUSY without a cause. The
 * seat stays where it is in memory until it is left.
 */
int ifp_seat_take(const char *path, struct ifp_seat *seat);

/* Appends a line: the others can read it on return. */
int ifp_seat_say(struct ifp_seat *seat, const cJSON *line);

/* Gives it up; the file stays. {.fd = -1} has nothing to give up. */
void ifp_seat_leave(struct ifp_seat *seat);

enum ifp_seat_state {
	IFP_SEAT_GONE,	 /* there is no such file, or another than at the first look */
	IFP_SEAT_EMPTY,	 /* nobody has said anything in it */
	IFP_SEAT_UNSURE, /* somebody has, and may live */
	IFP_SEAT_ALIVE,
	IFP_SEAT_DEAD,
};

/* Another one, as it is seen from here. {0} has not looked yet. */
struct ifp_seat_view {
	cJSON *said; /* all members of all lines, the latest of a name; owned; NULL = nothing */
	dev_t device;
	ino_t inode; /* 0 = not looked yet */
	struct timespec beat;
	int64_t looked_ns, silent_ns;
	bool seen_locked, seen_beating;
	bool no_locks; /* the file system has none */
};

/* Looks once. Errors are those of reading the file. */
int ifp_seat_look(const char *path, struct ifp_seat_view *view, enum ifp_seat_state *state);

void ifp_seat_view_free(struct ifp_seat_view *view);
