/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/collectives.h"

#include "collector/analyse/activity.h"
#include "collector/analyse/groups.h"
#include "collector/timeline/steps.h"
#include "core/array.h"
#include "core/checksum.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/* Names of such operations behind "gloo:", and of NCCL's kernels. */
static const char *const to_all[] = {"all_reduce", "allreduce", "all_gather", "allgather",
	"_all_gather_base", "reduce_scatter", "_reduce_scatter_base", "barrier", "AllReduce",
	"AllGather", "ReduceScatter"};

static bool is_to_all(struct ifp_str name)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(to_all); i++) {
		if (ifp_str_starts_with(name, to_all[i]))
			return true;
	}
	return false;
}

int ifp_import_args_text(struct ifp_buf *buf, const struct ifp_event *slice,
	const struct ifp_args_split *args, struct ifp_str *text)
{
	*text = slice->args;
	if (!args->form.len_bytes)
		return 0;
	ifp_buf_clear(buf);
	ifp_template_join((struct ifp_str){args->form.ptr + 1, args->form.len_bytes - 1},
		args->values, buf); /* behind its first byte, which says what it is */
	*text = (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
	return ifp_buf_status(buf);
}

static void add_value(struct ifp_buf *key, struct ifp_str args, const char *name)
{
	struct ifp_str value = {0};

	ifp_args_find(args, name, &value);
	ifp_buf_append_u8(key, ' ');
	ifp_buf_append(key, value.ptr, value.len_bytes);
}

static uint64_t hash_of(const struct ifp_buf *key)
{
	return key->len_bytes ? ifp_checksum(key->data, key->len_bytes) : 0;
}

/*
 * What all ranks say alike of the operation: name, sizes, type. Not the algorithm in the kernel's
 * name, nor its grid: they may differ between GPUs of two kinds.
 */
static int describe(struct ifp_import_collectives *collectives, struct ifp_str name, bool device,
	struct ifp_str args, struct ifp_clock_collective *out)
{
	struct ifp_buf *key = &collectives->key;
	int64_t members = 0;

	ifp_group_key(args, key);
	out->group = hash_of(key);
	if (ifp_args_find_int(args, "Group size", &members) && members > 0 && members < UINT32_MAX)
		out->members = (uint32_t)members;
	ifp_buf_clear(key);
	ifp_buf_append_u8(key, device ? 'k' : 'r');
	ifp_buf_append(key, name.ptr, name.len_bytes);
	add_value(key, args, "Collective name");
	add_value(key, args, "In msg nelems");
	add_value(key, args, "dtype");
	add_value(key, args, "Input Dims");
	add_value(key, args, "Input type");
	out->kind = hash_of(key);
	return ifp_buf_status(key);
}

static int keep(struct ifp_import_collective_list *list, const struct ifp_clock_collective *one,
	uint64_t correlation)
{
	int err;

	if (list->count == IFP_IMPORT_COLLECTIVES_MAX) {
		list->left_out++;
		return 0;
	}
	err = IFP_ARRAY_RESERVE(list->items, list->capacity, list->count, 1, "collectives");
	if (!err)
		err = IFP_ARRAY_RESERVE(
			list->queued, list->queued_capacity, list->count, 1, "collectives");
	if (err)
		return err;
	list->queued[list->count] = (struct ifp_import_queued){correlation, one->exit_ns, false};
	list->items[list->count++] = *one;
	return 0;
}

static int add_step(struct ifp_import_collectives *collectives, const struct ifp_event *slice)
{
	int64_t number;
	int err;

	if (slice->lane.kind != IFP_LANE_THREAD || !ifp_profiler_step(slice->name, &number) ||
		collectives->step_count == IFP_IMPORT_COLLECTIVES_MAX)
		return 0;
	err = IFP_ARRAY_RESERVE(collectives->steps, collectives->step_capacity,
		collectives->step_count, 1, "steps of a trace");
	if (!err)
		collectives->steps[collectives->step_count++] =
			(struct ifp_import_step_range){slice->start, number};
	return err;
}

int ifp_import_collectives_add(struct ifp_import_collectives *collectives,
	const struct ifp_event *slice, const struct ifp_args_split *args)
{
	struct ifp_clock_collective one = {.enter_ns = slice->start};
	struct ifp_str name, text;
	bool device;
	int err;

	if (ifp_str_starts_with(slice->name, "ProfilerStep#"))
		return add_step(collectives, slice);
	if (slice->dur < 0 || !ifp_activity_is_collective(slice, &name, &device) ||
		!is_to_all(name) || (!device && !ifp_str_starts_with(slice->name, "gloo:")))
		return 0;
	one.exit_ns = slice->start + slice->dur;
	err = ifp_import_args_text(&collectives->args, slice, args, &text);
	if (!err)
		err = describe(collectives, name, device, text, &one);
	if (err || one.members == 1)
		return err;
	return device ? keep(&collectives->kernels, &one, slice->correlation)
		      : keep(&collectives->ranges, &one, 0);
}

static int compare_steps(const void *a, const void *b)
{
	const struct ifp_import_step_range *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int compare_collectives(const void *a, const void *b)
{
	const struct ifp_clock_collective *x = a, *y = b;

	if (x->enter_ns != y->enter_ns)
		return x->enter_ns < y->enter_ns ? -1 : 1;
	if (x->exit_ns != y->exit_ns)
		return x->exit_ns < y->exit_ns ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

/* The number of the step that had begun last when it was queued. */
static void add_step_numbers(const struct ifp_import_collectives *collectives,
	const struct ifp_import_collective_list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		uint32_t low = IFP_ARRAY_LOWER_BOUND(k, collectives->step_count,
			collectives->steps[k].start_ns <= list->queued[i].at_ns);

		list->items[i].step = low ? collectives->steps[low - 1].number : 0;
	}
}

void ifp_import_collectives_correct(
	struct ifp_import_collectives *collectives, const struct ifp_gpu_bias *bias)
{
	for (uint32_t i = 0; i < collectives->kernels.count; i++) {
		struct ifp_clock_collective *one = &collectives->kernels.items[i];

		one->enter_ns += ifp_gpu_bias_shift(bias, one->enter_ns);
		one->exit_ns += ifp_gpu_bias_shift(bias, one->exit_ns);
	}
}

struct launched {
	uint64_t correlation;
	struct ifp_import_queued *queued;
};

struct launched_list {
	struct launched *items; /* by correlation */
	uint32_t count;
};

static int compare_launched(const void *a, const void *b)
{
	const struct launched *x = a, *y = b;

	return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

/* Those of a graph have one launch. Of several calls of one correlation the first counts. */
static void take_launch(void *taker, uint64_t correlation, int64_t start_ns)
{
	const struct launched_list *list = taker;
	uint32_t low =
		IFP_ARRAY_LOWER_BOUND(i, list->count, list->items[i].correlation < correlation);

	for (; low < list->count && list->items[low].correlation == correlation; low++) {
		struct ifp_import_queued *queued = list->items[low].queued;

		if (!queued->launched || start_ns < queued->at_ns)
			queued->at_ns = start_ns;
		queued->launched = true;
	}
}

int ifp_import_collectives_look_for_launches(
	struct ifp_import_collectives *collectives, const struct ifp_gpu_finder *gpus)
{
	const struct ifp_import_collective_list *kernels = &collectives->kernels;
	IFP_CLEANUP_FREE struct launched *items = calloc(kernels->count + 1u, sizeof(*items));
	struct launched_list list = {items, 0};

	if (!items)
		return ifp_fail(-ENOMEM, "look for the launches of collectives");
	for (uint32_t i = 0; i < kernels->count; i++) {
		if (kernels->queued[i].correlation)
			items[list.count++] = (struct launched){
				kernels->queued[i].correlation, &kernels->queued[i]};
	}
	qsort(items, list.count, sizeof(*items), compare_launched);
	ifp_gpu_finder_each_launch(gpus, take_launch, &list);
	return 0;
}

void ifp_import_collectives_settle(
	struct ifp_import_collectives *collectives, struct ifp_clock_samples *samples)
{
	struct ifp_import_collective_list *list =
		collectives->kernels.count ? &collectives->kernels : &collectives->ranges;

	if (collectives->step_count)
		qsort(collectives->steps, collectives->step_count, sizeof(*collectives->steps),
			compare_steps);
	add_step_numbers(collectives, list);
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_collectives);
	samples->collectives = list->items;
	samples->collective_count = list->count;
	samples->collectives_left_out = list->left_out;
	list->items = NULL;
	ifp_import_collectives_free(collectives);
}

static void list_free(struct ifp_import_collective_list *list)
{
	free(list->items);
	free(list->queued);
}

void ifp_import_collectives_free(struct ifp_import_collectives *collectives)
{
	list_free(&collectives->kernels);
	list_free(&collectives->ranges);
	free(collectives->steps);
	ifp_buf_free(&collectives->args);
	ifp_buf_free(&collectives->key);
	*collectives = (struct ifp_import_collectives){0};
}
