/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "agent/launch/job_directory.h"
#include "agent/launch/meeting_file.h"
#include "agent/launch/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

static char folder[64]; /* of this program: outputs, and the executables below */
static char job[IFP_IDENTITY_JOB_BYTES];

/* A collector as far as the rendezvous sees one: a script that writes lines to the ready pipe. */
static char *make_collector(const char *script)
{
	static char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/collector", folder);
	unlink(path);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", script);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0700), 0);
	return path;
}

static struct ifp_identity identity_of(uint32_t rank, uint32_t world, uint32_t local_size)
{
	struct ifp_identity identity = {
		.launcher = "openmpi", .rank = rank, .world = world, .local_size = local_size};

	snprintf(identity.job, sizeof(identity.job), "%s", job);
	return identity;
}

static struct ifp_rendezvous_wish wish_of(const struct ifp_identity *identity)
{
	return (struct ifp_rendezvous_wish){.identity = identity,
		.output_parent = folder,
		.output = folder,
		.deadline_ms = 10000};
}

static void read_file(const char *name, char *text, size_t size_bytes)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, size_bytes - 1, file)] = '\0';
	fclose(file);
}

static void test_rank_0_on_one_host_starts_the_collector(void **state)
{
	struct ifp_identity identity = identity_of(0, 2, 2);
	struct ifp_rendezvous_wish wish = wish_of(&identity);
	struct ifp_rendezvous rendezvous;
	char arguments[512], expected[512];

	(void)state;
	wish.limits = (struct ifp_timeline_limits){
		.merged_bytes = 1, .merged_events = 2, .ranks_bytes = 3, .ranks_files = 4};
	wish.collector_executable =
		make_collector("echo \"$@\" > \"$4\"/arguments; echo noise >&2\n"
			       "echo ready \"$2\" >&3; exec sleep 600 3>&-");
	assert_true(ifp_rendezvous_starts_collector(&wish));
	assert_ok(ifp_rendezvous_meet(&wish, &rendezvous));
	snprintf(expected, sizeof(expected), "ipc:///tmp/infprof-%u/%s/collector", geteuid(), job);
	assert_string_equal(rendezvous.address, expected);
	assert_false(rendezvous.encrypted);
	assert_false(ifp_collector_process_ended(&rendezvous.collector));

	snprintf(expected, sizeof(expected),
		"--listen ipc:///tmp/infprof-%u/%s/collector --output %s --job %s --world 2 "
		"--ready-fd 3 --budget 1 --max-events 2 --ranks-budget 3 --max-ranks-files 4\n",
		geteuid(), job, folder, job);
	read_file("arguments", arguments, sizeof(arguments));
	assert_string_equal(arguments, expected);
	read_file("collector.log", arguments, sizeof(arguments));
	assert_string_equal(arguments, "noise\n");

	assert_int_equal(pidfd_send_signal(rendezvous.collector.pidfd, SIGKILL, NULL, 0), 0);
	ifp_rendezvous_free(&rendezvous);
}

static void test_the_collector_is_in_a_session_of_its_own(void **state)
{
	struct ifp_identity identity = identity_of(0, 1, 1);
	struct ifp_rendezvous_wish wish = wish_of(&identity);
	struct ifp_rendezvous rendezvous;
	char text[64];

	(void)state;
	wish.collector_executable =
		make_collector("ps -o sid= -p $$ | tr -d ' ' > \"$4\"/session; echo ready x >&3");
	assert_ok(ifp_rendezvous_meet(&wish, &rendezvous));
	ifp_rendezvous_free(&rendezvous);
	read_file("session", text, sizeof(text));
	assert_int_not_equal(atoi(text), 0);
	assert_int_not_equal(atoi(text), getsid(0));
}

static void test_what_the_collector_says_is_the_cause(void **state)
{
	struct ifp_identity identity = identity_of(0, 1, 1);
	struct ifp_rendezvous_wish wish = wish_of(&identity);
	struct ifp_rendezvous rendezvous;
	char text[256];

	(void)state;
	wish.collector_executable = make_collector("echo error port 80 is in use >&3");
	assert_int_equal(ifp_rendezvous_meet(&wish, &rendezvous), -EIO);
	assert_string_equal(
		ifp_error_text(text, sizeof(text)), "start the collector: port 80 is in use");
	ifp_error_clear();

	wish.collector_executable = make_collector("exit 1");
	assert_int_equal(ifp_rendezvous_meet(&wish, &rendezvous), -EIO);
	ifp_error_clear();

	wish.collector_executable = make_collector("exec sleep 600");
	wish.deadline_ms = 50;
	assert_int_equal(ifp_rendezvous_meet(&wish, &rendezvous), -ETIMEDOUT);
	ifp_error_clear();
}

static void test_others_on_one_host_know_the_address(void **state)
{
	struct ifp_identity identity = identity_of(1, 2, 2);
	struct ifp_rendezvous_wish wish = wish_of(&identity);
	struct ifp_rendezvous rendezvous;
	char expected[128];

	(void)state;
	assert_ok(ifp_rendezvous_meet(&wish, &rendezvous));
	snprintf(expected, sizeof(expected), "ipc:///tmp/infprof-%u/%s/collector", geteuid(), job);
	assert_string_equal(rendezvous.address, expected);
	snprintf(expected, sizeof(expected), "ipc:///tmp/infprof-%u/%s/ping-1", geteuid(), job);
	assert_string_equal(rendezvous.ping, expected);
	assert_int_equal(rendezvous.collector.pidfd, -1);
	ifp_rendezvous_free(&rendezvous);
}

