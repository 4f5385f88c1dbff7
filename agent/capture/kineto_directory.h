/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory in which one agent meets Kineto: sockets, configuration, the windows' files. Its
 * path is short, because Kineto does not check the length of the socket names that it makes there,
 * and its name says whose it is, so that the next agent can remove what a dead one has left.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Kineto binds DIRECTORY/dynoconfigclient<36 characters>, which must fit the 108 bytes of an
 * address.
 */
#define IFP_KINETO_DIRECTORY_MAX_BYTES 54

struct ifp_kineto_directory {
	char path[IFP_KINETO_DIRECTORY_MAX_BYTES + 1];
};

/*
 * Makes it, mode 0700, below base; in /tmp instead where base cannot be written to, is too long, or
 * has characters that a line of Kineto's configuration cannot hold. Removes the directories of
 * dead agents there. -EEXIST when it is there already.
 */
int ifp_kineto_directory_make(const char *base, struct ifp_kineto_directory *out);

/* Removes it and everything in it. */
void ifp_kineto_directory_remove(const struct ifp_kineto_directory *directory);

/* A file in it whose name begins with prefix. */
struct ifp_kineto_file {
	char name[64];
	bool complete;	    /* named .json; .json.tmp while Kineto writes it */
	int64_t size_bytes; /* -1 = there is none */
};

struct ifp_kineto_file ifp_kineto_directory_find(
	const struct ifp_kineto_directory *directory, const char *prefix);
