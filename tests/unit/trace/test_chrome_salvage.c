/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged traces: every event that is whole is given, and the rest is told. */
#include "trace/chrome/reader.h"

#include "chrome_fixture.h"
#include "core/cleanup.h"

#include <zlib.h>

#define EVENT(us) OP "\"ts\":" #us ",\"dur\":1}"
#define HEAD "{\"traceEvents\":["
#define TAIL "],\"traceName\":\"x\"}"

struct damaged {
	const char *before; /* what is given before the damage ends here */
	const char *lost;
	const char *after;
	const char *starts; /* ts of the events that are given, one digit each */
	const char *cause;
};

static const struct damaged texts[] = {
	/* Cut off. */
	{HEAD EVENT(1) ",", OP "\"ts\":2,\"du", "", "1", "the text ends"},
	{HEAD EVENT(1) ",", "{\"name\":\"ab", "", "1", "the text ends"},
	{"[" EVENT(1) ",", OP "\"ts\"", "", "1", "the text ends"},
	{HEAD EVENT(1) ",\n", "", "", "1", "the text ends"},
	{HEAD EVENT(1) "\n", "", "", "1", "',' or ']'"},
	{HEAD EVENT(1) ",{}]\n", "", "", "1", "',' or '}'"},
	{HEAD EVENT(1) "]", ",\"traceName\":\"x", "", "1", "the text ends"},
	{HEAD, "", "", "", "the text ends"},
	/* An event that is none. */
	{HEAD EVENT(1) ",", OP "\"ts\":2 \"dur\":1},", EVENT(3) TAIL, "13", "',' or '}'"},
	{HEAD EVENT(1) ",", OP "\"ts\":0y2,\"args\":{\"a\":[{},{},1],\"b\":{}}},\n  ",
		EVENT(3) TAIL, "13", "0x79"},
	{HEAD "{\"ph\":\"X\"}", "{},", EVENT(3) "," EVENT(4) TAIL, "34", "',' or ']'"},
	{HEAD EVENT(1) ",", OP "\"ts\":2,,\"dur\":1}]", ",\"traceName\":\"x\"}", "1", "0x2c"},
	{"[" EVENT(1) ",", OP "\"ts\":@},", EVENT(3) "]", "13", "a value"},
	/* A comma that is missing, and a bracket too many. */
	{HEAD EVENT(1), "", EVENT(2) TAIL, "12", "',' or ']'"},
	{HEAD EVENT(1), "},", EVENT(2) TAIL, "12", "',' or ']'"},
	/* A hole in the middle: a quote is lost with it. */
	{HEAD EVENT(1) ",", OP "\"ts\":2,\"dur\":1,\"x\":\"uv," EVENT(3) ",", EVENT(4) TAIL, "14",
		"',' or '}'"},
	/* Before the first event. */
	{"{\"a\":1 ", "2,", "\"traceEvents\":[" EVENT(1) TAIL, "1", "',' or '}'"},
	{"", "WARNING: {1}\n{\"schemaVersion\":1,", "\"traceEvents\":[" EVENT(1) TAIL, "1",
		"an object"},
	{"{\"a\":\"x\"", "y\",\"traceEvents\",", "\"traceEvents\" : [" EVENT(1) "]}", "1",
		"',' or '}'"},
	{"{", "\"a\":[{\"name\":\"no event\"}", "\"traceEvents\":[" EVENT(1) TAIL, "1",
		"',' or ']'"},
	{"", "\"ts\":2,\"dur\":5},", EVENT(1) "," EVENT(2) TAIL, "12", "an object"},
	{"", "]}", EVENT(1) ",\n" EVENT(2) "]", "12", "an object"},
	/* Events without an array around them. */
	{EVENT(1) "\n", "", EVENT(2) "\n" EVENT(3) "\n", "123", "the end of the text"},
	{EVENT(1), "", "," EVENT(2) "," EVENT(3), "123", "the end of the text"},
	{EVENT(1), "", ",\n" EVENT(2) ",\n", "12", "the end of the text"},
	/* More text behind the end. */
	{HEAD EVENT(1) "]}", "\n{\"a\":1}", "", "1", "the end of the text"},
};

