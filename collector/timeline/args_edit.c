/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/args_edit.h"

#include "trace/event.h"

#include <inttypes.h>
#include <stdio.h>

static void append_between(struct ifp_buf *out, const char *from, const char *to)
{
	ifp_buf_append(out, from, (size_t)(to - from));
}

void ifp_args_set(struct ifp_buf *out, struct ifp_str args, const char *key, struct ifp_str value)
{
	const char *end;
	struct ifp_str old;

	if (!args.len_bytes)
		args = ifp_str("{}");
	end = args.ptr + args.len_bytes;
	if (ifp_args_find(args, key, &old)) {
		append_between(out, args.ptr, old.ptr);
		ifp_buf_append(out, value.ptr, value.len_bytes);
		append_between(out, old.ptr + old.len_bytes, end);
		return;
	}
	ifp_buf_printf(out, "{\"%s\":", key);
	ifp_buf_append(out, value.ptr, value.len_bytes);
	if (args.len_bytes > 2) {
		ifp_buf_append_u8(out, ',');
		append_between(out, args.ptr + 1, end);
	} else {
		ifp_buf_append_u8(out, '}');
	}
}

void ifp_args_set_int(struct ifp_buf *out, struct ifp_str args, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	ifp_args_set(out, args, key, ifp_str(text));
}

void ifp_args_rename(struct ifp_buf *out, struct ifp_str args, const char *key, const char *new_key)
{
	struct ifp_str value;

	if (!args.len_bytes || !ifp_args_find(args, key, &value)) {
		ifp_buf_append(out, args.ptr, args.len_bytes);
		return;
	}
	/* In compact text, "key": stands right before the value. */
	append_between(out, args.ptr, value.ptr - strlen(key) - 3);
	ifp_buf_printf(out, "\"%s\":", new_key);
	append_between(out, value.ptr, args.ptr + args.len_bytes);
}

void ifp_args_remove(struct ifp_buf *out, struct ifp_str args, const char *key)
{
	const char *first, *behind, *end = args.ptr + args.len_bytes;
	struct ifp_str value;

	if (!args.len_bytes || !ifp_args_find(args, key, &value)) {
		ifp_buf_append(out, args.ptr, args.len_bytes);
		return;
	}
	first = value.ptr - strlen(key) - 3;
	behind = value.ptr + value.len_bytes;
	if (*behind == ',')
		behind++;
	else if (first[-1] == ',')
		first--;
	if (first - args.ptr == 1 && end - behind == 1)
		return; /* it was the only one */
	append_between(out, args.ptr, first);
	append_between(out, behind, end);
}
