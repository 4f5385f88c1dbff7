/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server.h"

#include "cli/program.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 4096
#define AT_ADDRESS " at http://"
#define REQUEST "GET / HTTP/1.0\r\n\r\n"
/* When it does not take a connection yet. */
#define ASK_AGAIN_MS 100
/* How long it may take to end when it is asked to; then it is killed. */
#define GRACE_MS 5000
/* Of what a server prints before it is up, so much is kept to be shown if it fails. */
#define KEPT_BYTES ((size_t)256 * 1024)

/* A server while it runs. */
struct running {
	const struct ifp_server *server;
	struct ifp_program program;
	int signals;		/* signalfd */
	int question;		/* a connection on which an answer is awaited; -1 = none */
	struct ifp_buf printed; /* before it was up */
	char address[256];	/* "" = not known yet */
	char port[8];		/* of the address */
	bool up;
	bool ending; /* it was asked to end */
	bool ended;
	bool silent; /* its output is closed */
};

static void release(struct running *running)
{
	ifp_program_free(&running->program);
	ifp_cleanup_fd(&running->signals);
	ifp_cleanup_fd(&running->question);
	ifp_buf_free(&running->printed);
}

/* Asks for its page: the connection, or -1 when there is none. */
static int ask(const char *host, const char *port)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int fd = -1;

	if (getaddrinfo(host, port, &hints, &found))
		return -1;
	for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0);
		if (fd >= 0 && (connect(fd, at->ai_addr, at->ai_addrlen) ||
				       send(fd, REQUEST, strlen(REQUEST), MSG_NOSIGNAL) < 0)) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	return fd;
}

/* Looks for "at http://HOST:PORT/" in what was printed; asks there when it is found. */
static void look_for_address(struct running *running)
{
	const char *end = (const char *)running->printed.data + running->printed.len_bytes;
	const char *start = memmem(
		running->printed.data, running->printed.len_bytes, AT_ADDRESS, strlen(AT_ADDRESS));
	size_t len = 0;

	if (!start)
		return;
	start += strlen(AT_ADDRESS) - strlen("http://");
	while (start + len < end && (unsigned char)start[len] > ' ')
		len++;
	if (start + len == end || len >= sizeof(running->address))
		return;
	memcpy(running->address, start, len);
	running->address[len] = '\0';
	start = strrchr(running->address, ':') + 1;
	len = strspn(start, "0123456789");
	if (len < sizeof(running->port))
		memcpy(running->port, start, len);
	running->question = ask(running->server->host, running->port);
}

static void take_output(struct running *running)
{
	char bytes[READ_BYTES];
	ssize_t got = read(running->program.output, bytes, sizeof(bytes));

	if (got < 0 && errno == EINTR)
		return;
	if (got <= 0) {
		running->silent = true;
	} else if (running->ending) {
		return;
	} else if (running->up) {
		fwrite(bytes, 1, (size_t)got, stderr);
	} else {
		if (running->printed.len_bytes < KEPT_BYTES)
			ifp_buf_append(&running->printed, bytes, (size_t)got);
		if (!running->address[0])
			look_for_address(running);
	}
}

static void take_answer(struct running *running)
{
	char bytes[READ_BYTES];
	ssize_t got = read(running->question, bytes, sizeof(bytes));

	if (got < 0 && errno == EINTR)
		return;
	close(IFP_TAKE_FD(running->question));
	if (got < 5 || memcmp(bytes, "HTTP/", 5) != 0)
		return;
	running->up = true;
	printf("%s\n", running->address);
	fflush(stdout);
}

static void take_signal(struct running *running)
{
	struct signalfd_siginfo info;

	if (read(running->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD) {
		running->ended = ifp_program_has_ended(&running->program);
		return;
	}
	ifp_program_signal(&running->program, running->ending ? SIGKILL : SIGTERM);
	running->ending = true;
}

static void watch(struct running *running)
{
	struct pollfd fds[] = {
		{.fd = running->signals, .events = POLLIN},
		{.fd = running->silent ? -1 : running->program.output, .events = POLLIN},
		{.fd = running->question, .events = POLLIN},
	};
	bool unanswered = running->address[0] && !running->up && running->question < 0;
	int limit_ms = running->ending ? GRACE_MS : unanswered ? ASK_AGAIN_MS : -1;
	int ready = poll(fds, IFP_ARRAY_SIZE(fds), limit_ms);

	if (ready == 0 && running->ending)
		ifp_program_signal(&running->program, SIGKILL);
	else if (ready == 0)
		running->question = ask(running->server->host, running->port);
	if (ready <= 0)
		return;
	/* What it prints behind its answer is to be shown. */
	if (fds[2].revents)
		take_answer(running);
	if (fds[1].revents)
		take_output(running);
	if (fds[0].revents)
		take_signal(running);
}

/* What is still in the pipe when it has ended on its own, and all of it if it was never up. */
static void show_rest(struct running *running)
{
	while (!running->silent) {
		struct pollfd left = {.fd = running->program.output, .events = POLLIN};

		if (poll(&left, 1, 0) <= 0)
			break;
		take_output(running);
	}
	if (!running->up)
		fwrite(running->printed.data, 1, running->printed.len_bytes, stderr);
}

static int conclude(struct running *running)
{
	IFP_CLEANUP_BUF struct ifp_buf end = {0};
	const char *name = running->server->name;

	if (!running->ending)
		show_rest(running);
	ifp_program_describe(ifp_program_finish(&running->program), &end);
	ifp_buf_append_u8(&end, 0);
	if (running->ending)
		return running->up ? 0 : ifp_fail(-EINTR, "ended before %s was up", name);
	if (ifp_buf_status(&end))
		return -ENOMEM;
	return ifp_fail(-ECHILD, "%s %s%s", name, (const char *)end.data,
		running->up ? "" : " before it was up: what it printed stands above");
}

/* Servers take seconds to find that out, and say so among much else. */
static int check_port(const struct ifp_server *server)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *found = NULL;
	int err = 0;

	if (getaddrinfo(server->host, server->port, &hints, &found))
		return 0; /* the server knows what to say of this host */
	for (const struct addrinfo *at = found; at && !err; at = at->ai_next) {
		IFP_CLEANUP_FD int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0);
		const int on = 1;

		if (fd < 0)
			continue;
		/* As servers do: connections that have ended do not keep the port. */
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (bind(fd, at->ai_addr, at->ai_addrlen) && errno == EADDRINUSE)
			err = ifp_fail(-EADDRINUSE,
				"port %s of %s is in use by another program: give another --port, "
				"or none for one that is free",
				server->port, server->host);
	}
	freeaddrinfo(found);
	return err;
}

int ifp_server_run(const struct ifp_server *server)
{
	IFP_CLEANUP(release)
	struct running running = {.server = server, .signals = -1, .question = -1};
	sigset_t handled, before;
	int err = check_port(server);

	if (err)
		return err;
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&handled);
	sigaddset(&handled, SIGINT);
	sigaddset(&handled, SIGTERM);
	sigaddset(&handled, SIGHUP);
	sigaddset(&handled, SIGCHLD);
	sigprocmask(SIG_BLOCK, &handled, &before);
	running.signals = signalfd(-1, &handled, SFD_CLOEXEC);
	if (running.signals < 0)
		err = ifp_fail_errno("watch for signals");
	if (!err)
		err = ifp_program_start(server->argv, &before, &running.program);
	while (!err && !running.ended)
		watch(&running);
	if (!err)
		err = conclude(&running);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}
