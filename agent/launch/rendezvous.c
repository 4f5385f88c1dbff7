/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/launch/rendezvous.h"

#include "agent/launch/job_directory.h"
#include "agent/launch/meeting_file.h"
#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"
#include "trace/wire/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define LOOK_AGAIN_MS 100
#define EARLIER_NS (3 * IFP_NS_PER_S)

/* How much older than this agent a meeting file may be: ranks do not start at the same moment. */
#define MEETING_AGE_S 120

/*
 * This host's address on the way to others: the kernel picks it when a datagram socket is
 * connected, and sends nothing. The target is an address reserved for documentation (RFC 5737).
 */
static void own_address(char text[INET_ADDRSTRLEN])
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
	IFP_CLEANUP_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t size_bytes = sizeof(address);

	inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
		getsockname(fd, (struct sockaddr *)&address, &size_bytes) ||
		!inet_ntop(AF_INET, &address.sin_addr, text, INET_ADDRSTRLEN))
		snprintf(text, INET_ADDRSTRLEN, "127.0.0.1");
}

static char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *text_of(const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	return n < 0 ? NULL : text;
}

static int no_memory(void)
{
	return ifp_fail(-ENOMEM, "no memory for an address");
}

bool ifp_rendezvous_starts_collector(const struct ifp_rendezvous_wish *wish)
{
	return !wish->collector && wish->identity->rank == 0;
}

static int start_collector(const struct ifp_rendezvous_wish *wish, const char *listen,
	const char *key_file, struct ifp_rendezvous *r)
{
	const struct ifp_collector_request request = {
		.executable = wish->collector_executable,
		.listen = listen,
		.output = wish->output,
		.job = wish->identity->job,
		.key_file = key_file,
		.world = wish->identity->world,
		.limits = wish->limits,
	};
	int err;

	if (!wish->collector_executable)
		return ifp_fail(-ENOENT, "infprof-collector is not beside this executable");
	err = ifp_collector_process_start(&request, wish->deadline_ms, &r->collector);
	if (err)
		return err;
	r->address = strdup(r->collector.address);
	return r->address ? 0 : no_memory();
}

/*
 * The collector of an agent that ran before in the same job may be about to end. One that stays
 * belongs to another agent that takes itself for rank 0 as well.
 */
