/* SPDX-License-Identifier: Apache-2.0 */
#include "core/options.h"

#include "core/cleanup.h"
#include "core/time.h"

#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct values {
	bool quiet;
	const char *output;
	int64_t ranks;
	int64_t limit_bytes;
	int64_t wait_ns;
	int64_t rest_ns;
	int clock;
	struct ifp_option_list steps;
};

static const char *const clocks[] = {"auto", "mpi", "zmq", NULL};

static const struct ifp_option table[] = {
	{"quiet", 'q', NULL, NULL, "Say less.", IFP_OPTION_FLAG, offsetof(struct values, quiet),
		NULL, 0, 0},
	{"output", 'o', "DIR", NULL, "Where to write.", IFP_OPTION_TEXT,
		offsetof(struct values, output), NULL, 0, 0},
	{"ranks", 0, "N", NULL, "How many ranks.", IFP_OPTION_INT, offsetof(struct values, ranks),
		NULL, 1, 64},
	{"memory-limit", 0, "SIZE", NULL, "Memory.", IFP_OPTION_BYTES,
		offsetof(struct values, limit_bytes), NULL, 0, 0},
	{"wait", 'w', "TIME", "", "Patience.", IFP_OPTION_DURATION,
		offsetof(struct values, wait_ns), NULL, 0, 0},
	{"rest", 0, "TIME", NULL, "Time between two.", IFP_OPTION_DURATION,
		offsetof(struct values, rest_ns), NULL, 2 * IFP_NS_PER_MS, 60 * IFP_NS_PER_S},
	{"clock", 0, "HOW", NULL, "How to align.", IFP_OPTION_CHOICE,
		offsetof(struct values, clock), clocks, 0, 0},
	{"steps", 0, "RANGE", NULL, "What to record, as a count or a range.", IFP_OPTION_LIST,
		offsetof(struct values, steps), NULL, 0, 0},
};

static const struct ifp_command command = {
	.name = "tool",
	.synopsis = "[OPTION]... -- PROGRAM",
	.summary = "Do something well.",
	.description = "Does it.\n\n\ttool -- true\n",
	.options = table,
	.option_count = IFP_ARRAY_SIZE(table),
};

struct fixture {
	struct values values;
	struct ifp_options_memory memory;
	enum ifp_options_outcome outcome;
	int first_argument;
	bool saw_separator;
	char cause[512];
};

static int parse(struct fixture *f, const char *const *arguments)
{
	char *argv[16] = {(char *)"tool"};
	int argc = 1, err;

	for (; arguments[argc - 1]; argc++)
		argv[argc] = (char *)arguments[argc - 1];
	ifp_options_memory_free(&f->memory);
	*f = (struct fixture){.values.output = "default", .values.ranks = 7};
	err = ifp_options_parse(&command, &f->values, argc, argv, &f->memory, &f->outcome,
		&f->first_argument, &f->saw_separator);
	ifp_error_text(f->cause, sizeof(f->cause));
	ifp_error_clear();
	return err;
}

#define PARSE(f, ...) parse(f, (const char *const[]){__VA_ARGS__, NULL})

#define assert_refused(f, expected_cause, ...)                                                     \
	do {                                                                                       \
		assert_int_equal(PARSE(f, __VA_ARGS__), -EINVAL);                                  \
		assert_string_equal((f)->cause, expected_cause);                                   \
	} while (0)

static int setup(void **state)
{
	unsetenv("INFPROF_CONFIG");
	unsetenv("INFPROF_STEPS");
	unsetenv("INFPROF_RANKS");
	unsetenv("INFPROF_QUIET");
	unsetenv("INFPROF_WAIT");
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ifp_options_memory_free(&f->memory);
	free(f);
	return 0;
}

static void every_type_is_read_from_the_command_line(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(PARSE(f, "-q", "-o", "out", "--ranks=8", "--memory-limit", "1.5MiB",
				 "-w1.5s", "--clock", "zmq", "--steps", "5", "--steps=20:25"),
		0);
	assert_int_equal(f->outcome, IFP_OPTIONS_RUN);
	assert_true(f->values.quiet);
	assert_string_equal(f->values.output, "out");
	assert_int_equal(f->values.ranks, 8);
	assert_int_equal(f->values.limit_bytes, 1572864);
	assert_int_equal(f->values.wait_ns, 1500 * IFP_NS_PER_MS);
	assert_int_equal(f->values.clock, 2);
	assert_int_equal(f->values.steps.count, 2);
	assert_string_equal(f->values.steps.items[0], "5");
	assert_string_equal(f->values.steps.items[1], "20:25");
}

