/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process.h"

#include "core/cleanup.h"

#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

static const int write_signals[] = {SIGPIPE, SIGXFSZ};

static struct sigaction found[IFP_ARRAY_SIZE(write_signals)];
static bool ignored;

void ifp_process_hold_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* opened the wrong way round, so that using it is an error as before */
		int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

		/* open(2) takes the lowest number that is free: this one */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", mode | O_CLOEXEC) != fd)
			return;
	}
}

void ifp_process_ignore_write_signals(void)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	for (size_t i = 0; i < IFP_ARRAY_SIZE(write_signals); i++)
		sigaction(write_signals[i], &ignore, &found[i]);
	ignored = true;
}

void ifp_process_restore_write_signals(void)
{
	for (size_t i = 0; ignored && i < IFP_ARRAY_SIZE(write_signals); i++)
		sigaction(write_signals[i], &found[i], NULL);
}

uint32_t ifp_process_cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (uint32_t)CPU_COUNT(&set);
}

#define KEPT_BYTES (256 * 1024 * 1024)
/* The largest that there may be. */
#define HEAP_PIECE_BYTES (32 * 1024 * 1024)

void ifp_process_keep_memory(void)
{
#ifdef __GLIBC__
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	mallopt(M_MMAP_THRESHOLD, HEAP_PIECE_BYTES);
#endif
}
