/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of infprof say to people: one line on stderr each, "infprof: " in front.
 * Called by main functions and event loops only; libraries return errors instead (core/error.h).
 *
 * ERROR  the command did not do what it was asked to do
 * WARN   something the user should know; the program that is watched goes on untouched
 * INFO   one line on progress or results; --quiet hides it
 * DEBUG  for developers of infprof; shown when INFPROF_DEBUG is set
 *
 * Control characters in a message are shown as "?". Thread-safe: a line is written with one write(2).
 */
#pragma once

enum ifp_log_level {
	IFP_LOG_ERROR,
	IFP_LOG_WARN,
	IFP_LOG_INFO,
	IFP_LOG_DEBUG,
};

/* Lines above this level are not written. The name goes into the prefix: "infprof-agent[3]: ". */
void ifp_log_setup(enum ifp_log_level max_level, const char *name);

void ifp_log(enum ifp_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define ifp_log_error(...) ifp_log(IFP_LOG_ERROR, __VA_ARGS__)
#define ifp_log_warn(...) ifp_log(IFP_LOG_WARN, __VA_ARGS__)
#define ifp_log_info(...) ifp_log(IFP_LOG_INFO, __VA_ARGS__)
#define ifp_log_debug(...) ifp_log(IFP_LOG_DEBUG, __VA_ARGS__)

/* Writes the cause chain of this thread as one line of the given level and clears it. */
void ifp_log_chain(enum ifp_log_level level);
