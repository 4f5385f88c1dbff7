/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/mark_stack.h"

#include "core/array.h"

#include <errno.h>
#include <stdlib.h>

static struct ifp_mark_stack *find_stack(struct ifp_mark_thread *thread, uint16_t number)
{
	for (size_t i = 0; i < thread->stack_count; i++) {
		if (thread->stacks[i].number == number)
			return &thread->stacks[i];
	}
	if (thread->stack_count == IFP_MARK_STACKS_MAX)
		return NULL;
	thread->stacks[thread->stack_count].number = number;
	return &thread->stacks[thread->stack_count++];
}

static struct ifp_mark_frame *top(struct ifp_mark_stack *stack)
{
	return stack->count ? &stack->frames[stack->count - 1] : NULL;
}

/* Closes the innermost range. */
static void close_top(struct ifp_mark_thread *thread, struct ifp_mark_stack *stack, uint64_t end,
	bool unfinished, struct ifp_mark_emitter *emitter)
{
	const struct ifp_mark_frame *frame = top(stack);
	struct ifp_mark_range range = {
		.lane = thread->lane,
		.origin = frame->origin,
		.start = frame->start,
		.end = end,
		.name = {(const char *)stack->names.data + frame->name_at,
			(uint32_t)(stack->names.len_bytes - frame->name_at)},
		.unfinished = unfinished,
	};

	ifp_mark_emit_range(emitter, &range);
	stack->names.len_bytes = frame->name_at;
	stack->count--;
}

/* A range at least as deep as depth that is still open lost its pop: it ends here at the latest. */
static void close_from(struct ifp_mark_thread *thread, struct ifp_mark_stack *stack, uint64_t depth,
	struct ifp_mark_emitter *emitter, struct ifp_mark_thread_counters *counters)
{
	while (top(stack) && top(stack)->depth >= depth) {
		close_top(thread, stack, thread->last_stamp, true, emitter);
		counters->unfinished++;
	}
}

/* The frame is complete only when its name is stored, too. */
static int open_range(struct ifp_mark_stack *stack, const struct ifp_mark_record *record,
	uint64_t depth, struct ifp_str name)
{
	size_t name_at = stack->names.len_bytes;
	int result = IFP_ARRAY_RESERVE(
		stack->frames, stack->capacity, stack->count, 1, "open ranges of a thread");

	if (result == 0) {
		ifp_buf_append(&stack->names, name.ptr, name.len_bytes);
		result = ifp_buf_status(&stack->names);
	}
	if (result != 0) {
		stack->names.failed = false;
		return result;
	}
	stack->frames[stack->count++] = (struct ifp_mark_frame){
		.depth = depth,
		.start = record->stamp,
		.name_at = name_at,
		.origin = record->origin,
	};
	return 0;
}

static void take_push(struct ifp_mark_thread *thread, const struct ifp_mark_record *record,
	struct ifp_str name, struct ifp_mark_emitter *emitter,
	struct ifp_mark_thread_counters *counters)
{
	struct ifp_mark_stack *stack = find_stack(thread, record->stack);
	uint64_t depth = record->value;

	if (!stack) {
		counters->too_deep++;
		return;
	}
	if (depth == IFP_MARK_DEPTH_UNKNOWN)
		depth = top(stack) ? top(stack)->depth + 1 : 0;
	else
		close_from(thread, stack, depth, emitter, counters);
	if (stack->count == IFP_MARK_DEPTH_MAX)
		counters->too_deep++;
	else if (open_range(stack, record, depth, name) != 0)
		emitter->result = -ENOMEM;
}

static void take_pop(struct ifp_mark_thread *thread, const struct ifp_mark_record *record,
	struct ifp_mark_emitter *emitter, struct ifp_mark_thread_counters *counters)
{
	struct ifp_mark_stack *stack = find_stack(thread, record->stack);
	uint64_t depth = record->value;

	if (stack && top(stack) && depth == IFP_MARK_DEPTH_UNKNOWN)
		depth = top(stack)->depth;
	else if (stack && depth < IFP_MARK_DEPTH_NONE)
		close_from(thread, stack, depth + 1, emitter, counters);
	if (stack && top(stack) && top(stack)->depth == depth)
		close_top(thread, stack, record->stamp, false, emitter);
	else
		counters->pops_unmatched++;
}

static void close_step(struct ifp_mark_thread *thread, uint64_t end, bool unfinished,
	struct ifp_mark_emitter *emitter)
{
	struct ifp_mark_range range = {
		.lane = thread->lane,
		.origin = IFP_MARK_FROM_API,
		.start = thread->step_start,
		.end = end,
		.unfinished = unfinished,
	};

	ifp_mark_emit_step_range(emitter, &range, thread->step_number);
	thread->in_step = false;
}

/* A step without an end lasts until the next begins, as mark.h says. */
static void take_step_begin(struct ifp_mark_thread *thread, const struct ifp_mark_record *record,
	struct ifp_mark_emitter *emitter)
{
	if (thread->in_step)
		close_step(thread, record->stamp, false, emitter);
	thread->in_step = true;
	thread->step_number = record->value;
	thread->step_start = record->stamp;
}

static void take_step_end(struct ifp_mark_thread *thread, const struct ifp_mark_record *record,
	struct ifp_mark_emitter *emitter, struct ifp_mark_thread_counters *counters)
{
	if (thread->in_step && thread->step_number == record->value)
		close_step(thread, record->stamp, false, emitter);
	else
		counters->pops_unmatched++;
}

void ifp_mark_thread_take(struct ifp_mark_thread *thread, const struct ifp_mark_record *record,
	struct ifp_str name, struct ifp_mark_emitter *emitter,
	struct ifp_mark_thread_counters *counters)
{
	switch (record->kind) {
	case IFP_MARK_PUSH:
		take_push(thread, record, name, emitter, counters);
		break;
	case IFP_MARK_POP:
		take_pop(thread, record, emitter, counters);
		break;
	case IFP_MARK_STEP_BEGIN:
		take_step_begin(thread, record, emitter);
		break;
	case IFP_MARK_STEP_END:
		take_step_end(thread, record, emitter, counters);
		break;
	default:
		break;
	}
}

void ifp_mark_thread_end(struct ifp_mark_thread *thread, struct ifp_mark_emitter *emitter,
	struct ifp_mark_thread_counters *counters)
{
	for (size_t i = 0; i < thread->stack_count; i++)
		close_from(thread, &thread->stacks[i], 0, emitter, counters);
	if (thread->in_step) {
		close_step(thread, thread->last_stamp, true, emitter);
		counters->unfinished++;
	}
	ifp_mark_thread_free(thread);
}

void ifp_mark_thread_free(struct ifp_mark_thread *thread)
{
	for (size_t i = 0; i < thread->stack_count; i++) {
		free(thread->stacks[i].frames);
		ifp_buf_free(&thread->stacks[i].names);
	}
	*thread = (struct ifp_mark_thread){0};
}
