/* SPDX-License-Identifier: Apache-2.0 */
/* Past a value that somebody else reads and checks: by its quotes and brackets alone. */
#pragma once

#include "trace/chrome/pull.h"

/*
 * Takes the value that is next, whatever stands in it. -EBADMSG when the text ends in it; where it
 * is damaged, what has been taken may be less or more than the value.
 */
int ifp_pull_skip(struct ifp_pull *pull);
