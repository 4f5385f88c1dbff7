/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as debug annotations, Perfetto's form of args. */
#pragma once

#include "core/buf.h"
#include "core/intern.h"
#include "core/str.h"

/* Objects and arrays that lie deeper are texts. */
#define IFP_PERFETTO_MAX_DEPTH 16u

/*
 * Appends the members of an object as fields of a TrackEvent. Every value has the type that it has
 * in JSON: objects are dictionaries, whole numbers integers where they fit 64 bits. What Perfetto
 * has no type for (null, empty objects and arrays, longer numbers) is a string, as are values that
 * lie very deep. Names of members go to names; the numbers written are those there, plus 1.
 */
void ifp_perfetto_annotate(struct ifp_buf *out, struct ifp_intern *names, struct ifp_str object);
