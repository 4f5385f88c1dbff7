/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/seat.h"

#include "core/buf.h"
#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_BYTES (64u * 1024u) /* of all lines of a seat */

/*
 * Locks of the open file, not of the process: closing another descriptor of it does not lose them.
 * A file system without locks is served by the beats alone.
 */
static int lock_seat(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (!fcntl(fd, F_OFD_SETLK, &lock))
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : 0;
}

static bool is_locked(struct ifp_seat_view *view, int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	view->no_locks = fcntl(fd, F_OFD_GETLK, &lock) != 0;
	return !view->no_locks && lock.l_type != F_UNLCK;
}

static void *beat(void *argument)
{
	struct ifp_seat *seat = argument;

	pthread_mutex_lock(&seat->lock);
	while (seat->beating) {
		struct timespec until;

		/* the server's time, where there is one; the others look whether it changes */
		futimens(seat->fd, NULL);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec++;
		pthread_cond_timedwait(&seat->changed, &seat->lock, &until);
	}
	pthread_mutex_unlock(&seat->lock);
	return NULL;
}

static int start_beating(struct ifp_seat *seat)
{
	pthread_condattr_t attributes;
	int err;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&seat->lock, NULL);
	pthread_cond_init(&seat->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	seat->beating = true;
	err = pthread_create(&seat->thread, NULL, beat, seat);
	if (err) {
		pthread_cond_destroy(&seat->changed);
		pthread_mutex_destroy(&seat->lock);
	}
	return err ? ifp_fail(-err, "start a thread: %s", strerror(err)) : 0;
}

int ifp_seat_take(const char *path, struct ifp_seat *seat)
{
	IFP_CLEANUP_FD int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	int err;

	if (fd < 0)
		return ifp_fail_errno("open %s", path);
	err = lock_seat(fd);
	if (err)
		return err;
	*seat = (struct ifp_seat){.fd = fd};
	err = start_beating(seat);
	if (err)
		*seat = (struct ifp_seat){.fd = -1};
	else
		IFP_TAKE_FD(fd);
	return err;
}

int ifp_seat_say(struct ifp_seat *seat, const cJSON *line)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	char *json = cJSON_PrintUnformatted(line);

	if (json)
		ifp_buf_append_text(&text, json);
	ifp_buf_append_u8(&text, '\n');
	cJSON_free(json);
	if (!json || text.failed)
		return ifp_fail(-ENOMEM, "no memory for a line to the other processes");
	/* a server has it only after the flush */
	if (write(seat->fd, text.data, text.len_bytes) != (ssize_t)text.len_bytes ||
		fdatasync(seat->fd))
		return ifp_fail_errno("write to the other processes");
	return 0;
}

void ifp_seat_leave(struct ifp_seat *seat)
{
	if (seat->fd < 0)
		return;
	pthread_mutex_lock(&seat->lock);
	seat->beating = false;
	pthread_cond_signal(&seat->changed);
	pthread_mutex_unlock(&seat->lock);
	pthread_join(seat->thread, NULL);
	pthread_cond_destroy(&seat->changed);
	pthread_mutex_destroy(&seat->lock);
	close(seat->fd);
	seat->fd = -1;
}

/* The members of one line; a line that is none says nothing. */
static void hear(struct ifp_seat_view *view, const char *line, size_t len_bytes)
{
	cJSON *said = ifp_document_parse(line, len_bytes);
	cJSON *item;

	if (!view->said) {
		view->said = said;
		return;
	}
	while (said && (item = cJSON_DetachItemFromArray(said, 0))) {
		cJSON_DeleteItemFromObjectCaseSensitive(view->said, item->string);
		cJSON_AddItemToObject(view->said, item->string, item);
	}
	cJSON_Delete(said);
}

/* All whole lines of the seat, from the first one: they are few. */
static int listen(struct ifp_seat_view *view, int fd)
{
	char text[MAX_BYTES];
	const char *line = text, *end;
	ssize_t n = read(fd, text, sizeof(text));

	if (n < 0)
		return -errno;
	cJSON_Delete(view->said);
	view->said = NULL;
	while ((end = memchr(line, '\n', (size_t)(text + n - line)))) {
		hear(view, line, (size_t)(end - line));
		line = end + 1;
	}
	return 0;
}

static enum ifp_seat_state judge(struct ifp_seat_view *view, int fd, const struct timespec *beat)
{
	int64_t now_ns = ifp_clock_raw_ns();
	int64_t watched_ns = now_ns - view->looked_ns;
	bool first = !view->looked_ns;
	bool changed = beat->tv_sec != view->beat.tv_sec || beat->tv_nsec != view->beat.tv_nsec;
	bool locked = is_locked(view, fd);

	view->looked_ns = now_ns;
	view->beat = *beat;
	view->seen_beating = view->seen_beating || (changed && !first);
	view->silent_ns =
		changed || first
			? 0
			: view->silent_ns + (watched_ns < IFP_NS_PER_S ? watched_ns : IFP_NS_PER_S);
	if ((view->seen_locked && !locked) || view->silent_ns > IFP_SEAT_SILENCE_NS)
		return IFP_SEAT_DEAD;
	view->seen_locked = locked;
	return locked || view->seen_beating ? IFP_SEAT_ALIVE : IFP_SEAT_UNSURE;
}

int ifp_seat_look(const char *path, struct ifp_seat_view *view, enum ifp_seat_state *state)
{
	/* opening asks the server anew, where there is one */
	IFP_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	int err = 0;

	if (fd < 0 || fstat(fd, &st))
		err = -errno;
	else if (view->inode && (view->inode != st.st_ino || view->device != st.st_dev))
		err = -ENOENT;
	if (!err)
		err = listen(view, fd);
	if (err == -ENOENT || err == -ESTALE || err == -ENOTDIR) {
		*state = IFP_SEAT_GONE;
		return 0;
	}
	if (err)
		return ifp_fail(err, "read %s: %s", path, strerror(-err));
	view->inode = st.st_ino;
	view->device = st.st_dev;
	*state = view->said ? judge(view, fd, &st.st_mtim) : IFP_SEAT_EMPTY;
	return 0;
}

void ifp_seat_view_free(struct ifp_seat_view *view)
{
	cJSON_Delete(view->said);
	*view = (struct ifp_seat_view){0};
}
