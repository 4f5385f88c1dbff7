/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/event.h"

#include <stddef.h>

/* A place in the text of a JSON object; at never goes beyond len_bytes. */
struct scan {
	const char *text;
	size_t len_bytes;
	size_t at;
};

static char peek(const struct scan *scan)
{
	return scan->at < scan->len_bytes ? scan->text[scan->at] : '\0';
}

static void skip_space(struct scan *scan)
{
	/* The texts are compact: mostly there is none. */
	if (scan->at >= scan->len_bytes || scan->text[scan->at] > ' ')
		return;
	while (peek(scan) == ' ' || peek(scan) == '\t' || peek(scan) == '\n' || peek(scan) == '\r')
		scan->at++;
}

static const bool ends_string[256] = {['"'] = true, ['\\'] = true};
static const bool ends_value[256] = {
	['"'] = true, [','] = true, ['['] = true, [']'] = true, ['{'] = true, ['}'] = true};

static void skip_to(struct scan *scan, const bool ends[256])
{
	const char *text = scan->text;
	size_t at = scan->at, len_bytes = scan->len_bytes;

	while (at < len_bytes && !ends[(unsigned char)text[at]])
		at++;
	scan->at = at;
}

static bool take(struct scan *scan, char expected)
{
	skip_space(scan);
	if (scan->at >= scan->len_bytes || scan->text[scan->at] != expected)
		return false;
	scan->at++;
	return true;
}

/* Steps over a string, quotes included; what lies between them goes to *inside. */
static bool take_string(struct scan *scan, struct ifp_str *inside)
{
	size_t first;

	if (!take(scan, '"'))
		return false;
	first = scan->at;
	for (;;) {
		skip_to(scan, ends_string);
		if (peek(scan) != '\\')
			break;
		scan->at += 2;
	}
	if (scan->at >= scan->len_bytes) {
		scan->at = scan->len_bytes;
		return false;
	}
	*inside = (struct ifp_str){scan->text + first, (uint32_t)(scan->at - first)};
	scan->at++;
	return true;
}

/* Steps over one value. Brackets are counted, not matched: the text was checked on its way in. */
static bool take_value(struct scan *scan, struct ifp_str *value)
{
	struct ifp_str inside;
	size_t first, depth = 0;

	skip_space(scan);
	first = scan->at;
	for (skip_to(scan, ends_value); scan->at < scan->len_bytes; skip_to(scan, ends_value)) {
		char c = scan->text[scan->at];

		if (!depth && (c == ',' || c == '}' || c == ']'))
			break;
		if (c == '"') {
			if (!take_string(scan, &inside))
				return false;
			continue;
		}
		if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
		scan->at++;
	}
	*value = (struct ifp_str){scan->text + first, (uint32_t)(scan->at - first)};
	while (value->len_bytes && value->ptr[value->len_bytes - 1] == ' ')
		value->len_bytes--;
	return value->len_bytes && !depth;
}

bool ifp_args_next(struct ifp_str args, uint32_t *at, struct ifp_str *key, struct ifp_str *value)
{
	struct scan scan = {.text = args.ptr, .len_bytes = args.len_bytes, .at = *at};
	struct ifp_str name, found;

	if (!take(&scan, *at ? ',' : '{') || !take_string(&scan, &name) || !take(&scan, ':') ||
		!take_value(&scan, &found))
		return false;
	*at = (uint32_t)scan.at;
	*key = name;
	*value = found;
	return true;
}

bool ifp_args_next_element(struct ifp_str array, uint32_t *at, struct ifp_str *value)
{
	struct scan scan = {.text = array.ptr, .len_bytes = array.len_bytes, .at = *at};
	struct ifp_str found;

	if (!take(&scan, *at ? ',' : '[') || !take_value(&scan, &found))
		return false;
	*at = (uint32_t)scan.at;
	*value = found;
	return true;
}

bool ifp_args_find(struct ifp_str args, const char *key, struct ifp_str *value)
{
	struct ifp_str wanted = ifp_str(key), name, found;
	uint32_t at = 0;

	while (ifp_args_next(args, &at, &name, &found)) {
		if (ifp_str_equal(name, wanted)) {
			*value = found;
			return true;
		}
	}
	return false;
}

bool ifp_args_int(struct ifp_str text, int64_t *value)
{
	bool negative = text.len_bytes && text.ptr[0] == '-';
	int64_t number = 0;

	if (text.len_bytes == (negative ? 1u : 0u))
		return false;
	/* Summed up as a negative number, whose range is the larger one. */
	for (uint32_t i = negative ? 1 : 0; i < text.len_bytes; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9' ||
			__builtin_mul_overflow(number, 10, &number) ||
			__builtin_sub_overflow(number, text.ptr[i] - '0', &number))
			return false;
	}
	if (!negative && number == INT64_MIN)
		return false;
	*value = negative ? number : -number;
	return true;
}

bool ifp_args_find_int(struct ifp_str args, const char *key, int64_t *value)
{
	struct ifp_str text;

	return ifp_args_find(args, key, &text) && ifp_args_int(text, value);
}
