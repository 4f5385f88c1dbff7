/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind core/options.h share. */
#pragma once

#include "core/options.h"
#include "core/str.h"

#include <stddef.h>
#include <stdint.h>

/* Options that every command has, behind those of its table. */
enum ifp_option_added {
	IFP_OPTION_CONFIG,
	IFP_OPTION_HELP,
	IFP_OPTION_VERSION,
	IFP_OPTION_SHOWN_MAX, /* the ones from here on are not shown in help texts */
	IFP_OPTION_MAN = IFP_OPTION_SHOWN_MAX,
	IFP_OPTION_COMPLETION,
	IFP_OPTION_ADDED_MAX,
};

/* Numbers of the command's options: first the table, then the added ones. */
static inline size_t ifp_option_total(const struct ifp_command *command)
{
	return command->option_count + IFP_OPTION_ADDED_MAX;
}

static inline size_t ifp_option_shown(const struct ifp_command *command)
{
	return command->option_count + IFP_OPTION_SHOWN_MAX;
}

const struct ifp_option *ifp_option_at(const struct ifp_command *command, size_t i);

/* The number of the option with this long name; ifp_option_total() when there is none. */
size_t ifp_option_find(const struct ifp_command *command, const char *name);

/* The name of the option's environment variable; empty when it has none. Returns text. */
#define IFP_OPTION_VARIABLE_BYTES 64
const char *ifp_option_variable(const struct ifp_option *option, char *text, size_t size_bytes);

/* Appends to a list whose memory is the arena. -ENOMEM. */
int ifp_option_list_add(struct ifp_arena *arena, struct ifp_option_list *list, const char *text);

/*
 * Stores what one source said of one option: the last text, or all of them for lists. where names
 * source and option in causes: "--steps", "INFPROF_STEPS". -EINVAL with a cause.
 */
int ifp_option_store(const struct ifp_option *option, void *values,
	const struct ifp_option_list *texts, const char *where);

/*
 * Reads the config file and adds to texts[i] what it says of option i. strict: a key that is no
 * option of the command is an error.
 */
int ifp_options_read_config(const struct ifp_command *command, const char *path, bool strict,
	struct ifp_arena *arena, struct ifp_option_list *texts);

/* Appends the choices of an option, joined by separator. */
struct ifp_buf;
void ifp_option_join_choices(
	const struct ifp_option *option, const char *separator, struct ifp_buf *out);
