/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infprof/mark.h: name what your program does, and see it on the timeline.
 *
 *	#include <infprof/mark.h>
 *
 *	infprof_step_begin(step);
 *	infprof_range_push("exchange halo");
 *	exchange_halo(grid);
 *	infprof_range_pop();
 *	infprof_counter("residual", residual);
 *	infprof_step_end(step);
 *
 * Run the program as it is and nothing happens: without an agent a mark is one load and one branch,
 * about a nanosecond. Run it under `infprof-agent -- PROGRAM` and the same marks are recorded:
 * about 20 ns each, into memory that the agent empties. A mark never waits, never fails, never
 * prints, and leaves errno alone; when the memory is full it is dropped and counted.
 *
 * There is nothing to link but libdl (part of libc since glibc 2.34): the header finds the agent's
 * library by the path in the environment variable INFPROF_LIBRARY, at the first mark. Programs that
 * run with raised privileges (setuid) never look.
 *
 * C11 and C++11, gcc and clang. All functions may be called from any thread. A signal handler may
 * mark, but not be the first to do so in its thread; one that interrupts a mark of its own thread
 * has its mark dropped and counted. A child made by fork() goes on marking, as a process of its
 * own; a vfork() child must not mark.
 *
 * Names are UTF-8, copied during the call, and cut after 480 bytes.
 */
#ifndef INFPROF_MARK_H
#define INFPROF_MARK_H

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef INFPROF_API_ONLY

/* ---- What to call ----------------------------------------------------------------------- */

/*
 * A range of time of the calling thread. Ranges nest: a pop ends the innermost range that is open.
 * One that is still open when its thread ends, ends there.
 */
static inline void infprof_range_push(const char *name);
static inline void infprof_range_pop(void);

/*
 * A range that any thread may end, and that may overlap others: a request, a transfer. start gives
 * the id that end takes; 0, which end ignores, when nothing is recorded.
 */
static inline uint64_t infprof_range_start(const char *name);
static inline void infprof_range_end(uint64_t id);

/*
 * A step: one turn of the program's outermost loop (a time step, an iteration, a request served).
 * Give each its number, the same on all ranks, so that ranks can be compared step by step. Begin
 * and end belong to one thread; a begin ends the step before if nothing else did.
 */
static inline void infprof_step_begin(uint64_t number);
static inline void infprof_step_end(uint64_t number);

/* A value that changes over time: a loss, a queue's length, bytes in use. */
static inline void infprof_counter(const char *name, double value);

/* A moment. */
static inline void infprof_instant(const char *name);

/* Whether marks are recorded: to leave out the work of composing a name. */
static inline int infprof_active(void);

#endif

/* ---- Where the calls go: the table of libinfprof.so -------------------------------------- */

/*
 * The functions of libinfprof.so. Version 1; later minor versions only append, so check size_bytes
 * before using what was appended. The first group is described above.
 */
struct infprof_api {
	uint32_t version;
	uint32_t size_bytes; /* of the library's table */

	void (*range_push)(const char *name);
	void (*range_pop)(void);
	uint64_t (*range_start)(const char *name);
	void (*range_end)(uint64_t id);
	void (*step_begin)(uint64_t number);
	void (*step_end)(uint64_t number);
	void (*counter)(const char *name, double value);
	void (*instant)(const char *name);

	/*
	 * For start-up hooks of frameworks. One process of a rank is the rank's: the first that
	 * completes an optimizer step (or claims the rank itself), until it dies. Only that process
	 * reports steps.
	 *
	 * step_completed: this process has completed one more optimizer step. Returns its number,
	 * from 1: the count of this process' optimizer steps; 0 when another process is the rank's.
	 */
	uint64_t (*step_completed)(void);
	int (*claim)(void); /* 1: this process is the rank's, from now at the latest */
	void (*note)(uint32_t hook_bits); /* sets bits of enum ifp_hook_bits, core/segment.h */
	int (*may_arm)(void);	     /* 1: windows are wanted and no other process is the rank's */
	int (*segment_active)(void); /* 1: marks are recorded */

