/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each source gives texts per option; then, option by option, the first source that said anything
 * has its texts stored. So precedence is one loop, and lists never mix sources.
 */
#include "core/options_internal.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "infprof/version.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LONG_VALUE 256 /* getopt's value of option i is this + i: above all letters */

static const struct ifp_option added[IFP_OPTION_ADDED_MAX] = {
	[IFP_OPTION_CONFIG] = {.name = "config",
		.argument = "FILE",
		.type = IFP_OPTION_TEXT,
		.doc = "Read options from FILE, a JSON object with long option names as keys."},
	[IFP_OPTION_HELP] = {.name = "help",
		.letter = 'h',
		.environment = "",
		.type = IFP_OPTION_FLAG,
		.doc = "Print this help and exit."},
	[IFP_OPTION_VERSION] = {.name = "version",
		.environment = "",
		.type = IFP_OPTION_FLAG,
		.doc = "Print the version and exit."},
	[IFP_OPTION_MAN] = {.name = "man", .environment = "", .type = IFP_OPTION_FLAG},
	[IFP_OPTION_COMPLETION] = {.name = "completion",
		.environment = "",
		.type = IFP_OPTION_FLAG},
};

const struct ifp_option *ifp_option_at(const struct ifp_command *command, size_t i)
{
	return i < command->option_count ? &command->options[i] : &added[i - command->option_count];
}

size_t ifp_option_find(const struct ifp_command *command, const char *name)
{
	size_t i = 0;

	while (i < ifp_option_total(command) && strcmp(ifp_option_at(command, i)->name, name) != 0)
		i++;
	return i;
}

const char *ifp_option_variable(const struct ifp_option *option, char *text, size_t size_bytes)
{
	if (option->environment) {
		snprintf(text, size_bytes, "%s", option->environment);
		return text;
	}
	snprintf(text, size_bytes, "INFPROF_%s", option->name);
	for (char *p = text; *p; p++)
		*p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
	return text;
}

/* What getopt needs, and what the command line gave. All memory is the arena. */
struct parser {
	const struct ifp_command *command;
	struct ifp_arena *arena;
	struct option *longs;
	char *letters;
	struct ifp_option_list *given;	/* by option: from the command line */
	struct ifp_option_list *config; /* by option: from the config file */
};

static void *zeroed(struct ifp_arena *arena, size_t count, size_t size_bytes)
{
	void *memory = ifp_arena_alloc(arena, count * size_bytes);

	return memory ? memset(memory, 0, count * size_bytes) : NULL;
}

static int parser_init(struct parser *p)
{
	size_t total = ifp_option_total(p->command);
	char *letter;

	p->longs = zeroed(p->arena, total + 1, sizeof(*p->longs));
	p->letters = zeroed(p->arena, total * 2 + 3, 1);
	p->given = zeroed(p->arena, total, sizeof(*p->given));
	p->config = zeroed(p->arena, total, sizeof(*p->config));
	if (!p->longs || !p->letters || !p->given || !p->config)
		return ifp_fail(-ENOMEM, "parse the options");
	letter = p->letters;
	if (!p->command->options_anywhere)
		*letter++ = '+'; /* stop at the first argument that is no option */
	*letter++ = ':';	 /* tell a missing argument from an unknown option */
	for (size_t i = 0; i < total; i++) {
		const struct ifp_option *option = ifp_option_at(p->command, i);
		bool takes_argument = option->type != IFP_OPTION_FLAG;

		p->longs[i] = (struct option){.name = option->name,
			.has_arg = takes_argument ? required_argument : no_argument,
			.val = FIRST_LONG_VALUE + (int)i};
		if (!option->letter)
			continue;
		*letter++ = option->letter;
		if (takes_argument)
			*letter++ = ':';
	}
	return 0;
}

/* The option with getopt's value, long or short; the table itself is at fault otherwise. */
static size_t option_of(const struct ifp_command *command, int value)
{
	size_t i = 0;

	if (value >= FIRST_LONG_VALUE)
		return (size_t)(value - FIRST_LONG_VALUE);
	while (i < ifp_option_total(command) && ifp_option_at(command, i)->letter != value)
		i++;
	return i;
}

/* getopt takes a long name's beginning for the name, where it is that of one option only. */
static bool ambiguous(const struct ifp_command *command, const char *argument, int name_bytes)
{
	size_t matches = 0;

	for (size_t i = 0; i < ifp_option_total(command); i++)
		matches += strncmp(ifp_option_at(command, i)->name, argument + 2,
				   (size_t)name_bytes - 2) == 0;
	return matches > 1;
}

static int fail_unknown(const struct ifp_command *command, const char *argument)
{
	int name_bytes = (int)strcspn(argument, "=");

	if (optopt >= FIRST_LONG_VALUE)
		return ifp_fail(-EINVAL, "%.*s takes no argument", name_bytes, argument);
	if (optopt)
		return ifp_fail(-EINVAL, "there is no option -%c (%s --help lists them)", optopt,
			command->name);
	return ifp_fail(-EINVAL, "%s %.*s (%s --help lists them)",
		ambiguous(command, argument, name_bytes) ? "more than one option starts with"
							 : "there is no option",
		name_bytes, argument, command->name);
}

