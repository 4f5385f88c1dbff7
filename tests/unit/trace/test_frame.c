/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/frame.h"

#include "test.h"

#include <errno.h>

static const uint8_t payload[] = "some bytes";

static struct ifp_frame events_frame(void)
{
	return (struct ifp_frame){.type = IFP_FRAME_EVENTS,
		.rank = 3,
		.sequence = UINT64_C(1) << 40,
		.event_count = 77,
		.payload = payload,
		.payload_bytes = sizeof(payload)};
}

static void frame_comes_back(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	const struct ifp_frame in = events_frame();
	struct ifp_frame out;
	size_t used;

	(void)state;
	ifp_frame_encode(&in, &buf);
	ifp_buf_append_text(&buf, "what follows");
	assert_ok(ifp_frame_decode(buf.data, buf.len_bytes, &out, &used));
	assert_int_equal(used, IFP_FRAME_HEADER_BYTES + sizeof(payload));
	assert_int_equal(out.type, IFP_FRAME_EVENTS);
	assert_int_equal(out.rank, 3);
	assert_int_equal(out.sequence, UINT64_C(1) << 40);
	assert_int_equal(out.event_count, 77);
	assert_int_equal(out.payload_bytes, sizeof(payload));
	assert_memory_equal(out.payload, payload, sizeof(payload));
}

static void every_cut_asks_for_more(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	const struct ifp_frame in = events_frame();
	struct ifp_frame out;
	size_t used;

	(void)state;
	ifp_frame_encode(&in, &buf);
	for (size_t len = 0; len < buf.len_bytes; len++)
		assert_int_equal(ifp_frame_decode(buf.data, len, &out, &used), -EAGAIN);
}

static void every_flipped_bit_is_found(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	const struct ifp_frame in = events_frame();
	struct ifp_frame out;
	size_t used;

	(void)state;
	ifp_frame_encode(&in, &buf);
	for (size_t bit = 0; bit < buf.len_bytes * 8; bit++) {
		buf.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(ifp_frame_decode(buf.data, buf.len_bytes, &out, &used), -EBADMSG);
		buf.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	ifp_error_clear();
}

static void fields_out_of_range_are_refused(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_frame in = events_frame(), out;
	size_t used;

	(void)state;
	in.type = IFP_FRAME_TYPE_MAX;
	ifp_frame_encode(&in, &buf);
	assert_int_equal(ifp_frame_decode(buf.data, buf.len_bytes, &out, &used), -EBADMSG);
	in.type = IFP_FRAME_RUN; /* a document has no events */
	ifp_buf_clear(&buf);
	ifp_frame_encode(&in, &buf);
	assert_int_equal(ifp_frame_decode(buf.data, buf.len_bytes, &out, &used), -EBADMSG);
	ifp_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_comes_back),
		cmocka_unit_test(every_cut_asks_for_more),
		cmocka_unit_test(every_flipped_bit_is_found),
		cmocka_unit_test(fields_out_of_range_are_refused),
	};

	return RUN_TESTS(tests);
}
