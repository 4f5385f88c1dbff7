/* SPDX-License-Identifier: Apache-2.0 */
#include "relay.h"

#include "core/clock.h"

#include "test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_PIECES 64
#define MAX_BYTES 2048

struct piece {
	int64_t due_ns;
	size_t bytes;
	char data[MAX_BYTES];
};

/* One direction of one connection: what is on its way, in order. */
struct lane {
	const struct relay_delay *delay;
	int from, to;
	struct piece pieces[MAX_PIECES];
	uint32_t first, count;
	int64_t last_due_ns;
};

static double uniform(struct relay *relay)
{
	uint64_t z = relay->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static int64_t draw_ns(struct relay *relay, const struct relay_delay *delay)
{
	double ns = (double)delay->floor_ns - delay->jitter_ns * log(1 - uniform(relay));

	if (uniform(relay) < delay->spike_share)
		ns += (double)delay->spike_ns;
	return (int64_t)ceil(ns);
}

static struct sockaddr_in address_of(uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void set_up(int fd)
{
	const int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	fcntl(fd, F_SETFL, O_NONBLOCK);
}

static int connect_server(const struct relay *relay)
{
	struct sockaddr_in address = address_of(relay->server_port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Takes what has come. False when the connection has ended. */
static bool take(struct relay *relay, struct lane *lane)
{
	struct piece *piece = &lane->pieces[(lane->first + lane->count) % MAX_PIECES];
	ssize_t n;

	if (lane->count == MAX_PIECES)
		return true;
	n = recv(lane->from, piece->data, MAX_BYTES, 0);
	if (n == 0)
		return false;
	if (n < 0)
		return true;
	piece->bytes = (size_t)n;
	piece->due_ns = ifp_clock_raw_ns() + draw_ns(relay, lane->delay);
	if (piece->due_ns < lane->last_due_ns) /* a stream stays in order */
		piece->due_ns = lane->last_due_ns;
	lane->last_due_ns = piece->due_ns;
	lane->count++;
	return true;
}

static void pass_on(struct lane *lane)
{
	struct piece *piece = &lane->pieces[lane->first];
	size_t sent = 0;

	if (!lane->count || ifp_clock_raw_ns() < piece->due_ns)
		return;
	while (sent < piece->bytes) {
		ssize_t n = send(lane->to, piece->data + sent, piece->bytes - sent, MSG_NOSIGNAL);

		if (n < 0)
			break;
		sent += (size_t)n;
	}
	lane->first = (lane->first + 1) % MAX_PIECES;
	lane->count--;
}

/* One connection to its end. False when the relay is to stop. */
static bool serve(struct relay *relay, int client, int server)
{
	struct lane lanes[RELAY_DIRECTIONS] = {
		{.delay = &relay->delays[RELAY_TO_SERVER], .from = client, .to = server},
		{.delay = &relay->delays[RELAY_TO_CLIENT], .from = server, .to = client},
	};
	struct pollfd fds[] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN},
		{.fd = relay->stop[0], .events = POLLIN}};
	bool open = true;

	set_up(client);
	set_up(server);
	while (open) {
		bool idle = !lanes[0].count && !lanes[1].count;

		if (idle && poll(fds, 3, -1) > 0 && fds[2].revents)
			return false;
		for (int i = 0; i < RELAY_DIRECTIONS; i++) {
			open &= take(relay, &lanes[i]);
			pass_on(&lanes[i]);
		}
	}
	return true;
}

static void *run(void *argument)
{
	struct relay *relay = argument;
	bool go_on = true;

	while (go_on) {
		struct pollfd fds[] = {{.fd = relay->listener, .events = POLLIN},
			{.fd = relay->stop[0], .events = POLLIN}};
		int client, server;

		if (poll(fds, 2, -1) <= 0 || fds[1].revents)
			break;
		client = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
		server = connect_server(relay);
		if (client >= 0 && server >= 0)
			go_on = serve(relay, client, server);
		close(client);
		close(server);
	}
	return NULL;
}

void relay_start(struct relay *relay)
{
	struct sockaddr_in address = address_of(0);
	socklen_t length = sizeof(address);

	relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(relay->listener, (struct sockaddr *)&address, length), 0);
	assert_int_equal(listen(relay->listener, 8), 0);
	assert_int_equal(getsockname(relay->listener, (struct sockaddr *)&address, &length), 0);
	relay->port = ntohs(address.sin_port);
	assert_int_equal(pipe(relay->stop), 0);
	assert_int_equal(pthread_create(&relay->thread, NULL, run, relay), 0);
}

void relay_stop(struct relay *relay)
{
	assert_int_equal(write(relay->stop[1], "", 1), 1);
	pthread_join(relay->thread, NULL);
	close(relay->listener);
	close(relay->stop[0]);
	close(relay->stop[1]);
}
