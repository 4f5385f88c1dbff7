/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFPROF_VERSION_H
#define INFPROF_VERSION_H

/* The version of infprof, read by CMakeLists.txt as well: this is its one place. */
#define INFPROF_VERSION_MAJOR 0
#define INFPROF_VERSION_MINOR 1
#define INFPROF_VERSION_PATCH 0
#define INFPROF_VERSION "0.1.0"

#endif
