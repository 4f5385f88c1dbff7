/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects, each with a comma behind it but where it says otherwise. */
#pragma once

#include "core/buf.h"

#include <stdint.h>

/* A string, or null; without a comma. */
void ifp_json_words_text(struct ifp_buf *out, const char *value);
void ifp_json_words_member(struct ifp_buf *out, const char *name, const char *value);

/* Nanoseconds; null for INT64_MAX, which stands for no bound. */
void ifp_json_words_bound(struct ifp_buf *out, const char *name, int64_t ns);

/* Ends a list or an object whose members all have a comma behind them: bracket is what follows. */
void ifp_json_words_end(struct ifp_buf *out, const char *bracket);
