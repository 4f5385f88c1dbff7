/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/roster.h"

#include "core/error.h"
#include "trace/archive/frame.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int set_world(struct ifp_roster *roster, uint32_t world)
{
	struct ifp_member *members = calloc(world, sizeof(*members));

	if (!members)
		return ifp_fail(-ENOMEM, "out of memory for %" PRIu32 " ranks", world);
	roster->members = members;
	roster->world = world;
	return 0;
}

int ifp_roster_init(struct ifp_roster *roster, const char *job, uint32_t world)
{
	*roster = (struct ifp_roster){0};
	snprintf(roster->job, sizeof(roster->job), "%s", job ? job : "");
	if (world > IFP_ROSTER_MAX_WORLD)
		return ifp_fail(-EINVAL, "a job of %" PRIu32 " ranks: at most %u are supported",
			world, IFP_ROSTER_MAX_WORLD);
	return world ? set_world(roster, world) : 0;
}

void ifp_roster_free(struct ifp_roster *roster)
{
	for (uint32_t i = 0; i < roster->world; i++)
		cJSON_Delete(roster->members[i].hello);
	free(roster->members);
	*roster = (struct ifp_roster){0};
}

static int check_job(struct ifp_roster *roster, const cJSON *hello)
{
	const char *job = ifp_document_get_text(hello, "job");

	if (!job || !*job)
		return ifp_fail(-EINVAL, "HELLO without the name of its job");
	if (!roster->job[0])
		snprintf(roster->job, sizeof(roster->job), "%s", job);
	if (strcmp(roster->job, job) != 0)
		return ifp_fail(-EPROTO, "this collector serves job %s, not %s", roster->job, job);
	return 0;
}

static int check_world(struct ifp_roster *roster, const cJSON *hello)
{
	int64_t world;

	if (!ifp_document_get_int(hello, "world", &world) || world < 1 || world > IFP_ROSTER_MAX_WORLD)
		return ifp_fail(-EINVAL, "HELLO with no number of ranks from 1 to %u",
			IFP_ROSTER_MAX_WORLD);
	if (!roster->world)
		return set_world(roster, (uint32_t)world);
	if (roster->world != world)
		return ifp_fail(-EPROTO, "this job has %" PRIu32 " ranks, an agent says %" PRId64,
			roster->world, world);
	return 0;
}

static bool same_text(const cJSON *a, const cJSON *b, const char *name)
{
	const char *text_a = ifp_document_get_text(a, name);
	const char *text_b = ifp_document_get_text(b, name);

	return text_a && text_b && strcmp(text_a, text_b) == 0;
}

static bool same_int(const cJSON *a, const cJSON *b, const char *name)
{
	int64_t value_a = 0, value_b = 0;

	return ifp_document_get_int(a, name, &value_a) && ifp_document_get_int(b, name, &value_b) &&
	       value_a == value_b;
}

/* The time of the start tells an agent from a later one that got the same pid. */
static bool same_agent(const cJSON *a, const cJSON *b)
{
	return same_text(a, b, "host") && same_int(a, b, "pid") &&
	       same_int(a, b, "started_realtime_ns");
}

static int check_identity(const struct ifp_member *member, uint32_t rank, const cJSON *hello)
{
	const char *host = ifp_document_get_text(hello, "host");
	int64_t pid, started;

	if (!host || !*host || !ifp_document_get_int(hello, "pid", &pid) ||
		!ifp_document_get_int(hello, "started_realtime_ns", &started))
		return ifp_fail(-EINVAL, "HELLO without host, pid and time of start");
	if (!member->hello || same_agent(member->hello, hello))
		return 0;
	/* Also when the first one is gone: its frames hold the sequence numbers. */
	ifp_document_get_int(member->hello, "pid", &pid);
	return ifp_fail(-EEXIST,
		"rank %" PRIu32 " belongs to another agent (%s, process %" PRId64
		"): two ranks claim one identity",
		rank, ifp_document_get_text(member->hello, "host"), pid);
}

static struct ifp_clock_identity clock_identity(const cJSON *hello)
{
	struct ifp_clock_identity identity = {0};
	const char *boot_id = ifp_document_get_text(hello, "boot_id");

	snprintf(identity.boot_id, sizeof(identity.boot_id), "%s", boot_id ? boot_id : "");
	identity.time_namespace = ifp_document_get_count(hello, "time_namespace");
	return identity;
}

