/* SPDX-License-Identifier: Apache-2.0 */
/* What rank 0's agent tells the user at the end, on stderr: stdout belongs to the program. */
#pragma once

#include <cjson/cJSON.h>

/* document: VERDICT of docs/protocol.md. Members that are missing are left out. */
void ifp_verdict_print(const cJSON *document);
