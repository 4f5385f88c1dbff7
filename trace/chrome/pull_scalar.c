/* SPDX-License-Identifier: Apache-2.0 */
/* Strings, numbers and words of the scanner, the careful way. */
#include "trace/chrome/pull_scalar.h"

#include "core/error.h"
#include "trace/chrome/text.h"

#include <string.h>

#define MAX_WORD_BYTES 63u

/* The four digits of \uXXXX, whose "\u" has been taken. Given back as text when they are none. */
static int unicode_escape(struct ifp_pull *pull, struct ifp_buf *out)
{
	char digits[4];
	unsigned int count = 0;
	int c = 0;

	while (count < sizeof(digits) && (c = ifp_pull_look(pull)) > 0 &&
		ifp_text_is_hex((char)c)) {
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
	c = ifp_pull_look(pull);
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
		c = ifp_pull_look(pull);
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
int ifp_pull_string(struct ifp_pull *pull, struct ifp_buf *out)
{
	for (;;) {
		size_t plain;
		int c = ifp_pull_look(pull);
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

/* Appends digits, window by window; refuses when there is none. */
static int digits(struct ifp_pull *pull, struct ifp_buf *out)
{
	bool any = false;
	int c;

	while ((c = ifp_pull_look(pull)) >= '0' && c <= '9') {
		const uint8_t *first = pull->next;

		if (out && out->len_bytes > IFP_PULL_MAX_TEXT_BYTES)
			return ifp_pull_refuse(pull, "no more text (the limit is 64 MiB)");
		while (pull->next < pull->end && *pull->next >= '0' && *pull->next <= '9')
			pull->next++;
		if (out)
			ifp_buf_append(out, first, (size_t)(pull->next - first));
		any = true;
	}
	if (c < 0)
		return c;
	return any ? 0 : ifp_pull_refuse(pull, "a digit");
}

static int take_if(struct ifp_pull *pull, const char *accepted, struct ifp_buf *out)
{
	int c = ifp_pull_look(pull);

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

static bool is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_within_word(int c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

static bool is_right(const char *text)
{
	return !strcmp(text, "true") || !strcmp(text, "false") || !strcmp(text, "null");
}

/*
 * A word without quotes: true, false, null. Others become strings: NaN and Infinity, and what is
 * printed without quotes by mistake, as names of constants (ncclFloat32) and addresses (0x7f00).
 * What stands before it has been taken.
 */
static int word(struct ifp_pull *pull, const char *before, struct ifp_buf *out)
{
	char text[MAX_WORD_BYTES + 1];
	unsigned int len = 0;
	int c;

	while ((c = ifp_pull_look(pull)) > 0 && len < MAX_WORD_BYTES &&
		(len ? is_within_word(c) : is_letter(c))) {
		text[len++] = (char)c;
		pull->next++;
	}
	if (c < 0)
		return c;
	text[len] = '\0';
	if (!len || len == MAX_WORD_BYTES)
		return ifp_pull_refuse(pull, "a value");
	if (!*before && is_right(text)) {
		if (out)
			ifp_buf_append_text(out, text);
		return 0;
	}
	pull->repairs++;
	if (out)
		ifp_buf_printf(out, "\"%s%s\"", before, text);
	return 0;
}

int ifp_pull_number(struct ifp_pull *pull, struct ifp_buf *out)
{
	const char *sign = "";
	int c = ifp_pull_look(pull);
	int err;

	if (c == '-') {
		sign = "-";
		pull->next++;
		c = ifp_pull_look(pull);
	}
	if (c < 0)
		return c;
	if (c < '0' || c > '9')
		return word(pull, sign, out);
	if (c == '0') {
		pull->next++;
		c = ifp_pull_look(pull);
		if (c == 'x' || c == 'X')
			return word(pull, *sign ? "-0" : "0", out);
		if (out)
			ifp_buf_append_text(out, *sign ? "-0" : "0");
	} else {
		if (out)
			ifp_buf_append_text(out, sign);
		err = digits(pull, out);
		if (err)
			return err;
	}
	return number_tail(pull, out);
}
