/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/serve.h"

#include "collector/outputs.h"
#include "collector/receive/directory.h"
#include "collector/receive/server.h"
#include "collector/receive/session.h"
#include "collector/timeline/timeline.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <zmq.h>

int ifp_collector_keygen(const char *path)
{
	struct ifp_keys keys;

	if (zmq_curve_keypair(keys.server_public, keys.server_secret) ||
		zmq_curve_keypair(keys.client_public, keys.client_secret))
		return ifp_fail(-ENOTSUP, "make keys: this ZeroMQ has no CURVE encryption");
	return ifp_keys_write(path, &keys);
}

/* SIGTERM and SIGINT become readable; must come before any thread is started. */
static int open_stop_fd(void)
{
	sigset_t set;
	int fd;

	signal(SIGHUP, SIG_IGN); /* outlives the terminal, as it outlives mpirun */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? ifp_fail_errno("wait for signals") : fd;
}

/* Whoever started it waits for this line. */
static void report(const struct ifp_collector_options *options, const char *word, const char *text)
{
	int fd = (int)options->ready_fd;
	char line[1200];
	int length = snprintf(line, sizeof(line), "%s %s\n", word, text);
	ssize_t written = 0;

	/* one write, no stream: where nobody listens any more, there is nobody to tell */
	if ((fd != STDOUT_FILENO || !strcmp(word, "ready")) && length < (int)sizeof(line))
		written = write(fd, line, (size_t)length);
	(void)written;
	if (fd != STDOUT_FILENO)
		close(fd);
}

static int check_options(const struct ifp_collector_options *options)
{
	if (options->output && !*options->output)
		return ifp_fail(-EINVAL, "the name of the output directory is empty");
	if (options->ready_fd != STDOUT_FILENO && fcntl((int)options->ready_fd, F_GETFD) < 0)
		return ifp_fail(-EINVAL, "--ready-fd %d is not open", (int)options->ready_fd);
	return ifp_timeline_check(&options->limits);
}

static int set_up(const struct ifp_collector_options *options, struct ifp_session_config *config,
	struct ifp_server **server, struct ifp_session **session)
{
	static struct ifp_keys keys; /* lives as long as the session */
	bool has_keys = options->key_file != NULL;
	int err = check_options(options);

	if (!err && has_keys)
		err = ifp_keys_read(options->key_file, &keys);
	if (err)
		return err;
	config->server_key = has_keys ? keys.server_public : NULL;
	config->stop_fd = open_stop_fd();
	if (config->stop_fd < 0)
		return config->stop_fd;
	err = ifp_server_new(options->listen ? options->listen : "tcp://127.0.0.1:*",
		has_keys ? &keys : NULL, server);
	if (!err)
		err = ifp_directory_make(config->output);
	if (!err)
		err = ifp_session_new(config, *server, session);
	return err;
}

int ifp_collector_serve(const struct ifp_collector_options *options)
{
	IFP_CLEANUP(ifp_server_free) struct ifp_server *server = NULL;
	IFP_CLEANUP(ifp_session_free) struct ifp_session *session = NULL;
	IFP_CLEANUP_FREE char *output = ifp_directory_name(options->output);
	struct ifp_session_config config = {.output = output,
		.job = options->job,
		.world = (uint32_t)options->world,
		.idle_ns = options->idle_ns,
		.draw = ifp_outputs_draw,
		.draw_ns = IFP_SESSION_DRAW_NS,
		.limits = options->limits};
	char text[1024];
	int err = output ? set_up(options, &config, &server, &session)
			 : ifp_fail(-ENOMEM, "out of memory for a path");

	if (err) {
		report(options, "error", ifp_error_text(text, sizeof(text)));
		return err;
	}
	report(options, "ready", ifp_server_address(server));
	return ifp_session_run(session);
}
