/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/launch/clock_helper.h"

#include "agent/launch/environment.h"
#include "clocksync/estimate/edge.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* MPI_Init and MPI_Finalize may take seconds each on many ranks; the exchange has 10 s. */
#define DEADLINE_NS (30 * IFP_NS_PER_S)

/* The helper's end of the pipe. */
#define HELPER_FD 3

#define MAX_EDGES 32
#define MAX_OUTPUT_BYTES 65536

struct ifp_clock_helper {
	pid_t pid; /* 0 once it has been waited for */
	int fd;	   /* -1 once the helper has ended or been given up */
	int64_t deadline_ns;
	uint32_t epoch;
	struct ifp_buf output;
	struct ifp_clock_edge edges[MAX_EDGES];
	uint32_t edge_count;
};

/* MPI's own output goes to the log, its input is empty. */
static int prepare_files(posix_spawn_file_actions_t *actions, int pipe_fd, const char *log_path)
{
	const char *log = log_path ? log_path : "/dev/null";
	int err = posix_spawn_file_actions_adddup2(actions, pipe_fd, HELPER_FD);

	if (!err)
		err = posix_spawn_file_actions_addopen(
			actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_addopen(
			actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (!err)
		err = posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
	return -err;
}

/* The agent handles and blocks signals; the helper starts as any program does. */
static int prepare_signals(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	err = posix_spawnattr_setsigmask(attributes, &none);
	if (!err)
		err = posix_spawnattr_setsigdefault(attributes, &all);
	if (!err)
		err = posix_spawnattr_setflags(
			attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return -err;
}

static int spawn(struct ifp_clock_helper *helper, const char *path, char *const *argv,
	posix_spawn_file_actions_t *actions)
{
	struct ifp_environment environment = {0};
	posix_spawnattr_t attributes;
	int err = ifp_environment_copy(&environment);

	/* several MPI lives of one rank need it: the default store is shared by all of them */
	if (!err)
		err = ifp_environment_set(&environment, "PMIX_MCA_gds", "hash");
	if (!err)
		err = -posix_spawnattr_init(&attributes);
	if (!err) {
		err = prepare_signals(&attributes);
		if (!err)
			err = -posix_spawn(&helper->pid, path, actions, &attributes, argv,
				environment.variables);
		posix_spawnattr_destroy(&attributes);
	}
	ifp_environment_free(&environment);
	return err;
}

static int start(
	struct ifp_clock_helper *helper, const char *path, bool leader, const char *log_path)
{
	char epoch_text[16], fd_text[16];
	char *argv[] = {(char *)path, (char *)"--epoch", epoch_text, (char *)"--leader",
		(char *)(leader ? "1" : "0"), (char *)"--fd", fd_text, NULL};
	posix_spawn_file_actions_t actions;
	int ends[2], err;

	snprintf(epoch_text, sizeof(epoch_text), "%" PRIu32, helper->epoch);
	snprintf(fd_text, sizeof(fd_text), "%d", HELPER_FD);
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	helper->fd = ends[0];
	err = fcntl(ends[0], F_SETFL, O_NONBLOCK) ? -errno
						  : -posix_spawn_file_actions_init(&actions);
	if (!err) {
		err = prepare_files(&actions, ends[1], log_path);
		if (!err)
			err = spawn(helper, path, argv, &actions);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(ends[1]);
	return err;
}

int ifp_clock_helper_start(const char *helper_path, uint32_t epoch, bool leader,
	const char *log_path, struct ifp_clock_helper **out)
{
	IFP_CLEANUP(ifp_clock_helper_free)
	struct ifp_clock_helper *helper = calloc(1, sizeof(*helper));
	int err;

	if (!helper)
		return ifp_fail(-ENOMEM, "start %s: out of memory", helper_path);
	helper->fd = -1;
	helper->epoch = epoch;
	helper->deadline_ns = ifp_clock_raw_ns() + DEADLINE_NS;
	err = start(helper, helper_path, leader, log_path);
	if (err)
		return ifp_fail(err, "start %s: %s", helper_path, strerror(-err));
	*out = IFP_TAKE_PTR(helper);
	return 0;
}

void ifp_clock_helper_free(struct ifp_clock_helper **helper)
{
	if (*helper) {
		ifp_cleanup_fd(&(*helper)->fd);
		ifp_buf_free(&(*helper)->output);
		free(*helper);
	}
	*helper = NULL;
}

int ifp_clock_helper_fd(const struct ifp_clock_helper *helper)
{
	return helper->fd;
}

/* 0 at the end of the output, 1 when more may come. */
static int read_output(struct ifp_clock_helper *helper)
{
	char bytes[4096];

	for (;;) {
		ssize_t n = read(helper->fd, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 1 : -errno;
		if (n == 0)
			return 0;
		if (helper->output.len_bytes + (size_t)n > MAX_OUTPUT_BYTES)
			return -EMSGSIZE;
		ifp_buf_append(&helper->output, bytes, (size_t)n);
	}
}

static bool parse_edge(const char *line, struct ifp_clock_helper *helper)
{
	struct ifp_clock_edge e = {.over_mpi = 1};
	int end = 0;

	if (helper->edge_count == MAX_EDGES ||
		sscanf(line,
			"edge %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNd64 " %" SCNd64
			" %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 "%n",
			&e.epoch, &e.client, &e.server, &e.round_trips, &e.low_ns, &e.high_ns,
			&e.best_t1_ns, &e.best_t2_ns, &e.best_t3_ns, &e.best_t4_ns, &end) != 10 ||
		line[end] || e.epoch != helper->epoch || !ifp_edge_usable(&e))
		return false;
	helper->edges[helper->edge_count++] = e;
	return true;
}

/* Lines of edges, then "done FAILED" as the last one. */
static int parse_output(struct ifp_clock_helper *helper)
{
	char *line, *rest;
	bool done = false;
	uint32_t failed;

	ifp_buf_append_u8(&helper->output, '\0');
	if (ifp_buf_status(&helper->output))
		return -ENOMEM;
	for (line = strtok_r((char *)helper->output.data, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		if (done)
			return ifp_fail(-EBADMSG, "\"%s\" behind the end", line);
		if (sscanf(line, "done %" SCNu32, &failed) == 1)
			done = true;
		else if (!parse_edge(line, helper))
			return ifp_fail(-EBADMSG, "\"%s\" is no edge", line);
	}
	if (!done)
		return ifp_fail(-EBADMSG, "its output ends early");
	if (failed && !helper->edge_count)
		return ifp_fail(-ETIMEDOUT, "no answer from %" PRIu32 " peers", failed);
	return 0;
}

/* 1 = has not been seen to end. Waits for this child alone: others are not ours. */
static int reap(struct ifp_clock_helper *helper, int *status)
{
	pid_t pid = waitpid(helper->pid, status, WNOHANG);

	if (pid == 0 || (pid < 0 && errno == EINTR))
		return 1;
	if (pid < 0)
		return -errno;
	helper->pid = 0;
	return 0;
}

static int judge(struct ifp_clock_helper *helper, int status)
{
	int err;

	if (WIFSIGNALED(status))
		return ifp_fail(
			-EIO, "the MPI clock helper was killed by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		return ifp_fail(
			-EIO, "the MPI clock helper ended with status %d", WEXITSTATUS(status));
	err = parse_output(helper);
	return err ? ifp_fail(err, "read from the MPI clock helper") : 0;
}

int ifp_clock_helper_poll(
	struct ifp_clock_helper *helper, const struct ifp_clock_edge **edges, uint32_t *edge_count)
{
	int status = 0, more, running;

	if (helper->fd < 0)
		return ifp_fail(-ECHILD, "the MPI clock helper has ended before");
	more = read_output(helper);
	running = more < 0 ? more : reap(helper, &status);
	if (running > 0 && ifp_clock_raw_ns() < helper->deadline_ns)
		return 1;
	if (running == 0 && more > 0) /* what it wrote between the read and its end */
		more = read_output(helper);
	close(helper->fd);
	helper->fd = -1;
	if (running > 0)
		return ifp_fail(-ETIMEDOUT, "the MPI clock helper did not end within %d s",
			(int)(DEADLINE_NS / IFP_NS_PER_S));
	if (running < 0)
		return ifp_fail(running, "wait for the MPI clock helper: %s", strerror(-running));
	status = judge(helper, status);
	if (status)
		return status;
	*edges = helper->edges;
	*edge_count = helper->edge_count;
	return 0;
}
