/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/pull.h"

#include "core/error.h"
#include "trace/chrome/pull_scalar.h"
#include "trace/chrome/quick.h"

#include <errno.h>
#include <string.h>

void ifp_pull_init(struct ifp_pull *pull, struct ifp_input *input)
{
	*pull = (struct ifp_pull){.input = input};
}

uint64_t ifp_pull_offset(const struct ifp_pull *pull)
{
	return pull->window_offset - (uint64_t)(pull->end - pull->next);
}

int ifp_pull_refuse(const struct ifp_pull *pull, const char *expected)
{
	unsigned long long offset = (unsigned long long)ifp_pull_offset(pull);

	if (pull->ended && pull->next == pull->end)
		return ifp_fail(-EBADMSG, "byte %llu: the text ends where %s is expected", offset,
			expected);
	return ifp_fail(
		-EBADMSG, "byte %llu: 0x%02x where %s is expected", offset, *pull->next, expected);
}

int ifp_pull_look(struct ifp_pull *pull)
{
	size_t len_bytes;
	int result;

	if (pull->next < pull->end)
		return *pull->next;
	if (pull->ended)
		return 0;
	result = ifp_input_next(pull->input, &pull->next, &len_bytes);
	if (result <= 0) {
		pull->next = pull->end;
		pull->ended = !result;
		if (result)
			ifp_fail(result, "byte %llu", (unsigned long long)ifp_pull_offset(pull));
		return result;
	}
	pull->end = pull->next + len_bytes;
	pull->window_offset += len_bytes;
	return *pull->next;
}

int ifp_pull_peek_further(struct ifp_pull *pull)
{
	int c;

	while ((c = ifp_pull_look(pull)) == ' ' || c == '\n' || c == '\t' || c == '\r')
		pull->next++;
	return c;
}

int ifp_pull_enter(struct ifp_pull *pull, char bracket)
{
	int c = ifp_pull_peek(pull);

	if (c < 0)
		return c;
	if (c != bracket)
		return ifp_pull_refuse(pull, bracket == '{' ? "an object" : "an array");
	if (pull->depth == IFP_PULL_MAX_DEPTH)
		return ifp_pull_refuse(pull, "no deeper nesting (the limit is 64)");
	pull->depth++;
	pull->next++;
	return 0;
}

static int expect(struct ifp_pull *pull, char wanted, const char *what)
{
	int c = ifp_pull_peek(pull);

	if (c < 0)
		return c;
	if (c != wanted)
		return ifp_pull_refuse(pull, what);
	pull->next++;
	return 0;
}

static int close_bracket(struct ifp_pull *pull)
{
	pull->next++;
	pull->depth--;
	return 0;
}

/* 1 when one more follows, 0 when the bracket has closed. */
static int separator(struct ifp_pull *pull, bool *first, char closing)
{
	int c = ifp_pull_peek(pull);

	if (c < 0)
		return c;
	if (c == closing)
		return close_bracket(pull);
	if (*first) {
		*first = false;
		return 1;
	}
	if (c != ',')
		return ifp_pull_refuse(pull, closing == '}' ? "',' or '}'" : "',' or ']'");
	pull->next++;
	c = ifp_pull_peek(pull);
	if (c != closing)
		return c < 0 ? c : 1;
	pull->repairs++;
	return close_bracket(pull);
}

/* The name of a member and its colon: 1. */
static int member_name(struct ifp_pull *pull, struct ifp_buf *key)
{
	int err;

	ifp_buf_clear(key);
	err = expect(pull, '"', "a member's name");
	if (!err)
		err = ifp_pull_string(pull, key);
	if (!err)
		err = expect(pull, ':', "':'");
	return err ? err : 1;
}

int ifp_pull_member(struct ifp_pull *pull, bool *first, struct ifp_buf *key)
{
	int more = separator(pull, first, '}');

	return more <= 0 ? more : member_name(pull, key);
}

