/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/perfetto/annotations.h"

#include "trace/event.h"
#include "trace/perfetto/fields.h"
#include "trace/protobuf/encode.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A double's longest text that is looked at as a number. */
#define MAX_NUMBER 40

static void append_value(
	struct ifp_buf *out, struct ifp_intern *names, struct ifp_str value, unsigned int depth);

static void append_name(struct ifp_buf *out, struct ifp_intern *names, struct ifp_str name)
{
	uint32_t id;

	if (ifp_intern(names, name, &id))
		out->failed = true;
	else
		ifp_protobuf_uint(out, ANNOTATION_NAME_IID, (uint64_t)id + 1);
}

/* False when there is none. */
static bool append_members(struct ifp_buf *out, uint32_t field, struct ifp_intern *names,
	struct ifp_str object, unsigned int depth)
{
	struct ifp_str key, value;
	uint32_t at = 0;

	while (ifp_args_next(object, &at, &key, &value)) {
		struct ifp_protobuf_message entry = ifp_protobuf_begin(out, field);

		append_name(out, names, key);
		append_value(out, names, value, depth);
		ifp_protobuf_end(out, entry);
	}
	return at > 0;
}

static bool append_elements(
	struct ifp_buf *out, struct ifp_intern *names, struct ifp_str array, unsigned int depth)
{
	struct ifp_str value;
	uint32_t at = 0;

	while (ifp_args_next_element(array, &at, &value)) {
		struct ifp_protobuf_message element =
			ifp_protobuf_begin(out, ANNOTATION_ARRAY_VALUES);

		append_value(out, names, value, depth);
		ifp_protobuf_end(out, element);
	}
	return at > 0;
}

static bool append_whole(struct ifp_buf *out, const char *text)
{
	char *end;

	errno = 0;
	if (text[0] == '-') {
		int64_t number = strtoll(text, &end, 10);

		if (!errno && !*end)
			ifp_protobuf_int(out, ANNOTATION_INT, number);
	} else {
		uint64_t number = strtoull(text, &end, 10);

		if (!errno && !*end)
			ifp_protobuf_uint(
				out, number > INT64_MAX ? ANNOTATION_UINT : ANNOTATION_INT, number);
	}
	return !errno && !*end;
}

static bool append_number(struct ifp_buf *out, struct ifp_str value)
{
	char text[MAX_NUMBER + 1], *end;
	double number;

	if (value.len_bytes > MAX_NUMBER || !memchr("-0123456789", value.ptr[0], 11))
		return false;
	memcpy(text, value.ptr, value.len_bytes);
	text[value.len_bytes] = '\0';
	if (!strpbrk(text, ".eE"))
		return append_whole(out, text);
	number = strtod(text, &end);
	if (*end || !isfinite(number))
		return false;
	ifp_protobuf_double(out, ANNOTATION_DOUBLE, number);
	return true;
}

/* The value, as fields of a DebugAnnotation; it is not empty. */
static void append_value(
	struct ifp_buf *out, struct ifp_intern *names, struct ifp_str value, unsigned int depth)
{
	char first = value.ptr[0];

	if (first == '"') {
		if (value.len_bytes >= 2)
			value = (struct ifp_str){value.ptr + 1, value.len_bytes - 2};
		ifp_protobuf_text_json(out, ANNOTATION_STRING, value);
		return;
	}
	if (ifp_str_is(value, "true") || ifp_str_is(value, "false")) {
		ifp_protobuf_uint(out, ANNOTATION_BOOL, first == 't');
		return;
	}
	if (depth < IFP_PERFETTO_MAX_DEPTH && first == '{' &&
		append_members(out, ANNOTATION_DICT_ENTRIES, names, value, depth + 1))
		return;
	if (depth < IFP_PERFETTO_MAX_DEPTH && first == '[' &&
		append_elements(out, names, value, depth + 1))
		return;
	if (!append_number(out, value))
		ifp_protobuf_text(out, ANNOTATION_STRING, value);
}

void ifp_perfetto_annotate(struct ifp_buf *out, struct ifp_intern *names, struct ifp_str object)
{
	append_members(out, EVENT_DEBUG_ANNOTATIONS, names, object, 0);
}
