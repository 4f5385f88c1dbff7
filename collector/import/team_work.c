/* SPDX-License-Identifier: Apache-2.0 */
/* What process 0 and the others do in turn, once they have met. */
#include "collector/import/team_internal.h"

#include "collector/import/meeting.h"
#include "collector/import/part.h"
#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"
#include "infprof/version.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOKS_PER_PROGRESS 5u
#define SEATS_PER_LOOK 20u	      /* so that a thousand processes do not keep a server busy */
#define LATE_NS (10 * IFP_NS_PER_S)   /* after a failure, for processes that have not come */
#define ENDING_NS (60 * IFP_NS_PER_S) /* for all others to hear that it has ended */

/* Who a process is, for people. */
static void name_mate(const struct ifp_team *team, uint32_t number, char *text, size_t size_bytes)
{
	const cJSON *said = team->mates[number].view.said;
	const char *host = ifp_document_get_text(said, "host");

	if (host)
		snprintf(text, size_bytes, "process %u of %u (%s, %" PRIu64 ")", number,
			team->identity.world, host, ifp_document_get_count(said, "pid"));
	else
		snprintf(text, size_bytes, "process %u of %u", number, team->identity.world);
}

static int say_flag(struct ifp_team *team, const char *name)
{
	IFP_CLEANUP_DOCUMENT cJSON *line = cJSON_CreateObject();

	cJSON_AddTrueToObject(line, name);
	return ifp_seat_say(&team->seat, line);
}

/* One look at the seat of another. */
static int look_at(struct ifp_team *team, uint32_t number, enum ifp_seat_state *state)
{
	IFP_CLEANUP_FREE char *path = ifp_import_meeting_seat_path(team->directory, number);

	return path ? ifp_seat_look(path, &team->mates[number].view, state)
		    : ifp_fail(-ENOMEM, "no memory for a path");
}

static bool differs(const cJSON *said, const char *name, const char *own)
{
	const char *text = ifp_document_get_text(said, name);

	return !text || strcmp(text, own) != 0;
}

/* What another process has said, when it is something that ends the whole. */
static int check_words(const struct ifp_team *team, uint32_t number)
{
	const cJSON *said = team->mates[number].view.said;
	const char *failed = ifp_document_get_text(said, "failed");
	char name[320];

	name_mate(team, number, name, sizeof(name));
	if (differs(said, "version", INFPROF_VERSION))
		return ifp_fail(-EPROTO, "%s is of another version than process 0 (%s)", name,
			INFPROF_VERSION);
	if (differs(said, "arguments", team->arguments))
		return ifp_fail(-EINVAL,
			"%s has other arguments than process 0: start all of them with the same",
			name);
	return failed ? ifp_fail(-EIO, "%s: %s", name, failed) : 0;
}

/* Process 0 looks at another one that has not handed its part in. */
static int look_at_mate(struct ifp_team *team, uint32_t number)
{
	struct mate *mate = &team->mates[number];
	enum ifp_seat_state state;
	char name[320];
	int err = look_at(team, number, &state);

	if (err)
		return err;
	if (state == IFP_SEAT_GONE)
		return ifp_fail(-ENOENT, "somebody has removed %s", team->directory);
	if (state == IFP_SEAT_EMPTY)
		return ifp_team_is_late(team, team->patience_ns) ? ifp_team_too_late(team, number)
								 : 0;
	err = check_words(team, number);
	if (err)
		return err;
	team->made_output |= ifp_document_is_true(mate->view.said, "made_output");
	mate->delivered = ifp_document_is_true(mate->view.said, "delivered");
	team->delivered += mate->delivered;
	if (mate->delivered || state != IFP_SEAT_DEAD)
		return 0;
	name_mate(team, number, name, sizeof(name));
	return ifp_fail(-EPIPE, "%s has died before its part was read", name);
}

