/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine that can be suspended without being: loaded before libc, it lets CLOCK_MONOTONIC and
 * CLOCK_MONOTONIC_RAW lag behind by so many nanoseconds as stand in the file SUSPENDED_CLOCK, an
 * int64_t. Who stops a process, adds the time, and lets it go on, has suspended it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000

static const int64_t *lag_ns;
static int (*next)(clockid_t id, struct timespec *t);

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("SUSPENDED_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *mapped =
		fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*lag_ns), PROT_READ, MAP_SHARED, fd, 0);

	if (mapped != MAP_FAILED)
		lag_ns = mapped;
	if (fd >= 0)
		close(fd);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t)
{
	int64_t ns;
	int status;

	if (!next)
		next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	status = next(id, t);
	if (status || !lag_ns || (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_RAW))
		return status;
	ns = (int64_t)t->tv_sec * NS_PER_S + t->tv_nsec - __atomic_load_n(lag_ns, __ATOMIC_RELAXED);
	t->tv_sec = ns / NS_PER_S;
	t->tv_nsec = ns % NS_PER_S;
	return 0;
}
