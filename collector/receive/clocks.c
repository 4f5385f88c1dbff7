/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/clocks.h"

#include "clocksync/exchange/plan.h"
#include "collector/receive/edge_document.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NO_CLOCK UINT32_MAX
#define LAST_EPOCH 1u

enum phase {
	PHASE_BEFORE,  /* no roll call yet */
	PHASE_MPI,     /* waiting for the reports on a life of the helper */
	PHASE_EDGES,   /* asking for edges, one after the other */
	PHASE_BETWEEN, /* epoch 0 is made, programs run */
	PHASE_OVER,
};

/* What is known of one rank. */
struct clock_rank {
	uint32_t clock;
	bool there;		    /* its agent can be asked */
	bool ended;		    /* its program */
	bool life_asked, life_done; /* of the MPI helper, in the present epoch */
	bool start_life_failed;
	char endpoint[256];
};

struct ifp_clocks {
	const struct ifp_outlet *outlet;
	const char *server_key;
	struct clock_rank *ranks;
	struct ifp_clock_identity *identities; /* by clock number */
	uint32_t world, clock_count;

	enum ifp_clocks_plan plan;
	enum phase phase;
	uint32_t epoch;
	struct ifp_clock_pair *pairs; /* of clocks; edges of the present epoch */
	uint32_t pair_count, pair;
	bool pair_asked;
	uint32_t asked_client, asked_server;
	int64_t deadline_ns;
	int64_t first_end_ns; /* 0 = all programs run */
};

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
	if (!clocks->ranks || !clocks->identities) {
		ifp_clocks_free(&clocks);
		return ifp_fail(
			-ENOMEM, "out of memory for the clocks of %" PRIu32 " ranks", world);
	}
	for (uint32_t i = 0; i < world; i++)
		clocks->ranks[i].clock = NO_CLOCK;
	*out = clocks;
	return 0;
}

