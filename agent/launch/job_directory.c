/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/launch/job_directory.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Agents that leave remove empty directories while others enter. */
#define MAKE_TRIES 10

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

/*
 * Opens the directory and takes a lock that the locks of other agents go with. -EAGAIN when it has
 * been removed in between, by an agent that left or by one that cleans up.
 */
static int open_locked(const char *path, int *out)
{
	IFP_CLEANUP_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat here, there;

	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : ifp_fail_errno("open %s", path);
	/* one that cleans up holds it for a moment only */
	if (flock(fd, LOCK_SH) || fstat(fd, &here))
		return ifp_fail_errno("lock %s", path);
	if (stat(path, &there) || here.st_ino != there.st_ino || here.st_dev != there.st_dev)
		return -EAGAIN;
	*out = IFP_TAKE_FD(fd);
	return 0;
}

static int make_and_lock(const char *parent, const char *path, int *lock)
{
	int err = make_private(parent);

	if (!err)
		err = make_private(path);
	if (!err)
		err = open_locked(path, lock);
	return err == -ENOENT ? -EAGAIN : err;
}

int ifp_job_directory_make(const char *job, struct ifp_job_directory *out)
{
	IFP_CLEANUP_FREE char *path = NULL;
	char parent[64];
	int lock = -1, err = -EAGAIN;

	parent_path(parent, sizeof(parent));
	if (asprintf(&path, "%s/%s", parent, job) < 0) {
		path = NULL;
		return ifp_fail(-ENOMEM, "no memory for a path");
	}
	for (int i = 0; i < MAKE_TRIES && err == -EAGAIN; i++) {
		ifp_error_clear();
		err = make_and_lock(parent, path, &lock);
	}
	if (err == -EAGAIN)
		return ifp_fail(err, "%s is removed again and again", path);
	if (err)
		return err;
	*out = (struct ifp_job_directory){.path = IFP_TAKE_PTR(path), .lock = lock};
	return 0;
}

void ifp_job_directory_leave(struct ifp_job_directory *directory)
{
	char parent[64];

	if (!directory->path)
		return;
	parent_path(parent, sizeof(parent));
	if (rmdir(directory->path) == 0)
		rmdir(parent);
	close(directory->lock);
	free(directory->path);
	*directory = (struct ifp_job_directory){.lock = -1};
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

bool ifp_job_directory_answers(const struct ifp_job_directory *directory, const char *name)
{
	return answers(directory->lock, name);
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

	if (!dir || flock(fd, LOCK_EX | LOCK_NB))
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

void ifp_job_directory_clean(void)
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
		if (is_name(entry))
			remove_dead(dirfd(dir), entry->d_name);
	}
}