static void check_text(const struct damaged *text)
{
	char json[1024];
	struct ifp_chrome_damage damage;
	struct fixture f;

	snprintf(json, sizeof(json), "%s%s%s", text->before, text->lost, text->after);
	open_text(&f, json);
	ifp_chrome_reader_salvage(f.reader);
	for (const char *start = text->starts; *start; start++) {
		next_event(&f);
		if (f.event.start != 1000 * (*start - '0'))
			fail_msg("%s: the event of %d", json, (int)f.event.start / 1000);
	}
	no_more_events(&f);
	no_more_events(&f);
	damage = ifp_chrome_reader_damage(f.reader);
	if (damage.places != 1)
		fail_msg("%s: %d places", json, (int)damage.places);
	if (damage.lost_bytes != strlen(text->lost))
		fail_msg("%s: %d bytes are lost, not %d", json, (int)damage.lost_bytes,
			(int)strlen(text->lost));
	assert_in_range(damage.first_offset, strlen(text->before),
		strlen(text->before) + strlen(text->lost));
	if (!strstr(damage.first_cause, text->cause))
		fail_msg("%s: \"%s\" does not say \"%s\"", json, damage.first_cause, text->cause);
	assert_int_equal(damage.unread_bytes, 0);
	assert_int_equal(ifp_chrome_reader_counts(f.reader).events, strlen(text->starts));
	assert_int_equal(ifp_error_depth(), 0);
	close_all(&f);
}

static void whole_events_around_damage_are_given(void **state)
{
	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(texts); i++)
		check_text(&texts[i]);
}

/* A byte of its name has changed: what is in it proves to be events. */
static void events_in_an_array_of_another_name_are_given(void **state)
{
	static const char head[] = "{\"a\":1,\"traceEvemts\":[";
	struct fixture f;

	(void)state;
	open_text(&f, "{\"a\":1,\"traceEvemts\":[" EVENT(1) "," EVENT(2) TAIL);
	ifp_chrome_reader_salvage(f.reader);
	next_event(&f);
	next_event(&f);
	assert_int_equal(f.event.start, 2000);
	no_more_events(&f);
	assert_int_equal(ifp_chrome_reader_damage(f.reader).places, 1);
	assert_int_equal(ifp_chrome_reader_damage(f.reader).lost_bytes, strlen(head));
	close_all(&f);
}

/* The base is found wherever it stands, or events would be placed in 1970. */
static void damage_does_not_hide_the_base(void **state)
{
	static const char *const based[] = {
		HEAD EVENT(1) "],\"baseTimeNanoseconds\":5000 1}",
		HEAD "{\"name\":\"\\\"baseTimeNanoseconds\\\":7\" 1}," EVENT(
			1) "],"
			   "\"baseTimeNanoseconds\":5000}",
		"{\"a\" 1,\"baseTimeNanoseconds\" : 5000,\"traceEvents\":[" EVENT(1) "]}",
		"\"x\":1}," EVENT(1) "],\"baseTimeNanoseconds\":5000}",
		"{\"a\":\"\"baseTimeNanoseconds\"\",\"traceEvents\":[" EVENT(
			1) "],\"baseTimeNanoseconds\":5000}",
		HEAD EVENT(1) ",{\"name\":\"a},{\"b\"}],\"baseTimeNanoseconds\":5000}",
		HEAD EVENT(1) ",[[[}],\"baseTimeNanoseconds\":5000}",
		HEAD EVENT(1) ",]],\"baseTimeNanoseconds\":5000}",
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(based); i++) {
		struct fixture f;

		open_text(&f, based[i]);
		ifp_chrome_reader_salvage(f.reader);
		next_event(&f);
		if (f.event.start != 6000)
			fail_msg("%s: %d", based[i], (int)f.event.start);
		close_all(&f);
	}
}

static void members_behind_the_damage_are_kept(void **state)
{
	struct fixture f;

	(void)state;
	open_text(&f, HEAD "{\"ph\":1 2}],\"traceName\":\"x\"}");
	ifp_chrome_reader_salvage(f.reader);
	no_more_events(&f);
	assert_str(ifp_chrome_reader_header(f.reader).others, "{\"traceName\":\"x\"}");
	close_all(&f);
}

/* Reads what there is to its end: the number of events, or -1 when it is refused. */
static int salvage_all(const void *data, size_t len_bytes, struct ifp_chrome_damage *damage)
{
	struct fixture f;
	int more, count = 0;

	open_bytes(&f, data, len_bytes);
	ifp_chrome_reader_salvage(f.reader);
	while ((more = ifp_chrome_reader_next(f.reader, &f.event)) > 0)
		count++;
	*damage = ifp_chrome_reader_damage(f.reader);
	if (more < 0) {
		assert_int_equal(more, -EBADMSG);
		assert_int_equal(count, 0);
		ifp_error_clear();
		count = -1;
	}
	close_all(&f);
	return count;
}

