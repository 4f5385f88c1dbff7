/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/launch/job_directory.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* The last job that leaves may remove the common folder while another one enters. */
#define MAKE_TRIES 3
/* A job that has just begun has a directory and nobody who listens yet. */
#define STALE_S 2

/* Not $TMPDIR: it may differ between ranks, and be too long for the path of a socket. */
static void parent_path(char *path, size_t size_bytes)
{
	snprintf(path, size_bytes, "/tmp/infprof-%u", (unsigned int)geteuid());
}

static int make_private(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return ifp_fail_errno("make %s", path);
	if (lstat(path, &st))
		return ifp_fail_errno("look at %s", path);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return ifp_fail(
			-EPERM, "%s is not a directory of this user alone (mode 0700)", path);
	return 0;
}

int ifp_job_directory_make(const char *job, char **out)
{
	IFP_CLEANUP_FREE char *path = NULL;
	char parent[64];
	int err = 0;

	parent_path(parent, sizeof(parent));
	if (asprintf(&path, "%s/%s", parent, job) < 0) {
		path = NULL;
		return ifp_fail(-ENOMEM, "no memory for a path");
	}
	for (int i = 0; i < MAKE_TRIES; i++) {
		ifp_error_clear();
		err = make_private(parent);
		if (!err)
			err = make_private(path);
		if (err != -ENOENT)
			break;
	}
	if (!err)
		*out = IFP_TAKE_PTR(path);
	return err;
}

void ifp_job_directory_leave(const char *path)
{
	char parent[64];

	parent_path(parent, sizeof(parent));
	if (rmdir(path) == 0)
		rmdir(parent);
}

/* Whether somebody listens on the socket of this name. What cannot be asked is taken for alive. */
static bool answers(int directory, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	IFP_CLEANUP_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int used = snprintf(
		address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory, name);

	if (fd < 0 || used >= (int)sizeof(address.sun_path))
		return true;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return true;
	return errno != ECONNREFUSED && errno != ENOENT;
}

bool ifp_job_directory_answers(const char *path, const char *name)
{
	IFP_CLEANUP_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && answers(fd, name);
}

static bool is_name(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
}

/* Removes a job's directory unless one of its agents or its collector is alive. */
static void remove_dead(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	IFP_CLEANUP_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (is_name(entry) && answers(fd, entry->d_name))
			return;
	}
	rewinddir(dir);
	while ((entry = readdir(dir))) {
		if (is_name(entry))
			unlinkat(fd, entry->d_name, 0);
	}
	unlinkat(parent, name, AT_REMOVEDIR);
}

void ifp_job_directory_clean(const char *own_job)
{
	const struct dirent *entry;
	char path[64];
	DIR *opened;

	parent_path(path, sizeof(path));
	opened = opendir(path);
	if (!opened)
		return;
	IFP_CLEANUP_DIR DIR *dir = opened;
	while ((entry = readdir(dir))) {
		struct stat st;

		if (entry->d_name[0] == '.' || (own_job && !strcmp(entry->d_name, own_job)))
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
			!S_ISDIR(st.st_mode) || st.st_mtime > time(NULL) - STALE_S)
			continue;
		remove_dead(dirfd(dir), entry->d_name);
	}
}
