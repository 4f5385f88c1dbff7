/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/skip.h"

#include "trace/chrome/pull_scalar.h"
#include "trace/chrome/text.h"

#define BLOCK_BYTES 64u
#define BRACE_BIT 0x20u /* makes a brace of a bracket: '[' and '{', ']' and '}' differ by it */

/* What the bytes so far have opened. */
struct skip {
	uint64_t depth; /* brackets */
	bool in_string;
	bool escaped; /* the byte before was a backslash */
};

/* False when the byte closes the value. */
static bool pass_byte(struct skip *skip, uint8_t byte)
{
	uint8_t brace = byte | BRACE_BIT;

	if (skip->escaped)
		skip->escaped = false;
	else if (byte == '"')
		skip->in_string = !skip->in_string;
	else if (skip->in_string)
		skip->escaped = byte == '\\';
	else if (brace == '{')
		skip->depth++;
	else if (brace == '}')
		return --skip->depth;
	return true;
}

/* Bit i says whether an odd number of the bits 0 to i are set. */
static uint64_t parity(uint64_t bits)
{
	for (unsigned int shift = 1; shift < BLOCK_BYTES; shift *= 2)
		bits ^= bits << shift;
	return bits;
}

/* Whether these brackets may close the value: not when they leave one open, in any order. */
static bool may_close(const struct skip *skip, uint64_t closing)
{
	return (uint64_t)__builtin_popcountll(closing) >= skip->depth;
}

/* False, and nothing has changed, when the block has to be taken byte by byte. */
static bool pass_block(struct skip *skip, const uint8_t *block)
{
	uint64_t inside, opening, closing;

	if (skip->escaped || ifp_text_matches(block, '\\', 0))
		return false;
	inside = parity(ifp_text_matches(block, '"', 0)) ^ (skip->in_string ? UINT64_MAX : 0);
	opening = ifp_text_matches(block, '{', BRACE_BIT) & ~inside;
	closing = ifp_text_matches(block, '}', BRACE_BIT) & ~inside;
	if (may_close(skip, closing))
		return false;
	skip->depth += (uint64_t)__builtin_popcountll(opening);
	skip->depth -= (uint64_t)__builtin_popcountll(closing);
	skip->in_string = inside >> (BLOCK_BYTES - 1);
	return true;
}

/* As far as the window goes: false when the value has been closed. */
static bool pass_window(struct skip *skip, struct ifp_pull *pull)
{
	while (pull->next < pull->end) {
		size_t count = BLOCK_BYTES;

		if ((size_t)(pull->end - pull->next) >= BLOCK_BYTES &&
			pass_block(skip, pull->next)) {
			pull->next += BLOCK_BYTES;
			continue;
		}
		for (; count && pull->next < pull->end; count--)
			if (!pass_byte(skip, *pull->next++))
				return false;
	}
	return true;
}

int ifp_pull_skip(struct ifp_pull *pull)
{
	struct skip skip = {0};
	int c = ifp_pull_peek(pull);

	if (c < 0)
		return c;
	if (c != '[' && c != '{')
		return ifp_pull_value(pull, NULL);
	do {
		c = ifp_pull_look(pull);
		if (c < 0)
			return c;
		if (pull->next == pull->end)
			return ifp_pull_refuse(pull, "the end of a value");
	} while (pass_window(&skip, pull));
	return 0;
}
