/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cause chain: how a failure becomes a story that is told once, at the top.
 *
 * A fallible function returns 0 or a negative errno. Where the failure is first seen, and wherever
 * a caller can add what it was doing, the function returns through ifp_fail(), which appends one
 * line to the chain of the calling thread. Only main() or an event loop prints the chain. Library
 * code never prints. A caller that handles a failure, and goes on, clears the chain.
 *
 * The chain belongs to the thread; nothing here allocates, so it also works when memory is short.
 */
#pragma once

#include <stddef.h>

/* Longest chain and longest line kept; what goes beyond is cut, never an error. */
#define IFP_ERROR_MAX_CAUSES 12
#define IFP_ERROR_MAX_LINE_BYTES 512

/*
 * Appends a cause and returns err, which must be a negative errno. The text is a clause without a
 * final full stop, says what was being done to what: "open /data/x.ifp: Permission denied".
 */
int ifp_fail(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As ifp_fail() with -errno, and ": " strerror(errno) behind the text. */
int ifp_fail_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Forgets the chain of this thread: the failure has been handled. */
void ifp_error_clear(void);

/* Number of causes, the i-th of them (0 = the first seen, the root), NULL beyond the end. */
size_t ifp_error_depth(void);
const char *ifp_error_cause(size_t i);

/*
 * Writes the chain as one line, outermost first, root cause last, joined by ": ", into text
 * (always NUL-terminated; cut if it does not fit). Returns text. Empty chain = empty string.
 */
char *ifp_error_text(char *text, size_t size_bytes);
