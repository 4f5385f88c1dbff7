/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectives of an MPI program, seen on their way: this library stands before MPI in the
 * program's search order (LD_PRELOAD), stamps each call's begin and end, and passes it on to
 * whatever stands behind, which may be another tool of MPI's profiling interface.
 *
 * Nothing of a call is changed: arguments, result and errno are MPI's. On the way there are two
 * stamps, after it one record of a ring; no lock, no memory, no system call, except at the first
 * call of each function. Before MPI_Init has ended and from MPI_Finalize on, calls are only passed
 * on. Fortran has its own functions (mpi_barrier_), which are not seen.
 */
#include "agent/inject/mpi_find.h"
#include "agent/inject/ring.h"

#include <errno.h>
#include <pthread.h>

/* What a call ends with when there is no MPI behind it: any value but MPI_SUCCESS. */
#define NO_MPI 1

#define COUNT_OF(word) ((int64_t)(int)(word))
#define NO_TYPE ((ifp_mpi_word)0)

enum phase {
	UNKNOWN, /* MPI_Init has not ended, as far as is known */
	RUNNING,
	OVER, /* MPI_Finalize was called, or nothing is to be recorded */
};

static _Atomic int phase;
static _Atomic ifp_mpi_word world;
static _Atomic bool world_is_ours; /* this process is the rank: its calls on the world are counted */
static _Atomic uint64_t world_calls, world_order;
static _Atomic(void *) functions[IFP_MPI_CALL_COUNT + 1]; /* behind the calls: MPI_Finalize */
static _Atomic(void *) type_size;

static const char *const names[IFP_MPI_CALL_COUNT + 1] = {
	[IFP_MPI_BARRIER] = "MPI_Barrier",
	[IFP_MPI_ALLREDUCE] = "MPI_Allreduce",
	[IFP_MPI_ALLGATHER] = "MPI_Allgather",
	[IFP_MPI_ALLGATHERV] = "MPI_Allgatherv",
	[IFP_MPI_ALLTOALL] = "MPI_Alltoall",
	[IFP_MPI_ALLTOALLV] = "MPI_Alltoallv",
	[IFP_MPI_REDUCE_SCATTER] = "MPI_Reduce_scatter",
	[IFP_MPI_REDUCE_SCATTER_BLOCK] = "MPI_Reduce_scatter_block",
	[IFP_MPI_BCAST] = "MPI_Bcast",
	[IFP_MPI_REDUCE] = "MPI_Reduce",
	[IFP_MPI_GATHER] = "MPI_Gather",
	[IFP_MPI_SCATTER] = "MPI_Scatter",
	[IFP_MPI_CALL_COUNT] = "MPI_Finalize",
};

/* A call on its way. */
struct call {
	uint64_t start, number, order;
	enum ifp_mpi_call which;
};

__attribute__((cold, noinline)) static void *find_function(unsigned int which)
{
	int saved_errno = errno;
	void *function = ifp_mpi_find(names[which]);

	atomic_store_explicit(&functions[which], function, memory_order_release);
	errno = saved_errno;
	return function;
}

static inline void *function_of(unsigned int which)
{
	void *function = atomic_load_explicit(&functions[which], memory_order_acquire);

	return __builtin_expect(function != NULL, 1) ? function : find_function(which);
}

/* A question that MPI answers at any time. */
static bool asks_true(const char *name)
{
	int (*ask)(int *) = (int (*)(int *))ifp_mpi_find(name);
	int answer = 0;

	return ask && ask(&answer) == 0 && answer;
}

static uint32_t world_number(const char *name, ifp_mpi_word communicator)
{
	int (*ask)(ifp_mpi_word, int *) = (int (*)(ifp_mpi_word, int *))ifp_mpi_find(name);
	int answer = 0;

	return ask && ask(communicator, &answer) == 0 ? (uint32_t)answer : 0;
}

/*
 * The first process of the rank that calls MPI is the rank. Its world's size and number are noted
 * before its first record, so whoever reads the record finds them.
 */
static void claim_world(struct ifp_segment_header *segment, ifp_mpi_word communicator)
{
	uint32_t nobody = 0, size = world_number("PMPI_Comm_size", communicator);

	if (!size || !atomic_compare_exchange_strong(&segment->mpi_pid, &nobody, ifp_inject_pid()))
		return;
	atomic_store(&segment->mpi_rank, world_number("PMPI_Comm_rank", communicator));
	atomic_store(&segment->mpi_size, size);
	atomic_store(&world_is_ours, true);
}

static void on_fork_in_child(void)
{
	atomic_store(&world_is_ours, false);
}

__attribute__((constructor)) static void on_load(void)
{
	pthread_atfork(NULL, NULL, on_fork_in_child);
}

