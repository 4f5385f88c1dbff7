/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/meeting.h"

#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME ".merge"
#define LOOK_AGAIN_NS (200 * IFP_NS_PER_MS)

static char *path_in(const char *directory, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static int no_memory(void)
{
	return ifp_fail(-ENOMEM, "no memory for a path");
}

char *ifp_import_meeting_path(const char *output_dir)
{
	return path_in(output_dir, NAME);
}

char *ifp_import_meeting_seat_path(const char *directory, uint32_t process)
{
	char name[16];

	snprintf(name, sizeof(name), "%" PRIu32, process);
	return path_in(directory, name);
}

/* Without a descriptor to read the directory by: what a single process may have there. */
static void remove_own(const char *directory)
{
	static const char *const names[] = {"run.ifp", "0"};

	for (size_t i = 0; i < IFP_ARRAY_SIZE(names); i++) {
		IFP_CLEANUP_FREE char *path = path_in(directory, names[i]);

		if (path)
			unlink(path);
	}
	rmdir(directory);
}

/* Seat 0 goes last: as long as it is there, others can tell whose the directory is. */
void ifp_import_meeting_remove(const char *directory)
{
	DIR *opened = opendir(directory);
	const struct dirent *entry;

	if (!opened) {
		remove_own(directory);
		return;
	}
	IFP_CLEANUP_DIR DIR *dir = opened;
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, "0") != 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	unlinkat(dirfd(dir), "0", 0);
	rmdir(directory);
}

void ifp_import_meeting_refresh(const char *output_dir)
{
	IFP_CLEANUP_FREE char *path = path_in(output_dir, NAME "-look-XXXXXX");

	if (path && mkdtemp(path))
		rmdir(path);
}

static int busy(const char *directory, const struct ifp_seat_view *view)
{
	const char *host = ifp_document_get_text(view->said, "host");

	return ifp_fail(-EBUSY, "another merge is at work in %s (process %" PRIu64 " on %s)",
		directory, ifp_document_get_count(view->said, "pid"), host ? host : "?");
}

/* Whether the one of this seat was a process of this host, whose lock can be seen. */
static bool was_here(const struct ifp_seat_view *view)
{
	struct ifp_clock_identity here = ifp_clock_identity_read();
	const char *boot = ifp_document_get_text(view->said, "boot");

	return !view->no_locks && boot && *boot && !strcmp(boot, here.boot_id);
}

/* Looks at a seat until it is certain whether its process lives. */
static int watch_seat(const char *seat, struct ifp_seat_view *view, enum ifp_seat_state *state)
{
	const struct timespec pause = {.tv_nsec = LOOK_AGAIN_NS};
	int err = ifp_seat_look(seat, view, state);

	while (!err && *state == IFP_SEAT_UNSURE) {
		if (was_here(view)) {
			*state = IFP_SEAT_DEAD;
			break;
		}
		nanosleep(&pause, NULL);
		err = ifp_seat_look(seat, view, state);
	}
	return err;
}

/*
 * Removes what a dead process 0 has left. The lock keeps two from doing so one after the other, the
 * second with what is new; it is none of the seat, which would look alive. Where directories cannot
 * be locked it is left to chance.
 */
static int remove_dead(const char *directory, const char *seat, struct ifp_seat_view *view)
{
	IFP_CLEANUP_FD int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum ifp_seat_state state;
	int err;

	if (fd < 0)
		return errno == ENOENT ? 0 : ifp_fail_errno("open %s", directory);
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return ifp_fail(-EBUSY, "another merge has just begun in %s", directory);
	err = ifp_seat_look(seat, view, &state);
	if (!err && state != IFP_SEAT_GONE)
		ifp_import_meeting_remove(directory);
	return err;
}

static int clear_one(const char *directory)
{
	IFP_CLEANUP(ifp_seat_view_free) struct ifp_seat_view view = {0};
	IFP_CLEANUP_FREE char *seat = ifp_import_meeting_seat_path(directory, 0);
	enum ifp_seat_state state;
	int err = seat ? watch_seat(seat, &view, &state) : no_memory();

	if (err)
		return err;
	if (state == IFP_SEAT_ALIVE)
		return busy(directory, &view);
	if (state != IFP_SEAT_GONE)
		return remove_dead(directory, seat, &view);
	ifp_import_meeting_remove(directory);
	return 0;
}

int ifp_import_meeting_clear(const char *output_dir)
{
	DIR *opened = opendir(output_dir);
	const struct dirent *entry;
	int err = 0;

	if (!opened)
		return errno == ENOENT ? 0 : ifp_fail_errno("look through %s", output_dir);
	IFP_CLEANUP_DIR DIR *dir = opened;
	while (!err && (entry = readdir(dir))) {
		IFP_CLEANUP_FREE char *path = NULL;

		if (strncmp(entry->d_name, NAME, strlen(NAME)) != 0)
			continue;
		path = path_in(output_dir, entry->d_name);
		err = path ? clear_one(path) : no_memory();
	}
	return err;
}

void ifp_import_meeting_bury(const char *directory, struct ifp_seat_view *view)
{
	IFP_CLEANUP_FREE char *seat = ifp_import_meeting_seat_path(directory, 0);

	if (seat && remove_dead(directory, seat, view))
		ifp_error_clear();
}

static int make_seat(const char *directory, uint32_t process)
{
	IFP_CLEANUP_FREE char *path = ifp_import_meeting_seat_path(directory, process);
	IFP_CLEANUP_FD int fd = -1;

	if (!path)
		return no_memory();
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	return fd < 0 ? ifp_fail_errno("create %s", path) : 0;
}

static int take_first(const char *directory, const cJSON *first, struct ifp_seat *seat)
{
	IFP_CLEANUP_FREE char *path = ifp_import_meeting_seat_path(directory, 0);
	int err = path ? make_seat(directory, 0) : no_memory();

	if (!err && ifp_seat_take(path, seat))
		err = ifp_fail(-EIO, "take %s", path);
	if (err)
		return err;
	err = ifp_seat_say(seat, first);
	if (err)
		ifp_seat_leave(seat);
	return err;
}

/* Makes it elsewhere and brings it to its place, which is free. */
static int make(const char *made, const char *directory, uint32_t processes, const cJSON *first,
	struct ifp_seat *seat)
{
	int err = take_first(made, first, seat);

	if (err)
		return err;
	for (uint32_t i = 1; i < processes && !err; i++)
		err = make_seat(made, i);
	if (!err && rename(made, directory))
		err = errno == ENOTEMPTY || errno == EEXIST
			      ? ifp_fail(-EBUSY, "another merge has just begun in %s", directory)
			      : ifp_fail_errno("rename %s to %s", made, directory);
	if (err)
		ifp_seat_leave(seat);
	return err;
}

int ifp_import_meeting_make(
	const char *output_dir, uint32_t processes, const cJSON *first, struct ifp_seat *seat)
{
	IFP_CLEANUP_FREE char *directory = ifp_import_meeting_path(output_dir);
	IFP_CLEANUP_FREE char *made = path_in(output_dir, NAME "-XXXXXX");
	int err = directory && made ? ifp_import_meeting_clear(output_dir) : no_memory();

	if (err)
		return err;
	if (!mkdtemp(made))
		return ifp_fail_errno("create a directory in %s", output_dir);
	err = make(made, directory, processes, first, seat);
	if (err)
		ifp_import_meeting_remove(made);
	return err;
}
