/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/rank_clocks.h"

#include "agent/documents.h"
#include "agent/launch/clock_helper.h"
#include "agent/suspension.h"
#include "clocksync/estimate/world_calls.h"
#include "clocksync/exchange/ping.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define READ_INTERVAL_NS IFP_NS_PER_S
/* Readings travel in frames of some; what a killed agent takes with it is at most these. */
#define FRAME_TUPLES 8
/* As many are remembered for conversions: a quarter of an hour. */
#define KEPT_TUPLES 1024
/* Where the collector does not say. */
#define PING_DEADLINE_MS 500

struct ifp_rank_clocks {
	struct ifp_rank_clocks_config config;
	struct ifp_clock_helper *helper;
	uint32_t helper_epoch;
	struct ifp_ping_client *pings; /* the exchange under way over ZeroMQ; NULL = none */
	struct ifp_clock_edge edge;    /* ... and what it is about */
	bool leader;
	struct ifp_clock_tuple tuples[KEPT_TUPLES]; /* tuples[i % KEPT_TUPLES] is reading i */
	uint64_t count, sent;
	int64_t read_ns;
	struct ifp_suspension suspension;
	/* those that have not been sent; each lies between two readings */
	struct ifp_clock_suspension suspensions[FRAME_TUPLES];
	uint32_t suspension_count;
	/* calls of MPI that go with the readings that have not been sent */
	struct ifp_clock_collective calls[FRAME_TUPLES * IFP_MPI_SERIES_MAX];
	uint32_t call_count;
};

int ifp_rank_clocks_new(const struct ifp_rank_clocks_config *config, struct ifp_rank_clocks **out)
{
	struct ifp_rank_clocks *clocks = calloc(1, sizeof(*clocks));

	if (!clocks)
		return ifp_fail(-ENOMEM, "no memory for clock readings");
	clocks->config = *config;
	*out = clocks;
	return 0;
}

void ifp_rank_clocks_free(struct ifp_rank_clocks **clocks)
{
	if (*clocks && (*clocks)->helper)
		ifp_clock_helper_free(&(*clocks)->helper);
	if (*clocks)
		ifp_ping_client_free(&(*clocks)->pings);
	free(*clocks);
	*clocks = NULL;
}

static void send_tuples(struct ifp_rank_clocks *clocks)
{
	struct ifp_clock_tuple tuples[FRAME_TUPLES];
	struct ifp_clock_samples samples = {.tuples = tuples};
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_frame frame = {.type = IFP_FRAME_CLOCK};

	while (clocks->sent < clocks->count && samples.tuple_count < FRAME_TUPLES)
		tuples[samples.tuple_count++] = clocks->tuples[clocks->sent++ % KEPT_TUPLES];
	if (!samples.tuple_count)
		return;
	samples.collectives = clocks->calls;
	samples.collective_count = clocks->call_count;
	samples.suspensions = clocks->suspensions;
	samples.suspension_count = clocks->suspension_count;
	clocks->call_count = clocks->suspension_count = 0;
	ifp_clock_samples_encode(&samples, &payload);
	frame.payload = payload.data;
	frame.payload_bytes = (uint32_t)payload.len_bytes;
	if (ifp_buf_status(&payload) ||
		ifp_frame_queue_add(ifp_uplink_frames(clocks->config.uplink), &frame))
		ifp_error_clear();
}

static int64_t stamp_of(const struct ifp_clock_tuple *tuple, enum ifp_clock_domain domain)
{
	return domain == IFP_CLOCK_TSC ? (int64_t)tuple->tsc_ticks : tuple->raw_ns;
}

static const struct ifp_clock_tuple *tuple_at(const struct ifp_rank_clocks *clocks, uint64_t i)
{
	return &clocks->tuples[i % KEPT_TUPLES];
}

