/* SPDX-License-Identifier: Apache-2.0 */
/* Changes to args, compact JSON objects as text. Each function appends the changed one to out. */
#pragma once

#include "core/buf.h"
#include "core/str.h"

#include <stdint.h>

/* The member gets this value, JSON text; it is added when it is not there. */
void ifp_args_set(struct ifp_buf *out, struct ifp_str args, const char *key, struct ifp_str value);
void ifp_args_set_int(struct ifp_buf *out, struct ifp_str args, const char *key, uint64_t value);

/* The member is called new_key; nothing changes when it is not there. */
void ifp_args_rename(
	struct ifp_buf *out, struct ifp_str args, const char *key, const char *new_key);

/* Without the member; nothing at all is left of an object that has no other. */
void ifp_args_remove(struct ifp_buf *out, struct ifp_str args, const char *key);
