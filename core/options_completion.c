/* SPDX-License-Identifier: Apache-2.0 */
#include "core/options_internal.h"

#include "core/buf.h"
#include "core/cleanup.h"

#include <ctype.h>
#include <string.h>

static const char *verb_name(const struct ifp_command *command)
{
	const char *blank = strrchr(command->name, ' ');

	return blank ? blank + 1 : command->name;
}

/* infprof-agent -> _infprof_agent */
static void print_function_name(FILE *out, const char *program)
{
	fputc('_', out);
	for (; *program; program++)
		fputc(isalnum((unsigned char)*program) ? *program : '_', out);
}

/* What may stand behind an option: its words, or file names. */
static void print_argument_case(FILE *out, const struct ifp_option *option)
{
	IFP_CLEANUP_BUF struct ifp_buf words = {0};

	fputs("\t\t", out);
	if (option->letter)
		fprintf(out, "-%c|", option->letter);
	fprintf(out, "--%s) ", option->name);
	if (option->type == IFP_OPTION_CHOICE) {
		ifp_option_join_choices(option, " ", &words);
		fprintf(out, "COMPREPLY=($(compgen -W \"%.*s\" -- \"$cur\"))", (int)words.len_bytes,
			(const char *)words.data);
	} else {
		fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", out);
	}
	fputs("; return ;;\n", out);
}

static void print_command(FILE *out, const struct ifp_command *command)
{
	fputs("\t\tcase $prev in\n", out);
	for (size_t i = 0; i < ifp_option_shown(command); i++) {
		if (ifp_option_at(command, i)->type != IFP_OPTION_FLAG)
			print_argument_case(out, ifp_option_at(command, i));
	}
	fputs("\t\tesac\n\t\twords=\"", out);
	for (size_t i = 0; i < ifp_option_shown(command); i++)
		fprintf(out, "%s--%s", i ? " " : "", ifp_option_at(command, i)->name);
	fputs("\"\n", out);
}

static void print_verbs(FILE *out, const struct ifp_command *const *commands, size_t command_count)
{
	fputs("\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"", out);
	for (size_t i = 0; i < command_count; i++)
		fprintf(out, "%s ", verb_name(commands[i]));
	fputs("--help --version\" -- \"$cur\"))\n\t\treturn\n\tfi\n", out);
}

void ifp_options_print_completion(const char *program, const struct ifp_command *const *commands,
	size_t command_count, FILE *out)
{
	bool has_verbs = strchr(commands[0]->name, ' ') != NULL;

	fprintf(out, "# bash completion for %s\n", program);
	print_function_name(out, program);
	fputs("()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
	      "\tCOMPREPLY=()\n",
		out);
	if (has_verbs)
		print_verbs(out, commands, command_count);
	fputs(has_verbs ? "\tcase ${COMP_WORDS[1]} in\n" : "\tcase x in\n", out);
	for (size_t i = 0; i < command_count; i++) {
		fprintf(out, "\t%s)\n", has_verbs ? verb_name(commands[i]) : "*");
		print_command(out, commands[i]);
		fputs("\t\t;;\n", out);
	}
	fputs("\tesac\n"
	      "\t[[ $cur == -* ]] && COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	      "\treturn 0\n}\ncomplete -o default -F ",
		out);
	print_function_name(out, program);
	fprintf(out, " %s\n", program);
}