static int adopt(struct ifp_member *member, const cJSON *hello)
{
	cJSON *copy = cJSON_Duplicate(hello, true);

	if (!copy)
		return ifp_fail(-ENOMEM, "out of memory for a HELLO");
	cJSON_Delete(member->hello);
	member->hello = copy;
	member->clock = clock_identity(hello);
	return 0;
}

int ifp_roster_hello(
	struct ifp_roster *roster, const cJSON *hello, int64_t now_ns, uint32_t *rank, bool *news)
{
	struct ifp_member *member;
	uint32_t who;
	int err;

	if ((err = check_job(roster, hello)) || (err = check_world(roster, hello)))
		return err;
	if (!ifp_document_get_rank(hello, "rank", roster->world, &who))
		return ifp_fail(-EINVAL, "HELLO with no rank below %" PRIu32, roster->world);
	member = &roster->members[who];
	if ((err = check_identity(member, who, hello)) || (err = adopt(member, hello)))
		return err;
	*rank = who;
	*news = member->state == IFP_MEMBER_ABSENT || member->state == IFP_MEMBER_LOST;
	if (*news) {
		member->state = IFP_MEMBER_PRESENT;
		roster->present++;
	}
	if (!roster->first_hello_ns)
		roster->first_hello_ns = now_ns;
	ifp_roster_seen(roster, who, now_ns);
	return 0;
}

int ifp_roster_restore(struct ifp_roster *roster, uint32_t rank, const cJSON *hello, int64_t now_ns)
{
	struct ifp_member *member = ifp_roster_member(roster, rank);
	int err;

	if (!member)
		return ifp_fail(-EBADMSG, "rank %" PRIu32 " of %" PRIu32 " in the archive", rank,
			roster->world);
	if ((err = adopt(member, hello)))
		return err;
	if (member->state == IFP_MEMBER_ABSENT) {
		member->state = IFP_MEMBER_PRESENT;
		roster->present++;
	}
	if (!roster->first_hello_ns)
		roster->first_hello_ns = now_ns;
	member->seen_ns = now_ns;
	return 0;
}

void ifp_roster_seen(struct ifp_roster *roster, uint32_t rank, int64_t now_ns)
{
	roster->members[rank].seen_ns = now_ns;
	roster->members[rank].connected = true;
}

static void leave(struct ifp_roster *roster, uint32_t rank, enum ifp_member_state state)
{
	if (roster->members[rank].state == IFP_MEMBER_PRESENT)
		roster->present--;
	roster->members[rank].state = state;
}

void ifp_roster_ended(struct ifp_roster *roster, uint32_t rank)
{
	leave(roster, rank, IFP_MEMBER_ENDED);
}

void ifp_roster_lost(struct ifp_roster *roster, uint32_t rank)
{
	leave(roster, rank, IFP_MEMBER_LOST);
}

void ifp_roster_returned(struct ifp_roster *roster, uint32_t rank)
{
	if (roster->members[rank].state != IFP_MEMBER_LOST)
		return;
	roster->members[rank].state = IFP_MEMBER_PRESENT;
	roster->present++;
}

static bool all_came(const struct ifp_roster *roster)
{
	for (uint32_t i = 0; i < roster->world; i++)
		if (roster->members[i].state == IFP_MEMBER_ABSENT)
			return false;
	return true;
}

bool ifp_roster_roll_due(const struct ifp_roster *roster, int64_t now_ns)
{
	if (roster->called || !roster->first_hello_ns)
		return false;
	return all_came(roster) || now_ns - roster->first_hello_ns >= IFP_ROSTER_ROLL_WAIT_NS;
}

/* The collector has only just been started again: who is silent may not have noticed. */
static bool may_return(const struct ifp_roster *roster, int64_t now_ns)
{
	return roster->restored_ns && now_ns - roster->restored_ns < IFP_ROSTER_RETURN_WAIT_NS;
}

bool ifp_roster_is_deserted(const struct ifp_roster *roster, int64_t now_ns)
{
	return roster->called && !roster->present && !may_return(roster, now_ns);
}

uint32_t ifp_roster_overdue(const struct ifp_roster *roster, int64_t now_ns)
{
	bool closed_is_dead = roster->disconnected_is_dead && !may_return(roster, now_ns);

	for (uint32_t i = 0; i < roster->world; i++) {
		const struct ifp_member *member = &roster->members[i];
		bool dead = !member->connected && closed_is_dead;

		if (member->state == IFP_MEMBER_PRESENT &&
			now_ns - member->seen_ns >=
				(dead ? IFP_ROSTER_DISCONNECTED_NS : IFP_ROSTER_SILENCE_NS))
			return i;
	}
	return IFP_FRAME_NO_RANK;
}
