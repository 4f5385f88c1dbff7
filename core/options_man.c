/* SPDX-License-Identifier: Apache-2.0 */
/* The man page in the language of scdoc(5). */
#include "core/options_internal.h"

#include "core/buf.h"
#include "core/cleanup.h"
#include "infprof/version.h"

#include <string.h>

/* Characters that scdoc takes for formatting, anywhere or at the start of a line. */
static void print_escaped(FILE *out, const char *text, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes; i++) {
		if (strchr("\\*_", text[i]) || (i == 0 && strchr("#-;|[]`~", text[i])))
			fputc('\\', out);
		fputc(text[i], out);
	}
}

static void print_literal(FILE *out, const char *text, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes; i++) {
		if (text[i] == '\\')
			fputc('\\', out);
		fputc(text[i], out);
	}
}

static void print_text(FILE *out, const char *text)
{
	bool literal = false;

	while (*text) {
		size_t line_bytes = strcspn(text, "\n");
		bool now = text[0] == '\t';

		if (now != literal)
			fputs("```\n", out);
		literal = now;
		if (literal)
			print_literal(out, text + 1, line_bytes - 1);
		else
			print_escaped(out, text, line_bytes);
		fputc('\n', out);
		text += line_bytes;
		text += *text == '\n';
	}
	if (literal)
		fputs("```\n", out);
}

static void print_section(FILE *out, const char *heading, const char *text)
{
	fprintf(out, "\n# %s\n\n", heading);
	print_text(out, text);
}

/* "infprof report" is documented as infprof-report. */
static void print_page_name(FILE *out, const char *name)
{
	for (; *name; name++)
		fputc(*name == ' ' ? '-' : *name, out);
}

static void print_option(FILE *out, const struct ifp_option *option)
{
	IFP_CLEANUP_BUF struct ifp_buf words = {0};
	char variable[IFP_OPTION_VARIABLE_BYTES];

	fputc('\n', out);
	if (option->letter)
		fprintf(out, "*-%c*, ", option->letter);
	fprintf(out, "*--%s*", option->name);
	if (option->argument)
		fprintf(out, " _%s_", option->argument);
	fputs("\n\t", out);
	print_escaped(out, option->doc, strlen(option->doc));
	if (option->type == IFP_OPTION_CHOICE) {
		ifp_option_join_choices(option, ", ", &words);
		fputs(" One of ", out);
		print_escaped(out, (const char *)words.data, words.len_bytes);
		fputc('.', out);
	}
	if (option->type == IFP_OPTION_LIST)
		fputs(" May be repeated.", out);
	if (*ifp_option_variable(option, variable, sizeof(variable))) {
		fputs(" Environment: ", out);
		print_escaped(out, variable, strlen(variable));
		fputc('.', out);
	}
	fputc('\n', out);
}

static void print_verbs(FILE *out, const struct ifp_command *command)
{
	fputs("\n# COMMANDS\n", out);
	for (size_t i = 0; command->verbs[i]; i++) {
		fputs("\n*", out);
		print_page_name(out, command->verbs[i]->name);
		fputs("*(1)\n\t", out);
		print_escaped(out, command->verbs[i]->summary, strlen(command->verbs[i]->summary));
		fputc('\n', out);
	}
}

static const char *const sources =
	"A value comes from the first of: the command line, the environment variable, the config "
	"file, the default. The config file is a JSON object with the long option names as keys. "
	"Options that may be repeated take an array there, and a comma-separated list in the "
	"environment. A key that is no option of the command is an error with --config; it is left "
	"alone in the file that INFPROF_CONFIG names, which may serve several commands.\n";

void ifp_options_print_man(const struct ifp_command *command, FILE *out)
{
	print_page_name(out, command->name);
	fprintf(out, "(1) \"infprof %s\" \"infprof\"\n\n# NAME\n\n", INFPROF_VERSION);
	print_page_name(out, command->name);
	fputs(" - ", out);
	print_escaped(out, command->summary, strlen(command->summary));
	fprintf(out, "\n\n# SYNOPSIS\n\n*%s* ", command->name);
	print_escaped(out, command->synopsis, strlen(command->synopsis));
	fputc('\n', out);
	print_section(out, "DESCRIPTION", command->description);
	if (command->verbs)
		print_verbs(out, command);
	fputs("\n# OPTIONS\n", out);
	for (size_t i = 0; i < ifp_option_shown(command); i++)
		print_option(out, ifp_option_at(command, i));
	fputc('\n', out);
	print_text(out, sources);
	for (size_t i = 0; i < command->section_count; i++)
		print_section(out, command->sections[i].heading, command->sections[i].text);
}
