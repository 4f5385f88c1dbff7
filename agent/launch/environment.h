/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment that the program will get: a copy of the agent's own, to which sources add
 * their variables. {0} is empty; belongs to one thread.
 */
#pragma once

#include <stddef.h>

struct ifp_environment {
	char **variables; /* "NAME=value", NULL-terminated once anything is set; owned */
	size_t count;
	size_t capacity;
};

/* A copy of environ. */
int ifp_environment_copy(struct ifp_environment *environment);
void ifp_environment_free(struct ifp_environment *environment);

/* NULL when not set. */
const char *ifp_environment_get(const struct ifp_environment *environment, const char *name);
int ifp_environment_set(struct ifp_environment *environment, const char *name, const char *value);
/* Sets it only where it is not set yet. */
int ifp_environment_default(
	struct ifp_environment *environment, const char *name, const char *value);
/* Puts value in front of a ':'-separated list. */
int ifp_environment_prepend(
	struct ifp_environment *environment, const char *name, const char *value);
