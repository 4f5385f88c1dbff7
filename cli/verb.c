/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verb.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "core/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int ifp_verb_archive(const char *argument, char path[PATH_MAX])
{
	struct stat st;
	bool directory = stat(argument, &st) == 0 && S_ISDIR(st.st_mode);

	if (snprintf(path, PATH_MAX, "%s%s", argument, directory ? "/run.ifp" : "") >= PATH_MAX)
		return ifp_fail(-ENAMETOOLONG, "the path %.60s... is too long", argument);
	return 0;
}

int ifp_verb_check_output(const char *output, const char *archive)
{
	struct stat there, here;

	if (stat(output, &there) == 0 && stat(archive, &here) == 0 && there.st_dev == here.st_dev &&
		there.st_ino == here.st_ino)
		return ifp_fail(
			-EINVAL, "%s is the archive itself: give another file with -o", output);
	return 0;
}

int ifp_verb_make_directory(const char *path, bool *made)
{
	struct stat st;

	if (!*path)
		return ifp_fail(-EINVAL, "the name of the output directory is empty: -o DIR");
	if (!mkdir(path, 0777)) {
		*made = true;
		return 0;
	}
	if (errno != EEXIST)
		return ifp_fail_errno("create %s", path);
	if (!stat(path, &st) && !S_ISDIR(st.st_mode))
		return ifp_fail(-ENOTDIR, "%s is a file: give a directory with -o", path);
	return 0;
}

int ifp_verb_usage(const struct ifp_verb *verb, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ifp_log_error("%s (%s --help explains it)", text, verb->command->name);
	return IFP_EXIT_USAGE;
}

/* Whether the number of arguments is right; says what is wrong otherwise. */
static bool count_fits(const struct ifp_verb *verb, const struct ifp_arguments *arguments)
{
	if (arguments->count < verb->min_arguments)
		ifp_verb_usage(verb, "an argument is missing: %s %s", verb->command->name,
			verb->command->synopsis);
	else if (arguments->count > verb->max_arguments)
		ifp_verb_usage(verb, "one argument too many: \"%s\"",
			arguments->items[verb->max_arguments]);
	else
		return true;
	return false;
}

int ifp_verb_main(const struct ifp_verb *verb, int argc, char **argv)
{
	IFP_CLEANUP_OPTIONS struct ifp_options_memory memory = {0};
	IFP_CLEANUP_FREE void *values = calloc(1, verb->values_bytes + 1);
	enum ifp_options_outcome outcome = IFP_OPTIONS_RUN;
	struct ifp_arguments arguments;
	int first = 0, err;
	bool separator;

	if (!values) {
		ifp_log_error("out of memory");
		return IFP_EXIT_FAILED;
	}
	if (verb->defaults)
		memcpy(values, verb->defaults, verb->values_bytes);
	err = ifp_options_parse(
		verb->command, values, argc, argv, &memory, &outcome, &first, &separator);
	if (err < 0) {
		ifp_log_chain(IFP_LOG_ERROR);
		return err == -EINVAL ? IFP_EXIT_USAGE : IFP_EXIT_FAILED;
	}
	if (outcome == IFP_OPTIONS_DONE)
		return IFP_EXIT_OK;
	arguments = (struct ifp_arguments){argv + first, (size_t)(argc - first)};
	if (!count_fits(verb, &arguments))
		return IFP_EXIT_USAGE;
	err = verb->run(values, &arguments);
	if (err < 0)
		ifp_log_chain(IFP_LOG_ERROR);
	else if (fflush(stdout) != 0 || ferror(stdout))
		ifp_log_error("writing to standard output failed");
	else
		return err;
	return IFP_EXIT_FAILED;
}
