/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes that import together: who reads what, what they tell each other, who has died.
 */
#include "collector/import/meeting.h"
#include "collector/import/notes.h"
#include "collector/import/part.h"
#include "collector/import/seat.h"
#include "collector/import/team.h"
#include "core/array.h"
#include "core/buf.h"

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_NS (60 * IFP_NS_PER_S)

static char folder[32];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/infprof-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	ifp_import_meeting_remove(folder);
	return access(folder, F_OK) == 0; /* a test has left something */
}

static void assert_cause(const char *part)
{
	char text[1024];

	if (!strstr(ifp_error_text(text, sizeof(text)), part))
		fail_msg("\"%s\" does not say \"%s\"", text, part);
	ifp_error_clear();
}

/* Files of so many bytes each, up to a 0. */
static void add_files(struct ifp_import *import, const uint64_t *bytes)
{
	char name[32];

	for (uint32_t i = 0; bytes[i]; i++) {
		snprintf(name, sizeof(name), "traces/rank%u.json", i);
		assert_ok(ifp_import_add_file(import, name, bytes[i], i % 2));
	}
}

static const struct {
	uint32_t processes;
	uint64_t bytes[8];
	uint32_t readers[8];
} shares[] = {
	{2, {5, 5, 5, 5}, {0, 1, 0, 1}},
	{2, {1, 2, 3, 4, 10}, {1, 1, 1, 1, 0}},
	{3, {7, 6, 5, 4, 3, 2}, {0, 1, 2, 2, 1, 0}},
	{4, {9, 1}, {0, 1}},
	{1, {1, 2, 3}, {0, 0, 0}},
};

static void shares_have_about_the_same_size(void **state)
{
	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(shares); i++) {
		IFP_CLEANUP_IMPORT struct ifp_import import = IFP_IMPORT_EMPTY;

		add_files(&import, shares[i].bytes);
		assert_ok(ifp_import_share(&import, shares[i].processes));
		for (uint32_t k = 0; k < import.file_count; k++)
			assert_int_equal(import.files[k].process, shares[i].readers[k]);
	}
}

static const struct {
	uint32_t own, launcher, processes, threads;
} cores[] = {
	{64, 64, 4, 16}, /* nothing is bound: they share */
	{1, 64, 2, 1},	 /* bound to a core each */
	{32, 64, 4, 16}, /* bound to a socket, two by two */
	{32, 64, 2, 32}, /* bound to a socket each */
	{2, 2, 3, 1},	 /* more processes than cores */
	{8, 4, 2, 4},	 /* wider than what has started it */
};

static void threads_do_not_exceed_the_cores(void **state)
{
	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cores); i++)
		assert_int_equal(
			ifp_team_threads(cores[i].own, cores[i].launcher, cores[i].processes),
			cores[i].threads);
}

static void fill(struct ifp_import_file *file)
{
	file->json_bytes = 1u << 20;
	file->elements = 10;
	file->events = 7;
	file->left_out = 3;
	file->lost_bytes = 1000;
	file->unread_bytes = 50;
	file->first_ns = -5;
	file->last_ns = INT64_MAX;
	file->base_time_ns = 1796000000000000000;
	file->stated_rank = 4;
	file->stated_world = 8;
	file->distributed_info = strdup("{\"rank\":4}");
	file->others = strdup("");
	assert_ok(IFP_ARRAY_RESERVE(
		file->blocks, file->block_capacity, file->block_count, 2, "blocks"));
	file->blocks[file->block_count++] = (struct ifp_import_block){0, 100, 3};
	file->blocks[file->block_count++] = (struct ifp_import_block){1ull << 40, 200, 4};
	assert_ok(ifp_import_note(&file->notes, "trace-damaged", 3, true, "cut %d", 1));
	assert_ok(ifp_import_note(&file->notes, NULL, 0, false, "only told"));
}

static void assert_filled(const struct ifp_import_file *file)
{
	assert_int_equal(file->json_bytes, 1u << 20);
	assert_int_equal(file->elements, 10);
	assert_int_equal(file->events, 7);
	assert_int_equal(file->left_out, 3);
	assert_int_equal(file->lost_bytes, 1000);
	assert_int_equal(file->unread_bytes, 50);
	assert_int_equal(file->first_ns, -5);
	assert_int_equal(file->last_ns, INT64_MAX);
	assert_int_equal(file->base_time_ns, 1796000000000000000);
	assert_int_equal(file->stated_rank, 4);
	assert_int_equal(file->stated_world, 8);
	assert_string_equal(file->distributed_info, "{\"rank\":4}");
	assert_null(file->device_properties);
	assert_string_equal(file->others, "");
	assert_int_equal(file->block_count, 2);
	assert_int_equal(file->blocks[1].offset, 1ull << 40);
	assert_int_equal(file->blocks[1].bytes, 200);
	assert_int_equal(file->blocks[1].events, 4);
	assert_int_equal(file->notes.count, 2);
	assert_string_equal(file->notes.items[0].what, "trace-damaged");
	assert_string_equal(file->notes.items[0].why, "cut 1");
	assert_int_equal(file->notes.items[0].count, 3);
	assert_true(file->notes.items[0].fault);
	assert_null(file->notes.items[1].what);
	assert_false(file->notes.items[1].fault);
}

