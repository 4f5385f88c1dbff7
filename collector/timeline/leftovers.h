/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Removes what a drawing that was killed has left below output_dir: files and directories that are
 * not whole. Only while nobody draws there. What cannot be removed stays.
 */
void ifp_leftovers_remove(const char *output_dir);
