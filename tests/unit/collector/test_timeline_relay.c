/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of work by several threads, taken in order. */
#include "collector/timeline/relay.h"
#include "core/cleanup.h"
#include "test.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define PIECES 200u
#define NONE UINT32_MAX

struct piece {
	uint32_t i;
};

struct pieces {
	uint32_t fails_at_work, fails_at_take;
	uint32_t threads;
	atomic_uint alive, most_alive;
	uint32_t next; /* to be taken */
};

static atomic_uint dropped;

static int work(void *context, uint32_t i, void **out)
{
	struct pieces *pieces = context;
	struct piece *piece;
	unsigned int alive, most;

	if (i == pieces->fails_at_work)
		return ifp_fail(-EIO, "piece %u", i);
	piece = malloc(sizeof(*piece));
	assert_non_null(piece);
	piece->i = i;
	alive = atomic_fetch_add(&pieces->alive, 1) + 1;
	most = atomic_load(&pieces->most_alive);
	while (alive > most && !atomic_compare_exchange_weak(&pieces->most_alive, &most, alive))
		;
	*out = piece;
	return 0;
}

static int take(void *context, uint32_t i, void *result)
{
	struct pieces *pieces = context;
	struct piece *piece = result;

	assert_int_equal(i, pieces->next++);
	assert_int_equal(piece->i, i);
	free(piece);
	atomic_fetch_sub(&pieces->alive, 1);
	return i == pieces->fails_at_take ? ifp_fail(-ENOSPC, "take %u", i) : 0;
}

static void drop(void *result)
{
	free(result);
	atomic_fetch_add(&dropped, 1);
}

static int run(struct pieces *pieces, uint32_t count)
{
	const struct ifp_relay relay = {.count = count,
		.threads = pieces->threads,
		.context = pieces,
		.work = work,
		.take = take,
		.drop = drop};

	atomic_store(&dropped, 0);
	return ifp_relay_run(&relay);
}

static void pieces_are_taken_in_order_and_few_wait(void **state)
{
	static const uint32_t threads[] = {0, 1, 2, 7};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(threads); i++) {
		struct pieces pieces = {
			.fails_at_work = NONE, .fails_at_take = NONE, .threads = threads[i]};

		assert_ok(run(&pieces, PIECES));
		assert_int_equal(pieces.next, PIECES);
		assert_int_equal(pieces.alive, 0);
		if (threads[i])
			assert_true(pieces.most_alive <= threads[i] + 1);
	}
}

static void nothing_is_lost_when_there_is_nothing(void **state)
{
	struct pieces pieces = {.fails_at_work = NONE, .fails_at_take = NONE, .threads = 4};

	(void)state;
	assert_ok(run(&pieces, 0));
	assert_ok(run(&pieces, 1));
	assert_int_equal(pieces.next, 1);
}

static void the_first_failure_is_told_with_its_cause(void **state)
{
	static const uint32_t threads[] = {1, 3};
	char text[256];

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(threads); i++) {
		struct pieces pieces = {
			.fails_at_work = 50, .fails_at_take = NONE, .threads = threads[i]};

		assert_int_equal(run(&pieces, PIECES), -EIO);
		assert_string_equal(ifp_error_text(text, sizeof(text)), "piece 50");
		ifp_error_clear();
		assert_int_equal(pieces.next, 50);
		assert_int_equal(pieces.alive, dropped);

		pieces = (struct pieces){
			.fails_at_work = NONE, .fails_at_take = 20, .threads = threads[i]};
		assert_int_equal(run(&pieces, PIECES), -ENOSPC);
		ifp_error_clear();
		assert_int_equal(pieces.next, 21);
		assert_int_equal(pieces.alive, dropped);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_taken_in_order_and_few_wait),
		cmocka_unit_test(nothing_is_lost_when_there_is_nothing),
		cmocka_unit_test(the_first_failure_is_told_with_its_cause),
	};

	return RUN_TESTS(tests);
}
