/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent's documents hold however large what they tell of is. */
#include "agent/documents.h"
#include "trace/wire/document.h"

#include "test.h"

#include <stdlib.h>

#define ARGUMENTS 40
#define ARGUMENT_BYTES (16 * 1024)

/* Control characters: each takes six bytes in JSON. */
static void long_command_lines_are_cut_to_fit_a_document(void **state)
{
	IFP_CLEANUP_FREE char *argument = malloc(ARGUMENT_BYTES + 1);
	IFP_CLEANUP_DOCUMENT cJSON *document = NULL;
	struct ifp_agent_options options = ifp_agent_option_defaults;
	struct ifp_identity identity = {.launcher = "openmpi", .world = 1, .job = "77"};
	struct ifp_window_wishes wishes = {0};
	char *argv[ARGUMENTS + 1] = {"python", "train.py"};
	struct ifp_agent_facts facts = {.options = &options,
		.identity = &identity,
		.windows = &wishes,
		.argv = argv,
		.program = "python",
		.host = "node1"};
	const cJSON *kept;
	char *text;

	(void)state;
	memset(argument, 1, ARGUMENT_BYTES);
	argument[ARGUMENT_BYTES] = '\0';
	for (size_t i = 2; i < ARGUMENTS; i++)
		argv[i] = argument;
	text = ifp_document_rank_start(&facts, 1234);
	assert_non_null(text);
	document = ifp_document_parse(text, strlen(text));
	cJSON_free(text);
	assert_non_null(document);
	assert_int_equal(ifp_document_get_count(document, "child_pid"), 1234);
	kept = cJSON_GetObjectItem(document, "argv");
	assert_int_equal(cJSON_GetArraySize(kept), 5); /* of the long ones, those in 64 KiB */
	assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(kept, 1)), "train.py");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_command_lines_are_cut_to_fit_a_document),
	};

	return RUN_TESTS(tests);
}
