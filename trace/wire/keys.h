/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key file of a job: CURVE keys of the collector and of its agents, Z85 text in a JSON object,
 * mode 0600. Whoever can read it can take part in the job. Made by infprof-collector --keygen or,
 * for one job, by rank 0's agent. This module reads and writes it; ZeroMQ makes the keys.
 */
#pragma once

struct ifp_keys {
	char server_public[41], server_secret[41];
	char client_public[41], client_secret[41];
};

/* -EACCES with a cause when others than the owner may read it; -EBADMSG when it is no key file. */
int ifp_keys_read(const char *path, struct ifp_keys *out);

/* Writes it whole or not at all (temporary file, link); -EEXIST when there is one already. */
int ifp_keys_write(const char *path, const struct ifp_keys *keys);
