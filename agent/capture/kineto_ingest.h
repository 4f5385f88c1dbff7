/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the file of one window into events, in pieces, so that the agent's loop stays responsive,
 * and finds in it what the window is checked by: the optimizer's steps and the extent.
 */
#pragma once

#include "agent/capture/capture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Events per call of ifp_kineto_ingest_some(): some milliseconds of work. */
#define IFP_KINETO_INGEST_EVENTS 4096

struct ifp_chrome_reader;

struct ifp_kineto_ingest {
	struct ifp_chrome_reader *reader;
	char path[128];
	int64_t cut_ns; /* REALTIME: what begins later is left out; INT64_MAX = nothing is */
	/*
	 * Kernels run long after their launch: those are left out whose launch is. Correlation
	 * numbers grow with time, and the file is in no order, so the first one left out is looked
	 * for in a pass of its own.
	 */
	bool surveying;
	uint64_t first_cut_correlation; /* UINT64_MAX = none */
	uint64_t events;		/* taken by the sink */
	uint64_t left_out;
	uint64_t set_aside; /* elements that are no events (trace/chrome/reader.h) */
	uint64_t repaired;  /* elements that the reader repaired */
	uint64_t negative;  /* slices that end before they begin; handed on as they are */
	uint64_t slices;			    /* on threads and streams */
	int64_t start_realtime_ns, end_realtime_ns; /* extent of the slices */
	/* Ends of the "Optimizer.step#..." ranges; in order once everything has been read. Owned.
	 */
	int64_t *step_end_ns;
	size_t step_count, step_capacity;
};

int ifp_kineto_ingest_open(struct ifp_kineto_ingest *ingest, const char *path, int64_t cut_ns);

/* 1 = there is more; 0 = the whole file has been read; negative errno = damaged from here on. */
int ifp_kineto_ingest_some(struct ifp_kineto_ingest *ingest, const struct ifp_sink *sink);

/* Frees what it owns; it is empty and may be opened again. */
void ifp_kineto_ingest_close(struct ifp_kineto_ingest *ingest);
