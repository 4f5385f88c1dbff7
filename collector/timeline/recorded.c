/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/recorded.h"

#include "collector/timeline/args_edit.h"
#include "core/checksum.h"

/* Flow ids of Kineto have 32 bits: with this much room, those of two ranks do not meet. */
#define FLOW_ID_BITS 33

static char phase_of(enum ifp_event_kind kind)
{
	static const char phases[IFP_EVENT_KIND_MAX] = {[IFP_EVENT_SLICE] = 'X',
		[IFP_EVENT_INSTANT] = 'i',
		[IFP_EVENT_COUNTER] = 'C',
		[IFP_EVENT_FLOW_START] = 's',
		[IFP_EVENT_FLOW_STEP] = 't',
		[IFP_EVENT_FLOW_END] = 'f',
		[IFP_EVENT_META] = 'M',
		[IFP_EVENT_BEGIN] = 'B',
		[IFP_EVENT_END] = 'E',
		[IFP_EVENT_ASYNC_BEGIN] = 'b',
		[IFP_EVENT_ASYNC_INSTANT] = 'n',
		[IFP_EVENT_ASYNC_END] = 'e'};

	return phases[kind];
}

static bool is_flow(enum ifp_event_kind kind)
{
	return kind == IFP_EVENT_FLOW_START || kind == IFP_EVENT_FLOW_STEP ||
	       kind == IFP_EVENT_FLOW_END;
}

/* Takes a member out of the element's extra ones. */
static int remove_extra(struct ifp_buf *memory, struct ifp_chrome_element *element, const char *key)
{
	struct ifp_buf without = {0};
	int err;

	ifp_args_remove(&without, element->extra, key);
	err = ifp_buf_status(&without);
	ifp_buf_free(memory);
	*memory = without;
	element->extra = (struct ifp_str){(const char *)without.data, (uint32_t)without.len_bytes};
	return err;
}

/* A phase that infprof has no kind for stands among the extra members. */
static int take_phase(struct ifp_buf *memory, struct ifp_chrome_element *element)
{
	struct ifp_str phase;

	if (element->phase || !ifp_args_find(element->extra, "ph", &phase) || phase.len_bytes != 3)
		return 0;
	element->phase = phase.ptr[1];
	return remove_extra(memory, element, "ph");
}

/*
 * An id that is no plain number stands there as well: as it was, or, where ids of several ranks
 * must not meet, as a number made of it.
 */
static int take_id(struct ifp_buf *memory, struct ifp_chrome_element *element, bool renumber)
{
	struct ifp_str id;

	if (!ifp_args_find(element->extra, "id", &id))
		return 0;
	element->has_id = renumber;
	if (!renumber)
		return 0;
	element->id = ifp_checksum(id.ptr, id.len_bytes);
	return remove_extra(memory, element, "id");
}

int ifp_recorded_element(const struct ifp_event *event, uint32_t rank, bool renumber,
	struct ifp_buf *memory, struct ifp_chrome_element *out)
{
	struct ifp_chrome_element element = {.phase = phase_of(event->kind),
		.name = event->name,
		.category = event->category,
		.pid = event->lane.pid,
		.tid = event->lane.tid,
		.pid_text = event->lane.pid_text,
		.tid_text = event->lane.tid_text,
		.has_id = is_flow(event->kind),
		.id = event->correlation,
		.args = event->args,
		.extra = event->extra};
	int err = take_phase(memory, &element);

	if (!err)
		err = take_id(memory, &element, renumber);
	if (err)
		return err;
	if (renumber)
		element.id += (uint64_t)rank << FLOW_ID_BITS;
	*out = element;
	return 0;
}
