/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define TUPLE_TRIES 8

static int64_t read_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * IFP_NS_PER_S + t.tv_nsec;
}

int64_t ifp_clock_raw_ns(void)
{
	return read_ns(CLOCK_MONOTONIC_RAW);
}

int64_t ifp_clock_realtime_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

/*
 * On x86, LFENCE lets nothing behind it begin before everything in front of it is done but stores
 * that wait in the buffer: what was received has been received, and nothing is sent yet. That is
 * all a certificate needs, and a full fence takes 20 ns more.
 */
static inline void fence(void)
{
#if defined(__x86_64__)
	__asm__ volatile("lfence" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

int64_t ifp_clock_raw_fenced_ns(void)
{
	int64_t ns;

	fence();
	ns = read_ns(CLOCK_MONOTONIC_RAW);
	fence();
	return ns;
}

/* Reads a small file of /proc or /sys without its final newline; empty when it cannot be read. */
static void read_line(const char *path, char *line, size_t size_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, size_bytes - 1);

	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

static bool tsc_sound(void)
{
#if defined(__x86_64__)
	unsigned int a, b, c, d;
	char source[32];

	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & (1u << 8)))
		return false;
	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		sizeof(source));
	return strcmp(source, "tsc") == 0;
#else
	return false;
#endif
}

bool ifp_clock_tsc_usable(void)
{
	static int cached; /* 0 = not asked yet, 1 = no, 2 = yes: racing threads agree */
	int state = __atomic_load_n(&cached, __ATOMIC_RELAXED);

	if (!state) {
		state = tsc_sound() ? 2 : 1;
		__atomic_store_n(&cached, state, __ATOMIC_RELAXED);
	}
	return state == 2;
}

static struct ifp_clock_tuple read_once(void)
{
	struct ifp_clock_tuple t = {0};
	int64_t before = ifp_clock_raw_fenced_ns();
	int64_t after;

	t.realtime_ns = ifp_clock_realtime_ns();
	if (ifp_clock_tsc_usable())
		t.tsc_ticks = ifp_clock_tsc();
	after = ifp_clock_raw_fenced_ns();
	t.raw_ns = before + (after - before) / 2;
	t.width_ns = after - before;
	return t;
}

static struct ifp_clock_tuple first_tuple;
static int first_state; /* 0 = unset, 1 = being set, 2 = set */

struct ifp_clock_tuple ifp_clock_tuple_read(void)
{
	struct ifp_clock_tuple best = read_once();
	int unset = 0;

	for (int i = 1; i < TUPLE_TRIES; i++) {
		struct ifp_clock_tuple t = read_once();

		if (t.width_ns < best.width_ns)
			best = t;
	}
	if (__atomic_compare_exchange_n(
		    &first_state, &unset, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		first_tuple = best;
		__atomic_store_n(&first_state, 2, __ATOMIC_RELEASE);
	}
	return best;
}

int64_t ifp_clock_tsc_hz(void)
{
	struct ifp_clock_tuple now = ifp_clock_tuple_read();
	int64_t elapsed_ns;

	if (!ifp_clock_tsc_usable() || __atomic_load_n(&first_state, __ATOMIC_ACQUIRE) != 2)
		return 0;
	elapsed_ns = now.raw_ns - first_tuple.raw_ns;
	if (elapsed_ns < IFP_NS_PER_MS)
		return 0;
	return (int64_t)((__int128)(now.tsc_ticks - first_tuple.tsc_ticks) * IFP_NS_PER_S /
			 elapsed_ns);
}

struct ifp_clock_identity ifp_clock_identity_read(void)
{
	struct ifp_clock_identity identity = {0};
	struct stat st;

	read_line("/proc/sys/kernel/random/boot_id", identity.boot_id, sizeof(identity.boot_id));
	if (stat("/proc/self/ns/time", &st) == 0)
		identity.time_namespace = st.st_ino;
	return identity;
}
