/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/block.h"

#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/* What an ifp_block owns. */
struct memory {
	struct ifp_block_rows rows; /* without its items */
	char *args;
};

static void memory_free(struct memory **memory)
{
	if (!*memory)
		return;
	ifp_block_rows_free(&(*memory)->rows);
	free((*memory)->args);
	free(*memory);
	*memory = NULL;
}

static void make_event(const struct ifp_block_rows *rows, const struct ifp_block_row *row,
	char *args, struct ifp_event *event)
{
	*event = rows->shapes[row->shape];
	event->start = row->start;
	event->dur = row->dur;
	event->correlation = row->correlation;
	if (row->args_bytes)
		event->args = (struct ifp_str){args, row->args_bytes};
}

static int make_events(struct memory *memory, struct ifp_event **out)
{
	const struct ifp_block_rows *rows = &memory->rows;
	struct ifp_event *events = calloc((size_t)rows->count + 1, sizeof(*events));
	size_t args_bytes = 0;
	char *args;

	for (uint32_t i = 0; i < rows->count; i++)
		args_bytes += rows->items[i].args_bytes;
	memory->args = args = malloc(args_bytes + 1);
	if (!events || !args) {
		free(events);
		return ifp_fail(-ENOMEM, "read a block of %u events", rows->count);
	}
	for (uint32_t i = 0; i < rows->count; i++) {
		make_event(rows, &rows->items[i], args, &events[i]);
		args = ifp_block_rows_write_args(rows, &rows->items[i], args);
	}
	*out = events;
	return 0;
}

int ifp_block_decode(const void *payload, size_t len_bytes, struct ifp_block *out)
{
	IFP_CLEANUP(memory_free) struct memory *memory = NULL;
	struct ifp_event *events = NULL;
	uint32_t count;
	int err;

	if (!len_bytes) {
		*out = (struct ifp_block){0};
		return 0;
	}
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return ifp_fail(-ENOMEM, "read a block");
	err = ifp_block_rows_decode(payload, len_bytes, &memory->rows);
	if (!err)
		err = make_events(memory, &events);
	if (err)
		return err;
	count = memory->rows.count;
	ifp_block_rows_free_items(&memory->rows);
	*out = (struct ifp_block){.events = events, .count = count, .memory = IFP_TAKE_PTR(memory)};
	return 0;
}

void ifp_block_free(struct ifp_block *block)
{
	struct memory *memory = block->memory;

	memory_free(&memory);
	free(block->events);
	*block = (struct ifp_block){0};
}