/* Finds out whether MPI is running. Threads that race here come to the same result. */
__attribute__((cold, noinline)) static bool start(void)
{
	int saved_errno = errno;
	int before = atomic_load(&phase);

	if (before == UNKNOWN && !ifp_inject_segment())
		atomic_compare_exchange_strong(&phase, &before, OVER);
	else if (before == UNKNOWN && asks_true("PMPI_Initialized") &&
		!asks_true("PMPI_Finalized")) {
		atomic_store(&world, ifp_mpi_find_world());
		atomic_store(&type_size, ifp_mpi_find("PMPI_Type_size"));
		atomic_compare_exchange_strong(&phase, &before, RUNNING);
	}
	errno = saved_errno;
	return atomic_load(&phase) == RUNNING;
}

/* FNV-1a over the numbers of the calls. */
static uint64_t next_order(enum ifp_mpi_call which)
{
	uint64_t order = atomic_load_explicit(&world_order, memory_order_relaxed);

	order = ((order ? order : UINT64_C(0xcbf29ce484222325)) ^ (uint64_t)which) *
		UINT64_C(0x100000001b3);
	atomic_store_explicit(&world_order, order, memory_order_relaxed);
	return order;
}

__attribute__((cold, noinline)) static void find_out_whose_world(ifp_mpi_word communicator)
{
	int saved_errno = errno;

	claim_world(ifp_inject_segment(), communicator);
	errno = saved_errno;
}

/*
 * A program calls the collectives of one communicator one after the other, in an order that it
 * has to take care of: so numbers need no more than not to be torn.
 */
static inline void count_in_world(struct call *call, ifp_mpi_word communicator)
{
	call->number = atomic_load_explicit(&world_calls, memory_order_relaxed) + 1;
	atomic_store_explicit(&world_calls, call->number, memory_order_relaxed);
	call->order = next_order(call->which);
	if (__builtin_expect(call->number == 1, 0))
		find_out_whose_world(communicator);
	if (!atomic_load_explicit(&world_is_ours, memory_order_relaxed))
		call->number = 0;
}

/* False: to be passed on only. */
static inline bool begin(struct call *call, enum ifp_mpi_call which, ifp_mpi_word communicator)
{
	if (__builtin_expect(
		    atomic_load_explicit(&phase, memory_order_acquire) != RUNNING, 0) &&
		(atomic_load_explicit(&phase, memory_order_relaxed) == OVER || !start()))
		return false;
	*call = (struct call){.which = which};
	if (ifp_mpi_is_world(
		    atomic_load_explicit(&world, memory_order_relaxed), communicator))
		count_in_world(call, communicator);
	call->start = ifp_ring_now();
	return true;
}

/* What MPI has just taken for a type can be asked for its size. */
static uint64_t bytes_of(int64_t count, ifp_mpi_word type)
{
	int (*ask)(ifp_mpi_word, int *) = (int (*)(ifp_mpi_word, int *))atomic_load_explicit(
		&type_size, memory_order_relaxed);
	int size_bytes = -1;

	if (type != NO_TYPE && !count)
		return 0;
	if (type == NO_TYPE || !ask || ask(type, &size_bytes) != 0 || size_bytes < 0 || count < 0)
		return IFP_MPI_BYTES_UNKNOWN;
	return (uint64_t)count * (uint64_t)size_bytes;
}

/* The end must not be read before what the call has waited for has been seen. */
static inline uint64_t fenced_now(void)
{
#if defined(__x86_64__)
	__builtin_ia32_lfence();
#endif
	return ifp_ring_now();
}

static void end(const struct call *call, int result, int64_t count, ifp_mpi_word type)
{
	uint64_t now = fenced_now();
	int saved_errno = errno;
	struct ifp_mpi_record record = {
		.start = call->start,
		.bytes = result ? IFP_MPI_BYTES_UNKNOWN : bytes_of(count, type),
		.number = call->number,
		.order = call->order,
		.result = result,
	};

	ifp_ring_put(&(struct ifp_mark){.kind = IFP_MARK_MPI,
		.origin = IFP_MARK_FROM_MPI,
		.value = (uint64_t)call->which,
		.stamp = now,
		.prefix = (const char *)&record,
		.prefix_bytes = sizeof(record)});
	errno = saved_errno;
}

/*
 * Which arguments of a call with a root MPI looks at depends on where it is called. What is not
 * looked at may be anything, and asking for the size of it could end the program.
 */
#define IN_WORLD(type) (call.number ? (type) : NO_TYPE)

static bool is_root(const struct call *call, ifp_mpi_word root)
{
	return call->number && (uint32_t)root == atomic_load(&ifp_inject_segment()->mpi_rank);
}

typedef ifp_mpi_word word;
typedef int (*of_0)(void);
typedef int (*of_1)(word);
typedef int (*of_5)(word, word, word, word, word);
typedef int (*of_6)(word, word, word, word, word, word);
typedef int (*of_7)(word, word, word, word, word, word, word);
typedef int (*of_8)(word, word, word, word, word, word, word, word);
typedef int (*of_9)(word, word, word, word, word, word, word, word, word);

/* The body of a function of MPI's name: communicator, count and type are made of its parameters. */
#define PASS_ON(which, communicator, count, type, function_type, ...)                              \
	do {                                                                                       \
		function_type function = (function_type)function_of(which);                        \
		struct call call;                                                                  \
		int result;                                                                        \
                                                                                                   \
		if (!function)                                                                     \
			return NO_MPI;                                                             \
		if (!begin(&call, which, communicator))                                            \
			return function(__VA_ARGS__);                                              \
		result = function(__VA_ARGS__);                                                    \
		end(&call, result, count, type);                                                   \
		return result;                                                                     \
	} while (0)

