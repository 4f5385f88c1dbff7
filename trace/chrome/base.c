/* SPDX-License-Identifier: Apache-2.0 */
/* Where a trace states what its times count from, when it does so behind its events. */
#include "trace/chrome/reader_internal.h"

#include "core/error.h"
#include "trace/chrome/decimal.h"
#include "trace/chrome/pull_scalar.h"
#include "trace/chrome/seek.h"
#include "trace/chrome/skip.h"

#include <errno.h>

#define NAME "baseTimeNanoseconds"

static struct ifp_str buf_str(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

/* Looks through the outermost object; 1 when found. *begin is where the last value begins. */
static int scan_members(struct ifp_pull *pull, int64_t *base_ns, uint64_t *begin)
{
	IFP_CLEANUP_BUF struct ifp_buf key = {0};
	IFP_CLEANUP_BUF struct ifp_buf value = {0};
	bool first = true;
	int more = ifp_pull_enter(pull, '{');

	if (more)
		return more;
	while ((more = ifp_pull_member(pull, &first, &key)) > 0) {
		bool wanted = ifp_str_is(buf_str(&key), NAME);
		int err;

		*begin = ifp_pull_offset(pull);
		err = wanted ? ifp_pull_value(pull, &value) : ifp_pull_skip(pull);
		if (err)
			return err;
		if (wanted && ifp_decimal_int(buf_str(&value), base_ns))
			return 1;
		ifp_buf_clear(&value);
	}
	return more;
}

/* Goes on to this offset, as far as there is text. */
static void go_to(struct ifp_pull *pull, uint64_t offset)
{
	while (ifp_pull_offset(pull) < offset && ifp_pull_look(pull) >= 0 &&
		pull->next < pull->end) {
		uint64_t left = offset - ifp_pull_offset(pull);
		size_t window_bytes = (size_t)(pull->end - pull->next);

		pull->next += left < window_bytes ? (size_t)left : window_bytes;
	}
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

/* Opens the file anew and looks through it one way or the other, from *begin on. */
static int look(const char *path, bool damaged, uint64_t *begin, int64_t *base_ns)
{
	IFP_CLEANUP(ifp_input_close) struct ifp_input *input = NULL;
	struct ifp_pull pull;
	int err = ifp_input_open(path, &input);

	if (err)
		return err;
	ifp_pull_init(&pull, input);
	if (!damaged)
		return scan_members(&pull, base_ns, begin);
	go_to(&pull, *begin);
	return scan_text(&pull, base_ns);
}

/* Damage is not told here: the reading itself will come to it. */
int ifp_chrome_know_base(struct ifp_chrome_reader *reader)
{
	uint64_t begin = 0;
	int err;

	if (reader->base_known)
		return 0;
	err = look(reader->path, false, &begin, &reader->base_ns);
	if (err == -EBADMSG) {
		ifp_error_clear();
		err = look(reader->path, true, &begin, &reader->base_ns);
	}
	if (err < 0 && err != -EBADMSG)
		return err;
	if (err < 0)
		ifp_error_clear();
	reader->base_known = true;
	return 0;
}
