/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "collector/timeline/slices.h"

/*
 * The plug-in and browsers add start and duration as doubles of microseconds. Two slices that
 * touch, or end together, to the nanosecond may overlap by the last bit there, and the plug-in then
 * drops one of them. Shortens slices (by a nanosecond or two) until their ends are right in
 * doubles, too. For arranged slices.
 */
void ifp_rounding_fit(struct ifp_slices *slices);