#pragma GCC visibility push(default)
int MPI_Barrier(word comm);
int MPI_Allreduce(word in, word out, word count, word type, word operation, word comm);
int MPI_Allgather(word in, word in_count, word in_type, word out, word count, word type, word comm);
int MPI_Allgatherv(word in, word in_count, word in_type, word out, word counts, word places,
	word type, word comm);
int MPI_Alltoall(word in, word in_count, word in_type, word out, word count, word type, word comm);
int MPI_Alltoallv(word in, word in_counts, word in_places, word in_type, word out, word counts,
	word places, word type, word comm);
int MPI_Reduce_scatter(word in, word out, word counts, word type, word operation, word comm);
int MPI_Reduce_scatter_block(word in, word out, word count, word type, word operation, word comm);
int MPI_Bcast(word data, word count, word type, word root, word comm);
int MPI_Reduce(word in, word out, word count, word type, word operation, word root, word comm);
int MPI_Gather(word in, word in_count, word in_type, word out, word count, word type, word root,
	word comm);
int MPI_Scatter(word in, word in_count, word in_type, word out, word count, word type, word root,
	word comm);
int MPI_Finalize(void);
#pragma GCC visibility pop

int MPI_Barrier(word comm)
{
	PASS_ON(IFP_MPI_BARRIER, comm, 0, NO_TYPE, of_1, comm);
}

int MPI_Allreduce(word in, word out, word count, word type, word operation, word comm)
{
	PASS_ON(IFP_MPI_ALLREDUCE, comm, COUNT_OF(count), type, of_6, in, out, count, type,
		operation, comm);
}

/* The sender's type does not count when the data is in place; the receiver's always does. */
int MPI_Allgather(word in, word in_count, word in_type, word out, word count, word type, word comm)
{
	PASS_ON(IFP_MPI_ALLGATHER, comm, COUNT_OF(count), type, of_7, in, in_count, in_type, out,
		count, type, comm);
}

int MPI_Allgatherv(word in, word in_count, word in_type, word out, word counts, word places,
	word type, word comm)
{
	PASS_ON(IFP_MPI_ALLGATHERV, comm, 0, NO_TYPE, of_8, in, in_count, in_type, out, counts,
		places, type, comm);
}

int MPI_Alltoall(word in, word in_count, word in_type, word out, word count, word type, word comm)
{
	PASS_ON(IFP_MPI_ALLTOALL, comm, COUNT_OF(count), type, of_7, in, in_count, in_type, out,
		count, type, comm);
}

int MPI_Alltoallv(word in, word in_counts, word in_places, word in_type, word out, word counts,
	word places, word type, word comm)
{
	PASS_ON(IFP_MPI_ALLTOALLV, comm, 0, NO_TYPE, of_9, in, in_counts, in_places, in_type, out,
		counts, places, type, comm);
}

int MPI_Reduce_scatter(word in, word out, word counts, word type, word operation, word comm)
{
	PASS_ON(IFP_MPI_REDUCE_SCATTER, comm, 0, NO_TYPE, of_6, in, out, counts, type, operation,
		comm);
}

int MPI_Reduce_scatter_block(word in, word out, word count, word type, word operation, word comm)
{
	PASS_ON(IFP_MPI_REDUCE_SCATTER_BLOCK, comm, COUNT_OF(count), type, of_6, in, out, count,
		type, operation, comm);
}

int MPI_Bcast(word data, word count, word type, word root, word comm)
{
	PASS_ON(IFP_MPI_BCAST, comm, COUNT_OF(count), IN_WORLD(type), of_5, data, count, type, root,
		comm);
}

int MPI_Reduce(word in, word out, word count, word type, word operation, word root, word comm)
{
	PASS_ON(IFP_MPI_REDUCE, comm, COUNT_OF(count), IN_WORLD(type), of_7, in, out, count, type,
		operation, root, comm);
}

int MPI_Gather(word in, word in_count, word in_type, word out, word count, word type, word root,
	word comm)
{
	PASS_ON(IFP_MPI_GATHER, comm, COUNT_OF(is_root(&call, root) ? count : in_count),
		IN_WORLD(is_root(&call, root) ? type : in_type), of_8, in, in_count, in_type, out,
		count, type, root, comm);
}

int MPI_Scatter(word in, word in_count, word in_type, word out, word count, word type, word root,
	word comm)
{
	PASS_ON(IFP_MPI_SCATTER, comm, COUNT_OF(is_root(&call, root) ? in_count : count),
		IN_WORLD(is_root(&call, root) ? in_type : type), of_8, in, in_count, in_type, out,
		count, type, root, comm);
}

int MPI_Finalize(void)
{
	of_0 function = (of_0)function_of(IFP_MPI_CALL_COUNT);

	atomic_store(&phase, OVER);
	return function ? function() : NO_MPI;
}
