/* SPDX-License-Identifier: Apache-2.0 */
/* The interner and the arena that holds its texts. */
#include "core/arena.h"
#include "core/intern.h"

#include "test.h"

#include <errno.h>
#include <stdio.h>

static void pieces_are_aligned_and_do_not_move(void **state)
{
	IFP_CLEANUP_ARENA struct ifp_arena arena = {0};
	char *pieces[2000];

	(void)state;
	for (size_t i = 0; i < 2000; i++) {
		pieces[i] = ifp_arena_alloc(&arena, i + 1);
		assert_int_equal((uintptr_t)pieces[i] % 16, 0);
		memset(pieces[i], (int)(i % 251), i + 1);
	}
	for (size_t i = 0; i < 2000; i++) {
		assert_int_equal((unsigned char)pieces[i][0], i % 251);
		assert_int_equal((unsigned char)pieces[i][i], i % 251);
	}
}

static void a_piece_may_be_larger_than_a_chunk(void **state)
{
	IFP_CLEANUP_ARENA struct ifp_arena arena = {0};
	char *large = ifp_arena_alloc(&arena, 1000000);

	(void)state;
	memset(large, 1, 1000000);
	assert_true(arena.total_bytes >= 1000000);
	assert_null(ifp_arena_alloc(&arena, SIZE_MAX - 4));
	ifp_arena_free(&arena);
	assert_int_equal(arena.total_bytes, 0);
	assert_non_null(ifp_arena_alloc(&arena, 1));
}

static void copies_end_with_nul(void **state)
{
	IFP_CLEANUP_ARENA struct ifp_arena arena = {0};
	struct ifp_str copy = ifp_arena_copy(&arena, (struct ifp_str){"stepping", 4});

	(void)state;
	assert_string_equal(copy.ptr, "step");
	copy = ifp_arena_copy(&arena, (struct ifp_str){0});
	assert_string_equal(copy.ptr, "");
}

static void equal_texts_share_an_id_in_order_of_appearance(void **state)
{
	IFP_CLEANUP_INTERN struct ifp_intern intern = {0};
	char text[32];
	uint32_t id;

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 5000; i++) {
			snprintf(text, sizeof(text), "aten::op_%u", i);
			assert_int_equal(ifp_intern(&intern, ifp_str(text), &id), 0);
			assert_int_equal(id, i);
		}
	}
	assert_int_equal(intern.count, 5000);
	assert_str(ifp_intern_text(&intern, 4321), "aten::op_4321");
}

static void the_empty_text_is_a_text(void **state)
{
	IFP_CLEANUP_INTERN struct ifp_intern intern = {0};
	uint32_t id = 9;

	(void)state;
	assert_int_equal(ifp_intern(&intern, ifp_str("a"), &id), 0);
	assert_int_equal(ifp_intern(&intern, (struct ifp_str){0}, &id), 0);
	assert_int_equal(id, 1);
	assert_int_equal(ifp_intern(&intern, ifp_str(""), &id), 0);
	assert_int_equal(id, 1);
}

static void clearing_starts_again_at_zero(void **state)
{
	IFP_CLEANUP_INTERN struct ifp_intern intern = {0};
	uint32_t id;

	(void)state;
	assert_int_equal(ifp_intern(&intern, ifp_str("a"), &id), 0);
	assert_int_equal(ifp_intern(&intern, ifp_str("b"), &id), 0);
	ifp_intern_clear(&intern);
	assert_int_equal(intern.count, 0);
	assert_int_equal(ifp_intern(&intern, ifp_str("b"), &id), 0);
	assert_int_equal(id, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_aligned_and_do_not_move),
		cmocka_unit_test(a_piece_may_be_larger_than_a_chunk),
		cmocka_unit_test(copies_end_with_nul),
		cmocka_unit_test(equal_texts_share_an_id_in_order_of_appearance),
		cmocka_unit_test(the_empty_text_is_a_text),
		cmocka_unit_test(clearing_starts_again_at_zero),
	};

	return RUN_TESTS(tests);
}
