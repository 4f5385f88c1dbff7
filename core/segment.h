/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that an agent shares with the processes of its rank: a control page and rings of
 * marks. Layout, not behaviour: the writing side is agent/inject/ (in the user's program), the
 * reading side agent/capture/marks.c. Both see exactly this file.
 *
 * The segment is a sealed memfd of the agent (F_SEAL_SHRINK | F_SEAL_GROW: it cannot be truncated
 * under a writer, so no SIGBUS). Processes open it by /proc/<agent>/fd/<n>, whose path stands in
 * the environment variable INFPROF_SEGMENT; magic and version guard against a reused pid. No name
 * in any file system, so nothing is left behind however the processes end.
 *
 * Threads: every ring has one writer (the thread that claimed it) and one reader (the agent).
 * Atomics are C11 on naturally aligned words, lock-free on every supported processor, and so work
 * across processes.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define IFP_SEGMENT_MAGIC UINT64_C(0x31474553504649ff) /* "\xffIFPSEG1", little endian */
#define IFP_SEGMENT_VERSION 2
#define IFP_SEGMENT_ENVIRONMENT "INFPROF_SEGMENT"

/* Rings per segment and bytes per ring: 31 x 128 KiB + a page = less than 4 MiB a rank. */
#define IFP_SEGMENT_RINGS 31
#define IFP_RING_BYTES (128u * 1024u)
#define IFP_SEGMENT_HEADER_BYTES 8192u

/* Kind of a mark. Stored in rings only; the archive has its own numbers. */
enum ifp_mark_kind {
	IFP_MARK_PAD = 0,	   /* fills the end of the ring; only size counts */
	IFP_MARK_PUSH = 1,	   /* opens a range on this thread; value = its depth, from 0; name */
	IFP_MARK_POP = 2,	   /* closes the range of this thread with depth value */
	IFP_MARK_START = 3,	   /* opens a range that any thread may end; value = its id; name */
	IFP_MARK_END = 4,	   /* closes the range with id value */
	IFP_MARK_INSTANT = 5,	   /* name */
	IFP_MARK_COUNTER = 6,	   /* value = bits of a double; name */
	IFP_MARK_STEP = 7,	   /* an optimizer step has completed; value = its number, from 1 */
	IFP_MARK_STEP_BEGIN = 8,   /* user code: step value begins; */
	IFP_MARK_STEP_END = 9,	   /* ... and ends */
	IFP_MARK_THREAD_NAME = 10, /* name of thread value of this process; 0 = the calling one */
	IFP_MARK_MPI = 11, /* a call of MPI has ended; value = enum ifp_mpi_call; ifp_mpi_record */
	IFP_MARK_KIND_MAX = 12,
};

/* Where a mark came from: a domain of the event's category. */
enum ifp_mark_origin {
	IFP_MARK_FROM_API = 0,	/* mark.h, import infprof */
	IFP_MARK_FROM_NVTX = 1, /* NVTX, default domain; others put "domain: " before the name */
	IFP_MARK_FROM_HOOK = 2, /* the start-up hook for PyTorch */
	IFP_MARK_FROM_MPI = 3,	/* a call of MPI, seen on its way */
};

/*
 * One record of a ring, 24 bytes and the name behind it, padded to 8 bytes. A record never wraps:
 * what is left at the end of the ring is filled by one PAD. stamp is TSC ticks when the header's
 * stamp_is_tsc is set, CLOCK_MONOTONIC_RAW ns otherwise.
 */
struct ifp_mark_record {
	uint16_t size_bytes; /* of the whole record, a multiple of 8 */
	uint8_t kind;	     /* enum ifp_mark_kind */
	uint8_t origin;	     /* enum ifp_mark_origin */
	uint16_t name_bytes; /* name stands right behind the record, not NUL-terminated */
	uint16_t stack;	     /* of PUSH and POP: ranges nest per thread and stack */
	uint64_t stamp;
	uint64_t value;
};

_Static_assert(sizeof(struct ifp_mark_record) == 24, "layout shared between processes");

/* Instead of a depth: the writer does not count in this stack, a POP closes the innermost range. */
#define IFP_MARK_DEPTH_UNKNOWN UINT64_MAX
/* Instead of the depth of a POP: nothing was open. */
#define IFP_MARK_DEPTH_NONE (UINT64_MAX - 1)

#define IFP_MARK_NAME_MAX_BYTES 480 /* longer names are cut; the header counts them */

/* The collectives of MPI that are recorded. */
enum ifp_mpi_call {
	IFP_MPI_BARRIER,
	IFP_MPI_ALLREDUCE,
	IFP_MPI_ALLGATHER,
	IFP_MPI_ALLGATHERV,
	IFP_MPI_ALLTOALL,
	IFP_MPI_ALLTOALLV,
	IFP_MPI_REDUCE_SCATTER,
	IFP_MPI_REDUCE_SCATTER_BLOCK,
	IFP_MPI_BCAST,
	IFP_MPI_REDUCE,
	IFP_MPI_GATHER,
	IFP_MPI_SCATTER,
	IFP_MPI_CALL_COUNT,
};

#define IFP_MPI_BYTES_UNKNOWN UINT64_MAX

/*
 * Stands where other records have their name. number counts the calls on MPI_COMM_WORLD from 1, in
 * the order in which all ranks have to make them; 0 on any other communicator. order is a hash of
 * which calls these were, up to this one: where it differs between two ranks, their numbers do not
 * mean the same.
 */
struct ifp_mpi_record {
	uint64_t start;	 /* stamp; the record's own one is the end */
	uint64_t bytes;	 /* of this rank's part, IFP_MPI_BYTES_UNKNOWN where it is not told */
	uint64_t number;
	uint64_t order;
	int64_t result;	 /* that MPI returned; 0 = success */
};

enum ifp_ring_state {
	IFP_RING_FREE = 0,    /* may be claimed: FREE -> CLAIMED by compare-and-swap */
	IFP_RING_CLAIMED = 1, /* a writer sets pid and tid, then LIVE */
	IFP_RING_LIVE = 2,
	IFP_RING_CLOSED = 3, /* the writer has ended; the agent drains it and sets it FREE */
};

/*
 * head and tail count bytes since the ring was claimed and never wrap; the place in the ring is
 * the count modulo IFP_RING_BYTES. Writer: store the record, then head with release. Reader: load
 * head with acquire, read, then tail with release. A record that does not fit is dropped and
 * counted: the writer never waits.
 */
struct ifp_ring_header {
	_Alignas(64) _Atomic uint32_t state; /* enum ifp_ring_state */
	uint32_t pid;
	uint32_t tid;
	uint32_t reserved;
	_Alignas(64) _Atomic uint64_t head_bytes; /* written by the writer */
	_Atomic uint64_t dropped;		  /* records that did not fit, by the writer */
	_Alignas(64) _Atomic uint64_t tail_bytes; /* written by the reader */
};

/*
 * What the start-up hook for PyTorch has seen and done: bits that are only ever set. The agent
 * turns them into the report's lines on what was not recorded and why.
 */
enum ifp_hook_bits {
	IFP_HOOK_LOADED = 1u << 0,	    /* a Python interpreter of the rank has run the hook */
	IFP_HOOK_TORCH = 1u << 1,	    /* torch.optim.optimizer has been imported */
	IFP_HOOK_STEPPED = 1u << 2,	    /* an optimizer step has completed */
	IFP_HOOK_ARMED = 1u << 3,	    /* Kineto's on-demand mode is armed */
	IFP_HOOK_PROFILER_BEFORE = 1u << 4, /* the program made a torch profiler before arming */
	IFP_HOOK_PROFILER_AFTER = 1u << 5,  /* ... after arming */
	IFP_HOOK_NO_SYMBOL = 1u << 6,	    /* this torch lacks global_kineto_init */
	IFP_HOOK_FORWARD = 1u << 7,	    /* armed by a forward call without gradients */
	IFP_HOOK_ERROR = 1u << 8,	    /* the hook caught an exception of its own */
};

struct ifp_segment_header {
	uint64_t magic;
	uint32_t version;
	uint32_t size_bytes; /* of the whole segment */
	uint32_t agent_pid;
	uint32_t stamp_is_tsc; /* 1: stamps are TSC ticks */
	uint32_t ring_count;
	uint32_t ring_bytes;
	_Atomic uint64_t no_ring_dropped; /* marks of threads that found no free ring */
	_Atomic uint64_t names_cut;

	/* Steps. The rank's process is the one that holds the claim: its pid, 0 = nobody yet. */
	_Atomic uint32_t step_claim_pid;
	_Atomic uint32_t hook_bits; /* enum ifp_hook_bits */
	_Atomic uint64_t step_count;
	_Atomic uint32_t may_arm;	/* agent: 1 = windows are wanted, the hook may arm Kineto */
	_Atomic uint32_t next_range_id; /* for IFP_MARK_START */

	/*
	 * PyTorch's profiler in the process window_pid has been handed a window and may still be
	 * recording or writing it; 0 = no process has one. That process must not end meanwhile.
	 * Set by the agent, the steps before the pid; both steps are 0 in a window of time.
	 */
	_Atomic uint32_t window_pid;
	_Atomic uint32_t leaving_pid; /* this process is about to end: it is handed no window */
	_Atomic uint64_t window_first_step, window_last_step;

	/*
	 * MPI_COMM_WORLD of the rank's process: the first one that uses MPI. What another one calls
	 * its world is a different one, and has no numbers.
	 */
	_Atomic uint32_t mpi_pid, mpi_rank, mpi_size;

	struct ifp_ring_header ring[IFP_SEGMENT_RINGS];
};

_Static_assert(
	sizeof(struct ifp_segment_header) <= IFP_SEGMENT_HEADER_BYTES, "control page too small");

#define IFP_SEGMENT_BYTES (IFP_SEGMENT_HEADER_BYTES + IFP_SEGMENT_RINGS * IFP_RING_BYTES)

/* Address of the data of ring i in a mapped segment. */
static inline unsigned char *ifp_segment_ring_data(struct ifp_segment_header *segment, uint32_t i)
{
	return (unsigned char *)segment + IFP_SEGMENT_HEADER_BYTES + (uint64_t)i * IFP_RING_BYTES;
}
