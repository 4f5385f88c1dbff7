/* SPDX-License-Identifier: Apache-2.0 */
/* The edges that agents report: from JSON to a CLOCK frame. */
#pragma once

#include "collector/receive/outlet.h"
#include "trace/archive/clock_samples.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/*
 * Fills interval, best stamps and number of round trips; epoch, ranks and over_mpi stay as they
 * are. False for a document that is not whole or contradicts itself.
 */
bool ifp_edge_document_read(const cJSON *document, struct ifp_clock_edge *edge);

/* Stores it as a CLOCK frame of the rank that measured. */
void ifp_edge_store(const struct ifp_outlet *outlet, struct ifp_clock_edge *edge);
