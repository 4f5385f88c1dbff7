/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/kineto.h"

#include "agent/capture/kineto_client.h"
#include "agent/capture/kineto_directory.h"
#include "agent/capture/kineto_ingest.h"
#include "agent/capture/kineto_socket.h"
#include "agent/capture/kineto_window.h"
#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Datagrams answered in one go: a flood must not keep the agent's loop. */
#define MAX_DATAGRAMS 64
#define MAX_USER_CONFIG_BYTES (64 * 1024)

struct ifp_kineto {
	struct ifp_kineto_directory directory;
	int fd;
	struct ifp_kineto_client client; /* whose requests count */
	struct ifp_step_lookup step_lookup;
	struct ifp_window_track track;
	struct ifp_kineto_ingest ingest; /* reader is NULL unless a file is being read */
	char file_name[64];
};

static struct ifp_window_moment moment(const struct ifp_kineto *kineto, uint64_t steps_now)
{
	return (struct ifp_window_moment){
		.raw_ns = ifp_clock_raw_ns(),
		.realtime_ms = ifp_clock_realtime_ns() / IFP_NS_PER_MS,
		.steps = steps_now,
		.leaving = ifp_kineto_client_leaving(&kineto->client),
	};
}

int ifp_kineto_new(struct ifp_kineto **out)
{
	struct ifp_kineto *kineto = calloc(1, sizeof(*kineto));
	int err;

	if (!kineto)
		return ifp_fail(-ENOMEM, "capture of PyTorch's profiler");
	kineto->fd = -1;
	err = ifp_kineto_directory_make(getenv("TMPDIR"), &kineto->directory);
	if (!err)
		err = ifp_kineto_socket_open(kineto->directory.path, &kineto->fd);
	if (err < 0)
		ifp_kineto_free(&kineto);
	else
		*out = kineto;
	return err;
}

void ifp_kineto_free(struct ifp_kineto **kineto)
{
	if (!*kineto)
		return;
	ifp_kineto_ingest_close(&(*kineto)->ingest);
	if ((*kineto)->fd >= 0)
		close((*kineto)->fd);
	if ((*kineto)->directory.path[0])
		ifp_kineto_directory_remove(&(*kineto)->directory);
	free(*kineto);
	*kineto = NULL;
}

/* ---- environment -------------------------------------------------------------------------- */

/* What the user has configured stays; later lines win. */
static void append_user_config(const char *path, struct ifp_buf *text)
{
	IFP_CLEANUP_FILE FILE *file = fopen(path, "re");
	char chunk[4096];
	size_t got;

	while (file && (got = fread(chunk, 1, sizeof(chunk), file)) > 0 &&
		text->len_bytes < MAX_USER_CONFIG_BYTES)
		ifp_buf_append(text, chunk, got);
	if (text->len_bytes)
		ifp_buf_append_text(text, "\n");
}

static int write_config(const char *path, const char *user_path)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	IFP_CLEANUP_FILE FILE *file = NULL;

	append_user_config(user_path, &text);
	ifp_buf_append_text(&text, "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n");
	if (ifp_buf_status(&text) < 0)
		return -ENOMEM;
	file = fopen(path, "wxe");
	if (!file || fwrite(text.data, 1, text.len_bytes, file) != text.len_bytes || fflush(file))
		return ifp_fail_errno("write %s", path);
	return 0;
}

int ifp_kineto_environment(
	struct ifp_kineto *kineto, struct ifp_environment *environment, const char *python_path)
{
	const char *user_config = ifp_environment_get(environment, "KINETO_CONFIG");
	char config_path[sizeof(kineto->directory.path) + 16];
	int err;

	snprintf(config_path, sizeof(config_path), "%s/kineto.conf", kineto->directory.path);
	err = write_config(config_path, user_config ? user_config : "/etc/libkineto.conf");
	if (!err)
		err = ifp_environment_set(environment, "KINETO_CONFIG", config_path);
	if (!err)
		err = ifp_environment_set(
			environment, "KINETO_IPC_SOCKET_DIR", kineto->directory.path);
	/* Kineto ignores a log file outside it. */
	if (!err)
		err = ifp_environment_set(
			environment, "KINETO_ONDEMAND_TRACE_DIR", kineto->directory.path);
	/* Errors only: else each window prints its stages to the program's stderr. */
	if (!err)
		err = ifp_environment_default(environment, "KINETO_LOG_LEVEL", "4");
	if (!err && python_path)
		err = ifp_environment_prepend(environment, "PYTHONPATH", python_path);
	return err;
}

void ifp_kineto_set_step_lookup(struct ifp_kineto *kineto, struct ifp_step_lookup lookup)
{
	kineto->step_lookup = lookup;
}

void ifp_kineto_set_segment(struct ifp_kineto *kineto, struct ifp_segment_header *segment)
{
	kineto->client.segment = segment;
}

/* ---- requests ----------------------------------------------------------------------------- */

int ifp_kineto_fd(const struct ifp_kineto *kineto)
{
	return kineto->fd;
}

bool ifp_kineto_polling(const struct ifp_kineto *kineto)
{
	return ifp_kineto_client_polling(&kineto->client, ifp_clock_raw_ns());
}

