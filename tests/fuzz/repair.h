/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives all frames in data right checksums, from offset on: no fuzzer guesses those, and behind
 * them is what it shall find. Bytes that begin no frame are left alone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

void fuzz_repair_frames(uint8_t *data, size_t len_bytes, size_t offset);
