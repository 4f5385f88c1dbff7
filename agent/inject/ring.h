/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writing side of core/segment.h: this library's only way of recording.
 *
 * It runs inside somebody else's program, so putting a mark takes no lock, no system call, no
 * memory, never waits and never prints. The first mark of a process opens the segment, the first
 * mark of a thread claims a ring; both may make system calls, leave errno alone, and when they
 * fail, marks are dropped and counted.
 *
 * Threads: everything here may be called from any thread. Fork: the child starts from nothing and
 * claims rings of its own.
 */
#pragma once

#include "core/segment.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Ranges nest per thread and stack: mark.h has one, every NVTX domain has one. The depth of the
 * first IFP_STACKS_TRACKED is known to the writer and written with each push and pop, so that a
 * dropped one cannot shift the others; in stacks beyond them it is IFP_MARK_DEPTH_UNKNOWN.
 */
#define IFP_STACK_API 0
#define IFP_STACK_NVTX 1 /* NVTX' default domain; named domains follow */
#define IFP_STACKS_TRACKED 24

/* A mark on its way into a ring. The name is prefix and name, one behind the other. */
struct ifp_mark {
	uint8_t kind;	/* enum ifp_mark_kind */
	uint8_t origin; /* enum ifp_mark_origin */
	uint16_t stack; /* of PUSH and POP */
	uint64_t value;
	uint64_t stamp;	    /* 0 = now */
	const char *prefix; /* NULL where prefix_bytes is 0 */
	size_t prefix_bytes;
	const char *name; /* NUL-terminated; NULL = no name */
};

/* The segment that the environment names, opened by the first call; NULL when there is none. */
struct ifp_segment_header *ifp_inject_segment(void);

/* The moment in the form of a mark's stamp; 0 where there is no segment. */
uint64_t ifp_ring_now(void);

/* Stamps the mark and writes it. False when it was dropped. */
bool ifp_ring_put(const struct ifp_mark *mark);

/*
 * Put a PUSH or POP with the depth of the range that it opens or closes, and return that depth; -1
 * where nothing was open or the depth is unknown.
 */
int ifp_ring_push(struct ifp_mark *mark);
int ifp_ring_pop(struct ifp_mark *mark);

/* Puts a START with a new id and returns the id; 0 when it was dropped. */
uint64_t ifp_ring_start(struct ifp_mark *mark);

/* The process that the calling code runs in; right in a forked child, without a system call. */
uint32_t ifp_inject_pid(void);
