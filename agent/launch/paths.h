/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the other parts of infprof are: beside this executable, in the layout that installations
 * and build trees share (bin, lib/infprof, libexec/infprof). Nothing is compiled in, so that an
 * installation can be moved.
 */
#pragma once

struct ifp_paths {
	char *library;	 /* libinfprof.so */
	char *python;	 /* folder of the start-up hook and of "import infprof" */
	char *clock_mpi; /* infprof-clock-mpi */
	char *collector; /* infprof-collector */
};

/* A part that is not there is NULL, which is no failure. Free with ifp_paths_free(). */
int ifp_paths_find(struct ifp_paths *out);

/* As above for an executable that lies in the folder bin. */
int ifp_paths_find_from(const char *bin, struct ifp_paths *out);

void ifp_paths_free(struct ifp_paths *paths);
