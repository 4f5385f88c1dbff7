/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/clocks_internal.h"

#include "collector/receive/edge_document.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ifp_clocks_new(const struct ifp_outlet *outlet, const char *server_key, uint32_t world,
	struct ifp_clocks **out)
{
	struct ifp_clocks *clocks = calloc(1, sizeof(*clocks));

	if (!clocks)
		return ifp_fail(-ENOMEM, "out of memory for clocks");
	clocks->outlet = outlet;
	clocks->server_key = server_key;
	clocks->world = world;
	clocks->ranks = calloc(world, sizeof(*clocks->ranks));
	clocks->identities = calloc(world, sizeof(*clocks->identities));
	clocks->hosts = calloc(world, sizeof(*clocks->hosts));
	if (!clocks->ranks || !clocks->identities || !clocks->hosts) {
		ifp_clocks_free(&clocks);
		return ifp_fail(
			-ENOMEM, "out of memory for the clocks of %" PRIu32 " ranks", world);
	}
	for (uint32_t i = 0; i < world; i++) {
		clocks->ranks[i].clock = IFP_NO_CLOCK;
		clocks->ranks[i].host = IFP_NO_HOST;
	}
	ifp_clock_schedule_init(&clocks->schedule, IFP_CLOCKS_INTERVAL_NS);
	*out = clocks;
	return 0;
}

void ifp_clocks_free(struct ifp_clocks **clocks)
{
	if (!*clocks)
		return;
	free((*clocks)->ranks);
	free((*clocks)->identities);
	free((*clocks)->hosts);
	free((*clocks)->pairs);
	free(*clocks);
	*clocks = NULL;
}

void ifp_clocks_wish(struct ifp_clocks *clocks, const cJSON *hello)
{
	int64_t interval_ms;

	if (clocks->phase == CLOCKS_BEFORE &&
		ifp_document_get_int(hello, "clock_interval_ms", &interval_ms) &&
		interval_ms >= 0 && interval_ms <= INT64_MAX / IFP_NS_PER_MS / 2)
		ifp_clock_schedule_init(&clocks->schedule, interval_ms * IFP_NS_PER_MS);
}

/* A rank whose identity could not be read shares its clock with nobody. */
static uint32_t number_of(struct ifp_clocks *clocks, const struct ifp_clock_identity *identity)
{
	for (uint32_t i = 0; identity->boot_id[0] && i < clocks->clock_count; i++)
		if (strcmp(clocks->identities[i].boot_id, identity->boot_id) == 0 &&
			clocks->identities[i].time_namespace == identity->time_namespace)
			return i;
	clocks->identities[clocks->clock_count] = *identity;
	return clocks->clock_count++;
}

static uint32_t host_number(struct ifp_clocks *clocks, const struct ifp_member *member)
{
	const char *boot_id = member->clock.boot_id;
	struct clock_host *host;
	uint32_t i = 0;

	while (i < clocks->host_count && strcmp(clocks->hosts[i].boot_id, boot_id) != 0)
		i++;
	host = &clocks->hosts[i];
	if (i == clocks->host_count) {
		snprintf(host->boot_id, sizeof(host->boot_id), "%s", boot_id);
		clocks->host_count++;
	}
	host->ranks++;
	host->cpus = (uint32_t)ifp_document_get_count(member->hello, "cpus");
	return i;
}

/* Epochs go on where it is known that there are several clocks: the archive may not name all ranks.
 */
static void go_on(struct ifp_clocks *clocks)
{
	if (clocks->clock_count < 2)
		return;
	clocks->phase = CLOCKS_BETWEEN;
	ifp_clock_schedule_made(&clocks->schedule, -1, 0,
		clocks->resumed_ns + IFP_CLOCKS_RETURN_NS - clocks->schedule.interval_ns,
		clocks->resumed_ns);
}

void ifp_clocks_join(struct ifp_clocks *clocks, uint32_t rank, const struct ifp_member *member)
{
	struct clock_rank *r = &clocks->ranks[rank];
	const char *endpoint = ifp_document_get_text(member->hello, "clock_endpoint");

	if (r->clock == IFP_NO_CLOCK) {
		r->clock = number_of(clocks, &member->clock);
		r->host = host_number(clocks, member);
	}
	r->there = true;
	r->awaited = false;
	snprintf(r->endpoint, sizeof(r->endpoint), "%s", endpoint ? endpoint : "");
	if (clocks->resumed_ns && clocks->phase == CLOCKS_OVER)
		go_on(clocks);
}

