/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/fold.h"

#include "collector/timeline/brief.h"
#include "core/array.h"
#include "core/decimal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void ifp_fold_begin(struct ifp_fold *fold, const struct ifp_rank_categories *categories)
{
	fold->number++;
	fold->categories = categories;
	fold->start_ns = INT64_MAX;
	fold->end_ns = INT64_MIN;
	fold->events = 0;
	fold->collectives = 0;
	fold->steps = 0;
	fold->seen_category_count = 0;
	fold->seen_name_count = 0;
}

static void extend(struct ifp_fold *fold, const struct ifp_slice *slice)
{
	if (slice->start_ns < fold->start_ns)
		fold->start_ns = slice->start_ns;
	if (slice->start_ns + slice->dur_ns > fold->end_ns)
		fold->end_ns = slice->start_ns + slice->dur_ns;
}

/* The entries that grew, too, are of no fold. */
static int reserve(struct ifp_fold_count **counts, size_t *capacity, uint32_t id)
{
	size_t before = *capacity;
	int err = IFP_ARRAY_RESERVE(*counts, *capacity, id, 1, "counts of a fold");

	if (!err && *capacity > before)
		memset(*counts + before, 0, (*capacity - before) * sizeof(**counts));
	return err;
}

/* Of a hostile archive, years may add up. */
static void add_ns(int64_t *sum, int64_t dur_ns)
{
	if (__builtin_add_overflow(*sum, dur_ns, sum))
		*sum = INT64_MAX;
}

/* The count of a category, which has one event more; NULL without memory. */
static struct ifp_fold_count *take_category(struct ifp_fold *fold, uint16_t category)
{
	struct ifp_fold_count *count;
	int err = reserve(&fold->by_category, &fold->category_capacity, category);

	if (!err)
		err = IFP_ARRAY_RESERVE(fold->seen_categories, fold->seen_category_capacity,
			fold->seen_category_count, 1, "categories of a fold");
	if (err) {
		fold->err = err;
		return NULL;
	}
	count = &fold->by_category[category];
	if (count->fold != fold->number) {
		*count = (struct ifp_fold_count){.fold = fold->number};
		fold->seen_categories[fold->seen_category_count++] = category;
	}
	count->events++;
	return count;
}

int ifp_fold_name(struct ifp_fold *fold, struct ifp_str name, uint32_t *number)
{
	return ifp_intern(&fold->names, name, number);
}

static int take_name(struct ifp_fold *fold, uint32_t id, int64_t dur_ns)
{
	struct ifp_fold_count *count;
	int err = reserve(&fold->by_name, &fold->name_capacity, id);

	if (!err)
		err = IFP_ARRAY_RESERVE(fold->seen_names, fold->seen_name_capacity,
			fold->seen_name_count, 1, "names of a fold");
	if (err)
		return err;
	count = &fold->by_name[id];
	if (count->fold != fold->number) {
		*count = (struct ifp_fold_count){.fold = fold->number};
		fold->seen_names[fold->seen_name_count++] = id;
	}
	count->events++;
	add_ns(&count->busy_ns, dur_ns);
	return 0;
}

static void take_event(struct ifp_fold *fold, const struct ifp_node *node,
	const struct ifp_slice *slice, uint32_t name)
{
	int err = take_name(fold, name, slice->dur_ns);

	if (err)
		fold->err = err;
	extend(fold, slice);
	fold->events++;
	fold->collectives += node->subject == IFP_SUBJECT_COLLECTIVE;
}

void ifp_fold_open(struct ifp_fold *fold, const struct ifp_node *node,
	const struct ifp_slice *slice, uint32_t name)
{
	struct ifp_fold_count *count = take_category(fold, node->category);

	if (count && !count->open++)
		count->busy_ns += slice->dur_ns;
	take_event(fold, node, slice, name);
}

void ifp_fold_crowded(struct ifp_fold *fold, const struct ifp_node *node,
	const struct ifp_slice *slice, uint32_t name)
{
	struct ifp_fold_count *count = take_category(fold, node->category);

	if (count && !node->covered)
		add_ns(&count->busy_ns, slice->dur_ns);
	take_event(fold, node, slice, name);
}

void ifp_fold_close(struct ifp_fold *fold, const struct ifp_node *node)
{
	if (!fold->err)
		fold->by_category[node->category].open--;
}

void ifp_fold_step(
	struct ifp_fold *fold, const struct ifp_slice *slice, const struct ifp_step *step)
{
	if (!fold->steps++)
		fold->first_step = step->number;
	fold->last_step = step->number;
	extend(fold, slice);
}

static void append_cut(struct ifp_fold *fold, struct ifp_buf *out, struct ifp_str text)
{
	text = ifp_brief_text(text, IFP_FOLD_NAME_BYTES, &fold->scratch);
	ifp_buf_append(out, text.ptr, text.len_bytes);
}

static void append_count(struct ifp_buf *out, const char *key, uint64_t count)
{
	ifp_buf_append_text(out, key);
	ifp_buf_append_unsigned(out, count, 1);
}

