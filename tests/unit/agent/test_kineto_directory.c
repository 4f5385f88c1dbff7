/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/kineto_directory.h"

#include "core/cleanup.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[] = "/tmp/test-XXXXXX";

static void touch(const char *directory, const char *name, const char *text)
{
	char path[256];
	IFP_CLEANUP_FILE FILE *file = NULL;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
}

static bool exists(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

static void the_directory_is_private_and_short(void **state)
{
	struct ifp_kineto_directory directory;
	struct stat status;

	(void)state;
	assert_ok(ifp_kineto_directory_make(base, &directory));
	assert_memory_equal(directory.path, base, strlen(base));
	assert_true(strlen(directory.path) <= IFP_KINETO_DIRECTORY_MAX_BYTES);
	assert_int_equal(stat(directory.path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);

	touch(directory.path, "window0-0_1.json", "{}");
	ifp_kineto_directory_remove(&directory);
	assert_false(exists(directory.path));
}

/* No environment of the user's makes a path that Kineto cannot take. */
static void unusable_bases_lead_to_tmp(void **state)
{
	const char *bases[] = {NULL, "", "relative/path", "/tmp/with=sign", "/tmp/with#sign",
		"/tmp/../tmp", "/nonexistent",
		"/tmp/a-directory-whose-name-leaves-no-room-for-names-of-sockets"};

	(void)state;
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		struct ifp_kineto_directory directory;

		assert_ok(ifp_kineto_directory_make(bases[i], &directory));
		assert_memory_equal(directory.path, "/tmp/infprof-k", 14);
		ifp_kineto_directory_remove(&directory);
	}
}

/* The same name with another process: one that has ended, and one that lives. */
static void only_what_dead_agents_left_is_removed(void **state)
{
	struct ifp_kineto_directory own;
	char dead[128], alive[128], foreign[128];
	struct stat status;

	(void)state;
	assert_int_equal(stat("/proc/self/ns/pid", &status), 0);
	assert_ok(ifp_kineto_directory_make(base, &own));
	/* Own pid with another start time: a process whose number was given out again. */
	snprintf(dead, sizeof(dead), "%s/infprof-k%lx-%ld-1", base, (unsigned long)status.st_ino,
		(long)getpid());
	snprintf(foreign, sizeof(foreign), "%s/infprof-k%lx-%ld-1", base,
		(unsigned long)status.st_ino + 1, (long)getpid());
	snprintf(alive, sizeof(alive), "%s", own.path);
	assert_int_equal(mkdir(dead, 0700), 0);
	assert_int_equal(mkdir(foreign, 0700), 0);
	touch(dead, "kineto.conf", "");

	/* Its name is taken (one process, one directory), but the cleaning comes first. */
	assert_int_equal(ifp_kineto_directory_make(base, &own), -EEXIST);
	ifp_error_clear();
	assert_false(exists(dead));
	assert_true(exists(foreign));
	assert_true(exists(alive));

	rmdir(foreign);
	ifp_kineto_directory_remove(&own);
}

static void a_file_is_found_by_prefix_and_complete_without_tmp(void **state)
{
	struct ifp_kineto_directory directory;
	struct ifp_kineto_file file;

	(void)state;
	assert_ok(ifp_kineto_directory_make(base, &directory));
	touch(directory.path, "window1-0_77.json.tmp", "12345");
	touch(directory.path, "window10-0_77.json", "");
	assert_int_equal(ifp_kineto_directory_find(&directory, "window2-0_").size_bytes, -1);

	file = ifp_kineto_directory_find(&directory, "window1-0_");
	assert_false(file.complete);
	assert_int_equal(file.size_bytes, 5);

	touch(directory.path, "window1-0_77.json", "1234567");
	file = ifp_kineto_directory_find(&directory, "window1-0_");
	assert_true(file.complete);
	assert_string_equal(file.name, "window1-0_77.json");
	assert_int_equal(file.size_bytes, 7);
	ifp_kineto_directory_remove(&directory);
}

static int make_base(void **state)
{
	(void)state;
	return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
	(void)state;
	return rmdir(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_directory_is_private_and_short),
		cmocka_unit_test(unusable_bases_lead_to_tmp),
		cmocka_unit_test(only_what_dead_agents_left_is_removed),
		cmocka_unit_test(a_file_is_found_by_prefix_and_complete_without_tmp),
	};

	return cmocka_run_group_tests_name(__FILE__, tests, make_base, remove_base);
}
