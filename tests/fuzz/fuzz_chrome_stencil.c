/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of an element must not depend on what stands before it. The input is a byte that
 * chooses and an element; a second one is made from it that looks alike, with other numbers or with
 * one byte changed. Behind two copies of the first it must give what it gives alone.
 */
#include "fuzz.h"

#include "core/buf.h"
#include "core/error.h"
#include "memory_file.h"
#include "trace/chrome/reader.h"

#include <string.h>

#define PADDING "                                " /* stencils look ahead, for a while */

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* Digits for digits: often as many and without zeros that lead, sometimes not. */
static void put_number(struct ifp_buf *out, uint64_t *seed, size_t length)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	if (*seed >> 60 == 0)
		length += *seed >> 40 & 15;
	for (size_t i = 0; i < length; i++) {
		uint64_t digit = (*seed >> (4 + i % 48)) % 10;

		if (!i && !digit && *seed >> 59)
			digit = 1;
		ifp_buf_append_u8(out, (uint8_t)('0' + digit));
	}
}

static void put_other_numbers(
	struct ifp_buf *out, uint64_t seed, const uint8_t *text, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes;) {
		size_t first = i;

		while (i < len_bytes && is_digit(text[i]))
			i++;
		if (i > first)
			put_number(out, &seed, i - first);
		else
			ifp_buf_append_u8(out, text[i++]);
	}
}

static struct ifp_chrome_reader *open_array(
	struct memory_file *file, const struct ifp_buf *first, const struct ifp_buf *last)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	struct ifp_chrome_reader *reader = NULL;

	ifp_buf_append_u8(&text, '[');
	for (int i = 0; first && i < 2; i++) {
		ifp_buf_append(&text, first->data, first->len_bytes);
		ifp_buf_append_u8(&text, ',');
	}
	ifp_buf_append(&text, last->data, last->len_bytes);
	ifp_buf_append_u8(&text, ']');
	for (int i = 0; i < 256; i++)
		ifp_buf_append_text(&text, PADDING);
	*file = memory_file_new();
	memory_file_set(file, text.data, text.len_bytes);
	require(!ifp_chrome_reader_open(file->path, &reader));
	return reader;
}

static void close_array(struct memory_file *file, struct ifp_chrome_reader *reader)
{
	ifp_chrome_reader_close(&reader);
	memory_file_free(file);
	ifp_error_clear();
}

/* Whether the text is one element and nothing else: one object that has an event in it. */
static bool is_one_event(const struct ifp_buf *text)
{
	struct memory_file file;
	struct ifp_chrome_reader *reader = open_array(&file, NULL, text);
	struct ifp_event event;
	bool one = ifp_chrome_reader_next(reader, &event) == 1 &&
		   ifp_chrome_reader_next(reader, &event) == 0 &&
		   ifp_chrome_reader_counts(reader).events == 1 &&
		   !ifp_chrome_reader_counts(reader).set_aside;

	close_array(&file, reader);
	return one && text->data[0] == '{' && text->data[text->len_bytes - 1] == '}';
}

static void require_equal(const struct ifp_event *a, const struct ifp_event *b)
{
	require(a->kind == b->kind && a->source == b->source && a->clock == b->clock);
	require(a->start == b->start && a->dur == b->dur && a->correlation == b->correlation);
	require(a->lane.kind == b->lane.kind && a->lane.pid == b->lane.pid &&
		a->lane.tid == b->lane.tid);
	require(ifp_str_equal(a->lane.pid_text, b->lane.pid_text) &&
		ifp_str_equal(a->lane.tid_text, b->lane.tid_text));
	require(ifp_str_equal(a->name, b->name) && ifp_str_equal(a->category, b->category) &&
		ifp_str_equal(a->args, b->args) && ifp_str_equal(a->extra, b->extra));
}

/* Reads both to the end, the second one from behind its first two elements. */
static void require_same_in_company(const struct ifp_buf *first, const struct ifp_buf *later)
{
	struct memory_file alone_file, company_file;
	struct ifp_chrome_reader *alone = open_array(&alone_file, NULL, later);
	struct ifp_chrome_reader *company = open_array(&company_file, first, later);
	struct ifp_event wanted, got;
	uint64_t repaired;
	int more;

	require(ifp_chrome_reader_next(company, &got) == 1);
	repaired = ifp_chrome_reader_counts(company).repaired;
	require(ifp_chrome_reader_next(company, &got) == 1);
	do {
		more = ifp_chrome_reader_next(alone, &wanted);
		require(ifp_chrome_reader_next(company, &got) == more);
		if (more > 0)
			require_equal(&got, &wanted);
	} while (more > 0);
	require(ifp_chrome_reader_counts(company).set_aside ==
		ifp_chrome_reader_counts(alone).set_aside);
	require(ifp_chrome_reader_counts(company).repaired ==
		ifp_chrome_reader_counts(alone).repaired + 2 * repaired);
	close_array(&alone_file, alone);
	close_array(&company_file, company);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	IFP_CLEANUP_BUF struct ifp_buf first = {0}, later = {0};

	if (len_bytes < 3)
		return 0;
	ifp_buf_append(&first, data + 2, len_bytes - 2);
	if (!is_one_event(&first))
		return 0;
	put_other_numbers(&later, data[0], first.data, first.len_bytes);
	if (data[0] & 1)
		later.data[(data[0] + 256u * data[1]) / 2 % later.len_bytes] = data[1];
	/* An empty element, or none, has another meaning behind a comma than alone. */
	if (later.data[0] == '{')
		require_same_in_company(&first, &later);
	return 0;
}
