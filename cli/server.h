/* SPDX-License-Identifier: Apache-2.0 */
/* A server that prints its address when it is up, as TensorBoard does: run until somebody ends it.
 */
#pragma once

struct ifp_server {
	char *const *argv;
	const char *name; /* for people: "TensorBoard" */
	const char *host; /* where it is to listen, to be asked there */
	const char *port; /* "0" = one that is free */
};

/*
 * Starts it and waits until it answers; prints its address as one line on stdout then, and from
 * there on what it prints on stderr. SIGINT, SIGTERM and SIGHUP end it, twice at once. 0 when it
 * was ended so after it had answered. Negative errno with a cause when another program has the port
 * (-EADDRINUSE: nothing is started), it ends on its own (-ECHILD), or is ended before it answers
 * (-EINTR).
 */
int ifp_server_run(const struct ifp_server *server);
