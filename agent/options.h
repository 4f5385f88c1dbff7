/* SPDX-License-Identifier: Apache-2.0 */
/* The options of infprof-agent: one table for command line, environment, config file, documents. */
#pragma once

#include "core/options.h"
#include "core/timeline_limits.h"

#include <stdbool.h>
#include <stdint.h>

#define IFP_AGENT_MAX_WINDOWS 32

enum ifp_clock_choice {
	IFP_CLOCK_AUTO,
	IFP_CLOCK_MPI,
	IFP_CLOCK_ZMQ,
};

enum ifp_mpi_choice {
	IFP_MPI_AUTO,
	IFP_MPI_ON,
	IFP_MPI_OFF,
};

struct ifp_agent_options {
	const char *output; /* NULL = chosen */
	struct ifp_option_list steps;
	int64_t warmup;
	int64_t duration_ns;
	const char *collector;
	const char *key_file;
	int clock; /* enum ifp_clock_choice */
	int64_t clock_interval_ns; /* 0 = off */
	int mpi;   /* enum ifp_mpi_choice */
	int64_t spool_bytes;
	struct ifp_timeline_limits limits; /* for a collector that is started */
	bool quiet;
	bool off;
};

extern const struct ifp_command ifp_agent_command;
extern const struct ifp_agent_options ifp_agent_option_defaults;
extern const char *const ifp_clock_choices[];
extern const char *const ifp_mpi_choices[];

/* A window that the user asks for. */
struct ifp_window_wish {
	uint64_t first; /* 0 = as soon as possible */
	uint64_t count;
};

struct ifp_window_wishes {
	struct ifp_window_wish items[IFP_AGENT_MAX_WINDOWS];
	uint32_t count;
};

/*
 * Reads the texts of --steps: "5" = a count, "200:205" = steps 200 up to and with 205, "0" = none.
 * Without any: as many as world ranks need for a verdict, 5 at least. -EINVAL with a cause for
 * anything else.
 */
int ifp_agent_windows(
	const struct ifp_option_list *steps, uint32_t world, struct ifp_window_wishes *out);
