/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of collectors as people write them: "tcp://HOST:PORT" or "ipc:///PATH". ZeroMQ takes
 * ports modulo 65536 and paths relative to wherever a process is, so they are checked before.
 */
#pragma once

#include <stdbool.h>

/*
 * 0, or -EINVAL with a cause, before which the caller puts the address. any_port: "*" and 0 may
 * stand for any free port, which makes sense for listening only. Does not resolve HOST.
 */
int ifp_address_check(const char *address, bool any_port);
