/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verbs of infprof share. A verb is a file with its command (the option table) and one
 * function that does the work; main.c has them all in one table.
 */
#pragma once

#include "core/options.h"

#include <limits.h>
#include <stddef.h>

/* Exit status of infprof. */
enum ifp_exit {
	IFP_EXIT_OK = 0,
	IFP_EXIT_FAILED = 1,
	IFP_EXIT_USAGE = 2,
};

/* The words behind a verb that are no options. */
struct ifp_arguments {
	char **items;
	size_t count;
};

struct ifp_verb {
	const struct ifp_command *command;
	size_t values_bytes;  /* of the command's values */
	const void *defaults; /* what they start as; NULL = zeros */
	size_t min_arguments;
	size_t max_arguments;
	/* Does it. IFP_EXIT_*, or negative errno with a cause: printed by the caller, failed. */
	int (*run)(const void *values, const struct ifp_arguments *arguments);
};

extern const struct ifp_verb ifp_verb_merge;
extern const struct ifp_verb ifp_verb_report;
extern const struct ifp_verb ifp_verb_clock;
extern const struct ifp_verb ifp_verb_timeline;
extern const struct ifp_verb ifp_verb_slice;
extern const struct ifp_verb ifp_verb_export;
extern const struct ifp_verb ifp_verb_view;
extern const struct ifp_verb ifp_verb_check;
extern const struct ifp_verb ifp_verb_collect;

/* Parses argv (argv[0] is the verb), runs it, prints what went wrong: an exit status. */
int ifp_verb_main(const struct ifp_verb *verb, int argc, char **argv);

/*
 * The archive that an argument means: itself, or run.ifp in it when it is a directory.
 * -ENAMETOOLONG.
 */
int ifp_verb_archive(const char *argument, char path[PATH_MAX]);

/* -EINVAL when the two are one file: an archive that is its own output would be lost. */
int ifp_verb_check_output(const char *output, const char *archive);

/* Makes a directory where there is none, and sets *made where it did. */
int ifp_verb_make_directory(const char *path, bool *made);

/* Prints what is wrong with the use of a verb; gives IFP_EXIT_USAGE. */
int ifp_verb_usage(const struct ifp_verb *verb, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