	/*
	 * leaving: this process is about to end, and is handed no window of PyTorch's profiler any
	 * more. 1: it has one, whose first and last step are stored (0 for a window of time), and
	 * should not end before this gives 0.
	 */
	int (*leaving)(uint64_t steps[2]);
};

/*
 * Exported by libinfprof.so. NULL when there is no agent that records: INFPROF_SEGMENT is unset, or
 * does not lead to memory of an agent of this version.
 */
#define INFPROF_API_SYMBOL "infprof_api_v1"
const struct infprof_api *infprof_api_v1(void);

#ifndef INFPROF_API_ONLY /* defined where the table is wanted and the functions are not */

/* ---- How the header finds it ------------------------------------------------------------- */

/* No agent: the state that every mark finds after the first. Never dereferenced. */
#define INFPROF_OFF_ ((const struct infprof_api *)(uintptr_t)1)

/* NULL until the first mark. One per program or shared library, however many files include this. */
__attribute__((weak, visibility("hidden"))) const struct infprof_api *infprof_api_;

__attribute__((weak, visibility("hidden"), noinline, cold)) const struct infprof_api *infprof_find_(
	void);

/* Threads that race here find the same table. */
const struct infprof_api *infprof_find_(void)
{
	const struct infprof_api *api = INFPROF_OFF_;
	const char *path = getauxval(AT_SECURE) ? 0 : getenv("INFPROF_LIBRARY");
	void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : 0;
	void *symbol = library ? dlsym(library, INFPROF_API_SYMBOL) : 0;

	if (symbol) {
		const struct infprof_api *(*get)(void);
		const struct infprof_api *found;

		/* ISO C has no cast from an object to a function; POSIX says that this works. */
		memcpy(&get, &symbol, sizeof(get));
		found = get();
		if (found && found->version == 1)
			api = found;
	}
	__atomic_store_n(&infprof_api_, api, __ATOMIC_RELEASE);
	return api;
}

static inline const struct infprof_api *infprof_get_(void)
{
	const struct infprof_api *api = __atomic_load_n(&infprof_api_, __ATOMIC_ACQUIRE);

	if (__builtin_expect(!api, 0)) {
		int saved_errno = errno;

		api = infprof_find_();
		errno = saved_errno;
	}
	return api;
}

static inline int infprof_active(void)
{
	return infprof_get_() != INFPROF_OFF_;
}

static inline void infprof_range_push(const char *name)
{
	const struct infprof_api *api = infprof_get_();

	if (api != INFPROF_OFF_)
		api->range_push(name);
}

static inline void infprof_range_pop(void)
{
	const struct infprof_api *api = infprof_get_();

	if (api != INFPROF_OFF_)
		api->range_pop();
}

static inline uint64_t infprof_range_start(const char *name)
{
	const struct infprof_api *api = infprof_get_();

	return api != INFPROF_OFF_ ? api->range_start(name) : 0;
}

static inline void infprof_range_end(uint64_t id)
{
	const struct infprof_api *api = infprof_get_();

	if (api != INFPROF_OFF_)
		api->range_end(id);
}

static inline void infprof_step_begin(uint64_t number)
{
	const struct infprof_api *api = infprof_get_();

	if (api != INFPROF_OFF_)
		api->step_begin(number);
}

static inline void infprof_step_end(uint64_t number)
{
	const struct infprof_api *api = infprof_get_();

	if (api != INFPROF_OFF_)
		api->step_end(number);
}

static inline void infprof_counter(const char *name, double value)
{
	const struct infprof_api *api = infprof_get_();

	if (api != INFPROF_OFF_)
		api->counter(name, value);
}

static inline void infprof_instant(const char *name)
{
	const struct infprof_api *api = infprof_get_();

	if (api != INFPROF_OFF_)
		api->instant(name);
}

#endif /* INFPROF_API_ONLY */

#ifdef __cplusplus
}
#endif

#endif
