/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/str.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * How many bytes a rank puts into a collective, by the collective's args: "bytes" (MPI's), else
 * "In msg nelems" of "dtype", else all tensors of "Input Dims" and "Input type". False when these do not say it, or
 * name a type whose size is not known.
 */
bool ifp_message_bytes(struct ifp_str args, int64_t *bytes);
