/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/wire/address.h"

#include "core/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define TCP "tcp://"
#define IPC "ipc://"
#define MAX_PORT 65535

static int check_path(const char *path)
{
	const size_t room_bytes = sizeof(((struct sockaddr_un *)0)->sun_path);

	if (path[0] != '/' || !path[1])
		return ifp_fail(-EINVAL, "give the whole path, as in ipc:///PATH");
	if (strlen(path) >= room_bytes)
		return ifp_fail(-EINVAL, "the path is longer than %zu characters", room_bytes - 1);
	return 0;
}

static int check_host_and_port(const char *host, bool any_port)
{
	const char *colon = strrchr(host, ':');
	const char *port = colon ? colon + 1 : "";
	size_t digits = strspn(port, "0123456789");
	unsigned long number = strtoul(port, NULL, 10);

	if (!colon || colon == host || !*port)
		return ifp_fail(-EINVAL, "give a host and a port, as in tcp://HOST:PORT");
	if (any_port && (!strcmp(port, "*") || !strcmp(port, "0")))
		return 0;
	/* strtoul gives ULONG_MAX for what is longer than it can hold */
	if (port[digits] || !number || number > MAX_PORT)
		return ifp_fail(-EINVAL, "\"%s\" is no port between 1 and %d", port, MAX_PORT);
	return 0;
}

int ifp_address_check(const char *address, bool any_port)
{
	if (!strncmp(address, TCP, strlen(TCP)))
		return check_host_and_port(address + strlen(TCP), any_port);
	if (!strncmp(address, IPC, strlen(IPC)))
		return check_path(address + strlen(IPC));
	return ifp_fail(-EINVAL, "give tcp://HOST:PORT or ipc:///PATH");
}