/* The first of the two readings around the stamp, or of the nearest two; there are at least two. */
static uint64_t piece_of(
	const struct ifp_rank_clocks *clocks, enum ifp_clock_domain domain, int64_t stamp)
{
	uint64_t low = clocks->count > KEPT_TUPLES ? clocks->count - KEPT_TUPLES : 0;
	uint64_t high = clocks->count - 2;

	while (low < high) {
		uint64_t middle = low + (high - low + 1) / 2;

		if (stamp_of(tuple_at(clocks, middle), domain) <= stamp)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/*
 * A stamp of the marks as RAW, early or late by as much as the readings around it are uncertain: what
 * is concluded from it has to hold.
 */
static int64_t raw_ns_of(const struct ifp_rank_clocks *clocks, uint64_t stamp, int sign)
{
	const struct ifp_clock_tuple *a, *b;
	uint64_t i, length;
	int64_t width_ns;

	if (ifp_marks_domain(clocks->config.marks) != IFP_CLOCK_TSC)
		return (int64_t)stamp;
	i = piece_of(clocks, IFP_CLOCK_TSC, (int64_t)stamp);
	a = tuple_at(clocks, i);
	b = tuple_at(clocks, i + 1);
	length = b->tsc_ticks - a->tsc_ticks;
	width_ns = a->width_ns > b->width_ns ? a->width_ns : b->width_ns;
	if (!length)
		return a->raw_ns;
	return a->raw_ns + sign * width_ns +
	       (int64_t)((__int128)((int64_t)(stamp - a->tsc_ticks)) * (b->raw_ns - a->raw_ns) /
			 (int64_t)length);
}

/* Those that lie between the readings: what is behind the last one waits for the next. */
static void take_calls(struct ifp_rank_clocks *clocks)
{
	const struct ifp_clock_collective none = {.group = IFP_WORLD_CALLS_GROUP};
	const struct ifp_mpi_series *series;

	if (!clocks->config.marks || clocks->count < 2)
		return;
	series = ifp_marks_mpi_calls(clocks->config.marks);
	for (uint32_t i = 0; series && i < series->count; i++) {
		const struct ifp_mpi_moment *moment = &series->items[i];
		struct ifp_clock_collective call = none;

		if (clocks->call_count == IFP_ARRAY_SIZE(clocks->calls))
			break;
		call.kind = moment->order;
		call.step = (int64_t)moment->number;
		call.members = clocks->config.world;
		call.enter_ns = raw_ns_of(clocks, moment->start, -1);
		call.exit_ns = raw_ns_of(clocks, moment->end, 1);
		clocks->calls[clocks->call_count++] = call;
	}
	ifp_marks_clear_mpi_calls(clocks->config.marks);
}

/* Several between two readings are one. */
static void keep_suspension(struct ifp_rank_clocks *clocks, int64_t low_ns, int64_t high_ns)
{
	struct ifp_clock_suspension *kept;

	if (clocks->count < 2 || clocks->suspension_count == FRAME_TUPLES)
		return;
	kept = &clocks->suspensions[clocks->suspension_count++];
	*kept = (struct ifp_clock_suspension){
		.after_raw_ns = tuple_at(clocks, clocks->count - 2)->raw_ns,
		.before_raw_ns = tuple_at(clocks, clocks->count - 1)->raw_ns,
		.low_ns = low_ns,
		.high_ns = high_ns,
	};
}

/* A reading that is certainly on one side of any suspension: it is made again when one came. */
static void read_clocks(struct ifp_rank_clocks *clocks, int64_t now_ns)
{
	struct ifp_suspension *suspension = &clocks->suspension;
	int64_t low_ns = 0, high_ns = 0;
	bool again = ifp_suspension_look(suspension), suspended = again;

	clocks->read_ns = now_ns;
	clocks->count++;
	do {
		if (again) {
			low_ns += suspension->last_low_ns;
			high_ns += suspension->last_high_ns;
			suspended = true;
		}
		clocks->tuples[(clocks->count - 1) % KEPT_TUPLES] = ifp_clock_tuple_read();
		again = ifp_suspension_look(suspension);
	} while (again);
	/* between the readings around a suspension no clock runs evenly: nothing is certain there */
	if (!suspended) {
		take_calls(clocks);
		return;
	}
	keep_suspension(clocks, low_ns, high_ns);
	if (clocks->config.marks)
		ifp_marks_clear_mpi_calls(clocks->config.marks);
}

uint64_t ifp_rank_clocks_suspensions(const struct ifp_rank_clocks *clocks)
{
	return clocks->suspension.count;
}

static void send_done(struct ifp_rank_clocks *clocks, uint32_t epoch, int64_t server,
	const struct ifp_clock_edge *edges, uint32_t count)
{
	char reason[256];
	bool failed = ifp_error_depth() > 0;
	char *document = ifp_document_clock_done(epoch, server, edges, count,
		failed ? ifp_error_text(reason, sizeof(reason)) : NULL);

	ifp_error_clear();
	ifp_uplink_send(clocks->config.uplink, IFP_MSG_CLOCK_DONE, document);
	cJSON_free(document);
}

static void look_after_helper(struct ifp_rank_clocks *clocks)
{
	const struct ifp_clock_edge *edges = NULL;
	uint32_t count = 0;
	int err = ifp_clock_helper_poll(clocks->helper, &edges, &count);

	if (err > 0)
		return;
	if (err < 0 && !ifp_error_depth())
		ifp_fail(err, "the MPI helper failed");
	send_done(clocks, clocks->helper_epoch, -1, edges, err ? 0 : count);
	ifp_clock_helper_free(&clocks->helper);
}

void ifp_rank_clocks_tick(struct ifp_rank_clocks *clocks, int64_t now_ns)
{
	if (clocks->helper)
		look_after_helper(clocks);
	if (clocks->count && now_ns - clocks->read_ns < READ_INTERVAL_NS)
		return;
	read_clocks(clocks, now_ns);
	/* the first one at once: without any, a rank's events cannot be placed in time */
	if (clocks->count == 1 || clocks->count - clocks->sent == FRAME_TUPLES)
		send_tuples(clocks);
}

void ifp_rank_clocks_flush(struct ifp_rank_clocks *clocks)
{
	read_clocks(clocks, ifp_clock_raw_ns());
	while (clocks->sent < clocks->count)
		send_tuples(clocks);
}

int64_t ifp_rank_clocks_realtime_ns(
	const struct ifp_rank_clocks *clocks, enum ifp_clock_domain domain, int64_t stamp)
{
	const struct ifp_clock_tuple *a, *b;
	int64_t from, length;
	uint64_t i;

	if (domain == IFP_CLOCK_REALTIME || clocks->count < 2)
		return stamp;
	i = piece_of(clocks, domain, stamp);
	a = tuple_at(clocks, i);
	b = tuple_at(clocks, i + 1);
	from = stamp_of(a, domain);
	length = stamp_of(b, domain) - from;
	if (length <= 0)
		return a->realtime_ns;
	return a->realtime_ns +
	       (int64_t)((__int128)(stamp - from) * (b->realtime_ns - a->realtime_ns) / length);
}

static void send_edge(struct ifp_rank_clocks *clocks)
{
	const struct ifp_clock_edge *edge = &clocks->edge;

	send_done(clocks, edge->epoch, edge->server, edge, ifp_error_depth() ? 0 : 1);
}

/* What is still under way belongs to an exchange that the collector has given up. */
static void begin_pings(
	struct ifp_rank_clocks *clocks, const cJSON *document, uint32_t epoch, uint32_t server)
{
	const char *endpoint = ifp_document_get_text(document, "endpoint");
	const char *key = ifp_document_get_text(document, "server_key");
	uint32_t round_trips = (uint32_t)ifp_document_get_count(document, "round_trips");
	int64_t deadline_ms;
	struct ifp_keys keys;

	if (!ifp_document_get_int(document, "deadline_ms", &deadline_ms) || deadline_ms < 0 ||
		deadline_ms > INT32_MAX)
		deadline_ms = PING_DEADLINE_MS;
	ifp_ping_client_free(&clocks->pings);
	clocks->edge = (struct ifp_clock_edge){
		.epoch = epoch, .client = clocks->config.rank, .server = server};
	if (clocks->config.keys) {
		keys = *clocks->config.keys;
		if (key && strlen(key) == sizeof(keys.server_public) - 1)
			memcpy(keys.server_public, key, sizeof(keys.server_public));
	}
	if (!endpoint)
		ifp_fail(-EINVAL, "no endpoint was given");
	else
		ifp_ping_client_new(clocks->config.zmq_context, endpoint,
			clocks->config.keys ? &keys : NULL, round_trips ? round_trips : 64,
			deadline_ms, &clocks->pings);
	if (!clocks->pings)
		send_edge(clocks);
}

void *ifp_rank_clocks_before_wait(struct ifp_rank_clocks *clocks, int64_t *wait_ms)
{
	int64_t ping_wait_ms;

	if (!clocks->pings)
		return NULL;
	ifp_ping_client_send(clocks->pings);
	ping_wait_ms = ifp_ping_client_wait_ms(clocks->pings);
	if (ping_wait_ms < *wait_ms)
		*wait_ms = ping_wait_ms;
	return ifp_ping_client_socket(clocks->pings);
}

void ifp_rank_clocks_after_wait(struct ifp_rank_clocks *clocks)
{
	if (!clocks->pings || ifp_ping_client_take(clocks->pings, &clocks->edge) > 0)
		return;
	ifp_ping_client_free(&clocks->pings);
	send_edge(clocks);
}

void ifp_rank_clocks_ask(struct ifp_rank_clocks *clocks, const cJSON *document)
{
	uint32_t epoch = (uint32_t)ifp_document_get_count(document, "epoch");
	int64_t server;

	if (!ifp_document_get_int(document, "server", &server) || server > UINT32_MAX)
		return;
	if (server < 0)
		ifp_rank_clocks_start_helper(clocks, epoch);
	else
		begin_pings(clocks, document, epoch, (uint32_t)server);
}

void ifp_rank_clocks_start_helper(struct ifp_rank_clocks *clocks, uint32_t epoch)
{
	/* asked again while it is under way: the answer comes when it ends */
	if (clocks->helper)
		return;
	clocks->helper_epoch = epoch;
	if (!clocks->config.helper_path)
		ifp_fail(-ENOENT, "infprof-clock-mpi is not installed");
	else
		ifp_clock_helper_start(clocks->config.helper_path, epoch, clocks->leader,
			clocks->config.helper_log, &clocks->helper);
	if (!clocks->helper)
		send_done(clocks, epoch, -1, NULL, 0);
}

bool ifp_rank_clocks_helper_running(const struct ifp_rank_clocks *clocks)
{
	return clocks->helper;
}

int ifp_rank_clocks_helper_fd(const struct ifp_rank_clocks *clocks)
{
	return clocks->helper ? ifp_clock_helper_fd(clocks->helper) : -1;
}

void ifp_rank_clocks_set_leader(struct ifp_rank_clocks *clocks, bool leader)
{
	clocks->leader = leader;
}