static void append_categories(struct ifp_fold *fold)
{
	struct ifp_buf *out = &fold->args;

	ifp_buf_append_text(out, ",\"by category\":{");
	for (uint32_t i = 0; i < fold->seen_category_count; i++) {
		uint32_t id = fold->seen_categories[i];
		const struct ifp_fold_count *count = &fold->by_category[id];
		struct ifp_str text = fold->categories->items[id].text;

		ifp_buf_append_text(out, i ? ",\"" : "\"");
		append_cut(fold, out, text.len_bytes ? text : ifp_str("event"));
		ifp_buf_append_text(out, "\":{\"events\":");
		ifp_buf_append_unsigned(out, count->events, 1);
		ifp_buf_append_text(out, ",\"busy_us\":");
		ifp_buf_append_unsigned(out, (uint64_t)(count->busy_ns / IFP_NS_PER_US), 1);
		ifp_buf_append_u8(out, '.');
		ifp_buf_append_unsigned(out, (uint64_t)(count->busy_ns % IFP_NS_PER_US), 3);
		ifp_buf_append_u8(out, '}');
	}
	ifp_buf_append_u8(out, '}');
}

static bool is_longer(const struct ifp_fold *fold, uint32_t id, uint32_t other)
{
	int64_t a = fold->by_name[id].busy_ns, b = fold->by_name[other].busy_ns;

	return a != b ? a > b : id < other;
}

/* The ids of the names with the longest times, longest first: how many. */
static uint32_t find_longest(const struct ifp_fold *fold, uint32_t longest[IFP_FOLD_LONGEST])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < fold->seen_name_count; i++) {
		uint32_t id = fold->seen_names[i];
		uint32_t place = count;

		while (place && is_longer(fold, id, longest[place - 1]))
			place--;
		if (place == IFP_FOLD_LONGEST)
			continue;
		count += count < IFP_FOLD_LONGEST;
		for (uint32_t k = count - 1; k > place; k--)
			longest[k] = longest[k - 1];
		longest[place] = id;
	}
	return count;
}

static void append_longest(struct ifp_fold *fold, const uint32_t *longest, uint32_t count)
{
	struct ifp_buf *out = &fold->args;

	ifp_buf_append_text(out, ",\"longest\":[");
	for (uint32_t i = 0; i < count; i++) {
		const struct ifp_fold_count *name = &fold->by_name[longest[i]];

		ifp_buf_append_text(out, i ? ",\"" : "\"");
		append_cut(fold, out, ifp_intern_text(&fold->names, longest[i]));
		ifp_buf_append_u8(out, ' ');
		ifp_buf_append_unsigned(out, name->events, 1);
		ifp_buf_append_text(out, "x ");
		ifp_brief_duration(out, name->busy_ns);
		ifp_buf_append_u8(out, '"');
	}
	ifp_buf_append_u8(out, ']');
}

static void write_name(struct ifp_fold *fold, const uint32_t *longest)
{
	if (fold->steps) {
		ifp_buf_printf(&fold->name, "%" PRIu64 " steps, %" PRId64 " to %" PRId64,
			fold->steps, fold->first_step, fold->last_step);
		return;
	}
	ifp_buf_append_unsigned(&fold->name, fold->events, 1);
	ifp_buf_append_text(&fold->name, fold->events == 1 ? " event, " : " events, mostly ");
	append_cut(fold, &fold->name, ifp_intern_text(&fold->names, longest[0]));
}

void ifp_fold_write(struct ifp_fold *fold)
{
	uint32_t longest[IFP_FOLD_LONGEST], count;

	ifp_buf_clear(&fold->name);
	ifp_buf_clear(&fold->args);
	if (fold->err)
		return;
	count = find_longest(fold, longest);
	write_name(fold, longest);
	append_count(&fold->args, "{\"events\":", fold->events);
	if (fold->steps)
		append_count(&fold->args, ",\"steps\":", fold->steps);
	if (fold->collectives)
		append_count(&fold->args, ",\"collectives\":", fold->collectives);
	if (fold->events) {
		append_categories(fold);
		append_longest(fold, longest, count);
	}
	ifp_buf_append_u8(&fold->args, '}');
}

#define TEXT_BYTES(text) (sizeof(text) - 1)

uint64_t ifp_fold_most_name_bytes(const struct ifp_fold_bounds *bounds)
{
	/* Steps may have numbers of any size. */
	return ifp_decimal_digits(bounds->events) +
	       (bounds->of_steps ? TEXT_BYTES(" steps,  to ") + 2 * 20
				 : TEXT_BYTES(" events, mostly ") + bounds->name_bytes);
}

uint64_t ifp_fold_most_args_bytes(const struct ifp_fold_bounds *bounds)
{
	uint64_t count = ifp_decimal_digits(bounds->events);
	uint64_t busy =
		ifp_decimal_digits((uint64_t)bounds->busy_ns / IFP_NS_PER_US) + TEXT_BYTES(".000");
	uint64_t category = TEXT_BYTES(",\"\":{\"events\":,\"busy_us\":}") + count + busy;
	uint64_t name =
		TEXT_BYTES(",\" x \"") + bounds->name_bytes + count + IFP_BRIEF_DURATION_BYTES;
	uint64_t names = bounds->events < IFP_FOLD_LONGEST ? bounds->events : IFP_FOLD_LONGEST;

	return TEXT_BYTES("{\"events\":,\"collectives\":,\"by category\":{},\"longest\":[]}") +
	       (bounds->of_steps ? TEXT_BYTES(",\"steps\":") + count : 0) + 2 * count +
	       bounds->categories * category + bounds->category_bytes + names * name;
}

void ifp_fold_free(struct ifp_fold *fold)
{
	free(fold->by_category);
	free(fold->seen_categories);
	ifp_intern_free(&fold->names);
	free(fold->by_name);
	free(fold->seen_names);
	ifp_buf_free(&fold->name);
	ifp_buf_free(&fold->args);
	ifp_buf_free(&fold->scratch);
	*fold = (struct ifp_fold){0};
}