static int fail_no_argument(const struct ifp_command *command, const char *argument)
{
	const struct ifp_option *option = ifp_option_at(command, option_of(command, optopt));

	if (optopt >= FIRST_LONG_VALUE)
		return ifp_fail(-EINVAL, "%s needs an argument: --%s %s", argument, option->name,
			option->argument);
	return ifp_fail(-EINVAL, "-%c needs an argument: -%c %s", optopt, optopt, option->argument);
}

static int read_arguments(
	struct parser *p, int argc, char **argv, int *first_argument, bool *saw_separator)
{
	int before, value, err = 0;

	opterr = 0;
	optind = 0; /* GNU: start afresh */
	for (;;) {
		before = optind ? optind : 1;
		value = getopt_long(argc, argv, p->letters, p->longs, NULL);
		if (value == -1)
			break;
		if (value == '?')
			return fail_unknown(p->command, argv[optind > 1 ? optind - 1 : 1]);
		if (value == ':')
			return fail_no_argument(p->command, argv[optind - 1]);
		err = ifp_option_list_add(p->arena, &p->given[option_of(p->command, value)],
			optarg ? optarg : "true");
		if (err < 0)
			return err;
	}
	/* getopt steps over "--" in the call that ends the options, and over nothing else */
	*saw_separator = !p->command->options_anywhere && optind > before;
	*first_argument = optind;
	return 0;
}

static int finish_printing(enum ifp_options_outcome *outcome)
{
	*outcome = IFP_OPTIONS_DONE;
	return fflush(stdout) == 0 ? 0 : ifp_fail_errno("write to standard output");
}

static void print_completion(const struct ifp_command *command)
{
	size_t count = 0;

	if (!command->verbs) {
		ifp_options_print_completion(command->name, &command, 1, stdout);
		return;
	}
	while (command->verbs[count])
		count++;
	ifp_options_print_completion(command->name, command->verbs, count, stdout);
}

/* Serves --help and its like; true when one of them was there. */
static bool print_asked(const struct parser *p)
{
	const struct ifp_option_list *asked = p->given + p->command->option_count;

	if (asked[IFP_OPTION_HELP].count)
		ifp_options_print_help(p->command, stdout);
	else if (asked[IFP_OPTION_VERSION].count)
		printf("%s %s\n", p->command->name, INFPROF_VERSION);
	else if (asked[IFP_OPTION_MAN].count)
		ifp_options_print_man(p->command, stdout);
	else if (asked[IFP_OPTION_COMPLETION].count)
		print_completion(p->command);
	else
		return false;
	return true;
}

static int read_config(struct parser *p)
{
	const struct ifp_option_list *named = &p->given[p->command->option_count];
	const char *variable = getenv("INFPROF_CONFIG");
	const char *path = named->count ? named->items[named->count - 1] : variable;

	if (!path || !*path)
		return 0;
	return ifp_options_read_config(p->command, path, named->count > 0, p->arena, p->config);
}

/* The variable's value as texts: split at commas for lists. */
static int read_variable(struct parser *p, const struct ifp_option *option, const char *value,
	struct ifp_option_list *texts)
{
	struct ifp_str copy;
	char *rest, *item;
	int err = 0;

	if (option->type != IFP_OPTION_LIST)
		return ifp_option_list_add(p->arena, texts, value);
	copy = ifp_arena_copy(p->arena, ifp_str(value));
	if (!copy.ptr)
		return ifp_fail(-ENOMEM, "read the environment");
	rest = (char *)copy.ptr;
	while (!err && (item = strsep(&rest, ",")))
		err = *item ? ifp_option_list_add(p->arena, texts, item) : 0;
	return err;
}

static int store_option(struct parser *p, size_t i, void *values)
{
	const struct ifp_option *option = ifp_option_at(p->command, i);
	char variable[IFP_OPTION_VARIABLE_BYTES], where[256];
	struct ifp_option_list texts = {0};
	const char *value;
	int err;

	if (p->given[i].count) {
		snprintf(where, sizeof(where), "--%s", option->name);
		return ifp_option_store(option, values, &p->given[i], where);
	}
	value = *ifp_option_variable(option, variable, sizeof(variable)) ? getenv(variable) : NULL;
	if (value && *value) {
		err = read_variable(p, option, value, &texts);
		if (err < 0 || !texts.count)
			return err;
		return ifp_option_store(option, values, &texts, variable);
	}
	if (!p->config[i].count)
		return 0;
	snprintf(where, sizeof(where), "\"%s\" in the config file", option->name);
	return ifp_option_store(option, values, &p->config[i], where);
}

int ifp_options_parse(const struct ifp_command *command, void *values, int argc, char **argv,
	struct ifp_options_memory *memory, enum ifp_options_outcome *outcome, int *first_argument,
	bool *saw_separator)
{
	struct parser p = {.command = command, .arena = &memory->arena};
	int err = parser_init(&p);

	if (!err)
		err = read_arguments(&p, argc, argv, first_argument, saw_separator);
	if (err < 0)
		return err;
	if (print_asked(&p))
		return finish_printing(outcome);
	err = read_config(&p);
	for (size_t i = 0; !err && i < command->option_count; i++)
		err = store_option(&p, i, values);
	if (!err)
		*outcome = IFP_OPTIONS_RUN;
	return err;
}

void ifp_options_memory_free(struct ifp_options_memory *memory)
{
	ifp_arena_free(&memory->arena);
}