#define HEADER "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}],\n\"traceEvents\": [\n"
#define FIRST OP "\"ts\": 1.5, \"dur\": 1, \"args\": {\"a\": [1, \"}{\"], \"b\": true}}"
#define SECOND OP "\"ts\": 2, \"dur\": 1, \"s\": \"\\u00e4\\\\\"}"
static const char document[] = HEADER FIRST ",\n" SECOND ",\n" FIRST "\n],\n\"traceName\": \"x\"}";

/* Wherever a trace is cut off: in a string, a number, a word, an escape, between events. */
static void what_stands_before_a_cut_is_kept(void **state)
{
	static const size_t ends[] = {sizeof(HEADER) - 1, sizeof(HEADER FIRST) - 1,
		sizeof(HEADER FIRST ",\n" SECOND) - 1,
		sizeof(HEADER FIRST ",\n" SECOND ",\n" FIRST) - 1};

	(void)state;
	for (size_t cut = 0; cut < sizeof(document) - 1; cut++) {
		struct ifp_chrome_damage damage;
		int count = salvage_all(document, cut, &damage), whole = -1;

		for (size_t i = 0; i < IFP_ARRAY_SIZE(ends); i++)
			whole = cut >= ends[i] - (i ? 0 : 1) ? (int)i : whole;
		/* Before the array's bracket it is no trace at all. */
		if (count != (cut <= (size_t)(strrchr(HEADER, '[') - HEADER) ? -1
				     : whole < 0		       ? 0
								       : whole))
			fail_msg("cut at %zu: %d events, not %d", cut, count, whole);
		if (count < 0)
			continue;
		assert_int_equal(damage.places, 1);
		/* Commas and line ends between events are no loss; the members are. */
		if (damage.lost_bytes > cut - (whole < 0 ? 0 : ends[whole]))
			fail_msg("cut at %zu: %d bytes lost", cut, (int)damage.lost_bytes);
	}
}

/*
 * One byte of it becomes another: the event that it is in may be lost, and the one it runs into. A
 * bracket more makes the events elements of an element, which is sound JSON, and no event.
 */
static void one_wrong_byte_costs_two_events_at_most(void **state)
{
	static const char wrong[] = "\"\\{}[],:x\x00\xff";
	char text[sizeof(document)];

	(void)state;
	for (size_t at = 0; at < sizeof(document) - 1; at++) {
		for (size_t i = 0; i < sizeof(wrong) - 1; i++) {
			struct ifp_chrome_damage damage;
			int count;

			memcpy(text, document, sizeof(document));
			text[at] = wrong[i];
			count = salvage_all(text, sizeof(document) - 1, &damage);
			if (count < 1 && !(wrong[i] == '[' && strchr(" \n", document[at])))
				fail_msg("0x%02x at %zu: %d events", (unsigned char)wrong[i], at,
					count);
		}
	}
}

static void every_place_counts(void **state)
{
	struct fixture f;

	(void)state;
	open_text(&f, HEAD "{\"a\":1 2}," EVENT(1) ",{\"b\" 3}," EVENT(2) "}" TAIL);
	ifp_chrome_reader_salvage(f.reader);
	next_event(&f);
	next_event(&f);
	assert_int_equal(f.event.start, 2000);
	no_more_events(&f);
	assert_int_equal(ifp_chrome_reader_damage(f.reader).places, 3);
	close_all(&f);
}

static void whole_files_have_no_damage(void **state)
{
	static const char *const whole[] = {
		HEAD EVENT(1) TAIL, "[" EVENT(1) ",{}]", "[" EVENT(1) ",", "[" EVENT(1)};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(whole); i++) {
		struct fixture f;

		open_text(&f, whole[i]);
		ifp_chrome_reader_salvage(f.reader);
		next_event(&f);
		no_more_events(&f);
		assert_int_equal(ifp_chrome_reader_damage(f.reader).places, 0);
		assert_int_equal(ifp_chrome_reader_damage(f.reader).lost_bytes, 0);
		close_all(&f);
	}
}

static void what_is_no_trace_is_refused_all_the_same(void **state)
{
	static const char *const others[] = {"", " ", "x", "{\"a\":1}", "{\"a\":",
		("\x7f"
		 "ELF"),
		"{\"traceEvents\":", "{\"traceEvents\" 5}"};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(others); i++) {
		struct fixture f;

		open_text(&f, others[i]);
		ifp_chrome_reader_salvage(f.reader);
		damaged_at(&f, "");
		close_all(&f);
	}
}

static void only_a_bracket_is_an_empty_trace(void **state)
{
	struct fixture f;

	(void)state;
	open_text(&f, "[");
	ifp_chrome_reader_salvage(f.reader);
	no_more_events(&f);
	assert_int_equal(ifp_chrome_reader_damage(f.reader).places, 0);
	close_all(&f);
}

