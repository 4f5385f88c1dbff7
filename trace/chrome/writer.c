/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/writer.h"

#include "core/buf.h"
#include "core/cleanup.h"
#include "core/decimal.h"
#include "core/error.h"
#include "trace/output.h"

#include <errno.h>
#include <stdlib.h>

#define CHUNK_BYTES (128u * 1024u)

struct ifp_chrome_writer {
	struct ifp_output *output;
	struct ifp_buf chunk;
	uint64_t written_bytes;
	bool first;
};

static void release(struct ifp_chrome_writer **writer)
{
	struct ifp_chrome_writer *w = *writer;

	if (!w)
		return;
	ifp_output_abandon(&w->output);
	ifp_buf_free(&w->chunk);
	free(w);
	*writer = NULL;
}

void ifp_chrome_writer_abandon(struct ifp_chrome_writer **writer)
{
	release(writer);
}

int ifp_chrome_writer_open(
	const char *path, int gzip_level, struct ifp_str members, struct ifp_chrome_writer **out)
{
	IFP_CLEANUP(release) struct ifp_chrome_writer *writer = calloc(1, sizeof(*writer));
	int err;

	if (!writer)
		return ifp_fail(-ENOMEM, "create %s: out of memory", path);
	err = ifp_output_open(path, gzip_level, &writer->output);
	if (err)
		return err;
	writer->first = true;
	ifp_buf_append_text(&writer->chunk, "{");
	ifp_buf_append(&writer->chunk, members.ptr, members.len_bytes);
	ifp_buf_append_text(&writer->chunk, members.len_bytes ? ",\n" : "");
	ifp_buf_append_text(&writer->chunk, "\"traceEvents\":[");
	*out = IFP_TAKE_PTR(writer);
	return 0;
}

static void flush(struct ifp_chrome_writer *writer)
{
	ifp_output_write(writer->output, &writer->chunk);
	writer->written_bytes += writer->chunk.len_bytes;
	ifp_buf_clear(&writer->chunk);
}

/* Appends the minus sign where there is one; gives the absolute value, also of INT64_MIN. */
static uint64_t append_sign(struct ifp_buf *buf, int64_t value)
{
	if (value >= 0)
		return (uint64_t)value;
	ifp_buf_append_u8(buf, '-');
	return 0 - (uint64_t)value;
}

/* ns - zero_ns, without its sign, always fits. */
static void append_us(struct ifp_buf *buf, const char *key, int64_t ns, int64_t zero_ns)
{
	uint64_t absolute = (uint64_t)ns - (uint64_t)zero_ns;

	ifp_buf_append_text(buf, key);
	if (ns < zero_ns) {
		ifp_buf_append_u8(buf, '-');
		absolute = 0 - absolute;
	}
	ifp_buf_append_unsigned(buf, absolute / 1000, 1);
	ifp_buf_append_u8(buf, '.');
	ifp_buf_append_unsigned(buf, absolute % 1000, 3);
}

static void append_place(struct ifp_buf *buf, const char *key, int64_t number, struct ifp_str text)
{
	ifp_buf_append_text(buf, key);
	if (text.len_bytes)
		ifp_buf_append(buf, text.ptr, text.len_bytes);
	else
		ifp_buf_append_unsigned(buf, append_sign(buf, number), 1);
}

static void append_quoted(struct ifp_buf *buf, const char *key, struct ifp_str text)
{
	ifp_buf_append_text(buf, key);
	ifp_buf_append(buf, text.ptr, text.len_bytes);
	ifp_buf_append_u8(buf, '"');
}

