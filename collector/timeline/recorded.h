/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event as an element of Chrome's JSON that says all that it says: for imported traces the
 * element that was read.
 */
#pragma once

#include "core/buf.h"
#include "trace/chrome/writer.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Everything but the times. With renumber, ids are such that those of two ranks never meet: numbers
 * keep apart by the rank, others become numbers. The phase is 0 when the reader knew none either.
 * Texts are borrowed from the event and from memory, which is used again by the next call. 0 or
 * -ENOMEM.
 */
int ifp_recorded_element(const struct ifp_event *event, uint32_t rank, bool renumber,
	struct ifp_buf *memory, struct ifp_chrome_element *out);