static void what_one_has_read_another_gets(void **state)
{
	IFP_CLEANUP_IMPORT struct ifp_import zero = IFP_IMPORT_EMPTY, one = IFP_IMPORT_EMPTY;

	(void)state;
	add_files(&zero, (const uint64_t[]){9, 8, 7, 0});
	assert_ok(ifp_import_share(&zero, 2));
	assert_ok(ifp_import_list_write(&zero, folder));
	assert_ok(ifp_import_list_read(&one, folder));
	assert_int_equal(one.file_count, 3);
	one.process = 1;
	for (uint32_t i = 0; i < 3; i++) {
		assert_string_equal(one.files[i].path, zero.files[i].path);
		assert_string_equal(one.files[i].name, zero.files[i].name);
		assert_int_equal(one.files[i].file_bytes, zero.files[i].file_bytes);
		assert_int_equal(one.files[i].named, zero.files[i].named);
		assert_int_equal(one.files[i].process, i ? 1 : 0);
		fill(&one.files[i]);
	}
	assert_ok(ifp_import_part_write(&one, folder));
	assert_ok(ifp_import_part_read(&zero, 1, folder));
	assert_int_equal(zero.files[0].events, 0); /* not process 1's */
	assert_filled(&zero.files[1]);
	assert_filled(&zero.files[2]);
}

static void a_part_that_is_cut_off_is_refused(void **state)
{
	IFP_CLEANUP_IMPORT struct ifp_import one = IFP_IMPORT_EMPTY;
	IFP_CLEANUP_FREE char *path = ifp_import_part_path(folder, 1);
	struct stat st;

	(void)state;
	add_files(&one, (const uint64_t[]){9, 0});
	one.process = one.files[0].process = 1;
	fill(&one.files[0]);
	assert_ok(ifp_import_part_write(&one, folder));
	assert_int_equal(stat(path, &st), 0);
	while (st.st_size-- > 0) {
		IFP_CLEANUP_IMPORT struct ifp_import zero = IFP_IMPORT_EMPTY;

		add_files(&zero, (const uint64_t[]){9, 0});
		zero.files[0].process = 1;
		assert_int_equal(truncate(path, st.st_size), 0);
		assert_int_equal(ifp_import_part_read(&zero, 1, folder), -EBADMSG);
		assert_cause("1.part");
	}
}

static const struct ifp_identity two[] = {
	{.launcher = "test", .rank = 0, .world = 2, .local_size = 2, .job = "job"},
	{.launcher = "test", .rank = 1, .world = 2, .local_size = 2, .job = "job"},
};

static struct ifp_team_wish wish(uint32_t rank, const char *arguments, int64_t patience_ns)
{
	return (struct ifp_team_wish){.identity = &two[rank],
		.output_dir = folder,
		.arguments = arguments,
		.patience_ns = patience_ns};
}

/* Until there is something to be seen. */
static int look_around(struct ifp_team *team)
{
	int err;

	do
		err = ifp_team_look_around(team);
	while (!err);
	return err;
}

/* Process 1 in a child: comes, does as it is told, and ends with 0 when all went as it should. */
static pid_t start_mate(const char *arguments, int (*act)(struct ifp_team *team))
{
	const struct ifp_team_wish mine = wish(1, arguments, LONG_NS);
	pid_t child = fork();
	struct ifp_team *team = NULL;

	if (child)
		return child;
	_exit(ifp_team_join(&mine, &team) || act(team));
}

static int wait_for(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static int die(struct ifp_team *team)
{
	(void)team;
	return raise(SIGKILL);
}

static int fail_of_disk(struct ifp_team *team)
{
	return ifp_team_follow(&team, ifp_fail(-ENOSPC, "the disk is full")) != 3;
}

static int obey(struct ifp_team *team)
{
	return ifp_team_follow(&team, look_around(team)) != 3;
}

static const struct {
	const char *arguments;
	int (*act)(struct ifp_team *team);
	const char *cause;
	int signal, err;
} ends[] = {
	{"a", die, "has died before its part was read", SIGKILL, -EPIPE},
	{"a", fail_of_disk, "): the disk is full", 0, -EIO},
	{"b", obey, "has other arguments than process 0", 0, -EINVAL},
};

static void one_that_fails_ends_the_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(ends); i++) {
		const struct ifp_team_wish mine = wish(0, "a", LONG_NS);
		pid_t child = start_mate(ends[i].arguments, ends[i].act);
		struct ifp_team *team = NULL;
		int status;

		assert_ok(ifp_team_lead(&mine, &team));
		assert_int_equal(look_around(team), ends[i].err);
		assert_cause("process 1 of 2 (");
		ifp_team_end(&team, 3);
		status = wait_for(child);
		assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, ends[i].signal);
		assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0);
	}
}

