/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/clocks_internal.h"

#include "clocksync/estimate/edge.h"
#include "collector/receive/edge_document.h"
#include "trace/wire/document.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * While the programs run, the next exchange makes good for one that is given up early. The agent's
 * own limit is below the collector's: what it measured until then is not lost.
 */
static bool is_patient(const struct ifp_clocks *clocks)
{
	return clocks->epoch == 0 || clocks->last;
}

/* All pairs of the clocks that there are now; what is known of the pairs stays while they do. */
static void make_pairs(struct ifp_clocks *clocks)
{
	uint32_t count = ifp_clock_plan(clocks->clock_count, NULL);
	IFP_CLEANUP_FREE struct ifp_clock_pair *plan = calloc(count + 1, sizeof(*plan));

	if (count == clocks->pair_count)
		return;
	ifp_clock_pairs_tell(clocks);
	free(clocks->pairs);
	clocks->pairs = calloc(count + 1, sizeof(*clocks->pairs));
	clocks->pair_count = plan && clocks->pairs ? count : 0;
	if (!clocks->pair_count)
		return;
	ifp_clock_plan(clocks->clock_count, plan);
	for (uint32_t i = 0; i < count; i++)
		clocks->pairs[i].clocks = plan[i];
}

/* Counts the pairs of the round that begins at first. */
static void begin_round(struct ifp_clocks *clocks, uint32_t first)
{
	clocks->first = first;
	clocks->open = 0;
	while (first + clocks->open < clocks->pair_count &&
		clocks->pairs[first + clocks->open].clocks.round ==
			clocks->pairs[first].clocks.round)
		clocks->open++;
}

void ifp_clock_pairs_begin(struct ifp_clocks *clocks, int64_t now_ns)
{
	make_pairs(clocks);
	for (uint32_t i = 0; i < clocks->pair_count; i++)
		clocks->pairs[i].state = PAIR_WAITING;
	for (uint32_t i = 0; i < clocks->host_count; i++)
		clocks->hosts[i].measuring = 0;
	clocks->phase = CLOCKS_PAIRS;
	clocks->began_ns = now_ns;
	clocks->measured = 0;
	clocks->surprise = -1;
	begin_round(clocks, 0);
}

static void tell(struct ifp_clocks *clocks, struct clock_pair *pair)
{
	if (!pair->lost)
		return;
	ifp_outlet_ledger(clocks->outlet, pair->lost_client, "clock-edge-lost", (int64_t)pair->lost,
		"epoch %" PRIu32 "%s: the clock of rank %" PRIu32 " was not measured: %s",
		clocks->number, pair->lost > 1 ? " and before" : "", pair->lost_server,
		pair->lost_why);
	pair->lost = 0;
	pair->lost_told = true;
}

void ifp_clock_pairs_tell(struct ifp_clocks *clocks)
{
	for (uint32_t i = 0; i < clocks->pair_count; i++)
		tell(clocks, clocks->pairs + i);
}

/* The first loss of a pair is told at once, later ones during the run in one row at its end. */
static void lost(struct ifp_clocks *clocks, struct clock_pair *pair, const char *why)
{
	pair->lost++;
	pair->lost_client = pair->client;
	pair->lost_server = pair->server;
	snprintf(pair->lost_why, sizeof(pair->lost_why), "%s", why);
	if (!pair->lost_told || clocks->last)
		tell(clocks, pair);
}

static struct clock_host *host_of(struct ifp_clocks *clocks, uint32_t rank)
{
	return clocks->hosts + clocks->ranks[rank].host;
}

static void finish(struct ifp_clocks *clocks, struct clock_pair *pair)
{
	if (pair->state == PAIR_ASKED) {
		host_of(clocks, pair->client)->measuring--;
		host_of(clocks, pair->server)->measuring--;
	}
	pair->state = PAIR_DONE;
	clocks->open--;
}

/* Where ranks have to take turns on the processors, two pairs at once would wait for each other. */
static bool has_room(const struct clock_host *host)
{
	return !host->measuring || host->ranks <= host->cpus;
}

static void send_ask(struct ifp_clocks *clocks, const struct clock_pair *pair)
{
	IFP_CLEANUP_DOCUMENT cJSON *ask = cJSON_CreateObject();

	cJSON_AddNumberToObject(ask, "epoch", clocks->epoch);
	cJSON_AddNumberToObject(ask, "server", pair->server);
	cJSON_AddStringToObject(ask, "endpoint", clocks->ranks[pair->server].endpoint);
	if (clocks->server_key)
		cJSON_AddStringToObject(ask, "server_key", clocks->server_key);
	cJSON_AddNumberToObject(ask, "round_trips", IFP_CLOCKS_ROUND_TRIPS);
	cJSON_AddNumberToObject(ask, "deadline_ms",
		is_patient(clocks) ? IFP_CLOCKS_PING_MS : IFP_CLOCKS_RUNNING_PING_MS);
	ifp_outlet_send(clocks->outlet, pair->client, IFP_MSG_CLOCK_ASK, ask);
}

