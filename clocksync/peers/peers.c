/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/peers/peers.h"

#include <stddef.h>

const struct ifp_aligner_ops *const ifp_peers_and_ours[] = {
	&ifp_aligner_online,
	&ifp_aligner_offline,
	&ifp_peer_scorep,
	&ifp_peer_skampi,
	&ifp_peer_jones_koenig,
	&ifp_peer_hca3,
	&ifp_peer_perfetto,
	&ifp_peer_extrae,
	&ifp_peer_trace_compass,
	NULL,
};