static void units_scale_exactly(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {{"500us", 500000}, {"2ms", 2000000}, {"0.000000001s", 1}, {"1min", 60000000000},
		{"2h", 7200000000000}, {"3 s", 3000000000}, {"0", 0}};
	struct fixture *f = *state;

	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		assert_int_equal(PARSE(f, "--wait", cases[i].text), 0);
		assert_int_equal(f->values.wait_ns, cases[i].ns);
	}
	assert_int_equal(PARSE(f, "--memory-limit", "2GB"), 0);
	assert_int_equal(f->values.limit_bytes, 2000000000);
	assert_int_equal(PARSE(f, "--memory-limit", "500000"), 0);
	assert_int_equal(f->values.limit_bytes, 500000);
}

static void options_end_at_the_separator_or_the_first_argument(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(PARSE(f, "-q", "--", "program", "-o", "its"), 0);
	assert_true(f->saw_separator);
	assert_int_equal(f->first_argument, 3);
	assert_string_equal(f->values.output, "default");

	assert_int_equal(PARSE(f, "-q", "program", "--", "x"), 0);
	assert_false(f->saw_separator);
	assert_int_equal(f->first_argument, 2);

	/* here "--" is the argument of -o */
	assert_int_equal(PARSE(f, "-o", "--", "program"), 0);
	assert_false(f->saw_separator);
	assert_string_equal(f->values.output, "--");
	assert_int_equal(f->first_argument, 3);

	assert_int_equal(PARSE(f, "-q"), 0);
	assert_false(f->saw_separator);
	assert_int_equal(f->first_argument, 2);
}

static void options_may_stand_behind_arguments_where_the_command_says_so(void **state)
{
	struct ifp_command mixed = command;
	char *argv[] = {(char *)"tool", (char *)"run.ifp", (char *)"-o", (char *)"out", NULL};
	struct fixture *f = *state;

	mixed.options_anywhere = true;
	assert_ok(ifp_options_parse(&mixed, &f->values, 4, argv, &f->memory, &f->outcome,
		&f->first_argument, &f->saw_separator));
	assert_string_equal(f->values.output, "out");
	assert_int_equal(f->first_argument, 3);
	assert_string_equal(argv[3], "run.ifp");
	assert_false(f->saw_separator);
}

static void bad_use_gives_one_clear_cause(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, "there is no option --nope (tool --help lists them)", "--nope=3");
	assert_refused(f, "there is no option -x (tool --help lists them)", "-qx");
	assert_refused(f, "more than one option starts with --co (tool --help lists them)",
		"--co=3");
	assert_refused(f, "--quiet takes no argument", "--quiet=yes");
	assert_refused(f, "--output needs an argument: --output DIR", "--output");
	assert_refused(f, "-o needs an argument: -o DIR", "-qo");
	assert_refused(f, "--ranks: \"8x\" is no whole number", "--ranks", "8x");
	assert_refused(f, "--ranks: 65 is not between 1 and 64", "--ranks", "65");
	assert_refused(f, "--ranks: \"99999999999999999999\" is no whole number", "--ranks",
		"99999999999999999999");
	assert_refused(f, "--clock: \"ntp\" is none of auto, mpi, zmq", "--clock", "ntp");
	assert_refused(f, "--wait: \"5\" is no duration (such as 500us, 2ms, 1.5s, 1min)",
		"--wait", "5");
	assert_refused(f, "--wait: \"-5s\" is no duration (such as 500us, 2ms, 1.5s, 1min)",
		"--wait", "-5s");
	assert_refused(f, "--rest: 1ms is not between 2 and 60000 ms", "--rest", "1ms");
	assert_refused(f, "--rest: 2min is not between 2 and 60000 ms", "--rest", "2min");
	assert_refused(f, "--memory-limit: \"9999999999GiB\" is no size (such as 500000, 64MiB, 2GB)",
		"--memory-limit", "9999999999GiB");
}

