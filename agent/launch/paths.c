/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/launch/paths.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The real path (programs with another current folder will use it), or NULL where nothing is. */
static char *find(const char *bin, const char *relative)
{
	IFP_CLEANUP_FREE char *path = NULL;

	if (asprintf(&path, "%s/%s", bin, relative) < 0) {
		path = NULL;
		return NULL;
	}
	return realpath(path, NULL);
}

int ifp_paths_find_from(const char *bin, struct ifp_paths *out)
{
	*out = (struct ifp_paths){
		.library = find(bin, "../lib/infprof/libinfprof.so"),
		.python = find(bin, "../lib/infprof/python"),
		.clock_mpi = find(bin, "../libexec/infprof/infprof-clock-mpi"),
		.collector = find(bin, "infprof-collector"),
	};
	return 0;
}

int ifp_paths_find(struct ifp_paths *out)
{
	char path[PATH_MAX];
	ssize_t len_bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (len_bytes < 0)
		return ifp_fail_errno("read /proc/self/exe");
	path[len_bytes] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return ifp_fail(-ENOENT, "%s is no path", path);
	*slash = '\0';
	return ifp_paths_find_from(path, out);
}

void ifp_paths_free(struct ifp_paths *paths)
{
	free(paths->library);
	free(paths->python);
	free(paths->clock_mpi);
	free(paths->collector);
	*paths = (struct ifp_paths){0};
}
