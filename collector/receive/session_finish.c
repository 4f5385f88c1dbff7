/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/session_internal.h"
#include "collector/timeline/leftovers.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/log.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define POLL_MS 200

/* The drawing process: its verdict travels through the pipe, to be read to the end of file. */
struct artist {
	pid_t pid;
	int pipe; /* non-blocking; -1 when the verdict has been read */
	struct ifp_buf verdict;
};

static bool write_all(int fd, const char *text, size_t len_bytes)
{
	while (len_bytes) {
		ssize_t n = write(fd, text, len_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		len_bytes -= (size_t)n;
	}
	return true;
}

/* Never touches the socket, which belongs to the parent. */
static _Noreturn void draw(const struct ifp_session *session, int pipe)
{
	cJSON *verdict = cJSON_CreateObject();
	char *text;
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a collector that is started again draws anew */
	err = session->config->draw(
		session->archive_path, session->config->output, &session->config->limits, verdict);
	if (err)
		ifp_log_chain(IFP_LOG_ERROR);
	text = err ? NULL : cJSON_PrintUnformatted(verdict);
	_exit(text && write_all(pipe, text, strlen(text)) ? 0 : 1);
}

static int start_artist(const struct ifp_session *session, struct artist *artist)
{
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC))
		return ifp_fail_errno("make a pipe");
	artist->pid = fork();
	if (artist->pid == 0) {
		close(pipes[0]);
		draw(session, pipes[1]);
	}
	close(pipes[1]);
	if (artist->pid < 0) {
		close(pipes[0]);
		return ifp_fail_errno("start the process that draws");
	}
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	artist->pipe = pipes[0];
	return 0;
}

/* Reads what there is; the pipe is closed at its end. */
static void read_verdict(struct artist *artist)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(artist->pipe, piece, sizeof(piece))) > 0)
		ifp_buf_append(&artist->verdict, piece, (size_t)n);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	close(artist->pipe);
	artist->pipe = -1;
}

/* Waits for the verdict, answering agents meanwhile. Negative errno: there is none. */
static int watch_artist(struct ifp_session *session, struct artist *artist)
{
	int64_t deadline_ns = ifp_clock_raw_ns() + session->config->draw_ns;
	bool late;
	int status;

	while (artist->pipe >= 0 && ifp_clock_raw_ns() < deadline_ns) {
		ifp_session_serve(session, artist->pipe, POLL_MS);
		read_verdict(artist);
	}
	late = artist->pipe >= 0;
	if (late) {
		kill(artist->pid, SIGKILL);
		close(artist->pipe);
		artist->pipe = -1;
	}
	while (waitpid(artist->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return ifp_buf_status(&artist->verdict);
	if (late)
		return ifp_fail(-ETIMEDOUT, "drawing took too long");
	if (WIFSIGNALED(status))
		return ifp_fail(
			-EIO, "the process that draws was ended by signal %d", WTERMSIG(status));
	return ifp_fail(-EIO, "the outputs could not be drawn");
}

/* The command that draws what was asked for. */
static void append_command(struct ifp_buf *out, const struct ifp_session *session)
{
	const struct ifp_session_config *config = session->config;

	ifp_buf_append_text(out, "infprof timeline ");
	ifp_buf_append_shell_word(out, session->archive_path);
	ifp_buf_append_text(out, " -o ");
	ifp_buf_append_shell_word(out, config->output);
	if (config->limits.formats && *config->limits.formats) {
		ifp_buf_append_text(out, " --formats ");
		ifp_buf_append_shell_word(out, config->limits.formats);
	}
}

/* Also without a picture the user hears what there is, and what to do. */
static void append_excuse(struct ifp_buf *out, const struct ifp_session *session, int err)
{
	if (err == -ETIMEDOUT)
		ifp_buf_printf(out,
			"no verdict: drawing took longer than %" PRId64
			" s and was ended; files that were whole by then stay",
			session->config->draw_ns / IFP_NS_PER_S);
	else
		ifp_buf_append_text(
			out, "no verdict: drawing failed, the collector's log says why");
	ifp_buf_append_text(out, "; everything is stored, and drawn by: ");
	append_command(out, session);
	ifp_buf_append_u8(out, '\0');
}

static cJSON *verdict_document(const struct ifp_session *session, struct artist *artist, int err)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	cJSON *document = err ? NULL
			      : cJSON_ParseWithLength((const char *)artist->verdict.data,
					artist->verdict.len_bytes);

	if (cJSON_IsObject(document))
		return document;
	cJSON_Delete(document);
	document = cJSON_CreateObject();
	append_excuse(&text, session, err);
	if (!ifp_buf_status(&text))
		cJSON_AddStringToObject(document, "text", (const char *)text.data);
	return document;
}

int ifp_session_finish(struct ifp_session *session)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = NULL;
	struct artist artist = {.pipe = -1};
	const char *text;
	int err = start_artist(session, &artist);

	if (!err)
		err = watch_artist(session, &artist);
	if (err)
		ifp_leftovers_remove(session->config->output);
	document = verdict_document(session, &artist, err);
	ifp_buf_free(&artist.verdict);
	text = ifp_document_get_text(document, "text");
	ifp_log_info("%s", text ? text : "");
	ifp_outlet_send(&session->outlet, 0, IFP_MSG_VERDICT, document);
	return err;
}
