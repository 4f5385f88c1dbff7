/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/launch/collector_process.h"

#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_BYTES 1024
#define MAX_ARGUMENTS 24

/* The collector's end of the pipe: any number that is not taken; behind stdin, stdout, stderr. */
#define READY_FD 3

struct arguments {
	const char *argv[MAX_ARGUMENTS];
	size_t count;
	char world[16], ready[16], numbers[4][24];
};

static void add_option(struct arguments *a, const char *option, const char *value)
{
	a->argv[a->count++] = option;
	a->argv[a->count++] = value;
}

/* What is drawn is the user's choice here; the collector has its own defaults for those by hand. */
static void add_limits(struct arguments *a, const struct ifp_timeline_limits *limits)
{
	const struct {
		const char *option;
		int64_t value;
	} all[] = {
		{"--budget", limits->merged_bytes},
		{"--max-events", limits->merged_events},
		{"--ranks-budget", limits->ranks_bytes},
		{"--max-ranks-files", limits->ranks_files},
	};

	for (size_t i = 0; i < IFP_ARRAY_SIZE(all); i++) {
		snprintf(a->numbers[i], sizeof(a->numbers[i]), "%" PRId64, all[i].value);
		add_option(a, all[i].option, a->numbers[i]);
	}
}

static void make_arguments(const struct ifp_collector_request *request, struct arguments *a)
{
	a->count = 0;
	snprintf(a->world, sizeof(a->world), "%u", request->world);
	snprintf(a->ready, sizeof(a->ready), "%d", READY_FD);
	a->argv[a->count++] = request->executable;
	add_option(a, "--listen", request->listen);
	add_option(a, "--output", request->output);
	add_option(a, "--job", request->job);
	add_option(a, "--world", a->world);
	add_option(a, "--ready-fd", a->ready);
	if (request->key_file)
		add_option(a, "--key-file", request->key_file);
	add_limits(a, &request->limits);
	if (request->limits.formats)
		add_option(a, "--formats", request->limits.formats);
	a->argv[a->count] = NULL;
}

static int open_log(const char *output)
{
	IFP_CLEANUP_FREE char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/collector.log", output) < 0) {
		path = NULL;
		return ifp_fail(-ENOMEM, "no memory for a path");
	}
	fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666);
	return fd < 0 ? ifp_fail_errno("open %s", path) : fd;
}

/* Nothing of the job may stay open in the collector: a launcher waits for the pipes it gave us. */
static void arrange_descriptors(int log, int report)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* out of the way of the numbers that are given out below */
	int high_log = fcntl(log, F_DUPFD_CLOEXEC, READY_FD + 1);
	int high_report = fcntl(report, F_DUPFD_CLOEXEC, READY_FD + 1);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(high_log, STDERR_FILENO);
	dup2(high_report, READY_FD);
	close_range(READY_FD + 1, ~0u, 0);
}

/*
 * Two forks: the one between ends at once, so that the collector is nobody's child in the job. A
 * program that replaces the agent by exec, or waits for any child, never meets it.
 */
static _Noreturn void become_collector(struct arguments *arguments, int log, int report)
{
	sigset_t none;
	pid_t pid;

	setsid();
	pid = fork();
	if (pid)
		_exit(pid < 0);
	pid = getpid();
	if (write(report, &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
		_exit(1);
	arrange_descriptors(log, report);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGHUP, SIG_IGN);
	/* the agent's config file has options that the collector does not know */
	unsetenv("INFPROF_CONFIG");
	unsetenv("INFPROF_CONFIG"); /* it holds options of the agent */
	execv(arguments->argv[0], (char *const *)arguments->argv);
	dprintf(READY_FD, "error cannot start %s: %s\n", arguments->argv[0], strerror(errno));
	_exit(1);
}

/* Reads up to size_bytes, to the end of the pipe, or to the end of a line (when lines is set). */
static ssize_t read_until(int fd, char *data, size_t size_bytes, bool line, int64_t deadline_ns)
{
	size_t used = 0;

	while (used < size_bytes) {
		int64_t left_ns = deadline_ns - ifp_clock_raw_ns();
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (left_ns <= 0)
			return -ETIMEDOUT;
		if (poll(&wait, 1, (int)(left_ns / IFP_NS_PER_MS) + 1) <= 0)
			continue;
		n = read(fd, data + used, line ? 1 : size_bytes - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
		if (line && data[used - 1] == '\n')
			break;
	}
	return (ssize_t)used;
}

static int wait_ready(int fd, int64_t deadline_ns, struct ifp_collector_process *collector)
{
	char line[LINE_BYTES];
	ssize_t n = read_until(fd, line, sizeof(line) - 1, true, deadline_ns);

	if (n == -ETIMEDOUT)
		return ifp_fail(-ETIMEDOUT, "the collector did not get ready in time");
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (!strncmp(line, "error ", 6))
		return ifp_fail(-EIO, "%s", line + 6);
	if (strncmp(line, "ready ", 6) || !line[6])
		return ifp_fail(-EIO, "the collector ended before it was ready");
	collector->address = strdup(line + 6);
	return collector->address ? 0 : ifp_fail(-ENOMEM, "no memory for an address");
}

static int follow(int fd, int64_t deadline_ns, struct ifp_collector_process *collector)
{
	pid_t pid;
	int err;

	if (read_until(fd, (char *)&pid, sizeof(pid), false, deadline_ns) != (ssize_t)sizeof(pid))
		return ifp_fail(-EIO, "cannot fork the collector");
	collector->pidfd = pidfd_open(pid, 0);
	if (collector->pidfd < 0)
		return ifp_fail_errno("watch the collector");
	err = wait_ready(fd, deadline_ns, collector);
	if (err)
		pidfd_send_signal(collector->pidfd, SIGKILL, NULL, 0);
	return err;
}

int ifp_collector_process_start(const struct ifp_collector_request *request, int64_t deadline_ms,
	struct ifp_collector_process *out)
{
	int64_t deadline_ns = ifp_clock_raw_ns() + deadline_ms * IFP_NS_PER_MS;
	struct ifp_collector_process collector = {.pidfd = -1};
	struct arguments arguments;
	IFP_CLEANUP_FD int log = open_log(request->output);
	int ends[2], err;
	pid_t pid;

	if (log < 0)
		return log;
	make_arguments(request, &arguments);
	if (pipe2(ends, O_CLOEXEC))
		return ifp_fail_errno("make a pipe for the collector");
	pid = fork();
	if (!pid)
		become_collector(&arguments, log, ends[1]);
	close(ends[1]);
	if (pid > 0) {
		waitpid(pid, NULL, 0);
		err = follow(ends[0], deadline_ns, &collector);
	} else {
		err = ifp_fail_errno("fork the collector");
	}
	close(ends[0]);
	if (err) {
		ifp_collector_process_free(&collector);
		return ifp_fail(err, "start the collector");
	}
	*out = collector;
	return 0;
}

bool ifp_collector_process_ended(const struct ifp_collector_process *collector)
{
	struct pollfd wait = {.fd = collector->pidfd, .events = POLLIN};

	return collector->pidfd >= 0 && poll(&wait, 1, 0) > 0;
}

void ifp_collector_process_free(struct ifp_collector_process *collector)
{
	if (collector->pidfd >= 0)
		close(collector->pidfd);
	free(collector->address);
	*collector = (struct ifp_collector_process){.pidfd = -1};
}
