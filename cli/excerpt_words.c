/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/excerpt_words.h"

#include "core/buf.h"
#include "core/cleanup.h"
#include "core/log.h"

#include <inttypes.h>

void ifp_excerpt_warn(const struct ifp_excerpt_result *result, const char *where)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};

	if (result->unaligned)
		ifp_log_warn("%" PRIu32 " %s no clock readings: their events are left out",
			result->unaligned, result->unaligned == 1 ? "rank has" : "ranks have");
	if (!ifp_excerpt_left_out(result))
		return;
	ifp_excerpt_left_out_text(result, &text);
	ifp_buf_printf(&text, "%s%s", *where ? "; " : "", where);
	ifp_buf_append_u8(&text, 0);
	if (!text.failed)
		ifp_log_warn("%s", (const char *)text.data);
}
