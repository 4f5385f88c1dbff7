/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame: what stands before every payload in an archive, in a spool and on the wire. 48 bytes,
 * little endian, with one checksum over the payload and one over the header, so that a reader finds
 * the next intact frame by scanning when something before it is damaged, and can trust a header
 * without reading its payload.
 */
#pragma once

#include "core/buf.h"

#include <stdint.h>

#define IFP_FRAME_HEADER_BYTES 48u
#define IFP_FRAME_MAX_PAYLOAD_BYTES (64u * 1024u * 1024u)

/* Numbers are part of the format: append only. Documents: see docs/format-archive.md. */
enum ifp_frame_type {
	IFP_FRAME_EVENTS = 1, /* a block (block.h); sequence counts per rank, from 1, no gaps */
	IFP_FRAME_RUN = 2,    /* document: the run: id, program, start, infprof's version */
	IFP_FRAME_RANK = 3,   /* document: one rank: identity, host, clocks */
	IFP_FRAME_CLOCK = 4,  /* clock samples of one rank (clock_samples.h) */
	IFP_FRAME_LEDGER = 5, /* document: rows of the ledger of one rank */
	IFP_FRAME_WINDOW = 6, /* document: what became of one window on one rank */
	IFP_FRAME_END = 7,    /* document: how one rank ended */
	IFP_FRAME_INDEX = 8,  /* places of all frames; last in a complete archive */
	IFP_FRAME_TYPE_MAX = 9,
};

/* rank of frames that belong to the whole run */
#define IFP_FRAME_NO_RANK UINT32_MAX

struct ifp_frame {
	enum ifp_frame_type type;
	uint32_t rank;
	uint64_t sequence; /* per rank, over all types a rank sends; 0 = written by the collector */
	uint32_t event_count; /* of an EVENTS payload, 0 for others */
	const uint8_t *payload;
	uint32_t payload_bytes;
};

/* Appends header and payload. */
void ifp_frame_encode(const struct ifp_frame *frame, struct ifp_buf *out);

/* Appends the header alone; the payload is read for its checksum. */
void ifp_frame_encode_header(const struct ifp_frame *frame, struct ifp_buf *out);

/*
 * Reads the header at the start of data: 0, *frame (payload is NULL) and the checksum that the
 * payload must have (core/checksum.h); -EAGAIN when there are less than IFP_FRAME_HEADER_BYTES (no
 * cause recorded); -EBADMSG with a cause when this is no intact header.
 */
int ifp_frame_decode_header(
	const void *data, size_t len_bytes, struct ifp_frame *frame, uint64_t *payload_checksum);

/*
 * Reads the frame at the start of data: 0 and *frame (payload points into data) and the whole
 * frame's length in *used_bytes; -EAGAIN when data ends before the frame does (no cause recorded);
 * -EBADMSG with a cause when this is no intact frame.
 */
int ifp_frame_decode(
	const void *data, size_t len_bytes, struct ifp_frame *frame, size_t *used_bytes);