/*
 * Whether the answer to a request of the client's must carry the window. The process is told of it
 * before, and that it is done when Kineto is idle again: it goes on freeing its memory for some
 * time after the file is complete.
 */
static bool hand_over(struct ifp_kineto *kineto, bool idle, uint64_t steps_now)
{
	struct ifp_window_track *track = &kineto->track;
	bool ready = idle && (track->state != IFP_WINDOW_OFFERED ||
				     ifp_kineto_client_hold(&kineto->client, &track->window));

	if (ifp_window_ask(track, ready, moment(kineto, steps_now)))
		return true;
	if (idle && (track->state != IFP_WINDOW_TAKEN || track->idle_ns))
		ifp_kineto_client_release(&kineto->client);
	return false;
}

/* Start of the names of the window's files, to which Kineto adds "_<pid>.json". */
static void file_prefix(const struct ifp_window *window, char *text, size_t size_bytes)
{
	snprintf(text, size_bytes, "window%" PRIu32 "-%" PRIu32, window->number, window->attempt);
}

static void append_config(const struct ifp_kineto *kineto, struct ifp_buf *config)
{
	char prefix[40], path[sizeof(kineto->directory.path) + sizeof(prefix) + 8];

	file_prefix(&kineto->track.window, prefix, sizeof(prefix));
	snprintf(path, sizeof(path), "%s/%s.json", kineto->directory.path, prefix);
	ifp_window_config(&kineto->track.window, path, config);
}

/*
 * A datagram that cannot be answered (its sender has gone) is nobody's fault: the window that may
 * have been in it ends by its deadline.
 */
static void answer(struct ifp_kineto *kineto, const struct ifp_kineto_request *request,
	const struct ifp_kineto_peer *peer, uint64_t steps_now)
{
	IFP_CLEANUP_BUF struct ifp_buf config = {0}, datagram = {0};
	bool idle = request->wants & IFP_KINETO_WANTS_ACTIVITIES;

	if (!request->is_context &&
		ifp_kineto_client_asks(&kineto->client, request->pid, ifp_clock_raw_ns()) &&
		hand_over(kineto, idle, steps_now))
		append_config(kineto, &config);
	ifp_buf_append_u8(&config, '\0');
	if (ifp_buf_status(&config) < 0) {
		ifp_error_clear();
		return;
	}
	ifp_kineto_answer_encode(request, (const char *)config.data, &datagram);
	if (ifp_kineto_socket_send(kineto->fd, &datagram, peer) < 0)
		ifp_error_clear();
}

void ifp_kineto_readable(struct ifp_kineto *kineto, uint64_t steps_now)
{
	for (unsigned int i = 0; i < MAX_DATAGRAMS; i++) {
		unsigned char data[IFP_KINETO_DATAGRAM_MAX_BYTES];
		struct ifp_kineto_request request;
		struct ifp_kineto_peer peer;
		ssize_t len_bytes =
			ifp_kineto_socket_receive(kineto->fd, data, sizeof(data), &peer);

		if (len_bytes == -EAGAIN)
			return;
		if (len_bytes >= 0 &&
			ifp_kineto_request_decode(data, (size_t)len_bytes, &request) == 0)
			answer(kineto, &request, &peer, steps_now);
		else
			ifp_error_clear(); /* no request: nobody waits for an answer */
	}
}

/* ---- windows ------------------------------------------------------------------------------ */

/* Files of windows that were given up and came after all. */
static void remove_late_files(struct ifp_kineto *kineto)
{
	char path[sizeof(kineto->directory.path) + 66];
	struct ifp_kineto_file file;

	while ((file = ifp_kineto_directory_find(&kineto->directory, "window")).complete) {
		snprintf(path, sizeof(path), "%s/%s", kineto->directory.path, file.name);
		if (unlink(path) < 0)
			return;
	}
}

int ifp_kineto_start(struct ifp_kineto *kineto, const struct ifp_window *window)
{
	if (kineto->track.state == IFP_WINDOW_NONE) {
		ifp_kineto_ingest_close(&kineto->ingest); /* what the last result has borrowed */
		remove_late_files(kineto);
	}
	/* Steps are seen again at once, by ifp_kineto_work(). */
	return ifp_window_offer(&kineto->track, window, moment(kineto, 0));
}

static void file_path(const struct ifp_kineto *kineto, char *path, size_t size_bytes)
{
	snprintf(path, size_bytes, "%s/%s", kineto->directory.path, kineto->file_name);
}

/* When the window's last step completed; INT64_MAX = not known. */
static int64_t end_of_window(const struct ifp_kineto *kineto)
{
	const struct ifp_window *window = &kineto->track.window;
	const struct ifp_step_lookup *lookup = &kineto->step_lookup;
	int64_t end_ns;

	if (window->kind != IFP_WINDOW_STEPS || !lookup->find ||
		!lookup->find(lookup->context, window->first_step + window->count - 1, &end_ns))
		return INT64_MAX;
	return end_ns;
}