void ifp_clocks_free(struct ifp_clocks **clocks)
{
	if (!*clocks)
		return;
	free((*clocks)->ranks);
	free((*clocks)->identities);
	free((*clocks)->pairs);
	free(*clocks);
	*clocks = NULL;
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

void ifp_clocks_join(struct ifp_clocks *clocks, uint32_t rank, const struct ifp_member *member)
{
	struct clock_rank *r = &clocks->ranks[rank];
	const char *endpoint = ifp_document_get_text(member->hello, "clock_endpoint");

	if (r->clock == NO_CLOCK)
		r->clock = number_of(clocks, &member->clock);
	r->there = true;
	snprintf(r->endpoint, sizeof(r->endpoint), "%s", endpoint ? endpoint : "");
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
 * Over MPI only when everybody asks for it and takes part: lives of the helper pair by count, not by
 * purpose, and a program's own MPI_Init behind a helper's life was seen to hang on busy machines.
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

static uint32_t leader(const struct ifp_clocks *clocks, uint32_t clock)
{
	for (uint32_t i = 0; i < clocks->world; i++)
		if (clocks->ranks[i].clock == clock && clocks->ranks[i].there &&
			clocks->ranks[i].endpoint[0])
			return i;
	return IFP_FRAME_NO_RANK;
}

static void epoch_made(struct ifp_clocks *clocks)
{
	clocks->phase =
		clocks->epoch < LAST_EPOCH && clocks->clock_count > 1 ? PHASE_BETWEEN : PHASE_OVER;
}

static void begin_edges(struct ifp_clocks *clocks)
{
	uint32_t count = ifp_clock_plan(clocks->clock_count, NULL);
	struct ifp_clock_pair *pairs = calloc(count ? count : 1, sizeof(*pairs));

	free(clocks->pairs);
	clocks->pairs = pairs;
	clocks->pair = 0;
	clocks->pair_asked = false;
	clocks->pair_count = pairs ? ifp_clock_plan(clocks->clock_count, pairs) : 0;
	clocks->phase = PHASE_EDGES;
}

/* The start life needs no word: agents begin it at the roll call. */
static void begin_mpi(struct ifp_clocks *clocks, int64_t now_ns)
{
	IFP_CLEANUP_DOCUMENT cJSON *ask = cJSON_CreateObject();

	cJSON_AddNumberToObject(ask, "epoch", clocks->epoch);
	cJSON_AddNumberToObject(ask, "server", -1);
	for (uint32_t i = 0; i < clocks->world; i++) {
		struct clock_rank *r = &clocks->ranks[i];

		r->life_asked = r->there;
		r->life_done = false;
		if (clocks->epoch && r->there)
			ifp_outlet_send(clocks->outlet, i, IFP_MSG_CLOCK_ASK, ask);
	}
	clocks->phase = PHASE_MPI;
	clocks->deadline_ns = now_ns + IFP_CLOCKS_MPI_NS;
}

enum ifp_clocks_plan ifp_clocks_roll(
	struct ifp_clocks *clocks, const struct ifp_roster *roster, int64_t now_ns)
{
	clocks->plan = choose(clocks, roster);
	if (clocks->plan == IFP_CLOCKS_MPI)
		begin_mpi(clocks, now_ns);
	else if (clocks->plan == IFP_CLOCKS_ZMQ)
		begin_edges(clocks);
	else
		epoch_made(clocks);
	return clocks->plan;
}

static void edge_failed(struct ifp_clocks *clocks, const char *why)
{
	ifp_outlet_ledger(clocks->outlet, clocks->asked_client, "clock-edge-lost", 1,
		"epoch %" PRIu32 ": the clock of rank %" PRIu32 " was not measured: %s",
		clocks->epoch, clocks->asked_server, why);
}

static void next_edge(struct ifp_clocks *clocks)
{
	clocks->pair++;
	clocks->pair_asked = false;
	if (clocks->pair >= clocks->pair_count)
		epoch_made(clocks);
}

static void ask_edge(struct ifp_clocks *clocks, int64_t now_ns)
{
	const struct ifp_clock_pair *pair = &clocks->pairs[clocks->pair];
	IFP_CLEANUP_DOCUMENT cJSON *ask = NULL;

	clocks->asked_client = leader(clocks, pair->client);
	clocks->asked_server = leader(clocks, pair->server);
	if (clocks->asked_client == IFP_FRAME_NO_RANK ||
		clocks->asked_server == IFP_FRAME_NO_RANK) {
		next_edge(clocks); /* its row says that the rank is lost */
		return;
	}
	ask = cJSON_CreateObject();
	cJSON_AddNumberToObject(ask, "epoch", clocks->epoch);
	cJSON_AddNumberToObject(ask, "server", clocks->asked_server);
	cJSON_AddStringToObject(ask, "endpoint", clocks->ranks[clocks->asked_server].endpoint);
	if (clocks->server_key)
		cJSON_AddStringToObject(ask, "server_key", clocks->server_key);
	cJSON_AddNumberToObject(ask, "round_trips", IFP_CLOCKS_ROUND_TRIPS);
	clocks->pair_asked = true;
	clocks->deadline_ns = now_ns + IFP_CLOCKS_EDGE_NS;
	ifp_outlet_send(clocks->outlet, clocks->asked_client, IFP_MSG_CLOCK_ASK, ask);
}

static void edge_done(struct ifp_clocks *clocks, uint32_t rank, int64_t server, bool measured,
	const cJSON *document)
{
	const char *reason = ifp_document_get_text(document, "reason");
	struct ifp_clock_edge edge = {
		.epoch = clocks->epoch, .client = rank, .server = clocks->asked_server};

	if (clocks->phase != PHASE_EDGES || !clocks->pair_asked || rank != clocks->asked_client ||
		server != clocks->asked_server)
		return;
	if (!measured)
		edge_failed(clocks, reason ? reason : "no reason given");
	else if (ifp_edge_document_read(cJSON_GetObjectItemCaseSensitive(document, "edge"), &edge))
		ifp_edge_store(clocks->outlet, &edge);
	else
		edge_failed(clocks, "its result is not whole");
	next_edge(clocks);
}

static void fall_back(struct ifp_clocks *clocks, const char *why)
{
	ifp_outlet_ledger(clocks->outlet, IFP_FRAME_NO_RANK, "clock-fallback", 1,
		"epoch %" PRIu32 ": clocks are exchanged over ZeroMQ instead of MPI: %s",
		clocks->epoch, why);
	if (clocks->clock_count > 1)
		begin_edges(clocks);
	else
		epoch_made(clocks);
}

static void life_done(
	struct ifp_clocks *clocks, uint32_t rank, bool measured, const cJSON *document)
{
	const cJSON *array = cJSON_GetObjectItemCaseSensitive(document, "edges");
	struct clock_rank *r = &clocks->ranks[rank];
	const cJSON *item;

	if (clocks->phase != PHASE_MPI || r->life_done)
		return;
	r->life_done = true;
	if (!measured) {
		r->start_life_failed = true;
		return;
	}
	cJSON_ArrayForEach(item, array)
	{
		struct ifp_clock_edge edge = {
			.epoch = clocks->epoch, .client = rank, .over_mpi = 1};

		if (ifp_document_get_rank(item, "server", clocks->world, &edge.server) &&
			ifp_edge_document_read(item, &edge))
			ifp_edge_store(clocks->outlet, &edge);
	}
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
		life_done(clocks, rank, measured, document);
	else
		edge_done(clocks, rank, server, measured, document);
}

void ifp_clocks_program_ended(struct ifp_clocks *clocks, uint32_t rank, int64_t now_ns)
{
	clocks->ranks[rank].ended = true;
	if (!clocks->first_end_ns)
		clocks->first_end_ns = now_ns;
}

void ifp_clocks_gone(struct ifp_clocks *clocks, uint32_t rank)
{
	clocks->ranks[rank].there = false;
	clocks->ranks[rank].ended = true;
}

void ifp_clocks_give_up(struct ifp_clocks *clocks)
{
	clocks->phase = PHASE_OVER;
}

/* Whether all ranks are there, have ended, and have had a whole life of the helper before. */
static bool mpi_again(const struct ifp_clocks *clocks)
{
	for (uint32_t i = 0; i < clocks->world; i++) {
		const struct clock_rank *r = &clocks->ranks[i];

		if (!r->there || !r->ended || r->start_life_failed)
			return false;
	}
	return clocks->plan == IFP_CLOCKS_MPI;
}

static bool all_ended(const struct ifp_clocks *clocks)
{
	for (uint32_t i = 0; i < clocks->world; i++)
		if (clocks->ranks[i].there && !clocks->ranks[i].ended)
			return false;
	return true;
}

static void tick_mpi(struct ifp_clocks *clocks, int64_t now_ns)
{
	bool failed = false, waiting = false;

	for (uint32_t i = 0; i < clocks->world; i++) {
		struct clock_rank *r = &clocks->ranks[i];

		if (r->life_asked && !r->life_done && now_ns >= clocks->deadline_ns)
			r->start_life_failed = true; /* whatever it does later: no end life */
		waiting |= r->life_asked && !r->life_done && r->there;
		failed |= r->start_life_failed || !r->there;
	}
	if (waiting && now_ns < clocks->deadline_ns)
		return;
	if (failed)
		fall_back(clocks, "a life of the helper did not end well");
	else
		epoch_made(clocks);
}

void ifp_clocks_tick(struct ifp_clocks *clocks, int64_t now_ns)
{
	if (clocks->phase == PHASE_MPI)
		tick_mpi(clocks, now_ns);
	if (clocks->phase == PHASE_BETWEEN && clocks->first_end_ns &&
		(all_ended(clocks) || now_ns - clocks->first_end_ns >= IFP_CLOCKS_STRAGGLER_NS)) {
		clocks->epoch = LAST_EPOCH;
		if (mpi_again(clocks))
			begin_mpi(clocks, now_ns);
		else
			begin_edges(clocks);
	}
	if (clocks->phase == PHASE_EDGES && clocks->pair_asked && now_ns >= clocks->deadline_ns) {
		edge_failed(clocks, "no answer in time");
		next_edge(clocks);
	}
	while (clocks->phase == PHASE_EDGES && !clocks->pair_asked) {
		if (clocks->pair < clocks->pair_count)
			ask_edge(clocks, now_ns);
		else
			epoch_made(clocks);
	}
}

bool ifp_clocks_hold(const struct ifp_clocks *clocks)
{
	return clocks->phase == PHASE_MPI || clocks->phase == PHASE_EDGES ||
	       clocks->phase == PHASE_BETWEEN;
}
