/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock's job time while the run is still going on: only what was measured so far counts.
 *
 * Every exchange gives an observation of the clock's offset. Several predictors, lines and
 * parabolas through the last 2 to 8 observations, foretell the next one; the one that has
 * foretold best lately draws the line that is used until then. Job time never steps and never
 * runs backwards: what a new observation contradicts is slewed away.
 *
 * One writer; readers must be kept away meanwhile. Nothing is allocated after ifp_servo_new().
 */
#pragma once

#include "core/time.h"

#include <stdint.h>

struct ifp_servo;

/* NULL when memory is short. Until the first observation job time is local time. */
struct ifp_servo *ifp_servo_new(void);
void ifp_servo_free(struct ifp_servo *servo);

/*
 * The clock read local_ns when its offset (clock minus job time) was offset_ns. The next
 * observation is expected after next_ns. One that is not later than the last is left out.
 */
void ifp_servo_observe(
	struct ifp_servo *servo, ifp_local_ns local, int64_t offset_ns, int64_t next_ns);

/*
 * Rises with local time, across observations as well. Readings from before the last observation are
 * placed by what is known now: close, but not as they were placed then.
 */
ifp_global_ns ifp_servo_global(const struct ifp_servo *servo, ifp_local_ns local);

/* Drift of the clock against job time as it is foretold, ns per ns of the clock. */
double ifp_servo_rate(const struct ifp_servo *servo);