static void command_line_beats_environment_beats_config_beats_default(void **state)
{
	char path[] = "/tmp/infprof-test-XXXXXX";
	const char *text = "{\"ranks\": 3, \"quiet\": true, \"steps\": [\"7\", 9],"
			   " \"wait\": \"2ms\", \"output\": \"from-file\"}";
	struct fixture *f = *state;
	int fd = mkstemp(path);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);

	setenv("INFPROF_CONFIG", path, 1);
	assert_int_equal(PARSE(f, "--memory-limit=1"), 0);
	assert_int_equal(f->values.ranks, 3);
	assert_true(f->values.quiet);
	assert_int_equal(f->values.wait_ns, 2 * IFP_NS_PER_MS);
	assert_string_equal(f->values.output, "from-file");
	assert_int_equal(f->values.steps.count, 2);
	assert_string_equal(f->values.steps.items[1], "9");

	setenv("INFPROF_RANKS", "4", 1);
	setenv("INFPROF_STEPS", "1,2,3", 1);
	setenv("INFPROF_QUIET", "no", 1);
	setenv("INFPROF_WAIT", "9s", 1); /* --wait has no variable */
	assert_int_equal(PARSE(f, "--output", "typed"), 0);
	assert_int_equal(f->values.ranks, 4);
	assert_int_equal(f->values.steps.count, 3);
	assert_false(f->values.quiet);
	assert_int_equal(f->values.wait_ns, 2 * IFP_NS_PER_MS);
	assert_string_equal(f->values.output, "typed");

	assert_int_equal(PARSE(f, "--ranks", "5", "--steps", "8"), 0);
	assert_int_equal(f->values.ranks, 5);
	assert_int_equal(f->values.steps.count, 1);
	unlink(path);
}

static void environment_errors_name_the_variable(void **state)
{
	struct fixture *f = *state;

	setenv("INFPROF_RANKS", "many", 1);
	assert_refused(f, "INFPROF_RANKS: \"many\" is no whole number", "-q");
	setenv("INFPROF_RANKS", "", 1); /* empty = not set */
	assert_int_equal(PARSE(f, "-q"), 0);
	assert_int_equal(f->values.ranks, 7);
}

/* Writes text to a config file and parses with it; expected has "FILE" where the path stands. */
static void check_config(struct fixture *f, const char *text, const char *expected)
{
	char path[] = "/tmp/infprof-test-XXXXXX";
	char cause[512], *place;
	int fd = mkstemp(path);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(PARSE(f, "--config", path), -EINVAL);
	unlink(path);
	place = strstr(f->cause, path);
	if (place)
		snprintf(cause, sizeof(cause), "%.*sFILE%s", (int)(place - f->cause), f->cause,
			place + strlen(path));
	else
		snprintf(cause, sizeof(cause), "%s", f->cause);
	assert_string_equal(cause, expected);
}

static void config_errors_name_file_and_key(void **state)
{
	struct fixture *f = *state;

	check_config(f, "{\n\"ranks\": 3,\n oops}", "config file FILE: line 3 is no JSON");
	check_config(f, "[1]", "config file FILE holds no JSON object such as {\"quiet\": true}");
	check_config(f, "{\"rank\": 1}", "config file FILE: tool has no option \"rank\"");
	check_config(f, "{\"config\": \"x\"}", "config file FILE: tool has no option \"config\"");
	check_config(f, "{\"quiet\": \"perhaps\"}",
		"\"quiet\" in the config file: \"perhaps\" is neither yes nor no");
	check_config(f, "{\"ranks\": [1]}",
		"config file FILE: \"ranks\" must be a text or a number");
	check_config(f, "{\"ranks\": 2.5}",
		"\"ranks\" in the config file: \"2.5\" is no whole number");
	check_config(f, "{\"quiet\": 1}", "config file FILE: \"quiet\" must be true or false");

	assert_int_equal(PARSE(f, "--config", "/nowhere/x.json"), -ENOENT);
	assert_string_equal(
		f->cause, "open config file /nowhere/x.json: No such file or directory");
}

/* One file may serve several programs when it is named for all of them. */
static void unknown_keys_are_left_alone_in_the_file_of_the_environment(void **state)
{
	char path[] = "/tmp/infprof-test-XXXXXX";
	const char *text = "{\"of-another-program\": 1, \"ranks\": 3}";
	struct fixture *f = *state;
	int fd = mkstemp(path);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	setenv("INFPROF_CONFIG", path, 1);
	assert_int_equal(PARSE(f, "-q"), 0);
	assert_int_equal(f->values.ranks, 3);
	assert_int_equal(PARSE(f, "--config", path), -EINVAL);
	unlink(path);
}

/* What a printing function writes, as text. */
static char *printed(void (*print)(const struct ifp_command *, FILE *))
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	print(&command, out);
	fclose(out);
	return text;
}

