/* SPDX-License-Identifier: Apache-2.0 */
/* Categories, names of collectives, lanes and args: the texts of a timeline. */
#include "collector/timeline/args_edit.h"
#include "collector/timeline/categories.h"
#include "collector/timeline/id_map.h"
#include "collector/timeline/lanes.h"
#include "collector/timeline/tensor_args.h"
#include "core/cleanup.h"
#include "test.h"

/* What the plug-in maps (profiler/trace.py, EventTypeMap). */
static const char *const mapped[] = {"trace", "cpu_op", "operator", "runtime", "kernel", "memcpy",
	"gpu_memcpy", "memset", "gpu_memset", "python", "memory", "python_function",
	"user_annotation", "gpu_user_annotation"};

static void no_category_of_the_merged_timeline_is_one_that_the_plug_in_maps(void **state)
{
	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(mapped); i++) {
		const struct ifp_category *category = ifp_category_find(ifp_str(mapped[i]));

		assert_non_null(category);
		for (size_t k = 0; k < IFP_ARRAY_SIZE(mapped); k++)
			assert_string_not_equal(category->merged, mapped[k]);
	}
}

static void categories_are_found_without_regard_to_case(void **state)
{
	(void)state;
	assert_string_equal(ifp_category_find(ifp_str("CUDA_Driver"))->analysis, "Runtime");
	assert_string_equal(ifp_category_find(ifp_str("Trace"))->merged, "span");
	assert_null(ifp_category_find(ifp_str("cuda_sync")));
	assert_null(ifp_category_find(ifp_str("")));
}

/* Names that PyTorch's process groups record, and other spellings of them. */
static const char *const recorded[][2] = {
	{"nccl:all_reduce", "nccl:all_reduce"},
	{"nccl:all_reduce_barrier", "nccl:all_reduce"},
	{"nccl:all_reduce_sparse", "nccl:all_reduce"},
	{"nccl:allreduce_coalesced", "nccl:all_reduce"},
	{"gloo:all_reduce", "gloo:all_reduce"},
	{"gloo:sparse_all_reduce", "gloo:all_reduce"},
	{"nccl:broadcast", "nccl:broadcast"},
	{"nccl:_broadcast_oop", "nccl:broadcast"},
	{"nccl:scatter", "nccl:broadcast"},
	{"gloo:scatter", "gloo:broadcast"},
	{"nccl:reduce", "nccl:reduce"},
	{"nccl:_reduce_oop", "nccl:reduce"},
	{"nccl:gather", "nccl:reduce"},
	{"gloo:gather", "gloo:reduce"},
	{"nccl:all_gather", "nccl:all_gather"},
	{"nccl:_all_gather_base", "nccl:all_gather"},
	{"nccl:_allgather_base", "nccl:all_gather"},
	{"nccl:all_gather_into_tensor_coalesced", "nccl:all_gather"},
	{"gloo:all_gather", "gloo:all_gather"},
	{"gloo:allgather_coalesced", "gloo:all_gather"},
	{"nccl:all_to_all", "nccl:all_gather"},
	{"nccl:all_to_allv", "nccl:all_gather"},
	{"nccl:alltoall_base", "nccl:all_gather"},
	{"gloo:all_to_all", "gloo:all_gather"},
	{"nccl:reduce_scatter", "nccl:reduce_scatter"},
	{"nccl:_reduce_scatter_base", "nccl:reduce_scatter"},
	{"nccl:reduce_scatter_tensor_coalesced", "nccl:reduce_scatter"},
};

/* What the c10d operators contain is recorded beside them; the rest is between two ranks. */
static const char *const no_collectives[] = {"nccl:send 0->1", "nccl:recv 1<-0", "gloo:send",
	"gloo:recv", "gloo:recvAnySource", "gloo:barrier", "nccl:coalesced", "gloo:", "nccl:_",
	"c10d::allreduce_", "c10d::_allgather_base_", "_c10d_functional::all_reduce",
	"record_param_comms", "all_reduce", "nccl:all_", "NCCL:all_reduce"};

static void collectives_get_the_names_that_the_plug_in_knows(void **state)
{
	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(recorded); i++) {
		bool nccl = false;
		const char *name = ifp_collective_name(ifp_str(recorded[i][0]), &nccl);

		assert_non_null(name);
		assert_string_equal(name, recorded[i][1]);
		assert_int_equal(nccl, recorded[i][1][0] == 'n');
	}
	for (size_t i = 0; i < IFP_ARRAY_SIZE(no_collectives); i++)
		assert_null(ifp_collective_name(ifp_str(no_collectives[i]), &(bool){false}));
}

static void assert_title(const struct ifp_lane_row *row, uint32_t sublane, const char *expected)
{
	IFP_CLEANUP_BUF struct ifp_buf title = {0};

	for (int brief = 0; brief < 2; brief++) {
		ifp_lanes_title(row, sublane, brief, &title);
		assert_str(((struct ifp_str){(const char *)title.data, (uint32_t)title.len_bytes}),
			expected);
	}
}

static void lanes_are_called_by_what_they_are(void **state)
{
	struct ifp_lane_row thread = {.lane = {.kind = IFP_LANE_THREAD, .pid = 3, .tid = 4}};
	struct ifp_lane_row stream = {.lane = {.kind = IFP_LANE_STREAM, .pid = 1, .tid = 7}};
	struct ifp_lane_row other = {.lane = {.kind = IFP_LANE_OTHER,
					     .pid_text = ifp_str("\"Spans\""),
					     .tid_text = ifp_str("1.5")}};

	(void)state;
	assert_title(&thread, 0, "thread 4");
	thread.title = ifp_str("thread 4 (python3)");
	thread.main_thread = true;
	assert_title(&thread, 0, "main 4");
	assert_title(&stream, 2, "GPU 1 stream 7 · overlapping 2");
	assert_title(&other, 0, "Spans 1.5");
}

