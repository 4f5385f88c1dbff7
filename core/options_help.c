/* SPDX-License-Identifier: Apache-2.0 */
#include "core/options_internal.h"

#include "core/buf.h"
#include "core/cleanup.h"

#include <string.h>

#define LINE_COLUMNS 80
#define DOC_COLUMN 28

/* Writes words from column on, starting new lines at column indent before LINE_COLUMNS. */
static void print_wrapped(FILE *out, const char *text, size_t column, size_t indent)
{
	bool first = true;

	while (*text) {
		size_t word_bytes = strcspn(text, " ");

		if (!first && column + 1 + word_bytes > LINE_COLUMNS) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)word_bytes, text);
		column += word_bytes;
		text += word_bytes;
		text += strspn(text, " ");
		first = false;
	}
	fputc('\n', out);
}

static void print_label(FILE *out, const char *label, const char *text)
{
	size_t used = strlen(label);

	fputs(label, out);
	if (used + 2 > DOC_COLUMN) {
		fputc('\n', out);
		used = 0;
	}
	fprintf(out, "%*s", (int)(DOC_COLUMN - used), "");
	print_wrapped(out, text, DOC_COLUMN, DOC_COLUMN);
}

static void print_option(FILE *out, const struct ifp_option *option)
{
	IFP_CLEANUP_BUF struct ifp_buf label = {0};
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	char variable[IFP_OPTION_VARIABLE_BYTES];

	if (option->letter)
		ifp_buf_printf(&label, "  -%c, --%s", option->letter, option->name);
	else
		ifp_buf_printf(&label, "      --%s", option->name);
	if (option->argument)
		ifp_buf_printf(&label, " %s", option->argument);
	ifp_buf_append_u8(&label, 0);

	ifp_buf_append_text(&text, option->doc);
	if (option->type == IFP_OPTION_CHOICE) {
		ifp_buf_append_text(&text, " One of ");
		ifp_option_join_choices(option, ", ", &text);
		ifp_buf_append_text(&text, ".");
	}
	if (*ifp_option_variable(option, variable, sizeof(variable)))
		ifp_buf_printf(&text, " [%s]", variable);
	ifp_buf_append_u8(&text, 0);
	if (!label.failed && !text.failed)
		print_label(out, (const char *)label.data, (const char *)text.data);
}

static void print_verbs(const struct ifp_command *command, FILE *out)
{
	fputs("\nCommands:\n", out);
	for (size_t i = 0; command->verbs[i]; i++) {
		const struct ifp_command *verb = command->verbs[i];
		char label[DOC_COLUMN];

		snprintf(label, sizeof(label), "  %s", strrchr(verb->name, ' ') + 1);
		print_label(out, label, verb->summary);
	}
}

void ifp_options_print_help(const struct ifp_command *command, FILE *out)
{
	fprintf(out, "Usage: %s %s\n\n", command->name, command->synopsis);
	print_wrapped(out, command->summary, 0, 0);
	if (command->verbs)
		print_verbs(command, out);
	fputs("\nOptions:\n", out);
	for (size_t i = 0; i < ifp_option_shown(command); i++)
		print_option(out, ifp_option_at(command, i));
	if (command->verbs)
		fprintf(out, "\n%s COMMAND --help explains a command.\n", command->name);
}
