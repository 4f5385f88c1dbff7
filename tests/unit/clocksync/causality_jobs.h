/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random jobs with known clocks, whose traces are solved with all that ifp_clock_solve() does: ends
 * that lay too early no longer do where the certified region has room, nothing leaves that or its
 * order, what is told is what is seen, and the truth stays within the bound. CAUSALITY_JOBS changes
 * their number.
 */
#pragma once

void random_jobs_look_possible_afterwards(void **state);

/* So ragged that not every line is as straight as it is assumed to be; the region is what it is. */
void ragged_jobs_look_possible_afterwards(void **state);

/* Ends that lie together are where they belong: nothing moves by a nanosecond. */
void jobs_that_look_possible_are_left_alone(void **state);
