/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/mark_segment.h"

#include "core/cleanup.h"
#include "core/clock.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The memory is taken now, so that no writer meets a page that cannot be had. */
static int make_memfd(int *out)
{
	IFP_CLEANUP_FD int fd = memfd_create("infprof", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (fd < 0)
		return ifp_fail_errno("make the memory for marks");
	if (ftruncate(fd, IFP_SEGMENT_BYTES) != 0)
		return ifp_fail_errno("size the memory for marks");
	err = posix_fallocate(fd, 0, IFP_SEGMENT_BYTES);
	if (err)
		return ifp_fail(-err, "take %u bytes of memory for marks: %s",
			(unsigned int)IFP_SEGMENT_BYTES, strerror(err));
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return ifp_fail_errno("seal the memory for marks");
	*out = IFP_TAKE_FD(fd);
	return 0;
}

/* Everything else is zero, as memfds are: all rings are free. */
static void fill_in(struct ifp_segment_header *header)
{
	header->version = IFP_SEGMENT_VERSION;
	header->size_bytes = IFP_SEGMENT_BYTES;
	header->agent_pid = (uint32_t)getpid();
	header->stamp_is_tsc = ifp_clock_tsc_usable();
	header->ring_count = IFP_SEGMENT_RINGS;
	header->ring_bytes = IFP_RING_BYTES;
	header->magic = IFP_SEGMENT_MAGIC;
}

int ifp_mark_segment_make(struct ifp_mark_segment *out)
{
	IFP_CLEANUP_FD int fd = -1;
	int result = make_memfd(&fd);
	void *memory;

	if (result != 0)
		return result;
	memory = mmap(NULL, IFP_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return ifp_fail_errno("map the memory for marks");
	fill_in(memory);
	out->header = memory;
	out->fd = IFP_TAKE_FD(fd);
	return 0;
}

void ifp_mark_segment_free(struct ifp_mark_segment *segment)
{
	if (segment->header)
		munmap(segment->header, IFP_SEGMENT_BYTES);
	if (segment->fd >= 0)
		close(segment->fd);
	*segment = (struct ifp_mark_segment){.fd = -1};
}
