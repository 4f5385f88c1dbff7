/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/brief.h"

#include "core/cleanup.h"

#define ELLIPSIS "…"
#define ELLIPSIS_BYTES (sizeof(ELLIPSIS) - 1)

/*
 * Ids tie the events of a file together: arrows show that. The others are for analyses, the same
 * for many events, or long.
 */
static const char *const left_out[] = {"External id", "external id", "correlation",
	"Record function id", "Sequence number", "Fwd thread id", "fwd_thread_id", "Ev Idx",
	"Profiler Event Index", "Call stack", "Concrete Inputs", "Input Strides",
	"Module Hierarchy", "Python id", "Python parent id", "Python module id", "Python thread",
	"Trace name", "Trace iterator", "cbid", "queued", "device", "context",
	"registers per thread", "shared memory", "blocks per SM", "warps per SM",
	"est. achieved occupancy %", "memory bandwidth (GB/s)"};

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

static bool is_left_out(struct ifp_str key)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(left_out); i++)
		if (key.ptr[0] == left_out[i][0] && ifp_str_is(key, left_out[i]))
			return true;
	return false;
}

static void append_member(struct ifp_buf *out, struct ifp_str key, struct ifp_str value)
{
	size_t before = out->len_bytes;

	ifp_buf_append_text(out, before ? ",\"" : "{\"");
	ifp_buf_append(out, key.ptr, key.len_bytes);
	ifp_buf_append_text(out, "\":");
	if (value.len_bytes <= IFP_BRIEF_VALUE_BYTES)
		ifp_buf_append(out, value.ptr, value.len_bytes);
	else
		append_cut(out, value);
	if (out->len_bytes >= IFP_BRIEF_ARGS_BYTES)
		out->len_bytes = before;
}

struct ifp_str ifp_brief_args(const struct ifp_event *event, struct ifp_buf *scratch)
{
	uint32_t at = 0;
	bool own = event->source == IFP_SOURCE_MARK || event->source == IFP_SOURCE_NVTX;
	struct ifp_str key, value;

	if (own && event->args.len_bytes <= IFP_BRIEF_ARGS_BYTES)
		return event->args;
	ifp_buf_clear(scratch);
	while (ifp_args_next(event->args, &at, &key, &value))
		if (key.len_bytes && (own || !is_left_out(key)))
			append_member(scratch, key, value);
	if (scratch->len_bytes)
		ifp_buf_append_u8(scratch, '}');
	return text_of(scratch);
}

void ifp_brief_duration(struct ifp_buf *out, int64_t ns)
{
	if (ns < IFP_NS_PER_US)
		ifp_buf_printf(out, "%d ns", (int)ns);
	else if (ns < IFP_NS_PER_MS)
		ifp_buf_printf(out, "%.3g us", (double)ns / IFP_NS_PER_US);
	else if (ns < IFP_NS_PER_S)
		ifp_buf_printf(out, "%.3g ms", (double)ns / IFP_NS_PER_MS);
	else
		ifp_buf_printf(out, "%.3g s", (double)ns / IFP_NS_PER_S);
}