static int look_at_mates(struct ifp_team *team)
{
	uint32_t others = team->identity.world - 1, looks = 0;
	int err = 0;

	for (uint32_t i = 0; i < others && looks < SEATS_PER_LOOK && !err; i++) {
		uint32_t number = 1 + team->next;

		team->next = (team->next + 1) % others;
		if (team->mates[number].delivered)
			continue;
		looks++;
		err = look_at_mate(team, number);
	}
	return err;
}

static int look_at_leader(struct ifp_team *team)
{
	enum ifp_seat_state state;
	char name[320];
	int err = look_at(team, 0, &state);

	if (err)
		return err;
	if (cJSON_GetObjectItemCaseSensitive(team->mates[0].view.said, "ended")) {
		/* at once: reading may take a while to end */
		if (!team->ended && say_flag(team, "heard"))
			ifp_error_clear();
		team->ended = true;
		return ifp_fail(-ECANCELED, "process 0 has ended");
	}
	if (state != IFP_SEAT_DEAD && state != IFP_SEAT_GONE)
		return 0;
	team->died = true;
	name_mate(team, 0, name, sizeof(name));
	return ifp_fail(-EPIPE, "%s has died: there is no result", name);
}

int ifp_team_look_around(struct ifp_team *team)
{
	return team->identity.rank ? look_at_leader(team) : look_at_mates(team);
}

int ifp_team_share(struct ifp_team *team, struct ifp_import *import)
{
	int err = ifp_import_share(import, team->identity.world);

	import->process = 0;
	if (err || team->identity.world == 1)
		return err;
	err = ifp_import_list_write(import, team->directory);
	return err ? err : say_flag(team, "shared");
}

/* A file that is not the same from here is on a file system that not all have. */
static int check_files(const struct ifp_import *import)
{
	for (uint32_t i = 0; i < import->file_count; i++) {
		const struct ifp_import_file *file = &import->files[i];
		struct stat st;

		if (file->process != import->process)
			continue;
		if (stat(file->path, &st))
			return ifp_fail_errno("process 0 sees %s, but here", file->path);
		if ((uint64_t)st.st_size != file->file_bytes)
			return ifp_fail(-ESTALE,
				"%s has %" PRIu64 " bytes here and %" PRIu64 " at process 0",
				file->path, (uint64_t)st.st_size, file->file_bytes);
	}
	return 0;
}

int ifp_team_receive(struct ifp_team *team, struct ifp_import *import)
{
	int err = ifp_team_look_around(team);

	while (!err && !ifp_document_is_true(team->mates[0].view.said, "shared")) {
		ifp_team_pause();
		err = ifp_team_look_around(team);
	}
	if (!err)
		err = ifp_import_list_read(import, team->directory);
	import->process = team->identity.rank;
	return err ? err : check_files(import);
}

int ifp_team_deliver(struct ifp_team *team, const struct ifp_import *import)
{
	int err = ifp_import_part_write(import, team->directory);

	if (!err && fdatasync(import->spill))
		err = ifp_fail_errno("write what was read to %s", team->directory);
	return err ? err : say_flag(team, "delivered");
}

static int wait_for_parts(struct ifp_team *team, const struct ifp_import_options *options)
{
	uint32_t others = team->identity.world - 1;
	struct ifp_import_progress progress = {0};
	int err = look_at_mates(team);

	for (uint32_t i = 0; !err && team->delivered < others; i++) {
		progress.processes = others - team->delivered;
		if (options->progress && i % LOOKS_PER_PROGRESS == 0)
			err = options->progress(options->context, &progress);
		ifp_team_pause();
		if (!err)
			err = look_at_mates(team);
	}
	return err;
}

int ifp_team_collect(
	struct ifp_team *team, struct ifp_import *import, const struct ifp_import_options *options)
{
	int err = wait_for_parts(team, options);

	for (uint32_t i = 1; i < team->identity.world && !err; i++)
		err = ifp_import_part_read(import, i, team->directory);
	if (err)
		return err;
	import->spills = strdup(team->directory);
	return import->spills ? 0 : ifp_fail(-ENOMEM, "no memory for a path");
}

