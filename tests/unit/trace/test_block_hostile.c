/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads that no encoder made: each gives an error or events, and nothing else happens. */
#include "trace/archive/block_layout.h"

#include "block_events.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <zstd.h>

#define EVENTS 60u

static void make_payload(uint64_t seed, struct ifp_buf *payload)
{
	IFP_CLEANUP_ARENA struct ifp_arena arena = {0};
	struct ifp_event events[EVENTS];
	struct random random = {seed};

	for (uint32_t i = 0; i < EVENTS; i++) {
		events[i] = random_event(&random, &arena);
		if (events[i].name.len_bytes > 100) /* keep the payload small */
			events[i].name.len_bytes = 100;
	}
	encode_events(events, EVENTS, payload);
}

/* Touches every byte that a decoded block offers, so that a sanitizer sees wrong ones. */
static uint64_t read_everything(const struct ifp_block *block)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < block->count; i++) {
		const struct ifp_event *e = &block->events[i];
		const struct ifp_str texts[] = {e->name, e->category, e->args, e->extra,
			e->lane.pid_text, e->lane.tid_text};

		assert_in_range(e->kind, 0, IFP_EVENT_KIND_MAX - 1);
		assert_in_range(e->clock, 0, IFP_CLOCK_DOMAIN_MAX - 1);
		for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
			for (uint32_t at = 0; at < texts[t].len_bytes; at++)
				sum += (unsigned char)texts[t].ptr[at];
	}
	return sum;
}

/* From a heap block of the exact size: reading beyond it is found under AddressSanitizer. */
static int decode_exact(const void *payload, size_t len)
{
	void *copy = malloc(len ? len : 1);
	struct ifp_block block;
	int err;

	memcpy(copy, payload, len);
	err = ifp_block_decode(copy, len, &block);
	free(copy);
	if (!err) {
		read_everything(&block);
		ifp_block_free(&block);
	}
	ifp_error_clear();
	return err;
}

static void every_cut_is_refused(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};

	(void)state;
	make_payload(1, &payload);
	for (size_t len = 1; len < payload.len_bytes; len++)
		assert_int_equal(decode_exact(payload.data, len), -EBADMSG);
	ifp_buf_append_u8(&payload, 0);
	assert_int_equal(decode_exact(payload.data, payload.len_bytes), -EBADMSG);
}

/* A flip inside of a text or a number gives other events: the frame's checksum is for that. */
static void a_flipped_bit_of_any_byte_is_survived(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct random random = {8};
	size_t refused = 0;

	(void)state;
	make_payload(2, &payload);
	for (size_t at = 0; at < payload.len_bytes; at++) {
		uint8_t bit = (uint8_t)(1u << random_below(&random, 8));
		int err;

		payload.data[at] ^= bit;
		err = decode_exact(payload.data, payload.len_bytes);
		payload.data[at] ^= bit;
		assert_true(err == 0 || err == -EBADMSG);
		refused += err != 0;
	}
	assert_true(refused > 0);
}

static void random_changes_are_survived(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0}, changed = {0};
	struct random random = {3};

	(void)state;
	make_payload(4, &payload);
	for (uint32_t round = 0; round < 3000; round++) {
		int err;

		ifp_buf_clear(&changed);
		ifp_buf_append(&changed, payload.data, payload.len_bytes);
		for (uint64_t changes = 1 + random_below(&random, 8); changes; changes--)
			changed.data[random_below(&random, changed.len_bytes)] =
				(uint8_t)random_next(&random);
		err = decode_exact(changed.data, changed.len_bytes);
		assert_true(err == 0 || err == -EBADMSG);
	}
}

static void random_bytes_are_refused(void **state)
{
	struct random random = {5};
	uint8_t bytes[300];

	(void)state;
	for (uint32_t round = 0; round < 2000; round++) {
		size_t len = 1 + (size_t)random_below(&random, sizeof(bytes));

		for (size_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)random_next(&random);
		if (round % 2)
			bytes[0] = 1; /* the version of the format */
		assert_int_equal(decode_exact(bytes, len), -EBADMSG);
	}
}

static void another_version_is_named(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_block block;
	char text[256];

	(void)state;
	make_payload(6, &payload);
	payload.data[0] = 2;
	assert_int_equal(ifp_block_decode(payload.data, payload.len_bytes, &block), -EBADMSG);
	assert_string_equal(ifp_error_text(text, sizeof(text)), "a block of version 2, not 1");
	ifp_error_clear();
}

static long peak_kib(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss;
}

/* A head that asks for as much of everything as it can, and sections of zeros that uncompress. */
static void a_lying_head_takes_little_memory(void **state)
{
	static const uint8_t zeros[512 * 1024];
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	uint8_t section[1024];
	size_t section_bytes = ZSTD_compress(section, sizeof(section), zeros, sizeof(zeros), 3);
	long before_kib = peak_kib();

	(void)state;
	assert_false(ZSTD_isError(section_bytes));
	ifp_buf_append_u8(&payload, 1);
	ifp_buf_append_varint(&payload, IFP_BLOCK_MAX_EVENTS);
	ifp_buf_append_varint(&payload, IFP_BLOCK_MAX_EVENTS * 5);
	for (int i = 0; i < 5; i++)
		ifp_buf_append_varint(&payload, IFP_BLOCK_MAX_EVENTS);
	ifp_buf_append_varint(&payload, IFP_BLOCK_MAX_SLOTS);
	for (unsigned int i = 0; i < IFP_SECTION_COUNT; i++) {
		ifp_buf_append_varint(&payload, sizeof(zeros));
		ifp_buf_append_varint(&payload, section_bytes);
	}
	for (unsigned int i = 0; i < IFP_SECTION_COUNT; i++)
		ifp_buf_append(&payload, section, section_bytes);
	assert_int_equal(decode_exact(payload.data, payload.len_bytes), -EBADMSG);
	assert_true(peak_kib() - before_kib < 64 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First, because it looks at the largest memory so far. */
		cmocka_unit_test(a_lying_head_takes_little_memory),
		cmocka_unit_test(every_cut_is_refused),
		cmocka_unit_test(a_flipped_bit_of_any_byte_is_survived),
		cmocka_unit_test(random_changes_are_survived),
		cmocka_unit_test(random_bytes_are_refused),
		cmocka_unit_test(another_version_is_named),
	};

	return RUN_TESTS(tests);
}
