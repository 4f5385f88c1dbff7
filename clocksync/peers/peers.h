/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The published methods of others, behind our own interface, to be measured against: for benchmarks
 * and tests only. Written from their papers and manuals, with the parameters that those give.
 */
#pragma once

#include "clocksync/estimate/aligner.h"

extern const struct ifp_aligner_ops ifp_peer_scorep;
extern const struct ifp_aligner_ops ifp_peer_skampi;
extern const struct ifp_aligner_ops ifp_peer_jones_koenig;
extern const struct ifp_aligner_ops ifp_peer_hca3;
extern const struct ifp_aligner_ops ifp_peer_perfetto;
extern const struct ifp_aligner_ops ifp_peer_extrae;
extern const struct ifp_aligner_ops ifp_peer_trace_compass;

/* All of them, ours first; ends with NULL. */
extern const struct ifp_aligner_ops *const ifp_peers_and_ours[];