static void lanes_are_drawn_steps_first_and_streams_after_threads(void **state)
{
	static const struct ifp_lane places[] = {
		{.kind = IFP_LANE_OTHER, .tid_text = {"\"x\"", 3}},
		{.kind = IFP_LANE_STREAM, .pid = 0, .tid = 17},
		{.kind = IFP_LANE_STREAM, .pid = 0, .tid = 7},
		{.kind = IFP_LANE_THREAD, .pid = 9, .tid = 1},
		{.kind = IFP_LANE_THREAD, .pid = 5, .tid = 8},
		{.kind = IFP_LANE_THREAD, .pid = 5, .tid = 6},
		{.kind = IFP_LANE_OTHER, .tid_text = {"\"steps\"", 7}},
	};
	static const uint32_t expected[] = {6, 4, 5, 3, 2, 1, 0};
	struct ifp_lanes lanes = {0};
	IFP_CLEANUP_FREE uint32_t *order = NULL;
	uint32_t row;

	(void)state;
	for (uint32_t i = 0; i < IFP_ARRAY_SIZE(places); i++) {
		assert_ok(ifp_lanes_find(&lanes, &places[i], &row));
		assert_int_equal(row, i);
		assert_ok(ifp_lanes_find(&lanes, &places[i], &row));
		assert_int_equal(row, i);
	}
	lanes.rows[4].main_thread = true;
	lanes.rows[6].of_steps = true;
	assert_ok(ifp_lanes_order(&lanes, 5, &order));
	assert_memory_equal(order, expected, sizeof(expected));
	ifp_lanes_free(&lanes);
}

static void assert_args(const struct ifp_buf *buf, const char *expected)
{
	assert_str(((struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes}), expected);
}

static void a_member_of_args_is_set_or_added(void **state)
{
	static const char *const cases[][2] = {
		{"{\"a\":1,\"id\":22,\"b\":[2]}", "{\"a\":1,\"id\":7,\"b\":[2]}"},
		{"{\"a\":1}", "{\"id\":7,\"a\":1}"},
		{"{}", "{\"id\":7}"},
		{"", "{\"id\":7}"},
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		IFP_CLEANUP_BUF struct ifp_buf out = {0};

		ifp_args_set_int(&out, ifp_str(cases[i][0]), "id", 7);
		assert_args(&out, cases[i][1]);
	}
}

static void a_member_of_args_is_renamed(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf out = {0};

	(void)state;
	ifp_args_rename(&out, ifp_str("{\"a\":1,\"b\":\"a\",\"c\":3}"), "b", "B b");
	assert_args(&out, "{\"a\":1,\"B b\":\"a\",\"c\":3}");
	ifp_buf_clear(&out);
	ifp_args_rename(&out, ifp_str("{\"a\":1}"), "b", "c");
	assert_args(&out, "{\"a\":1}");
}

static void bytes_of_tensors_are_told_only_where_the_plug_in_can_count_them(void **state)
{
	static const char *const yes[] = {"", "{}", "{\"Input type\":[\"Scalar\"]}",
		"{\"Input Dims\":[[2,3],[]],\"Input type\":[\"float\",\"long int\"]}",
		"{\"Input Dims\":[],\"Input type\":[]}"};
	static const char *const no[] = {"{\"Input Dims\":[[2]]}",
		"{\"Input Dims\":[[2]],\"Input type\":[\"double\"]}",
		"{\"Input Dims\":[[2],[3]],\"Input type\":[\"float\"]}",
		"{\"Input Dims\":[[[2],[3]]],\"Input type\":[\"float\"]}",
		"{\"Input Dims\":[[\"2\"]],\"Input type\":[\"float\"]}",
		"{\"Input Dims\":\"\",\"Input type\":[]}"};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(yes); i++)
		assert_true(ifp_tensor_args_countable(ifp_str(yes[i])));
	for (size_t i = 0; i < IFP_ARRAY_SIZE(no); i++)
		if (ifp_tensor_args_countable(ifp_str(no[i])))
			fail_msg("%s", no[i]);
}

static void numbers_are_mapped_to_numbers(void **state)
{
	IFP_CLEANUP_ID_MAP struct ifp_id_map map = {0};
	uint64_t value = 0;

	(void)state;
	assert_false(ifp_id_map_get(&map, 1, &value));
	for (uint64_t key = 0; key < 5000; key++)
		assert_ok(ifp_id_map_set(&map, key * 4096, key));
	assert_ok(ifp_id_map_set(&map, 4096, 77));
	assert_int_equal(map.count, 5000);
	for (uint64_t key = 0; key < 5000; key++) {
		assert_true(ifp_id_map_get(&map, key * 4096, &value));
		assert_int_equal(value, key == 1 ? 77 : key);
	}
	assert_false(ifp_id_map_get(&map, 5, &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_category_of_the_merged_timeline_is_one_that_the_plug_in_maps),
		cmocka_unit_test(categories_are_found_without_regard_to_case),
		cmocka_unit_test(collectives_get_the_names_that_the_plug_in_knows),
		cmocka_unit_test(lanes_are_called_by_what_they_are),
		cmocka_unit_test(lanes_are_drawn_steps_first_and_streams_after_threads),
		cmocka_unit_test(a_member_of_args_is_set_or_added),
		cmocka_unit_test(a_member_of_args_is_renamed),
		cmocka_unit_test(bytes_of_tensors_are_told_only_where_the_plug_in_can_count_them),
		cmocka_unit_test(numbers_are_mapped_to_numbers),
	};

	return RUN_TESTS(tests);
}
