/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a trace file, plain, gzip or zstd, as one forward stream through a fixed window.
 * Which of them it is, the first bytes say, not the name. A damaged packed stream still gives
 * every byte that can be unpacked before the damage. A file that grows is read as far as it went
 * when it was opened. Belongs to one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ifp_input;

/* -ENOENT, -EISDIR and the like, with a cause. */
int ifp_input_open(const char *path, struct ifp_input **out);
void ifp_input_close(struct ifp_input **input);

/*
 * The next bytes, at least one: 1 with *data and *len_bytes (valid until the next call); 0 at the
 * end; negative errno with a cause: -EBADMSG when the packed stream is damaged or cut off.
 */
int ifp_input_next(struct ifp_input *input, const uint8_t **data, size_t *len_bytes);

/* Bytes of the file, packed as it is, that have been used so far. */
uint64_t ifp_input_file_bytes(const struct ifp_input *input);

/* Bytes of the file behind those; 0 for a pipe, whose length nobody knows. */
uint64_t ifp_input_unused_bytes(const struct ifp_input *input);