void ifp_chrome_element_append(struct ifp_buf *buf, const struct ifp_chrome_element *element)
{
	ifp_buf_append_text(buf, "{\"ph\":\"");
	ifp_buf_append_u8(buf, (uint8_t)element->phase);
	if (element->category.len_bytes)
		append_quoted(buf, "\",\"cat\":\"", element->category);
	else
		ifp_buf_append_u8(buf, '"');
	append_quoted(buf, ",\"name\":\"", element->name);
	append_place(buf, ",\"pid\":", element->pid, element->pid_text);
	append_place(buf, ",\"tid\":", element->tid, element->tid_text);
	append_us(buf, ",\"ts\":", element->start_ns, element->zero_ns);
	if (element->phase == 'X')
		append_us(buf, ",\"dur\":", element->dur_ns, 0);
	if (element->has_id) {
		ifp_buf_append_text(buf, ",\"id\":");
		ifp_buf_append_unsigned(buf, element->id, 1);
	}
	if (element->args.len_bytes) {
		ifp_buf_append_text(buf, ",\"args\":");
		ifp_buf_append(buf, element->args.ptr, element->args.len_bytes);
	}
	if (element->extra.len_bytes > 2) {
		ifp_buf_append_u8(buf, ',');
		ifp_buf_append(buf, element->extra.ptr + 1, element->extra.len_bytes - 2);
	}
	ifp_buf_append_u8(buf, '}');
}

void ifp_chrome_writer_add(
	struct ifp_chrome_writer *writer, const struct ifp_chrome_element *element)
{
	ifp_buf_append_text(&writer->chunk, writer->first ? "\n" : ",\n");
	writer->first = false;
	ifp_chrome_element_append(&writer->chunk, element);
	if (writer->chunk.len_bytes >= CHUNK_BYTES)
		flush(writer);
}

static uint64_t number_bytes(int64_t value)
{
	return value < 0 ? 1 + ifp_decimal_digits(0 - (uint64_t)value)
			 : ifp_decimal_digits((uint64_t)value);
}

uint64_t ifp_chrome_us_bytes(int64_t ns, int64_t zero_ns)
{
	uint64_t absolute =
		ns < zero_ns ? (uint64_t)zero_ns - (uint64_t)ns : (uint64_t)ns - (uint64_t)zero_ns;

	return (ns < zero_ns) + ifp_decimal_digits(absolute / 1000) + sizeof(".000") - 1;
}

#define KEY_BYTES(key) (sizeof(key) - 1)

uint64_t ifp_chrome_element_bytes(const struct ifp_chrome_element *element)
{
	uint64_t bytes = KEY_BYTES(",\n{\"ph\":\"X\",\"name\":\"\",\"pid\":,\"tid\":,\"ts\":}") +
			 element->name.len_bytes +
			 ifp_chrome_us_bytes(element->start_ns, element->zero_ns);

	if (element->category.len_bytes)
		bytes += KEY_BYTES(",\"cat\":\"\"") + element->category.len_bytes;
	bytes += element->pid_text.len_bytes ? element->pid_text.len_bytes
					     : number_bytes(element->pid);
	bytes += element->tid_text.len_bytes ? element->tid_text.len_bytes
					     : number_bytes(element->tid);
	if (element->phase == 'X')
		bytes += KEY_BYTES(",\"dur\":") + ifp_chrome_us_bytes(element->dur_ns, 0);
	if (element->has_id)
		bytes += KEY_BYTES(",\"id\":") + ifp_decimal_digits(element->id);
	if (element->args.len_bytes)
		bytes += KEY_BYTES(",\"args\":") + element->args.len_bytes;
	if (element->extra.len_bytes > 2)
		bytes += element->extra.len_bytes - 1;
	return bytes;
}

uint64_t ifp_chrome_writer_bytes(const struct ifp_chrome_writer *writer)
{
	return writer->written_bytes + writer->chunk.len_bytes;
}

int ifp_chrome_writer_close(struct ifp_chrome_writer **writer)
{
	IFP_CLEANUP(release) struct ifp_chrome_writer *w = IFP_TAKE_PTR(*writer);

	ifp_buf_append_text(&w->chunk, "\n]}\n");
	flush(w);
	return ifp_output_close(&w->output);
}
