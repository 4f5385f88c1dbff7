/* SPDX-License-Identifier: Apache-2.0 */
#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static __thread struct {
	size_t depth;
	char cause[IFP_ERROR_MAX_CAUSES][IFP_ERROR_MAX_LINE_BYTES];
} chain;

/* A full chain keeps its root and overwrites its outermost line: the root says most. */
static char *next_line(void)
{
	if (chain.depth < IFP_ERROR_MAX_CAUSES)
		chain.depth++;
	return chain.cause[chain.depth - 1];
}

int ifp_fail(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(next_line(), IFP_ERROR_MAX_LINE_BYTES, format, args);
	va_end(args);
	return err;
}

int ifp_fail_errno(const char *format, ...)
{
	int err = errno ? errno : EIO;
	char *line = next_line();
	va_list args;
	size_t used;

	va_start(args, format);
	vsnprintf(line, IFP_ERROR_MAX_LINE_BYTES, format, args);
	va_end(args);
	used = strlen(line);
	snprintf(line + used, IFP_ERROR_MAX_LINE_BYTES - used, ": %s", strerror(err));
	return -err;
}

void ifp_error_clear(void)
{
	chain.depth = 0;
}

size_t ifp_error_depth(void)
{
	return chain.depth;
}

const char *ifp_error_cause(size_t i)
{
	return i < chain.depth ? chain.cause[i] : NULL;
}

char *ifp_error_text(char *text, size_t size_bytes)
{
	size_t used = 0;

	if (!size_bytes)
		return text;
	text[0] = '\0';
	for (size_t i = chain.depth; i-- > 0 && used < size_bytes - 1;) {
		int n = snprintf(
			text + used, size_bytes - used, "%s%s", used ? ": " : "", chain.cause[i]);

		used += (size_t)(n > 0 ? n : 0);
	}
	return text;
}
