/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/directory.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

char *ifp_directory_name(const char *wish)
{
	IFP_CLEANUP_FREE char *here = NULL;
	char stamp[64];
	time_t now = time(NULL);
	struct tm tm;
	char *name;

	if (wish && wish[0] == '/')
		return strdup(wish);
	here = getcwd(NULL, 0);
	if (!here)
		return NULL;
	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "infprof-out/collector-%Y%m%d-%H%M%S", &tm);
	return asprintf(&name, "%s/%s", here, wish ? wish : stamp) < 0 ? NULL : name;
}

int ifp_directory_make(const char *path)
{
	IFP_CLEANUP_FREE char *prefix = strdup(path);

	if (!prefix)
		return ifp_fail(-ENOMEM, "out of memory for a path");
	for (char *slash = prefix + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(prefix, 0777) && errno != EEXIST)
			return ifp_fail_errno("make the directory %s", prefix);
		*slash = '/';
	}
	if (mkdir(path, 0777) && errno != EEXIST)
		return ifp_fail_errno("make the directory %s", path);
	return 0;
}