void ifp_clocks_resume(struct ifp_clocks *clocks, const struct ifp_roster *roster, uint32_t number,
	uint64_t edges, int64_t now_ns)
{
	for (uint32_t i = 0; i < roster->world; i++) {
		const struct ifp_member *member = &roster->members[i];

		if (!member->hello)
			continue;
		ifp_clocks_join(clocks, i, member);
		clocks->ranks[i].there = false;
		clocks->ranks[i].awaited = member->state == IFP_MEMBER_PRESENT;
		if (!clocks->ranks[i].awaited)
			ifp_clocks_program_ended(clocks, i, now_ns);
	}
	clocks->plan = IFP_CLOCKS_ZMQ;
	clocks->epoch = number ? number : 1; /* not that of the start: the programs run */
	clocks->number = number;
	clocks->schedule.edges = edges;
	clocks->resumed_ns = now_ns;
	clocks->phase = CLOCKS_OVER;
	go_on(clocks);
}

const char *ifp_clocks_plan_name(enum ifp_clocks_plan plan)
{
	static const char *const names[] = {"none", "mpi", "zmq"};

	return names[plan];
}

uint32_t ifp_clocks_count(const struct ifp_clocks *clocks)
{
	return clocks->clock_count;
}

uint32_t ifp_clocks_of(const struct ifp_clocks *clocks, uint32_t rank)
{
	return clocks->ranks[rank].clock;
}

static bool all_say(const struct ifp_roster *roster, const char *name, const char *const *words)
{
	for (uint32_t i = 0; i < roster->world; i++) {
		const char *text = ifp_document_get_text(roster->members[i].hello, name);
		bool found = false;

		for (size_t k = 0; text && words[k] && !found; k++)
			found = strcmp(text, words[k]) == 0;
		if (!found)
			return false;
	}
	return true;
}

/*
 * Over MPI only when everybody asks for it and takes part: lives of the helper pair by count, not
 * by purpose, and a program's own MPI_Init behind a helper's life was seen to hang on busy
 * machines.
 */
static enum ifp_clocks_plan choose(const struct ifp_clocks *clocks, const struct ifp_roster *roster)
{
	static const char *const mpi_launchers[] = {"openmpi", "pmix", NULL};
	static const char *const asked_for[] = {"mpi", NULL};
	bool everybody = roster->present == roster->world && roster->world > 1;
	bool mpi = everybody && all_say(roster, "launcher", mpi_launchers);

	if (mpi && all_say(roster, "clock", asked_for))
		return IFP_CLOCKS_MPI;
	if (clocks->clock_count < 2)
		return IFP_CLOCKS_NONE;
	return IFP_CLOCKS_ZMQ;
}

/* Agents that nobody holds up leave when their programs have ended. */
static bool can_be_asked(const struct ifp_clocks *clocks, const struct clock_rank *r)
{
	return r->there && r->endpoint[0] && !(clocks->released && r->ended);
}

uint32_t ifp_clocks_leader(const struct ifp_clocks *clocks, uint32_t clock)
{
	uint32_t found = IFP_FRAME_NO_RANK;

	for (uint32_t i = 0; i < clocks->world; i++) {
		const struct clock_rank *r = &clocks->ranks[i];

		if (r->clock != clock || !can_be_asked(clocks, r))
			continue;
		if (!r->silent)
			return i;
		if (found == IFP_FRAME_NO_RANK)
			found = i;
	}
	return found;
}

static void end(struct ifp_clocks *clocks)
{
	ifp_clock_pairs_tell(clocks);
	clocks->phase = CLOCKS_OVER;
	clocks->resumed_ns = 0;
}

void ifp_clocks_made(struct ifp_clocks *clocks, int64_t now_ns)
{
	if (clocks->last || clocks->clock_count < 2) {
		end(clocks);
		return;
	}
	clocks->released |= clocks->releasing;
	clocks->releasing = false;
	clocks->phase = CLOCKS_BETWEEN;
	ifp_clock_schedule_made(
		&clocks->schedule, clocks->surprise, clocks->measured, clocks->began_ns, now_ns);
}

enum ifp_clocks_plan ifp_clocks_roll(
	struct ifp_clocks *clocks, const struct ifp_roster *roster, int64_t now_ns)
{
	clocks->plan = choose(clocks, roster);
	if (clocks->plan == IFP_CLOCKS_MPI)
		ifp_clock_lives_begin(clocks, now_ns);
	else if (clocks->plan == IFP_CLOCKS_ZMQ)
		ifp_clock_pairs_begin(clocks, now_ns);
	else
		ifp_clocks_made(clocks, now_ns);
	return clocks->plan;
}

