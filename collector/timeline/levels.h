/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levels: the order in which the elements of a picture are kept when it must not become larger than
 * its budget (docs/timeline.md has the order for readers). A picture is drawn up to one level:
 * elements of that level and of those before it are shown, everything else stands in folds. The
 * level is the same for all ranks.
 *
 * Up to IFP_LEVEL_STEP nothing is shown by itself but what is alone or spans several groups; a
 * level n below it makes one fold per lane of 2^(IFP_LEVEL_STEP - n) steps. Within the classes of
 * duration the longest come first.
 */
#pragma once

#include "collector/timeline/subject.h"
#include "core/buf.h"

#include <stdint.h>

#define IFP_LEVEL_BUCKETS_PER_OCTAVE 16u
#define IFP_LEVEL_BUCKETS (44u * IFP_LEVEL_BUCKETS_PER_OCTAVE) /* up to 2^44 ns, 4.9 hours */

enum ifp_level {
	IFP_LEVEL_STEP = 15, /* one fold per lane and step */
	IFP_LEVEL_STEPS,     /* steps are shown */
	/* Classes of duration: each is the first of IFP_LEVEL_BUCKETS levels. */
	IFP_LEVEL_COLLECTIVES,
	IFP_LEVEL_ARROWS = IFP_LEVEL_COLLECTIVES + IFP_LEVEL_BUCKETS, /* between their ranks */
	IFP_LEVEL_MARKS,
	IFP_LEVEL_LONG = IFP_LEVEL_MARKS + IFP_LEVEL_BUCKETS, /* at least 1/64 of their step */
	IFP_LEVEL_COUNTERS,				      /* that are computed */
	IFP_LEVEL_COPIES,
	IFP_LEVEL_KERNELS = IFP_LEVEL_COPIES + IFP_LEVEL_BUCKETS, /* and outermost operators */
	IFP_LEVEL_LAUNCHES = IFP_LEVEL_KERNELS + IFP_LEVEL_BUCKETS,
	IFP_LEVEL_OPERATORS = IFP_LEVEL_LAUNCHES + IFP_LEVEL_BUCKETS, /* inside of others */
	IFP_LEVEL_FRAMES = IFP_LEVEL_OPERATORS + IFP_LEVEL_BUCKETS,
	IFP_LEVEL_OTHERS = IFP_LEVEL_FRAMES + IFP_LEVEL_BUCKETS,
	/* The last ones. */
	IFP_LEVEL_MOMENTS = IFP_LEVEL_OTHERS + IFP_LEVEL_BUCKETS, /* all, with short args */
	IFP_LEVEL_FULL,						  /* with full args */
	IFP_LEVEL_COUNT,
	IFP_LEVEL_NEVER = IFP_LEVEL_COUNT,
};

/* Of a slice by itself. outermost: an operator around which there is none. */
uint16_t ifp_level_of(enum ifp_subject subject, bool outermost, int64_t dur_ns);

/* From which level on events of that length are shown, in the class that level belongs to. */
uint16_t ifp_level_in_class(uint16_t level, int64_t dur_ns);

/* The shortest events that are shown at a level of such a class; 0 for other levels. */
int64_t ifp_level_shortest_ns(uint16_t level);

/*
 * Groups of steps. A key tells where a moment lies: 2n in step n, 2n + 1 behind it. From which
 * level on two keys belong to different groups; they differ.
 */
uint16_t ifp_level_apart(int64_t key, int64_t other);

/* What a run may have, as people say it: a bit each. */
enum ifp_level_kind {
	IFP_KIND_STEP = 1u << 0,
	IFP_KIND_COLLECTIVE = 1u << 1,
	IFP_KIND_MARK = 1u << 2,
	IFP_KIND_COPY = 1u << 3,
	IFP_KIND_KERNEL = 1u << 4,
	IFP_KIND_OUTERMOST = 1u << 5, /* operators */
	IFP_KIND_LAUNCH = 1u << 6,
	IFP_KIND_INNER = 1u << 7,
	IFP_KIND_FRAME = 1u << 8,
	IFP_KIND_OTHER = 1u << 9,
	IFP_KIND_MOMENT = 1u << 10, /* instants and counters that are not shown */
};

/* That of a slice; outermost as above. */
enum ifp_level_kind ifp_level_kind_of(enum ifp_subject subject, bool outermost);

/*
 * What the level leaves in folds of a run that has these kinds, as a clause for people: "launches
 * shorter than 12.3 us, Python frames and others are folded".
 */
void ifp_level_text(uint16_t level, uint32_t kinds, struct ifp_buf *out);
