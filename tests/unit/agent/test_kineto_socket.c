/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/kineto_socket.h"

#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A datagram as Kineto makes it: size and type as given, whether they are right or not. */
static size_t make_datagram(
	unsigned char *out, uint64_t size, const char *type, const void *payload, size_t bytes)
{
	memset(out, 0, IFP_KINETO_DATAGRAM_HEADER_BYTES);
	memcpy(out, &size, sizeof(size));
	memcpy(out + sizeof(size), type, strlen(type));
	memcpy(out + IFP_KINETO_DATAGRAM_HEADER_BYTES, payload, bytes);
	return IFP_KINETO_DATAGRAM_HEADER_BYTES + bytes;
}

struct request {
	int32_t wants, pid_count;
	int64_t job;
	int32_t pids[66];
};

/* Decodes a "req" that announces pid_count processes and carries really_sent of them. */
static int decode_request(int32_t pid_count, size_t really_sent, struct ifp_kineto_request *out)
{
	struct request request = {.wants = 3, .pid_count = pid_count, .pids = {4711, 4710, 1}};
	size_t bytes = 16 + 4 * really_sent;
	unsigned char data[1024];
	size_t len = make_datagram(data, bytes, "req", &request, bytes);
	int err = ifp_kineto_request_decode(data, len, out);

	ifp_error_clear();
	return err;
}

static void a_request_names_the_process_first_and_its_wants(void **state)
{
	struct ifp_kineto_request request;

	(void)state;
	assert_ok(decode_request(3, 3, &request));
	assert_false(request.is_context);
	assert_int_equal(request.wants, IFP_KINETO_WANTS_EVENTS | IFP_KINETO_WANTS_ACTIVITIES);
	assert_int_equal(request.pid, 4711);
	assert_ok(decode_request(IFP_KINETO_MAX_PIDS, IFP_KINETO_MAX_PIDS, &request));
}

static void counts_that_do_not_match_the_length_are_refused(void **state)
{
	struct ifp_kineto_request request = {.pid = 99};

	(void)state;
	assert_int_equal(decode_request(3, 2, &request), -EBADMSG);
	assert_int_equal(decode_request(2, 3, &request), -EBADMSG);
	assert_int_equal(decode_request(0, 0, &request), -EBADMSG);
	assert_int_equal(decode_request(-1, 0, &request), -EBADMSG);
	assert_int_equal(decode_request(INT32_MAX, 3, &request), -EBADMSG);
	assert_int_equal(decode_request(65, 65, &request), -EBADMSG);
	/* 16 + 4 n wraps to 16 in 32 bits. */
	assert_int_equal(decode_request(0x40000000, 0, &request), -EBADMSG);
	assert_int_equal(request.pid, 99);
}

static void a_wrong_announced_size_is_refused(void **state)
{
	struct request request = {.wants = 2, .pid_count = 1, .pids = {7}};
	const uint64_t wrong[] = {0, 19, 21, UINT64_MAX, UINT64_MAX - 19};
	struct ifp_kineto_request decoded;
	unsigned char data[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		size_t len = make_datagram(data, wrong[i], "req", &request, 20);

		assert_int_equal(ifp_kineto_request_decode(data, len, &decoded), -EBADMSG);
	}
	ifp_error_clear();
}

/* Every prefix of a right request, down to nothing. */
static void a_cut_request_is_refused(void **state)
{
	struct request request = {.wants = 2, .pid_count = 2, .pids = {7, 8}};
	struct ifp_kineto_request decoded;
	unsigned char data[1024];
	size_t len = make_datagram(data, 24, "req", &request, 24);

	(void)state;
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(ifp_kineto_request_decode(data, cut, &decoded), -EBADMSG);
	assert_ok(ifp_kineto_request_decode(data, len, &decoded));
	ifp_error_clear();
}

static void other_types_are_refused(void **state)
{
	const char *types[] = {"", "reqx", "re", "hello", "0123456789012345678901234567890123"};
	struct ifp_kineto_request decoded;
	unsigned char data[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		char type[33] = "";
		size_t len;

		strncpy(type, types[i], 32);
		len = make_datagram(data, 16, type, "0123456789abcdef", 16);
		assert_int_equal(ifp_kineto_request_decode(data, len, &decoded), -EBADMSG);
	}
	ifp_error_clear();
}

