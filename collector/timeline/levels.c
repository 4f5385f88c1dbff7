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
	struct {
		uint32_t kind;
		const char *name;
	} of[2];
};

/* In the order of their levels. */
static const struct class classes[] = {
	{IFP_LEVEL_COLLECTIVES, {{IFP_KIND_COLLECTIVE, "collectives"}}},
	{IFP_LEVEL_MARKS, {{IFP_KIND_MARK, "marks"}}},
	{IFP_LEVEL_COPIES, {{IFP_KIND_COPY, "copies"}}},
	{IFP_LEVEL_KERNELS,
		{{IFP_KIND_KERNEL, "kernels"}, {IFP_KIND_OUTERMOST, "outermost operators"}}},
	{IFP_LEVEL_LAUNCHES, {{IFP_KIND_LAUNCH, "launches"}}},
	{IFP_LEVEL_OPERATORS, {{IFP_KIND_INNER, "inner operators"}}},
	{IFP_LEVEL_FRAMES, {{IFP_KIND_FRAME, "Python frames"}}},
	{IFP_LEVEL_OTHERS, {{IFP_KIND_OTHER, "others"}}},
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

enum ifp_level_kind ifp_level_kind_of(enum ifp_subject subject, bool outermost)
{
	static const enum ifp_level_kind kinds[] = {
		[IFP_SUBJECT_STEP] = IFP_KIND_STEP,
		[IFP_SUBJECT_COLLECTIVE] = IFP_KIND_COLLECTIVE,
		[IFP_SUBJECT_MARK] = IFP_KIND_MARK,
		[IFP_SUBJECT_COPY] = IFP_KIND_COPY,
		[IFP_SUBJECT_KERNEL] = IFP_KIND_KERNEL,
		[IFP_SUBJECT_OPERATOR] = IFP_KIND_INNER,
		[IFP_SUBJECT_LAUNCH] = IFP_KIND_LAUNCH,
		[IFP_SUBJECT_FRAME] = IFP_KIND_FRAME,
		[IFP_SUBJECT_OTHER] = IFP_KIND_OTHER,
	};

	return subject == IFP_SUBJECT_OPERATOR && outermost ? IFP_KIND_OUTERMOST : kinds[subject];
}

#define MAX_WORDS (IFP_ARRAY_SIZE(classes) + 3)

struct words {
	const char *items[MAX_WORDS];
	size_t count;
};

static void add_word(struct words *words, bool there, const char *word)
{
	if (there)
		words->items[words->count++] = word;
}

static void add_class(struct words *words, const struct class *class, uint32_t kinds)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(class->of); i++)
		add_word(words, class->of[i].kind & kinds, class->of[i].name);
}

/* "a, b and c" */
static void append_words(const struct words *words, struct ifp_buf *out)
{
	for (size_t i = 0; i < words->count; i++)
		ifp_buf_printf(out, "%s%s",
			!i			? ""
			: i + 1 == words->count ? " and "
						: ", ",
			words->items[i]);
}

static void append_classes(
	const struct class *class, uint16_t level, uint32_t kinds, struct ifp_buf *out)
{
	struct words own = {0}, rest = {0};

	add_class(&own, class, kinds);
	while (++class < classes + IFP_ARRAY_SIZE(classes))
		add_class(&rest, class, kinds);
	add_word(&rest, kinds & IFP_KIND_MOMENT, "instants");
	add_word(&rest, kinds & IFP_KIND_MOMENT, "counters");
	append_words(&own, out);
	if (own.count) {
		ifp_buf_append_text(out, " shorter than ");
		ifp_brief_duration(out, ifp_level_shortest_ns(level));
	}
	if (own.count && rest.count)
		ifp_buf_append_text(out, rest.count == 1 ? " and " : ", ");
	append_words(&rest, out);
	ifp_buf_append_text(
		out, own.count || rest.count ? " are folded" : "long args are shortened");
}

/* longest: those of all kinds are shown, too. */
static void append_all_but(bool collectives, bool longest, uint32_t kinds, struct ifp_buf *out)
{
	struct words words = {0};

	add_word(&words, kinds & IFP_KIND_STEP, "steps");
	add_word(&words, collectives && kinds & IFP_KIND_COLLECTIVE, "collectives");
	add_word(&words, longest && kinds & IFP_KIND_MARK, "marks");
	add_word(&words, longest, "the longest events");
	ifp_buf_append_text(out, words.count ? "everything but " : "everything");
	append_words(&words, out);
	ifp_buf_append_text(out, " is folded");
}

void ifp_level_text(uint16_t level, uint32_t kinds, struct ifp_buf *out)
{
	const struct class *class = class_of(level);

	if (class)
		append_classes(class, level, kinds, out);
	else if (level < IFP_LEVEL_STEP)
		ifp_buf_printf(out, "a lane has one fold for every %u steps",
			1u << (IFP_LEVEL_STEP - level));
	else if (level == IFP_LEVEL_STEP)
		ifp_buf_append_text(out, "a lane has one fold for each step");
	else if (level < IFP_LEVEL_MOMENTS)
		append_all_but(level >= IFP_LEVEL_COLLECTIVES, level >= IFP_LEVEL_LONG, kinds, out);
	else
		ifp_buf_append_text(out,
			level == IFP_LEVEL_FULL ? "nothing is folded" : "long args are shortened");
}
