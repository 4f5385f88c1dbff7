/* SPDX-License-Identifier: Apache-2.0 */
/* Documents: what is taken from JSON that nobody can trust. */
#include "trace/wire/document.h"

#include "test.h"

#include <stdlib.h>

static cJSON *parse(const char *text)
{
	return ifp_document_parse(text, strlen(text));
}

static void only_objects_are_documents(void **state)
{
	static const char *const others[] = {"", "[1]", "\"a\"", "7", "null", "{", "{\"a\":}"};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(others); i++)
		assert_null(parse(others[i]));
	assert_null(ifp_document_parse(NULL, 0));
}

static void a_payload_ends_without_a_nul(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = ifp_document_parse("{\"a\":12}345", 8);
	int64_t value;

	(void)state;
	assert_non_null(document);
	assert_true(ifp_document_get_int(document, "a", &value));
	assert_int_equal(value, 12);
}

static void long_payloads_are_no_documents(void **state)
{
	IFP_CLEANUP_FREE char *text = malloc(IFP_DOCUMENT_MAX_BYTES + 1);
	IFP_CLEANUP_DOCUMENT cJSON *longest = NULL;

	(void)state;
	memset(text, ' ', IFP_DOCUMENT_MAX_BYTES + 1);
	memcpy(text, "{}", 2);
	longest = ifp_document_parse(text, IFP_DOCUMENT_MAX_BYTES);
	assert_non_null(longest);
	assert_null(ifp_document_parse(text, IFP_DOCUMENT_MAX_BYTES + 1));
}

static void integers_are_numbers_or_text(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *document =
		parse("{\"number\":-5,\"text\":\"9223372036854775807\",\"least\":"
		      "\"-9223372036854775808\",\"exact\":9007199254740992}");
	int64_t value;

	(void)state;
	assert_true(ifp_document_get_int(document, "number", &value));
	assert_int_equal(value, -5);
	assert_true(ifp_document_get_int(document, "text", &value));
	assert_true(value == INT64_MAX);
	assert_true(ifp_document_get_int(document, "least", &value));
	assert_true(value == INT64_MIN);
	assert_true(ifp_document_get_int(document, "exact", &value));
	assert_true(value == INT64_C(1) << 53);
}

static void anything_else_is_absent(void **state)
{
	static const char *const others[] = {"{}", "{\"n\":1e300}", "{\"n\":-1e300}",
		"{\"n\":9007199254740994}", "{\"n\":\"\"}", "{\"n\":\"12x\"}",
		"{\"n\":\"9223372036854775808\"}", "{\"n\":true}", "{\"n\":null}", "{\"n\":[1]}",
		"{\"N\":1}"};
	int64_t value = 77;

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(others); i++) {
		IFP_CLEANUP_DOCUMENT cJSON *document = parse(others[i]);

		assert_non_null(document);
		assert_false(ifp_document_get_int(document, "n", &value));
		assert_int_equal(value, 77);
		assert_int_equal(ifp_document_get_count(document, "n"), 0);
	}
	assert_false(ifp_document_get_int(NULL, "n", &value));
	assert_null(ifp_document_get_text(NULL, "n"));
}

static void counts_are_not_negative(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = parse("{\"many\":3,\"owed\":-3}");

	(void)state;
	assert_int_equal(ifp_document_get_count(document, "many"), 3);
	assert_int_equal(ifp_document_get_count(document, "owed"), 0);
}

static void ranks_are_below_the_world(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = parse("{\"last\":7,\"next\":8,\"none\":-1}");
	uint32_t rank = 99;

	(void)state;
	assert_false(ifp_document_get_rank(document, "next", 8, &rank));
	assert_false(ifp_document_get_rank(document, "none", 8, &rank));
	assert_int_equal(rank, 99);
	assert_true(ifp_document_get_rank(document, "last", 8, &rank));
	assert_int_equal(rank, 7);
}

static void only_the_word_true_is_true(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = parse("{\"yes\":true,\"no\":false,\"one\":1}");

	(void)state;
	assert_true(ifp_document_is_true(document, "yes"));
	assert_false(ifp_document_is_true(document, "no"));
	assert_false(ifp_document_is_true(document, "one"));
	assert_false(ifp_document_is_true(document, "absent"));
}

static void what_is_added_is_read_back(void **state)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();
	int64_t value;

	(void)state;
	ifp_document_add_int64(document, "moment", INT64_MIN);
	ifp_document_add_count(document, "count", UINT64_C(1) << 53);
	assert_true(ifp_document_get_int(document, "moment", &value));
	assert_true(value == INT64_MIN);
	assert_true(ifp_document_get_count(document, "count") == UINT64_C(1) << 53);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_objects_are_documents),
		cmocka_unit_test(a_payload_ends_without_a_nul),
		cmocka_unit_test(long_payloads_are_no_documents),
		cmocka_unit_test(integers_are_numbers_or_text),
		cmocka_unit_test(anything_else_is_absent),
		cmocka_unit_test(counts_are_not_negative),
		cmocka_unit_test(ranks_are_below_the_world),
		cmocka_unit_test(only_the_word_true_is_true),
		cmocka_unit_test(what_is_added_is_read_back),
	};

	return RUN_TESTS(tests);
}
