/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ranges.h"

#include "core/array.h"
#include "core/error.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define PRINTED_RANGES 12

static int append(struct ifp_ranges *ranges, struct ifp_range range)
{
	int err = IFP_ARRAY_RESERVE(ranges->items, ranges->capacity, ranges->count, 1, "ranges");

	if (!err)
		ranges->items[ranges->count++] = range;
	return err;
}

static bool parse_number(const char **text, int64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*value = strtoll(*text, &end, 10);
	*text = end;
	return errno == 0;
}

/* "3" or "3-5"; the text goes behind it. */
static bool parse_range(const char **text, struct ifp_range *range)
{
	if (!parse_number(text, &range->first))
		return false;
	range->last = range->first;
	if (**text == '-') {
		++*text;
		if (!parse_number(text, &range->last))
			return false;
	}
	return range->first <= range->last;
}

int ifp_ranges_parse(const char *text, const char *option, struct ifp_ranges *out)
{
	IFP_CLEANUP_RANGES struct ifp_ranges parsed = {0};
	const char *at = text;
	struct ifp_range range;
	int err = 0;

	do {
		if (!parse_range(&at, &range) || (*at && *at != ','))
			return ifp_fail(-EINVAL,
				"%s: \"%s\" is no list of numbers (such as 3 or 0,3-5)", option,
				text);
		err = append(&parsed, range);
	} while (!err && *at++ == ',');
	if (err)
		return err;
	*out = parsed;
	parsed = (struct ifp_ranges){0};
	return 0;
}

int ifp_ranges_add(struct ifp_ranges *ranges, int64_t number)
{
	struct ifp_range *last = ranges->count ? &ranges->items[ranges->count - 1] : NULL;

	if (!last || number - 1 > last->last)
		return append(ranges, (struct ifp_range){number, number});
	last->last = number;
	return 0;
}

bool ifp_ranges_hold(const struct ifp_ranges *ranges, int64_t number)
{
	for (size_t i = 0; i < ranges->count; i++)
		if (number >= ranges->items[i].first && number <= ranges->items[i].last)
			return true;
	return false;
}

/* Where the ranges that hold a number end; number - 1 when none does. */
static int64_t held_until(const struct ifp_ranges *ranges, int64_t number)
{
	for (size_t i = 0; i < ranges->count; i++)
		if (number >= ranges->items[i].first && number <= ranges->items[i].last)
			return ranges->items[i].last;
	return number - 1;
}

bool ifp_ranges_lack(
	const struct ifp_ranges *ranges, const struct ifp_ranges *wanted, int64_t *number)
{
	for (size_t i = 0; i < wanted->count; i++) {
		int64_t at = wanted->items[i].first;

		while (at <= wanted->items[i].last) {
			int64_t until = held_until(ranges, at);

			if (until < at) {
				*number = at;
				return true;
			}
			if (until >= wanted->items[i].last)
				break;
			at = until + 1;
		}
	}
	return false;
}

void ifp_ranges_print(const struct ifp_ranges *ranges, struct ifp_buf *out)
{
	for (size_t i = 0; i < ranges->count && i < PRINTED_RANGES; i++) {
		const struct ifp_range *range = &ranges->items[i];

		ifp_buf_printf(out, "%s%" PRId64, i ? ", " : "", range->first);
		if (range->last > range->first)
			ifp_buf_printf(out, "-%" PRId64, range->last);
	}
	if (ranges->count > PRINTED_RANGES)
		ifp_buf_append_text(out, ", ...");
}

void ifp_ranges_free(struct ifp_ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct ifp_ranges){0};
}
