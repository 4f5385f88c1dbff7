/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of a text in memory, for tests. */
#pragma once

#include "memory_file.h"
#include "test.h"
#include "trace/chrome/reader.h"

#include <errno.h>

struct fixture {
	struct memory_file file;
	struct ifp_chrome_reader *reader;
	struct ifp_event event;
};

static inline void open_bytes(struct fixture *f, const void *data, size_t len_bytes)
{
	f->file = memory_file_new();
	memory_file_set(&f->file, data, len_bytes);
	assert_ok(ifp_chrome_reader_open(f->file.path, &f->reader));
}

static inline void open_text(struct fixture *f, const char *json)
{
	open_bytes(f, json, strlen(json));
}

static inline void next_event(struct fixture *f)
{
	int result = ifp_chrome_reader_next(f->reader, &f->event);

	if (result != 1)
		fail_msg("no event (%d): %s", result, ifp_error_cause(0));
}

static inline void no_more_events(struct fixture *f)
{
	assert_ok(ifp_chrome_reader_next(f->reader, &f->event));
}

static inline void damaged_at(struct fixture *f, const char *place)
{
	char text[512];

	assert_int_equal(ifp_chrome_reader_next(f->reader, &f->event), -EBADMSG);
	if (!strstr(ifp_error_text(text, sizeof(text)), place))
		fail_msg("\"%s\" does not say \"%s\"", text, place);
	ifp_error_clear();
}

static inline void close_all(struct fixture *f)
{
	ifp_chrome_reader_close(&f->reader);
	memory_file_free(&f->file);
}

#define OP "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":7,\"tid\":8,"
