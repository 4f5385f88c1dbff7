/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a main function does before anything else, so that a process can be started in any
 * surroundings. Not thread-safe: before there are threads.
 */
#pragma once

#include <stdint.h>

/* Cores that this process may use, at least 1. From any thread. */
uint32_t ifp_process_cores(void);

/*
 * Occupies the descriptors 0, 1 and 2 that are closed, so that no file opened later gets such a
 * number and is taken for stdin, stdout or stderr. Reading and writing them still fails, and they
 * are closed on exec: a program started from here finds them closed, as this one did.
 */
void ifp_process_hold_standard_files(void);

/*
 * Has writing to a closed pipe, and beyond the limit for the size of files, fail with EPIPE and
 * EFBIG instead of ending the process.
 */
void ifp_process_ignore_write_signals(void);

/* Gives back what ifp_process_ignore_write_signals() found. Allowed between fork and exec. */
void ifp_process_restore_write_signals(void);

/*
 * From now on freed memory stays with the process, up to some 256 MB: one that takes and frees the
 * same again and again has the kernel clear it each time. Where the C library can be told. From any
 * thread.
 */
void ifp_process_keep_memory(void);
