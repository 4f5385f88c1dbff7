/* SPDX-License-Identifier: Apache-2.0 */
/* How the processes come together; what they do then is in team_work.c. */
#include "collector/import/team_internal.h"

#include "collector/import/meeting.h"
#include "collector/import/part.h"
#include "core/checksum.h"
#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"
#include "infprof/version.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFRESH_NS IFP_NS_PER_S

void ifp_team_pause(void)
{
	const struct timespec pause = {.tv_nsec = 50 * IFP_NS_PER_MS};

	nanosleep(&pause, NULL);
}

void ifp_team_free(struct ifp_team **team)
{
	struct ifp_team *t = *team;

	if (!t)
		return;
	for (uint32_t i = 0; t->mates && i < t->identity.world; i++)
		ifp_seat_view_free(&t->mates[i].view);
	ifp_seat_leave(&t->seat);
	free(t->mates);
	free(t->output_dir);
	free(t->directory);
	free(t);
	*team = NULL;
}

static int new_team(const struct ifp_team_wish *wish, struct ifp_team **out)
{
	IFP_CLEANUP(ifp_team_free) struct ifp_team *team = calloc(1, sizeof(*team));

	if (!team)
		return ifp_fail(-ENOMEM, "no memory for %u processes", wish->identity->world);
	*team = (struct ifp_team){.identity = *wish->identity,
		.output_dir = strdup(wish->output_dir),
		.directory = ifp_import_meeting_path(wish->output_dir),
		.made_output = wish->made_output,
		.since_ns = ifp_clock_raw_ns(),
		.patience_ns = wish->patience_ns,
		.seat = {.fd = -1},
		.mates = calloc(wish->identity->world, sizeof(struct mate))};
	snprintf(team->arguments, sizeof(team->arguments), "%016" PRIx64,
		ifp_checksum(wish->arguments, strlen(wish->arguments)));
	if (!team->output_dir || !team->directory || !team->mates)
		return ifp_fail(-ENOMEM, "no memory for %u processes", wish->identity->world);
	*out = IFP_TAKE_PTR(team);
	return 0;
}

/* The first line of each process. */
static cJSON *introduction(const struct ifp_team *team)
{
	cJSON *line = cJSON_CreateObject();
	char host[256] = "?";

	gethostname(host, sizeof(host) - 1);
	cJSON_AddStringToObject(line, "job", team->identity.job);
	cJSON_AddNumberToObject(line, "world", team->identity.world);
	cJSON_AddStringToObject(line, "version", INFPROF_VERSION);
	cJSON_AddStringToObject(line, "arguments", team->arguments);
	cJSON_AddStringToObject(line, "host", host);
	cJSON_AddStringToObject(line, "boot", ifp_clock_identity_read().boot_id);
	cJSON_AddNumberToObject(line, "pid", getpid());
	cJSON_AddBoolToObject(line, "made_output", team->made_output);
	return line;
}

int ifp_team_lead(const struct ifp_team_wish *wish, struct ifp_team **out)
{
	IFP_CLEANUP(ifp_team_free) struct ifp_team *team = NULL;
	IFP_CLEANUP_DOCUMENT cJSON *first = NULL;
	int err = new_team(wish, &team);

	if (err)
		return err;
	first = introduction(team);
	err = ifp_import_meeting_make(team->output_dir, team->identity.world, first, &team->seat);
	if (!err)
		*out = IFP_TAKE_PTR(team);
	return err;
}

int ifp_team_too_late(const struct ifp_team *team, uint32_t number)
{
	return ifp_fail(-ETIMEDOUT,
		"process %u of %u, which the launcher (%s) has told of, has not come to %s within "
		"%" PRId64 " s: start all of them with the same arguments, or one with --alone",
		number, team->identity.world, team->identity.launcher, team->output_dir,
		team->patience_ns / IFP_NS_PER_S);
}

bool ifp_team_is_late(const struct ifp_team *team, int64_t patience_ns)
{
	return ifp_clock_raw_ns() - team->since_ns > patience_ns;
}

