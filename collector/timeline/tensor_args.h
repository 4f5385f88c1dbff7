/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/str.h"

#include <stdbool.h>

/*
 * Whether the plug-in can count the bytes of a collective from "Input Dims" and "Input type" in
 * its args: dims are one flat list of numbers for each type, and it knows all types. With anything
 * else it warns, or drops the whole Distributed view. True when there are neither.
 */
bool ifp_tensor_args_countable(struct ifp_str args);