static bool unheard(const struct ifp_clocks *clocks, uint32_t rank)
{
	return clocks->ranks[rank].unheard == clocks->epoch + 1;
}

/* Asks a waiting pair when its hosts have room. */
static void try_pair(struct ifp_clocks *clocks, struct clock_pair *pair, int64_t now_ns)
{
	pair->client = ifp_clocks_leader(clocks, pair->clocks.client);
	pair->server = ifp_clocks_leader(clocks, pair->clocks.server);
	if (pair->client == IFP_FRAME_NO_RANK || pair->server == IFP_FRAME_NO_RANK) {
		finish(clocks, pair); /* its own row says that the rank is lost */
		return;
	}
	if (unheard(clocks, pair->client) || unheard(clocks, pair->server)) {
		lost(clocks, pair, "one of them does not answer");
		finish(clocks, pair);
		return;
	}
	if (!has_room(host_of(clocks, pair->client)) || !has_room(host_of(clocks, pair->server)))
		return;
	host_of(clocks, pair->client)->measuring++;
	host_of(clocks, pair->server)->measuring++;
	pair->state = PAIR_ASKED;
	pair->deadline_ns =
		now_ns + (is_patient(clocks) ? IFP_CLOCKS_EDGE_NS : IFP_CLOCKS_RUNNING_EDGE_NS);
	send_ask(clocks, pair);
}

static void give_up_late(struct ifp_clocks *clocks, struct clock_pair *pair, int64_t now_ns)
{
	if (now_ns < pair->deadline_ns)
		return;
	clocks->ranks[pair->client].silent = true;
	clocks->ranks[pair->client].unheard = clocks->epoch + 1;
	lost(clocks, pair, "no answer in time");
	finish(clocks, pair);
}

/* What the present round lets happen now. */
static void work_round(struct ifp_clocks *clocks, int64_t now_ns)
{
	uint32_t round = clocks->pairs[clocks->first].clocks.round;

	for (uint32_t i = clocks->first;
		i < clocks->pair_count && clocks->pairs[i].clocks.round == round; i++) {
		struct clock_pair *pair = clocks->pairs + i;

		if (pair->state == PAIR_ASKED)
			give_up_late(clocks, pair, now_ns);
		if (pair->state == PAIR_WAITING)
			try_pair(clocks, pair, now_ns);
	}
}

/* The first pair of the next round. */
static uint32_t round_end(const struct ifp_clocks *clocks)
{
	uint32_t i = clocks->first;

	while (i < clocks->pair_count &&
		clocks->pairs[i].clocks.round == clocks->pairs[clocks->first].clocks.round)
		i++;
	return i;
}

void ifp_clock_pairs_tick(struct ifp_clocks *clocks, int64_t now_ns)
{
	while (clocks->first < clocks->pair_count) {
		work_round(clocks, now_ns);
		if (clocks->open)
			return;
		begin_round(clocks, round_end(clocks));
	}
	ifp_clocks_made(clocks, now_ns);
}

static struct clock_pair *find_asked(struct ifp_clocks *clocks, uint32_t client, uint32_t server)
{
	for (uint32_t i = clocks->first; i < clocks->pair_count; i++) {
		struct clock_pair *pair = clocks->pairs + i;

		if (pair->clocks.round != clocks->pairs[clocks->first].clocks.round)
			break;
		if (pair->state == PAIR_ASKED && pair->client == client && pair->server == server)
			return pair;
	}
	return NULL;
}

static void take_edge(
	struct ifp_clocks *clocks, struct clock_pair *pair, struct ifp_clock_edge *edge)
{
	double surprise;

	ifp_clocks_store(clocks, edge);
	clocks->ranks[pair->client].silent = clocks->ranks[pair->server].silent = false;
	if (!ifp_edge_usable(edge))
		return;
	surprise = ifp_clock_past_add(&pair->past, edge);
	if (surprise > clocks->surprise)
		clocks->surprise = surprise;
}

void ifp_clock_pairs_done(struct ifp_clocks *clocks, uint32_t rank, uint32_t server, bool measured,
	const cJSON *document)
{
	const char *reason = ifp_document_get_text(document, "reason");
	struct ifp_clock_edge edge = {.client = rank, .server = server};
	struct clock_pair *pair =
		clocks->phase == CLOCKS_PAIRS ? find_asked(clocks, rank, server) : NULL;

	if (!pair)
		return;
	if (!measured) {
		/* the path may be at fault once, but not twice */
		if (clocks->ranks[server].silent)
			clocks->ranks[server].unheard = clocks->epoch + 1;
		clocks->ranks[server].silent = true;
		lost(clocks, pair, reason ? reason : "no reason given");
	} else if (ifp_edge_document_read(
			   cJSON_GetObjectItemCaseSensitive(document, "edge"), &edge)) {
		take_edge(clocks, pair, &edge);
	} else {
		lost(clocks, pair, "its result is not whole");
	}
	finish(clocks, pair);
}
