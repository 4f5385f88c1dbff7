/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/kineto_directory.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "core/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * infprof-k<pid namespace>-<pid>-<start time in ticks since boot>: the namespace, because agents in
 * several containers may share one /tmp and cannot see each other's processes.
 */
#define NAME_PREFIX "infprof-k"

struct owner {
	unsigned long pid_namespace;
	long pid;
	unsigned long long start_ticks; /* 0 = there is no such process */
};

static unsigned long own_pid_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) ? 0 : (unsigned long)status.st_ino;
}

/* Field 22 of /proc/PID/stat; the second field may hold blanks and parentheses, so from its end. */
static unsigned long long start_ticks_of(long pid)
{
	unsigned long long ticks = 0;
	IFP_CLEANUP_FILE FILE *file = NULL;
	char line[1024], path[64];
	const char *rest;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return 0;
	rest = strrchr(line, ')');
	if (!rest || sscanf(rest + 1,
			     " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
			     " %*s %*s %llu",
			     &ticks) != 1)
		return 0;
	return ticks;
}

static bool parse_name(const char *name, struct owner *owner)
{
	int used = 0;

	return sscanf(name, NAME_PREFIX "%lx-%ld-%llu%n", &owner->pid_namespace, &owner->pid,
		       &owner->start_ticks, &used) == 3 &&
	       !name[used];
}

/* Removes the directory name below parent with the files in it; it has no directories in it. */
static void remove_directory(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	IFP_CLEANUP_DIR DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!entries) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(entries)))
		unlinkat(fd, entry->d_name, 0);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_leftovers(const char *base)
{
	IFP_CLEANUP_DIR DIR *entries = opendir(base);
	unsigned long pid_namespace = own_pid_namespace();
	const struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		struct owner owner;
		struct stat status;

		if (!parse_name(entry->d_name, &owner) || owner.pid_namespace != pid_namespace)
			continue;
		if (owner.start_ticks && start_ticks_of(owner.pid) == owner.start_ticks)
			continue;
		if (!fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
			S_ISDIR(status.st_mode) && status.st_uid == geteuid())
			remove_directory(dirfd(entries), entry->d_name);
	}
}

/* The part of the path that Kineto's configuration and its own checks accept. */
static bool is_usable_text(const char *base)
{
	return base && base[0] == '/' && !strpbrk(base, "=# \t\r\n") && !strstr(base, "..");
}

static bool fits(const char *base, char *path, size_t size_bytes)
{
	int len_bytes = snprintf(path, size_bytes, "%s/" NAME_PREFIX "%lx-%ld-%llu", base,
		own_pid_namespace(), (long)getpid(), start_ticks_of(getpid()));

	return len_bytes > 0 && (size_t)len_bytes < size_bytes;
}

static int make_below(const char *base, struct ifp_kineto_directory *directory)
{
	if (!fits(base, directory->path, sizeof(directory->path)))
		return -ENAMETOOLONG;
	remove_leftovers(base);
	return mkdir(directory->path, 0700) ? -errno : 0;
}

int ifp_kineto_directory_make(const char *base, struct ifp_kineto_directory *out)
{
	struct ifp_kineto_directory directory;
	int err = -EINVAL;

	/* without the start time, nobody could tell later that this agent is dead */
	if (!start_ticks_of(getpid()))
		return ifp_fail_errno("read /proc/self/stat");
	if (is_usable_text(base))
		err = make_below(base, &directory);
	if (err && err != -EEXIST)
		err = make_below("/tmp", &directory);
	if (err)
		return ifp_fail(err, "make directory %s: %s", directory.path, strerror(-err));
	*out = directory;
	return 0;
}

void ifp_kineto_directory_remove(const struct ifp_kineto_directory *directory)
{
	remove_directory(AT_FDCWD, directory->path);
}

struct ifp_kineto_file ifp_kineto_directory_find(
	const struct ifp_kineto_directory *directory, const char *prefix)
{
	IFP_CLEANUP_DIR DIR *entries = opendir(directory->path);
	struct ifp_kineto_file found = {.size_bytes = -1};
	const struct dirent *entry;

	while (entries && !found.complete && (entry = readdir(entries))) {
		bool complete = ifp_str_ends_with(ifp_str(entry->d_name), ".json");
		struct stat status;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) ||
			strlen(entry->d_name) >= sizeof(found.name))
			continue;
		if (!complete && !ifp_str_ends_with(ifp_str(entry->d_name), ".json.tmp"))
			continue;
		if (fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
			continue;
		strcpy(found.name, entry->d_name);
		found.complete = complete;
		found.size_bytes = status.st_size;
	}
	return found;
}
