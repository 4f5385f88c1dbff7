/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/subject.h"

#include "core/array.h"

#include <errno.h>
#include <stdlib.h>

struct category_subject {
	const char *merged; /* as in categories.c */
	enum ifp_subject subject;
};

static const struct category_subject subjects[] = {
	{"op", IFP_SUBJECT_OPERATOR},
	{"annotation", IFP_SUBJECT_MARK},
	{"gpu_annotation", IFP_SUBJECT_MARK},
	{"py", IFP_SUBJECT_FRAME},
	{"rt", IFP_SUBJECT_LAUNCH},
	{"gpu_kernel", IFP_SUBJECT_KERNEL},
	{"gpu_copy", IFP_SUBJECT_COPY},
	{"gpu_fill", IFP_SUBJECT_COPY},
	{"span", IFP_SUBJECT_OTHER},
	{"mem", IFP_SUBJECT_OTHER},
};

static enum ifp_subject subject_of_category(struct ifp_str text)
{
	const struct ifp_category *category = ifp_category_find(text);

	for (size_t i = 0; category && i < IFP_ARRAY_SIZE(subjects); i++)
		if (!strcmp(category->merged, subjects[i].merged))
			return subjects[i].subject;
	if (ifp_str_is(text, "cuda_sync") || ifp_str_is(text, "overhead"))
		return IFP_SUBJECT_OTHER;
	return IFP_SUBJECT_OPERATOR;
}

/*
 * c10d operators, the ranges that process groups record around them ("nccl:all_reduce"), and the
 * kernels of NCCL and RCCL ("ncclDevKernel_AllReduce...").
 */
bool ifp_subject_is_collective(struct ifp_str name)
{
	static const char *const prefixes[] = {
		"nccl", "gloo:", "c10d::", "record_param_comms", "mpi:", "ucc:", "rccl"};

	for (size_t i = 0; i < IFP_ARRAY_SIZE(prefixes); i++)
		if (name.len_bytes && name.ptr[0] == prefixes[i][0] &&
			ifp_str_starts_with(name, prefixes[i]))
			return true;
	return false;
}

static bool is_same(struct ifp_str a, struct ifp_str b)
{
	return a.ptr == b.ptr && a.len_bytes == b.len_bytes;
}

int ifp_rank_categories_find(
	struct ifp_rank_categories *categories, struct ifp_str text, uint32_t *id)
{
	int err;

	/* Events that follow each other often share the very text. */
	if (categories->count && is_same(categories->last, text)) {
		*id = categories->last_id;
		return 0;
	}
	err = ifp_intern(&categories->texts, text, &categories->last_id);
	if (!err)
		err = IFP_ARRAY_RESERVE(categories->items, categories->capacity,
			categories->last_id, 1, "categories");
	if (err) {
		categories->last = (struct ifp_str){0};
		return err;
	}
	if (categories->last_id == categories->count)
		categories->items[categories->count++] = (struct ifp_rank_category){
			ifp_intern_text(&categories->texts, categories->last_id),
			subject_of_category(text)};
	categories->last = text;
	*id = categories->last_id;
	return 0;
}

void ifp_rank_categories_free(struct ifp_rank_categories *categories)
{
	ifp_intern_free(&categories->texts);
	free(categories->items);
	*categories = (struct ifp_rank_categories){0};
}

enum ifp_subject ifp_subject_of(
	const struct ifp_event *event, const struct ifp_rank_category *category)
{
	/* Python functions named like one (.../nccl.py) are none. */
	if (category->subject != IFP_SUBJECT_FRAME && ifp_subject_is_collective(event->name))
		return IFP_SUBJECT_COLLECTIVE;
	if (event->source == IFP_SOURCE_MARK || event->source == IFP_SOURCE_NVTX)
		return IFP_SUBJECT_MARK;
	return category->subject;
}
