/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/pull.h"

#include "core/error.h"
#include "trace/chrome/text.h"

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

/* The next byte, not taken; 0 at the end (a NUL in the text is refused by whoever sees it). */
static int look(struct ifp_pull *pull)
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

int ifp_pull_peek(struct ifp_pull *pull)
{
	int c;

	while ((c = look(pull)) == ' ' || c == '\n' || c == '\t' || c == '\r')
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

/* 1 when one more follows, 0 when the bracket has closed. */
static int separator(struct ifp_pull *pull, bool *first, char closing)
{
	int c = ifp_pull_peek(pull);

	if (c < 0)
		return c;
	if (c == closing) {
		pull->next++;
		pull->depth--;
		return 0;
	}
	if (*first) {
		*first = false;
		return 1;
	}
	if (c != ',')
		return ifp_pull_refuse(pull, closing == '}' ? "',' or '}'" : "',' or ']'");
	pull->next++;
	return 1;
}

/* The four digits of \uXXXX, whose "\u" has been taken. Given back as text when they are none. */
static int unicode_escape(struct ifp_pull *pull, struct ifp_buf *out)
{
	char digits[4];
	unsigned int count = 0;
	int c = 0;

	while (count < sizeof(digits) && (c = look(pull)) > 0 && ifp_text_is_hex((char)c)) {
		digits[count++] = (char)c;
		pull->next++;
	}
	if (c < 0)
		return c;
	if (count < sizeof(digits))
		pull->repairs++;
	if (!out)
		return 0;
	ifp_buf_append_text(out, count < sizeof(digits) ? "\\\\u" : "\\u");
	ifp_buf_append(out, digits, count);
	return 0;
}

/* An escape, whose backslash is next. */
static int escape(struct ifp_pull *pull, struct ifp_buf *out)
{
	uint8_t pair[2] = {'\\'};
	int c;

	pull->next++;
	c = look(pull);
	if (c < 0)
		return c;
	if (c == 'u') {
		pull->next++;
		return unicode_escape(pull, out);
	}
	if (!c || !strchr("\"\\/bfnrt", c)) {
		/* A backslash that begins no escape stands for itself. */
		pull->repairs++;
		if (out)
			ifp_buf_append_text(out, "\\\\");
		return 0;
	}
	pair[1] = (uint8_t)c;
	pull->next++;
	if (out)
		ifp_buf_append(out, pair, sizeof(pair));
	return 0;
}

static void control_character(struct ifp_pull *pull, struct ifp_buf *out)
{
	if (out)
		ifp_text_escape_byte(out, *pull->next);
	pull->repairs++;
	pull->next++;
}

/* One character of several bytes, which may lie across the end of the window. */
static int multibyte(struct ifp_pull *pull, struct ifp_buf *out)
{
	uint8_t bytes[4];
	unsigned int count = 0;
	unsigned int wanted = ifp_text_utf8_length(*pull->next);
	int c;

	do {
		bytes[count++] = *pull->next++;
		c = look(pull);
		if (c < 0)
			return c;
	} while (count < wanted && ifp_text_utf8_prefix(bytes, count, (uint8_t)c));
	if (count < wanted || !wanted) {
		pull->repairs++;
		if (out)
			ifp_buf_append_text(out, IFP_TEXT_REPLACEMENT);
	} else if (out) {
		ifp_buf_append(out, bytes, count);
	}
	return 0;
}

/* The inside of a string and its closing quote; the opening one has been taken. */
static int string(struct ifp_pull *pull, struct ifp_buf *out)
{
	for (;;) {
		size_t plain;
		int c = look(pull);
		int err = 0;

		if (c < 0)
			return c;
		if (out && out->len_bytes > IFP_PULL_MAX_TEXT_BYTES)
			return ifp_pull_refuse(pull, "no more text (the limit is 64 MiB)");
		if (pull->next == pull->end)
			return ifp_pull_refuse(pull, "the end of a string");
		plain = ifp_text_plain_length(pull->next, (size_t)(pull->end - pull->next));
		if (plain) {
			if (out)
				ifp_buf_append(out, pull->next, plain);
			pull->next += plain;
			continue;
		}
		if (c == '"') {
			pull->next++;
			return 0;
		}
		if (c == '\\')
			err = escape(pull, out);
		else if (c < 0x20)
			control_character(pull, out);
		else
			err = multibyte(pull, out);
		if (err)
			return err;
	}
}

int ifp_pull_member(struct ifp_pull *pull, bool *first, struct ifp_buf *key)
{
	int more = separator(pull, first, '}');
	int err;

	if (more <= 0)
		return more;
	ifp_buf_clear(key);
	err = expect(pull, '"', "a member's name");
	if (!err)
		err = string(pull, key);
	if (!err)
		err = expect(pull, ':', "':'");
	return err ? err : 1;
}

int ifp_pull_element(struct ifp_pull *pull, bool *first)
{
	return separator(pull, first, ']');
}

/* Appends digits; refuses when there is none. */
static int digits(struct ifp_pull *pull, struct ifp_buf *out)
{
	unsigned int count = 0;
	int c;

	for (; (c = look(pull)) >= '0' && c <= '9'; count++) {
		if (out)
			ifp_buf_append_u8(out, (uint8_t)c);
		pull->next++;
	}
	if (c < 0)
		return c;
	return count ? 0 : ifp_pull_refuse(pull, "a digit");
}

static int take_if(struct ifp_pull *pull, const char *accepted, struct ifp_buf *out)
{
	int c = look(pull);

	if (c <= 0)
		return c;
	if (!strchr(accepted, c))
		return 0;
	if (out)
		ifp_buf_append_u8(out, (uint8_t)c);
	pull->next++;
	return c;
}

static int number_tail(struct ifp_pull *pull, struct ifp_buf *out)
{
	int c = take_if(pull, ".", out);
	int err = c > 0 ? digits(pull, out) : c;

	if (err)
		return err;
	c = take_if(pull, "eE", out);
	if (c <= 0)
		return c;
	c = take_if(pull, "+-", out);
	return c < 0 ? c : digits(pull, out);
}

/* A word without quotes: true, false, null; NaN and Infinity become strings. */
static int word(struct ifp_pull *pull, const char *sign, struct ifp_buf *out)
{
	static const char *const right[] = {"true", "false", "null"};
	static const char *const repaired[] = {"NaN", "nan", "Infinity", "inf"};
	char text[16];
	unsigned int len = 0;
	int c;

	while ((c = look(pull)) > 0 && len < sizeof(text) - 1 &&
		((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
		text[len++] = (char)c;
		pull->next++;
	}
	if (c < 0)
		return c;
	text[len] = '\0';
	for (size_t i = 0; !*sign && i < IFP_ARRAY_SIZE(right); i++) {
		if (strcmp(text, right[i]) == 0) {
			if (out)
				ifp_buf_append_text(out, text);
			return 0;
		}
	}
	for (size_t i = 0; i < IFP_ARRAY_SIZE(repaired); i++) {
		if (strcmp(text, repaired[i]) == 0) {
			pull->repairs++;
			if (out)
				ifp_buf_printf(out, "\"%s%s\"", sign, text);
			return 0;
		}
	}
	return ifp_pull_refuse(pull, "a value");
}

static int number(struct ifp_pull *pull, struct ifp_buf *out)
{
	const char *sign = "";
	int c = look(pull);

	if (c == '-') {
		sign = "-";
		pull->next++;
		c = look(pull);
	}
	if (c < 0)
		return c;
	if (c < '0' || c > '9')
		return word(pull, sign, out);
	if (out)
		ifp_buf_append_text(out, sign);
	if (c == '0') {
		pull->next++;
		if (out)
			ifp_buf_append_u8(out, '0');
	} else {
		int err = digits(pull, out);

		if (err)
			return err;
	}
	return number_tail(pull, out);
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
		err = string(pull, out);
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

int ifp_pull_value(struct ifp_pull *pull, struct ifp_buf *out)
{
	int c = ifp_pull_peek(pull);
	int err;

	if (c < 0)
		return c;
	if (out && out->len_bytes > IFP_PULL_MAX_TEXT_BYTES)
		return ifp_pull_refuse(pull, "no more text (the limit is 64 MiB)");
	switch (c) {
	case '{':
		return object(pull, out);
	case '[':
		return array(pull, out);
	case '"':
		pull->next++;
		if (out)
			ifp_buf_append_u8(out, '"');
		err = string(pull, out);
		if (out)
			ifp_buf_append_u8(out, '"');
		return err;
	default:
		return number(pull, out);
	}
}

int ifp_pull_end(struct ifp_pull *pull)
{
	int c = ifp_pull_peek(pull);

	if (c < 0)
		return c;
	return pull->next == pull->end ? 0 : ifp_pull_refuse(pull, "the end of the text");
}
