/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and checking the agent's segment. Once per process; nothing of it is on the hot path. */
#include "agent/inject/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL = not looked for yet. */
static _Atomic(struct ifp_segment_header *) segment;
static _Atomic bool looked_in_vain;

/*
 * The path leads through the agent's pid, which may be somebody else's by now: only a memfd of the
 * right size that can neither grow nor shrink is mapped, and only one with our layout is used.
 */
static bool is_segment_file(int fd)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size == IFP_SEGMENT_BYTES &&
	       (fcntl(fd, F_GET_SEALS) & seals) == seals;
}

static bool is_our_layout(const struct ifp_segment_header *header)
{
	return header->magic == IFP_SEGMENT_MAGIC && header->version == IFP_SEGMENT_VERSION &&
	       header->size_bytes == IFP_SEGMENT_BYTES && header->ring_count == IFP_SEGMENT_RINGS &&
	       header->ring_bytes == IFP_RING_BYTES;
}

/*
 * The agent asks the kernel whether a ring's thread is still there, by the ids that the thread has
 * written. In a PID namespace of its own a process knows only ids that mean others to the agent.
 * /proc is the agent's here, since the path through it is.
 */
static bool has_agents_pid_namespace(void)
{
	char text[16] = "";
	ssize_t len_bytes = readlink("/proc/self", text, sizeof(text) - 1);

	return len_bytes > 0 && strtol(text, NULL, 10) == (long)getpid();
}

static struct ifp_segment_header *map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *memory = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (is_segment_file(fd) && has_agents_pid_namespace())
		memory = mmap(NULL, IFP_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		return NULL;
	if (!is_our_layout(memory)) {
		munmap(memory, IFP_SEGMENT_BYTES);
		return NULL;
	}
	return memory;
}

/* Threads that race here each map it; one mapping wins. No thread waits for another. */
static struct ifp_segment_header *find(void)
{
	const char *path = secure_getenv(IFP_SEGMENT_ENVIRONMENT);
	struct ifp_segment_header *mine = path && *path ? map(path) : NULL;
	struct ifp_segment_header *winner = NULL;

	if (!mine) {
		atomic_store_explicit(&looked_in_vain, true, memory_order_relaxed);
		return NULL;
	}
	if (atomic_compare_exchange_strong(&segment, &winner, mine))
		return mine;
	munmap(mine, IFP_SEGMENT_BYTES);
	return winner;
}

struct ifp_segment_header *ifp_inject_segment(void)
{
	struct ifp_segment_header *header = atomic_load_explicit(&segment, memory_order_acquire);
	int saved_errno;

	if (header || atomic_load_explicit(&looked_in_vain, memory_order_relaxed))
		return header;
	saved_errno = errno;
	header = find();
	errno = saved_errno;
	return header;
}