static void a_context_is_answered_with_a_count(void **state)
{
	struct {
		int32_t gpu, pid;
		int64_t job;
	} context = {0, 4711, 0};
	IFP_CLEANUP_BUF struct ifp_buf answer = {0};
	struct ifp_kineto_request request;
	unsigned char data[64];
	uint64_t size;
	int32_t count;

	(void)state;
	assert_ok(ifp_kineto_request_decode(
		data, make_datagram(data, 16, "ctxt", &context, 16), &request));
	assert_true(request.is_context);
	assert_int_equal(request.pid, 4711);

	ifp_kineto_answer_encode(&request, "", &answer);
	assert_int_equal(answer.len_bytes, 44);
	memcpy(&size, answer.data, sizeof(size));
	memcpy(&count, answer.data + 40, sizeof(count));
	assert_int_equal(size, 4);
	assert_string_equal((const char *)answer.data + 8, "ctxt");
	assert_int_equal(count, 1);
}

/* The text has no NUL behind it: Kineto takes exactly size bytes. */
static void a_request_is_answered_with_the_text(void **state)
{
	const struct ifp_kineto_request request = {.pid = 1};
	IFP_CLEANUP_BUF struct ifp_buf answer = {0};
	uint64_t size;

	(void)state;
	ifp_kineto_answer_encode(&request, "A=1\nB=2\n", &answer);
	memcpy(&size, answer.data, sizeof(size));
	assert_int_equal(size, 8);
	assert_int_equal(answer.len_bytes, 48);
	assert_string_equal((const char *)answer.data + 8, "req");
	assert_memory_equal(answer.data + 40, "A=1\nB=2\n", 8);

	ifp_buf_clear(&answer);
	ifp_kineto_answer_encode(&request, "", &answer);
	assert_int_equal(answer.len_bytes, 40);
}

/* Kineto ends the program when an answer comes from anything but a path in the directory. */
static void answers_come_from_the_bound_path(void **state)
{
	char directory[] = "/tmp/test-kineto-XXXXXX", path[128], data[64];
	struct sockaddr_un client = {.sun_family = AF_UNIX}, from;
	socklen_t from_bytes = sizeof(from);
	IFP_CLEANUP_BUF struct ifp_buf answer = {0};
	struct ifp_kineto_peer peer;
	int server, fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_ok(ifp_kineto_socket_open(directory, &server));
	snprintf(client.sun_path, sizeof(client.sun_path), "%s/client", directory);
	assert_int_equal(bind(fd, (struct sockaddr *)&client, sizeof(client)), 0);
	snprintf(path, sizeof(path), "%s/dynolog", directory);

	assert_int_equal(ifp_kineto_socket_receive(server, data, sizeof(data), &peer), -EAGAIN);
	memcpy(from.sun_path, path,
		sizeof(path) < sizeof(from.sun_path) ? sizeof(path) : sizeof(from.sun_path));
	from.sun_family = AF_UNIX;
	assert_int_equal(sendto(fd, "hello", 5, 0, (struct sockaddr *)&from, sizeof(from)), 5);
	assert_int_equal(ifp_kineto_socket_receive(server, data, sizeof(data), &peer), 5);

	ifp_buf_append_text(&answer, "there");
	assert_ok(ifp_kineto_socket_send(server, &answer, &peer));
	memset(&from, 0, sizeof(from));
	assert_int_equal(recvfrom(fd, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)&from,
				 &from_bytes),
		5);
	assert_string_equal(from.sun_path, path);

	close(fd);
	close(server);
	unlink(path);
	unlink(client.sun_path);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_names_the_process_first_and_its_wants),
		cmocka_unit_test(counts_that_do_not_match_the_length_are_refused),
		cmocka_unit_test(a_wrong_announced_size_is_refused),
		cmocka_unit_test(a_cut_request_is_refused),
		cmocka_unit_test(other_types_are_refused),
		cmocka_unit_test(a_context_is_answered_with_a_count),
		cmocka_unit_test(a_request_is_answered_with_the_text),
		cmocka_unit_test(answers_come_from_the_bound_path),
	};

	return RUN_TESTS(tests);
}