static void help_lists_every_option_within_80_columns(void **state)
{
	IFP_CLEANUP_FREE char *text = printed(ifp_options_print_help);

	(void)state;
	assert_non_null(strstr(text, "Usage: tool [OPTION]... -- PROGRAM\n"));
	assert_non_null(strstr(text, "  -q, --quiet               Say less. [INFPROF_QUIET]\n"));
	assert_non_null(strstr(text, "      --clock HOW           How to align. One of auto, mpi, "
				     "zmq. [INFPROF_CLOCK]\n"
				     "      --steps RANGE         What to record, as a count or a "
				     "range.\n"
				     "                            [INFPROF_STEPS]\n"));
	assert_non_null(strstr(text, "  -w, --wait TIME           Patience.\n"));
	assert_non_null(strstr(text, "--config FILE"));
	assert_non_null(strstr(text, "--version"));
	assert_null(strstr(text, "--man"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
}

static void man_page_is_scdoc_source_with_escapes(void **state)
{
	IFP_CLEANUP_FREE char *text = printed(ifp_options_print_man);

	(void)state;
	assert_int_equal(strncmp(text, "tool(1) \"infprof ", 17), 0);
	assert_non_null(strstr(text, "# NAME\n\ntool - Do something well.\n"));
	assert_non_null(strstr(text, "*tool* \\[OPTION]... -- PROGRAM\n"));
	assert_non_null(strstr(text, "Does it.\n\n```\ntool -- true\n```\n"));
	assert_non_null(strstr(text, "\n*-q*, *--quiet*\n\tSay less. Environment: "
				     "INFPROF\\_QUIET.\n"));
	assert_non_null(strstr(text, "\n*--steps* _RANGE_\n\tWhat to record, as a count or a range. May be repeated."));
}

/* Runs the completion in bash for a command line and gives what it offers, one word a line. */
static void complete(const char *words, int current, char *offers, size_t size_bytes)
{
	char script[8192];
	IFP_CLEANUP_FREE char *completion = NULL;
	const struct ifp_command *commands[] = {&command};
	size_t size = 0, n;
	FILE *out = open_memstream(&completion, &size);
	FILE *pipe;

	ifp_options_print_completion("tool", commands, 1, out);
	fclose(out);
	assert_true(snprintf(script, sizeof(script),
			    "bash -c '%s\nCOMP_WORDS=(%s) COMP_CWORD=%d; _tool; "
			    "printf \"%%s \" \"${COMPREPLY[@]}\"'",
			    completion, words, current) < (int)sizeof(script));
	pipe = popen(script, "r");
	assert_non_null(pipe);
	n = fread(offers, 1, size_bytes - 1, pipe);
	offers[n] = '\0';
	assert_int_equal(pclose(pipe), 0);
}

static void completion_offers_options_and_choices(void **state)
{
	char offers[512];

	(void)state;
	complete("tool --q", 1, offers, sizeof(offers));
	assert_string_equal(offers, "--quiet ");
	complete("tool --clock m", 2, offers, sizeof(offers));
	assert_string_equal(offers, "mpi ");
	complete("tool --", 1, offers, sizeof(offers));
	assert_string_equal(offers, "--quiet --output --ranks --memory-limit --wait --rest --clock "
				    "--steps --config --help --version ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			every_type_is_read_from_the_command_line, setup, teardown),
		cmocka_unit_test_setup_teardown(units_scale_exactly, setup, teardown),
		cmocka_unit_test_setup_teardown(
			options_end_at_the_separator_or_the_first_argument, setup, teardown),
		cmocka_unit_test_setup_teardown(
			options_may_stand_behind_arguments_where_the_command_says_so, setup,
			teardown),
		cmocka_unit_test_setup_teardown(bad_use_gives_one_clear_cause, setup, teardown),
		cmocka_unit_test_setup_teardown(
			command_line_beats_environment_beats_config_beats_default, setup, teardown),
		cmocka_unit_test_setup_teardown(
			environment_errors_name_the_variable, setup, teardown),
		cmocka_unit_test_setup_teardown(config_errors_name_file_and_key, setup, teardown),
		cmocka_unit_test_setup_teardown(
			unknown_keys_are_left_alone_in_the_file_of_the_environment, setup,
			teardown),
		cmocka_unit_test(help_lists_every_option_within_80_columns),
		cmocka_unit_test(man_page_is_scdoc_source_with_escapes),
		cmocka_unit_test(completion_offers_options_and_choices),
	};

	return RUN_TESTS(tests);
}
