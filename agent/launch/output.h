/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output directory of a run. Rank 0 chooses and makes it before the program starts, so that a
 * run which could not be kept is refused while nothing has been computed yet.
 */
#pragma once

#include <stdint.h>

#define IFP_OUTPUT_PARENT "infprof-out"
#define IFP_OUTPUT_ARCHIVE "run.ifp"

/*
 * Short name of a program for people and file names: its base name, or for an interpreter
 * (python train.py, python -m pkg.train, bash run.sh) that of what it runs, without suffix.
 * Letters, digits, "._-" only, never empty, at most 63 bytes.
 */
void ifp_output_program_name(char *const argv[], char name[64]);

/*
 * Makes the directory and gives its absolute path (owned by the caller). wanted is what the user
 * asked for, NULL = infprof-out/NAME-YYYYMMDD-HHMMSS, with -2, -3, ... behind it while it exists.
 * -EEXIST when wanted holds the archive of an earlier run; otherwise the errno of what failed. A
 * directory in which no file can be made is refused, too.
 */
int ifp_output_make(const char *wanted, const char *name, int64_t now_realtime_ns, char **out);

/* Takes ifp_output_make() back: removes the directory if nothing has been written into it. */
void ifp_output_unmake(const char *path);

/* The folder in which the output directory of all ranks will be: "." without a '/' in wanted. */
char *ifp_output_parent(const char *wanted);
