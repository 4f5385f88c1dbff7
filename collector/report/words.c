/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/words.h"

#include "core/cleanup.h"
#include "core/time.h"

#include <inttypes.h>

struct unit {
	const char *name;
	int64_t ns;
};

static const struct unit units[] = {
	{"s", IFP_NS_PER_S},
	{"ms", IFP_NS_PER_MS},
	{"us", IFP_NS_PER_US},
	{"ns", 1},
};

/* The largest unit of which there is at least one whole. */
static const struct unit *unit_for(int64_t ns)
{
	size_t i = 0;

	while (i + 1 < IFP_ARRAY_SIZE(units) && ns < units[i].ns && ns > -units[i].ns)
		i++;
	return &units[i];
}

static void append_number(struct ifp_buf *out, int64_t ns, const struct unit *unit)
{
	double value = (double)ns / (double)unit->ns;
	double size = value < 0 ? -value : value;

	/* the limits are where %.*f rounds up to one more digit */
	ifp_buf_printf(out, "%.*f",
		size >= 99.95 || unit->ns == 1 ? 0
		: size >= 9.995		       ? 1
					       : 2,
		value);
}

void ifp_words_duration(struct ifp_buf *out, int64_t ns)
{
	const struct unit *unit = unit_for(ns);

	if (!ns) {
		ifp_buf_append_text(out, "0");
		return;
	}
	append_number(out, ns, unit);
	ifp_buf_printf(out, " %s", unit->name);
}

void ifp_words_offset(struct ifp_buf *out, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	ifp_buf_append_u8(out, ns < 0 ? '-' : '+');
	if (size < IFP_NS_PER_MS)
		ifp_buf_printf(out, "%" PRIu64 " ns", size);
	else
		ifp_buf_printf(out, "%" PRIu64 ".%09" PRIu64 " s", size / IFP_NS_PER_S,
			size % IFP_NS_PER_S);
}

void ifp_words_range(struct ifp_buf *out, int64_t low_ns, int64_t high_ns)
{
	const struct unit *unit = unit_for(high_ns);

	append_number(out, low_ns, unit);
	ifp_buf_append_text(out, " to ");
	append_number(out, high_ns, unit);
	ifp_buf_printf(out, " %s", unit->name);
}

void ifp_words_count(struct ifp_buf *out, uint64_t count, const char *singular)
{
	ifp_buf_printf(out, "%" PRIu64 " %s%s", count, singular, count == 1 ? "" : "s");
}

void ifp_words_ranks(struct ifp_buf *out, uint32_t limit,
	bool (*belongs)(const void *context, uint32_t rank), const void *context)
{
	IFP_CLEANUP_BUF struct ifp_buf list = {0};
	uint32_t ranks = 0;

	for (uint32_t first = 0, next = 0; first < limit; first = next + 1) {
		for (next = first; next < limit && belongs(context, next); next++)
			;
		if (next == first)
			continue;
		ifp_buf_printf(&list, "%s%u", ranks ? ", " : "", first);
		if (next - first > 1)
			ifp_buf_printf(&list, "%s%u", next - first > 2 ? " to " : ", ", next - 1);
		ranks += next - first;
	}
	ifp_buf_append_text(out, ranks == 1 ? "rank " : "ranks ");
	ifp_buf_append(out, list.data, list.len_bytes);
}
