/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/levels.h"

#include "collector/timeline/brief.h"
#include "core/cleanup.h"

#define OCTAVE_BITS 4 /* log2 of IFP_LEVEL_BUCKETS_PER_OCTAVE */

/* 0 for the shortest. */
static unsigned int bucket_of(int64_t dur_ns)
{
	uint64_t dur = dur_ns > 1 ? (uint64_t)dur_ns : 1;
	unsigned int octave = 63u - (unsigned int)__builtin_clzll(dur);
	/* The bits behind the first one. */
	uint64_t fraction = octave >= OCTAVE_BITS ? dur >> (octave - OCTAVE_BITS)
						  : dur << (OCTAVE_BITS - octave);
	unsigned int bucket = octave * IFP_LEVEL_BUCKETS_PER_OCTAVE +
			      (unsigned int)(fraction % IFP_LEVEL_BUCKETS_PER_OCTAVE);

	return bucket < IFP_LEVEL_BUCKETS ? bucket : IFP_LEVEL_BUCKETS - 1;
}

struct class
{
	unsigned int first; /* level */
	const char *name;
};

/* In the order of their levels. */
static const struct class classes[] = {
	{IFP_LEVEL_COLLECTIVES, "collectives"},
	{IFP_LEVEL_MARKS, "marks"},
	{IFP_LEVEL_COPIES, "copies"},
	{IFP_LEVEL_KERNELS, "kernels and outermost operators"},
	{IFP_LEVEL_LAUNCHES, "launches"},
	{IFP_LEVEL_OPERATORS, "inner operators"},
	{IFP_LEVEL_FRAMES, "Python frames"},
	{IFP_LEVEL_OTHERS, "others"},
};

/* NULL for levels that are of none. */
static const struct class *class_of(uint16_t level)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(classes); i++)
		if (level >= classes[i].first && level < classes[i].first + IFP_LEVEL_BUCKETS)
			return &classes[i];
	return NULL;
}

static uint16_t in_class(unsigned int first, int64_t dur_ns)
{
	return (uint16_t)(first + IFP_LEVEL_BUCKETS - 1 - bucket_of(dur_ns));
}

uint16_t ifp_level_of(enum ifp_subject subject, bool outermost, int64_t dur_ns)
{
	static const unsigned int firsts[] = {
		[IFP_SUBJECT_COLLECTIVE] = IFP_LEVEL_COLLECTIVES,
		[IFP_SUBJECT_MARK] = IFP_LEVEL_MARKS,
		[IFP_SUBJECT_COPY] = IFP_LEVEL_COPIES,
		[IFP_SUBJECT_KERNEL] = IFP_LEVEL_KERNELS,
		[IFP_SUBJECT_OPERATOR] = IFP_LEVEL_OPERATORS,
		[IFP_SUBJECT_LAUNCH] = IFP_LEVEL_LAUNCHES,
		[IFP_SUBJECT_FRAME] = IFP_LEVEL_FRAMES,
		[IFP_SUBJECT_OTHER] = IFP_LEVEL_OTHERS,
	};

	if (subject == IFP_SUBJECT_STEP)
		return IFP_LEVEL_STEPS;
	if (subject == IFP_SUBJECT_OPERATOR && outermost)
		return in_class(IFP_LEVEL_KERNELS, dur_ns);
	return in_class(firsts[subject], dur_ns);
}

uint16_t ifp_level_in_class(uint16_t level, int64_t dur_ns)
{
	const struct class *class = class_of(level);

	return in_class(class ? class->first : IFP_LEVEL_KERNELS, dur_ns);
}

int64_t ifp_level_shortest_ns(uint16_t level)
{
	const struct class *class = class_of(level);
	unsigned int bucket, octave;
	uint64_t fraction;

	if (!class)
		return 0;
	bucket = IFP_LEVEL_BUCKETS - 1 - (level - class->first);
	octave = bucket / IFP_LEVEL_BUCKETS_PER_OCTAVE;
	fraction = IFP_LEVEL_BUCKETS_PER_OCTAVE + bucket % IFP_LEVEL_BUCKETS_PER_OCTAVE;
	return (int64_t)(octave >= OCTAVE_BITS ? fraction << (octave - OCTAVE_BITS)
					       : fraction >> (OCTAVE_BITS - octave));
}

uint16_t ifp_level_apart(int64_t key, int64_t other)
{
	unsigned int highest = 63u - (unsigned int)__builtin_clzll((uint64_t)(key ^ other));

	if (highest <= 1)
		return IFP_LEVEL_STEP;
	return highest > IFP_LEVEL_STEP ? 0 : (uint16_t)(IFP_LEVEL_STEP + 1 - highest);
}

static void append_classes(const struct class *class, uint16_t level, struct ifp_buf *out)
{
	const struct class *last = &classes[IFP_ARRAY_SIZE(classes) - 1];

	ifp_buf_printf(out, "%s shorter than ", class->name);
	ifp_brief_duration(out, ifp_level_shortest_ns(level));
	while (class ++ != last)
		ifp_buf_printf(out, class == last ? " and %s" : ", %s", class->name);
	ifp_buf_append_text(out, " are folded");
}

void ifp_level_text(uint16_t level, struct ifp_buf *out)
{
	const struct class *class = class_of(level);

	if (class)
		append_classes(class, level, out);
	else if (level < IFP_LEVEL_STEP)
		ifp_buf_printf(
			out, "every %u steps of a lane are folded", 1u << (IFP_LEVEL_STEP - level));
	else if (level == IFP_LEVEL_STEP)
		ifp_buf_append_text(out, "every step of a lane is folded");
	else if (level < IFP_LEVEL_COLLECTIVES)
		ifp_buf_append_text(out, "everything but steps is folded");
	else if (level < IFP_LEVEL_LONG)
		ifp_buf_append_text(out, "everything but steps and collectives is folded");
	else if (level < IFP_LEVEL_MOMENTS)
		ifp_buf_append_text(out,
			"everything but steps, collectives, marks and the longest events is "
			"folded");
	else
		ifp_buf_append_text(out,
			level == IFP_LEVEL_FULL ? "nothing is folded" : "long args are shortened");
}
