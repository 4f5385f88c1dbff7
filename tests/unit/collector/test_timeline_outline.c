/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths of short texts by the looks of events are those of the texts themselves. */
#include "collector/timeline/outline.h"

#include "collector/timeline/brief.h"
#include "make_archive.h"

#include "test.h"

#include <stdlib.h>
#include <unistd.h>

static char path[64];

/* Args in which @ is a small number that differs, # a large one, & one of few. */
static const char *const forms[] = {
	"{\"External id\":@,\"Input Dims\":[[32,196,768]],\"Ev Idx\":#}",
	"{\"grid\":[@,1,1],\"block\":[&,1,1],\"stream\":7}",
	"{\"seconds\":0.00@,\"text\":\"# of \\u00e9\",\"\":1}",
	"{\"a @\":1,\"b\":2}",
	"{\"plain\":true,\"correlation\":#}",
	/* At the length from which on values are cut, and beyond it. */
	"{\"long\":[1111111111,2222222222,3333333333,4444444444,5555555,@],\"x\":1}",
	"{\"long\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa&\","
	"\"cbid\":@}",
	/* At that from which on members are left out. */
	"{\"k1\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","
	"\"k2\":\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\","
	"\"k3\":\"ccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\","
	"\"k4\":\"ddddddddddddddddddddddddddddddddddddddddddddddddddddddddd\","
	"\"k5\":@,\"k6\":#,\"k7\":[1,2,3,4]}",
	"not an object @",
	"{}",
};

static const char *const names[] = {"aten::mm",
	"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
	"std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)"};

/* Numbers of every length. */
static void append_args(struct ifp_buf *args, const char *form, uint64_t i)
{
	for (; *form; form++) {
		if (*form == '@')
			ifp_buf_append_unsigned(args, i * i * i, 1);
		else if (*form == '#')
			ifp_buf_append_unsigned(args, UINT64_C(1) << i, 1);
		else if (*form == '&')
			ifp_buf_append_unsigned(args, i % 2 * 99, 1);
		else
			ifp_buf_append_u8(args, (uint8_t)*form);
	}
}

static void make(enum ifp_event_source source)
{
	struct archive_maker maker;
	int64_t at = 0;

	archive_maker_open(&maker, path, 1);
	for (uint64_t i = 0; i < 60; i++)
		for (size_t f = 0; f < IFP_ARRAY_SIZE(forms); f++) {
			IFP_CLEANUP_BUF struct ifp_buf args = {0};

			append_args(&args, forms[f], i);
			archive_maker_event(&maker, 0,
				&(struct ifp_event){.kind = IFP_EVENT_SLICE,
					.source = source,
					.clock = IFP_CLOCK_REALTIME,
					.lane = {.pid = 1, .tid = 1},
					.name = ifp_str(names[i % 2]),
					.category = ifp_str("cpu_op"),
					.start = at += 10,
					.dur = 5,
					.args = {(const char *)args.data,
						(uint32_t)args.len_bytes}});
		}
	archive_maker_close(&maker);
}

static bool none(const struct ifp_event *look)
{
	(void)look;
	return false;
}

/* lean: as the events come without their args. */
static void assert_lengths(enum ifp_event_source source, bool lean)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	IFP_CLEANUP(ifp_rank_events_free) struct ifp_rank_events events = {0}, whole = {0};
	IFP_CLEANUP(ifp_outlines_free) struct ifp_outlines outlines = {0};
	IFP_CLEANUP_BUF struct ifp_buf text = {0}, args = {0};

	strcpy(path, "/tmp/infprof-outline-XXXXXX");
	close(mkstemp(path));
	make(source);
	assert_ok(ifp_run_open(path, &run));
	unlink(path);
	assert_ok(ifp_run_read_events(run, 0, lean ? none : NULL, &events));
	assert_ok(ifp_run_read_events(run, 0, NULL, &whole));
	assert_int_equal(events.count, 60 * IFP_ARRAY_SIZE(forms));
	assert_int_equal(whole.count, events.count);
	assert_ok(ifp_outlines_begin(&events, &outlines));
	for (uint64_t i = 0; i < events.count; i++) {
		const struct ifp_timed_event *timed = &events.events[i];
		struct ifp_str expected = whole.events[i].event.args;
		uint32_t name_bytes, args_bytes;

		assert_int_equal(timed->args_bytes, lean ? expected.len_bytes : 0);
		assert_true(ifp_str_equal(ifp_rank_events_args(&events, timed, &args), expected));
		assert_ok(ifp_outlines_of(&outlines, timed, &name_bytes, &args_bytes));
		assert_int_equal(name_bytes,
			ifp_brief_text(timed->event.name, IFP_BRIEF_NAME_BYTES, &text).len_bytes);
		assert_int_equal(args_bytes, ifp_brief_args(source, expected, &text).len_bytes);
	}
}

static void lengths_of_recorded_events_are_those_of_their_texts(void **state)
{
	(void)state;
	assert_lengths(IFP_SOURCE_KINETO, true);
	assert_lengths(IFP_SOURCE_KINETO, false);
}

static void lengths_of_the_programs_own_events_are_those_of_their_texts(void **state)
{
	(void)state;
	assert_lengths(IFP_SOURCE_NVTX, true);
	assert_lengths(IFP_SOURCE_NVTX, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_of_recorded_events_are_those_of_their_texts),
		cmocka_unit_test(lengths_of_the_programs_own_events_are_those_of_their_texts),
	};

	return RUN_TESTS(tests);
}
