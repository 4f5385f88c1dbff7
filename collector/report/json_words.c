/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/json_words.h"

#include "trace/chrome/escape.h"

#include <inttypes.h>

void ifp_json_words_text(struct ifp_buf *out, const char *value)
{
	if (!value) {
		ifp_buf_append_text(out, "null");
		return;
	}
	ifp_buf_append_text(out, "\"");
	ifp_json_escape(out, ifp_str(value));
	ifp_buf_append_text(out, "\"");
}

void ifp_json_words_member(struct ifp_buf *out, const char *name, const char *value)
{
	ifp_buf_printf(out, "\"%s\":", name);
	ifp_json_words_text(out, value);
	ifp_buf_append_text(out, ",");
}

void ifp_json_words_bound(struct ifp_buf *out, const char *name, int64_t ns)
{
	if (ns == INT64_MAX)
		ifp_buf_printf(out, "\"%s\":null,", name);
	else
		ifp_buf_printf(out, "\"%s\":%" PRId64 ",", name, ns);
}

void ifp_json_words_end(struct ifp_buf *out, const char *bracket)
{
	if (out->len_bytes && out->data[out->len_bytes - 1] == ',')
		out->len_bytes--;
	ifp_buf_append_text(out, bracket);
}