void ifp_clocks_done(struct ifp_clocks *clocks, uint32_t rank, const cJSON *document)
{
	const char *outcome = ifp_document_get_text(document, "outcome");
	bool measured = outcome && strcmp(outcome, "measured") == 0;
	int64_t epoch, server;

	if (!ifp_document_get_int(document, "epoch", &epoch) || epoch != clocks->epoch ||
		!ifp_document_get_int(document, "server", &server))
		return;
	if (server < 0)
		ifp_clock_lives_done(clocks, rank, measured, document);
	else if (server < clocks->world)
		ifp_clock_pairs_done(clocks, rank, (uint32_t)server, measured, document);
}

void ifp_clocks_program_ended(struct ifp_clocks *clocks, uint32_t rank, int64_t now_ns)
{
	clocks->ranks[rank].ended = true;
	if (!clocks->first_end_ns)
		clocks->first_end_ns = now_ns;
}

void ifp_clocks_heartbeat(struct ifp_clocks *clocks, uint32_t rank, bool running, int64_t now_ns)
{
	clocks->ranks[rank].there = true;
	if (running)
		clocks->ranks[rank].ended = false;
	else
		ifp_clocks_program_ended(clocks, rank, now_ns);
}

void ifp_clocks_gone(struct ifp_clocks *clocks, uint32_t rank)
{
	clocks->ranks[rank].there = clocks->ranks[rank].awaited = false;
	clocks->ranks[rank].ended = true;
	clocks->released = true;
}

void ifp_clocks_give_up(struct ifp_clocks *clocks)
{
	end(clocks);
}

void ifp_clocks_hurry(struct ifp_clocks *clocks, int64_t now_ns)
{
	if (clocks->phase == CLOCKS_BETWEEN)
		ifp_clock_schedule_hurry(&clocks->schedule, now_ns);
}

static bool all_ended(const struct ifp_clocks *clocks)
{
	for (uint32_t i = 0; i < clocks->world; i++)
		if (clocks->ranks[i].awaited || (clocks->ranks[i].there && !clocks->ranks[i].ended))
			return false;
	return true;
}

void ifp_clocks_store(struct ifp_clocks *clocks, struct ifp_clock_edge *edge)
{
	edge->epoch = clocks->number;
	clocks->number_used = true;
	clocks->measured++;
	ifp_edge_store(clocks->outlet, edge);
}

/*
 * An epoch of which nothing came (given up for the last one, or nobody answered) leaves its number
 * to the next. What is asked for counts on, so that no late answer is taken for a new one.
 */
static void begin_next(struct ifp_clocks *clocks, int64_t now_ns)
{
	clocks->epoch++;
	clocks->number += clocks->number_used;
	clocks->number_used = false;
	if (clocks->last && ifp_clock_lives_again(clocks))
		ifp_clock_lives_begin(clocks, now_ns);
	else
		ifp_clock_pairs_begin(clocks, now_ns);
}

/* Nobody waits for an exchange that is made only because it was due. */
static bool can_begin(const struct ifp_clocks *clocks)
{
	return clocks->phase == CLOCKS_BETWEEN || (clocks->phase == CLOCKS_PAIRS && clocks->epoch &&
							  !clocks->last && !clocks->releasing);
}

static void decide(struct ifp_clocks *clocks, int64_t now_ns)
{
	if (clocks->first_end_ns && all_ended(clocks)) {
		if (clocks->released) {
			end(clocks); /* those who could be asked have left */
			return;
		}
		clocks->last = true;
		begin_next(clocks, now_ns);
	} else if (clocks->first_end_ns && !clocks->released &&
		   now_ns - clocks->first_end_ns >= IFP_CLOCKS_STRAGGLER_NS) {
		clocks->releasing = true;
		begin_next(clocks, now_ns);
	} else if (clocks->phase == CLOCKS_BETWEEN &&
		   ifp_clock_schedule_due(&clocks->schedule, now_ns)) {
		begin_next(clocks, now_ns);
	}
}

void ifp_clocks_tick(struct ifp_clocks *clocks, int64_t now_ns)
{
	if (clocks->phase == CLOCKS_MPI)
		ifp_clock_lives_tick(clocks, now_ns);
	/* twice: what ends now may be what the next one has waited for */
	for (int i = 0; i < 2; i++) {
		if (can_begin(clocks))
			decide(clocks, now_ns);
		if (clocks->phase == CLOCKS_PAIRS)
			ifp_clock_pairs_tick(clocks, now_ns);
	}
}

bool ifp_clocks_hold(const struct ifp_clocks *clocks)
{
	return !clocks->released && (clocks->phase == CLOCKS_MPI || clocks->phase == CLOCKS_PAIRS ||
					    clocks->phase == CLOCKS_BETWEEN);
}
