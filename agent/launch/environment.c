/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/launch/environment.h"

#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Room for one more variable and the NULL behind it. */
static int reserve(struct ifp_environment *environment)
{
	return IFP_ARRAY_RESERVE(environment->variables, environment->capacity, environment->count,
		2, "environment variables of the program");
}

/* Appends text, which becomes the environment's own also on failure (it is freed then). */
static int append(struct ifp_environment *environment, char *text)
{
	IFP_CLEANUP_FREE char *variable = text;
	int err;

	if (!variable)
		return ifp_fail(-ENOMEM, "no memory for the program's environment");
	err = reserve(environment);
	if (err)
		return err;
	environment->variables[environment->count++] = IFP_TAKE_PTR(variable);
	environment->variables[environment->count] = NULL;
	return 0;
}

int ifp_environment_copy(struct ifp_environment *environment)
{
	struct ifp_environment copy = {0};
	int err = reserve(&copy);

	if (!err)
		copy.variables[0] = NULL;
	for (size_t i = 0; !err && environ && environ[i]; i++)
		err = append(&copy, strdup(environ[i]));
	if (err) {
		ifp_environment_free(&copy);
		return err;
	}
	*environment = copy;
	return 0;
}

void ifp_environment_free(struct ifp_environment *environment)
{
	for (size_t i = 0; i < environment->count; i++)
		free(environment->variables[i]);
	free(environment->variables);
	*environment = (struct ifp_environment){0};
}

/* The place of a variable; count when it is not there. */
static size_t find(const struct ifp_environment *environment, const char *name)
{
	size_t len_bytes = strlen(name);
	size_t i = 0;

	for (; i < environment->count; i++) {
		const char *variable = environment->variables[i];

		if (!strncmp(variable, name, len_bytes) && variable[len_bytes] == '=')
			break;
	}
	return i;
}

const char *ifp_environment_get(const struct ifp_environment *environment, const char *name)
{
	size_t i = find(environment, name);

	return i < environment->count ? environment->variables[i] + strlen(name) + 1 : NULL;
}

int ifp_environment_set(struct ifp_environment *environment, const char *name, const char *value)
{
	size_t i = find(environment, name);
	char *variable;

	if (asprintf(&variable, "%s=%s", name, value) < 0)
		return ifp_fail(-ENOMEM, "no memory for the program's environment");
	if (i == environment->count)
		return append(environment, variable);
	free(environment->variables[i]);
	environment->variables[i] = variable;
	return 0;
}

int ifp_environment_default(
	struct ifp_environment *environment, const char *name, const char *value)
{
	return ifp_environment_get(environment, name)
		       ? 0
		       : ifp_environment_set(environment, name, value);
}

int ifp_environment_prepend(
	struct ifp_environment *environment, const char *name, const char *value)
{
	const char *old = ifp_environment_get(environment, name);
	IFP_CLEANUP_FREE char *list = NULL;

	/* an empty list stays without ':': an empty element would mean the current folder */
	if (!old || !*old)
		return ifp_environment_set(environment, name, value);
	if (asprintf(&list, "%s:%s", value, old) < 0) {
		list = NULL;
		return ifp_fail(-ENOMEM, "no memory for the program's environment");
	}
	return ifp_environment_set(environment, name, list);
}