static void one_that_does_not_come_is_named(void **state)
{
	const struct ifp_team_wish leader = wish(0, "a", 0), other = wish(1, "a", 0);
	struct ifp_team *team = NULL;

	(void)state;
	assert_int_equal(ifp_team_join(&other, &team), -ETIMEDOUT);
	assert_cause("process 0 of 2, which the launcher (test) has told of, has not come");
	assert_ok(ifp_team_lead(&leader, &team));
	assert_int_equal(look_around(team), -ETIMEDOUT);
	assert_cause("process 1 of 2, which the launcher (test) has told of, has not come");
	ifp_error_clear();
	pid_t child = start_mate("a", obey); /* late, but in time for the status */
	ifp_team_end(&team, 3);
	assert_int_equal(wait_for(child), 0);
}

static void two_at_once_are_refused(void **state)
{
	const struct ifp_team_wish mine = wish(0, "a", LONG_NS);
	struct ifp_identity stranger = two[1];
	struct ifp_team_wish other = wish(1, "a", LONG_NS);
	struct ifp_team *team = NULL, *second = NULL;
	pid_t child;

	(void)state;
	assert_ok(ifp_team_lead(&mine, &team));
	assert_int_equal(ifp_team_lead(&mine, &second), -EBUSY);
	assert_cause("another merge is at work");
	assert_int_equal(ifp_import_meeting_clear(folder), -EBUSY);
	assert_cause("another merge is at work");
	strcpy(stranger.job, "another");
	other.identity = &stranger;
	assert_int_equal(ifp_team_join(&other, &second), -EBUSY);
	assert_cause("another merge is at work");
	child = start_mate("a", obey);
	ifp_team_end(&team, 3);
	assert_int_equal(wait_for(child), 0);
}

/* A process 0 that has died with files in its meeting. */
static void leave_a_meeting(void)
{
	const struct ifp_team_wish mine = wish(0, "a", LONG_NS);
	pid_t child = fork();
	struct ifp_team *team = NULL;

	if (!child) {
		IFP_CLEANUP_IMPORT struct ifp_import import = IFP_IMPORT_EMPTY;

		_exit(ifp_team_lead(&mine, &team) || ifp_team_share(team, &import));
	}
	assert_int_equal(wait_for(child), 0);
}

static void what_dead_ones_have_left_is_removed(void **state)
{
	const struct ifp_team_wish mine = wish(0, "a", LONG_NS);
	IFP_CLEANUP_FREE char *meeting = ifp_import_meeting_path(folder);
	struct ifp_team *team = NULL;
	pid_t child;

	(void)state;
	leave_a_meeting();
	assert_int_equal(access(meeting, F_OK), 0);
	assert_ok(ifp_import_meeting_clear(folder));
	assert_int_not_equal(access(meeting, F_OK), 0);
	leave_a_meeting();
	child = start_mate("a", obey); /* does not take the dead one for its own */
	assert_ok(ifp_team_lead(&mine, &team));
	ifp_team_end(&team, 3);
	assert_int_equal(wait_for(child), 0);
	assert_int_not_equal(access(meeting, F_OK), 0);
}

/* Where a file system shows no locks of other hosts only the beats tell. */
static void a_seat_without_a_lock_lives_by_its_beats(void **state)
{
	IFP_CLEANUP(ifp_seat_view_free) struct ifp_seat_view view = {0};
	IFP_CLEANUP_FREE char *path = ifp_import_meeting_seat_path(folder, 0);
	IFP_CLEANUP_FD int fd = open(path, O_CREAT | O_WRONLY, 0600);
	enum ifp_seat_state seen;

	(void)state;
	assert_ok(ifp_seat_look(path, &view, &seen));
	assert_int_equal(seen, IFP_SEAT_EMPTY);
	assert_int_equal(dprintf(fd, "{\"job\":\"a\"}\n{\"jo"), 16);
	assert_ok(ifp_seat_look(path, &view, &seen));
	assert_int_equal(seen, IFP_SEAT_UNSURE);
	assert_int_equal(futimens(fd, (const struct timespec[]){{1, 2}, {3, 4}}), 0);
	assert_ok(ifp_seat_look(path, &view, &seen));
	assert_int_equal(seen, IFP_SEAT_ALIVE);
	assert_ok(ifp_seat_look(path, &view, &seen));
	assert_int_equal(seen, IFP_SEAT_ALIVE);
	view.silent_ns = IFP_SEAT_SILENCE_NS;
	assert_ok(ifp_seat_look(path, &view, &seen));
	assert_int_equal(seen, IFP_SEAT_DEAD);
	assert_int_equal(cJSON_GetArraySize(view.said), 1);
	unlink(path);
	assert_ok(ifp_seat_look(path, &view, &seen));
	assert_int_equal(seen, IFP_SEAT_GONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_have_about_the_same_size),
		cmocka_unit_test(threads_do_not_exceed_the_cores),
		cmocka_unit_test_setup_teardown(
			what_one_has_read_another_gets, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			a_part_that_is_cut_off_is_refused, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			one_that_fails_ends_the_whole, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			one_that_does_not_come_is_named, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			two_at_once_are_refused, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			what_dead_ones_have_left_is_removed, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			a_seat_without_a_lock_lives_by_its_beats, make_folder, remove_folder),
	};

	return RUN_TESTS(tests);
}
