/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small binary forms: a frame, a message, clock samples; which one, the first byte says. What
 * is accepted must come out the same when it is written and read again.
 */
#include "fuzz.h"

#include "core/error.h"
#include "repair.h"
#include "trace/archive/clock_samples.h"
#include "trace/archive/frame.h"
#include "trace/wire/message.h"

#include <errno.h>

static bool same_bytes(const struct ifp_buf *a, const struct ifp_buf *b)
{
	return a->len_bytes == b->len_bytes &&
	       (!a->len_bytes || !memcmp(a->data, b->data, a->len_bytes));
}

static void frame(const uint8_t *data, size_t len_bytes)
{
	IFP_CLEANUP_BUF struct ifp_buf own = {0};
	IFP_CLEANUP_BUF struct ifp_buf again = {0};
	struct ifp_frame found;
	size_t used_bytes = 0;
	int err;

	ifp_buf_append(&own, data, len_bytes);
	if (own.len_bytes)
		fuzz_repair_frames(own.data, own.len_bytes, 0);
	err = ifp_frame_decode(own.data, own.len_bytes, &found, &used_bytes);
	if (err) {
		require(err == -EBADMSG || err == -EAGAIN);
		return;
	}
	require(used_bytes <= own.len_bytes);
	own.len_bytes = used_bytes;
	ifp_frame_encode(&found, &again);
	require(same_bytes(&own, &again));
}

static void message(const uint8_t *data, size_t len_bytes)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	struct ifp_message first, second;
	int err = ifp_message_decode(data, len_bytes, &first);

	if (err) {
		require(err == -EBADMSG || err == -EPROTO);
		return;
	}
	ifp_message_encode(&first, &text);
	require(!ifp_message_decode(text.data, text.len_bytes, &second));
	require(first.type == second.type && first.rank == second.rank &&
		first.run_id == second.run_id && first.payload_bytes == second.payload_bytes);
	require(!first.payload_bytes ||
		!memcmp(first.payload, second.payload, first.payload_bytes));
}

static void clock_samples(const uint8_t *data, size_t len_bytes)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	IFP_CLEANUP_BUF struct ifp_buf again = {0};
	struct ifp_clock_samples first = {0}, second = {0};
	int err = ifp_clock_samples_decode(data, len_bytes, &first);

	if (err) {
		require(err == -EBADMSG);
		return;
	}
	ifp_clock_samples_encode(&first, &text);
	require(!ifp_clock_samples_decode(text.data, text.len_bytes, &second));
	ifp_clock_samples_encode(&second, &again);
	require(same_bytes(&text, &again));
	ifp_clock_samples_free(&first);
	ifp_clock_samples_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static void (*const forms[])(const uint8_t *, size_t) = {frame, message, clock_samples};

	if (!len_bytes)
		return 0;
	forms[data[0] % 3](data + 1, len_bytes - 1);
	ifp_error_clear();
	return 0;
}
