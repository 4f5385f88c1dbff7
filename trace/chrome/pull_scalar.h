/* SPDX-License-Identifier: Apache-2.0 */
/* What the scanner's two halves share: pull.c has the structure, pull_scalar.c the leaves. */
#pragma once

#include "trace/chrome/pull.h"

/*
 * The next byte, not taken; 0 at the end (a NUL in the text is refused by whoever sees it);
 * negative errno.
 */
int ifp_pull_look(struct ifp_pull *pull);

/* The inside of a string and its closing quote, whose opening one has been taken. */
int ifp_pull_string(struct ifp_pull *pull, struct ifp_buf *out);

/* A number or a word without quotes. */
int ifp_pull_number(struct ifp_pull *pull, struct ifp_buf *out);
