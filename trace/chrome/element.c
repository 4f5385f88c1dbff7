/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/element.h"

#include "trace/chrome/stencil.h"

#include <string.h>

struct field_name {
	const char *name;
	uint32_t len_bytes;
	enum ifp_element_field field;
};

#define FIELD(name, field)                                                                         \
	{                                                                                          \
		name, sizeof(name) - 1, field                                                      \
	}

static const struct field_name members[] = {
	FIELD("ph", IFP_FIELD_PH),
	FIELD("cat", IFP_FIELD_CAT),
	FIELD("name", IFP_FIELD_NAME),
	FIELD("pid", IFP_FIELD_PID),
	FIELD("tid", IFP_FIELD_TID),
	FIELD("ts", IFP_FIELD_TS),
	FIELD("dur", IFP_FIELD_DUR),
	FIELD("id", IFP_FIELD_ID),
	FIELD("args", IFP_FIELD_ARGS),
};

static const struct field_name arguments[] = {
	FIELD("device", IFP_FIELD_DEVICE),
	FIELD("stream", IFP_FIELD_STREAM),
	FIELD("correlation", IFP_FIELD_CORRELATION),
};

/* IFP_FIELD_COUNT when the name is none of the table's. */
static enum ifp_element_field find(
	const struct field_name *table, size_t count, struct ifp_str name)
{
	for (size_t i = 0; i < count; i++)
		if (table[i].len_bytes == name.len_bytes && table[i].name[0] == name.ptr[0] &&
			!memcmp(table[i].name, name.ptr, name.len_bytes))
			return table[i].field;
	return IFP_FIELD_COUNT;
}

enum ifp_element_field ifp_element_member(struct ifp_str name)
{
	return find(members, IFP_ARRAY_SIZE(members), name);
}

enum ifp_element_field ifp_element_argument(struct ifp_str name)
{
	return find(arguments, IFP_ARRAY_SIZE(arguments), name);
}

/* Collects the value that is next and remembers where it is. */
static int take_value(
	struct ifp_element *element, struct ifp_pull *pull, enum ifp_element_field field)
{
	size_t start = element->values.len_bytes;
	int err = ifp_pull_value(pull, &element->values);

	if (!err && field != IFP_FIELD_COUNT)
		element->fields[field] =
			(struct ifp_element_span){start, element->values.len_bytes - start};
	return err;
}

static int next_member(struct ifp_element *element, struct ifp_pull *pull, bool *first)
{
	return ifp_pull_member_view(pull, first, &element->key, &element->name);
}

/* Appends what stands before a member's value. */
static void append_name(struct ifp_buf *out, struct ifp_str name, const char *opening)
{
	ifp_buf_append_text(out, opening);
	ifp_buf_append(out, name.ptr, name.len_bytes);
	ifp_buf_append_text(out, "\":");
}

static int take_args(struct ifp_element *element, struct ifp_pull *pull)
{
	struct ifp_buf *values = &element->values;
	size_t start = values->len_bytes;
	bool first = true;
	int more = ifp_pull_enter(pull, '{');

	if (more)
		return more;
	ifp_buf_append_u8(values, '{');
	while ((more = next_member(element, pull, &first)) > 0) {
		int err;

		append_name(values, element->name, values->len_bytes > start + 1 ? ",\"" : "\"");
		err = take_value(element, pull, ifp_element_argument(element->name));
		if (err)
			return err;
	}
	ifp_buf_append_u8(values, '}');
	element->fields[IFP_FIELD_ARGS] =
		(struct ifp_element_span){start, values->len_bytes - start};
	return more;
}

void ifp_element_extra(struct ifp_element *element, struct ifp_str key)
{
	append_name(&element->extra, key, element->extra.len_bytes ? ",\"" : "{\"");
}

static int take_member(struct ifp_element *element, struct ifp_pull *pull)
{
	enum ifp_element_field field = ifp_element_member(element->name);
	struct ifp_str name = element->name;

	if (field == IFP_FIELD_ARGS) {
		int c = ifp_pull_peek(pull);

		if (c < 0)
			return c;
		if (c == '{')
			return take_args(element, pull);
		name = ifp_str("args"); /* looking ahead may have moved the window */
	} else if (field != IFP_FIELD_COUNT) {
		return take_value(element, pull, field);
	}
	ifp_element_extra(element, name);
	return ifp_pull_value(pull, &element->extra);
}

/* The careful way: member by member. */
static int scan(struct ifp_element *element, struct ifp_pull *pull, int64_t base_ns,
	struct ifp_event *event)
{
	bool first = true;
	int more;

	ifp_buf_clear(&element->values);
	ifp_buf_clear(&element->extra);
	memset(element->fields, 0, sizeof(element->fields));
	ifp_pull_enter(pull, '{');
	while ((more = next_member(element, pull, &first)) > 0) {
		int err = take_member(element, pull);

		if (err)
			return err;
	}
	if (more < 0)
		return more;
	element->empty = first;
	return ifp_element_event(element, base_ns, event);
}

/* Scans an element that no stencil fits, and learns from it if it lies whole in the window. */
static int scan_and_learn(struct ifp_element *element, struct ifp_pull *pull, int64_t base_ns,
	struct ifp_event *event)
{
	const uint8_t *text = pull->next;
	uint64_t window = pull->window_offset, repairs = pull->repairs;
	int more = scan(element, pull, base_ns, event);

	if (more > 0 && pull->window_offset == window && pull->repairs == repairs &&
		!element->without_dur && element->stencils)
		ifp_stencils_learn(element->stencils, text, pull->next, pull->end, base_ns, event,
			&element->numbers);
	return more;
}

int ifp_element_read(struct ifp_element *element, struct ifp_pull *pull, int64_t base_ns,
	struct ifp_event *event, struct ifp_args_split *args)
{
	const uint8_t *behind = NULL;
	int more = ifp_pull_peek(pull);

	if (more < 0)
		return more;
	*args = (struct ifp_args_split){0};
	element->empty = false;
	if (more != '{')
		return ifp_pull_value(pull, NULL);
	if (!element->stencils)
		element->stencils = ifp_stencils_new(); /* without, all is only slower */
	if (element->stencils)
		behind = ifp_stencils_fit(
			element->stencils, pull->next, pull->end, base_ns, event, args);
	if (!behind)
		return scan_and_learn(element, pull, base_ns, event);
	pull->next = behind;
	element->without_dur = false;
	return 1;
}

void ifp_element_free(struct ifp_element *element)
{
	ifp_buf_free(&element->key);
	ifp_buf_free(&element->values);
	ifp_buf_free(&element->extra);
	ifp_stencils_free(element->stencils);
}
