/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a trace file: the reader finishes, tells what it did, and on whatever cJSON takes
 * too it finds the same elements with the same texts, places and times.
 */
#include "fuzz.h"

#include "core/error.h"
#include "memory_file.h"
#include "oracle.h"
#include "trace/chrome/pull.h"
#include "trace/chrome/reader.h"

#include <errno.h>
#include <string.h>

struct outcome {
	bool accepted;
	struct ifp_chrome_counts counts;
};

static void touch(const struct ifp_event *event)
{
	int64_t end;

	require(event->kind < IFP_EVENT_KIND_MAX && event->lane.kind < IFP_LANE_KIND_MAX);
	require(event->kind == IFP_EVENT_SLICE || !event->dur);
	require(!__builtin_add_overflow(event->start, event->dur, &end));
	fuzz_touch(event->name);
	fuzz_touch(event->category);
	fuzz_touch(event->args);
	fuzz_touch(event->extra);
	fuzz_touch(event->lane.pid_text);
	fuzz_touch(event->lane.tid_text);
}

/*
 * Where the texts agree, what next() gives is the element whose number the counts tell; those in
 * between were set aside.
 */
static void judge(const struct oracle *oracle, const struct ifp_event *event, uint64_t *seen,
	const struct ifp_chrome_reader *reader)
{
	struct ifp_chrome_counts counts = ifp_chrome_reader_counts(reader);
	uint64_t elements = counts.events + counts.set_aside;
	int64_t base_ns = ifp_chrome_reader_header(reader).base_time_ns;

	for (; *seen < elements; ++*seen) {
		const cJSON *element = cJSON_GetArrayItem(oracle->events, (int)*seen);

		require(element);
		if (event && *seen + 1 == elements)
			oracle_judge(element, event, base_ns);
		else if (base_ns > -(INT64_MAX / 2) && base_ns < INT64_MAX / 2)
			require(!oracle_is_event(element));
	}
}

/* Reads to the end; with an oracle, each event is compared with its element. */
static struct outcome read_all(const struct memory_file *file, const struct oracle *oracle)
{
	struct ifp_chrome_reader *reader = NULL;
	struct ifp_event event;
	struct outcome outcome = {0};
	uint64_t given = 0, seen = 0;
	int more = ifp_chrome_reader_open(file->path, &reader);

	if (more) {
		require(ifp_error_depth() > 0 && !reader);
		return outcome;
	}
	while ((more = ifp_chrome_reader_next(reader, &event)) > 0) {
		given++;
		touch(&event);
		if (oracle)
			judge(oracle, &event, &seen, reader);
	}
	if (oracle) {
		judge(oracle, NULL, &seen, reader);
		require(!more && seen == (uint64_t)cJSON_GetArraySize(oracle->events));
	}
	outcome.accepted = !more;
	outcome.counts = ifp_chrome_reader_counts(reader);
	require(outcome.counts.events == given);
	require(outcome.counts.repaired <= outcome.counts.bytes);
	require(outcome.accepted || ifp_error_depth() > 0);
	require((ifp_chrome_reader_next(reader, &event) == 0) == outcome.accepted);
	fuzz_touch(ifp_chrome_reader_header(reader).others);
	fuzz_touch(ifp_chrome_reader_header(reader).distributed_info);
	ifp_chrome_reader_close(&reader);
	ifp_error_clear();
	return outcome;
}

/*
 * Going past damage must change nothing where there is none, keep what was read up to it, and end
 * well once there are events; what it says of the loss must fit the file.
 */
static void check_salvage(const struct memory_file *file, const struct outcome *plain)
{
	struct ifp_chrome_reader *reader = NULL;
	struct ifp_chrome_damage damage;
	struct ifp_chrome_counts counts;
	struct ifp_event event;
	uint64_t given = 0;
	int more;

	if (ifp_chrome_reader_open(file->path, &reader))
		return;
	ifp_chrome_reader_salvage(reader);
	for (; (more = ifp_chrome_reader_next(reader, &event)) > 0; given++)
		touch(&event);
	damage = ifp_chrome_reader_damage(reader);
	counts = ifp_chrome_reader_counts(reader);
	require(counts.events == given && given >= plain->counts.events);
	require(counts.set_aside >= plain->counts.set_aside);
	require(more == 0 || (!given && ifp_error_depth() > 0));
	require(damage.lost_bytes <= counts.bytes && damage.first_offset <= counts.bytes);
	require(!damage.places == !damage.first_cause[0]);
	if (plain->accepted)
		require(!more && !damage.places && !damage.lost_bytes &&
			!memcmp(&counts, &plain->counts, sizeof(counts)));
	else
		require(more < 0 || damage.places);
	fuzz_touch(ifp_chrome_reader_header(reader).others);
	ifp_chrome_reader_close(&reader);
	ifp_error_clear();
}

/* cJSON prints JSON without doubt, whatever it has taken for JSON: the reader must take that. */
static void check_refusal(const struct memory_file *file, const struct oracle *oracle)
{
	char *printed;

	if (!oracle->events || oracle_depth(oracle->tree) > IFP_PULL_MAX_DEPTH)
		return;
	printed = cJSON_PrintUnformatted(oracle->tree);
	require(printed);
	memory_file_set(file, printed, strlen(printed));
	require(read_all(file, NULL).accepted);
	cJSON_free(printed);
}

/* An array may end without its bracket: cJSON does not know that. */
static void check_acceptance(
	const struct memory_file *file, const struct oracle *oracle, bool is_object)
{
	require(oracle->tree || !is_object);
	if (oracle->events && oracle->exact)
		read_all(file, oracle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct memory_file file = memory_file_new();
	struct oracle oracle = oracle_parse(data, len_bytes);
	struct outcome outcome;

	memory_file_set(&file, data, len_bytes);
	outcome = read_all(&file, NULL);
	check_salvage(&file, &outcome);
	if (!outcome.accepted)
		check_refusal(&file, &oracle);
	else if (!outcome.counts.repaired && oracle_is_able(data, len_bytes))
		check_acceptance(&file, &oracle, data[0] == '{');
	oracle_free(&oracle);
	memory_file_free(&file);
	return 0;
}
