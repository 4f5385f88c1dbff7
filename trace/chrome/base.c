/* SPDX-License-Identifier: Apache-2.0 */
/* Where a trace states what its times count from, when it does so behind its events. */
#include "trace/chrome/reader_internal.h"

#include "core/error.h"
#include "trace/chrome/decimal.h"
#include "trace/chrome/seek.h"

#include <errno.h>

#define NAME "baseTimeNanoseconds"

static struct ifp_str buf_str(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

/* Looks through the outermost object; 1 when found. */
static int scan_members(struct ifp_pull *pull, int64_t *base_ns)
{
	IFP_CLEANUP_BUF struct ifp_buf key = {0};
	IFP_CLEANUP_BUF struct ifp_buf value = {0};
	bool first = true;
	int more = ifp_pull_enter(pull, '{');

	if (more)
		return more;
	while ((more = ifp_pull_member(pull, &first, &key)) > 0) {
		bool wanted = ifp_str_is(buf_str(&key), NAME);
		int err = ifp_pull_value(pull, wanted ? &value : NULL);

		if (err)
			return err;
		if (wanted && ifp_decimal_int(buf_str(&value), base_ns))
			return 1;
		ifp_buf_clear(&value);
	}
	return more;
}

/*
 * Goes on behind damage, where nothing but the member's own text is left to go by: it cannot stand
 * inside of a string, where its quotes would have backslashes.
 */
static int scan_text(struct ifp_pull *pull, int64_t *base_ns)
{
	IFP_CLEANUP_BUF struct ifp_buf value = {0};

	while (ifp_seek_text(pull, "\"" NAME "\"")) {
		if (ifp_pull_peek(pull) != ':')
			continue;
		pull->next++;
		ifp_buf_clear(&value);
		pull->depth = 1;
		if (!ifp_pull_value(pull, &value) && ifp_decimal_int(buf_str(&value), base_ns))
			return 1;
		ifp_error_clear();
	}
	ifp_error_clear(); /* where the file cannot be unpacked */
	return 0;
}

/* Damage is not told here: the reading itself will come to it. */
int ifp_chrome_know_base(struct ifp_chrome_reader *reader)
{
	IFP_CLEANUP(ifp_input_close) struct ifp_input *input = NULL;
	struct ifp_pull pull;
	int err = 0;

	if (reader->base_known)
		return 0;
	err = ifp_input_open(reader->path, &input);
	if (err)
		return err;
	ifp_pull_init(&pull, input);
	err = scan_members(&pull, &reader->base_ns);
	if (err == -EBADMSG) {
		ifp_error_clear();
		err = scan_text(&pull, &reader->base_ns);
	}
	if (err == -ENOMEM || err == -EIO)
		return err;
	if (err < 0)
		ifp_error_clear();
	reader->base_known = true;
	return 0;
}
