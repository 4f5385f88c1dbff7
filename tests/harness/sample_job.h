/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the archive of a small job that never ran: data-parallel training on one host, one clock,
 * with a mark and two gloo:all_reduce in each step of each rank. For tests of what reads archives.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_ALL_RANKS UINT32_MAX

struct sample_job {
	uint32_t ranks, steps;
	uint32_t slow_rank;
	int64_t slow_ns;    /* that this rank loses before the first collective of each step */
	uint32_t only_rank; /* SAMPLE_ALL_RANKS, or: only this rank's frames, as in a spool */
	const char *job;    /* its name */
	bool ended_early;   /* no rank has recorded its window */
};

/* Events that the archive holds of each rank. */
static inline uint64_t sample_job_events_per_rank(const struct sample_job *job)
{
	return (uint64_t)job->steps * 4;
}

/* 0, or negative errno with a cause. */
int sample_job_write(const char *path, const struct sample_job *job);
