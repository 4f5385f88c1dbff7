/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of a value to the value: the same for all sources. */
#include "core/options_internal.h"

#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/time.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	int64_t factor;
};

static const struct unit byte_units[] = {
	{"", 1},
	{"B", 1},
	{"KB", 1000},
	{"MB", 1000000},
	{"GB", 1000000000},
	{"KiB", INT64_C(1) << 10},
	{"MiB", INT64_C(1) << 20},
	{"GiB", INT64_C(1) << 30},
	{NULL, 0},
};

static const struct unit duration_units[] = {
	{"ns", 1},
	{"us", IFP_NS_PER_US},
	{"ms", IFP_NS_PER_MS},
	{"s", IFP_NS_PER_S},
	{"min", 60 * IFP_NS_PER_S},
	{"h", 3600 * IFP_NS_PER_S},
	{NULL, 0},
};

#define FRACTION_DIGITS 9
#define FRACTION_SCALE INT64_C(1000000000)

static int64_t unit_factor(const struct unit *units, const char *name)
{
	for (; units->name; units++) {
		if (strcasecmp(units->name, name) == 0)
			return units->factor;
	}
	return 0;
}

/* "1.5" as 1500000000 billionths; *end behind it. False when there is no number or it is huge. */
static bool parse_billionths(const char *text, const char **end, __int128 *value)
{
	const char *p = text;
	int digits = 0;

	*value = 0;
	for (; isdigit((unsigned char)*p) && p - text < 19; p++)
		*value = *value * 10 + (*p - '0');
	if (p == text || isdigit((unsigned char)*p))
		return false;
	*value *= FRACTION_SCALE;
	if (*p == '.') {
		int64_t place = FRACTION_SCALE / 10;

		for (p++; isdigit((unsigned char)*p) && digits < FRACTION_DIGITS; p++, digits++) {
			*value += (*p - '0') * place;
			place /= 10;
		}
		if (!digits)
			return false;
	}
	*end = p;
	return true;
}

/* A number and a unit behind it, blanks between them allowed; what is below 1 is cut off. */
static bool parse_scaled(const char *text, const struct unit *units, int64_t *value)
{
	__int128 billionths;
	const char *unit;
	int64_t factor;

	if (!parse_billionths(text, &unit, &billionths))
		return false;
	while (*unit == ' ')
		unit++;
	factor = !*unit && billionths == 0 ? 1 : unit_factor(units, unit);
	if (!factor || billionths / FRACTION_SCALE > INT64_MAX / factor)
		return false;
	*value = (int64_t)(billionths * factor / FRACTION_SCALE);
	return true;
}

static int store_flag(const char *text, bool *value, const char *where)
{
	static const char *const yes[] = {"1", "true", "yes", "on"};
	static const char *const no[] = {"0", "false", "no", "off"};

	for (size_t i = 0; i < IFP_ARRAY_SIZE(yes); i++) {
		if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
			*value = strcasecmp(text, yes[i]) == 0;
			return 0;
		}
	}
	return ifp_fail(-EINVAL, "%s: \"%s\" is neither yes nor no", where, text);
}

static int store_int(
	const struct ifp_option *option, const char *text, int64_t *value, const char *where)
{
	bool limited = option->min || option->max;
	char *end;
	int64_t number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (end == text || *end || errno || isspace((unsigned char)text[0]))
		return ifp_fail(-EINVAL, "%s: \"%s\" is no whole number", where, text);
	if (limited && (number < option->min || number > option->max))
		return ifp_fail(-EINVAL, "%s: %s is not between %" PRId64 " and %" PRId64, where,
			text, option->min, option->max);
	*value = number;
	return 0;
}

static int store_duration(
	const struct ifp_option *option, const char *text, int64_t *value, const char *where)
{
	bool limited = option->min || option->max;

	if (!parse_scaled(text, duration_units, value))
		return ifp_fail(-EINVAL,
			"%s: \"%s\" is no duration (such as 500us, 2ms, 1.5s, 1min)", where, text);
	if (limited && (*value < option->min || *value > option->max))
		return ifp_fail(-EINVAL, "%s: %s is not between %" PRId64 " and %" PRId64 " ms",
			where, text, option->min / IFP_NS_PER_MS, option->max / IFP_NS_PER_MS);
	return 0;
}

void ifp_option_join_choices(
	const struct ifp_option *option, const char *separator, struct ifp_buf *out)
{
	for (size_t i = 0; option->choices[i]; i++)
		ifp_buf_printf(out, "%s%s", i ? separator : "", option->choices[i]);
}

static int store_choice(
	const struct ifp_option *option, const char *text, int *value, const char *where)
{
	IFP_CLEANUP_BUF struct ifp_buf words = {0};

	for (int i = 0; option->choices[i]; i++) {
		if (strcmp(option->choices[i], text) == 0) {
			*value = i;
			return 0;
		}
	}
	ifp_option_join_choices(option, ", ", &words);
	ifp_buf_append_u8(&words, 0);
	return ifp_fail(-EINVAL, "%s: \"%s\" is none of %s", where, text,
		words.failed ? "its choices" : (const char *)words.data);
}

static int store_one(
	const struct ifp_option *option, void *place, const char *text, const char *where)
{
	switch (option->type) {
	case IFP_OPTION_FLAG:
		return store_flag(text, place, where);
	case IFP_OPTION_INT:
		return store_int(option, text, place, where);
	case IFP_OPTION_CHOICE:
		return store_choice(option, text, place, where);
	case IFP_OPTION_BYTES:
		if (parse_scaled(text, byte_units, place))
			return 0;
		return ifp_fail(
			-EINVAL, "%s: \"%s\" is no size (such as 500000, 64MiB, 2GB)", where, text);
	case IFP_OPTION_DURATION:
		return store_duration(option, text, place, where);
	default:
		*(const char **)place = text;
		return 0;
	}
}

int ifp_option_store(const struct ifp_option *option, void *values,
	const struct ifp_option_list *texts, const char *where)
{
	void *place = (char *)values + option->offset;

	if (option->type != IFP_OPTION_LIST)
		return store_one(option, place, texts->items[texts->count - 1], where);
	*(struct ifp_option_list *)place = *texts;
	return 0;
}

int ifp_option_list_add(struct ifp_arena *arena, struct ifp_option_list *list, const char *text)
{
	bool full = (list->count & (list->count - 1)) == 0; /* capacities are powers of two */

	if (full) {
		size_t capacity = list->count ? list->count * 2 : 1;
		const char **items = ifp_arena_alloc(arena, capacity * sizeof(*items));

		if (!items)
			return ifp_fail(-ENOMEM, "keep %zu option values", capacity);
		if (list->count)
			memcpy(items, list->items, list->count * sizeof(*items));
		list->items = items;
	}
	list->items[list->count++] = text;
	return 0;
}
