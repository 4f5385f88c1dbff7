/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/brief.h"

#include "core/cleanup.h"

#define ELLIPSIS "…"
#define ELLIPSIS_BYTES (sizeof(ELLIPSIS) - 1)

/*
 * Ids tie the events of a file together: arrows show that. The others are for analyses, the same
 * for many events, or long.
 */
#define KEY(text)                                                                                  \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

static const struct ifp_str left_out[] = {KEY("External id"), KEY("external id"),
	KEY("correlation"), KEY("Record function id"), KEY("Sequence number"), KEY("Fwd thread id"),
	KEY("fwd_thread_id"), KEY("Ev Idx"), KEY("Profiler Event Index"), KEY("Call stack"),
	KEY("Concrete Inputs"), KEY("Input Strides"), KEY("Module Hierarchy"), KEY("Python id"),
	KEY("Python parent id"), KEY("Python module id"), KEY("Python thread"), KEY("Trace name"),
	KEY("Trace iterator"), KEY("cbid"), KEY("queued"), KEY("device"), KEY("context"),
	KEY("registers per thread"), KEY("shared memory"), KEY("blocks per SM"),
	KEY("warps per SM"), KEY("est. achieved occupancy %"), KEY("memory bandwidth (GB/s)")};

#undef KEY

static struct ifp_str text_of(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

static bool is_half_of_pair(const char *escape)
{
	return (escape[2] == 'd' || escape[2] == 'D') && strchr("89abAB", escape[3]);
}

/* Bytes of the character or escape at p, of which left bytes (at least 1) are there. */
static uint32_t unit_bytes(const char *p, uint32_t left)
{
	unsigned char c = (unsigned char)*p;
	uint32_t bytes = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	if (c == '\\' && left >= 2) {
		bytes = p[1] == 'u' ? 6 : 2;
		if (bytes == 6 && left >= 12 && is_half_of_pair(p) && p[6] == '\\')
			bytes = 12;
	}
	return bytes < left ? bytes : left;
}

struct ifp_str ifp_brief_text(struct ifp_str text, uint32_t max_bytes, struct ifp_buf *scratch)
{
	uint32_t at = 0;

	if (text.len_bytes <= max_bytes)
		return text;
	while (at + unit_bytes(text.ptr + at, text.len_bytes - at) <= max_bytes - ELLIPSIS_BYTES)
		at += unit_bytes(text.ptr + at, text.len_bytes - at);
	ifp_buf_clear(scratch);
	ifp_buf_append(scratch, text.ptr, at);
	ifp_buf_append_text(scratch, ELLIPSIS);
	return text_of(scratch);
}

/* The beginning of a long value, as a string; quotes within are left out. */
static void append_cut(struct ifp_buf *out, struct ifp_str value)
{
	size_t limit = out->len_bytes + IFP_BRIEF_VALUE_BYTES - ELLIPSIS_BYTES - 1;
	uint32_t at = value.ptr[0] == '"';

	ifp_buf_append_u8(out, '"');
	while (at < value.len_bytes) {
		uint32_t bytes = unit_bytes(value.ptr + at, value.len_bytes - at);
		bool quote = value.ptr[at + bytes - 1] == '"';

		if (!quote && out->len_bytes + bytes > limit)
			break;
		if (!quote)
			ifp_buf_append(out, value.ptr + at, bytes);
		at += bytes;
	}
	ifp_buf_append_text(out, ELLIPSIS "\"");
}

bool ifp_brief_leaves_out(struct ifp_str key)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(left_out); i++)
		if (ifp_str_equal(key, left_out[i]))
			return true;
	return false;
}

void ifp_brief_value(struct ifp_buf *out, struct ifp_str value)
{
	if (value.len_bytes <= IFP_BRIEF_VALUE_BYTES)
		ifp_buf_append(out, value.ptr, value.len_bytes);
	else
		append_cut(out, value);
}

static void append_member(struct ifp_buf *out, struct ifp_str key, struct ifp_str value)
{
	size_t before = out->len_bytes;

	ifp_buf_append_text(out, before ? ",\"" : "{\"");
	ifp_buf_append(out, key.ptr, key.len_bytes);
	ifp_buf_append_text(out, "\":");
	ifp_brief_value(out, value);
	if (out->len_bytes >= IFP_BRIEF_ARGS_BYTES)
		out->len_bytes = before;
}

struct ifp_str ifp_brief_args(
	enum ifp_event_source source, struct ifp_str args, struct ifp_buf *scratch)
{
	uint32_t at = 0;
	bool own = source == IFP_SOURCE_MARK || source == IFP_SOURCE_NVTX;
	struct ifp_str key, value;

	if (own && args.len_bytes <= IFP_BRIEF_ARGS_BYTES)
		return args;
	ifp_buf_clear(scratch);
	while (ifp_args_next(args, &at, &key, &value))
		if (key.len_bytes && (own || !ifp_brief_leaves_out(key)))
			append_member(scratch, key, value);
	if (scratch->len_bytes)
		ifp_buf_append_u8(scratch, '}');
	return text_of(scratch);
}

/* Three digits, or all before the point, and no zeros at the end. */
static void append_number(struct ifp_buf *out, int64_t ns, int64_t unit_ns)
{
	int64_t whole = ns / unit_ns, part = 0;
	unsigned int digits = whole >= 100 ? 0 : whole >= 10 ? 1 : 2;

	if (digits)
		part = ns % unit_ns * (digits == 1 ? 10 : 100) / unit_ns;
	for (; digits && part % 10 == 0; part /= 10)
		digits--;
	ifp_buf_append_unsigned(out, (uint64_t)whole, 1);
	if (!digits)
		return;
	ifp_buf_append_u8(out, '.');
	ifp_buf_append_unsigned(out, (uint64_t)part, digits);
}

void ifp_brief_duration(struct ifp_buf *out, int64_t ns)
{
	static const struct {
		int64_t ns;
		const char *text;
	} units[] = {
		{IFP_NS_PER_S, " s"}, {IFP_NS_PER_MS, " ms"}, {IFP_NS_PER_US, " us"}, {1, " ns"}};
	size_t i = 0;

	while (units[i].ns > 1 && ns < units[i].ns)
		i++;
	append_number(out, ns, units[i].ns);
	ifp_buf_append_text(out, units[i].text);
}
