/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/wire/message.h"

#include "test.h"

#include <errno.h>
#include <stdbool.h>

static const uint8_t payload[] = "{\"sequence\":\"12\"}";

static void encode(struct ifp_buf *buf)
{
	const struct ifp_message in = {.type = IFP_MSG_ACK,
		.rank = 5,
		.run_id = UINT64_C(0x0123456789abcdef),
		.payload = payload,
		.payload_bytes = sizeof(payload)};

	ifp_message_encode(&in, buf);
}

static void message_comes_back(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_message out;

	(void)state;
	encode(&buf);
	assert_ok(ifp_message_decode(buf.data, buf.len_bytes, &out));
	assert_int_equal(out.type, IFP_MSG_ACK);
	assert_int_equal(out.rank, 5);
	assert_int_equal(out.run_id, UINT64_C(0x0123456789abcdef));
	assert_int_equal(out.payload_bytes, sizeof(payload));
	assert_memory_equal(out.payload, payload, sizeof(payload));
}

static void message_without_payload_comes_back(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_message out;

	(void)state;
	ifp_message_encode(&(struct ifp_message){.type = IFP_MSG_FLUSH}, &buf);
	assert_ok(ifp_message_decode(buf.data, buf.len_bytes, &out));
	assert_int_equal(out.type, IFP_MSG_FLUSH);
	assert_int_equal(out.payload_bytes, 0);
}

static void every_cut_and_anything_behind_is_refused(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_message out;

	(void)state;
	encode(&buf);
	for (size_t len = 0; len < buf.len_bytes; len++)
		assert_int_equal(ifp_message_decode(buf.data, len, &out), -EBADMSG);
	ifp_buf_append_u8(&buf, 0);
	assert_int_equal(ifp_message_decode(buf.data, buf.len_bytes, &out), -EBADMSG);
	ifp_error_clear();
}

static void another_version_is_named(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_message out;
	char text[256];

	(void)state;
	encode(&buf);
	buf.data[4] = IFP_WIRE_VERSION + 1;
	ifp_error_clear();
	assert_int_equal(ifp_message_decode(buf.data, buf.len_bytes, &out), -EPROTO);
	assert_string_equal(ifp_error_text(text, sizeof(text)),
		"the other side speaks wire version 2, this side version 1");
	ifp_error_clear();
}

static void unknown_types_are_refused(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_message out;

	(void)state;
	encode(&buf);
	for (unsigned int type = 0; type < 256; type++) {
		bool known = (type >= 1 && type <= 8) || (type >= 32 && type <= 41);

		buf.data[6] = (uint8_t)type;
		assert_int_equal(
			ifp_message_decode(buf.data, buf.len_bytes, &out), known ? 0 : -EBADMSG);
	}
	ifp_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_comes_back),
		cmocka_unit_test(message_without_payload_comes_back),
		cmocka_unit_test(every_cut_and_anything_behind_is_refused),
		cmocka_unit_test(another_version_is_named),
		cmocka_unit_test(unknown_types_are_refused),
	};

	return RUN_TESTS(tests);
}