static void a_directory_is_refused(void **state)
{
	struct ifp_chrome_reader *reader = NULL;

	(void)state;
	assert_int_equal(ifp_chrome_reader_open("/", &reader), -EISDIR);
	assert_null(reader);
	ifp_error_clear();
}

static size_t gzip(const char *text, uint8_t *out, size_t size_bytes)
{
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)text,
		.avail_in = (uInt)strlen(text),
		.next_out = out,
		.avail_out = (uInt)size_bytes};
	size_t used;

	assert_int_equal(
		deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	used = stream.total_out;
	deflateEnd(&stream);
	return used;
}

/* A packed file that is cut off, or has a wrong byte, at any place: told, and read as far as it
 * goes. */
static void no_damage_to_gzip_goes_unnoticed(void **state)
{
	uint8_t packed[512], broken[512];
	size_t used = gzip(document, packed, sizeof(packed));
	struct ifp_chrome_damage damage;

	(void)state;
	for (size_t cut = 1; cut < used; cut++) {
		int count = salvage_all(packed, cut, &damage);

		if (count > 3 || (count >= 0 && damage.places != 1))
			fail_msg(
				"cut at %zu: %d events, %d places", cut, count, (int)damage.places);
	}
	/* Neither the header, of which little is checked, nor the bits that fill up the last byte. */
	for (size_t at = 10; at < used; at++) {
		int count;

		if (at == used - 9)
			continue;
		memcpy(broken, packed, used);
		broken[at] ^= 0x10;
		count = salvage_all(broken, used, &damage);
		if (count > 3 || (count >= 0 && !damage.places))
			fail_msg("byte %zu: %d events, %d places", at, count, (int)damage.places);
	}
}

static void a_wrong_checksum_of_gzip_loses_no_event(void **state)
{
	static const char json[] = HEAD EVENT(1) "," EVENT(2) TAIL;
	uint8_t packed[512];
	size_t used = gzip(json, packed, sizeof(packed));
	struct ifp_chrome_damage damage;
	struct fixture f;

	(void)state;
	packed[used - 8] ^= 1;
	open_bytes(&f, packed, used);
	ifp_chrome_reader_salvage(f.reader);
	next_event(&f);
	next_event(&f);
	no_more_events(&f);
	damage = ifp_chrome_reader_damage(f.reader);
	assert_int_equal(damage.places, 1);
	assert_int_equal(damage.lost_bytes, 0);
	assert_non_null(strstr(damage.first_cause, "the gzip stream is damaged"));
	assert_str(ifp_chrome_reader_header(f.reader).others, "{\"traceName\":\"x\"}");
	close_all(&f);
}

static void what_cannot_be_unpacked_is_counted_in_bytes_of_the_file(void **state)
{
	uint8_t packed[512];
	size_t first = gzip(HEAD EVENT(1) ",", packed, sizeof(packed));
	size_t second = gzip(EVENT(2) TAIL, packed + first, sizeof(packed) - first);
	struct ifp_chrome_damage damage;
	struct fixture f;

	(void)state;
	packed[first + 10] = 0xff; /* a block of a type that does not exist */
	open_bytes(&f, packed, first + second);
	ifp_chrome_reader_salvage(f.reader);
	next_event(&f);
	no_more_events(&f);
	damage = ifp_chrome_reader_damage(f.reader);
	assert_int_equal(damage.places, 1);
	assert_int_equal(damage.lost_bytes, 1); /* the comma */
	assert_in_range(damage.unread_bytes, 1, second);
	close_all(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_events_around_damage_are_given),
		cmocka_unit_test(events_in_an_array_of_another_name_are_given),
		cmocka_unit_test(damage_does_not_hide_the_base),
		cmocka_unit_test(members_behind_the_damage_are_kept),
		cmocka_unit_test(what_stands_before_a_cut_is_kept),
		cmocka_unit_test(one_wrong_byte_costs_two_events_at_most),
		cmocka_unit_test(every_place_counts),
		cmocka_unit_test(whole_files_have_no_damage),
		cmocka_unit_test(what_is_no_trace_is_refused_all_the_same),
		cmocka_unit_test(only_a_bracket_is_an_empty_trace),
		cmocka_unit_test(a_directory_is_refused),
		cmocka_unit_test(no_damage_to_gzip_goes_unnoticed),
		cmocka_unit_test(a_wrong_checksum_of_gzip_loses_no_event),
		cmocka_unit_test(what_cannot_be_unpacked_is_counted_in_bytes_of_the_file),
	};

	return RUN_TESTS(tests);
}