int ifp_pull_member_view(
	struct ifp_pull *pull, bool *first, struct ifp_buf *key, struct ifp_str *name)
{
	int more = separator(pull, first, '}');
	const uint8_t *start, *behind;
	size_t len_bytes;

	if (more <= 0)
		return more;
	behind = ifp_quick_name(pull->next, pull->end, &start, &len_bytes);
	if (behind) {
		pull->next = behind;
		*name = (struct ifp_str){(const char *)start, (uint32_t)len_bytes};
		return 1;
	}
	more = member_name(pull, key);
	*name = (struct ifp_str){(const char *)key->data, (uint32_t)key->len_bytes};
	return more;
}

int ifp_pull_element(struct ifp_pull *pull, bool *first)
{
	return separator(pull, first, ']');
}

static int object(struct ifp_pull *pull, struct ifp_buf *out)
{
	bool first = true;
	int more = ifp_pull_enter(pull, '{');

	if (more)
		return more;
	if (out)
		ifp_buf_append_u8(out, '{');
	for (;;) {
		bool comma = !first;
		int err;

		more = separator(pull, &first, '}');
		if (more <= 0)
			break;
		err = expect(pull, '"', "a member's name");
		if (err)
			return err;
		if (out)
			ifp_buf_append_text(out, comma ? ",\"" : "\"");
		err = ifp_pull_string(pull, out);
		if (out)
			ifp_buf_append_text(out, "\":");
		if (!err)
			err = expect(pull, ':', "':'");
		if (!err)
			err = ifp_pull_value(pull, out);
		if (err)
			return err;
	}
	if (out)
		ifp_buf_append_u8(out, '}');
	return more;
}

static int array(struct ifp_pull *pull, struct ifp_buf *out)
{
	bool first = true;
	int more = ifp_pull_enter(pull, '[');

	if (more)
		return more;
	if (out)
		ifp_buf_append_u8(out, '[');
	for (;;) {
		bool comma = !first;
		int err;

		more = separator(pull, &first, ']');
		if (more <= 0)
			break;
		if (out && comma)
			ifp_buf_append_u8(out, ',');
		err = ifp_pull_value(pull, out);
		if (err)
			return err;
	}
	if (out)
		ifp_buf_append_u8(out, ']');
	return more;
}

/* Takes the value the quick way; false when that is not possible, and nothing is taken. */
static bool quick_value(struct ifp_pull *pull, struct ifp_buf *out)
{
	struct ifp_quick quick = {.end = pull->end, .depth = IFP_PULL_MAX_DEPTH - pull->depth};
	const uint8_t *behind;

	ifp_buf_reserve(out, (size_t)(pull->end - pull->next) + IFP_QUICK_SLACK_BYTES);
	if (out->failed)
		return false;
	quick.out = out->data + out->len_bytes;
	behind = ifp_quick_value(&quick, pull->next);
	if (!behind)
		return false;
	pull->next = behind;
	out->len_bytes = (size_t)(quick.out - out->data);
	return true;
}

int ifp_pull_value(struct ifp_pull *pull, struct ifp_buf *out)
{
	int c = ifp_pull_peek(pull);
	int err;

	if (c < 0)
		return c;
	if (out && out->len_bytes > IFP_PULL_MAX_TEXT_BYTES)
		return ifp_pull_refuse(pull, "no more text (the limit is 64 MiB)");
	if (out && quick_value(pull, out))
		return 0;
	switch (c) {
	case '{':
		return object(pull, out);
	case '[':
		return array(pull, out);
	case '"':
		pull->next++;
		if (out)
			ifp_buf_append_u8(out, '"');
		err = ifp_pull_string(pull, out);
		if (out)
			ifp_buf_append_u8(out, '"');
		return err;
	default:
		return ifp_pull_number(pull, out);
	}
}

int ifp_pull_end(struct ifp_pull *pull)
{
	int c = ifp_pull_peek(pull);

	if (c < 0)
		return c;
	return pull->next == pull->end ? 0 : ifp_pull_refuse(pull, "the end of the text");
}