static void test_several_hosts_meet_by_a_file_with_keys(void **state)
{
	struct ifp_identity first = identity_of(0, 2, 1), second = identity_of(1, 2, 1);
	struct ifp_rendezvous_wish wish = wish_of(&first);
	struct ifp_rendezvous a, b;
	struct stat st;
	char path[192];

	(void)state;
	wish.collector_executable =
		make_collector("test -f \"${12}\" && test \"$(stat -c %a \"${12}\")\" = 600 &&\n"
			       "echo ready tcp://10.0.0.1:5555 >&3");
	assert_ok(ifp_rendezvous_meet(&wish, &a));
	assert_string_equal(a.address, "tcp://10.0.0.1:5555");
	assert_true(a.encrypted);
	snprintf(path, sizeof(path), "%s/.keys", folder);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(stat(a.meeting_file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);

	wish = wish_of(&second);
	assert_ok(ifp_rendezvous_meet(&wish, &b));
	assert_string_equal(b.address, "tcp://10.0.0.1:5555");
	assert_true(b.encrypted);
	assert_string_equal(b.keys.server_public, a.keys.server_public);
	assert_string_equal(b.keys.client_secret, a.keys.client_secret);
	assert_string_equal(b.keys.server_secret, a.keys.server_secret);
	ifp_rendezvous_free(&b);
	assert_int_equal(access(a.meeting_file, F_OK), 0);
	snprintf(path, sizeof(path), "%s", a.meeting_file);
	ifp_rendezvous_free(&a);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_a_file_of_an_earlier_job_is_not_believed(void **state)
{
	struct ifp_identity identity = identity_of(1, 2, 1);
	struct ifp_rendezvous_wish wish = wish_of(&identity);
	struct ifp_rendezvous rendezvous;
	struct ifp_keys keys;
	char *path = ifp_meeting_file_path(folder, job);
	const struct utimbuf old = {1000000000, 1000000000};

	(void)state;
	memset(&keys, 'k', sizeof(keys));
	keys.server_public[40] = keys.server_secret[40] = '\0';
	keys.client_public[40] = keys.client_secret[40] = '\0';
	assert_ok(ifp_meeting_file_write(path, "tcp://10.0.0.1:1", &keys));
	assert_int_equal(utime(path, &old), 0);
	wish.deadline_ms = 50;
	assert_int_equal(ifp_rendezvous_meet(&wish, &rendezvous), -ETIMEDOUT);
	ifp_error_clear();
	unlink(path);
	free(path);
}

static void test_an_address_given_by_the_user_is_taken(void **state)
{
	struct ifp_identity identity = identity_of(0, 2, 2);
	struct ifp_rendezvous_wish wish = wish_of(&identity);
	struct ifp_rendezvous rendezvous;

	(void)state;
	wish.collector = "tcp://127.0.0.1:5555";
	assert_false(ifp_rendezvous_starts_collector(&wish));
	assert_ok(ifp_rendezvous_meet(&wish, &rendezvous));
	assert_string_equal(rendezvous.address, "tcp://127.0.0.1:5555");
	assert_string_equal(rendezvous.ping, "tcp://127.0.0.1:*");
	ifp_rendezvous_free(&rendezvous);
	wish.collector = "collector:5555";
	assert_int_equal(ifp_rendezvous_check(&wish), -EINVAL);
	ifp_error_clear();
}

static void test_what_dead_jobs_left_is_removed(void **state)
{
	struct ifp_job_directory dead, young;
	char name[80], path[160];

	(void)state;
	snprintf(name, sizeof(name), "%.40s-dead", job);
	assert_ok(ifp_job_directory_make(name, &dead));
	snprintf(path, sizeof(path), "%s/collector", dead.path);
	assert_true(creat(path, 0600) >= 0);
	snprintf(name, sizeof(name), "%.40s-young", job);
	assert_ok(ifp_job_directory_make(name, &young));

	/* both have an agent */
	ifp_job_directory_clean();
	assert_int_equal(access(dead.path, F_OK), 0);
	/* the lock goes with the agent that is killed */
	close(dead.lock);
	ifp_job_directory_clean();
	assert_int_equal(access(dead.path, F_OK), -1);
	assert_int_equal(access(young.path, F_OK), 0);
	free(dead.path);

	snprintf(path, sizeof(path), "%s", young.path);
	ifp_job_directory_leave(&young);
	assert_int_equal(access(path, F_OK), -1);
	assert_null(young.path);
}

static void test_a_directory_that_others_can_write_is_refused(void **state)
{
	struct ifp_job_directory own, again;

	(void)state;
	assert_ok(ifp_job_directory_make(job, &own));
	assert_int_equal(chmod(own.path, 0770), 0);
	assert_int_equal(ifp_job_directory_make(job, &again), -EPERM);
	ifp_error_clear();
	ifp_job_directory_leave(&own);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/infprof-test-XXXXXX");
	snprintf(job, sizeof(job), "test-%d", (int)getpid());
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s /tmp/infprof-%u/%s", folder, geteuid(), job);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rank_0_on_one_host_starts_the_collector),
		cmocka_unit_test(test_the_collector_is_in_a_session_of_its_own),
		cmocka_unit_test(test_what_the_collector_says_is_the_cause),
		cmocka_unit_test(test_others_on_one_host_know_the_address),
		cmocka_unit_test(test_several_hosts_meet_by_a_file_with_keys),
		cmocka_unit_test(test_a_file_of_an_earlier_job_is_not_believed),
		cmocka_unit_test(test_an_address_given_by_the_user_is_taken),
		cmocka_unit_test(test_what_dead_jobs_left_is_removed),
		cmocka_unit_test(test_a_directory_that_others_can_write_is_refused),
	};

	return cmocka_run_group_tests_name(__FILE__, tests, set_up, tear_down);
}
