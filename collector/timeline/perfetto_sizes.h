/* SPDX-License-Identifier: Apache-2.0 */
/* What elements take in sink_perfetto.c at most: its calls *_bytes, as sink.h says. */
#pragma once

#include "collector/timeline/sink.h"

uint64_t ifp_perfetto_sizes_rank(const struct ifp_sink *sink, const struct ifp_sink_rank *rank);
uint64_t ifp_perfetto_sizes_lane(const struct ifp_sink *sink, const struct ifp_sink_lane *lane);
uint64_t ifp_perfetto_sizes_slice(
	const struct ifp_sink *sink, const struct ifp_sink_slice *slice, struct ifp_once *once);
uint64_t ifp_perfetto_sizes_moment(
	const struct ifp_sink *sink, const struct ifp_sink_moment *moment, struct ifp_once *once);
uint64_t ifp_perfetto_sizes_flow(
	const struct ifp_sink *sink, const struct ifp_sink_flow *flow, struct ifp_once *once);
uint64_t ifp_perfetto_sizes_frame(const struct ifp_sink *sink, uint64_t note_text_bytes);
