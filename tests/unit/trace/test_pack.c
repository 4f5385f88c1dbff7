/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/pack.h"
#include "trace/archive/template.h"

#include "test.h"

#include <stdlib.h>

static struct ifp_unpack unpack(const struct ifp_pack *pack)
{
	return (struct ifp_unpack){.tokens = ifp_cursor(pack->tokens.data, pack->tokens.len_bytes),
		.bits = pack->bits.data,
		.bits_len = (uint64_t)pack->bits.len_bytes * 8};
}

/* Values around every power of two. */
static void numbers_of_every_length_come_back(void **state)
{
	struct ifp_pack pack = {0};
	struct ifp_unpack in;

	(void)state;
	for (unsigned int bit = 0; bit < 64; bit++)
		for (uint64_t near = 0; near < 3; near++)
			ifp_pack_put(&pack, (UINT64_C(1) << bit) - 1 + near);
	ifp_pack_put(&pack, UINT64_MAX);
	ifp_pack_end(&pack);
	in = unpack(&pack);
	for (unsigned int bit = 0; bit < 64; bit++)
		for (uint64_t near = 0; near < 3; near++)
			assert_int_equal(ifp_unpack_get(&in), (UINT64_C(1) << bit) - 1 + near);
	assert_int_equal(ifp_unpack_get(&in), UINT64_MAX);
	assert_false(in.tokens.failed);
	ifp_unpack_get(&in);
	assert_true(in.tokens.failed);
	ifp_pack_free(&pack);
}

static void a_series_is_its_numbers(void **state)
{
	struct ifp_pack pack = {0};
	struct ifp_unpack one_by_one, at_once;
	uint64_t values[192];

	(void)state;
	for (uint64_t i = 0; i < 192; i++)
		ifp_pack_put(&pack, i * i * UINT64_C(0x9e3779b97f4a7c15) >> i % 64);
	ifp_pack_end(&pack);
	one_by_one = at_once = unpack(&pack);
	ifp_unpack_series(&at_once, values, 192);
	for (uint64_t i = 0; i < 192; i++) {
		assert_int_equal(values[i], i * i * UINT64_C(0x9e3779b97f4a7c15) >> i % 64);
		assert_int_equal(ifp_unpack_get(&one_by_one), values[i]);
	}
	assert_false(at_once.tokens.failed);
	ifp_unpack_series(&at_once, values, 1);
	assert_true(at_once.tokens.failed);
	ifp_pack_free(&pack);
}

static void missing_bits_and_impossible_tokens_fail(void **state)
{
	const uint8_t tokens[] = {8, 255};
	struct ifp_unpack no_bits = {.tokens = ifp_cursor(tokens, 1)};
	struct ifp_unpack no_token = {
		.tokens = ifp_cursor(tokens + 1, 1), .bits = tokens, .bits_len = 16};

	(void)state;
	assert_int_equal(ifp_unpack_get(&no_bits), 4 << 1);
	assert_true(no_bits.tokens.failed);
	assert_int_equal(ifp_unpack_get(&no_token), 0);
	assert_true(no_token.tokens.failed);
}

static void differences_of_extremes_come_back(void **state)
{
	static const uint64_t values[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63, INT64_MAX};

	(void)state;
	for (size_t a = 0; a < 5; a++)
		for (size_t b = 0; b < 5; b++)
			assert_int_equal(ifp_unzigzag(ifp_zigzag(values[a], values[b]), values[b]),
				values[a]);
	assert_int_equal(ifp_zigzag(9, 10), 1);
	assert_int_equal(ifp_zigzag(11, 10), 2);
}

static void assert_splits(const char *text, const char *form, const char *numbers)
{
	IFP_CLEANUP_BUF struct ifp_buf got = {0}, joined = {0}, list = {0};
	uint64_t values[16];
	uint32_t count = ifp_template_split(ifp_str(text), &got, values, 16);
	struct ifp_str template = {(const char *)got.data, (uint32_t)got.len_bytes};

	assert_str(template, form);
	assert_int_equal(ifp_template_slots(template), count);
	for (uint32_t i = 0; i < count; i++)
		ifp_buf_printf(&list, "%llu ", (unsigned long long)values[i]);
	assert_str(((struct ifp_str){(const char *)list.data, (uint32_t)list.len_bytes}), numbers);
	ifp_template_join(template, values, &joined);
	assert_str(((struct ifp_str){(const char *)joined.data, (uint32_t)joined.len_bytes}), text);
}

static void numbers_are_cut_out_of_texts(void **state)
{
	(void)state;
	assert_splits("", "", "");
	assert_splits("{\"a\":12}", "{\"a\":1}", "12 ");
	assert_splits("[0,10,-3.25]", "[1,1,-1.1]", "0 10 3 25 ");
	/* Zeros that lead a number stay in the text. */
	assert_splits("0.007 00 01", "1.001 01 01", "0 7 0 1 ");
	/* Numbers of more than 18 digits are cut. */
	assert_splits("1234567890123456789", "11", "123456789012345678 9 ");
	assert_splits("12345678901234567800", "101", "123456789012345678 0 ");
}

static void too_many_numbers_are_refused(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf form = {0};
	uint64_t values[2];

	(void)state;
	assert_int_equal(ifp_template_split(ifp_str("1,2"), &form, values, 2), 2);
	assert_int_equal(ifp_template_split(ifp_str("1,2,3"), &form, values, 2), UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_every_length_come_back),
		cmocka_unit_test(a_series_is_its_numbers),
		cmocka_unit_test(missing_bits_and_impossible_tokens_fail),
		cmocka_unit_test(differences_of_extremes_come_back),
		cmocka_unit_test(numbers_are_cut_out_of_texts),
		cmocka_unit_test(too_many_numbers_are_refused),
	};

	return RUN_TESTS(tests);
}