/* Looks for the file; opens it when it is complete. */
static void look_for_file(struct ifp_kineto *kineto, uint64_t steps_now)
{
	struct ifp_kineto_file file;
	char prefix[40], path[sizeof(kineto->directory.path) + sizeof(file.name) + 1];

	file_prefix(&kineto->track.window, prefix, sizeof(prefix));
	strcat(prefix, "_");
	file = ifp_kineto_directory_find(&kineto->directory, prefix);
	ifp_window_look(&kineto->track, file.size_bytes, file.complete, moment(kineto, steps_now));
	if (kineto->track.state != IFP_WINDOW_WRITTEN)
		return;
	strcpy(kineto->file_name, file.name);
	file_path(kineto, path, sizeof(path));
	if (ifp_kineto_ingest_open(&kineto->ingest, path, end_of_window(kineto)) < 0) {
		char reason[200];

		ifp_window_close(
			&kineto->track, IFP_WINDOW_LOST, ifp_error_text(reason, sizeof(reason)));
		ifp_error_clear();
		unlink(path);
	}
}

static void close_read(struct ifp_kineto *kineto, int err)
{
	bool is_steps = kineto->track.window.kind == IFP_WINDOW_STEPS;
	bool cut = kineto->track.cut;
	char reason[200];

	if (err < 0) {
		ifp_window_close(
			&kineto->track, IFP_WINDOW_LOST, ifp_error_text(reason, sizeof(reason)));
		ifp_error_clear();
	} else if (!kineto->ingest.slices) {
		ifp_window_close(&kineto->track, cut ? IFP_WINDOW_ENDED : IFP_WINDOW_EMPTY,
			cut ? "the program ended before anything ran in the window"
			    : "nothing ran in the window");
	} else if (is_steps && !kineto->ingest.step_count) {
		ifp_window_close(&kineto->track, cut ? IFP_WINDOW_ENDED : IFP_WINDOW_EMPTY,
			cut ? "the program ended before a step of the window was complete"
			    : "no optimizer step is in what was recorded");
	} else {
		ifp_window_close(&kineto->track, IFP_WINDOW_RECORDED,
			cut ? "the program ended inside the window" : NULL);
	}
}

static int read_some(struct ifp_kineto *kineto, const struct ifp_sink *sink)
{
	char path[sizeof(kineto->directory.path) + sizeof(kineto->file_name) + 1];
	int more = ifp_kineto_ingest_some(&kineto->ingest, sink);

	if (more > 0)
		return 1;
	close_read(kineto, more);
	file_path(kineto, path, sizeof(path));
	unlink(path);
	return 0;
}

static void give_result(struct ifp_kineto *kineto, bool *done, struct ifp_window_result *result)
{
	const struct ifp_kineto_ingest *ingest = &kineto->ingest;

	*result = (struct ifp_window_result){
		.window = kineto->track.window,
		.outcome = kineto->track.outcome,
		.optimizer_steps = ingest->step_count,
		.events = ingest->events,
		.left_out = ingest->left_out,
		.set_aside = ingest->set_aside,
		.repaired = ingest->repaired,
		.negative = ingest->negative,
		.cut = kineto->track.cut,
		.step_end_realtime_ns = ingest->step_end_ns,
	};
	if (ingest->slices) {
		result->start_realtime_ns = ingest->start_realtime_ns;
		result->end_realtime_ns = ingest->end_realtime_ns;
	}
	strcpy(result->reason, kineto->track.reason);
	*done = true;
	kineto->track.state = IFP_WINDOW_NONE;
}

int ifp_kineto_work(struct ifp_kineto *kineto, const struct ifp_sink *sink, uint64_t steps_now,
	bool *done, struct ifp_window_result *result)
{
	int more = 0;

	*done = false;
	if (ifp_clock_raw_ns() - kineto->client.asked_ns > IFP_KINETO_GONE_NS)
		ifp_kineto_client_release(&kineto->client);
	if (kineto->track.state == IFP_WINDOW_NONE) {
		ifp_kineto_ingest_close(&kineto->ingest); /* what the last result has borrowed */
		return 0;
	}
	if (kineto->track.state != IFP_WINDOW_WRITTEN && kineto->track.state != IFP_WINDOW_CLOSED)
		look_for_file(kineto, steps_now);
	if (kineto->track.state == IFP_WINDOW_WRITTEN)
		more = read_some(kineto, sink);
	if (kineto->track.state == IFP_WINDOW_CLOSED)
		give_result(kineto, done, result);
	return more;
}

int ifp_kineto_finish(struct ifp_kineto *kineto, const struct ifp_sink *sink, bool *done,
	struct ifp_window_result *result)
{
	enum ifp_window_state before = kineto->track.state;

	if (before == IFP_WINDOW_OFFERED || before == IFP_WINDOW_TAKEN) {
		look_for_file(kineto, kineto->track.steps_seen);
		if (kineto->track.state == before)
			ifp_window_close(&kineto->track, IFP_WINDOW_ENDED,
				kineto->track.over
					? "the program ended before the window was written"
					: "the program ended before the window was over");
	}
	return ifp_kineto_work(kineto, sink, kineto->track.steps_seen, done, result);
}