static int wait_for_earlier(
	const struct ifp_rendezvous_wish *wish, const struct ifp_job_directory *directory)
{
	int64_t deadline_ns = ifp_clock_raw_ns() + EARLIER_NS;
	const struct timespec pause = {.tv_nsec = LOOK_AGAIN_MS * IFP_NS_PER_MS};

	while (ifp_job_directory_answers(directory, "collector")) {
		if (ifp_clock_raw_ns() > deadline_ns)
			return ifp_fail(-EEXIST,
				"job %s has a collector already: two agents claim to be rank 0",
				wish->identity->job);
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int meet_on_host(const struct ifp_rendezvous_wish *wish, struct ifp_rendezvous *r)
{
	IFP_CLEANUP_FREE char *address = NULL;
	bool starts = ifp_rendezvous_starts_collector(wish);
	int err = ifp_job_directory_make(wish->identity->job, &r->directory);

	if (!err && starts) {
		ifp_job_directory_clean();
		err = wait_for_earlier(wish, &r->directory);
	}
	if (err)
		return err;
	address = text_of("ipc://%s/collector", r->directory.path);
	r->ping = text_of("ipc://%s/ping-%u", r->directory.path, wish->identity->rank);
	if (!address || !r->ping)
		return no_memory();
	if (starts)
		return start_collector(wish, address, NULL, r);
	r->address = IFP_TAKE_PTR(address);
	return 0;
}

/* The keys reach the collector by a file that is gone as soon as it has read them. */
static int start_with_keys(const struct ifp_rendezvous_wish *wish, struct ifp_rendezvous *r)
{
	IFP_CLEANUP_FREE char *key_file = text_of("%s/.keys", wish->output);
	IFP_CLEANUP_FREE char *listen = NULL;
	char host[INET_ADDRSTRLEN];
	int err;

	own_address(host);
	listen = text_of("tcp://%s:*", host);
	if (!key_file || !listen)
		return no_memory();
	if (zmq_curve_keypair(r->keys.server_public, r->keys.server_secret) ||
		zmq_curve_keypair(r->keys.client_public, r->keys.client_secret))
		return ifp_fail(-ENOTSUP,
			"several hosts need an encrypted connection, and this libzmq has none");
	r->encrypted = true;
	err = ifp_keys_write(key_file, &r->keys);
	if (err)
		return err;
	err = start_collector(wish, listen, key_file, r);
	unlink(key_file);
	return err;
}

static int wait_for_file(
	const struct ifp_rendezvous_wish *wish, const char *path, struct ifp_rendezvous *r)
{
	int64_t deadline_ns = ifp_clock_raw_ns() + wish->deadline_ms * IFP_NS_PER_MS;
	const struct timespec pause = {.tv_nsec = LOOK_AGAIN_MS * IFP_NS_PER_MS};
	time_t not_before = time(NULL) - MEETING_AGE_S;

	for (;;) {
		int err = ifp_meeting_file_read(path, not_before, &r->address, &r->keys);

		if (err != -EAGAIN) {
			r->encrypted = !err;
			return err;
		}
		if (ifp_clock_raw_ns() > deadline_ns)
			return ifp_fail(-ETIMEDOUT,
				"rank 0 has not written %s: where the ranks share no file system, "
				"start infprof-collector and give --collector and --key-file",
				path);
		nanosleep(&pause, NULL);
	}
}

static int meet_by_file(const struct ifp_rendezvous_wish *wish, struct ifp_rendezvous *r)
{
	IFP_CLEANUP_FREE char *path =
		ifp_meeting_file_path(wish->output_parent, wish->identity->job);
	char host[INET_ADDRSTRLEN];
	int err;

	own_address(host);
	r->ping = text_of("tcp://%s:*", host);
	if (!path || !r->ping)
		return no_memory();
	if (!ifp_rendezvous_starts_collector(wish))
		return wait_for_file(wish, path, r);
	err = start_with_keys(wish, r);
	if (!err)
		err = ifp_meeting_file_write(path, r->address, &r->keys);
	if (!err)
		r->meeting_file = IFP_TAKE_PTR(path);
	return err;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

int ifp_rendezvous_check(const struct ifp_rendezvous_wish *wish)
{
	struct ifp_keys keys;
	int err = wish->collector ? ifp_address_check(wish->collector, false) : 0;

	if (err)
		return ifp_fail(err, "--collector %s", wish->collector);
	if (!wish->key_file)
		return 0;
	if (!wish->collector)
		return ifp_fail(-EINVAL,
			"--key-file is of use with --collector only: keys for a collector that "
			"infprof-agent starts are made for each job");
	return ifp_keys_read(wish->key_file, &keys);
}

static int meet_named(const struct ifp_rendezvous_wish *wish, struct ifp_rendezvous *r)
{
	char host[INET_ADDRSTRLEN] = "127.0.0.1";
	int err = 0;

	if (wish->key_file) {
		err = ifp_keys_read(wish->key_file, &r->keys);
		if (err)
			return err;
		r->encrypted = true;
	}
	r->address = strdup(wish->collector);
	if (starts_with(wish->collector, "ipc://")) {
		err = ifp_job_directory_make(wish->identity->job, &r->directory);
		if (!err)
			r->ping = text_of(
				"ipc://%s/ping-%u", r->directory.path, wish->identity->rank);
	} else {
		if (!starts_with(wish->collector, "tcp://127.") &&
			!starts_with(wish->collector, "tcp://localhost:"))
			own_address(host);
		r->ping = text_of("tcp://%s:*", host);
	}
	if (!err && (!r->address || !r->ping))
		err = no_memory();
	return err;
}

int ifp_rendezvous_meet(const struct ifp_rendezvous_wish *wish, struct ifp_rendezvous *out)
{
	struct ifp_rendezvous r = {.collector.pidfd = -1, .directory.lock = -1};
	int err;

	if (wish->collector)
		err = meet_named(wish, &r);
	else if (ifp_identity_one_host(wish->identity))
		err = meet_on_host(wish, &r);
	else
		err = meet_by_file(wish, &r);
	if (err) {
		ifp_rendezvous_free(&r);
		return err;
	}
	*out = r;
	return 0;
}

void ifp_rendezvous_free(struct ifp_rendezvous *rendezvous)
{
	if (rendezvous->meeting_file)
		unlink(rendezvous->meeting_file);
	free(rendezvous->meeting_file);
	/* ZeroMQ leaves the socket's name behind */
	if (rendezvous->ping && starts_with(rendezvous->ping, "ipc://"))
		unlink(rendezvous->ping + strlen("ipc://"));
	ifp_job_directory_leave(&rendezvous->directory);
	/* here, too: what was killed when this job had begun already */
	if (rendezvous->collector.pidfd >= 0)
		ifp_job_directory_clean();
	free(rendezvous->address);
	free(rendezvous->ping);
	ifp_collector_process_free(&rendezvous->collector);
	*rendezvous = (struct ifp_rendezvous){.collector.pidfd = -1, .directory.lock = -1};
}