/* Whether process 0 need not wait for this one any more. */
static bool has_heard(struct ifp_team *team, uint32_t number)
{
	struct mate *mate = &team->mates[number];
	enum ifp_seat_state state = IFP_SEAT_GONE;

	if (look_at(team, number, &state)) {
		ifp_error_clear();
		return true;
	}
	team->made_output |= ifp_document_is_true(mate->view.said, "made_output");
	if (state == IFP_SEAT_EMPTY)
		return ifp_team_is_late(team, LATE_NS);
	return state == IFP_SEAT_DEAD || state == IFP_SEAT_GONE ||
	       ifp_document_is_true(mate->view.said, "heard");
}

static void tell_all(struct ifp_team *team, int status)
{
	IFP_CLEANUP_DOCUMENT cJSON *line = cJSON_CreateObject();
	int64_t until_ns = ifp_clock_raw_ns() + ENDING_NS;
	uint32_t heard = 1;

	cJSON_AddNumberToObject(line, "ended", status);
	if (ifp_seat_say(&team->seat, line)) {
		ifp_error_clear(); /* they find that this one has died */
		return;
	}
	while (heard < team->identity.world && ifp_clock_raw_ns() < until_ns) {
		if (has_heard(team, heard))
			heard++;
		else
			ifp_team_pause();
	}
}

void ifp_team_end(struct ifp_team **team, int status)
{
	struct ifp_team *t = *team;

	if (t->identity.world > 1)
		tell_all(t, status);
	ifp_import_meeting_remove(t->directory);
	if (status && t->made_output)
		rmdir(t->output_dir); /* stays where something is in it */
	ifp_team_free(team);
}

/* Tells process 0 why this one cannot go on; on a full disk there must be room for that. */
static void say_failed(struct ifp_team *team)
{
	IFP_CLEANUP_FREE char *spill = ifp_team_spill_path(team);
	IFP_CLEANUP_DOCUMENT cJSON *line = cJSON_CreateObject();
	char text[1024];

	if (spill)
		unlink(spill);
	cJSON_AddStringToObject(line, "failed", ifp_error_text(text, sizeof(text)));
	ifp_error_clear();
	if (ifp_seat_say(&team->seat, line))
		ifp_error_clear(); /* it finds that this one has died */
}

/* The status that process 0 has told. */
static int take_status(struct ifp_team *team)
{
	int64_t status;

	ifp_error_clear();
	if (!ifp_document_get_int(team->mates[0].view.said, "ended", &status))
		return ifp_fail(-EPROTO, "process 0 has ended without a status");
	return (int)status;
}

/* Launchers end all processes when one has failed: process 0 is given time to clean up. */
static void wait_until_gone(struct ifp_team *team)
{
	int64_t until_ns = ifp_clock_raw_ns() + ENDING_NS;
	enum ifp_seat_state state = IFP_SEAT_ALIVE;

	while (!look_at(team, 0, &state) && state != IFP_SEAT_GONE && state != IFP_SEAT_DEAD &&
		ifp_clock_raw_ns() < until_ns)
		ifp_team_pause();
	ifp_error_clear();
}

int ifp_team_follow(struct ifp_team **team, int err)
{
	struct ifp_team *t = *team;

	if (err && !t->ended && !t->died)
		say_failed(t);
	while (!t->ended && !t->died) {
		err = look_at_leader(t);
		if (err && !t->ended && !t->died)
			break;
		if (!err)
			ifp_team_pause();
	}
	if (t->ended) {
		err = take_status(t);
		wait_until_gone(t);
	} else if (t->died) {
		ifp_import_meeting_bury(t->directory, &t->mates[0].view);
		if (t->made_output || ifp_document_is_true(t->mates[0].view.said, "made_output"))
			rmdir(t->output_dir);
	}
	ifp_team_free(team);
	return err;
}
