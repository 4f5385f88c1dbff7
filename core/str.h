/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A piece of text that somebody else owns: pointer and length, not NUL-terminated.
 * An empty piece may have a NULL pointer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct ifp_str {
	const char *ptr;
	uint32_t len_bytes;
};

static inline struct ifp_str ifp_str(const char *text)
{
	return (struct ifp_str){text, text ? (uint32_t)strlen(text) : 0};
}

static inline bool ifp_str_equal(struct ifp_str a, struct ifp_str b)
{
	return a.len_bytes == b.len_bytes && (!a.len_bytes || !memcmp(a.ptr, b.ptr, a.len_bytes));
}

static inline bool ifp_str_is(struct ifp_str a, const char *text)
{
	return ifp_str_equal(a, ifp_str(text));
}

static inline bool ifp_str_starts_with(struct ifp_str a, const char *prefix)
{
	size_t len_bytes = strlen(prefix);

	return a.len_bytes >= len_bytes && !memcmp(a.ptr, prefix, len_bytes);
}

static inline bool ifp_str_ends_with(struct ifp_str a, const char *suffix)
{
	size_t len_bytes = strlen(suffix);

	return a.len_bytes >= len_bytes &&
	       !memcmp(a.ptr + a.len_bytes - len_bytes, suffix, len_bytes);
}

static inline bool ifp_str_contains(struct ifp_str a, const char *part)
{
	return a.len_bytes && memmem(a.ptr, a.len_bytes, part, strlen(part));
}

/* For printf: printf(IFP_STR_FORMAT, IFP_STR_ARGS(s)). */
#define IFP_STR_FORMAT "%.*s"
#define IFP_STR_ARGS(s) (int)(s).len_bytes, (s).ptr ? (s).ptr : ""
