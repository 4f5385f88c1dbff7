/* SPDX-License-Identifier: Apache-2.0 */
/* infprof: looks at runs. One verb, one file; this one only finds the verb. */
#include "cli/verb.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "core/log.h"
#include "core/process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static const struct ifp_verb *const verbs[] = {
	&ifp_verb_merge,
	&ifp_verb_report,
	&ifp_verb_clock,
	&ifp_verb_timeline,
	&ifp_verb_view,
	&ifp_verb_slice,
	&ifp_verb_export,
	&ifp_verb_check,
	&ifp_verb_collect,
};

static const struct ifp_command_section sections[] = {
	{"EXIT STATUS",
		"0 when all is well, 1 when the command failed, 2 when it was used in a wrong "
		"way."},
	{"EXAMPLES", "Which rank is late, in a run that has ended:\n\n"
		     "\tinfprof report infprof-out/train-20261201-093000\n\n"
		     "Draw its timeline again, elsewhere:\n\n"
		     "\tinfprof timeline infprof-out/train-20261201-093000 -o /tmp/view\n"
		     "\ttensorboard --logdir /tmp/view\n"},
};

/* The verb's place in the table; their number when there is none of that name. */
static size_t find_verb(const char *name)
{
	size_t i = 0;

	while (i < IFP_ARRAY_SIZE(verbs) &&
		strcmp(strchr(verbs[i]->command->name, ' ') + 1, name) != 0)
		i++;
	return i;
}

/* No verb: --help and its like, or bad use. */
static int main_without_verb(const struct ifp_command *command, int argc, char **argv)
{
	IFP_CLEANUP_OPTIONS struct ifp_options_memory memory = {0};
	enum ifp_options_outcome outcome = IFP_OPTIONS_RUN;
	bool separator;
	int first = argc, err;

	err = ifp_options_parse(command, NULL, argc, argv, &memory, &outcome, &first, &separator);
	if (err < 0) {
		ifp_log_chain(IFP_LOG_ERROR);
		return err == -EINVAL ? IFP_EXIT_USAGE : IFP_EXIT_FAILED;
	}
	if (outcome == IFP_OPTIONS_DONE)
		return IFP_EXIT_OK;
	if (first < argc)
		ifp_log_error(
			"there is no command \"%s\" (infprof --help lists them)", argv[first]);
	else
		ifp_log_error("a command is missing (infprof --help lists them)");
	return IFP_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const struct ifp_command *commands[IFP_ARRAY_SIZE(verbs) + 1] = {0};
	const struct ifp_command command = {
		.name = "infprof",
		.synopsis = "COMMAND [OPTION]... [ARGUMENT]...",
		.summary = "look at what infprof-agent has recorded",
		.description = "infprof works on archives (run.ifp), into which the processes of a "
			       "job were recorded under infprof-agent(1).",
		.verbs = commands,
		.sections = sections,
		.section_count = IFP_ARRAY_SIZE(sections),
	};
	size_t verb;

	ifp_process_hold_standard_files();
	/* a file that grows too long is an error like a full disk; a closed pipe ends a verb, as
	 * usual */
	signal(SIGXFSZ, SIG_IGN);
	ifp_log_setup(IFP_LOG_INFO, "infprof");
	for (size_t i = 0; i < IFP_ARRAY_SIZE(verbs); i++)
		commands[i] = verbs[i]->command;
	verb = argc > 1 ? find_verb(argv[1]) : IFP_ARRAY_SIZE(verbs);
	if (verb < IFP_ARRAY_SIZE(verbs))
		return ifp_verb_main(verbs[verb], argc - 1, argv + 1);
	return main_without_verb(&command, argc, argv);
}