/* Process 0 is there: whether it is the one of this job. */
static int check_leader(const struct ifp_team *team)
{
	const cJSON *said = team->mates[0].view.said;
	const char *job = ifp_document_get_text(said, "job");

	if (job && !strcmp(job, team->identity.job) &&
		ifp_document_get_count(said, "world") == team->identity.world)
		return 0;
	return ifp_fail(-EBUSY, "another merge is at work in %s", team->directory);
}

/* Looks for a process 0 that lives, once. -EAGAIN without a cause: not there yet. */
static int find_leader(struct ifp_team *team, const char *seat)
{
	struct ifp_seat_view *view = &team->mates[0].view;
	enum ifp_seat_state state;
	int err = ifp_seat_look(seat, view, &state);

	if (err)
		return err;
	if (state == IFP_SEAT_ALIVE)
		return check_leader(team);
	if (state == IFP_SEAT_GONE)
		ifp_seat_view_free(view);
	return -EAGAIN;
}

static int wait_for_leader(struct ifp_team *team)
{
	IFP_CLEANUP_FREE char *seat = ifp_import_meeting_seat_path(team->directory, 0);
	int64_t refreshed_ns = 0;
	int err = seat ? -EAGAIN : ifp_fail(-ENOMEM, "no memory for a path");

	while (err == -EAGAIN) {
		if (ifp_clock_raw_ns() - refreshed_ns > REFRESH_NS) {
			ifp_import_meeting_refresh(team->output_dir);
			refreshed_ns = ifp_clock_raw_ns();
		}
		err = find_leader(team, seat);
		if (err == -EAGAIN && ifp_team_is_late(team, team->patience_ns))
			err = ifp_team_too_late(team, 0);
		if (err == -EAGAIN)
			ifp_team_pause();
	}
	return err;
}

static int sit_down(struct ifp_team *team)
{
	uint32_t number = team->identity.rank;
	IFP_CLEANUP_FREE char *path = ifp_import_meeting_seat_path(team->directory, number);
	IFP_CLEANUP_DOCUMENT cJSON *line = introduction(team);
	int err =
		path ? ifp_seat_take(path, &team->seat) : ifp_fail(-ENOMEM, "no memory for a path");

	if (err == -EBUSY)
		return ifp_fail(err, "there are two processes %u of %u in %s", number,
			team->identity.world, team->directory);
	return err ? err : ifp_seat_say(&team->seat, line);
}

int ifp_team_join(const struct ifp_team_wish *wish, struct ifp_team **out)
{
	IFP_CLEANUP(ifp_team_free) struct ifp_team *team = NULL;
	int err = new_team(wish, &team);

	if (!err)
		err = wait_for_leader(team);
	if (!err)
		err = sit_down(team);
	if (!err)
		*out = IFP_TAKE_PTR(team);
	return err;
}

char *ifp_team_spill_path(const struct ifp_team *team)
{
	return ifp_import_spill_path(team->directory, team->identity.rank);
}

char *ifp_team_unfinished_path(const struct ifp_team *team)
{
	char *path;

	return asprintf(&path, "%s/run.ifp", team->directory) < 0 ? NULL : path;
}

uint32_t ifp_team_threads(uint32_t own_cores, uint32_t launcher_cores, uint32_t processes)
{
	uint32_t share = (launcher_cores > own_cores ? launcher_cores : own_cores) / processes;

	if (share > own_cores)
		share = own_cores;
	return share ? share : 1;
}

static uint32_t cores_of(pid_t process)
{
	cpu_set_t set;

	return sched_getaffinity(process, sizeof(set), &set) ? 1 : (uint32_t)CPU_COUNT(&set);
}

/* The launcher's own cores, those of its daemon on this host, are what it has to give. */
uint32_t ifp_team_threads_here(const struct ifp_identity *identity)
{
	return ifp_team_threads(cores_of(0), cores_of(getppid()),
		identity->local_size ? identity->local_size : identity->world);
}
