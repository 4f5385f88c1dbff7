/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/levels.h"

#include "collector/timeline/brief.h"

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

static uint16_t in_class(unsigned int first, int64_t dur_ns)
{
	return (uint16_t)(first + IFP_LEVEL_BUCKETS - 1 - bucket_of(dur_ns));
}

uint16_t ifp_level_of(enum ifp_subject subject, bool outermost, int64_t dur_ns)
{
	switch (subject) {
	case IFP_SUBJECT_STEP:
		return IFP_LEVEL_STEPS;
	case IFP_SUBJECT_COLLECTIVE:
		return IFP_LEVEL_COLLECTIVES;
	case IFP_SUBJECT_MARK:
		return IFP_LEVEL_MARKS;
	case IFP_SUBJECT_COPY:
		return IFP_LEVEL_COPIES;
	case IFP_SUBJECT_KERNEL:
		return in_class(IFP_LEVEL_KERNELS, dur_ns);
	case IFP_SUBJECT_OPERATOR:
		return in_class(outermost ? IFP_LEVEL_KERNELS : IFP_LEVEL_OPERATORS, dur_ns);
	case IFP_SUBJECT_LAUNCH:
		return in_class(IFP_LEVEL_LAUNCHES, dur_ns);
	case IFP_SUBJECT_FRAME:
		return in_class(IFP_LEVEL_FRAMES, dur_ns);
	default:
		return in_class(IFP_LEVEL_OTHERS, dur_ns);
	}
}

static unsigned int class_of(uint16_t level)
{
	if (level < IFP_LEVEL_KERNELS)
		return IFP_LEVEL_KERNELS;
	if (level >= IFP_LEVEL_MOMENTS)
		return IFP_LEVEL_OTHERS;
	return IFP_LEVEL_KERNELS +
	       (level - IFP_LEVEL_KERNELS) / IFP_LEVEL_BUCKETS * IFP_LEVEL_BUCKETS;
}

uint16_t ifp_level_in_class(uint16_t level, int64_t dur_ns)
{
	return in_class(class_of(level), dur_ns);
}

int64_t ifp_level_shortest_ns(uint16_t level)
{
	unsigned int bucket, octave;
	uint64_t fraction;

	if (level < IFP_LEVEL_KERNELS || level >= IFP_LEVEL_MOMENTS)
		return 0;
	bucket = IFP_LEVEL_BUCKETS - 1 - (level - IFP_LEVEL_KERNELS) % IFP_LEVEL_BUCKETS;
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

void ifp_level_text(uint16_t level, struct ifp_buf *out)
{
	static const char *const classes[] = {"kernels and outermost operators", "launches",
		"inner operators", "Python frames", "others"};
	static const char *const kept[] = {"steps", "steps and collectives",
		"steps, collectives and marks", "steps, collectives, marks and the longest events",
		"steps, collectives, marks and the longest events",
		"steps, collectives, marks, the longest events and copies"};
	unsigned int class;

	if (level < IFP_LEVEL_STEP) {
		ifp_buf_printf(
			out, "every %u steps of a lane are folded", 1u << (IFP_LEVEL_STEP - level));
	} else if (level == IFP_LEVEL_STEP) {
		ifp_buf_append_text(out, "every step of a lane is folded");
	} else if (level < IFP_LEVEL_KERNELS) {
		ifp_buf_printf(out, "everything but %s is folded", kept[level - IFP_LEVEL_STEPS]);
	} else if (level < IFP_LEVEL_MOMENTS) {
		class = (level - IFP_LEVEL_KERNELS) / IFP_LEVEL_BUCKETS;
		ifp_buf_printf(out, "%s shorter than ", classes[class]);
		ifp_brief_duration(out, ifp_level_shortest_ns(level));
		for (unsigned int i = class + 1; i < 5; i++)
			ifp_buf_printf(out, i == 4 ? " and %s" : ", %s", classes[i]);
		ifp_buf_append_text(out, " are folded");
	} else {
		ifp_buf_append_text(out,
			level == IFP_LEVEL_FULL ? "nothing is folded" : "long args are shortened");
	}
}
