/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table per command, from which everything about its options is made: parsing of the command
 * line, of the environment and of the config file, --help, the man page and shell completion.
 *
 * A value comes from the first of: command line, environment variable, config file, the default
 * that the caller put into the values before. The config file is a JSON object whose keys are the
 * long option names ({"steps": "5", "quiet": true, "output": "runs/a"}); it is named by --config
 * or INFPROF_CONFIG. Options that may be repeated take an array there and a comma-separated list
 * in the environment. An empty variable counts as not set. A key that is no option of the command
 * is an error in a file named by --config; one named by the variable may serve several programs,
 * and each takes what it knows.
 *
 * Two more arguments, not shown in --help, print what packages install: --man the source of the
 * man page, --completion the completion script.
 */
#pragma once

#include "core/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum ifp_option_type {
	IFP_OPTION_FLAG,     /* bool *: no argument; environment: 1/0, true/false, yes/no */
	IFP_OPTION_TEXT,     /* const char **: points into argv, environ or the options' memory */
	IFP_OPTION_INT,	     /* int64_t *: decimal, within [min, max] */
	IFP_OPTION_BYTES,    /* int64_t *: decimal with optional KB, MB, GB, KiB, MiB, GiB */
	IFP_OPTION_DURATION, /* int64_t *: nanoseconds, from text such as 500us, 2ms, 1.5s, 1min */
	IFP_OPTION_CHOICE,   /* int *: index of the word in choices */
	IFP_OPTION_LIST,     /* struct ifp_option_list *: repeatable, in order of appearance */
};

struct ifp_option_list {
	const char **items;
	size_t count;
};

struct ifp_option {
	const char *name;     /* long name without dashes */
	char letter;	      /* short name, 0 = none */
	const char *argument; /* name of the argument in help texts, NULL for flags */
	/* Its variable. NULL = INFPROF_ + upper-case name with '_' for '-', "" = none. */
	const char *environment;
	const char *doc; /* one or two sentences, without a line break */
	enum ifp_option_type type;
	size_t offset;		    /* of the value in the command's values struct */
	const char *const *choices; /* IFP_OPTION_CHOICE: words, NULL-terminated */
	int64_t min, max;	    /* IFP_OPTION_INT and _DURATION (ns); both 0 = no limits */
};

/*
 * A section of the man page: heading ("EXAMPLES", "EXIT STATUS", "FILES") and its text. Here and
 * in descriptions: plain text; an empty line ends a paragraph; lines that start with a tab are
 * shown as they stand.
 */
struct ifp_command_section {
	const char *heading;
	const char *text;
};

struct ifp_command {
	const char *name;     /* as typed: "infprof-agent", "infprof report" */
	const char *synopsis; /* behind the name: "[OPTION]... -- PROGRAM [ARGUMENT]..." */
	const char *summary;  /* one line: the man page's NAME */
	const char *description;
	const struct ifp_option *options; /* --help, --version and --config are added to it */
	size_t option_count;
	const struct ifp_command_section *sections;
	size_t section_count;
	/* Options may also stand behind arguments; argv is put in order then, and nobody can tell
	 * whether "--" stood there. */
	bool options_anywhere;
	/* The commands behind a program with verbs ("infprof report"), NULL-terminated, or NULL. */
	const struct ifp_command *const *verbs;
};

enum ifp_options_outcome {
	IFP_OPTIONS_RUN,  /* go on */
	IFP_OPTIONS_DONE, /* --help, --version or the like has been printed: exit with 0 */
};

/* Memory behind texts that came from the config file and behind lists. {0} is empty. */
struct ifp_options_memory {
	struct ifp_arena arena;
};

/*
 * Fills values from all sources. Stops at the first argument that is no option (getopt's "+"
 * order, unless options_anywhere) or behind "--"; *first_argument is its index in argv.
 * *saw_separator tells whether "--" stood there. Returns 0 and *outcome, or -EINVAL with one cause
 * that names the option, what is wrong and what to do, or the errno of the config file or of
 * printing to stdout. values are unspecified then.
 */
int ifp_options_parse(const struct ifp_command *command, void *values, int argc, char **argv,
	struct ifp_options_memory *memory, enum ifp_options_outcome *outcome, int *first_argument,
	bool *saw_separator);

void ifp_options_memory_free(struct ifp_options_memory *memory);

#define IFP_CLEANUP_OPTIONS IFP_CLEANUP(ifp_options_memory_free)

/* --help: usage, summary, options with their environment variables, wrapped to 80 columns. */
void ifp_options_print_help(const struct ifp_command *command, FILE *out);

/* The man page as scdoc source; section is 1. */
void ifp_options_print_man(const struct ifp_command *command, FILE *out);

/* Bash completion for a program whose verbs are the given commands (one for a verbless one). */
void ifp_options_print_completion(const char *program, const struct ifp_command *const *commands,
	size_t command_count, FILE *out);
