/* SPDX-License-Identifier: Apache-2.0 */
/* What is said and left when the process that draws a run does not come to its end. */
#include "collector/receive/session_internal.h"

#include "core/buf.h"
#include "core/error.h"
#include "outlet_record.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], archive[80];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/infprof-finish-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(archive, sizeof(archive), "%s/run.ifp", folder);
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *place)
{
	(void)st;
	(void)flag;
	(void)place;
	return remove(path);
}

static int remove_folder(void **state)
{
	(void)state;
	return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *output, const char *name)
{
	char path[160];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", output, name);
	for (char *slash = path + strlen(output) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
	file = fopen(path, "w");
	if (file)
		fclose(file);
}

static bool is_there(const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

/* As a drawing leaves things in its midst. */
static void draw_some(const char *output)
{
	put(output, "merged/all_0.1.pt.trace.json.gz");
	put(output, "ranks/a_0000.1.pt.trace.waiting.gz");
	put(output, "ranks/a_0001.1.pt.trace.waiting.gz.partial");
	put(output, "perfetto/run.pftrace.gz.partial");
	put(output, "plugins/.drawing-17/rank0000.xplane.pb");
}

static int draw_for_ever(const char *path, const char *output,
	const struct ifp_timeline_limits *limits, cJSON *verdict)
{
	(void)path;
	(void)output;
	(void)limits;
	(void)verdict;
	return pause();
}

static int draw_and_die(const char *path, const char *output,
	const struct ifp_timeline_limits *limits, cJSON *verdict)
{
	(void)path;
	(void)limits;
	(void)verdict;
	draw_some(output);
	return raise(SIGKILL);
}

static int draw_all(const char *path, const char *output, const struct ifp_timeline_limits *limits,
	cJSON *verdict)
{
	(void)path;
	(void)limits;
	put(output, "report.txt");
	cJSON_AddStringToObject(verdict, "text", "all is well");
	return 0;
}

/* The text of VERDICT, to be freed; *err: what the session makes of it. */
static char *finish(ifp_session_draw *draw, int64_t draw_ns, const char *formats, int *err)
{
	struct ifp_session_config config = {.output = folder,
		.draw = draw,
		.draw_ns = draw_ns,
		.limits.formats = formats,
		.stop_fd = -1};
	struct ifp_session session = {.config = &config, .archive_path = archive};
	char address[96], *text;
	struct record record;

	record_init(&record);
	session.outlet = record.outlet;
	snprintf(address, sizeof(address), "ipc://%s/socket", folder);
	assert_ok(ifp_server_new(address, NULL, &session.server));
	*err = ifp_session_finish(&session);
	ifp_error_clear();
	assert_int_equal(record.count, 1);
	assert_int_equal(record.entries[0].message, IFP_MSG_VERDICT);
	text = strdup(ifp_document_get_text(record.entries[0].document, "text"));
	record_free(&record);
	ifp_server_free(&session.server);
	return text;
}

static void assert_only_what_is_whole(void)
{
	assert_true(is_there("merged/all_0.1.pt.trace.json.gz"));
	assert_false(is_there("ranks/a_0000.1.pt.trace.waiting.gz"));
	assert_false(is_there("ranks/a_0001.1.pt.trace.waiting.gz.partial"));
	assert_false(is_there("perfetto/run.pftrace.gz.partial"));
	assert_false(is_there("plugins/.drawing-17"));
}

static void drawing_that_takes_too_long_is_ended_and_said_how_to_go_on(void **state)
{
	IFP_CLEANUP_FREE char *text = NULL;
	char command[256];
	int err;

	(void)state;
	draw_some(folder);
	text = finish(draw_for_ever, IFP_NS_PER_S, "pytorch,xplane", &err);
	assert_int_equal(err, -ETIMEDOUT);
	snprintf(command, sizeof(command), "infprof timeline %s -o %s --formats pytorch,xplane",
		archive, folder);
	assert_non_null(strstr(text, "drawing took longer than 1 s and was ended"));
	assert_non_null(strstr(text, command));
	assert_only_what_is_whole();
}

static void drawing_that_was_killed_did_not_take_too_long(void **state)
{
	IFP_CLEANUP_FREE char *text = NULL;
	char command[256];
	int err;

	(void)state;
	text = finish(draw_and_die, 60 * IFP_NS_PER_S, NULL, &err);
	assert_int_equal(err, -EIO);
	snprintf(command, sizeof(command), "infprof timeline %s -o %s", archive, folder);
	assert_non_null(strstr(text, "drawing failed"));
	assert_string_equal(strstr(text, "infprof timeline"), command);
	assert_only_what_is_whole();
}

static void verdict_of_a_drawing_is_passed_on(void **state)
{
	IFP_CLEANUP_FREE char *text = NULL;
	int err;

	(void)state;
	text = finish(draw_all, 60 * IFP_NS_PER_S, NULL, &err);
	assert_int_equal(err, 0);
	assert_string_equal(text, "all is well");
	assert_true(is_there("report.txt"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(drawing_that_takes_too_long_is_ended_and_said_how_to_go_on),
		TEST(drawing_that_was_killed_did_not_take_too_long),
		TEST(verdict_of_a_drawing_is_passed_on),
	};

	return RUN_TESTS(tests);
}
