/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/buf.h"
#include "core/str.h"

/* Appends text as the inside of a JSON string: escapes, and U+FFFD for what is not UTF-8. */
void ifp_json_escape(struct ifp_buf *out, struct ifp_str text);

/* Appends the plain text of the inside of a JSON string; what is no valid escape stays as it is. */
void ifp_json_unescape(struct ifp_buf *out, struct ifp_str text);
