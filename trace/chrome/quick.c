/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/quick.h"

#include "trace/chrome/text.h"

#include <string.h>

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static const uint8_t *skip_space(const uint8_t *next, const uint8_t *end)
{
	while (next < end && (*next == ' ' || *next == '\n' || *next == '\t' || *next == '\r'))
		next++;
	return next;
}

static bool is_short_escape(uint8_t c)
{
	return c == '"' || c == '\\' || c == '/' || c == 'b' || c == 'f' || c == 'n' || c == 'r' ||
	       c == 't';
}

/* A string, whose opening quote is next. */
static const uint8_t *string(struct ifp_quick *quick, const uint8_t *next)
{
	uint8_t *out = quick->out;

	*out++ = *next++;
	while ((size_t)(quick->end - next) >= IFP_TEXT_BLOCK_BYTES) {
		unsigned int plain = ifp_text_plain_in_block(next);

		memcpy(out, next, IFP_TEXT_BLOCK_BYTES);
		next += plain;
		out += plain;
		if (plain == IFP_TEXT_BLOCK_BYTES)
			continue;
		if (*next == '"') {
			*out++ = *next++;
			quick->out = out;
			return next;
		}
		if (*next != '\\' || quick->end - next < 2 || !is_short_escape(next[1]))
			return NULL;
		*out++ = *next++;
		*out++ = *next++;
	}
	return NULL;
}

static const uint8_t *digits(struct ifp_quick *quick, const uint8_t *next)
{
	uint8_t *out = quick->out;

	if (next == quick->end || !is_digit(*next))
		return NULL;
	do
		*out++ = *next++;
	while (next < quick->end && is_digit(*next));
	quick->out = out;
	return next;
}

/* Without an exponent, decimal. It may go on behind the end of the window, so it must end before.
 */
static const uint8_t *number(struct ifp_quick *quick, const uint8_t *next)
{
	if (*next == '-')
		*quick->out++ = *next++;
	if (next < quick->end && *next == '0')
		*quick->out++ = *next++;
	else
		next = digits(quick, next);
	if (next && next < quick->end && *next == '.') {
		*quick->out++ = *next++;
		next = digits(quick, next);
	}
	if (!next || next == quick->end || (*next | 0x20) == 'e' || (*next | 0x20) == 'x')
		return NULL;
	return next;
}

static const uint8_t *word(struct ifp_quick *quick, const uint8_t *next)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len_bytes = strlen(words[i]);

		if ((size_t)(quick->end - next) <= len_bytes || memcmp(next, words[i], len_bytes))
			continue;
		if ((next[len_bytes] | 0x20) >= 'a' && (next[len_bytes] | 0x20) <= 'z')
			return NULL;
		memcpy(quick->out, words[i], len_bytes);
		quick->out += len_bytes;
		return next + len_bytes;
	}
	return NULL;
}

/* A name, its colon, and the white space around them. */
static const uint8_t *name(struct ifp_quick *quick, const uint8_t *next)
{
	next = skip_space(next, quick->end);
	if (next == quick->end || *next != '"')
		return NULL;
	next = string(quick, next);
	if (!next)
		return NULL;
	next = skip_space(next, quick->end);
	if (next == quick->end || *next != ':')
		return NULL;
	*quick->out++ = ':';
	return next + 1;
}

/* An object or array, whose opening bracket is next. */
static const uint8_t *group(struct ifp_quick *quick, const uint8_t *next)
{
	bool object = *next == '{';
	uint8_t closing = object ? '}' : ']';

	if (!quick->depth)
		return NULL;
	quick->depth--;
	*quick->out++ = *next;
	next = skip_space(next + 1, quick->end);
	for (bool more = next < quick->end && *next != closing; more;) {
		if (object)
			next = name(quick, next);
		if (next)
			next = ifp_quick_value(quick, next);
		if (!next)
			return NULL;
		next = skip_space(next, quick->end);
		more = next < quick->end && *next == ',';
		if (more)
			*quick->out++ = *next++;
	}
	if (next == quick->end || *next != closing)
		return NULL;
	quick->depth++;
	*quick->out++ = closing;
	return next + 1;
}

const uint8_t *ifp_quick_value(struct ifp_quick *quick, const uint8_t *next)
{
	next = skip_space(next, quick->end);
	if (next == quick->end)
		return NULL;
	if (*next == '"')
		return string(quick, next);
	if (*next == '{' || *next == '[')
		return group(quick, next);
	if (*next == '-' || is_digit(*next))
		return number(quick, next);
	return word(quick, next);
}

const uint8_t *ifp_quick_name(
	const uint8_t *next, const uint8_t *end, const uint8_t **name_start, size_t *name_bytes)
{
	next = skip_space(next, end);
	if (next == end || *next != '"')
		return NULL;
	*name_start = ++next;
	next += ifp_text_plain_length(next, (size_t)(end - next));
	if (next == end || *next != '"')
		return NULL;
	*name_bytes = (size_t)(next - *name_start);
	next = skip_space(next + 1, end);
	return next < end && *next == ':' ? next + 1 : NULL;
}
